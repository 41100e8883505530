"""Rounds that the kernel runs by itself equal ordinary ones."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from tests.algorithms import ALGORITHMS
from tests.law.adapters import typed
from tidelog import Database
from tidelog.control.limits import Limits, Position
from tidelog.local import evaluators, executor
from tidelog.local.plan_cache import PlanBatch, PlanBook
from tidelog.local.plan_steps import RulePlan
from tidelog.oracle.evaluate import check
from tidelog.program.diagnostics import EvaluationError, LimitError

INDEPENDENT = """
b(1). c(1). c(2). c(3). d(2). d(3).
a(x) :- b(x), c(y), d(y).
b(x + 1) :- a(x), x < 3000.
"""
# MANY stands for a number of rounds.
PROGRAMS = {
    "independent body": INDEPENDENT.replace("3000", "MANY"),
    "counter": "n(0). n(x + 1) :- n(x), x < MANY.",
    "mutual recursion": """
        even(0).
        odd(x + 1) :- even(x), x < MANY.
        even(x + 1) :- odd(x), x < MANY.
        both(x, y) :- even(x), odd(y), y = x + 1.
        odd(y) :- both(x, y), x < 20.
    """,
    "negation below": """
        n0(x) :- x = range(0, MANY).
        stop(x) :- n0(x), x % 17 = 16.
        n(0). n(x + 1) :- n(x), n0(x), !stop(x).
        n(x + 5) :- n(x), stop(x), n0(x).
    """,
    "aggregates below": """
        e(x, x + 1) :- x = range(0, MANY).
        most(m) :- m = max x : { e(x, _) }.
        n(0). n(y) :- n(x), e(x, y), most(m), y < m.
        sums(x, s) :- n(x), s = sum z : { e(x, z) }.
    """,
    "joins of several columns": """
        e(x, x + 1, x % 3) :- x = range(0, MANY).
        p(x, y, k) :- e(x, y, k), x = 0.
        p(y, z, k) :- p(x, y, j), e(y, z, k), q(j).
        q(k) :- p(_, _, k).
        r(x, z) :- r(x, y), r(y, z), z < x + 4.
        r(x, y) :- p(x, y, _).
    """,
    "deltas in both atoms": """
        s(0, 1). s(x + 1, y + 1) :- s(x, y), x < MANY.
        t(x, z) :- s(x, y), s(y, z), z < x + 5.
        s(x, z) :- t(x, z), t(z, u), u < 20.
    """,
    "strings": """
        w("", 0). w(cat(s, "a"), n + 1) :- w(s, n), n < 30.
        m(n) :- w(_, n). m(n + 1) :- m(n), n < MANY.
    """,
    "records": """
        .type L = [head: number, tail: L]
        .decl l(x: L, n: number)
        l(nil, 0). l([n, x], n + 1) :- l(x, n), n < MANY, n < 250.
    """,
    "values that are no ids": "n(1, 0). n(x * 3, k + 1) :- n(x, k), k < MANY.",
    "facts that nobody reads": """
        n(0). n(x + 1) :- n(x), x < MANY.
        hit(x, y) :- n(x), y = x / 7.
        n(y) :- hit(x, y), x > 25.
        last(x) :- n(x), x > 29, x < 35.
    """,
}


@contextmanager
def ordinary() -> Iterator[None]:
    """No round runs inside the kernel."""
    small, evaluators.SMALL_ROUND = evaluators.SMALL_ROUND, 0
    try:
        yield
    finally:
        evaluators.SMALL_ROUND = small


def state(db: Database) -> dict[str, set[Any]]:
    return {name: set(db.relation(name)) for name in db.relations}


def runs(db: Database) -> int:
    return db._engine._runner.runs


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("ticks", [7, executor.TICKS])
def test_the_same_facts_in_as_many_rounds(
    name: str, ticks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "TICKS", ticks)
    text = PROGRAMS[name].replace("MANY", "700")
    db = Database(text)
    with ordinary():
        expected = Database(text)
    assert state(db) == state(expected)
    assert db.stats.rounds == expected.stats.rounds
    assert db.stats.instances == expected.stats.instances
    assert runs(db) < runs(expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_law(name: str) -> None:
    text = PROGRAMS[name].replace("MANY", "40")
    assert check(typed(text), {}, state(Database(text))) == []


def test_the_kernel_is_not_called_for_every_round() -> None:
    """3,000 rounds of one fact: calls are due to tables that grow and plans for other sizes."""
    db = Database(INDEPENDENT)
    assert db.size("a") == 3000
    assert db.stats.rounds == 6000
    assert runs(db) < 100


@pytest.mark.parametrize("back", ["", "r0(x) :- r500(x).", "r0(x + 1) :- r500(x), x < 9."])
def test_a_chain_of_rules_needs_few_plans(back: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """New facts come to one relation after the other: plans of the others are not looked at."""
    plans = 0
    choose = PlanBook.batch

    def counted(book: PlanBook, chosen: tuple[RulePlan, ...]) -> PlanBatch:
        nonlocal plans
        plans += len(chosen)
        return choose(book, chosen)

    monkeypatch.setattr(PlanBook, "batch", counted)
    chain = "".join(f"r{i + 1}(x) :- r{i}(x).\n" for i in range(500))
    db = Database(f"r0(x) :- e(x).\n{chain}{back}", facts={"e": [(1,), (2,)]})
    with db.transaction() as tx:
        tx.insert("e", [(3,)])
    assert db.size("r500") == (9 if "+" in back else 3)
    assert plans < 6_000


CHAIN = """
.decl first(x: number)
.decl more(x: number)
.decl next(x: number, y: number)
.decl closed(x: number)
n(x) :- first(x).
n(y) :- n(x), next(x, y), !closed(y).
m(x) :- n(x), more(_).
p(x, y) :- next(x, y), m(x).
p(x, z) :- p(x, y), next(y, z), z < x + 4.
q(x) :- p(x, _).
n(y + 1) :- q(y), y % 10 = 0.
"""
SIZE = 40
CHANGES = [
    "-next(9, 10). -next(21, 22).",
    "+next(9, 10).",
    "+closed(30). +next(21, 22).",
    "-closed(30). -more(1). +more(2).",
    "-first(0). +first(16).",
    "+first(0). +next(39, 0). -more(2).",
    "+more(3).",
]


def chain() -> dict[str, list[tuple[int, ...]]]:
    following = [(n, n + 1) for n in range(SIZE)]
    return {"first": [(0,)], "more": [(1,)], "next": following, "closed": []}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_updates_have_the_same_deltas(algorithm: str) -> None:
    db = Database(CHAIN, facts=chain(), algorithm=algorithm)
    with ordinary():
        other = Database(CHAIN, facts=chain(), algorithm=algorithm)
    for change in CHANGES:
        (delta,) = db.apply(change)
        with ordinary():
            (expected,) = other.apply(change)
        assert sorted(map(str, delta)) == sorted(map(str, expected)), change
        assert state(db) == state(other)
        explicit = {name: set(db.relation(name)) for name in ("first", "more", "next", "closed")}
        assert check(typed(CHAIN), explicit, state(db)) == [], change


@pytest.mark.parametrize("algorithm", ["auto", "dred", "bf", "aged", "counting", "dredc"])
@pytest.mark.parametrize("ticks", [50, executor.TICKS])
def test_what_fails_in_the_kernel_is_undone(
    algorithm: str, ticks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A division by zero after 300 rounds, of an update; then an update that succeeds."""
    monkeypatch.setattr(executor, "TICKS", ticks)
    text = "n(x) :- s(x). n(x - 1) :- n(x), x > -50, 100 / x < 1000."
    db = Database(text, facts={"s": [(-10,)]}, algorithm=algorithm)
    before = state(db)
    with pytest.raises(EvaluationError) as failed:
        db.apply("+s(300).")
    assert str(failed.value) == (
        "<program>:1:15: error: division by zero in the rule\n"
        "    n(x - 1) :- n(x), x > -50, 100 / x < 1000."
    )
    assert state(db) == before
    (delta,) = db.apply("+s(-3). -s(-10).")
    assert sorted(delta.added("n")) == [(n,) for n in range(-9, -2)]
    assert delta.removed("n") == []


ENDLESS = "s(0). n(x) :- s(x). m(x + 1) :- n(x). n(x + 1) :- m(x)."


@pytest.mark.parametrize("most", [1, 2, 3, 64, 65, 1000, 5001])
def test_a_limit_on_facts_stops_in_the_same_round(most: int) -> None:
    messages = []
    for block in (nullcontext(), ordinary()):
        with block, pytest.raises(LimitError) as stopped:
            Database(ENDLESS, limits=Limits(max_facts=most))
        messages.append(str(stopped.value))
    assert messages[0] == messages[1]
    assert "in the rule\n    n(x + 1) :- m(x).\n    a larger limit" in messages[0]


def test_a_limit_in_an_update_is_undone() -> None:
    text = "n(x) :- s(x). n(x + 1) :- n(x), x > 0."
    db = Database(text, facts={"s": [(0,)]})
    with (
        pytest.raises(LimitError, match="more than 2,000 facts, in round 1999 of n, in the rule"),
        db.transaction(limits=Limits(max_facts=2000)) as tx,
    ):
        tx.insert("s", [(1,)])
    assert state(db) == {"n": {(0,)}, "s": {(0,)}}


def test_ctrl_c_within_the_kernels_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "TICKS", 5000)
    text = "n(x) :- s(x). n(x + 1) :- n(x), x > 0."
    db = Database(text, facts={"s": [(0,)]})
    shown = []

    def press(position: Position) -> None:
        shown.append(position)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), db.transaction(progress=press) as tx:
        tx.insert("s", [(1,)])
    assert shown
    assert state(db) == {"n": {(0,)}, "s": {(0,)}}
    assert db.apply("+s(-7).")[0].added("n") == [(-7,)]
