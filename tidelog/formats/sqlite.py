"""Facts in tables of SQLite, in and out.

What is read is any table or view with the relation's columns. What is written is what Soufflé
writes: a table `_NAME` of numbers, where symbols are those of the table `__SymbolTable`, and a
view `NAME` with the symbols themselves. Other tables of the database stay as they are.

Soufflé stores the bits of floats and of unsigned numbers as integers; that is understood where
the table is of its layout. Here floats are stored as such, and columns say what they hold.
Where we depart from Soufflé 2.5 otherwise: it reads an empty string as "n/a"; here it is empty.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tidelog.control.limits import poll
from tidelog.formats.atomic_files import Staged
from tidelog.formats.byte_source import Bounds, DistinctFacts, FileFault, Source, opened
from tidelog.formats.fact_files import check_encodable, count
from tidelog.formats.field_values import CellFault, shown
from tidelog.formats.term_cells import in_text, parser_of
from tidelog.program.diagnostics import plural
from tidelog.program.rules import Relation
from tidelog.program.syntax import Kind
from tidelog.program.table import DTYPES, SymbolColumn, Table, sorted_table
from tidelog.text.fact_rows import signature

SYMBOLS = "__SymbolTable"
_MAGIC = b"SQLite format 3\0"
_BESIDE = ("-wal", "-journal")  # what a database has that is being written
_ROWS = 2**14  # rows fetched at a time
_STEPS = 100_000  # instructions of SQLite between two checks for Ctrl-C
_NO_DATABASE = "name a file that SQLite has written"
# How columns are declared; Soufflé declares all of them INTEGER.
_DECLARED: dict[Kind, str] = {
    "number": "INTEGER",
    "unsigned": "UNSIGNED BIG INT",
    "float": "REAL",
    "symbol": "INTEGER",
}
_SOUFFLE = "INTEGER"
_IN_ROW = 21  # columns up to which Soufflé's tables are their own index


def read_sqlite(source: Source, relation: Relation, name: str, bounds: Bounds) -> Table:
    """The facts of a table or a view, in the order and number in which they stand there."""
    path = os.fspath(source)  # type: ignore[arg-type]
    _refuse_nullary(relation)
    _require_database(path, bounds.max_bytes)
    address = f"file:{quote(os.path.abspath(path))}?mode=ro"
    with _told(path), closing(sqlite3.connect(address, uri=True)) as database:
        # An untrusted view may only read, and Ctrl-C ends it.
        database.execute("PRAGMA trusted_schema = OFF")
        database.set_progress_handler(lambda: 0, _STEPS)
        _require_table(database, path, name)
        rows = _fetched(database, path, name, relation, bounds)
        declared = _declared(database, name, relation)
    columns = list(zip(*rows, strict=True)) if rows else [()] * relation.arity
    width = _width(columns, declared)
    found = [
        _column(path, name, relation, j, _whole(relation.kinds[j], values, declared[j], width))
        for j, values in enumerate(columns)
    ]
    return Table.from_rows(relation.kinds, zip(*found, strict=True))


def _fetched(
    database: sqlite3.Connection, path: str, name: str, relation: Relation, bounds: Bounds
) -> list[tuple[Any, ...]]:
    cursor = database.execute(f"SELECT * FROM {_quoted(name)}")
    if len(cursor.description) != relation.arity:
        has = ", ".join(str(column[0]) for column in cursor.description)
        message = f"{name} in {path} has {count(len(cursor.description), 'column')}: {has}"
        raise FileFault(message, f"it is read as {signature(relation)}")
    rows: list[tuple[Any, ...]] = []
    size = 0
    distinct, max_bytes = DistinctFacts(bounds.max_facts), bounds.max_bytes
    while some := cursor.fetchmany(_ROWS):
        poll()
        rows += some
        distinct.check(rows)
        size += sum(len(v) if isinstance(v, str | bytes) else 8 for row in some for v in row)
        if size > max_bytes:
            message = f"{name} in {path} holds more than {plural(max_bytes, 'byte')} of facts"
            raise FileFault(message, "split it, or raise max_bytes")
    return rows


def _require_table(database: sqlite3.Connection, path: str, name: str) -> None:
    listed = database.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite|_%' ESCAPE '|' ORDER BY name"
    ).fetchall()
    names = [each for (each,) in listed]
    if name not in names:
        visible = [each for each in names if f"_{each}" in names or not each.startswith("_")]
        has = f"it has {', '.join(visible[:10])}" if visible else "it has none"
        raise FileFault(f"no table or view {name} in {path}", has)


def _declared(database: sqlite3.Connection, name: str, relation: Relation) -> Sequence[str]:
    """How the columns of a table in Soufflé's layout are declared; nothing for any other."""
    columns = database.execute(f"PRAGMA table_info({_quoted(f'_{name}')})").fetchall()
    symbols = database.execute(f"PRAGMA table_info({_quoted(SYMBOLS)})").fetchall()
    if symbols and [column[1] for column in columns] == [str(j) for j in range(relation.arity)]:
        return [column[2] for column in columns]
    return [""] * relation.arity


def _column(
    path: str, name: str, relation: Relation, j: int, values: Sequence[Any]
) -> Sequence[Any]:
    kind = relation.kinds[j]
    found = []
    for i, value in enumerate(values):
        taken = _taken(kind, value)
        if isinstance(taken, CellFault):
            cell = shown(value) if isinstance(value, str) else str(value)
            column = f"column {relation.attributes[j]} of {relation.name}"
            message = taken.message.format(cell=cell, column=column)
            raise FileFault(f"{path}, row {i + 1} of {name}: {message}", taken.advice)
        found.append(taken)
    return found


def _taken(kind: Kind, value: Any) -> Any:
    """A SQLite value as a value of the kind, or why it has none."""
    if value is None:
        return CellFault("NULL in {column}", "leave the row out, or replace the value")
    if isinstance(value, bytes):
        return CellFault(f"a BLOB in {{column}}, which is {kind}", "store text or numbers")
    if kind == "symbol":
        if isinstance(value, float):
            return CellFault(
                "{cell} is not text, but {column} is symbol", "declare the column float"
            )
        return str(value)
    if kind == "float" and isinstance(value, int | float):
        return float(value) + 0.0
    # Texts are read as fields of files are, and numbers must be what they would be there.
    return parser_of(kind)(value if isinstance(value, str) else str(value))


def _width(columns: Sequence[Sequence[Any]], declared: Sequence[str]) -> int:
    """The bits of the Soufflé that wrote a table: 32, as it is built unless told otherwise, if
    no number is larger. (A double of so few bits would be next to zero.)"""
    own = [values for values, word in zip(columns, declared, strict=True) if word == _SOUFFLE]
    small = (-(2**31) <= v < 2**31 for values in own for v in values if type(v) is int)
    return 32 if all(small) else 64


def _whole(kind: Kind, values: Sequence[Any], declared: str, width: int) -> Sequence[Any]:
    """The numbers that integers are the bits of, where they are that."""
    if any(type(value) is not int for value in values):
        return values
    if kind == "unsigned" and declared == _DECLARED["unsigned"]:
        return [value % 2**64 for value in values]
    if declared == _SOUFFLE and kind == "unsigned":
        return [value % 2**width for value in values]
    if declared == _SOUFFLE and kind == "float":
        whole, real = ("<i", "<f") if width == 32 else ("<q", "<d")
        return [struct.unpack(real, struct.pack(whole, value))[0] for value in values]
    return values


# Writing.


def check_database(path: str, relation: Relation) -> None:
    """Reject a file now that could not be changed later."""
    _refuse_nullary(relation)
    if os.path.exists(path):
        _require_database(path, None)
        for ending in _BESIDE:
            if os.path.exists(path + ending):
                message = f"{path} is being written by another program: found {path}{ending}"
                raise FileFault(message, "wait until it is closed, or choose another file")


def write_sqlite(
    staged: Staged, path: str, relation: Relation, table: Table, name: str, names: Sequence[str]
) -> None:
    """Stage a copy of the database with the table added or replaced."""
    check_database(path, relation)
    table = in_text(sorted_table(table))
    for column in table.columns:
        if isinstance(column, SymbolColumn):
            check_encodable(relation, column.words)
    temporary, begun = staged.file(path)
    with _told(path):
        if not begun:
            _copy(path, temporary)
        with closing(sqlite3.connect(temporary)) as database, database:
            database.execute("BEGIN")
            _make_room(database, path, name)
            _create(database, relation, name, names)
            _insert(database, name, table)


def _copy(path: str, temporary: str) -> None:
    if os.path.exists(path):
        address = f"file:{quote(os.path.abspath(path))}?mode=ro"
        with (
            closing(sqlite3.connect(address, uri=True)) as old,
            closing(sqlite3.connect(temporary)) as new,
        ):
            old.backup(new)


def _make_room(database: sqlite3.Connection, path: str, name: str) -> None:
    """Drop the table and view that an earlier run wrote; refuse to drop anything else."""
    there = dict(
        database.execute(
            "SELECT name, type FROM sqlite_master WHERE lower(name) IN (lower(?), lower(?))",
            (name, f"_{name}"),
        ).fetchall()
    )
    for each, kind in there.items():
        if each.lower() == name.lower() and kind == "view":
            continue
        columns = database.execute(f"PRAGMA table_info({_quoted(each)})").fetchall()
        ours = [column[1] for column in columns] == [str(j) for j in range(len(columns))]
        if each.lower() == name.lower() or kind != "table" or not ours:
            message = f"{path} already has another {kind} {each}"
            raise FileFault(message, "give the output another name, or another file")
    for each, kind in there.items():
        database.execute(f"DROP {kind} {_quoted(each)}")


def _create(
    database: sqlite3.Connection, relation: Relation, name: str, names: Sequence[str]
) -> None:
    places = range(relation.arity)
    columns = [
        f'"{j}" {_DECLARED.get(kind, _DECLARED["symbol"])}' for j, kind in enumerate(relation.kinds)
    ]
    key = ", ".join(f'"{j}"' for j in places)
    in_row = relation.arity <= _IN_ROW
    inside = ", ".join([*columns, *([f"PRIMARY KEY ({key})"] if in_row else [])])
    ending = " WITHOUT ROWID" if in_row else ""
    base = _quoted(f"_{name}")
    database.execute(f"CREATE TABLE {base} ({inside}){ending}")
    database.execute(
        f"CREATE TABLE IF NOT EXISTS {_quoted(SYMBOLS)} "
        "(id INTEGER PRIMARY KEY, symbol TEXT UNIQUE)"
    )
    symbols = [j for j in places if relation.kinds[j] not in DTYPES]
    shown_as = [
        (f'"_symtab_{j}".symbol' if j in symbols else f'{base}."{j}"') + f" AS {_quoted(names[j])}"
        for j in places
    ]
    sources = ", ".join([base, *(f'{_quoted(SYMBOLS)} AS "_symtab_{j}"' for j in symbols)])
    joined = " AND ".join(f'{base}."{j}" = "_symtab_{j}".id' for j in symbols)
    where = f" WHERE {joined}" if joined else ""
    database.execute(
        f"CREATE VIEW {_quoted(name)} AS SELECT {', '.join(shown_as)} FROM {sources}{where}"
    )


def _insert(database: sqlite3.Connection, name: str, table: Table) -> None:
    columns = []
    for kind, column in zip(table.kinds, table.columns, strict=True):
        if isinstance(column, SymbolColumn):
            numbers = _numbers(database, column.words)
            columns.append([numbers[code] for code in column.codes.tolist()])
        elif kind == "unsigned":
            columns.append(column.view("int64").tolist())
        elif kind == "float":
            # NaN would become NULL.
            columns.append([v if v == v else "nan" for v in column.tolist()])
        else:
            columns.append(column.tolist())
    marks = ", ".join("?" * len(columns))
    database.executemany(
        f"INSERT INTO {_quoted(f'_{name}')} VALUES ({marks})", zip(*columns, strict=True)
    )


def _numbers(database: sqlite3.Connection, words: Sequence[str]) -> list[int]:
    """The number of each word, which may be new."""
    table = _quoted(SYMBOLS)
    database.executemany(
        f"INSERT OR IGNORE INTO {table} (symbol) VALUES (?)", ((word,) for word in words)
    )
    find = f"SELECT id FROM {table} WHERE symbol = ?"
    return [database.execute(find, (word,)).fetchone()[0] for word in words]


def _refuse_nullary(relation: Relation) -> None:
    if not relation.arity:
        message = f"{relation.name} has no columns, but a table of SQLite needs at least one"
        raise FileFault(message, "use IO=file")


def _require_database(path: str, max_bytes: int | None) -> None:
    with opened(Path(path), path) as file:
        size = os.fstat(file.fileno()).st_size
        if size and file.read(len(_MAGIC)) != _MAGIC:
            raise FileFault(f"file {path} is not a SQLite database", _NO_DATABASE)
    if max_bytes is not None and size > max_bytes:
        message = f"{path} holds more than {plural(max_bytes, 'byte')}"
        raise FileFault(message, "split it, or raise max_bytes")


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Report an error of SQLite as one of the file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        reason = str(error)
        if "malformed" in reason or "not a database" in reason:
            raise FileFault(f"file {path} is damaged: {reason}", _NO_DATABASE) from None
        raise FileFault(f"file {path}: {reason}") from None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
