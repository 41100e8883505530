"""Facts in JSON, as Soufflé has them: a list of lists, or of objects with the columns' names.

    [[1, "a"],
    [2, "b"]]

    [{"x": 1, "y": "a"},
    {"x": 2, "y": "b"}]

The one fact of a relation without columns is `null`. JSON has no infinities: they are the
strings "inf" and "-inf" in a float's place. Where we depart from Soufflé 2.5: it takes what is
missing or of another type for 0 or "", and writes six digits of a float; here the one is an
error, and floats read back equal.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from json import JSONDecodeError
from typing import Any

from tidelog.formats import json_changes
from tidelog.formats.byte_source import Bounds, Source, name_of, read_bytes
from tidelog.formats.fact_files import ROWS, FieldReader, check_encodable
from tidelog.formats.field_values import shown
from tidelog.formats.parameters import Shape
from tidelog.formats.term_cells import in_text
from tidelog.program.diagnostics import DataError
from tidelog.program.rules import Relation
from tidelog.program.syntax import Value
from tidelog.program.table import SymbolColumn, Table, sorted_table
from tidelog.program.terms import TermKind
from tidelog.text.fact_rows import fitting, signature

_BLANKS = re.compile(r"[ \t\r\n]*+")
_A = {dict: "an object", list: "a list", str: "a string", bool: "a truth value"}


def read_json(
    source: Source,
    relation: Relation,
    names: Sequence[str],
    shape: Shape | None,
    bounds: Bounds,
) -> Table:
    """The facts of a file or a binary stream, in the file's order, with duplicates.

    They are all lists, or all objects, as `shape` says, or as the first one is.
    """
    data = read_bytes(source, max_bytes=bounds.max_bytes, max_ratio=bounds.max_ratio)
    document = _Document(name_of(source), data, relation)
    rows = document.rows(names, shape)
    if not relation.arity:
        return Table((), (), min(1, len(rows)))
    return Table.from_rows(relation.kinds, rows)


class _Document(FieldReader):
    """A list of facts, read one after the other, so that errors name the place of each."""

    def __init__(self, name: str, data: bytes, relation: Relation) -> None:
        super().__init__(name, data, relation, "\t")
        self.text = "\n".join(self.lines)
        self.example = "write a list of facts: [[…], …]"
        self._decode = json.JSONDecoder(
            object_pairs_hook=json_changes.unique_keys, parse_constant=json_changes.constant
        ).raw_decode

    def rows(self, names: Sequence[str], shape: Shape | None) -> list[tuple[Value, ...]]:
        rows: list[tuple[Value, ...]] = []
        for start, item in self._items():
            if shape is None and self.relation.arity:
                shape = "object" if isinstance(item, dict) else "list"
            try:
                rows.append(self._row(item, names, shape))
            except json_changes.WrongJson as wrong:
                raise self._at(start, wrong.message, wrong.advice) from None
        return rows

    def _items(self) -> Iterator[tuple[int, Any]]:
        """The elements of the list, each with its place."""
        text = self.text
        at = self._skip(0)
        if not text.startswith("[", at):
            raise self._no_list(at)
        at = self._skip(at + 1)
        if text.startswith("]", at):
            self._end(at + 1)
            return
        while True:
            item, end = self._item(at)
            yield at, item
            at = self._skip(end)
            if text.startswith("]", at):
                self._end(at + 1)
                return
            if not text.startswith(",", at):
                cut = "the list is cut off" if at >= len(text) else "expected `,` or `]`"
                raise self._at(at, f"invalid JSON: {cut}", "copy the file again in full")
            at = self._skip(at + 1)

    def _item(self, at: int) -> tuple[Any, int]:
        try:
            return self._decode(self.text, at)
        except JSONDecodeError as error:
            message = f"invalid JSON: {error.msg[:1].lower()}{error.msg[1:]}"
            raise self._at(error.pos, message, self.example) from None
        except RecursionError:
            raise self._at(at, "nested too deeply", self.example) from None
        except json_changes.WrongJson as wrong:
            raise self._at(at, wrong.message, wrong.advice) from None
        except ValueError:  # thousands of digits
            message = "a number with too many digits"
            raise self._at(at, message, "64 bits hold 20 digits") from None

    def _no_list(self, at: int) -> DataError:
        if at >= len(self.text):
            return self._at(at, "the file is empty", "a file without facts holds []")
        item, _ = self._item(at)
        what = _A.get(type(item), "no list")
        message = f"the file holds {what}, not a list of facts"
        return self._at(at, message, self.example)

    def _skip(self, at: int) -> int:
        found = _BLANKS.match(self.text, at)
        assert found is not None
        return found.end()

    def _end(self, at: int) -> None:
        rest = self._skip(at)
        if rest < len(self.text):
            raise self._at(rest, "invalid JSON: more text after the list", "a file holds one list")

    def _row(self, item: object, names: Sequence[str], shape: Shape | None) -> tuple[Value, ...]:
        relation = self.relation
        if not relation.arity:
            if item is None or item in ([], {}):
                return ()
            raise json_changes.WrongJson(
                f"{relation.name} has no columns", "write null for its one fact"
            )
        if shape == "object" and isinstance(item, dict):
            if item.keys() != set(names):
                keys = ", ".join(map(shown, item)) or "none"
                wanted = ", ".join(f"{json.dumps(name)}: …" for name in names)
                message = f"the keys are {keys}, not those of {signature(relation)}"
                raise json_changes.WrongJson(message, f"write {{{wanted}}}")
            item = [item[name] for name in names]
        elif shape == "object" or not isinstance(item, list):
            wanted = "an object" if shape == "object" else "a list"
            raise json_changes.WrongJson(f"a fact that is not {wanted}", "write all facts alike")
        row = fitting(item, relation.kinds) or json_changes.slow_row(item, relation)
        json_changes.require_text(row)
        return row

    def _at(self, start: int, message: str, advice: str) -> DataError:
        line = self.text.count("\n", 0, start)
        column = start - (self.text.rfind("\n", 0, start) + 1)
        return self._error(line, column, 1, message, advice)


def json_pieces(
    relation: Relation, table: Table, names: Sequence[str], shape: Shape
) -> Iterator[bytes]:
    """A table sorted by value, as text in pieces of many facts."""
    table = sorted_table(table)
    for column in in_text(table).columns:
        if isinstance(column, SymbolColumn):
            check_encodable(relation, column.words)
    columns = tuple(
        SymbolColumn(column.codes, [*map(json_changes.plain, column.words)])
        if isinstance(column, SymbolColumn) and isinstance(kind, TermKind)
        else column
        for kind, column in zip(table.kinds, table.columns, strict=True)
    )
    table = Table(table.kinds, columns, table.size)
    return _pieces(table, names if shape == "object" else None)


def _pieces(table: Table, names: Sequence[str] | None) -> Iterator[bytes]:
    if not table.columns:
        yield b"[null]\n" if table.size else b"[]\n"
        return
    write = json.JSONEncoder(ensure_ascii=False, check_circular=False).encode
    yield b"["
    for start in range(0, table.size, ROWS):
        part = slice(start, start + ROWS)
        values = [_values(column, part) for column in table.columns]
        rows = zip(*values, strict=True)
        facts = (write(dict(zip(names, row, strict=True)) if names else row) for row in rows)
        yield ((",\n" if start else "") + ",\n".join(facts)).encode()
    yield b"]\n"


def _values(column: Any, part: slice) -> list[Any]:
    if isinstance(column, SymbolColumn):
        return [column.words[code] for code in column.codes[part].tolist()]
    values: list[Any] = column[part].tolist()
    if column.dtype.kind == "f" and not all(map(math.isfinite, values)):
        return [value if math.isfinite(value) else str(value) for value in values]
    return values
