//! The real program, started, killed and started again.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A running service.
pub struct Service {
    child: Child,
    pub address: String,
}

/// The resources that a process holds.
#[derive(Debug, Clone, Copy)]
pub struct Holds {
    pub resident_kb: u64,
    pub threads: u64,
    pub files: u64,
}

/// Environment variables that put the shim between the program and its disk or clock.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    variables: Vec<(String, String)>,
}

impl Disk {
    /// The shim of `shim.c` over this folder.
    pub fn shim(folder: &Path, shadow: &Path) -> Self {
        let folder = folder.display().to_string();
        Self::default()
            .with("LD_PRELOAD", shim())
            .with("OUTLAY_SHIM_FOLDER", &folder)
            .with("OUTLAY_SHIM_SHADOW", &shadow.display().to_string())
    }

    /// A real disk, and a clock shifted by the offset in this file.
    pub fn clock(file: &Path) -> Self {
        Self::default()
            .with("LD_PRELOAD", shim())
            .with("OUTLAY_SHIM_CLOCK", &file.display().to_string())
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// Compiles the shim, once.
fn shim() -> &'static str {
    static SHIM: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    SHIM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crash/shim.c");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outlay-crash-shim.so");
        let built = Command::new("cc")
            .args(["-O1", "-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(source)
            .args(["-ldl", "-lpthread"])
            .status();
        assert!(built.expect("a C compiler").success(), "the shim does not compile");
        library.display().to_string()
    })
}

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outlay"));
    command.args(["serve", "--listen", "127.0.0.1:0"]);
    command
}

/// No service outlives its test, even if the test fails.
impl Drop for Service {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Service {
    /// Starts the service over a folder; the error is its exit status and output.
    pub fn start(folder: &Path, disk: &Disk) -> Result<Self, String> {
        let mut command = program();
        command.arg("--data").arg(folder);
        command.envs(disk.variables.iter().map(|(name, value)| (name, value)));
        Self::begin(command)
    }

    /// Starts a replica on a database.
    pub fn replica(url: &str) -> Result<Self, String> {
        let mut command = program();
        command.args(["--database", url]);
        Self::begin(command)
    }

    fn begin(mut command: Command) -> Result<Self, String> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        out.read_line(&mut line).expect("text");
        match line.trim().split("http://").nth(1) {
            Some(address) => Ok(Self { address: address.trim_end_matches('/').to_owned(), child }),
            None => Err(format!("{} {line}", child.wait().expect("an end"))),
        }
    }

    /// The resources that the process holds, from `/proc`.
    pub fn holds(&self) -> Holds {
        let process = Path::new("/proc").join(self.child.id().to_string());
        let status = std::fs::read_to_string(process.join("status")).expect("a process");
        let number = |name: &str| {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix(name))
                .expect("a line of its status");
            line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
        };
        let files = std::fs::read_dir(process.join("fd")).expect("its files").count() as u64;
        Holds { resident_kb: number("VmRSS:"), threads: number("Threads:"), files }
    }

    /// Kills the process without warning.
    pub fn kill(mut self) {
        self.child.kill().expect("a process to kill");
        self.child.wait().expect("an end");
    }

    /// Asks it to stop, and waits.
    pub fn stop(mut self) -> ExitStatus {
        let signal = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(signal.expect("kill").success());
        self.child.wait().expect("an end")
    }

    /// The exit status, if the process ends within this time.
    pub fn ended(&mut self, within: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + within;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().expect("a state") {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}
