//! A PostgreSQL server for one test, which may stop and start it without affecting other tests.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub struct Cluster {
    /// It ends, and stops the server, when its input is closed.
    keeper: Child,
    pub url: String,
    control: String,
    log: String,
}

impl Cluster {
    /// Starts a server with `outlay-server/tests/with-postgres`. Without PostgreSQL, prints that
    /// the test is skipped and returns `None`.
    pub fn start() -> Option<Self> {
        let is_wanted = |name: &&str| std::env::var_os(name).is_some();
        if !["OUTLAY_TEST_POSTGRES", "OUTLAY_TEST_POSTGRES_REQUIRED"].iter().any(is_wanted) {
            eprintln!(
                "SKIPPED: this test needs PostgreSQL; run it with crates/outlay-server/tests/with-postgres"
            );
            return None;
        }
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../outlay-server/tests/with-postgres");
        let names = r#""$OUTLAY_TEST_POSTGRES" "$OUTLAY_TEST_POSTGRES_CONTROL" "$OUTLAY_TEST_POSTGRES_LOG""#;
        let mut command = Command::new(script);
        command
            .args(["sh", "-c", &format!(r#"printf '%s\n' {names}; cat"#)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut keeper = command.spawn().expect("tests/with-postgres");
        let mut lines = BufReader::new(keeper.stdout.take().expect("a pipe")).lines();
        let mut line = || lines.next().expect("a cluster").expect("text");
        let (url, control, log) = (line(), line(), line());
        Some(Self { keeper, url, control, log })
    }

    /// Runs `restart fast`, `restart immediate`, `stop immediate` or `start`.
    pub fn control(&self, words: &[&str]) {
        assert!(
            Command::new(&self.control).args(words).status().expect("the control").success(),
            "{words:?}"
        );
    }

    /// The server's log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).expect("a log")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        self.keeper.wait().ok();
    }
}
