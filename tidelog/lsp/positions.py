"""Positions of the protocol: lines from 0, columns in UTF-16 code units, files as URIs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tidelog.program.syntax import Span


def path_of(uri: str) -> Path | None:
    """The file of a URI; None if it has none, such as a document that is not saved yet.

    >>> path_of("file:///srv/a%20b.dl").as_posix(), path_of("untitled:1")
    ('/srv/a b.dl', None)
    """
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path)
    if os.name == "nt":
        path = path.lstrip("/")
    return Path(path) if path and "\0" not in path else None


def uri_of(file: str) -> str:
    return Path(os.path.abspath(file)).as_uri()


def units(text: str, characters: int) -> int:
    """The number of code units in the first characters of a line.

    >>> units("a🌊b", 2), units("abc", 9)
    (3, 3)
    """
    return len(text[: max(characters, 0)].encode("utf-16-le", "surrogatepass")) // 2


def characters(text: str, units: int) -> int:
    """The number of characters in the first code units of a line.

    >>> characters("a🌊b", 3), characters("a🌊b", 99)
    (2, 3)
    """
    data = text.encode("utf-16-le", "surrogatepass")[: 2 * max(units, 0)]
    return len(data.decode("utf-16-le", "ignore"))


def range_of(at: Span | None, lines: Sequence[str]) -> dict[str, Any]:
    """A span as a range; the start of the text if there is no span."""
    if at is None or at.line < 1:
        return {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    line = lines[at.line - 1] if at.line <= len(lines) else ""
    start, end = units(line, at.column - 1), units(line, at.column - 1 + at.width)
    return {
        "start": {"line": at.line - 1, "character": start},
        "end": {"line": at.line - 1, "character": max(end, start)},
    }
