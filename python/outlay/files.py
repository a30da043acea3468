"""Reading and writing files, with errors that name the file."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import FileError


def read_text(path: str) -> str:
    """The text of a file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise FileError(f"cannot read {path}: no such file") from error
    except PermissionError as error:
        raise FileError(f"cannot read {path}: permission denied") from error
    except IsADirectoryError as error:
        raise FileError(f"cannot read {path}: it is a directory") from error
    except UnicodeDecodeError as error:
        raise FileError(f"cannot read {path}: it is not UTF-8 text") from error


def write_file(path: str | os.PathLike[str], text: str) -> None:
    """Replaces a file by a new one, or leaves it unchanged."""
    target = Path(path)
    beside = target.with_name(target.name + ".part")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, target)
    except OSError as error:
        raise FileError(f"cannot write {os.fspath(path)}: {error.strerror}") from error
