"""Exceptions that a caller keeps hold frames, but no resource that the engine needs."""

from __future__ import annotations

import pytest

from tidelog import Database, EvaluationError, LimitError, Limits, TidelogError

KEPT = 40  # more than the sets that an engine has at once

PROGRAM = """
.decl e(x: number, y: number)
.decl bad(x: number)
p(x, y) :- e(x, y).
p(x, z) :- p(x, y), e(y, z).
q(1 / x) :- bad(x).
"""
EDGES = [(i, i + 1) for i in range(20)]


def check(db: Database) -> None:
    """The database still answers, changes, and has what its facts give."""
    with db.transaction() as tx:
        tx.insert("e", [(20, 21)])
    with db.transaction() as tx:
        tx.delete("e", [(20, 21)])
    assert len(db.query("p(0, x)")) == 20


@pytest.mark.parametrize("demand", [False, True])
def test_failed_queries(demand: bool) -> None:
    db = Database(PROGRAM, facts={"e": EDGES})
    kept = []
    for _ in range(KEPT):
        with pytest.raises(EvaluationError) as caught:
            db.query("p(0, x), y = 1 / (x - x)", demand=demand)
        kept.append(caught.value)
    assert len({str(error) for error in kept}) == 1
    assert all(error.__traceback__ is not None for error in kept)
    check(db)


@pytest.mark.parametrize("algorithm", ["auto", "recompute", "counting", "dred", "bf", "dbsp"])
def test_failed_transactions(algorithm: str) -> None:
    db = Database(PROGRAM, facts={"e": EDGES}, algorithm=algorithm)
    kept = []
    for _ in range(KEPT):
        tx = db.transaction()
        tx.delete("e", [(3, 4)])
        tx.insert("bad", [(0,)])
        with pytest.raises(EvaluationError) as caught:
            tx.commit()
        kept.append(caught.value)
        with pytest.raises(LimitError) as limited, db.transaction(limits=Limits(max_facts=1)) as tx:
            tx.insert("e", [(20, 21)])
        kept.append(limited.value)
    check(db)


def test_a_lazy_database_that_fails_to_derive() -> None:
    db = Database(PROGRAM, facts={"e": EDGES, "bad": [(0,)]}, lazy=True)
    kept = []
    for _ in range(KEPT):
        with pytest.raises(EvaluationError) as caught:
            db.query("p(0, x)")
        kept.append(caught.value)
    assert len(db.query("p(0, x)", demand=True)) == 20


def test_failed_streams_and_changes_of_rules() -> None:
    db = Database(PROGRAM, facts={"e": EDGES})
    kept: list[TidelogError] = []
    for _ in range(KEPT):
        with pytest.raises(TidelogError) as caught:
            db.apply("+bad(0).\n")
        kept.append(caught.value)
        with pytest.raises(TidelogError) as other, db.transaction() as tx:
            tx.add_rule("r(1 / (x - x)) :- p(x, _).")
        kept.append(other.value)
    check(db)


def test_views_and_answers_that_are_half_read() -> None:
    db = Database(PROGRAM, facts={"e": EDGES})
    kept = []
    for _ in range(KEPT):
        rows = iter(db.relation("p"))
        next(rows)
        kept.append(rows)
        answer = iter(db.query("p(0, x)"))
        next(answer)
        kept.append(answer)
    check(db)
