"""The types of a user's script, the docstrings of the stubs, and the sections of every public docstring."""

from __future__ import annotations

import ast
import enum
import importlib.machinery
import importlib.util
import inspect
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import outlay
from outlay import adapters, errors, interop

FOLDER = Path(__file__).resolve().parent


def checked(*command: str) -> subprocess.CompletedProcess[str]:
    # The installed package, not the folder beside the tests.
    return subprocess.run([*command, str(FOLDER / "typed_script.py")], capture_output=True, text=True, check=False, cwd=FOLDER)


def test_a_script_is_typed_for_mypy(tmp_path: Path) -> None:
    done = checked(sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path))
    assert done.returncode == 0, done.stdout


def test_a_script_is_typed_for_pyright() -> None:
    done = checked(sys.executable, "-m", "pyright", "--pythonpath", sys.executable)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors" in done.stdout


def test_the_stubs_have_the_docstrings_of_the_compiled_half(root: Path) -> None:
    loader = importlib.machinery.SourceFileLoader("stubs", str(root / "python" / "stubs"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    assert module.stubs() == module.PATH.read_text(encoding="utf-8"), "run python/stubs"


#: Functions that raise no exceptions for any arguments; all others have a section Raises.
NEVER_RAISE = {
    "Allocation.to_dict",
    "Client.close",
    "Curve.to_dict",
    "DecisionPolicy.decide",
    "Environment.budget",
    "Environment.means",
    "IndexPolicy.index",
    "Learner.learnt",
    "Learner.state",
    "Ledger.to_json",
    "Problem.check",
    "Problem.source",
    "Problem.to_dict",
    "Problem.to_json",
    "Problem.to_toml",
    "Task.to_dict",
    "Draws.bits",
    "Draws.sequence",
    "Draws.uniform",
}


def public() -> list[tuple[str, Any]]:
    """Every public name, and every public method of the classes, also those that they share."""
    found: list[tuple[str, Any]] = []
    modules: list[tuple[str, ModuleType]] = [
        ("outlay", outlay),
        ("outlay.adapters", adapters),
        ("outlay.interop", interop),
        ("outlay.random", outlay.random),
    ]
    for prefix, module in modules:
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.ismodule(thing) or not callable(thing):
                continue
            found.append((f"{prefix}.{name}", thing))
            if inspect.isclass(thing) and not issubclass(thing, Exception):
                own = [base for base in thing.__mro__ if base.__module__.startswith("outlay")]
                for method in dict.fromkeys(method for base in own for method in vars(base)):
                    value = inspect.getattr_static(thing, method)
                    is_method = callable(getattr(thing, method)) and not isinstance(value, (property, enum.Enum))
                    # scikit-learn adds its own methods to a class.
                    is_foreign = type(value).__module__.startswith("sklearn")
                    if is_method and not is_foreign and not method.startswith("_"):
                        found.append((f"{prefix}.{name}.{method}", getattr(thing, method)))
    return found


def missing_sections(thing: Any) -> list[str]:
    text = inspect.getdoc(thing)
    if not text:
        return ["a docstring"]
    if inspect.isclass(thing):
        if issubclass(thing, (errors.OutlayError, Warning)):
            return []
        described = any(f"{section}\n---" in text for section in ("Parameters", "Attributes")) or not has_arguments(thing)
        return [] if described and "Examples\n---" in text else ["Examples, and Parameters or Attributes"]
    signature = inspect.signature(thing)
    parameters = [one for one in signature.parameters if one not in ("self", "cls")]
    wanted = ["Examples"] + (["Parameters"] if parameters else [])
    returns = signature.return_annotation
    if returns not in (None, "None", inspect.Signature.empty):
        wanted.append("Yields" if "Iterator[Ledger]" in str(returns) else "Returns")
    if thing.__qualname__ not in NEVER_RAISE:
        wanted.append("Raises")
    return [section for section in wanted if f"{section}\n---" not in text]


def has_arguments(thing: type) -> bool:
    """Whether users make objects of the class: those of the compiled half that only functions return have no constructor."""
    return not (thing.__module__ == "outlay" and thing.__new__ is object.__new__ or getattr(thing, "_is_protocol", False))


def test_every_public_name_is_documented() -> None:
    missing = {name: sections for name, thing in public() if (sections := missing_sections(thing))}
    assert not missing, "\n".join(f"{name}: {', '.join(sections)}" for name, sections in missing.items())
    assert len(public()) > 110


def test_functions_without_a_section_raises_raise_nothing() -> None:
    known = {thing.__qualname__: thing for _, thing in public()}
    assert NEVER_RAISE <= known.keys(), NEVER_RAISE - known.keys()
    for name in NEVER_RAISE:
        if not inspect.isfunction(known[name]):
            continue  # a function of the compiled module
        source = textwrap.dedent(inspect.getsource(known[name]))
        assert not any(isinstance(node, ast.Raise) for node in ast.walk(ast.parse(source))), name


def test_every_property_is_documented() -> None:
    for name, thing in public():
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for attribute, value in vars(thing).items():
                if isinstance(value, property) or inspect.isgetsetdescriptor(value):
                    assert attribute.startswith("_") or inspect.getdoc(value), f"{name}.{attribute}"
