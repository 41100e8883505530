"""Fields of text that are quoted (RFC 4180), or of which only some columns are read.

A quoted field may hold the delimiter, line ends, and quotes, which are doubled in it. Where we
depart from Soufflé 2.5: it reads line by line, so that a quoted line end is an error there; and
it writes a backslash before a doubled quote, which then reads back as a part of the symbol.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from tidelog.formats.byte_source import Bounds, Source, name_of, read_bytes
from tidelog.formats.fact_files import (
    ROWS,
    FieldReader,
    check_encodable,
    column_of,
    count,
    texts_of,
)
from tidelog.formats.field_values import CellFault, shown
from tidelog.formats.term_cells import in_text
from tidelog.program.diagnostics import DataError
from tidelog.program.rules import Relation
from tidelog.program.table import Column, SymbolColumn, Table, sorted_table

Record = tuple[int, list[str]]  # the line that it starts on, counted from 0, and its fields


def read_fields(
    source: Source,
    relation: Relation,
    *,
    delimiter: str,
    headers: bool,
    quoted: bool,
    columns: Sequence[int] | None,
    bounds: Bounds,
) -> Iterator[Table]:
    """The facts of a file or a binary stream, in the file's order, with duplicates.

    `headers` skips the first row. With `columns`, rows may have further fields. Where `bounds` has
    a number of facts, they come in portions, so that whoever takes them can stop.

    >>> import io
    >>> edge = Relation("edge", ("x", "y"), ("number", "symbol"))
    >>> text = io.BytesIO(b'"a, b",2,1\\n')
    >>> (table,) = read_fields(text, edge, delimiter=",", headers=False, quoted=True,
    ...                        columns=(2, 0), bounds=Bounds())
    >>> table.rows()
    [(1, 'a, b')]
    """
    data = read_bytes(source, max_bytes=bounds.max_bytes, max_ratio=bounds.max_ratio)
    fields = _Fields(name_of(source), data, relation, delimiter, quoted, columns)
    return fields.tables(headers, None if bounds.max_facts is None else ROWS)


class _Fields(FieldReader):
    """Record by record."""

    def __init__(
        self,
        name: str,
        data: bytes,
        relation: Relation,
        delimiter: str,
        quoted: bool,
        columns: Sequence[int] | None,
    ) -> None:
        super().__init__(name, data, relation, delimiter)
        self.quoted = quoted
        self.columns = range(relation.arity) if columns is None else columns
        self.exact = columns is None

    def tables(self, headers: bool, rows: int | None) -> Iterator[Table]:
        """All rows, or portions: so many first, and then twice as many each time."""
        first = 1 if headers else 0
        if not self.relation.arity:
            lines = [line.removesuffix("\r") for line in self.lines[first:]]
            yield self._nullary(lines, first)
            return
        records = islice(self._quoted() if self.quoted else self._plain(), first, None)
        some = list(islice(records, rows))
        yield self._table(some)
        while rows is not None and len(some) == rows:
            rows *= 2
            some = list(islice(records, rows))
            yield self._table(some)

    def _table(self, records: list[Record]) -> Table:
        least = max(self.columns) + 1
        ragged = next((i for i, (_, row) in enumerate(records) if self._misfits(row, least)), None)
        whole = records[:ragged]
        faults: list[tuple[int, int, CellFault]] = []
        columns: list[Column] = []
        for j, (kind, i) in enumerate(zip(self.relation.kinds, self.columns, strict=True)):
            column = column_of(kind, [row[i] for _, row in whole])
            if isinstance(column, tuple):
                faults.append((column[0], j, column[1]))
            else:
                columns.append(column)
        if faults:
            i, j, fault = min(faults, key=lambda found: found[:2])
            raise self._wrong(records[i], j, fault)
        if ragged is not None:
            raise self._too_few(records[ragged], least)
        return Table(self.relation.kinds, tuple(columns), len(records))

    def _misfits(self, row: list[str], least: int) -> bool:
        return len(row) != least if self.exact else len(row) < least

    def _plain(self) -> Iterator[Record]:
        for number, line in enumerate(self.lines):
            yield number, self.split(line.removesuffix("\r"))

    def _quoted(self) -> Iterator[Record]:
        lines = (f"{line}\n" for line in self.lines)
        limit = csv.field_size_limit(2**31 - 1)
        reader = csv.reader(lines, delimiter=self.delimiter, strict=True)
        start = 0
        try:
            for row in reader:
                # An empty line is one empty field.
                yield start, row or [""]
                start = reader.line_num
        except csv.Error as error:
            raise self._unbalanced(start, str(error)) from None
        finally:
            csv.field_size_limit(limit)

    def _unbalanced(self, line: int, reason: str) -> DataError:
        text = self.lines[min(line, len(self.lines) - 1)]
        if "expected after" in reason:
            message, advice = (
                "a quoted field continues after its closing quote",
                "double quotes in it",
            )
        elif "new-line" in reason:
            message, advice = "a carriage return outside of quotes", "put quotes around the field"
        else:
            message, advice = "a quoted field is not closed", 'close it with `"`'
        return self._error(line, max(0, text.find('"')), 1, message, advice)

    def _wrong(self, record: Record, j: int, fault: CellFault) -> DataError:
        line, row = record
        i = self.columns[j]
        at, start, width = self._place(line, i, row)
        return self._wrong_value(at, start, width, j, row[i], fault)

    def _place(self, line: int, i: int, row: list[str]) -> tuple[int, int, int]:
        """The line, and where in it a field stands."""
        if not self.quoted:
            return line, sum(map(len, row[:i])) + i * len(self.delimiter), len(row[i])
        sign = re.escape(self.delimiter)
        field = re.compile(rf'(?:"(?:[^"]|"")*"|(?:(?!{sign}).)*){sign}')
        text, start = "\n".join(self.lines[line:]), 0
        for _ in range(i):
            found = field.match(text, start)
            start = found.end() if found else start
        before = text.rfind("\n", 0, start) + 1
        return line + text.count("\n", 0, start), start - before, len(row[i])

    def _too_few(self, record: Record, least: int) -> DataError:
        line, row = record
        message = f"{count(len(row), 'field')}, but column {least - 1} is asked for"
        advice = "columns are counted from 0"
        if self.exact:
            arity = self.relation.arity
            message = f"{count(len(row), 'field')}, but {self.relation.name} has "
            message += count(arity, "column")
            advice = f"fields are separated by {shown(self.delimiter)}"
            if len(row) > arity:
                return self._error(*self._place(line, arity, row), message, advice)
        return self._error(line, len(self.lines[line]), 1, message, advice)


def quoted_lines(relation: Relation, table: Table, delimiter: str) -> Iterator[bytes]:
    """A table sorted by value, in pieces of many lines, with quotes around all symbols."""
    table = in_text(sorted_table(table))
    for column in table.columns:
        if isinstance(column, SymbolColumn):
            check_encodable(relation, column.words)
    return _pieces(table, delimiter)


def _pieces(table: Table, delimiter: str) -> Iterator[bytes]:
    if not table.columns:
        if table.size:
            yield b"()\n"
        return
    for start in range(0, table.size, ROWS):
        part = slice(start, start + ROWS)
        texts = [
            [f'"{text.replace(chr(34), chr(34) * 2)}"' for text in texts_of(column, part)]
            if isinstance(column, SymbolColumn)
            else texts_of(column, part)
            for column in table.columns
        ]
        lines = map(delimiter.join, zip(*texts, strict=True))
        yield ("\n".join(lines) + "\n").encode()
