//! Runs the commands of the service pages as a reader would: a real `outlay serve`, real `curl`, one
//! shell per page. Values that vary between runs (times, tokens, ids) are replaced by fixed ones.
//! `SERVICE_GUIDE=overwrite cargo test --release -p outlay-cli --test main service_guide` updates
//! the pages with the current responses; review the difference.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::root;

const OPEN: &str = "```shell-session service";
const CLOSE: &str = "```";
const ADDRESS: &str = "http://127.0.0.1:7341";
/// Separates the outputs of two commands.
const MARK: &str = "\u{1}\n";

/// A service that ends with the test.
struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a service on a free port and returns its address.
fn serve(data: &Path) -> (Service, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outlay"));
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--quiet", "--data"])
        .arg(data)
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    (Service(child), address.trim().to_owned())
}

/// The commands of a page, each with its continuation lines.
fn commands(page: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut is_walk = false;
    for line in page.lines() {
        match line {
            OPEN => is_walk = true,
            CLOSE => is_walk = false,
            line if is_walk && line.starts_with("$ ") => commands.push(line[2..].to_owned()),
            line if is_walk && line.starts_with("> ") => {
                let last = commands.last_mut().unwrap();
                *last += "\n";
                *last += &line[2..];
            }
            _ => {}
        }
    }
    commands
}

/// The output of a shell for each command.
fn printed(commands: &[String], address: &str, folder: &Path) -> Vec<String> {
    let binary = Path::new(env!("CARGO_BIN_EXE_outlay")).parent().unwrap();
    let path = std::env::join_paths(
        [binary.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    )
    .unwrap();
    let script: String = commands
        .iter()
        .map(|command| {
            if command.starts_with("outlay serve") {
                ":".to_owned()
            } else {
                command.replace(ADDRESS, address)
            }
        })
        .map(|command| format!("{command}\nprintf '\\1\\n'\n"))
        .collect();
    let script = format!("exec 2>&1\n{script}");
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &script])
        .current_dir(folder)
        .env("PATH", path)
        .env_remove("OUTLAY_TOKEN")
        .env_remove("OUTLAY_DATABASE");
    let text = String::from_utf8(shell.output().unwrap().stdout).unwrap();
    text.split_terminator(MARK).map(steady).collect()
}

/// Replaces times, tokens and ids by the fixed ones of the page.
fn steady(text: &str) -> String {
    let mut steady = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if let Some(length) = time(rest) {
            steady += "2026-11-16T12:00:00Z";
            rest = &rest[length..];
        } else if let Some(after) = rest
            .strip_prefix("outlay_")
            .filter(|after| after.starts_with(|one: char| one.is_ascii_alphanumeric()))
        {
            steady += "outlay_7GkW2hTqXb1_…";
            rest = after.trim_start_matches(|one: char| one.is_ascii_alphanumeric() || one == '_');
        } else if let Some((key, after)) =
            ["\"request_id\":\"", "\"id\":\"", "\"token\":\"", "token "]
                .iter()
                .find_map(|key| rest.strip_prefix(key).map(|after| (key, after)))
        {
            let value: &str = after
                .split(|one: char| !one.is_ascii_alphanumeric() && one != '-' && one != '_')
                .next()
                .unwrap();
            steady += key;
            // Public parts of tokens and request ids are long, unlike the ids of campaigns on the
            // page.
            let is_drawn = value.len() >= 10 && !value.starts_with("outlay_");
            steady += if is_drawn && key.contains("request") {
                "5e1f07aa-1"
            } else if is_drawn {
                "7GkW2hTqXb1"
            } else {
                ""
            };
            rest = if is_drawn { &after[value.len()..] } else { after };
        } else {
            steady.push(character);
            rest = &rest[character.len_utf8()..];
        }
    }
    steady
}

/// The length of the RFC 3339 time at the start of a text, if there is one.
fn time(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let shape = b"dddd-dd-ddTdd:dd:dd";
    let fits = |(byte, shape): (&u8, &u8)| {
        if *shape == b'd' { byte.is_ascii_digit() } else { byte == shape }
    };
    if bytes.len() <= shape.len() || !bytes.iter().zip(shape).all(fits) {
        return None;
    }
    let end = bytes[shape.len()..].iter().position(|byte| *byte == b'Z')?;
    bytes[shape.len()..shape.len() + end]
        .iter()
        .all(|byte| *byte == b'.' || byte.is_ascii_digit())
        .then_some(shape.len() + end + 1)
}

/// The page with these outputs after its commands.
fn with_outputs(page: &str, outputs: &[String]) -> String {
    let mut text = String::new();
    let mut outputs = outputs.iter();
    let mut output: Option<&String> = None;
    let mut is_walk = false;
    for line in page.lines() {
        let is_more = is_walk && line.starts_with("> ");
        let is_command = is_walk && line.starts_with("$ ");
        if !is_more && let Some(output) = output.take() {
            text += output;
        }
        is_walk = (is_walk || line == OPEN) && line != CLOSE;
        if is_command {
            output = outputs.next();
        }
        // Skips the old output.
        if !is_walk || line == OPEN || is_command || is_more {
            text += &format!("{line}\n");
        }
    }
    text
}

/// Runs the commands of a page against a new service and compares their outputs.
fn follow(page: &str, least_commands: usize) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(page.replace('/', "-"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let path = root().join(page);
    let said = std::fs::read_to_string(&path).unwrap();
    let commands = commands(&said);
    assert!(commands.len() >= least_commands, "{page} has only {} commands", commands.len());
    let (_service, address) = serve(&folder.join("data"));
    let mut outputs = printed(&commands, &address, &folder);
    assert_eq!(outputs.len(), commands.len(), "a command ended the shell");
    for output in &mut outputs {
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
    }
    let now = with_outputs(&said, &outputs).replace(&address, ADDRESS);
    if std::env::var_os("SERVICE_GUIDE").is_some_and(|wish| wish == "overwrite") {
        std::fs::write(&path, &now).unwrap();
        return;
    }
    let wrong = said.lines().zip(now.lines()).enumerate().find(|(_, (said, now))| said != now);
    if let Some((line, (said, now))) = wrong {
        panic!("{page}, line {}:\n  says   {said}\n  prints {now}", line + 1);
    }
    assert_eq!(said, now);
}

#[test]
fn the_reference_shows_the_responses_of_the_service() {
    follow("docs/reference/http-api.md", 20);
}

#[test]
fn the_how_to_guide_shows_the_responses_of_the_service() {
    follow("docs/how-to/run-the-service.md", 6);
}

#[test]
fn the_tutorial_shows_the_responses_of_the_service() {
    follow("docs/tutorials/service.md", 6);
}
