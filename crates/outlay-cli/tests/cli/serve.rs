//! `outlay serve` and `outlay token` as operators use them.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use super::{outlay, run, text};

/// A new folder for one test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("serve").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A service that ends with the test.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn start(arguments: &[&str]) -> Self {
        let mut command = outlay(&["serve", "--quiet", "--log", "warn"]);
        command.args(arguments);
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        assert!(address.starts_with("http"), "the service did not start: {}", said(&mut child));
        Self { child, address: address.trim().to_owned() }
    }

    fn signal(&self, name: &str) {
        assert!(
            Command::new("kill")
                .args([name, &self.child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
    }

    fn end(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "the service does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn curl(&self, path: &str, arguments: &[&str]) -> Output {
        Command::new("curl")
            .args(["-s", "-S", "--max-time", "20"])
            .args(arguments)
            .arg(format!("{}{path}", self.address))
            .output()
            .unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn said(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    text
}

/// Starts the service from a shell with these limits on open files.
fn with_open_files(limits: &str) -> Service {
    let mut command = Command::new("sh");
    let start = "exec \"$0\" serve --quiet --log warn --memory --listen 127.0.0.1:0";
    command.args(["-c", &format!("{limits} && {start}"), env!("CARGO_BIN_EXE_outlay")]);
    Service::of(command)
}

#[cfg(target_os = "linux")]
#[test]
fn the_limit_on_open_files_is_raised_as_far_as_possible() {
    let soft = |service: &Service| {
        let limits = format!("/proc/{}/limits", service.child.id());
        let limits = std::fs::read_to_string(limits).unwrap();
        let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        line.split_whitespace().nth(3).unwrap().parse::<u64>().unwrap()
    };
    let service = with_open_files("ulimit -Sn 512 && ulimit -Hn 5000");
    assert_eq!(soft(&service), 4096 + 256);
    let mut limited = with_open_files("ulimit -Sn 512 && ulimit -Hn 1000");
    assert_eq!(soft(&limited), 1000);
    limited.signal("-TERM");
    assert!(limited.end().success());
    let log = said(&mut limited.child);
    assert!(log.contains("raise the limit"), "{log}");
    assert!(log.contains("--limit connections=744"), "{log}");
}

#[test]
fn sigterm_stops_the_service_gracefully() {
    let folder = folder("stop");
    let data = folder.to_str().unwrap();
    let problem =
        r#"{"problem": {"task": [{"name": "a", "curve": {"family": "exponential", "scale": 1}}]}}"#;
    let mut service = Service::start(&["--data", data, "--listen", "127.0.0.1:0"]);
    let made = service.curl(
        "/v1/campaigns/kept",
        &["-X", "PUT", "-H", "content-type: application/json", "-d", problem],
    );
    assert!(text(&made.stdout).contains("\"id\":\"kept\""), "{made:?}");
    let second = run(&["serve", "--data", data, "--listen", "127.0.0.1:0"], "");
    assert_eq!(
        (second.status.code(), text(&second.stdout)),
        (Some(2), ""),
        "two services on one folder: {}",
        text(&second.stderr)
    );
    service.signal("-TERM");
    assert_eq!(service.end().code(), Some(0));
    let service = Service::start(&["--data", data, "--listen", "127.0.0.1:0"]);
    assert!(text(&service.curl("/v1/campaigns/kept", &[]).stdout).contains("\"id\":\"kept\""));
}

#[test]
fn settings_come_from_a_file_and_the_environment_and_systemd_is_notified() {
    let folder = folder("config");
    let (file, socket) = (folder.join("outlay.toml"), folder.join("notify"));
    std::fs::write(&file, "memory = true\n[limits]\ncampaigns = 5\ntasks = 1").unwrap();
    let supervisor = std::os::unix::net::UnixDatagram::bind(&socket).unwrap();
    supervisor.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let notified = || {
        let mut bytes = [0; 64];
        let length = supervisor.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).trim().to_owned()
    };
    let mut child = outlay(&["serve", "--quiet", "--log", "warn", "--campaigns", "1", "--config"])
        .arg(&file)
        .env("OUTLAY_LISTEN", "127.0.0.1:0")
        .env("OUTLAY_LIMIT_TASKS", "2")
        .env("NOTIFY_SOCKET", &socket)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let mut service = Service { child, address: address.trim().to_owned() };
    assert_eq!(notified(), "READY=1");
    let task = r#"{"curve": {"family": "exponential", "scale": 1}}"#;
    let put = |path: &str, tasks: usize| {
        let problem = format!(r#"{{"problem": {{"task": [{}]}}}}"#, vec![task; tasks].join(","));
        let content = "content-type: application/json";
        text(&service.curl(path, &["-X", "PUT", "-H", content, "-d", &problem]).stdout).to_owned()
    };
    // The variable overrides the file, and the flag does too.
    assert!(put("/v1/campaigns/one", 3).contains("more than 2"));
    assert!(put("/v1/campaigns/one", 2).contains("\"id\":\"one\""));
    let refused = put("/v1/campaigns/two", 2);
    assert!(refused.contains("there are 1 campaigns already"), "{refused}");
    assert!(refused.contains("start the service with a larger --campaigns"), "{refused}");
    service.signal("-HUP");
    assert_eq!(notified(), "STOPPING=1");
    assert_eq!(service.end().code(), Some(0), "a closed terminal stops it gracefully");
}

#[test]
fn a_json_log_has_one_object_per_line() {
    let arguments = [
        "serve",
        "--memory",
        "--listen",
        "127.0.0.1:0",
        "--log-format",
        "json",
        "--metrics",
        "127.0.0.1:0",
        "--campaigns",
        "1",
    ];
    let mut child =
        outlay(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let mut service = Service { child, address: address.trim().to_owned() };
    let problem =
        r#"{"problem": {"task": [{"name": "a", "curve": {"family": "exponential", "scale": 1}}]}}"#;
    let put = |path: &str| {
        service.curl(path, &["-X", "PUT", "-H", "content-type: application/json", "-d", problem])
    };
    assert!(text(&put("/v1/campaigns/one").stdout).contains("\"id\":\"one\""));
    assert!(text(&put("/v1/campaigns/two").stdout).contains("there are 1 campaigns already"));
    service.signal("-TERM");
    assert_eq!(service.end().code(), Some(0));
    let log = said(&mut service.child);
    assert!(log.contains("authentication is off") && log.contains("/metrics"), "{log}");
    for line in log.lines() {
        serde_json::from_str::<serde_json::Value>(line)
            .unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

/// Runs a service with these arguments and returns its log lines.
fn logged(arguments: &[&str], work: impl FnOnce(&Service)) -> Vec<String> {
    let mut child = outlay(&["serve", "--listen", "127.0.0.1:0"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let mut service = Service { child, address: address.trim().to_owned() };
    work(&service);
    service.signal("-TERM");
    assert_eq!(service.end().code(), Some(0));
    said(&mut service.child).lines().map(str::to_owned).collect()
}

/// Sends requests of every kind and returns the secrets used.
fn requests(service: &Service) -> Vec<String> {
    const JSON: &str = "content-type: application/json";
    let post = |body: &str, header: &str| {
        let made = service.curl("/v1/tokens", &["-H", JSON, "-H", header, "-d", body]);
        let made: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
        made["token"].as_str().unwrap().to_owned()
    };
    let admin = post(r#"{"scopes": ["admin"], "name": "ops"}"#, "x-none: 1");
    let bearer = format!("authorization: Bearer {admin}");
    let reader = post(r#"{"scopes": ["read"], "campaign": "shop-*", "name": "ci"}"#, &bearer);
    let as_reader = format!("authorization: Bearer {reader}");
    let problem =
        r#"{"problem": {"task": [{"name": "a", "curve": {"family": "exponential", "scale": 1}}]}}"#;
    let trace = "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let put = ["-X", "PUT", "-H", JSON, "-H", &bearer, "-H", trace, "-d", problem];
    service.curl("/v1/campaigns/shop-1", &put);
    service.curl("/v1/campaigns/a%0Ab", &["-H", &bearer]);
    service.curl("/livez", &[]);
    service.curl("/readyz", &[]);
    service.curl("/openapi.json", &["--compressed", "-H", "x-request-id: mine"]);
    let last = if reader.ends_with('x') { 'y' } else { 'x' };
    let forged = format!("{}{last}", &reader[..reader.len() - 1]);
    let as_forged = format!("authorization: Bearer {forged}");
    for _ in 0..30 {
        service.curl("/v1/campaigns/shop-1", &["-H", &as_forged]);
    }
    service.curl("/v1/tokens", &["-H", &as_reader]);
    let id = reader.split('_').nth(1).unwrap();
    service.curl(&format!("/v1/tokens/{id}"), &["-X", "DELETE", "-H", &bearer]);
    [admin, reader, forged].map(|token| token.rsplit('_').next().unwrap().to_owned()).to_vec()
}

#[test]
fn requests_and_changes_of_tokens_are_logged_without_secrets() {
    let mut secrets = Vec::new();
    let lines =
        logged(&["--memory", "--log-format", "json"], |service| secrets = requests(service));
    for (line, secret) in lines.iter().flat_map(|line| secrets.iter().map(move |it| (line, it))) {
        assert!(!line.contains(secret.as_str()), "{line}");
    }
    let lines: Vec<serde_json::Value> =
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |message: &str| {
        lines.iter().filter(|line| line["message"] == message).cloned().collect::<Vec<_>>()
    };
    let access = of("request");
    let route = |line: &serde_json::Value| line["route"].as_str().unwrap().to_owned();
    assert!(!access.iter().any(|line| ["/livez", "/readyz"].contains(&&*route(line))));
    let put = access.iter().find(|line| line["method"] == "PUT").unwrap();
    assert_eq!(
        (put["status"].as_u64(), route(put).as_str()),
        (Some(201), "/v1/campaigns/{campaign}")
    );
    assert_eq!((&put["campaign"], &put["token_name"]), (&"shop-1".into(), &"ops".into()));
    assert_eq!(put["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    assert!(put["bytes"].as_u64().unwrap() > 50 && put["ms"].as_f64().unwrap() > 0.0, "{put}");
    assert!(put["client"].as_str().unwrap().starts_with("127.0.0.1:"), "{put}");
    assert!(put["request_id"].is_string() && put["level"] == "INFO", "{put}");
    let odd = access.iter().find(|line| line["status"] == 404).unwrap();
    assert_eq!((odd.get("campaign"), &odd["code"]), (None, &"no-campaign".into()));
    let page = access.iter().find(|line| line["route"] == "/openapi.json").unwrap();
    assert_eq!((&page["request_id"], page.get("token")), (&"mine".into(), None));
    assert!(page["bytes"].as_u64().unwrap() > 1000, "{page}");
    assert_eq!(access.iter().filter(|line| line["status"] == 401).count(), 30);

    let denied = of("access denied");
    assert_eq!(denied.len(), 10, "limited: {denied:?}");
    assert!(denied.iter().all(|line| line["level"] == "WARN" && line["status"] == 401));
    let (created, revoked) = (of("token created"), of("token revoked"));
    assert_eq!(denied[0]["token"], created[1]["token"], "the id of the token that was used");
    assert_eq!((created.len(), revoked.len()), (2, 1));
    assert_eq!((created[0].get("by"), &created[0]["scopes"]), (None, &"admin".into()));
    assert_eq!(
        (&created[1]["by"], &created[1]["campaign"]),
        (&created[0]["token"], &"shop-*".into())
    );
    assert_eq!(
        (&revoked[0]["token"], &revoked[0]["by"]),
        (&created[1]["token"], &created[0]["token"])
    );
    let first: Vec<_> = lines.iter().filter(|line| line["level"] == "WARN").collect();
    assert!(first[0]["message"].as_str().unwrap().starts_with("authentication is on"), "{first:?}");
}

#[test]
fn the_access_log_is_text_by_default_and_can_be_switched_off() {
    let look = |service: &Service| drop(service.curl("/v1/campaigns/a%22b%0Ac", &[]));
    let text = logged(&["--memory"], look);
    let line = text.iter().find(|line| line.contains(" request ")).unwrap();
    for part in [
        "INFO",
        "method=\"GET\"",
        "route=\"/v1/campaigns/{campaign}\"",
        "status=404",
        "ms=",
        "bytes=",
        "client=127.0.0.1:",
        "request_id=",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(text.iter().all(|line| !line.starts_with('c')), "a line can be forged: {text:?}");
    let off = logged(&["--memory", "--access-log", "off", "--log", "debug"], look);
    assert!(!off.iter().any(|line| line.contains("method=")), "{off:?}");
}

#[test]
fn public_addresses_need_tokens() {
    let folder = folder("open");
    let data = folder.to_str().unwrap();
    let refused = run(&["serve", "--data", data, "--listen", "0.0.0.0:0"], "");
    assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(2), ""));
    assert!(text(&refused.stderr).contains("outlay token create"), "{}", text(&refused.stderr));

    let lesser = run(&["token", "create", "--scope", "read", "--data", data], "");
    assert_eq!(lesser.status.code(), Some(2), "the first token must have all permissions");
    let made = run(&["token", "create", "--scope", "admin", "--data", data], "");
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let token = text(&made.stdout).trim().to_owned();
    assert!(
        token.starts_with("outlay_") && !text(&made.stderr).contains(&token),
        "the secret is for standard output only"
    );

    let mut service = Service::start(&["--data", data, "--listen", "0.0.0.0:0"]);
    let bearer = format!("authorization: Bearer {token}");
    assert!(text(&service.curl("/v1/campaigns", &[]).stdout).contains("unauthorised"));
    assert!(
        text(&service.curl("/v1/campaigns", &["-H", &bearer]).stdout).contains("\"campaigns\":[]")
    );
    let url = service.address.replace("0.0.0.0", "127.0.0.1");
    let asked = |arguments: &[&str]| {
        outlay(&["token"])
            .args(arguments)
            .args(["--url", &url])
            .env("OUTLAY_TOKEN", &token)
            .output()
            .unwrap()
    };
    let list = asked(&["list"]);
    assert!(text(&list.stdout).contains("admin") && list.status.success(), "{list:?}");
    let id = token.split('_').nth(1).unwrap();
    assert!(asked(&["revoke", id]).status.success());
    let after = asked(&["list"]);
    assert_eq!(after.status.code(), Some(2), "a revoked token must not work");
    assert!(text(&after.stderr).contains("OUTLAY_TOKEN"), "{}", text(&after.stderr));
    service.signal("-TERM");
    service.end();
    let log = said(&mut service.child);
    assert!(log.contains("tokens are accepted over plain HTTP"), "{log}");
}

#[test]
fn over_tls() {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/data");
    let (certificate, key) = (format!("{data}/localhost.pem"), format!("{data}/localhost-key.pem"));
    let service = Service::start(&[
        "--memory",
        "--listen",
        "127.0.0.1:0",
        "--tls-cert",
        &certificate,
        "--tls-key",
        &key,
    ]);
    assert!(service.address.starts_with("https://"));
    let answer = service.curl("/livez", &["--cacert", &certificate, "-i"]);
    let answer = text(&answer.stdout);
    assert!(answer.contains("alive") && answer.contains("strict-transport-security"), "{answer}");
    let strangers = service.curl("/livez", &[]);
    assert!(!strangers.status.success(), "curl trusts an unknown certificate");
    let swapped = run(
        &[
            "serve",
            "--memory",
            "--listen",
            "127.0.0.1:0",
            "--tls-cert",
            &key,
            "--tls-key",
            &certificate,
        ],
        "",
    );
    assert_eq!(swapped.status.code(), Some(2));
    assert!(text(&swapped.stderr).contains("certificate"), "{}", text(&swapped.stderr));
}

#[test]
fn an_address_in_use() {
    let service = Service::start(&["--memory", "--listen", "127.0.0.1:0"]);
    let taken = service.address.trim_start_matches("http://");
    let second = run(&["serve", "--memory", "--listen", taken], "");
    assert_eq!(second.status.code(), Some(2));
    assert!(
        text(&second.stderr).contains(&format!("cannot listen on {taken}")),
        "{}",
        text(&second.stderr)
    );
    assert!(
        text(&second.stderr).contains("port 0 takes a free one: --listen 127.0.0.1:0"),
        "{}",
        text(&second.stderr)
    );
}
