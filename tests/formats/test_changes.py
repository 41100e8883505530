"""Changes from files and streams, deltas into them: every format, and the errors of each."""

from __future__ import annotations

import gzip
import io
import math
import os
import threading
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from tidelog.formats import byte_source as lines_module
from tidelog.formats.atomic_files import Staged
from tidelog.formats.change_files import Format, Place, place_of, read_changes
from tidelog.formats.delta_files import delta_writer
from tidelog.formats.json_changes import jsonl_text
from tidelog.program.changes import Change, Commit, FactChange, RuleChange
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Relation
from tidelog.program.syntax import Span
from tidelog.text import parse

RELATIONS = {
    relation.name: relation
    for relation in (
        Relation("edge", ("x", "y"), ("number", "number")),
        Relation("w", ("weight", "of", "n"), ("float", "symbol", "unsigned")),
        Relation("on", (), ()),
        Relation("log", ("commit",), ("number",)),
    )
}


def read(name: str | Path, format: Format | None = None, stdin: bytes = b"") -> list[Change]:
    place = place_of(os.fspath(name), format)
    found = read_changes(place, lambda: RELATIONS, io.BytesIO(stdin))
    return [change for change, _ in found]


def fault(name: str | Path, format: Format | None = None, stdin: bytes = b"") -> str:
    with pytest.raises(TidelogError) as caught:
        read(name, format, stdin)
    return str(caught.value)


def plus(*row: object) -> FactChange:
    return FactChange("+", "edge", row)  # type: ignore[arg-type]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Places.


@pytest.mark.parametrize(
    ("name", "format", "place"),
    [
        ("-", None, Place("-", "changes", "")),
        ("-", "jsonl", Place("-", "jsonl", "")),
        ("edge=-", "csv", Place("-", "csv", "edge")),
        ("a.changes", None, Place("a.changes", "changes", "")),
        ("b/a.dl.gz", None, Place("b/a.dl.gz", "changes", "")),
        ("a.NDJSON", None, Place("a.NDJSON", "jsonl", "")),
        ("a.txt", "jsonl", Place("a.txt", "jsonl", "")),
        ("edge.tsv.gz", None, Place("edge.tsv.gz", "csv", "edge")),
        ("b.c/edge.2024.parquet", None, Place("b.c/edge.2024.parquet", "parquet", "edge")),
        ("edge=b/c=d.csv", None, Place("b/c=d.csv", "csv", "edge")),
        ("b/c=d.changes", None, Place("b/c=d.changes", "changes", "")),
    ],
)
def test_places(name: str, format: Format | None, place: Place, here: Path) -> None:
    assert place_of(name, format) == place


def test_a_file_is_what_its_whole_name_says_if_it_is_there(here: Path) -> None:
    (here / "a=b.changes").write_text("+edge(1, 2).")
    assert read("a=b.changes") == [plus(1, 2)]


@pytest.mark.parametrize(
    ("name", "format", "message"),
    [
        (
            "a.txt",
            None,
            "error: cannot tell the format of the changes from the name a.txt\n"
            "    give it with --format, one of changes, jsonl, csv, parquet",
        ),
        (
            "edge.parquet.gz",
            None,
            "error: cannot tell the format of the changes from the name edge.parquet.gz\n"
            "    give it with --format, one of changes, jsonl, csv, parquet",
        ),
        (
            "-",
            "csv",
            "error: a table on the standard input needs the name of its relation\n"
            "    write RELATION=- in place of -",
        ),
        (
            "edge=a.jsonl",
            None,
            "error: a.jsonl is not a table, so edge= has no meaning\n    leave it out",
        ),
        (
            "egde.csv",
            None,
            "error: unknown relation egde of a table\n"
            "    did you mean edge?\n"
            "    write a table as RELATION=FILE",
        ),
        (
            "no.changes",
            None,
            "error: file no.changes does not exist\n    check the name and the folder",
        ),
        (
            "edge.csv",
            None,
            "error: file edge.csv does not exist\n    check the name and the folder",
        ),
        (".", "changes", "error: . is a folder, not a file\n    name a file inside it"),
        (".", None, "error: . is a folder, not a file\n    name a file inside it"),
        (
            "/dev/null",
            "changes",
            "error: /dev/null is neither a file nor a pipe\n    write - to read the standard input",
        ),
    ],
)
def test_places_that_are_none(name: str, format: Format | None, message: str, here: Path) -> None:
    assert fault(name, format) == message


def test_the_standard_input_may_be_closed() -> None:
    with pytest.raises(TidelogError, match="the standard input is closed"):
        list(read_changes(place_of("-"), lambda: RELATIONS, None))


# Text.


def test_notation_from_a_file_and_compressed(here: Path) -> None:
    text = b"\xef\xbb\xbf+edge(1, 2).\r\ncommit.\r\n"
    (here / "a.changes").write_bytes(text)
    (here / "a.changes.gz").write_bytes(gzip.compress(text))
    assert read("a.changes") == read("a.changes.gz") == read("-", stdin=text)
    assert read("a.changes") == [plus(1, 2), Commit()]


def test_a_file_without_a_last_line_end() -> None:
    assert read("-", stdin=b"+edge(1, 2).") == [plus(1, 2)]
    assert read("-", "jsonl", b'{"op": "commit"}') == [Commit()]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b'+w(1, "\xff", 2).\n',
            "<stdin>:2:8: error: byte 0xff is not UTF-8\n"
            '  2 | +w(1, "\N{REPLACEMENT CHARACTER}", 2).\n'
            "    |        ^ save the file as UTF-8",
        ),
        (
            b'+w(1, "\0", 2).\n\xff',
            "<stdin>:2:8: error: a NUL character\n"
            '  2 | +w(1, "\N{REPLACEMENT CHARACTER}", 2).\n'
            "    |        ^ is this a text file?",
        ),
    ],
)
@pytest.mark.parametrize("format", ["changes", "jsonl"])
def test_what_stands_before_bad_bytes_is_read(data: bytes, message: str, format: Format) -> None:
    first = {"changes": b"+edge(1, 2).\n", "jsonl": jsonl_text(plus(1, 2)).encode() + b"\n"}
    place = place_of("-", format)
    found = read_changes(place, lambda: RELATIONS, io.BytesIO(first[format] + data))
    assert next(found)[0] == plus(1, 2)
    with pytest.raises(TidelogError) as caught:
        next(found)
    assert str(caught.value) == message


def test_an_endless_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "MAX_LINE", 2**20)
    assert fault("-", "jsonl", b'{"op": "commit"}\n' + b" " * 2**22) == (
        "<stdin>:2:1: error: a line of more than 1,048,576 bytes\n    is this a text file?"
    )


def test_a_pipe_is_read_as_it_is_written(here: Path) -> None:
    """Each change is there before the next one is written."""
    os.mkfifo("pipe.changes")
    asked, seen = threading.Semaphore(0), []

    def write() -> None:
        with open("pipe.changes", "wb") as pipe:
            for text in (b"+edge(1, 2).\n", b"commit.\n-edge(1,", b" 2).\n"):
                pipe.write(text)
                pipe.flush()
                assert asked.acquire(timeout=60)

    writer = threading.Thread(target=write)
    writer.start()
    for change, _ in read_changes(place_of("pipe.changes"), lambda: RELATIONS):
        seen.append(change)
        asked.release()
    writer.join()
    assert seen == [plus(1, 2), Commit(), FactChange("-", "edge", (1, 2))]


# JSON Lines.


def test_every_form_of_record() -> None:
    text = """
    {"op": "+", "relation": "edge", "args": [1, -2]}\r
    {"args": [2, "\\u00e9 \\ud83d\\ude00", 18446744073709551615], "relation": "w", "op": "-"}
    {"op": "+", "relation": "w", "args": ["-inf", "", 0]}
    {"op": "+", "relation": "on", "args": []}
    {"op": "+", "rule": "p(x) :- edge(x, y)."}
    {"op": "-", "rule": "p(x) :- edge(x, y)."}
    {"op": "-", "rule": "path.3fa2c1"}

    {"op": "commit"}
    """
    rule = parse("p(x) :- edge(x, y).").program.clauses[0]
    assert read("-", "jsonl", text.encode()) == [
        plus(1, -2),
        FactChange("-", "w", (2.0, "é 😀", 2**64 - 1)),
        FactChange("+", "w", (-math.inf, "", 0)),
        FactChange("+", "on", ()),
        RuleChange("+", rule),
        RuleChange("-", rule),
        RuleChange("-", "path.3fa2c1"),
        Commit(),
    ]


SHAPES = 'write {"op": "+", "relation": …, "args": […]}, {"op": "+", "rule": …} or {"op": "commit"}'
CUT = "was the record cut off?"
INFINITE = 'write "inf" or "-inf"'
FACT = 'write {"op": "+", "relation": "edge", "args": [1, 2]}'


def edge(args: str) -> str:
    return f'{{"op": "+", "relation": "edge", "args": {args}}}'


@pytest.mark.parametrize(
    ("record", "message", "advice"),
    [
        (edge("[1, 2").removesuffix("}"), "invalid JSON: expecting ',' delimiter", CUT),
        ('{"op": "com', "invalid JSON: unterminated string starting at", CUT),
        ("{'op': 1}", "invalid JSON: expecting property name enclosed in double quotes", FACT),
        (edge("[1, 2]") + " x", "invalid JSON: extra data", FACT),
        ('{"op": "+", "op": "-"}', 'duplicate key "op"', "keep one of them"),
        (edge('[1, {"a": 1, "a": 2}]'), 'duplicate key "a"', "keep one of them"),
        (edge("[1, Infinity]"), "Infinity is not valid JSON", INFINITE),
        (edge("[1, NaN]"), "column y is number, got NaN", "give a value of its type"),
        ("[" * 100_000, "nested too deeply", SHAPES),
        (
            edge("[1, " + "9" * 5_000 + "]"),
            "a number with too many digits",
            "64 bits hold 20 digits",
        ),
        (
            edge("[1, 12345678901234567890]"),
            "12345678901234567890 in column y does not fit",
            "number is from -9223372036854775808 to 9223372036854775807",
        ),
        (edge("[1, 2.5]"), "column y is number, got 2.5", "give a value of its type"),
        (edge("[true, 1]"), "column x is number, got true", "give a value of its type"),
        (edge("[1, null]"), "column y is number, got null", "give a value of its type"),
        (edge('[1, "2"]'), 'column y is number, got "2"', "give a value of its type"),
        (edge("[1, [2]]"), "column y is number, got [2]", "give a value of its type"),
        (edge("[1]"), "1 value for edge(x: number, y: number)", "give one value for each column"),
        (edge("1"), '"args" must be a list', FACT),
        ('{"op": "+", "relation": 1, "args": []}', '"relation" must be a string', FACT),
        (edge("[]").replace("edge", "egde"), 'unknown relation "egde"', "did you mean edge?"),
        (
            '{"op": "+", "relation": "w", "args": [1e999, "", 0]}',
            "a number in column weight is too large for a float",
            'write "inf"?',
        ),
        (
            '{"op": "+", "relation": "w", "args": [1, "\\ud800", 0]}',
            "'\\ud800' is not valid text",
            "it has half of a surrogate pair",
        ),
        ("[1]", "the record is not an object", SHAPES),
        ("{}", '"op" must be "+", "-" or "commit"', SHAPES),
        ('{"op": "+"}', "expected a fact, a rule or a commit", SHAPES),
        (
            '{"op": "+", "relation": "on", "args": [], "at": 1}',
            "expected a fact, a rule or a commit",
            SHAPES,
        ),
        ('{"op": "commit", "at": 1}', "a commit has no other keys", 'write {"op": "commit"}'),
        ('{"op": "+", "rule": 1}', '"rule" must be a string', SHAPES),
    ],
)  # fmt: skip
def test_records_that_are_none(record: str, message: str, advice: str) -> None:
    found = fault("-", "jsonl", b"\n" + record.encode()).splitlines()
    assert found[0].startswith("<stdin>:2:")
    assert found[0].endswith(f": error: {message}")
    assert found[1] == f"  2 | {record[:100]}" or len(record) > 100
    assert found[2].endswith(f"^ {advice}")


def test_a_rule_that_cannot_be_read_is_shown_in_its_record() -> None:
    assert fault("-", "jsonl", b'{"op": "+", "rule": "p(x) :- q(x"}') == (
        "<stdin>:1:30: error: the `(` of `q` is not closed before the end of the file\n"
        '  1 | {"op": "+", "rule": "p(x) :- q(x"}\n'
        "    |                              ^ close it with `)`"
    )


@pytest.mark.parametrize(
    ("record", "marked"),
    [
        ('{"op": "+", "rule": "p(x) :- q(x). again(x) :- r(x)."}', "again"),
        (r'{"rule": "p(x) :-\n q(x).\tagain(x) :- r(x).", "op": "+"}', "again"),
        (r'{"op": "-", "rule": "p(x) :- q(\"\u00e9\ud83d\ude00\", x). again(1)."}', "again"),
        (r'{"op": "+", "r\u0075le": "p(x) :-\n q(x)\n. \"again\""}', r"\"again\""),
        ('{"op": "+", "rule": ".decl p(x: number)"}', "."),
        ('{"op": "+", "rule": ""}', '"'),
    ],
)
def test_places_inside_a_rule_are_those_of_the_line(record: str, marked: str) -> None:
    first, line, caret = fault("-", "jsonl", b"\n" + record.encode()).splitlines()
    column = record.rindex(marked) + 1
    assert first.startswith(f"<stdin>:2:{column}: error: ")
    assert line == f"  2 | {record}"
    assert caret.startswith(f"    | {' ' * (column - 1)}{'^' * len(marked)} ")


def test_a_rule_is_checked_in_its_place() -> None:
    """Also what is found later points into the record."""
    record = r'{"op": "+", "rule": "p(x) :- w(_, \"a\", x), zzz(x)."}'
    ((change, sources),) = read_changes(
        place_of("-", "jsonl"), lambda: RELATIONS, io.BytesIO(record.encode())
    )
    assert isinstance(change, RuleChange)
    assert change.at == Span("<stdin>", 1, record.index("p(x)") + 1)
    assert list(sources["<stdin>"]) == [record]


# Tables.


def test_a_table_with_commas(here: Path) -> None:
    (here / "w.csv").write_bytes(
        b'\xef\xbb\xbfop,n,of,weight\r\n+,1,"a, ""b""\r\nc",0.5\r\n-,2,,inf\r\n'
    )
    assert read("w.csv") == [
        FactChange("+", "w", (0.5, 'a, "b"\r\nc', 1)),
        FactChange("-", "w", (math.inf, "", 2)),
    ]


def test_a_table_with_tabs_has_no_quotes(here: Path) -> None:
    (here / "w.csv").write_text('weight\tof\tn\top\n1\t"a, b"\t0x2a\t+\n')
    assert read("w.csv") == [FactChange("+", "w", (1.0, '"a, b"', 42))]


def test_columns_by_position_where_names_differ(here: Path) -> None:
    (here / "edge.csv").write_text("to,op,from\n1,+,2\n")
    assert read("edge.csv") == [plus(1, 2)]


def test_updates_come_in_the_order_of_their_numbers(here: Path) -> None:
    (here / "edge.csv").write_text("op,commit,x,y\n+,10,1,1\n+,9,2,2\n-,10,3,3\n+,-1,4,4\n")
    (here / "e.tsv").write_text(
        "x\ty\tbatch\top\n4\t4\t-1\t+\n2\t2\t9\t+\n1\t1\t10\t+\n3\t3\t10\t-\n"
    )
    expected = [plus(4, 4), Commit(), plus(2, 2), Commit(), plus(1, 1)]
    expected += [FactChange("-", "edge", (3, 3)), Commit()]
    assert read("edge.csv") == read("edge=e.tsv") == expected


def test_a_column_of_the_relation_may_be_called_commit(here: Path) -> None:
    (here / "log.csv").write_text("op,commit\n+,7\n")
    assert read("log.csv") == [FactChange("+", "log", (7,))]
    (here / "log.csv").write_text("op,batch,commit\n+,1,7\n")
    assert read("log.csv") == [FactChange("+", "log", (7,)), Commit()]


def test_a_relation_without_columns(here: Path) -> None:
    (here / "on.csv").write_text("op\n+\n-\n")
    assert read("on.csv") == [FactChange("+", "on", ()), FactChange("-", "on", ())]
    parquet.write_table(pa.table({"op": ["+"]}), "on.parquet")
    assert read("on.parquet") == [FactChange("+", "on", ())]


def test_a_table_without_rows(here: Path) -> None:
    (here / "edge.csv").write_text("op,x,y\n")
    assert read("edge.csv") == []


QUOTES = 'a quote inside quotes is written `""`'
HEADER = "the first line names the columns, such as `op,x,y`"


@pytest.mark.parametrize(
    ("text", "line", "message", "advice"),
    [
        ("", 1, "the table is empty", HEADER),
        ("x,y\n+,1,2\n", 1, "missing column `op`", HEADER),
        ("op,x\n", 1, "1 column besides `op`, but edge(x: number, y: number) has 2", HEADER),
        ("op,x,y,z\n", 1, "3 columns besides `op`, but edge(x: number, y: number) has 2", HEADER),
        ("op,x,y\n+,1\n", 2, "2 fields, but the header has 3", ""),
        ("op,x,y\n+,1,2\n\n", 3, "an empty line, but the header has 3", ""),
        ("op,x,y\n*,1,2\n", 2, 'op "*" is neither + nor -', "write + or -"),
        (
            "op,x,y\n+,1,a\n",
            2,
            '"a" is not a whole number, but column y is number',
            "write a whole number such as 42",
        ),
        (
            "op,commit,x,y\n+,,1,2\n",
            2,
            "an empty field, but the update's number is number",
            "write a value; only symbols may be empty",
        ),
        ('op,x,y\n+,1,"2\n', 2, "the quotes do not match", QUOTES),
        ('op,x,y\n+,1,"2"3\n', 2, "the quotes do not match", QUOTES),
    ],
)  # fmt: skip
def test_tables_that_are_none(here: Path, text: str, line: int, message: str, advice: str) -> None:
    (here / "edge.csv").write_text(text)
    shown = text.split("\n")[line - 1]
    caret = f"    | ^ {advice}".rstrip()
    assert fault("edge.csv") == (
        f"edge.csv:{line}:1: error: {message}\n  {line} | {shown}\n{caret}"
    )


def test_parquet(here: Path) -> None:
    frame = pa.table(
        {
            "n": pa.array([1, 2], pa.uint8()),
            "weight": [0.5, 2.0],
            "batch": pa.array([2, 1], pa.int32()),
            "of": pa.array(["a", "b"]).dictionary_encode(),
            "op": pa.array(["+", "-"]).dictionary_encode(),
        }
    )
    parquet.write_table(frame, "w.parquet")
    expected = [FactChange("-", "w", (2.0, "b", 2)), Commit(), FactChange("+", "w", (0.5, "a", 1))]
    assert read("w.parquet") == [*expected, Commit()]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1], "y": [2]}, "missing column `op`\n    its columns are x, y"),
        (
            {"op": ["+"], "x": [1]},
            "1 column besides `op`, but edge(x: number, y: number) has 2\n"
            "    its columns are op, x",
        ),
        (
            {"op": ["+", "x"], "x": [1, 2], "y": [1, 2]},
            "row 2: op is 'x', neither + nor -\n    write \"+\" or \"-\"",
        ),
        (
            {"op": [None], "x": [1], "y": [1]},
            "row 1: op is None, neither + nor -\n    write \"+\" or \"-\"",
        ),
        ({"op": ["+"], "x": [None], "y": [1]}, "edge: column x has empty cells (nulls)"),
        (
            {"op": ["+"], "x": [[1]], "y": [1]},
            "edge: column x is a number; the frame has list<element: int64>",
        ),
        (
            {"op": ["+"], "x": [1], "y": [1], "commit": [0.5]},
            "row 1: the update's number is 0.5\n    write a whole number",
        ),
    ],
)  # fmt: skip
def test_parquet_that_is_none(here: Path, columns: dict[str, list[object]], message: str) -> None:
    parquet.write_table(pa.table(columns), "edge.parquet")
    found = fault("edge.parquet")
    row = ", " if message.startswith("row") else ": "
    assert found == f"error: file edge.parquet{row}{message}"


def test_parquet_cut_off(here: Path) -> None:
    parquet.write_table(pa.table({"op": ["+"], "x": [1], "y": [2]}), "edge.parquet")
    whole = (here / "edge.parquet").read_bytes()
    for size in (0, 3, len(whole) // 2, len(whole) - 1):
        (here / "edge.parquet").write_bytes(whole[:size])
        found = fault("edge.parquet").splitlines()
        assert found[0].startswith("error: file edge.parquet is not a complete Parquet file: ")
        assert found[1:] == ["    copy it again in full"]


# Deltas.


def written(name: str, deltas: Iterable[Iterable[FactChange]]) -> None:
    place = place_of(name)
    writer = delta_writer(place, RELATIONS.get(place.relation), None)
    for delta in deltas:
        writer.require(delta)
        writer.add(delta)
    assert not os.path.exists(name)
    with Staged() as staged:
        writer.save(staged)
        staged.commit()


NUMBERS = st.integers(-(2**63), 2**63 - 1)
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
ROWS = st.tuples(
    st.floats(allow_nan=False).map(lambda x: x + 0.0), WORDS, st.integers(0, 2**64 - 1)
)
DELTAS = st.lists(
    st.lists(st.builds(lambda op, row: FactChange(op, "w", row), st.sampled_from("+-"), ROWS))
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["a.changes", "a.jsonl", "a.jsonl.gz", "w.csv", "w.parquet"])
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(deltas=DELTAS)
def test_deltas_read_back_as_changes(
    name: str, deltas: list[list[FactChange]], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.unlink(missing_ok=True)
    written(str(path), deltas)
    table = name.startswith("w")
    expected: list[Change] = []
    for delta in deltas:
        expected += [*delta, Commit()] if delta or not table else []
    assert read(path) == expected


def test_a_table_takes_the_rows_of_its_relation(here: Path) -> None:
    written("edge.tsv", [[plus(1, 2), FactChange("+", "on", ())], [], [plus(3, 4)]])
    assert (here / "edge.tsv").read_text() == "op\tcommit\tx\ty\n+\t1\t1\t2\n+\t3\t3\t4\n"


def test_tabs_cannot_stand_in_a_table_without_quotes(here: Path) -> None:
    with pytest.raises(TidelogError) as caught:
        written("w.tsv", [[FactChange("+", "w", (1.0, "a\tb", 1))]])
    assert str(caught.value) == (
        'error: "a\\tb" in w has a tab or a line end: w.tsv cannot hold it\n'
        "    write w to a .csv, .parquet, .jsonl or .changes file"
    )
    assert os.listdir() == []


def test_printed_deltas_are_there_at_once() -> None:
    shown = io.BytesIO()
    buffered = io.BufferedWriter(shown)  # type: ignore[arg-type]
    writer = delta_writer(place_of("-"), None, buffered)
    writer.add([plus(1, 2)])
    assert shown.getvalue() == b"+edge(1, 2).\ncommit.\n"
    writer.add([])
    assert shown.getvalue() == b"+edge(1, 2).\ncommit.\ncommit.\n"


def test_a_table_cannot_be_printed() -> None:
    with pytest.raises(TidelogError, match="a table cannot be printed update by update"):
        delta_writer(place_of("edge=-", "csv"), RELATIONS["edge"], io.BytesIO())
