"""The types of a user's script, the docstrings of the stubs, and the sections of every public docstring."""

from __future__ import annotations

import enum
import importlib.machinery
import importlib.util
import inspect
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import outlay
from outlay import adapters, errors

FOLDER = Path(__file__).resolve().parent


def checked(*command: str) -> subprocess.CompletedProcess[str]:
    # The package as it is installed, not the folder beside the tests.
    return subprocess.run([*command, str(FOLDER / "typed_script.py")], capture_output=True, text=True, check=False, cwd=FOLDER)


def test_a_script_is_typed_for_mypy(tmp_path: Path) -> None:
    done = checked(sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path))
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_a_script_is_typed_for_pyright() -> None:
    done = checked("pyright")
    assert done.returncode == 0, done.stdout


def test_the_stubs_have_the_docstrings_of_the_compiled_half(root: Path) -> None:
    loader = importlib.machinery.SourceFileLoader("stubs", str(root / "python" / "stubs"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    assert module.stubs() == module.PATH.read_text(encoding="utf-8"), "run python/stubs"


def public() -> list[tuple[str, Any]]:
    """Every public name, and every public method of the classes."""
    found: list[tuple[str, Any]] = []
    modules: list[tuple[str, ModuleType]] = [("outlay", outlay), ("outlay.adapters", adapters), ("outlay.random", outlay.random)]
    for prefix, module in modules:
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.ismodule(thing) or not callable(thing):
                continue
            found.append((f"{prefix}.{name}", thing))
            if inspect.isclass(thing) and not issubclass(thing, Exception):
                for method, value in vars(thing).items():
                    if not method.startswith("_") and callable(getattr(thing, method)) and not isinstance(value, (property, enum.Enum)):
                        found.append((f"{prefix}.{name}.{method}", getattr(thing, method)))
    return found


def missing_sections(name: str, thing: Any) -> list[str]:
    text = inspect.getdoc(thing)
    if not text:
        return ["a docstring"]
    if inspect.isclass(thing):
        wanted = [] if issubclass(thing, (errors.OutlayError, Warning)) else ["Examples"]
        # Results are made by functions; what they hold is described by attributes or properties.
        return [section for section in wanted if f"{section}\n---" not in text and "Attributes\n---" not in text and "Parameters\n---" not in text]
    signature = inspect.signature(thing)
    parameters = [one for one in signature.parameters if one not in ("self", "cls")]
    wanted = ["Parameters"] if parameters else []
    returns = signature.return_annotation
    if returns not in (None, "None", inspect.Signature.empty):
        wanted.append("Yields" if "Iterator[Ledger]" in str(returns) else "Returns")
    return [section for section in wanted if f"{section}\n---" not in text]


def test_every_public_name_is_documented() -> None:
    missing = {name: sections for name, thing in public() if (sections := missing_sections(name, thing))}
    assert not missing, "\n".join(f"{name}: {', '.join(sections)}" for name, sections in missing.items())
    assert len(public()) > 80
