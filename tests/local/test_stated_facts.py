"""Facts that a program states by expressions are explicit: they can be deleted by their values."""

from __future__ import annotations

import pytest

from tests.algorithms import ALGORITHMS
from tidelog import Database, EvaluationError
from tidelog.program.syntax import Value

STATED: tuple[tuple[str, str, Value], ...] = (
    ("number", "2 ^ 3", 8),
    ("number", "4 + 4", 8),
    ("number", 'strlen("abc") + 5', 8),
    ("number", "-(5)", -5),
    ("unsigned", "1 - 2", 2**64 - 1),
    ("symbol", 'cat("a", "b")', "ab"),
    ("symbol", "to_string(5)", "5"),
    ("float", "2.0 / 4.0", 0.5),
    ("float", "0.0 / 0.0", float("nan")),
)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("kind", "text", "value"), STATED, ids=[text for _, text, _ in STATED])
def test_it_is_deleted_by_its_value(kind: str, text: str, value: Value, algorithm: str) -> None:
    program = f".decl l(x: {kind})\nl({text}).\nk(x) :- l(x).\n"
    db = Database(program, algorithm=algorithm)
    assert db.size("k") == 1
    with db.transaction(strict=True) as tx:
        tx.delete("l", [(value,)])
    assert tx.delta.counts == {"l": (0, 1), "k": (0, 1)}
    assert db.size("k") == 0


def test_deltas_and_facts_beside_it() -> None:
    db = Database("l(2 ^ 3). l(9). k(x) :- l(x).")
    (delta,) = db.apply("-l(8).")
    assert str(delta) == "-l(8).\n-k(8)."
    assert list(db["k"]) == [(9,)]


def test_records() -> None:
    db = Database(".type P = [a: number, b: P]\n.decl l(p: P)\nl([1 + 1, nil]).\n")
    with db.transaction(strict=True) as tx:
        tx.delete("l", [((2, None),)])
    assert tx.delta.counts == {"l": (0, 1)}


def test_a_rule_without_a_body_that_is_added_later_is_a_rule() -> None:
    db = Database("k(x) :- l(x). l(1).")
    with db.transaction() as tx:
        name = tx.add_rule("l(2 ^ 3).")
    assert list(db["k"]) == [(1,), (8,)]
    with db.transaction() as tx:
        tx.remove_rule(name)
    assert list(db["k"]) == [(1,)]


def test_questions_by_demand_find_it() -> None:
    db = Database(
        "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z). e(1, 1 + 1). e(2, 3).", lazy=True
    )
    assert db.query("p(1, x)", demand=True) == [(2,), (3,)]


def test_an_expression_without_a_value() -> None:
    with pytest.raises(EvaluationError, match=r"division by zero in the rule\n    l\(1 / 0\)."):
        Database("l(1 / 0).")
