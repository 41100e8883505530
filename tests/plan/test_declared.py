"""A rule that a declaration means stays, whatever happens to a clause that says the same."""

from __future__ import annotations

import pytest

from tidelog import Database

SAME = [
    ("transitive", "s(x, z) :- s(x, y), s(y, z)."),
    ("eqrel", "s(x, z) :- s(x, y), s(y, z)."),
    ("eqrel", "s(y, x) :- s(x, y)."),
    ("eqrel", "s(x, x) :- s(x, _)."),
]


@pytest.mark.parametrize(("qualifier", "rule"), SAME)
@pytest.mark.parametrize("algorithm", ["auto", "dred", "dredc-mod", "recompute"])
def test_a_clause_goes_and_the_declaration_stays(qualifier: str, rule: str, algorithm: str) -> None:
    declared = f".decl s(a: number, b: number) {qualifier}\n"
    db = Database(declared + rule, facts={"s": [(1, 2), (2, 3)]}, algorithm=algorithm)
    with db.transaction() as tx:
        tx.remove_rule(rule)
    assert not tx.delta
    with db.transaction() as tx:
        tx.insert("s", [(3, 4)])
    fresh = Database(declared, facts={"s": [(1, 2), (2, 3), (3, 4)]})
    assert set(db.relation("s")) == set(fresh.relation("s"))
