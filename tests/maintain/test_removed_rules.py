"""Auto recomputes where a removed rule or a large change deletes most of a stratum, and follows
the change where it deletes little."""

from __future__ import annotations

import math

import pytest

from tidelog import Database
from tidelog.maintain.costs import Costs
from tidelog.maintain.driver.auto import MOST
from tidelog.transaction.transaction import Transaction

NODES = 6_000
COPIES = """
.decl edge(x: number, y: number)
.decl few(x: number, y: number)
copy(x, y) :- edge(x, y).
copy(x, y) :- few(x, y).
back(y, x) :- copy(x, y).
meets(x, z) :- copy(x, y), back(z, y).
"""
REACHES = """
.decl edge(x: number, y: number)
.decl few(x: number, y: number)
.decl start(x: number)
reach(x, x) :- start(x).
reach(x, z) :- reach(x, y), edge(y, z), z != 7.
reach(x, z) :- reach(x, y), few(y, z), z != 7.
"""
FEW = [(x, x + 1) for x in range(NODES, NODES + 20)]
CHAIN = [(x, x + 1) for x in range(100)]


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what a search finds ends it, and not the time that it takes."""
    monkeypatch.setattr(Costs, "patience", lambda self, plans: math.inf)


def copies() -> Database:
    edges = [(x, x // 2) for x in range(NODES)]
    return Database(COPIES, facts={"edge": edges, "few": FEW})


def reaches() -> Database:
    starts = [(x,) for x in range(100)] + [(NODES,)]
    return Database(REACHES, facts={"edge": CHAIN, "few": FEW, "start": starts})


def ways(tx: Transaction) -> dict[str, tuple[str, str]]:
    works = (work for work in tx.report.works if work.algorithm != "input")
    return {work.relations[0]: (work.algorithm, work.why) for work in works}


def instances(tx: Transaction) -> int:
    return sum(work.instances for work in tx.report.works)


def removing(db: Database, rule: str, algorithm: str = "auto") -> Transaction:
    tx = db.transaction(algorithm=algorithm)
    with tx:
        tx.remove_rule(rule)
    return tx


def test_most_facts_lose_their_rule() -> None:
    rule = "copy(x, y) :- edge(x, y)."
    tx = removing(copies(), rule)
    assert set(ways(tx).values()) == {("recompute", MOST)}
    least = instances(removing(copies(), rule, "recompute"))
    assert instances(tx) <= least + 3 * 2 * 256 < NODES / 2


def test_few_facts_lose_their_rule() -> None:
    tx = removing(copies(), "copy(x, y) :- few(x, y).")
    assert {algorithm for algorithm, _ in ways(tx).values()} == {"check"}


def test_most_facts_lose_a_recursive_rule() -> None:
    rule = "reach(x, z) :- reach(x, y), edge(y, z), z != 7."
    tx = removing(reaches(), rule)
    assert ways(tx) == {"reach": ("recompute", MOST)}
    assert instances(tx) <= instances(removing(reaches(), rule, "recompute")) + 2 * 256


def test_few_facts_lose_a_recursive_rule() -> None:
    tx = removing(reaches(), "reach(x, z) :- reach(x, y), few(y, z), z != 7.")
    assert ways(tx)["reach"][0] == "aged"


@pytest.mark.parametrize("explicit", [[], [(3, 4)]])
def test_a_recursion_loses_all_that_it_rests_on(explicit: list[tuple[int, int]]) -> None:
    """All facts derive each other, but nothing else derives one; unless one is explicit."""
    text = "t(x, y) :- e(x, y).\nt(x, z) :- t(x, y), e(y, z)."
    ring = [(x, (x + 1) % 30) for x in range(30)]
    tx = removing(Database(text, facts={"e": ring, "t": explicit}), "t(x, y) :- e(x, y).")
    assert tx.delta.counts["t"][1] == (870 if explicit else 900)
    if not explicit:
        assert ways(tx) == {"t": ("recompute", MOST)}
        assert instances(tx) == 0


@pytest.mark.parametrize("facts", ["edge", "start"])
def test_a_search_that_deletes_most_is_given_up(facts: str) -> None:
    db = reaches()
    size = len(db.relation("reach"))
    tx = db.transaction()
    with tx:
        tx.delete(facts, list(db.relation(facts))[:60])
    (work,) = [work for work in tx.report.works if "reach" in work.relations]
    assert work.algorithm == "recompute"
    again = Database(
        REACHES, facts={name: list(db.relation(name)) for name in ("edge", "few", "start")}
    )
    assert set(db.relation("reach")) == set(again.relation("reach"))
    assert work.instances < size


JOINED = """
closed(x, y) :- edge(x, y).
closed(x, z) :- closed(x, y), closed(y, z).
joined(x, y) :- closed(x, y), closed(y, _), x > y - 5.
ends(x) :- closed(x, _), !joined(x, x).
"""


def test_strata_above_a_closure_that_loses_its_rule() -> None:
    """The join above has few facts itself, and reads a relation that has lost most of its own."""
    rule = "closed(x, z) :- closed(x, y), closed(y, z)."
    edges = {"edge": [(x, x + 1) for x in range(300)]}
    tx = removing(Database(JOINED, facts=edges), rule)
    assert {work.algorithm for work in tx.report.works if work.algorithm != "input"} == {
        "recompute"
    }
    least = instances(removing(Database(JOINED, facts=edges), rule, "recompute"))
    assert instances(tx) <= least + 3 * 256
