"""Tables of changes: the rows of one relation, with a column `op` that holds `+` or `-`.

A table has headers. Columns stand in the relation's order, or in any order under its
attributes' names. A further column of whole numbers, `commit` or `batch`, groups rows into
updates, which are applied in the order of their numbers; without it the table is one update.

In text, the header decides the delimiter: if it has a tab, fields are as in files of facts,
without quotes; otherwise commas separate them, and quotes may stand around them (RFC 4180).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.formats.byte_source import MAX_BYTES, FileFault, whole_lines
from tidelog.formats.field_values import CellFault, shown
from tidelog.formats.frames import to_table
from tidelog.formats.term_cells import cells_of, parser_of
from tidelog.program.changes import Change, Commit, FactChange, Op
from tidelog.program.diagnostics import DataError, Diagnostic, Sources, plural, render
from tidelog.program.rules import Relation
from tidelog.program.syntax import NOWHERE, Span, Value
from tidelog.program.terms import TermKind
from tidelog.text.change_notation import Excerpt
from tidelog.text.fact_rows import signature

BATCHES = ("commit", "batch")
_HEADER = "the first line names the columns, such as `op,x,y`"


@dataclass(frozen=True, slots=True)
class Header:
    """Where a table has its parts."""

    op: int
    batch: int | None
    columns: tuple[int, ...]  # of the relation, in its order


def header_of(names: Sequence[str], relation: Relation) -> Header | str:
    """The parts by their names, or what is wrong with them.

    >>> edge = Relation("edge", ("x", "y"), ("number", "number"))
    >>> header_of(("op", "commit", "y", "x"), edge)
    Header(op=0, batch=1, columns=(3, 2))
    """
    if "op" not in names:
        return "missing column `op`"
    op = names.index("op")
    left = [i for i in range(len(names)) if i != op]
    batch = None
    if len(left) == relation.arity + 1:
        batch = next((i for i in left if names[i] in BATCHES), None)
        left = [i for i in left if i != batch]
    if len(left) != relation.arity:
        others = plural(len(left), "column")
        return f"{others} besides `op`, but {signature(relation)} has {relation.arity}"
    found = [names[i] for i in left]
    if set(found) == set(relation.attributes):
        left = [left[found.index(name)] for name in relation.attributes]
    return Header(op, batch, tuple(left))


def read_table(data: bytes, file: str, relation: Relation) -> Iterator[tuple[Change, Sources]]:
    """The changes in a table of text, which is read completely before the first is returned."""
    text = "".join(whole_lines([data], file))
    return _grouped(_Text(file, text, relation).changes())


def _grouped(changes: list[tuple[int | None, FactChange]]) -> Iterator[tuple[Change, Sources]]:
    changes.sort(key=lambda each: each[0] or 0)
    before: int | None = None
    for number, change in changes:
        if before is not None and number != before:
            yield Commit(), {}
        before = number
        yield change, {}
    if before is not None:
        yield Commit(), {}


class _Text:
    """A table of text, row by row."""

    def __init__(self, file: str, text: str, relation: Relation) -> None:
        self.file = file
        self.relation = relation
        self.lines = text.split("\n")
        self.text = text
        self.tabs = "\t" in self.lines[0]

    def changes(self) -> list[tuple[int | None, FactChange]]:
        records = self._records()
        _, names = next(records, (1, []))
        if not any(names):
            raise self._error(1, "the table is empty", _HEADER)
        header = header_of([name.strip() for name in names], self.relation)
        if isinstance(header, str):
            raise self._error(1, header, _HEADER)
        return [self._change(number, cells, header, len(names)) for number, cells in records]

    def _records(self) -> Iterator[tuple[int, list[str]]]:
        """The line on which each record ends, and its fields."""
        if self.tabs or '"' not in self.text:
            lines = self.lines if self.lines[-1] else self.lines[:-1]
            delimiter = "\t" if self.tabs else ","
            nested = any(isinstance(kind, TermKind) for kind in self.relation.kinds)
            for number, line in enumerate(lines, 1):
                line = line.removesuffix("\r")
                yield number, cells_of(line, delimiter) if nested else line.split(delimiter)
            return
        limit = csv.field_size_limit(len(self.text))
        reader = csv.reader(io.StringIO(self.text, newline=""), strict=True)
        try:
            for record in reader:
                yield reader.line_num, record
        except csv.Error:
            message = "the quotes do not match"
            advice = 'a quote inside quotes is written `""`'
            raise self._error(min(reader.line_num, len(self.lines)), message, advice) from None
        finally:
            csv.field_size_limit(limit)

    def _change(
        self, number: int, cells: list[str], header: Header, width: int
    ) -> tuple[int | None, FactChange]:
        if len(cells) != width:
            fields = plural(len(cells), "field")
            message = "an empty line" if not any(cells) else fields
            raise self._error(number, f"{message}, but the header has {width}", "")
        op = cells[header.op].strip()
        if op not in ("+", "-"):
            raise self._error(number, f"op {shown(op)} is neither + nor -", "write + or -")
        batch = None
        if header.batch is not None:
            batch = self._cell(number, "number", "the update's number", cells[header.batch])
        columns = zip(header.columns, self.relation.kinds, self.relation.attributes, strict=True)
        row = tuple(
            cells[i] if kind == "symbol" else self._cell(number, kind, f"column {name}", cells[i])
            for i, kind, name in columns
        )
        at = Span(self.file, number, 1)
        return batch, FactChange("+" if op == "+" else "-", self.relation.name, row, at)

    def _cell(self, number: int, kind: Any, column: str, cell: str) -> Any:
        value = parser_of(kind)(cell)
        if isinstance(value, CellFault):
            message = value.message.format(cell=shown(cell), column=column)
            raise self._error(number, message, value.advice)
        return value

    def _error(self, number: int, message: str, advice: str) -> DataError:
        at = Span(self.file, number, 1)
        excerpt = Excerpt(number, [self.lines[number - 1]])
        return DataError(render(Diagnostic(message, at, advice), {self.file: excerpt}))


def read_parquet(data: bytes, file: str, relation: Relation) -> Iterator[tuple[Change, Sources]]:
    """The changes in a Parquet file."""
    frame = _frame(data, file)
    names = frame.column_names
    header = header_of(names, relation)
    if isinstance(header, str):
        raise FileFault(f"file {file}: {header}", f"its columns are {', '.join(names) or 'none'}")
    ops = [_op(op, i, file) for i, op in enumerate(frame.column(header.op).to_pylist(), 1)]
    batches = _batches(frame, header, file)
    rows: list[tuple[Value, ...]] = [()] * frame.num_rows
    if relation.arity:
        taken = frame.select(list(header.columns)).rename_columns(list(relation.attributes))
        try:
            rows = to_table(relation, taken).rows()
        except DataError as error:
            raise DataError(f"error: file {file}: {str(error).removeprefix('error: ')}") from None
    changes = [
        (batch, FactChange(op, relation.name, row, NOWHERE))
        for batch, op, row in zip(batches, ops, rows, strict=True)
    ]
    return _grouped(changes)


def _frame(data: bytes, file: str) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        opened = parquet.ParquetFile(pa.BufferReader(data))
        groups = range(opened.metadata.num_row_groups)
        if sum(opened.metadata.row_group(i).total_byte_size for i in groups) > MAX_BYTES:
            raise FileFault(f"file {file} holds more than {MAX_BYTES:,} bytes", "split it")
        return opened.read()
    except (pa.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        message = f"file {file} is not a complete Parquet file: {reason}"
        raise FileFault(message, "copy it again in full") from None


def _op(op: object, row: int, file: str) -> Op:
    if op == "+":
        return "+"
    if op == "-":
        return "-"
    raise FileFault(f"file {file}, row {row}: op is {op!r}, neither + nor -", 'write "+" or "-"')


def _batches(frame: Any, header: Header, file: str) -> Sequence[int | None]:
    if header.batch is None:
        return [None] * int(frame.num_rows)
    numbers: list[int | None] = frame.column(header.batch).to_pylist()
    for row, number in enumerate(numbers, 1):
        if type(number) is not int:
            message = f"file {file}, row {row}: the update's number is {number!r}"
            raise FileFault(message, "write a whole number")
    return numbers
