"""Subsumption, choice and numbering in the engine: sizes, explicit facts, components, refusals."""

from __future__ import annotations

import pytest

import tidelog as tl
from tests.law.test_called import PROGRAMS
from tidelog.cli.plan import PlanDetails, lines
from tidelog.plan import analyse
from tidelog.text import parse
from tidelog.text.writer import to_text

BEST = """
.decl best(x: number)
best(x) <= best(y) :- x < y.
twice(2 * x) :- best(x).
"""


def test_dominated_facts_stay_explicit_and_come_back() -> None:
    """Of more facts than are compared at a time, and than have masks at hand."""
    many = 6000
    db = tl.Database(BEST, {"best": [(i,) for i in range(many)]})
    assert list(db["twice"]) == [(2 * many - 2,)]
    for algorithm in ("auto", "dred", "dbsp"):
        many -= 1
        with db.transaction(algorithm=algorithm) as tx:
            tx.delete("best", [(many,)])
        assert {*str(tx.delta).splitlines()} == {
            *(f"-best({many}).", f"+best({many - 1})."),
            *(f"-twice({2 * many}).", f"+twice({2 * many - 2})."),
        }
        (work,) = [work for work in tx.report.works if "best" in work.relations]
        assert (work.algorithm, work.why) == (
            "recompute",
            "subsumption and choice are not maintained",
        )
    with pytest.raises(tl.DataError, match="the fact already exists"):
        db.transaction(strict=True).insert("best", [(5,)])
    with db.transaction() as tx:
        tx.insert("best", [(3,), (-1,)])
    assert str(tx.delta) == ""
    with db.transaction() as tx:
        tx.delete("best", [(i,) for i in range(many)])
    assert list(db["best"]) == [(-1,)]


def test_the_plan_says_what_is_left_out() -> None:
    text = BEST + ".decl one(x: number, y: number) choice-domain x one(x, y) :- best(x), best(y)."
    checked = analyse(parse(text).program).checked
    assert checked is not None
    shown = [line.strip() for line in lines(checked, PlanDetails(None)) if "left out" in line]
    assert shown == [
        "left out: best(x) <= best(y) :- x < y.",
        "left out: facts of one with the same values in columns 1",
    ]


def test_an_update_that_fails_leaves_what_was_left_out() -> None:
    text = BEST + "bad(1 / (x - 9)) :- best(x)."
    db = tl.Database(text, {"best": [(3,), (5,)]})
    with pytest.raises(tl.EvaluationError, match="division by zero"), db.transaction() as tx:
        tx.insert("best", [(9,)])
    assert list(db["best"]) == [(5,)]
    with db.transaction() as tx:
        tx.delete("best", [(5,)])
    assert list(db["best"]) == [(3,)]


def test_a_relation_that_thins_and_rules_that_come_and_go() -> None:
    db = tl.Database(BEST, {"best": [(3,)], "other": [(7,)]})
    with db.transaction() as tx:
        name = tx.add_rule("best(x) :- other(x).")
    assert list(db["twice"]) == [(14,)]
    with pytest.raises(tl.ProgramError, match="this is not one rule"), db.transaction() as tx:
        tx.add_rule("other(x) <= other(y) :- x < y.")
    for algorithm in ("auto", "dbsp"):
        with db.transaction(algorithm=algorithm) as tx:
            tx.add_rule("more(x, x + 1) :- other(x).")
        with db.transaction(algorithm=algorithm) as tx:
            tx.remove_rule("more(x, x + 1) :- other(x).")
        assert not db["more"].rows()
    with db.transaction() as tx:
        tx.remove_rule(name)
    assert list(db["twice"]) == [(6,)]


def test_instances_of_components_thin_their_own_relations() -> None:
    db = tl.Database("""
        .comp Best<T> {
          .decl r(x: T, n: number)
          .decl one(n: number, x: T) choice-domain n
          r(x, a) <= r(x, b) :- a < b.
          one(n, x) :- r(x, n).
        }
        .init a = Best<number>
        .init b = Best<symbol>
        a.r(1, 2). a.r(1, 3). a.r(2, 3).
        b.r("x", 1). b.r("x", 4).
    """)
    assert list(db["a.r"]) == [(1, 3), (2, 3)]
    assert list(db["a.one"]) == [(3, 1)]
    assert list(db["b.one"]) == [(4, "x")]


def test_numbers_are_for_runs_from_scratch() -> None:
    text = 'w("b", 1). w("a", 1). id(autoinc(), x), no(autoinc(), n) :- w(x, n); w(_, n), w(x, n).'
    db = tl.Database(text)
    numbers = [n for name in ("id", "no") for n, _ in db[name]]
    assert sorted(numbers) == list(range(len(numbers)))
    assert {x for _, x in db["id"]} == {"a", "b"}
    with pytest.raises(tl.ProgramError, match=r"1:26: error: autoinc\(\) numbers facts once"):
        db.apply('+w("c", 1). commit.')
    db = tl.Database("p(1).")
    with pytest.raises(tl.ProgramError, match=r"autoinc\(\) numbers"), db.transaction() as tx:
        tx.add_rule("q(autoinc(), x) :- p(x).")
    assert "q" not in db


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_are_written_read_back(name: str) -> None:
    program = parse(PROGRAMS[name]).program
    again = parse(to_text(program)).program
    assert again == program
    assert again.relations == program.relations


def test_a_variable_may_have_any_name() -> None:
    """What stands for `_` in a subsumption has a name of its own."""
    program = """
    .decl r(a: number, b: number, c: number)
    r(1, 1, 5). r(2, 2, 9). r(1, 2, 7).
    r({name}, x, _) <= r(_, y, _) :- x < y.
    """
    for name in ("q", "__0", "__1", "_"):
        assert sorted(tl.Database(program.format(name=name))["r"]) == [(1, 2, 7), (2, 2, 9)], name
