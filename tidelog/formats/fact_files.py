"""Files of facts: Soufflé's `.facts` and `.csv`.

One fact a line, fields separated by a tab or another delimiter, symbols as they are,
without quotes or escapes. Numbers are decimal, unsigned ones also hexadecimal (`0x`) or
binary (`0b`). The fact of a relation without columns is the line `()`. A byte-order mark
and Windows line ends are accepted, gzip is known by its content. Floats are written with
17 significant digits, and read back equal.

Where we depart from Soufflé 2.5 (built for 64 bits):
  - it ignores fields beyond the last column; here such a row is an error;
  - it reads NaN; here it is an error, and -0.0 is 0.0;
  - it keeps brackets together when the delimiter is a comma; here only in relations with
    columns of records or branches, and with any delimiter; elsewhere a delimiter always
    separates, so such a row has too many fields and is an error;
  - it reads a plain file whose name ends in `.gz`; here that is an error;
  - it refuses blanks behind a number; here blanks around numbers are ignored;
  - it takes any bytes for symbols; here invalid UTF-8 and NUL characters are errors;
  - it writes rows in the order of an index; here they are sorted by value.
A symbol that contains the delimiter or a line end is written as it is, as Soufflé does,
though it reads back as something else; here there is a warning about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from tidelog.formats import arrow_csv
from tidelog.formats.byte_source import (
    Bounds,
    FileFault,
    Source,
    is_path,
    name_of,
    pieces,
    read_bytes,
)
from tidelog.formats.field_values import CellFault, float_text, shown
from tidelog.formats.term_cells import cells_of, in_text, parser_of
from tidelog.program.diagnostics import DataError, Diagnostic, render
from tidelog.program.rules import Relation
from tidelog.program.syntax import Kind, Span
from tidelog.program.table import DTYPES, Column, SymbolColumn, Table, sorted_table
from tidelog.program.terms import TermKind
from tidelog.text.change_notation import Excerpt

ROWS = 2**16  # rows that are turned into text at a time
FIRST = 2**20  # bytes of the first portion that is read, where a limit is looked at after each


def _table(name: str, data: bytes, relation: Relation, delimiter: str, headers: bool) -> Table:
    if relation.arity and len(data) >= arrow_csv.LEAST_BYTES:
        table = arrow_csv.read_bulk(data, relation, delimiter, headers)
        if table is not None:
            return table
    return FieldReader(name, data, relation, delimiter).read(headers)


def read_portions(
    source: Source,
    relation: Relation,
    *,
    delimiter: str = "\t",
    headers: bool = False,
    bounds: Bounds,
) -> Iterator[Table]:
    """The facts in a file or a binary stream, in the file's order, with duplicates; `headers` skips
    the first line.

    They come in portions, each twice as large as the one before it, where there may be more facts
    than `bounds` has: so that whoever takes them can stop.

    >>> import io
    >>> edge = Relation("edge", ("x", "y"), ("number", "symbol"))
    >>> stream = io.BytesIO(b"1\\ta\\n2\\tb\\n")
    >>> [table.rows() for table in read_portions(stream, edge, bounds=Bounds())]
    [[(1, 'a'), (2, 'b')]]
    """
    _check_delimiter(delimiter)
    name, before = name_of(source), 0
    for number, lines in enumerate(_portions(source, bounds)):
        if number:
            yield read_lines(lines, relation, delimiter, name, before)
        else:
            yield _table(name, lines, relation, delimiter, headers)
        before += lines.count(b"\n")


def _portions(source: Source, bounds: Bounds) -> Iterator[bytes]:
    """Whole lines; a stream with a limit on facts need not end, so it is read as they are taken."""
    size = FIRST
    if bounds.max_facts is not None and not is_path(source):
        waiting = bytearray()
        for piece in pieces(source):
            waiting += piece
            end = waiting.rfind(b"\n", len(waiting) - len(piece)) + 1
            if end >= size:
                yield bytes(waiting[:end])
                del waiting[:end]
                size *= 2
        if waiting or size == FIRST:
            yield bytes(waiting)
        return
    data = read_bytes(source, max_bytes=bounds.max_bytes, max_ratio=bounds.max_ratio)
    if bounds.max_facts is None or data.count(b"\n") <= bounds.max_facts:
        yield data
        return
    start = 0
    while not start or start < len(data):
        end = data.find(b"\n", start + size) + 1 or len(data)
        yield data[start:end]
        start, size = end, 2 * size


def read_lines(
    lines: bytes, relation: Relation, delimiter: str, name: str = "", before: int = 0
) -> Table:
    """The facts of some lines in the midst of a file, all of them whole."""
    # A byte-order mark begins a file; here it is a part of the first line.
    data = arrow_csv.BOM + lines if lines.startswith(arrow_csv.BOM) else lines
    if (table := arrow_csv.read_bulk(data, relation, delimiter, False)) is not None:
        return table
    return FieldReader(name, data, relation, delimiter, before).read(False)


def is_delimiter(text: str) -> bool:
    return bool(text) and not any(c in text for c in "\n\r\0")


def _check_delimiter(delimiter: str) -> None:
    if not is_delimiter(delimiter):
        raise FileFault(
            f"{shown(delimiter)} cannot be a delimiter",
            'choose one or more characters of one line, such as "\\t" or ","',
        )


class FieldReader:
    """Field by field: finds the precise place of the first error. The data may be a part of a
    file, with so many lines before it."""

    def __init__(
        self, name: str, data: bytes, relation: Relation, delimiter: str, before: int = 0
    ) -> None:
        self.name = name
        self.before = before
        self.relation = relation
        self.delimiter = delimiter
        self.lines = self._decoded(data).removeprefix("\ufeff").split("\n")
        if not self.lines[-1]:
            self.lines.pop()
        self.nested = any(isinstance(kind, TermKind) for kind in relation.kinds)

    def split(self, line: str) -> list[str]:
        """The fields of a line. Where brackets are not closed, they keep nothing together."""
        plain = line.split(self.delimiter)
        if not self.nested:
            return plain
        cells = cells_of(line, self.delimiter)
        return plain if len(cells) != self.relation.arity == len(plain) else cells

    def read(self, headers: bool) -> Table:
        first = 1 if headers else 0
        lines = [line.removesuffix("\r") for line in self.lines[first:]]
        if not self.relation.arity:
            return self._nullary(lines, first)
        arity = self.relation.arity
        breaks = arity - 1
        if self.nested:
            counts = (len(self.split(line)) - 1 for line in lines)
        else:
            counts = (line.count(self.delimiter) for line in lines)
        ragged = next((i for i, count in enumerate(counts) if count != breaks), None)
        # One flat list: a list for each row would keep the garbage collector busy.
        cells = [cell for line in lines[:ragged] for cell in self.split(line)]
        faults: list[tuple[int, int, CellFault]] = []  # row, column
        columns: list[Column] = []
        for j, kind in enumerate(self.relation.kinds):
            column = column_of(kind, cells[j::arity])
            if isinstance(column, tuple):
                faults.append((column[0], j, column[1]))
            else:
                columns.append(column)
        if faults:
            i, j, fault = min(faults, key=lambda found: found[:2])
            raise self._wrong_cell(first + i, j, self.split(lines[i]), fault)
        if ragged is not None:
            raise self._ragged(first + ragged, self.split(lines[ragged]))
        return Table(self.relation.kinds, tuple(columns), len(lines))

    def _decoded(self, data: bytes) -> str:
        nul = data.find(b"\0")
        try:
            text = data.decode() if nul < 0 else data[:nul].decode()
        except UnicodeDecodeError as error:
            message = f"byte 0x{data[error.start]:02x} is not valid UTF-8"
            advice = "save the file as UTF-8"
            raise self._unreadable_byte(data, error.start, message, advice) from None
        if nul >= 0:
            advice = "facts are text; is this the right file?"
            raise self._unreadable_byte(data, nul, "a NUL character", advice)
        return text

    def _unreadable_byte(self, data: bytes, where: int, message: str, advice: str) -> DataError:
        start = data.rfind(b"\n", 0, where) + 1
        end = data.find(b"\n", where)
        before = data[start:where].decode()
        # Enough of the rest to show; the line may be very long.
        rest = data[where : where + 200 if end < 0 else min(end, where + 200)]
        line = data.count(b"\n", 0, where)
        self.lines = [""] * line + [before + rest.decode(errors="replace")]
        return self._error(line, len(before), 1, message, advice)

    def _nullary(self, lines: list[str], first: int) -> Table:
        for i, line in enumerate(lines):
            # Soufflé takes any line for the fact; an empty one is its zero fields.
            if line not in ("()", ""):
                message = f"{shown(line)}, but {self.relation.name} has no columns"
                raise self._error(first + i, 0, len(line), message, "write () for its one fact")
        return Table((), (), min(1, len(lines)))

    def _ragged(self, line: int, row: list[str]) -> DataError:
        arity = self.relation.arity
        text = self.delimiter.join(row)
        if not text:
            message = f"an empty line, but {self.relation.name} has {count(arity, 'column')}"
            return self._error(line, 0, 1, message, "remove the line")
        message = (
            f"{count(len(row), 'field')}, but {self.relation.name} has {count(arity, 'column')}"
        )
        separator = "a tab" if self.delimiter == "\t" else shown(self.delimiter)
        advice = f"fields are separated by {separator}"
        if len(row) > arity:
            start = len(self.delimiter.join(row[:arity])) + len(self.delimiter)
            return self._error(line, start, len(text) - start, message, advice)
        other = next((d for d in "\t,;|" if text.count(d) == arity - 1), None)
        if other is not None:
            name = '"\\t"' if other == "\t" else shown(other)
            advice += f"; for this file, write delimiter={name} in the .input directive"
        return self._error(line, len(text), 1, message, advice)

    def _wrong_cell(self, line: int, j: int, row: list[str], fault: CellFault) -> DataError:
        start = sum(map(len, row[:j])) + j * len(self.delimiter)
        return self._wrong_value(line, start, len(row[j]), j, row[j], fault)

    def _wrong_value(
        self, line: int, start: int, width: int, j: int, cell: str, fault: CellFault
    ) -> DataError:
        column = f"column {self.relation.attributes[j]} of {self.relation.name}"
        message = fault.message.format(cell=shown(cell), column=column)
        width = 1 if fault.place else width
        return self._error(line, start + fault.place, width, message, fault.advice)

    def _error(self, line: int, start: int, width: int, message: str, advice: str) -> DataError:
        at = Span(self.name, self.before + line + 1, start + 1, max(1, width))
        shown = {self.name: Excerpt(self.before + 1, self.lines)}
        return DataError(render(Diagnostic(message, at, advice), shown))


def column_of(kind: Kind, cells: list[str]) -> Column | tuple[int, CellFault]:
    """The column, or the first row that has no value of its kind."""
    if kind == "symbol":
        ids = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
        return SymbolColumn(
            np.fromiter(map(ids.__getitem__, cells), np.int64, len(cells)), list(ids)
        )
    parse = parser_of(kind)
    values = {cell: parse(cell) for cell in dict.fromkeys(cells)}
    if any(isinstance(value, CellFault) for value in values.values()):
        for i, cell in enumerate(cells):
            value = values[cell]
            if isinstance(value, CellFault):
                return i, value
    if isinstance(kind, TermKind):
        codes = {cell: i for i, cell in enumerate(values)}
        numbers = np.fromiter(map(codes.__getitem__, cells), np.int64, len(cells))
        return SymbolColumn(numbers, list(values.values()))
    return np.fromiter(map(values.__getitem__, cells), DTYPES[kind], len(cells))


def count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def fact_lines(
    relation: Relation, table: Table, *, delimiter: str = "\t", headers: bool = False
) -> tuple[Iterator[bytes], tuple[Diagnostic, ...]]:
    """The text of a table in pieces of many lines, and a warning if it would read back differently.

    Text that cannot be encoded is an error, found before the first piece is made.
    """
    _check_delimiter(delimiter)
    table = in_text(sorted_table(table))
    for column in table.columns:
        if isinstance(column, SymbolColumn):
            check_encodable(relation, column.words)
    warnings = tuple(islice(_doubts(relation, table, delimiter, headers), 1))
    return _pieces(relation, table, delimiter, headers), warnings


def _pieces(relation: Relation, table: Table, delimiter: str, headers: bool) -> Iterator[bytes]:
    if headers:
        yield (delimiter.join(relation.attributes) + "\n").encode()
    if not table.columns:
        if table.size:
            yield b"()\n"
        return
    for start in range(0, table.size, ROWS):
        texts = [texts_of(column, slice(start, start + ROWS)) for column in table.columns]
        lines = texts[0] if len(texts) == 1 else map(delimiter.join, zip(*texts, strict=True))
        yield ("\n".join(lines) + "\n").encode()


def texts_of(column: Column, part: slice) -> Iterable[str]:
    if isinstance(column, SymbolColumn):
        return map(column.words.__getitem__, column.codes[part].tolist())
    return map(float_text if column.dtype.kind == "f" else str, column[part].tolist())


def check_encodable(relation: Relation, words: Sequence[str]) -> None:
    if "".join(words).isascii():
        return
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            message = f"{relation.name} holds {word[:40]!a}, which is not valid Unicode text"
            raise FileFault(message, "it has half of a surrogate pair") from None


def _doubts(
    relation: Relation, table: Table, delimiter: str, headers: bool
) -> Iterator[Diagnostic]:
    """What would read back as other facts; the table's words are all in use."""
    for j, column in enumerate(table.columns):
        last = j == len(table.columns) - 1
        for word in _suspects(column, delimiter):
            if isinstance(table.kinds[j], TermKind):
                continue  # brackets and quotes keep it together
            reason, advice = _misread(word, delimiter, last), "replace it in the program"
            if reason:
                where = f"column {relation.attributes[j]} of {relation.name}"
                message = (
                    f"{shown(word)} in {where} contains {reason}, so it would read back differently"
                )
                if "delimiter" in reason:
                    advice = "choose another delimiter for this output"
                yield Diagnostic(message, advice=advice, severity="warning")
    first = table.columns[0] if table.columns and table.size and not headers else None
    if isinstance(first, SymbolColumn) and first.words[first.codes[0]].startswith("\ufeff"):
        message = f"the first row of {relation.name} would lose its byte-order mark"
        yield Diagnostic(message, advice="write headers", severity="warning")


def _suspects(column: Column, delimiter: str) -> Iterable[str]:
    if not isinstance(column, SymbolColumn):
        digits = set("0123456789+-.einfa")
        return texts_of(column, slice(None)) if digits & set(delimiter) else ()
    joined = "".join(column.words)
    return column.words if any(c in joined for c in ("\n", "\r", "\0", *delimiter)) else ()


def _misread(word: str, delimiter: str, last: bool) -> str:
    """What makes the word, followed by the delimiter or a line end, read otherwise."""
    if "\n" in word:
        return "a line end"
    if "\0" in word:
        return "a NUL character"
    if last and word.endswith("\r"):
        return "a carriage return at the end of a line"
    if (not last or delimiter in word) and (word + delimiter).find(delimiter) != len(word):
        return f"the delimiter {shown(delimiter)}"
    return ""
