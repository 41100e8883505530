"""JSON, SQLite, quoted fields and chosen columns: what is written reads back, what Soufflé writes
is understood, and what is wrong is said where it is."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import signal
import sqlite3
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.formats.directives import inputs, outputs, read_inputs, require_writable, write_outputs
from tidelog.program.diagnostics import DataError, TidelogError
from tidelog.program.rules import CheckedProgram, Relation
from tidelog.program.syntax import Directive, Span, Value
from tidelog.program.table import Table

Row = tuple[Value, ...]
ALL = Relation("r", ("n", "u", "f", "s"), ("number", "unsigned", "float", "symbol"))
PAIR = Relation("pair", ("x", "w"), ("number", "symbol"))
FLAG = Relation("flag", (), ())
WIDE = Relation("wide", tuple(f"c{j}" for j in range(30)), ("symbol",) * 30)
RELATIONS = {each.name: each for each in (ALL, PAIR, FLAG, WIDE)}
PAIRS: list[Row] = [(2, 'say "hi"'), (1, "a,\r\nb\tc"), (3, "")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def directive(action: Any, of: str, **parameters: str) -> CheckedProgram:
    at = Span("p.dl", 1, 8, len(of))
    return CheckedProgram(
        RELATIONS, (), (), {}, (Directive(action, of, tuple(parameters.items()), at),)
    )


def write(rows: Sequence[Row], of: str = "pair", **parameters: str) -> str:
    """Write the rows; what is printed."""
    kinds = RELATIONS[of].kinds
    table = Table.from_rows(kinds, rows) if kinds else Table((), (), len(rows))
    wanted = outputs(directive("output", of, **parameters))
    require_writable(wanted)
    printed = io.BytesIO()
    write_outputs(wanted, {of: table}, printed)
    return printed.getvalue().decode()


def read(of: str = "pair", stdin: bytes = b"", **parameters: str) -> list[Row]:
    wanted = inputs(directive("input", of, **parameters))
    ((_, table),) = read_inputs(wanted, io.BytesIO(stdin))
    return table.rows()


def wrong(of: str = "pair", **parameters: str) -> str:
    with pytest.raises(TidelogError) as caught:
        read(of, **parameters)
    return str(caught.value)


VALUES = st.tuples(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 2**64 - 1),
    st.floats(allow_nan=False).map(lambda value: value + 0.0),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
)
WAYS: dict[str, dict[str, str]] = {
    "quoted": {"rfc4180": "true", "filename": "r.csv"},
    "quoted.gz": {"rfc4180": "true", "filename": "r.csv.gz", "delimiter": ";"},
    "json": {"IO": "jsonfile"},
    "objects": {"IO": "json", "format": "object", "filename": "r.json.gz"},
    "sqlite": {"IO": "sqlite", "dbname": "r.db"},
}


@settings(max_examples=20)
@given(st.lists(VALUES, unique=True, max_size=6))
def test_what_is_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row]
) -> None:
    before = os.getcwd()
    os.chdir(tmp_path_factory.getbasetemp())
    try:
        for way in WAYS.values():
            write(rows, "r", **way)
            assert sorted(read("r", **way)) == sorted(rows)
    finally:
        os.chdir(before)


def test_texts_are_souffles(folder: Path) -> None:
    assert write(PAIRS, rfc4180="true", headers="true", attributeNames="X,W") == ""
    assert (folder / "pair.csv").read_bytes().decode() == (
        'X,W\n1,"a,\r\nb\tc"\n2,"say ""hi"""\n3,""\n'
    )
    assert read(filename="pair.csv", rfc4180="true", headers="true") == sorted(PAIRS)
    assert write(PAIRS[:1], IO="json") == '[[2, "say \\"hi\\""]]\n'
    assert write([(1, "a"), (2, "b")], IO="json", format="object") == (
        '[{"x": 1, "w": "a"},\n{"x": 2, "w": "b"}]\n'
    )
    renamed = {"format": "object", "params": '{"relation": {"params": ["k", "v"]}}'}
    assert write([(1, "a")], IO="jsonfile", filename="o.json", **renamed) == ""
    assert (folder / "o.json").read_text() == '[{"k": 1, "v": "a"}]\n'
    assert read(IO="jsonfile", filename="o.json", **renamed) == [(1, "a")]
    assert write([(1, "a")], headers="true", attributeNames="X\tW", IO="stdout") == (
        "---------------\npair\nX\tW\n===============\n1\ta\n===============\n"
    )
    assert [write(rows, "flag", IO="json") for rows in ([()], [])] == ["[null]\n", "[]\n"]
    assert read("flag", b"[null]", IO="json") == [()]
    assert read("flag", b" [ ] ", IO="json") == []
    assert read("r", b'[[-1, 1, "-inf", "x"],\n [2, 2, 3, "\\u00e9"]]', IO="json") == [
        (-1, 1, -math.inf, "x"),
        (2, 2, 3.0, "é"),
    ]
    assert read(stdin=b'{"w": "a", "x": 1}'.join((b"[", b"]")), IO="json") == [(1, "a")]


def test_the_output_folder_dash_prints_every_way(folder: Path) -> None:
    for way in WAYS.values():
        printed = io.BytesIO()
        wanted = outputs(directive("output", "r", **way), "-")
        write_outputs(wanted, {"r": Table.from_rows(ALL.kinds, [(1, 2, 0.5, "s")])}, printed)
        title, _, row = printed.getvalue().decode().splitlines()[2:5]
        assert title in ("n\tu\tf\ts", "n,u,f,s", "n;u;f;s")
        assert row in ("1\t2\t0.5\ts", '1,2,0.5,"s"', '1;2;0.5;"s"')
    assert os.listdir() == []


def test_columns_are_chosen(folder: Path) -> None:
    (folder / "log").write_text("h\nw1;skip;7;more\nw2;skip;8\n")
    chosen = {"filename": "log", "delimiter": ";", "columns": "2:0", "headers": "true"}
    assert read(**chosen) == [(7, "w1"), (8, "w2")]
    assert read(stdin=b'"a;b";1\n', IO="stdin", rfc4180="true", delimiter=";", columns="1:0") == [
        (1, "a;b")
    ]
    (folder / "log").write_text("h\nw1;skip;7\nw2;skip\n")
    assert wrong(**chosen) == (
        "log:3:8: error: 2 fields, but column 2 is asked for\n"
        "  3 | w2;skip\n"
        "    |        ^ columns are counted from 0"
    )
    (folder / "log").write_text("h\nw1;skip;x\n")
    assert wrong(**chosen).startswith('log:2:9: error: "x" is not a whole number, but column x of')


def test_a_database_of_souffle(folder: Path) -> None:
    """Tables as Soufflé's writer makes them, for 64 bits and for 32."""
    for width, real, whole in (("<d", "<q", 64), ("<f", "<i", 32)):
        with sqlite3.connect("s.db") as database:
            bits = struct.unpack(real, struct.pack(width, -1.5))[0]
            for sql in (
                "DROP VIEW IF EXISTS r",
                "DROP TABLE IF EXISTS _r",
                "CREATE TABLE IF NOT EXISTS '_r' ('0' INTEGER,'1' INTEGER,'2' INTEGER,"
                "'3' INTEGER, PRIMARY KEY ('0','1' ,'2' ,'3' )) WITHOUT ROWID;",
                "CREATE VIEW IF NOT EXISTS 'r' AS SELECT '_r'.'0' AS 'n','_r'.'1' AS 'u',"
                "'_r'.'2' AS 'f','_symtab_3'.symbol AS 's' FROM '_r','__SymbolTable' AS "
                "'_symtab_3' WHERE '_r'.'3' = '_symtab_3'.id;",
                "CREATE TABLE IF NOT EXISTS '__SymbolTable' "
                "(id INTEGER PRIMARY KEY, symbol TEXT UNIQUE);",
                "INSERT OR IGNORE INTO __SymbolTable VALUES (null, 'word')",
                f"INSERT INTO _r VALUES (-7, -1, {bits}, 1)",
            ):
                database.execute(sql)
        database.close()
        assert read("r", IO="sqlite", filename="s.db") == [(-7, 2**whole - 1, -1.5, "word")]


def test_databases_keep_what_is_not_ours(folder: Path) -> None:
    with sqlite3.connect("all.db") as database:
        database.execute("CREATE TABLE plain (k INTEGER, v)")
        database.execute("INSERT INTO plain VALUES (1, 'one'), (2, 3)")
        database.execute("CREATE TABLE pair (mine)")
    database.close()
    os.chmod("all.db", 0o640)
    before = (folder / "all.db").read_bytes()
    with pytest.raises(DataError, match=r"all\.db already has another table pair"):
        write(PAIRS, IO="sqlite", filename="all.db")
    assert (folder / "all.db").read_bytes() == before
    both = CheckedProgram(
        RELATIONS,
        (),
        (),
        {},
        tuple(
            Directive("output", relation, (("IO", "sqlite"), ("dbname", "all.db"), ("name", name)))
            for relation, name in (("pair", "a.b"), ("r", 'c"d'), ("pair", "third"))
        ),
    )
    tables = {
        "pair": Table.from_rows(PAIR.kinds, PAIRS),
        "r": Table.from_rows(ALL.kinds, [(1, 2, math.nan, "hi")]),
    }
    for _ in range(2):  # what an earlier run has written is replaced
        write_outputs(outputs(both), tables, io.BytesIO())
    assert oct(os.stat("all.db").st_mode & 0o777) == "0o640"
    assert read(IO="sqlite", filename="all.db", name="a.b") == sorted(PAIRS)
    assert read(IO="sqlite", dbname="all.db", name="plain") == [(1, "one"), (2, "3")]
    assert read("r", IO="sqlite", filename="all.db", name='c"d') == [(1, 2, math.nan, "hi")]
    with sqlite3.connect("all.db") as database:
        assert database.execute('SELECT w FROM "third" WHERE x = 2').fetchall() == [('say "hi"',)]
    database.close()
    assert os.listdir() == ["all.db"]
    write([tuple("abcdefghijklmnopqrstuvwxyzäöüß")], "wide", IO="sqlite")
    assert len(read("wide", IO="sqlite")[0]) == 30


def test_a_database_is_whole_or_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(PAIRS, IO="sqlite")
    before = (folder / "pair.sqlite").read_bytes()
    two = CheckedProgram(
        RELATIONS,
        (),
        (),
        {},
        (
            Directive("output", "pair", (("IO", "sqlite"),)),
            Directive("output", "pair", (("filename", "none/x.csv"),)),
        ),
    )
    with pytest.raises(DataError, match="folder none does not exist"):
        write_outputs(outputs(two), {"pair": Table.from_rows(PAIR.kinds, [])}, io.BytesIO())
    (folder / "pair.sqlite-wal").write_bytes(b"")
    with pytest.raises(DataError, match=r"pair\.sqlite is being written by another program"):
        write(PAIRS[:1], IO="sqlite")
    assert (folder / "pair.sqlite").read_bytes() == before
    assert sorted(os.listdir()) == ["pair.sqlite", "pair.sqlite-wal"]


def test_a_process_that_is_killed_leaves_the_old_database(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(PAIRS, IO="sqlite")
    before = (folder / "pair.sqlite").read_bytes()
    child = os.fork()
    if not child:  # it dies where the new database would get its name
        monkeypatch.setattr(os, "replace", lambda *names: os.kill(os.getpid(), signal.SIGKILL))
        write(PAIRS[:1], IO="sqlite")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert (folder / "pair.sqlite").read_bytes() == before
    assert read(IO="sqlite") == sorted(PAIRS)
    write(PAIRS[:1], IO="sqlite")
    assert read(IO="sqlite") == PAIRS[:1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "p.json:1:1: error: the file is empty"),
        (b'{"x": 1, "w": "a"}', "p.json:1:1: error: the file holds an object, not a list of facts"),
        (b'"a"', "p.json:1:1: error: the file holds a string, not a list of facts"),
        (b'[[1, "a"],\n [2, "b"]', "p.json:2:10: error: invalid JSON: the list is cut off"),
        (b'[[1, "a"]\n [2, "b"]]', "p.json:2:2: error: invalid JSON: expected `,` or `]`"),
        (b'[[1, "a"],\n [2 "b"]]', "p.json:2:5: error: invalid JSON: expecting ',' delimiter"),
        (b'[[1, "a"]] x', "p.json:1:12: error: invalid JSON: more text after the list"),
        (b"[1]", "p.json:1:2: error: a fact that is not a list"),
        (b'[[1, "a"], {"x": 1, "w": "a"}]', "p.json:1:12: error: a fact that is not a list"),
        (b'[{"x": 1}]', 'p.json:1:2: error: the keys are "x", not those of pair('),
        (b'[{"x": 1, "x": 2, "w": "a"}]', 'p.json:1:2: error: duplicate key "x"'),
        (b"[[1]]", "p.json:1:2: error: 1 value for pair(x: number, w: symbol)"),
        (b"[[1, 2]]", "p.json:1:2: error: column w is symbol, got 2"),
        (b'[[1, "a"],\n[1.5, "a"]]', "p.json:2:1: error: column x is number, got 1.5"),
        (b'[[9223372036854775808, "a"]]', "p.json:1:2: error: 9223372036854775808 in column x"),
        (b'[[Infinity, "a"]]', "p.json:1:2: error: Infinity is not valid JSON"),
        (b'[[NaN, "a"]]', "p.json:1:2: error: column x is number, got NaN"),
        (b"[" * 100_000, "p.json:1:2: error: nested too deeply"),
        (b"[[" + b"1" * 5000 + b"]]", "p.json:1:2: error: a number with too many digits"),
        (b'[[1, "\\ud800"]]', "p.json:1:2: error: '\\ud800' is not valid text"),
        (b'[[1, "\xff"]]', "p.json:1:7: error: byte 0xff is not valid UTF-8"),
        (b"\x1f\x8b junk", "file p.json holds damaged gzip data"),
        (gzip.compress(b"[]", mtime=0)[:-9], "file p.json ends in the middle of its gzip data"),
    ],
    ids=lambda value: None if isinstance(value, str) else value[:20].decode(errors="replace"),
)
def test_json_that_is_no_facts(folder: Path, text: bytes, message: str) -> None:
    (folder / "p.json").write_bytes(text)
    assert message in wrong(IO="jsonfile", filename="p.json").splitlines()[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'1,"a\n2,b\n', "pair.csv:1:3: error: a quoted field is not closed"),
        (b'1,a\n2,"b"c\n', "pair.csv:2:3: error: a quoted field continues after its closing quote"),
        (b"1,a\rb\n", "pair.csv:1:1: error: a carriage return outside of quotes"),
        (b'"1","a\nb"\n"2","b","c"\n', "pair.csv:3:9: error: 3 fields, but pair has 2 columns"),
        (b'"1"\n', "pair.csv:1:4: error: 1 field, but pair has 2 columns"),
        (b'"a\nb",1\n', 'pair.csv:1:1: error: "a\\nb" is not a whole number, but column x of pair'),
        (b'1,"a"\n\n', "pair.csv:2:1: error: 1 field, but pair has 2 columns"),
    ],
)
def test_fields_that_are_no_facts(folder: Path, text: bytes, message: str) -> None:
    (folder / "pair.csv").write_bytes(text)
    found = wrong(filename="pair.csv", rfc4180="true").splitlines()[0]
    assert found.startswith(message)


def test_databases_that_are_none(folder: Path) -> None:
    def fault(of: str = "pair", file: str = "x.db") -> str:
        text = wrong(of, IO="sqlite", filename=file)
        assert text.startswith(f"p.dl:1:8: error: no facts for `{of}`: ")
        return text.splitlines()[0].partition("`: ")[2]

    assert fault() == "file x.db does not exist"
    (folder / "x.db").write_bytes(b"1\ta\n" * 10)
    assert fault() == "file x.db is not a SQLite database"
    with pytest.raises(DataError, match=r"`pair` cannot be written: file x\.db is no"):
        write(PAIRS, IO="sqlite", filename="x.db")
    (folder / "x.db").write_bytes(b"")
    assert fault() == "no table or view pair in x.db"
    (folder / "x.db").unlink()
    with sqlite3.connect("x.db") as database:
        database.execute("CREATE TABLE one (k)")
        database.execute("CREATE TABLE pair (k, v)")
        database.executemany("INSERT INTO pair VALUES (?, ?)", [(1, "a")] * 5000)
        database.execute(
            "CREATE VIEW endless AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) "
            "SELECT x, 'a' FROM n"
        )
    assert fault("flag") == "flag has no columns, but a table of SQLite needs at least one"
    assert fault("r") == "no table or view r in x.db"
    assert wrong("r", IO="sqlite", filename="x.db").endswith("it has endless, one, pair")
    for row, message in (
        ((None, "a"), "NULL in column x of pair"),
        ((1, None), "NULL in column w of pair"),
        ((1.5, "a"), "1.5 is not a whole number, but column x of pair is number"),
        (("x", "a"), '"x" is not a whole number, but column x of pair is number'),
        ((1, b"a"), "a BLOB in column w of pair, which is symbol"),
        ((1, 0.5), "0.5 is not text, but column w of pair is symbol"),
    ):
        with database:
            database.execute("DELETE FROM pair WHERE rowid > 5000")
            database.execute("INSERT INTO pair VALUES (?, ?)", row)
        assert fault() == f"x.db, row 5001 of pair: {message}"
    database.close()
    checked = directive("input", "pair", IO="sqlite", filename="x.db", name="endless")
    with pytest.raises(DataError, match=r"endless in x\.db holds more than 1,000,000 bytes"):
        list(read_inputs(inputs(checked), max_bytes=1_000_000))
    data = (folder / "x.db").read_bytes()
    (folder / "x.db").write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    assert fault().startswith("file x.db is damaged: ")
    os.mkfifo("pipe.db")
    assert fault(file="pipe.db") == "pipe.db is a pipe, not a regular file"


def test_json_is_what_others_read(folder: Path) -> None:
    rows: list[Row] = [(i, f"w{i}") for i in range(70_000)]  # more than one piece
    write(rows, IO="jsonfile")
    assert json.loads((folder / "pair.json").read_text()) == [list(row) for row in rows]
