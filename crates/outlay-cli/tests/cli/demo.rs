//! `outlay demo`: it serves, plays rounds and leaves no files.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use super::{outlay, text};

/// Starts the demo and returns it with its printed address and its further output.
fn start(arguments: &[&str]) -> (Child, String, BufReader<std::process::ChildStdout>) {
    let mut command = outlay(&["demo", "--listen", "127.0.0.1:0"]);
    command.args(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let address = line.trim_start_matches("http://").split('/').next().unwrap().to_owned();
    assert_eq!(line, format!("http://{address}/#/campaigns/auctions\n"));
    (child, address, lines)
}

fn get(address: &str, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), body.to_owned())
}

#[test]
fn the_demo_ends_after_the_given_rounds() {
    let output = outlay(&[
        "demo",
        "--listen",
        "127.0.0.1:0",
        "--rounds",
        "60",
        "--rounds-per-second",
        "1000",
    ])
    .output()
    .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("closing prices of 628 recorded auctions"));
    let tally = text(&output.stdout).lines().last().unwrap().to_owned();
    let numbers: Vec<u64> =
        tally.split(" · ").map(|part| part.split(' ').next().unwrap().parse().unwrap()).collect();
    let [rounds, accepted, twice, late] = numbers[..] else { panic!("{tally}") };
    assert_eq!((rounds, late), (60, 0));
    // Most of the 540 outcomes have been reported by then, some of them twice.
    assert!((400..540).contains(&accepted), "{tally}");
    assert!((5..60).contains(&twice), "{tally}");
}

#[test]
fn the_demo_serves_its_page_and_ends_on_a_signal() {
    let (child, address, mut rest) = start(&["--rounds-per-second", "50"]);
    let (head, page) = get(&address, "/");
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert!(
        head.contains("content-type: text/html")
            && head.contains("content-security-policy: default-src 'none'"),
        "{head}"
    );
    assert!(page.contains("<title>outlay</title>"));
    let played = || {
        let (_, body) = get(&address, "/v1/campaigns/auctions");
        let state: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(state["tasks"].as_array().unwrap().len(), 9);
        (state["rounds"].as_u64().unwrap(), state["open_rounds"].as_u64().unwrap())
    };
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while played().0 < 20 {
        assert!(std::time::Instant::now() < deadline, "the demo plays no rounds");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(played().1 > 0, "reports come late, so some rounds are open");
    let folder = std::env::temp_dir().join(format!("outlay-demo-{}", child.id()));
    assert!(folder.is_dir());
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let mut tally = String::new();
    rest.read_to_string(&mut tally).unwrap();
    assert!(tally.contains(" rounds · "), "{tally}");
    assert!(!folder.exists(), "the demo left its folder behind");
}

#[test]
fn the_demo_listens_on_loopback_only() {
    let output = outlay(&["demo", "--listen", "0.0.0.0:0", "--rounds", "1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("the demo runs without authentication"),
        "{}",
        text(&output.stderr)
    );
}
