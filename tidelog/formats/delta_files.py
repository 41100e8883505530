"""Where deltas go: the standard output at once, or files that appear whole at the end.

In the notation and in JSON Lines every delta ends with a commit; a table holds the rows of
one relation, with the sign in `op` and the update's number in `commit`. All of it can be
read as changes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from typing import IO, Protocol

from tidelog.formats.atomic_files import Staged
from tidelog.formats.byte_source import FileFault
from tidelog.formats.change_files import CHANGE_FORMATS, Place, TableFormat
from tidelog.formats.change_rows import ChangeRows
from tidelog.formats.field_values import shown
from tidelog.program.changes import Change, Commit, FactChange
from tidelog.program.rules import Relation

_IN_MEMORY = 2**24  # bytes of text; more than that waits in a temporary file
_PIECE = 2**20  # bytes copied at a time


class DeltaWriter(Protocol):
    """Takes one delta after another; what goes to a file is staged by `save`.

    `require` refuses a delta that cannot be written, before any writer has taken it.
    """

    def require(self, delta: Iterable[FactChange]) -> None: ...
    def add(self, delta: Iterable[FactChange]) -> None: ...
    def save(self, staged: Staged) -> None: ...


class Printer(Protocol):
    """The standard output."""

    def write(self, data: bytes, /) -> object: ...
    def flush(self) -> object: ...


def delta_writer(place: Place, relation: Relation | None, stdout: Printer | None) -> DeltaWriter:
    """The writer for a place; a table needs its relation."""
    format = CHANGE_FORMATS[place.format]
    if isinstance(format, TableFormat):
        if relation is None:
            raise FileFault(f"unknown relation of the table {place.path}")
        if place.live:
            raise FileFault("a table cannot be printed update by update", "name a file for it")
        return _TableFile(place, format, relation)
    if place.live:
        if stdout is None:
            raise FileFault("the standard output is closed")
        return _Printed(stdout, format.text)
    return _TextFile(place.path, format.text)


def delta_lines(delta: Iterable[FactChange], text: Callable[[Change], str]) -> bytes:
    lines = [*map(text, delta), text(Commit())]
    return ("\n".join(lines) + "\n").encode()


class _Printed:
    def __init__(self, stdout: Printer, text: Callable[[Change], str]) -> None:
        self._stdout = stdout
        self._text = text

    def require(self, delta: Iterable[FactChange]) -> None: ...

    def add(self, delta: Iterable[FactChange]) -> None:
        self._stdout.write(delta_lines(delta, self._text))
        self._stdout.flush()  # a reader at the other end of a pipe waits for it

    def save(self, staged: Staged) -> None: ...


class _TextFile:
    def __init__(self, path: str, text: Callable[[Change], str]) -> None:
        self._path = path
        self._text = text
        self._spool: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115

    def require(self, delta: Iterable[FactChange]) -> None: ...

    def add(self, delta: Iterable[FactChange]) -> None:
        self._spool.write(delta_lines(delta, self._text))

    def save(self, staged: Staged) -> None:
        self._spool.seek(0)
        pieces = iter(lambda: self._spool.read(_PIECE), b"")
        staged.write(self._path, pieces, compress=self._path.endswith(".gz"))
        self._spool.close()


class _TableFile:
    def __init__(self, place: Place, format: TableFormat, relation: Relation) -> None:
        self._place = place
        self._write = format.write
        tabs = place.path.removesuffix(".gz").endswith(".tsv")
        self._rows = ChangeRows(relation, tabs and place.format == "csv")
        self._updates = 0

    def require(self, delta: Iterable[FactChange]) -> None:
        """A table with tabs has no quotes, so its symbols are of one line and have no tabs."""
        relation = self._rows.relation
        if not self._rows.tabs or "symbol" not in relation.kinds:
            return
        name, path = relation.name, self._place.path
        for change in delta:
            if change.relation == name:
                for value in change.row:
                    if isinstance(value, str) and any(sign in value for sign in "\t\n\r"):
                        message = f"{shown(value)} in {name} has a tab or a line end"
                        advice = f"write {name} to a .csv, .parquet, .jsonl or .changes file"
                        raise FileFault(f"{message}: {path} cannot hold it", advice)

    def add(self, delta: Iterable[FactChange]) -> None:
        self._updates += 1
        for change in delta:
            if change.relation == self._rows.relation.name:
                self._rows.add(change, self._updates)

    def save(self, staged: Staged) -> None:
        path = self._place.path
        staged.write(path, self._write(self._rows), compress=path.endswith(".gz"))
