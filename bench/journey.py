"""The journey of a change: the files that one update of `tidelog apply` passes.

    python -m bench.journey

prints the files of Tidelog whose functions are called from the moment when `tidelog apply` asks for
the first update, with the database open, until its delta is printed. They come in the order of
their first calls. docs/architecture.md has the walk, and a test compares the two.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import tidelog
from tidelog.changes.stream import Stream
from tidelog.cli import main
from tidelog.cli.update_reports import Reports

PACKAGE = str(Path(tidelog.__file__).parent) + os.sep
PROGRAM = """\
.decl edge(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
edge(2, 3).
"""
UPDATE = "+edge(1, 2). commit.\n"


def journey() -> dict[str, list[str]]:
    """The functions that the update calls, by file."""
    called: dict[str, list[str]] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            names = called.setdefault(code.co_filename.removeprefix(PACKAGE), [])
            if code.co_qualname not in names:
                names.append(code.co_qualname)

    def begin(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            if not called:
                sys.setprofile(note)
            return function(*arguments)

        return wrapped

    def end(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            finally:
                sys.setprofile(None)

        return wrapped

    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        patch.object(Stream, "__next__", begin(Stream.__next__)),
        patch.object(Reports, "add", end(Reports.add)),
    ):
        Path("reach.dl").write_text(PROGRAM)
        Path("edges.changes").write_text(UPDATE)
        assert main(["apply", "reach.dl", "edges.changes", "--deltas", "-"]) == 0
    return called


if __name__ == "__main__":
    found = journey()
    print()
    for number, (file, names) in enumerate(found.items(), 1):
        print(f"{number:2} {file:36} {', '.join(names)}")
