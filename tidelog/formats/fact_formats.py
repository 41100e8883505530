"""The registry of `IO=`: formats of facts in a file or a stream, with their parameters.

A new format of facts is a class and a row of `IO`. Messages and the tables in `docs/language.md`
derive from the registry. A format reads several tables where limits must be checked in between.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from tidelog.formats.atomic_files import Staged, check_target
from tidelog.formats.byte_source import Bounds, FileFault, Source
from tidelog.formats.fact_files import fact_lines, read_portions
from tidelog.formats.field_values import shown
from tidelog.formats.json_facts import json_pieces, read_json
from tidelog.formats.parameters import (
    Given,
    Shape,
    columns_of,
    delimiter_of,
    header_of,
    names_of,
    shape_of,
    truth,
)
from tidelog.formats.quoted_fields import quoted_lines, read_fields
from tidelog.formats.spark_formats import Wrong
from tidelog.formats.sqlite import check_database, read_sqlite, write_sqlite
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.rules import Relation
from tidelog.program.table import Table

Written = tuple[Iterator[bytes], tuple[Diagnostic, ...]]


class FactFormat(ABC):
    """Reads the facts of a relation, and writes them to a file or the standard output.

    `of` makes it from the parameters of a directive, or raises `Wrong`.
    """

    __slots__ = ()

    @property
    def plain(self) -> bool:
        """Whether every line by itself is a fact."""
        return False

    @property
    def table(self) -> str:
        """The part of a file that only one output may write, such as a table of a database."""
        return ""

    @classmethod
    @abstractmethod
    def of(cls, given: Given, relation: Relation) -> FactFormat: ...

    def read(self, source: Source, relation: Relation, bounds: Bounds) -> Iterator[Table]:
        raise FileFault("this format cannot be read", "choose another `IO`")

    def save(
        self, staged: Staged, path: str, relation: Relation, facts: Table, compress: bool
    ) -> Iterable[Diagnostic]:
        """Write a file, and give a warning if it would not read back as the same facts."""
        staged.write(path, self.printed("", relation, facts), compress=compress)
        return ()

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

    @classmethod
    def of(cls, given: Given, relation: Relation) -> FactFormat:
        quoted = truth(given, "rfc4180")
        delimiter, headers = delimiter_of(given, quoted), truth(given, "headers")
        return cls(delimiter, headers, quoted, columns_of(given, relation), header_of(given))

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

    @classmethod
    def of(cls, given: Given, relation: Relation) -> FactFormat:
        return cls(names_of(given, relation), shape_of(given))

    def read(self, source: Source, relation: Relation, bounds: Bounds) -> Iterator[Table]:
        yield read_json(source, relation, self.names, self.shape, bounds)

    def printed(self, name: str, relation: Relation, facts: Table) -> Iterator[bytes]:
        return json_pieces(relation, facts, self.names, self.shape or "list")


@dataclass(frozen=True, slots=True)
class Sqlite(FactFormat):
    """A table or a view of a database; `names` are those of the view that is written."""

    name: str
    names: tuple[str, ...]

    @classmethod
    def of(cls, given: Given, relation: Relation) -> FactFormat:
        if "filename" in given and "dbname" in given:
            raise Wrong("`filename` and `dbname` name the same", "keep one of them")
        table = given.get("name", relation.name)
        if not table or "\0" in table:
            raise Wrong(f"{shown(table)} cannot be the name of a table", "name a table")
        return cls(table, names_of(given, relation))

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


class Parameter(NamedTuple):
    """A parameter of a directive: `values` and `default` are its row in the documentation."""

    values: str
    default: str
    actions: tuple[str, ...] = ("input", "output", "printsize")


PARAMETERS: dict[str, Parameter] = {
    "IO": Parameter("the format, from the table above", "`file`"),
    "filename": Parameter(
        "below the facts folder (`-F`) or the output folder (`-D`)", "the name in the table above"
    ),
    "name": Parameter("replaces NAME in file names; for SQLite, the table", "the relation's name"),
    "delimiter": Parameter("what separates the columns", "a tab; a comma with `rfc4180`"),
    "headers": Parameter("`true`: the first line of the file names the columns", "`false`"),
    "rfc4180": Parameter(
        "`true`: fields may be quoted, and may then contain the delimiter and line ends",
        "`false`",
    ),
    "compress": Parameter("`true`: the output is compressed (and called `NAME.csv.gz`)", "`false`"),
    "columns": Parameter(
        'for inputs: the positions of the columns in a row, starting at 0: `"2:0:1"`',
        "all, in order",
        ("input",),
    ),
    "attributeNames": Parameter(
        "for outputs with `headers`: the first line",
        "the names of the columns",
        ("output", "printsize"),
    ),
    "format": Parameter("for JSON: `list` or `object`", "`list`; an input may have either"),
    "params": Parameter(
        "for JSON and SQLite: the column names in the file, "
        r'`"{\"relation\": {\"params\": [\"a\", \"b\"]}}"`',
        "those of the columns",
    ),
    "dbname": Parameter("for SQLite: the same as `filename`", ""),
}
ALWAYS = ("IO", "filename", "name")  # what every format takes


class Io(NamedTuple):
    """A value of `IO=`; `summary` is its row in the documentation.

    `takes` are parameters besides those that all have. `ending` is that of default file names,
    for inputs and outputs; None where the standard input or output is meant, unless a `filename`
    is given and `or_file` says that this is allowed.
    """

    summary: str
    actions: tuple[str, ...]
    format: Callable[[Given, Relation], FactFormat]
    takes: tuple[str, ...]
    ending: tuple[str, str] | None
    or_file: bool = False
    compressed: bool = True  # a name that ends in .gz says so

    def ending_of(self, given: Given, action: str) -> str | None:
        if self.ending is None or (self.or_file and "filename" not in given):
            return None
        return self.ending[action != "input"]


_BOTH = ("input", "output")
_TEXT = ("delimiter", "headers", "compress", "rfc4180", "columns", "attributeNames")
_JSON = ("compress", "format", "params")
_JSON_NAMES = (".json", ".json")
IO: dict[str, Io] = {
    "file": Io("lines of columns", _BOTH, Text.of, _TEXT, (".facts", ".csv")),
    "stdin": Io("the same, from the standard input", ("input",), Text.of, _TEXT, None),
    "stdout": Io("the same, printed", ("output",), Text.of, _TEXT, None),
    "stdoutprintsize": Io(
        "the number of facts, printed", ("output", "printsize"), Text.of, _TEXT, None
    ),
    # Soufflé has it for the standard streams alone; who names a file means the file.
    "json": Io(
        "JSON from the standard input, or printed, unless a `filename` is given",
        _BOTH,
        Json.of,
        _JSON,
        _JSON_NAMES,
        or_file=True,
    ),
    "jsonfile": Io("a file of JSON", _BOTH, Json.of, _JSON, _JSON_NAMES),
    "sqlite": Io(
        "a table of an SQLite database",
        _BOTH,
        Sqlite.of,
        ("dbname", "params"),
        (".sqlite", ".sqlite"),
        compressed=False,
    ),
}
