"""A real `outlay serve` for the tests: in a folder of its own, on a free port, killed and started again at will."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def program() -> str:
    """The command to test: `$OUTLAY`, or what cargo builds here."""
    if "OUTLAY" in os.environ:
        return os.environ["OUTLAY"]
    subprocess.run(["cargo", "build", "--quiet", "--package", "outlay-cli"], cwd=ROOT, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    return str(pathlib.Path(target) / "debug" / "outlay")


class Service:
    def __init__(self, program: str, folder: pathlib.Path, *options: str) -> None:
        self.program, self.folder, self.options = program, folder, options
        self.listen = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        command = [self.program, "serve", "--data", str(self.folder), "--any-file-system", "--listen", self.listen, *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = []
        for line in self.process.stdout:
            said.append(line)
            if found := re.search(r"(https?)://127\.0\.0\.1:(\d+)", line):
                self.url = found.group(0)
                self.listen = f"127.0.0.1:{found.group(2)}"
                return
        raise RuntimeError(f"the service did not start:\n{''.join(said)}")

    def kill(self) -> None:
        """As by a power cut."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def token(self, *scopes: str) -> str:
        words = [word for scope in scopes for word in ("--scope", scope)]
        made = subprocess.run(
            [self.program, "token", "create", *words, "--url", self.url],
            env={**os.environ, **({"OUTLAY_TOKEN": self.admin} if hasattr(self, "admin") else {})},
            capture_output=True, text=True, check=True,
        )
        token = made.stdout.strip()
        if not hasattr(self, "admin"):
            self.admin = token
        return token
