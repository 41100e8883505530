"""Where deltas go: the standard output at once, or files that appear whole at the end.

In the notation and in JSON Lines every delta ends with a commit; a table holds the rows of
one relation, with the sign in `op` and the update's number in `commit`. All of it can be
read as changes.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import IO, Protocol

from tidelog.io.atomic import Staged
from tidelog.io.cells import float_text, shown
from tidelog.io.changes import Format, Place
from tidelog.io.frames import to_arrow
from tidelog.io.jsonl import jsonl_text
from tidelog.io.source import FileFault
from tidelog.io.terms import term_text
from tidelog.program.changes import Change, Commit, FactChange
from tidelog.program.rules import Relation
from tidelog.program.syntax import Kind, Value
from tidelog.program.table import Table
from tidelog.program.terms import TermKind
from tidelog.text.changes import change_text

_IN_MEMORY = 2**24  # bytes of text; more than that waits in a temporary file
_PIECE = 2**20
_ROWS = 2**14  # of a table that become text at a time

_TEXTS: dict[Format, Callable[[Change], str]] = {"changes": change_text, "jsonl": jsonl_text}


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
    if place.format in ("csv", "parquet"):
        if relation is None:
            raise FileFault(f"the table {place.path} is of no known relation")
        if place.live:
            raise FileFault("a table cannot be printed update by update", "name a file for it")
        return _TableFile(place, relation)
    if place.live:
        if stdout is None:
            raise FileFault("the standard output is closed")
        return _Printed(stdout, _TEXTS[place.format])
    return _TextFile(place.path, _TEXTS[place.format])


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
    def __init__(self, place: Place, relation: Relation) -> None:
        self._place = place
        self._relation = relation
        self._ops: list[str] = []
        self._batches: list[int] = []
        self._rows: list[tuple[Value, ...]] = []
        self._updates = 0
        text = place.format == "csv"
        self._tabs = text and place.path.removesuffix(".gz").endswith(".tsv")

    def require(self, delta: Iterable[FactChange]) -> None:
        """A table with tabs has no quotes, so its symbols are of one line and have no tabs."""
        if not self._tabs or "symbol" not in self._relation.kinds:
            return
        name, path = self._relation.name, self._place.path
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
            if change.relation == self._relation.name:
                self._ops.append(change.op)
                self._batches.append(self._updates)
                self._rows.append(change.row)

    def save(self, staged: Staged) -> None:
        path = self._place.path
        pieces = self._parquet() if self._place.format == "parquet" else self._text()
        staged.write(path, pieces, compress=path.endswith(".gz"))

    def _text(self) -> Iterator[bytes]:
        delimiter, cell = ("\t", str) if self._tabs else (",", _quoted)
        records = self._records()
        while some := list(islice(records, _ROWS)):
            lines = [delimiter.join(map(cell, record)) for record in some]
            yield ("\n".join(lines) + "\n").encode()

    def _records(self) -> Iterator[list[str]]:
        yield ["op", "commit", *self._relation.attributes]
        for op, batch, row in zip(self._ops, self._batches, self._rows, strict=True):
            cells = [_cell(kind, v) for kind, v in zip(self._relation.kinds, row, strict=True)]
            yield [op, str(batch), *cells]

    def _parquet(self) -> Iterator[bytes]:
        import pyarrow as pa
        from pyarrow import parquet

        frame = to_arrow(self._relation, Table.from_rows(self._relation.kinds, self._rows))
        signs = [pa.array(self._ops, pa.string()), pa.array(self._batches, pa.int64())]
        names = ["op", "commit", *self._relation.attributes]
        written = io.BytesIO()
        parquet.write_table(pa.table([*signs, *frame.columns], names=names), written)
        yield written.getvalue()


def _cell(kind: Kind, value: Value) -> str:
    if isinstance(kind, TermKind):
        return term_text(kind, value)
    return float_text(value) if isinstance(value, float) else str(value)


def _quoted(cell: str) -> str:
    """As RFC 4180 has it.

    >>> _quoted('a "b" c'), _quoted("d")
    ('"a ""b"" c"', 'd')
    """
    doubled = cell.replace('"', '""')
    return f'"{doubled}"' if any(sign in cell for sign in ',"\n\r') else cell
