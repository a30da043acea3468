"""The machine and the versions used in the measurements."""

import os
import pathlib
import platform
import subprocess
from importlib.metadata import version

PACKAGES = ("numpy", "scipy", "clarabel", "cvxpy", "ortools", "river", "mabwiser")


def describe():
    """The name of the processor."""
    model, flags = platform.machine(), set()
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            key, _, text = line.partition(":")
            if key.strip() == "model name":
                model = text.strip()
            elif key.strip() == "flags":
                flags = set(text.split())
    except OSError:
        pass
    vectors = " ".join(flag for flag in ("sse4_2", "avx", "avx2", "fma", "avx512f") if flag in flags)
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False).stdout.split()
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "vectors": vectors,
        "python": platform.python_version(),
        "rustc": compiler[1] if len(compiler) > 1 else "unknown",
        "packages": {name: version(name) for name in PACKAGES},
        "load_at_start": os.getloadavg()[0],
    }


def sentence(machine):
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    return (
        f"Machine: {machine['processor']}, {machine['cores']} cores ({machine['vectors']}), load {machine['load_at_start']:.1f} at the start. "
        f"rustc {machine['rustc']}; Python {machine['python']}, {packages}."
    )
