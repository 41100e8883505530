"""The ways in which facts stand in a file or a stream: text, JSON, or a table of SQLite.

Each has `read`; text and JSON are written in pieces, a database as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.io.facts import fact_lines, read_facts
from tidelog.io.fields import quoted_lines, read_fields
from tidelog.io.jsonfacts import json_pieces, read_json
from tidelog.io.parameters import Shape
from tidelog.io.source import Bounds, Source
from tidelog.io.sqlite import read_sqlite
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.rules import Relation
from tidelog.program.table import Table

Written = tuple[Iterator[bytes], tuple[Diagnostic, ...]]


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of fields; `quoted` is RFC 4180, `header` the first line where it is not the
    attributes' names, and `columns` says where in a row the relation's columns stand."""

    delimiter: str = "\t"
    headers: bool = False
    quoted: bool = False
    columns: tuple[int, ...] | None = None
    header: str | None = None

    @property
    def plain(self) -> bool:
        """Is every line by itself a fact, with nothing quoted and nothing left out?"""
        return not self.quoted and self.columns is None

    def read(self, source: Source, relation: Relation, bounds: Bounds) -> Table:
        if self.plain:
            return read_facts(
                source,
                relation,
                delimiter=self.delimiter,
                headers=self.headers,
                max_bytes=bounds.max_bytes,
                max_ratio=bounds.max_ratio,
            )
        return read_fields(
            source,
            relation,
            delimiter=self.delimiter,
            headers=self.headers,
            quoted=self.quoted,
            columns=self.columns,
            bounds=bounds,
        )

    def write(self, relation: Relation, table: Table) -> Written:
        """The text in pieces, with its header, and a warning if it reads back otherwise."""
        if self.quoted:
            lines: Iterator[bytes] = quoted_lines(relation, table, self.delimiter)
            warnings: tuple[Diagnostic, ...] = ()
        else:
            first = self.headers
            lines, warnings = fact_lines(relation, table, delimiter=self.delimiter, headers=first)
            if first:
                next(lines)
        return self._under_header(relation, lines), warnings

    def _under_header(self, relation: Relation, lines: Iterator[bytes]) -> Iterator[bytes]:
        if self.headers:
            yield f"{self.title(relation)}\n".encode()
        yield from lines

    def title(self, relation: Relation) -> str:
        """The names of the columns, in one line."""
        return self.delimiter.join(relation.attributes) if self.header is None else self.header


@dataclass(frozen=True, slots=True)
class Json:
    """A list of facts, which are lists, or objects with these names as keys."""

    names: tuple[str, ...]
    shape: Shape | None = None  # an input's first fact tells, if nothing else does

    plain = False

    def read(self, source: Source, relation: Relation, bounds: Bounds) -> Table:
        return read_json(source, relation, self.names, self.shape, bounds)

    def write(self, relation: Relation, table: Table) -> Written:
        return json_pieces(relation, table, self.names, self.shape or "list"), ()


@dataclass(frozen=True, slots=True)
class Sqlite:
    """A table or a view of a database; `names` are those of the view that is written."""

    table: str
    names: tuple[str, ...]

    plain = False

    def read(self, source: Source, relation: Relation, bounds: Bounds) -> Table:
        return read_sqlite(source, relation, self.table, bounds)


Way = Text | Json | Sqlite
