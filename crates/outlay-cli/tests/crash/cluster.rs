//! A PostgreSQL of a test's own, which may be stopped and started without anybody else noticing.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub struct Cluster {
    /// It ends, and the server with it, when its input does.
    keeper: Child,
    pub url: String,
    control: String,
    log: String,
}

impl Cluster {
    /// By `outlay-server/tests/with-postgres`. Where nobody has asked for PostgreSQL the test is
    /// left out, and says so.
    pub fn start() -> Option<Self> {
        let is_wanted = |name: &&str| std::env::var_os(name).is_some();
        if !["OUTLAY_TEST_POSTGRES", "OUTLAY_TEST_POSTGRES_REQUIRED"].iter().any(is_wanted) {
            eprintln!(
                "LEFT OUT: this test needs PostgreSQL; run it by crates/outlay-server/tests/with-postgres"
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

    /// `restart fast`, `restart immediate`, `stop immediate`, `start`.
    pub fn control(&self, words: &[&str]) {
        assert!(
            Command::new(&self.control).args(words).status().expect("the control").success(),
            "{words:?}"
        );
    }

    /// Everything that the server has noted.
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
