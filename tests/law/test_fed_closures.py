"""Closures that other recursive rules feed: what goes may have held itself up through them."""

from __future__ import annotations

from random import Random

import pytest

from tidelog import Database
from tidelog.maintain import closure_seeds, materialise
from tidelog.program.changes import FactChange

DECLARED = """
.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl g(x: number)
.decl r(x: number, y: number)
.decl s(x: number, y: number)
.decl t(x: number, y: number)
.output r
.output s
.output t
"""
CLOSED = "{0}(x, z) :- {0}(x, y), {0}(y, z). {0}(x, y) :- {0}(y, x)."
PROGRAMS = {
    # Two terms are equal if what they are made of is.
    "congruence": CLOSED.format("r") + "r(x, y) :- e(x, y). r(x, y) :- r(u, v), f(u, x), f(v, y).",
    "renamed": CLOSED.format("r")
    + "r(x, y) :- e(x, y), g(x). r(x, z) :- f(x, y), r(y, z). s(y, x) :- s(x, z), r(z, y).",
    "each other": CLOSED.format("r")
    + CLOSED.format("s")
    + "r(x, y) :- e(x, y). s(x, y) :- r(x, y), f(x, y). r(x, y) :- s(x, z), f(z, y).",
    "around": CLOSED.format("r")
    + "r(x, y) :- e(x, y), !g(y). t(x, y) :- r(x, z), f(z, y). r(x, y) :- t(y, x), t(x, x).",
    "beside a transitive one": CLOSED.format("r")
    + "s(x, z) :- s(x, y), s(y, z). s(x, y) :- r(x, y), f(x, y). r(x, y) :- e(x, y)."
    + "r(x, y) :- s(x, y), s(y, x).",
}
ALGORITHMS = ("dredc-mod", "bfc-mod", "auto", "recompute", "bf")
ARITIES = {"e": 2, "f": 2, "g": 1, "r": 2, "s": 2, "t": 2}
OFTEN = ("e", "e", "e", "e", "f", "f", "g", "r", "s")
Fact = tuple[str, tuple[int, ...]]


@pytest.fixture(autouse=True)
def modules_for_all_closures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materialise, "LONG", 0)
    monkeypatch.setattr(closure_seeds, "FEW", 0)


def fact(random: Random, nodes: int) -> Fact:
    name = random.choice(OFTEN)
    return name, tuple(random.randrange(nodes) for _ in range(ARITIES[name]))


def state(db: Database) -> dict[str, set[tuple[object, ...]]]:
    return {name: set(db.relation(name)) for name in ARITIES}


def changes(random: Random, nodes: int, explicit: set[Fact]) -> list[FactChange]:
    """Facts that go, more often than not such as rules read, and that come; `explicit` changes."""
    going = random.sample(sorted(explicit), min(len(explicit), random.choice((0, 1, 1, 2, 5))))
    coming = [fact(random, nodes) for _ in range(random.choice((0, 0, 1, 2)))]
    made = [FactChange("-", *each) for each in going] + [FactChange("+", *each) for each in coming]
    explicit.difference_update(going)
    explicit.update(coming)
    return made


def evaluated(program: str, explicit: set[Fact]) -> dict[str, set[tuple[object, ...]]]:
    facts: dict[str, list[tuple[int, ...]]] = {}
    for name, row in explicit:
        facts.setdefault(name, []).append(row)
    return state(Database(DECLARED + program, facts=facts, modules=False))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("seed", range(24))
def test_maintaining_equals_recomputing(program: str, seed: int) -> None:
    random = Random(f"{program} {seed}")
    nodes = random.choice((4, 7, 12))
    text, explicit = PROGRAMS[program], {fact(random, nodes) for _ in range(nodes * 2)}
    db = Database(DECLARED + text)
    algorithms = random.choice((ALGORITHMS[:1], ALGORITHMS[1:2], ALGORITHMS))
    told = {name: set[tuple[object, ...]]() for name in ("r", "s", "t")}
    made = [FactChange("+", *each) for each in sorted(explicit)]
    for _ in range(18):
        algorithm = random.choice(algorithms)
        with db.transaction(algorithm=algorithm) as tx:
            for change in made:
                tx.change(change)
        for change in tx.delta:
            assert isinstance(change, FactChange)
            assert (change.row in told[change.relation]) == (change.op == "-")
            told[change.relation] ^= {change.row}
        now = state(db)
        assert now == evaluated(text, explicit), algorithm
        assert told == {name: now[name] for name in told}
        made = changes(random, nodes, explicit)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("policy", ["marking", "fully-dynamic"])
@pytest.mark.parametrize("seed", range(6))
def test_streams(seed: int, policy: str, program: str) -> None:
    random = Random(f"{policy} {program} {seed}")
    text, explicit = PROGRAMS[program], {fact(random, 8) for _ in range(16)}
    db = Database(DECLARED + text)
    first = [FactChange("+", *each) for each in sorted(explicit)]
    updates = [first, *(changes(random, 8, explicit) for _ in range(12))]
    for _ in db.stream(updates, policy):
        pass
    assert state(db) == evaluated(text, explicit)
