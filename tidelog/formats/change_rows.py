"""Tables of changes, written: text with commas or tabs, and Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice

from tidelog.formats.field_values import float_text
from tidelog.formats.frames import to_arrow
from tidelog.formats.term_cells import term_text
from tidelog.program.changes import FactChange
from tidelog.program.rules import Relation
from tidelog.program.syntax import Kind, Value
from tidelog.program.table import Table
from tidelog.program.terms import TermKind

_ROWS = 2**14  # that become text at a time


class ChangeRows:
    """Changes of one relation with the numbers of their updates."""

    def __init__(self, relation: Relation, tabs: bool = False) -> None:
        self.relation = relation
        self.tabs = tabs  # between the cells of text; without quotes
        self.ops: list[str] = []
        self.updates: list[int] = []
        self.rows: list[tuple[Value, ...]] = []

    @property
    def header(self) -> list[str]:
        return ["op", "commit", *self.relation.attributes]

    def add(self, change: FactChange, update: int) -> None:
        self.ops.append(change.op)
        self.updates.append(update)
        self.rows.append(change.row)


def text_rows(changes: ChangeRows) -> Iterator[bytes]:
    delimiter, cell = ("\t", str) if changes.tabs else (",", _quoted)
    records = _records(changes)
    while some := list(islice(records, _ROWS)):
        lines = [delimiter.join(map(cell, record)) for record in some]
        yield ("\n".join(lines) + "\n").encode()


def _records(changes: ChangeRows) -> Iterator[list[str]]:
    yield changes.header
    kinds = changes.relation.kinds
    for op, update, row in zip(changes.ops, changes.updates, changes.rows, strict=True):
        yield [op, str(update), *(_cell(kind, v) for kind, v in zip(kinds, row, strict=True))]


def parquet_rows(changes: ChangeRows) -> Iterator[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    relation = changes.relation
    frame = to_arrow(relation, Table.from_rows(relation.kinds, changes.rows))
    signs = [pa.array(changes.ops, pa.string()), pa.array(changes.updates, pa.int64())]
    written = io.BytesIO()
    parquet.write_table(pa.table([*signs, *frame.columns], names=changes.header), written)
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
