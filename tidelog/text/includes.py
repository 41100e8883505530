"""Which files a program may read, and how they are read."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

from tidelog.program.syntax import Span

MAX_INCLUDES = 10_000  # files: includes of includes can multiply
MAX_NESTING = 256  # files that are open at the same time


class Unreadable(Exception):
    """Why a file cannot be read, and what to do."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


class BadEncoding(Exception):
    """A file that is not UTF-8; `text` is what can be shown of it."""

    advice = "save the file as UTF-8"

    def __init__(self, at: Span, byte: int, text: str) -> None:
        super().__init__(f"byte 0x{byte:02x} is not UTF-8")
        self.at = at
        self.text = text


class SearchFolder(NamedTuple):
    """A folder to look in, the folders that must not be left, and its name in messages."""

    folder: Path
    roots: tuple[Path, ...]
    shown: str


class IncludedFile(NamedTuple):
    path: Path
    file: str  # as messages name it


def find(name: str, places: Sequence[SearchFolder], allow_paths: bool) -> IncludedFile:
    """The file that `.include "name"` means: the first that exists in these folders."""
    for place in places:
        path = _in_place(name, place, allow_paths)
        if path is not None:
            return IncludedFile(path, str(PurePath(place.shown) / name))
    raise Unreadable(f"cannot find the file {name}")


def _in_place(name: str, place: SearchFolder, allow_paths: bool) -> Path | None:
    """The file in this place, if it is there and may be read.

    Links are followed before the place is judged, so that no link, `..` or absolute
    path leads out of its roots.
    """
    try:
        path = (place.folder / name).resolve()
        inside = any(path.is_relative_to(root) for root in place.roots)
        mode = path.stat().st_mode if allow_paths or inside else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RuntimeError) as problem:
        raise Unreadable(f"cannot read {name}: {_reason(problem)}") from None
    if mode is None:
        raise Unreadable(
            f"{name} is outside the program's folder",
            "move the file there, or allow it with --allow-paths",
        )
    if stat.S_ISDIR(mode):
        raise Unreadable(f"{name} is a folder, not a file")
    if not stat.S_ISREG(mode) and not allow_paths:
        raise Unreadable(
            f"{name} is not a regular file",
            "include a plain file, or allow it with --allow-paths",
        )
    return path


def read(path: Path, file: str, *, special: bool) -> str:
    """The text of a UTF-8 file. Unless `special`, a pipe or device is refused, not waited for."""
    try:
        flags = os.O_RDONLY | (0 if special else getattr(os, "O_NONBLOCK", 0))
        with open(os.open(path, flags | getattr(os, "O_CLOEXEC", 0)), "rb") as handle:
            # It may have been swapped since it was looked at.
            mode = os.fstat(handle.fileno()).st_mode
            device = stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not handle.isatty())
            if device or (not special and not stat.S_ISREG(mode)):
                raise Unreadable(f"{file} is not a regular file")
            data = handle.read()
    except (OSError, ValueError) as problem:
        raise Unreadable(f"cannot read {file}: {_reason(problem)}") from None
    return decode(data, file)


def decode(data: bytes, file: str) -> str:
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        start = problem.start
        line = data.rfind(b"\n", 0, start) + 1
        column = len(data[line:start].decode("utf-8")) + 1
        at = Span(file, data.count(b"\n", 0, start) + 1, column)
        raise BadEncoding(at, data[start], data.decode("utf-8", "replace")) from None


def _reason(problem: Exception) -> str:
    reason = problem.strerror if isinstance(problem, OSError) else None
    text = reason or str(problem) or type(problem).__name__
    return text[:1].lower() + text[1:]
