"""Records and branches in a database: as Python has them, in questions, changes and limits."""

from __future__ import annotations

import pytest

from tidelog import Branch, Database, DataError, EvaluationError, LimitError, Limits, ProgramError
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
    with pytest.raises(ProgramError, match="`nil` is no Maybe"):
        db.apply("+maybe(nil).")
    assert list(db["given"]) == [((2, "b"),)]


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


def test_spark_refuses_before_anything_is_read() -> None:
    with pytest.raises(ProgramError, match="Pair is of records or branches, which Spark does not"):
        Database(PROGRAM, facts={"given": [(None,)]}, engine="spark")
