"""`Database`: questions, membership, frames in and out, and what bad data is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tidelog import Database
from tidelog.program.diagnostics import DataError, ProgramError, TidelogError

TEXT = """
.decl u(x: unsigned)
s("a"). s("1"). n(1). n(2). n(-5). f(1.5). f(0.0). flag().
e(1, 2). e(2, 3). e(3, 1). e(4, 4).
u(1). u(18446744073709551611).
path(x, y) :- e(x, y).
path(x, z) :- path(x, y), e(y, z).
"""


@pytest.fixture(scope="module")
def db() -> Database:
    return Database(TEXT)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("e(1, x)", [(2,)]),
        ("e(x, x)", [(4,)]),
        ("e(x, _), x > 2", [(3,), (4,)]),
        ("n(x), !e(x, _)", [(-5,)]),
        ("n(x), c = count : { e(x, y), n(y) }", [(-5, 0), (1, 1), (2, 0)]),
        ("n(x), c = count : { e(x, y), e(y, z), e(z, w) }", [(-5, 0), (1, 1), (2, 1)]),
        ("m = max y : { e(_, y) }, e(z, m)", [(4, 4)]),
        ("c = sum y : { e(x, y), n(x) }", [(5,)]),
        ("e(1, 2)", [()]),
        ("e(2, 1)", []),
        ("flag()", [()]),
        ("!flag()", []),
        ("n(_)", [()]),
        ("1 = 1", [()]),
        ("1 = 2", []),
        ("true", [()]),
        ("false", []),
        ("e(1, x) ; e(x, 1)", [(2,), (3,)]),
        ("x = range(1, 4)", [(1,), (2,), (3,)]),
        ('x = cat("a", "b"), n(y), y > 1', [("ab", 2)]),
        ("s(x), y = strlen(x)", [("1", 1), ("a", 1)]),
        ("n(x) // with a comment", [(-5,), (1,), (2,)]),
    ],
)
def test_questions(db: Database, question: str, answer: list[tuple[Any, ...]]) -> None:
    before = {name: db.size(name) for name in db}
    assert db.query(question) == answer
    assert db.query(question) == answer
    assert {name: db.size(name) for name in db} == before
    assert db.query("path(1, x)") == [(1,), (2,), (3,)]


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (
            "p(x)",
            "<query>:1:1: error: unknown relation p\n"
            "  1 | p(x)\n"
            "    | ^ declare it, or give it a fact or a rule",
        ),
        (
            "e(x",
            "<query>:1:1: error: the `(` of `e` is not closed before the end of the query\n"
            "  1 | e(x\n"
            "    | ^ close it with `)`",
        ),
        (
            "e(1.5,",
            "error: expected a term after `,`, got the end of the query\n"
            "    a query is the body of one rule, such as path(1, x), x > 2",
        ),
        (
            "e(x. n(7)",
            "<query>:1:1: error: the `(` of `e` is not closed before `.`\n"
            "  1 | e(x. n(7)\n"
            "    | ^ close it with `)`",
        ),
        (
            "n(x). q(y) :- n(y)",
            "error: unexpected text after the query\n"
            "    a query is the body of one rule, such as path(1, x), x > 2",
        ),
        (
            "n(x). n(7)",
            "error: unexpected text after the query\n"
            "    a query is the body of one rule, such as path(1, x), x > 2",
        ),
        (
            'n(x), x = "a"',
            '<query>:1:11: error: "a" is a symbol, but a number is needed here\n'
            '  1 | n(x), x = "a"\n'
            "    |           ^^^ both sides of = must have the same type\n"
            "    note: argument 1 of n is a number (<query>:1:3)",
        ),
    ],
)
def test_bad_questions(db: Database, question: str, message: str) -> None:
    with pytest.raises(ProgramError) as refused:
        db.query(question)
    assert str(refused.value) == message


@pytest.mark.parametrize("question", ["", "// nothing", "n(x).", "n(x), y < 3", "n(", "query(x)"])
def test_messages_stay_within_the_question(db: Database, question: str) -> None:
    """Lines and advice are about what was asked, not about the rule that is made of it."""
    with pytest.raises(ProgramError) as refused:
        db.query(question)
    message = str(refused.value)
    assert "<query>:2" not in message
    assert "query'" not in message
    assert "in the head" not in message
    assert "`:-`" not in message


def test_a_failed_question_names_the_question(db: Database) -> None:
    with pytest.raises(TidelogError) as failed:
        db.query("n(x), y = x / 0")
    assert "query'" not in str(failed.value)


def test_many_questions_leave_nothing(db: Database) -> None:
    """Hidden relations of one question are not those of the next, whatever their columns."""
    for _ in range(3):
        assert db.query("c = count : { e(x, y), e(y, z) }") == [(4,)]
        assert db.query("n(v), c = count : { e(x, y), x > v }") == [(-5, 4), (1, 3), (2, 2)]
        assert db.query("n(v), c = count : { e(x, y), e(y, v) }") == [(-5, 0), (1, 1), (2, 1)]
    size = len(db._engine._book.answers)
    for _ in range(5):
        db.query("s(x), y = strlen(x)")
    assert len(db._engine._book.answers) <= size + 1


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("n", ("a",)),
        ("n", (1.5,)),
        ("n", (None,)),
        ("n", (2**70,)),
        ("n", (1, 2)),
        ("n", ()),
        ("n", 1),
        ("s", (1,)),
        ("s", (None,)),
        ("u", (-5,)),
        ("u", (2**64 + 1,)),
        ("f", ("x",)),
        ("f", (float("nan"),)),
        ("f", (10**400,)),
    ],
)
def test_what_cannot_be_a_fact_is_not_in_the_relation(db: Database, name: str, row: Any) -> None:
    assert row not in db.relation(name)


def test_membership(db: Database) -> None:
    assert (1,) in db.relation("n")
    assert (3,) not in db.relation("n")
    assert ("a",) in db.relation("s")
    assert ("unseen",) not in db.relation("s")
    assert (18446744073709551611,) in db.relation("u")
    assert (1.5,) in db.relation("f")
    assert (0,) in db.relation("f")
    assert () in db.relation("flag")


def test_names(db: Database) -> None:
    assert "e" in db
    assert "none" not in db
    assert set(db) == {"s", "n", "f", "u", "flag", "e", "path"}
    with pytest.raises(TidelogError, match=r"^error: unknown relation nope\n    the program has "):
        db.relation("nope")
    with pytest.raises(TidelogError, match="unknown relation"):
        db.size("%1")


def test_html_is_escaped() -> None:
    db = Database('s("<b>&amp;</b>").')
    for shown in (db.relation("s")._repr_html_(), db.query("s(x)")._repr_html_()):
        assert "<b>" not in shown
        assert "&lt;b&gt;&amp;amp;&lt;/b&gt;" in shown


# Frames.

DECLS = """
.decl e(a: number, b: number)
.decl s(a: symbol)
.decl f(a: float)
.decl u(a: unsigned)
.decl z()
"""
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "e": [(-(2**63), 2**63 - 1), (1, 2)],
    "s": [("",), ("\U0001f600",), ("é",)],
    "f": [(-1.5,), (0.0,), (float("inf"),)],
    "u": [(0,), (2**64 - 1,)],
}


@pytest.mark.parametrize("how", ["to_pandas", "to_polars", "to_arrow"])
@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("empty", [False, True])
def test_frames_come_back(how: str, name: str, empty: bool) -> None:
    rows = [] if empty else ROWS[name]
    db = Database(DECLS, facts={name: rows})
    frame = getattr(db.relation(name), how)()
    again = Database(DECLS, facts={name: frame}).relation(name).rows()
    assert sorted(again) == sorted(rows)


def test_frames_of_a_nullary_relation() -> None:
    for rows in ([()], []):
        db = Database(DECLS, facts={"z": rows})
        assert len(db.relation("z").to_pandas()) == len(rows)
        assert db.relation("z").to_arrow().num_columns == 0
        assert db.relation("z").to_polars().width == 0


def test_empty_symbol_columns_are_text() -> None:
    db = Database(DECLS)
    assert db.relation("s").to_polars().schema == {"a": pl.String}


def load(name: str, data: Any, text: str = DECLS) -> list[tuple[Any, ...]]:
    return Database(text, facts={name: data}).relation(name).rows()


@pytest.mark.parametrize(
    ("name", "data", "rows"),
    [
        ("e", pd.DataFrame({"b": [1], "a": [2]}), [(2, 1)]),
        ("e", pd.DataFrame({"x": [1], "y": [2]}, index=[7]), [(1, 2)]),
        ("e", np.array([[1, 2], [3, 4]], dtype=np.uint8), [(1, 2), (3, 4)]),
        ("e", np.asfortranarray(np.array([[1, 2], [3, 4]])), [(1, 2), (3, 4)]),
        ("e", np.array([[1, 2]], dtype=object), [(1, 2)]),
        ("e", np.array([[1, 2]], dtype=">i8"), [(1, 2)]),
        ("e", {(1, 2), (3, 4)}, [(1, 2), (3, 4)]),
        ("e", [[1, 2], (3, 4), (np.int8(5), np.int64(6))], [(1, 2), (3, 4), (5, 6)]),
        ("e", ((n, n + 1) for n in range(2)), [(0, 1), (1, 2)]),
        ("e", np.empty((0, 2)), []),
        ("u", np.array([2, 1]), [(1,), (2,)]),
        ("s", np.array(["b", "a"]), [("a",), ("b",)]),
        ("s", np.array(["b", "a"], dtype=object), [("a",), ("b",)]),
        ("f", np.array([]), []),
        ("e", pd.DataFrame({"a": [], "b": []}), []),
        ("s", pl.DataFrame({"a": ["x", "y"]}), [("x",), ("y",)]),
        ("s", pl.DataFrame({"a": pl.Series(["x"], dtype=pl.Categorical)}), [("x",)]),
        ("s", pd.DataFrame({"a": pd.Categorical(["x", "y"])}), [("x",), ("y",)]),
        ("s", np.array([["a"], ["b"]]), [("a",), ("b",)]),
        ("s", pa.table({"a": pa.chunked_array([["x"], ["y", "x"]])}), [("x",), ("y",)]),
        ("s", pa.table({"a": pa.chunked_array([], type=pa.string())}), []),
        ("f", pa.table({"a": pa.array([1, 2])}), [(1.0,), (2.0,)]),
        ("f", [(3,), (-0.0,)], [(0.0,), (3.0,)]),
        ("z", [()], [()]),
    ],
)
def test_facts_of_many_forms(name: str, data: Any, rows: list[tuple[Any, ...]]) -> None:
    found = load(name, data)
    assert found == rows
    assert all(type(cell) in (int, float, str) for row in found for cell in row)


def test_an_array_of_one_dimension_of_an_undeclared_relation() -> None:
    assert load("q", np.array([2, 1]), "p(x) :- q(x).") == [(1,), (2,)]


def test_facts_from_a_generator_of_an_undeclared_relation() -> None:
    assert load("q", ((n, n + 1) for n in range(2)), "p(x) :- q(x, _).") == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("e", [(1, None)], "error: e, row 1: column b is a number, got None"),
        ("e", [(1, True)], "error: e, row 1: column b is a number, got True"),
        ("e", [(1, "a")], "error: e, row 1: column b is a number, got 'a'"),
        ("e", [(1, 2), (3,)], "error: e, row 2: takes rows of 2 values, got (3,)"),
        ("e", ["ab"], "error: e, row 1: takes rows of 2 values, got 'ab'"),
        ("e", [b"ab"], "error: e, row 1: takes rows of 2 values, got b'ab'"),
        (
            "e",
            [(1, 2**63)],
            "error: e, row 1: column b: 9223372036854775808 does not fit a 64-bit number",
        ),
        ("u", [(-1,)], "error: u, row 1: column a: -1 does not fit a 64-bit unsigned"),
        (
            "f",
            [(None,)],
            "error: f, row 1: column a is a float, got None",
        ),
        ("e", np.array([[1.5, 2]]), "error: e: column a is a number; the array holds float64"),
        (
            "e",
            np.array([1, 2]),
            "error: e: takes an array of 2 dimensions; this one has 1 dimension\n"
            "    reshape it: array.reshape(-1, 2)",
        ),
        (
            "u",
            [1, 2],
            "error: u, row 1: takes rows of 1 value, got 1\n    a row is a tuple, as in (1,)",
        ),
        (
            "s",
            ["ab"],
            "error: s, row 1: takes rows of 1 value, got 'ab'\n    a row is a tuple, as in ('ab',)",
        ),
        (
            "u",
            pd.Series([1, None]),
            "error: u: column a is an unsigned; the array holds float64, with missing values (NaN)",
        ),
        ("u", {"a": 1}, "error: u: takes rows or a frame, got {'a': 1}"),
        ("u", None, "error: u: takes rows or a frame, got None"),
        (
            "f",
            pd.DataFrame({"a": [1.5]}).groupby("a"),
            "error: f: expected rows, a frame or a series, got a DataFrameGroupBy",
        ),
        (
            "e",
            pd.DataFrame({"x": [1, np.nan], "y": [2, 3]}),
            "error: e: column a is a number; the array holds float64, with missing values (NaN)",
        ),
        ("e", pd.DataFrame({"x": [1]}), "error: e: takes 2 columns; the frame has 1"),
        ("s", pl.DataFrame({"a": ["x", None]}), "error: s: column a has empty cells (nulls)"),
        ("s", pa.table({"a": [["x"]]}), None),
        ("s", pl.DataFrame({"a": [1]}), "error: s: column a is a symbol; the frame has int64"),
        (
            "u",
            pd.DataFrame({"a": [-1]}),
            "error: u: column a has a value that does not fit a 64-bit unsigned",
        ),
        # Each of these must be a DataError, whatever it says.
        ("f", [(10**400,)], None),
        ("e", 5, None),
        ("e", pd.DataFrame([[1, 2]], columns=["a", "a"]), None),
        (
            "s",
            pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([0, 1]), ["x", None])}),
            None,
        ),
        ("s", [("\ud800",)], None),
    ],
)
def test_bad_facts(name: str, data: Any, message: str | None) -> None:
    with pytest.raises(DataError) as refused:
        load(name, data)
    if message is not None:
        assert str(refused.value) == message


@pytest.mark.parametrize(
    "data", [5, pd.DataFrame({"x": ["a", 1]}), [(None,)], [(1, "a"), ("b", 2)]]
)
def test_bad_facts_of_an_undeclared_relation(data: Any) -> None:
    with pytest.raises(TidelogError):
        Database("p(1).", facts={"q": data})


def test_a_number_that_is_no_symbol() -> None:
    """`as(x, symbol)` of a number that no symbol has: an error, not a crash."""
    with pytest.raises(TidelogError):
        Database("n(999999). p(as(x, symbol)) :- n(x).").relation("p").rows()


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2]),
        pd.Series([1, 2], name="another"),
        pd.Index([1, 2]),
        pl.Series([1, 2]),
        pa.array([1, 2]),
        pa.chunked_array([[1], [2]]),
    ],
    ids=lambda column: f"{type(column).__module__}.{type(column).__name__}",
)
def test_a_series_is_a_relation_of_one_column(column: object) -> None:
    declared = ".decl q(x: number)\n.decl e(x: number, y: number)\n"
    assert list(Database(declared, facts={"q": column})["q"]) == [(1,), (2,)]
    assert list(Database("r(x) :- q(x).", facts={"q": column})["r"]) == [(1,), (2,)]
    with pytest.raises(DataError, match=r"^error: e: takes 2 columns; the frame has 1$"):
        Database(declared, facts={"e": column})


@pytest.mark.parametrize("thing", [pd.Categorical([1]), pd.DataFrame({"x": [1]}).groupby("x")])
def test_other_objects_of_pandas_are_refused(thing: object) -> None:
    kind = type(thing).__name__
    message = f"^error: q: expected rows, a frame or a series, got a {kind}$"
    with pytest.raises(DataError, match=message):
        Database(".decl q(x: number)\n", facts={"q": thing})


def test_what_gives_its_batches_once() -> None:
    batch = pa.record_batch({"x": [1, 2]})
    for declared in ("", ".decl q(x: number)\n"):
        once = pa.RecordBatchReader.from_batches(batch.schema, [batch])
        assert list(Database(declared + "r(x) :- q(x).", facts={"q": once})["r"]) == [(1,), (2,)]


def test_arrays_that_are_no_plain_arrays() -> None:
    program = "r(x) :- q(x)."
    masked = np.ma.array([1, 2], mask=[False, True])
    with pytest.raises(DataError, match=r"^error: q: the array has masked cells"):
        Database(program, facts={"q": masked})
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.asmatrix([[1], [2]])
    for array in (matrix, np.ma.array([1, 2])):
        assert list(Database(program, facts={"q": array})["r"]) == [(1,), (2,)]
    with pytest.raises(DataError, match=r"^error: q: its facts do not show"):
        Database(program, facts={"q": np.array(5)})


def test_messages_about_given_facts_name_them() -> None:
    mixed = pd.DataFrame({"x": [1, "a"]})
    with pytest.raises(DataError, match=r"^error: q: the frame cannot be read: Could not .*; Conv"):
        Database("r(x) :- q(x).", facts={"q": mixed})
    with pytest.raises(ProgramError) as refused:
        Database("r(x) :- q(x).", facts={"q": [(1, 2)]})
    assert str(refused.value).endswith("note: its facts show these columns")


def test_deltas_report_relations_added_at_run_time() -> None:
    text = ".decl e(x: number)\n.decl hidden(x: number)\nhidden(x) :- e(x).\np(x) :- e(x).\n"
    db = Database(text + ".output p\n", facts={"e": [(1,)]})
    with db.transaction() as tx:
        tx.insert("e", [(2,)])
        tx.add_rule("q(x) :- p(x).")
    assert tx.delta.counts == {"p": (1, 0), "q": (2, 0)}
    with db.transaction() as tx:
        tx.delete("e", [(1,)])
    assert tx.delta.counts == {"p": (0, 1), "q": (0, 1)}
