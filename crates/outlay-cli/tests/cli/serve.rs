//! `outlay serve` and `outlay token` as whoever operates them meets them.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use super::{outlay, run, text};

/// A folder of its own for a test.
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
        let mut child =
            command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        assert!(address.starts_with("http"), "it did not start: {}", said(&mut child));
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
            assert!(begun.elapsed() < Duration::from_secs(30), "it does not end");
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

#[test]
fn told_to_stop_it_ends_in_good_order_and_keeps_everything() {
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
    // The variable replaces the file, and the flag as well.
    assert!(put("/v1/campaigns/one", 3).contains("more than 2"));
    assert!(put("/v1/campaigns/one", 2).contains("\"id\":\"one\""));
    assert!(put("/v1/campaigns/two", 2).contains("there are 1 campaigns already"));
    service.signal("-HUP");
    assert_eq!(notified(), "STOPPING=1");
    assert_eq!(service.end().code(), Some(0), "a closed terminal stops it gracefully");
}

#[test]
fn a_log_for_programs_has_an_object_a_line() {
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

#[test]
fn nobody_else_is_served_without_tokens() {
    let folder = folder("open");
    let data = folder.to_str().unwrap();
    let refused = run(&["serve", "--data", data, "--listen", "0.0.0.0:0"], "");
    assert_eq!((refused.status.code(), text(&refused.stdout)), (Some(2), ""));
    assert!(text(&refused.stderr).contains("outlay token create"), "{}", text(&refused.stderr));

    let lesser = run(&["token", "create", "--scope", "read", "--data", data], "");
    assert_eq!(lesser.status.code(), Some(2), "the first must be for everything");
    let made = run(&["token", "create", "--scope", "admin", "--data", data], "");
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    let token = text(&made.stdout).trim().to_owned();
    assert!(
        token.starts_with("outlay_") && !text(&made.stderr).contains(&token),
        "the secret is for standard output only"
    );

    let service = Service::start(&["--data", data, "--listen", "0.0.0.0:0"]);
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
    assert_eq!(after.status.code(), Some(2), "a revoked token lists");
    assert!(text(&after.stderr).contains("OUTLAY_TOKEN"), "{}", text(&after.stderr));
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
    assert!(!strangers.status.success(), "curl trusts a certificate that nobody vouches for");
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
fn an_address_that_is_taken() {
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
