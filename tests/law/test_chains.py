"""Closures that rules feed by chains of facts: whoever changes the facts, and however."""

from __future__ import annotations

from random import Random

import pytest

from tidelog import Database
from tidelog.maintain import closure_seeds, materialise
from tidelog.program.changes import FactChange

FEEDS = (
    "together(c, d) :- takes(s, c), takes(s, d).",
    "colleagues(t, u) :- teaches(t, c), together(c, d), teaches(u, d).",
)
PROGRAM = f"""
.decl takes(s: number, c: number)
.decl teaches(t: number, c: number)
.decl together(c: number, d: number)
.decl colleagues(t: number, u: number)
{FEEDS[0]}
together(c, e) :- together(c, d), together(d, e).
together(c, d) :- together(d, c).
{FEEDS[1]}
colleagues(t, v) :- colleagues(t, u), colleagues(u, v).
colleagues(t, u) :- colleagues(u, t).
"""
WIDTHS = {"takes": (20, 15), "teaches": (8, 15), "together": (15, 15), "colleagues": (8, 8)}
OFTEN = ("takes", "takes", "takes", "teaches", "together", "colleagues")
Fact = tuple[str, tuple[int, int]]


@pytest.fixture(autouse=True)
def modules_for_all_closures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materialise, "LONG", 0)
    monkeypatch.setattr(closure_seeds, "FEW", 0)


def fact(random: Random) -> Fact:
    name = random.choice(OFTEN)
    left, right = WIDTHS[name]
    return name, (random.randrange(left), random.randrange(right))


def drawn(random: Random, count: int) -> dict[str, list[tuple[int, int]]]:
    facts: dict[str, list[tuple[int, int]]] = {"takes": [(0, 0), (0, 1)], "teaches": [(0, 0)]}
    for name, row in (fact(random) for _ in range(count)):
        facts.setdefault(name, []).append(row)
    return facts


def state(db: Database) -> dict[str, set[tuple[object, ...]]]:
    return {name: set(db.relation(name)) for name in WIDTHS}


def changes(random: Random, explicit: set[Fact]) -> list[FactChange]:
    """Facts that come and that go; `explicit` is changed."""
    gone = random.sample(sorted(explicit), random.choice((0, 1, 1, 4)))
    come = [fact(random) for _ in range(random.choice((0, 1, 3)))]
    explicit -= set(gone)
    explicit |= set(come)
    return [FactChange("-", *f) for f in gone] + [FactChange("+", *f) for f in come]


@pytest.mark.parametrize("policy", ["sequential", "marking", "fully-dynamic"])
@pytest.mark.parametrize("seed", range(12))
def test_streams(seed: int, policy: str) -> None:
    random = Random(f"{policy} {seed}")
    facts = drawn(random, 30)
    db = Database(PROGRAM, facts=facts)
    assert all(closed.connects for (closed,) in db._state.memory.closed.values())
    explicit = {(name, row) for name, rows in facts.items() for row in rows}
    updates = [changes(random, explicit) for _ in range(8)]
    for _ in db.stream(updates, policy):
        pass
    given: dict[str, list[tuple[int, int]]] = {}
    for name, row in explicit:
        given.setdefault(name, []).append(row)
    assert state(db) == state(Database(PROGRAM, facts=given, modules=False))


@pytest.mark.parametrize("seed", range(6))
def test_rules_come_and_go(seed: int) -> None:
    """The first thing to go is a rule, of which all that it derives is owed."""
    random = Random(seed)
    facts = drawn(random, 30)
    db, plain = Database(PROGRAM, facts=facts), Database(PROGRAM, facts=facts, modules=False)
    for rule in random.sample(FEEDS, len(FEEDS)):
        for change in ("remove_rule", "add_rule"):
            for one in (db, plain):
                with one.transaction() as tx:
                    getattr(tx, change)(rule)
            assert state(db) == state(plain)
