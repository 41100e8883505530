"""Formats of facts in a file or a stream: text, JSON, and tables of SQLite.

A format reads several tables where limits must be checked in between.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tidelog.formats.atomic_files import Staged, check_target
from tidelog.formats.byte_source import Bounds, FileFault, Source
from tidelog.formats.fact_files import fact_lines, read_portions
from tidelog.formats.json_facts import json_pieces, read_json
from tidelog.formats.parameters import Shape
from tidelog.formats.quoted_fields import quoted_lines, read_fields
from tidelog.formats.sqlite import check_database, read_sqlite, write_sqlite
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.rules import Relation
from tidelog.program.table import Table

Written = tuple[Iterator[bytes], tuple[Diagnostic, ...]]


class FactFormat(ABC):
    """Reads the facts of a relation, and writes them to a file or the standard output."""

    __slots__ = ()

    @property
    def plain(self) -> bool:
        """Whether every line by itself is a fact."""
        return False

    @property
    def table(self) -> str:
        """The part of a file that only one output may write, if a file has such parts."""
        return ""

    @abstractmethod
    def read(self, source: Source, relation: Relation, bounds: Bounds) -> Iterator[Table]: ...

    @abstractmethod
    def save(
        self, staged: Staged, path: str, relation: Relation, facts: Table, compress: bool
    ) -> Iterable[Diagnostic]:
        """Write a file, and give a warning if it would not read back as the same facts."""

    def printed(self, name: str, relation: Relation, facts: Table) -> Iterator[bytes]:
        """What the standard output shows, under a name."""
        raise FileFault("this format cannot be printed", "name a file")

    def check(self, path: str, relation: Relation) -> None:
        """Refuse a path that could not be written."""
        check_target(path)

    def of_stream(self) -> FactFormat:
        """The format on the standard input."""
        return self


@dataclass(frozen=True, slots=True)
class Text(FactFormat):
    """Lines of fields; `quoted` is RFC 4180, `header` the first line where it is not the
    attributes' names, and `columns` says where in a row the relation's columns stand."""

    delimiter: str = "\t"
    headers: bool = False
    quoted: bool = False
    columns: tuple[int, ...] | None = None
    header: str | None = None

    @property
    def plain(self) -> bool:
        return not self.quoted and self.columns is None

    def of_stream(self) -> FactFormat:
        return replace(self, headers=False)  # as in Soufflé, only files have a first line

    def read(self, source: Source, relation: Relation, bounds: Bounds) -> Iterator[Table]:
        if self.plain:
            return read_portions(
                source, relation, delimiter=self.delimiter, headers=self.headers, bounds=bounds
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

    def save(
        self, staged: Staged, path: str, relation: Relation, facts: Table, compress: bool
    ) -> Iterable[Diagnostic]:
        lines, warnings = self.write(relation, facts)
        staged.write(path, lines, compress=compress)
        return warnings

    def printed(self, name: str, relation: Relation, facts: Table) -> Iterator[bytes]:
        title = [name, self.title(relation)] if self.headers else [name]
        yield ("-" * 15 + "\n" + "\n".join(title) + "\n" + "=" * 15 + "\n").encode()
        # No warnings: people read what is printed, so a tab inside a symbol does no harm there.
        yield from replace(self, headers=False).write(relation, facts)[0]
        yield b"=" * 15 + b"\n"

    def write(self, relation: Relation, table: Table) -> Written:
        """The text in pieces, with its header, and a warning if it reads back differently."""
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
class Json(FactFormat):
    """A list of facts, which are lists, or objects with these names as keys."""

    names: tuple[str, ...]
    shape: Shape | None = None  # the first fact of an input decides unless this does

    def read(self, source: Source, relation: Relation, bounds: Bounds) -> Iterator[Table]:
        yield read_json(source, relation, self.names, self.shape, bounds)

    def save(
        self, staged: Staged, path: str, relation: Relation, facts: Table, compress: bool
    ) -> Iterable[Diagnostic]:
        staged.write(path, self.printed("", relation, facts), compress=compress)
        return ()

    def printed(self, name: str, relation: Relation, facts: Table) -> Iterator[bytes]:
        return json_pieces(relation, facts, self.names, self.shape or "list")


@dataclass(frozen=True, slots=True)
class Sqlite(FactFormat):
    """A table or a view of a database; `names` are those of the view that is written."""

    name: str
    names: tuple[str, ...]

    @property
    def table(self) -> str:
        return self.name.lower()

    def read(self, source: Source, relation: Relation, bounds: Bounds) -> Iterator[Table]:
        yield read_sqlite(source, relation, self.name, bounds)

    def save(
        self, staged: Staged, path: str, relation: Relation, facts: Table, compress: bool
    ) -> Iterable[Diagnostic]:
        write_sqlite(staged, path, relation, facts, self.name, self.names)
        return ()

    def check(self, path: str, relation: Relation) -> None:
        check_target(path)
        check_database(path, relation)
