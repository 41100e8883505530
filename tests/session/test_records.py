"""Records and branches in a database: as Python has them, in questions, changes and limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.law.adapters import typed
from tidelog import Branch, Database, DataError, EvaluationError, LimitError, Limits, ProgramError
from tidelog.formats.atomic_files import Staged
from tidelog.formats.byte_source import Bounds
from tidelog.formats.sqlite import read_sqlite, write_sqlite
from tidelog.oracle.evaluate import check
from tidelog.program.table import sorted_table
from tidelog.program.terms import MOST_DEEP

PROGRAM = """
.type Pair = [a: number, b: symbol]
.type Maybe = None {} | Some { p: Pair }
.decl given(p: Pair)
.decl maybe(m: Maybe)
.decl name(b: symbol)
maybe($Some(p)) :- given(p), p != nil.
maybe($None) :- given(nil).
name(b) :- maybe($Some([_, b])).
"""


def test_python_values_in_and_out() -> None:
    db = Database(PROGRAM, facts={"given": [((1, "a"),), (None,), ([2, "b"],)]})
    assert list(db["maybe"]) == [
        (Branch("None"),),
        (Branch("Some", ((1, "a"),)),),
        (Branch("Some", ((2, "b"),)),),
    ]
    assert (None,) in db["given"]
    assert ((1, "a"),) in db["given"]
    assert ((1, "zzz"),) not in db["given"]
    assert ((1, 2),) not in db["given"]
    assert (Branch("Some", ((9, "a"),)),) not in db["maybe"]
    assert db["given"].to_arrow().column("p").to_pylist() == ["nil", "[1, a]", "[2, b]"]
    again = Database(PROGRAM, facts={"given": db["given"].to_arrow()})
    assert list(again["maybe"]) == list(db["maybe"])
    assert db.query("maybe($Some([x, b])), x > 1") == [(2, "b")]
    assert db.query("given(p), p != nil, !maybe($Some(p))") == []
    with pytest.raises(DataError, match="given, row 1: column p is a Pair; Pair has 2 fields"):
        Database(PROGRAM, facts={"given": [((1,),)]})


def test_changes_of_facts_and_rules() -> None:
    db = Database(PROGRAM)
    one, rule, back = db.apply(
        '+given([1, "a"]). +given(nil). commit.'
        " +name(b) :- given([1, b]). commit."
        ' -given([1, "a"]). -name(b) :- given([1, b]). commit.'
    )
    assert one.counts == {"given": (2, 0), "maybe": (2, 0), "name": (1, 0)}
    assert rule.counts == {}
    assert back.counts == {"given": (0, 1), "maybe": (0, 1), "name": (0, 1)}
    told = [done.delta.counts for done in db.stream(['+given([2, "b"]).', "-given(nil)."])]
    assert told == [
        {"given": (1, 0), "maybe": (1, 0), "name": (1, 0)},
        {"given": (0, 1), "maybe": (0, 1)},
    ]
    with pytest.raises(ProgramError, match="`nil` is not a Maybe"):
        db.apply("+maybe(nil).")
    assert list(db["given"]) == [((2, "b"),)]


def test_rules_come_where_a_program_states_facts_of_them() -> None:
    """An aggregate has the program looked through again, with facts whose values are known."""
    stated = 'given([1, "a"]). given(nil). maybe($None). size(n) :- n = count : { given(_) }.'
    db = Database(PROGRAM + stated)
    with db.transaction() as tx:
        tx.add_rule("name(b) :- given([_, b]), maybe($None).")
        tx.add_rule("least(m) :- m = min a : { given([a, _]) }.")
    assert tx.delta.counts == {"least": (1, 0)}
    with pytest.raises(ProgramError, match="5 is a number, but a Pair is needed here"):
        Database(PROGRAM + "given(5).")


def test_subsumption_by_patterns() -> None:
    """`_` in a pattern is a part of the whole fact that is meant, like one outside."""
    by = "maybe($None) <= maybe($Some(_)) :- true. given([a, _]) <= given([b, _]) :- a < b."
    db = Database(PROGRAM + by, facts={"given": [(None,), ((1, "a"),), ((2, "b"),), ((2, "c"),)]})
    assert list(db["given"]) == [(None,), ((2, "b"),), ((2, "c"),)]
    assert list(db["name"]) == [("b",), ("c",)]
    assert (Branch("None"),) not in db["maybe"]


def test_values_that_grow_end_at_a_limit() -> None:
    text = """
    .type List = [x: number, rest: List]
    .decl list(l: List)
    .decl start(x: number)
    list([x, nil]) :- start(x).
    list([0, l]) :- list(l).
    """
    db = Database(text)
    with (
        pytest.raises(LimitError, match="facts"),
        db.transaction(limits=Limits(max_facts=10 * MOST_DEEP)) as tx,
    ):
        tx.insert("start", [(1,)])
    assert list(db["list"]) == []
    deep = text.replace("list([0, l]) :- list(l).", "").replace(
        "start(x).",
        "start(x).\n"
        + """
    .decl size(l: List, n: number)
    size([0, nil], 1).
    size([0, l], n + 1) :- size(l, n), n < 400.
    .decl most(n: number)
    most(n) :- n = max m : { size(_, m) }.
    """,
    )
    found = Database(deep)
    assert list(found["most"]) == [(400,)]
    with pytest.raises(EvaluationError, match=f"nested more than {MOST_DEEP} levels deep"):
        list(found["size"])


def test_databases_demand_and_inline(tmp_path: Path) -> None:
    """A table of SQLite has the text; questions by demand and inline relations say the same."""
    text = (
        PROGRAM
        + """
    .decl big(p: Pair) inline
    big([a, b]) :- given([a, b]), a > 1.
    .decl chain(p: Pair, q: Pair)
    chain(p, q) :- given(p), given(q), p = [a, _], q = [a + 1, _].
    chain(p, r) :- chain(p, q), chain(q, r).
    .decl one(p: Pair, n: number) choice-domain n
    one(p, 1) :- given(p).
    .decl most(p: Pair)
    most(p) :- given(p).
    most(p) <= most(q) :- p = [a, _], q = [b, _], a < b.
    .decl some(b: symbol)
    some(b) :- big([_, b]), !big([9, _]).
    """
    )
    rows = [((1, "a"),), (None,), ((2, "b"),), ((3, "c"),)]
    whole = Database(text, facts={"given": rows})
    lazy = Database(text, facts={"given": rows}, lazy=True)
    for question in ("chain([1, _], q)", "chain(p, [3, x])", "some(b)", "maybe($Some([2, b]))"):
        assert lazy.query(question, demand=True) == whole.query(question) != []
    assert whole.query("some(b)") == [("b",), ("c",)]
    assert list(whole["one"]) == [(None, 1)]
    assert list(whole["most"]) == [(None,), ((3, "c"),)]
    assert check(typed(text), {"given": rows}, {n: set(whole[n]) for n in ("one", "most")}) == []
    relation = whole.schema["maybe"]
    with Staged() as staged:
        path = str(tmp_path / "m.sqlite")
        write_sqlite(staged, path, relation, whole.table("maybe"), "maybe", relation.attributes)
        staged.commit()
    read = read_sqlite(path, relation, "maybe", Bounds())
    assert sorted_table(read).rows() == list(whole["maybe"])


def test_spark_refuses_before_anything_is_read() -> None:
    with pytest.raises(ProgramError, match="Pair has records or branches, which Spark does not"):
        Database(PROGRAM, facts={"given": [(None,)]}, engine="spark")
