"""The law over programs that call functions, leave facts out by subsumption, or choose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from tests.algorithms import ALGORITHMS
from tidelog import Database, functor
from tidelog.oracle import evaluate

Row = tuple[Any, ...]
FUNCTORS = {
    "step": lambda x: (x * 7 + 3) % 11,
    "name": lambda x, y: f"{x % 3}{y}"[:4],
    "wide": functor(vectorised=True)(lambda x, y: (x + y) % 9),
}
DECLARED = """
.functor step(x: number): number
.functor name(x: number, y: symbol): symbol
.functor wide(number, number): number
.decl e(x: number, y: number)
"""
CALLING = (
    DECLARED
    + """
.decl reached(x: number)
reached(@step(x)) :- e(x, _).
reached(@wide(x, y)) :- reached(x), e(x, y), @step(x) != y.
named(@name(x, ""), x) :- reached(x).
named(@name(x, s), x) :- named(s, x), e(x, _).
lone(x) :- e(x, _), !reached(@step(x)).
total(s) :- s = sum @wide(x, y) : { e(x, y), reached(y) }.
"""
)
SHORTEST = (
    DECLARED
    + """
.decl path(x: number, y: number, d: number)
path(x, y, 1) :- e(x, y).
path(x, z, d + 1) :- path(x, y, d), e(y, z).
path(x, y, d) <= path(x, y, c) :- c < d.
far(x, y) :- path(x, y, d), d > 2.
none(x, y) :- e(x, _), e(_, y), !path(x, y, _).
"""
)
# Ways of one length dominate each other; what is given can be dominated, too.
WAYS = (
    DECLARED
    + """
.decl way(x: number, d: number, by: number)
.decl closed(x: number)
way(x, 1, y) :- e(y, x).
way(z, d + 1, y) :- way(y, d, _), e(y, z).
way(x, d, _) <= way(x, c, _) :- c <= d, !closed(x).
way(x, d, a) <= way(x, d, b) :- closed(x), b < a.
way(x, d, _) <= way(x, c, _) :- closed(x), c < d.
"""
)
CHOSEN = (
    DECLARED
    + """
.decl parent(x: number, y: number) choice-domain x
.decl pair(x: number, y: number) choice-domain x, y
parent(x, 0) :- e(0, x).
parent(z, y) :- parent(y, _), e(y, z).
pair(x, y) :- e(x, y), x != y.
depth(x, count : { parent(_, x) }) :- e(x, _).
"""
)
PROGRAMS = {"calling": CALLING, "shortest": SHORTEST, "ways": WAYS, "chosen": CHOSEN}
MORE = {
    "calling": ["lone(@wide(x, x)) :- e(x, x).", "reached(@wide(x, 1)) :- named(_, x)."],
    "shortest": ["path(y, x, 2) :- e(x, y).", "far(x, x) :- path(x, x, _)."],
    "ways": ["way(x, 3, x) :- e(x, x).", "closed(x) :- e(x, x)."],
    "chosen": ["parent(y, x) :- e(x, y), x > 3.", "depth(x, 9) :- pair(x, _)."],
}
GIVEN = {
    "calling": ["e", "reached"],
    "shortest": ["e", "path"],
    "ways": ["e", "way", "closed"],
    "chosen": ["e", "parent", "pair"],
}


@dataclass
class History:
    """A database, and what was put into it."""

    name: str
    random: Random
    facts: dict[str, set[Row]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.facts = {name: set() for name in GIVEN[self.name]}
        self.facts["e"] = {self.row(2) for _ in range(7)}
        self.db = Database(
            PROGRAMS[self.name],
            {n: sorted(r) for n, r in self.facts.items() if r},
            functors=FUNCTORS,
        )

    def row(self, arity: int) -> Row:
        return tuple(self.random.randrange(6) for _ in range(arity))

    def changes(self) -> Iterable[str]:
        """Some facts come and some go, in the notation of changes."""
        for name, rows in self.facts.items():
            arity = len(self.db.schema[name].kinds)
            usual = 3 if name == "e" else 1
            for row in self.random.sample(
                sorted(rows), min(len(rows), self.random.randrange(usual + 1))
            ):
                rows.remove(row)
                yield f"-{name}({', '.join(map(str, row))})."
            for _ in range(self.random.randrange(usual + 1)):
                row = self.row(arity)
                rows.add(row)
                yield f"+{name}({', '.join(map(str, row))})."

    def check(self) -> None:
        typed = self.db._state.book.typed()
        functions = self.db._state.functors.functions
        found = {name: self.db[name].rows() for name in self.db}
        assert evaluate.check(typed, self.facts, found, functors=functions) == []


# Strata that leave facts out are derived from scratch by all: a few are enough for what is around.
SOME = ("auto", "dred", "counting", "dbsp")
EACH = [(name, each) for name in PROGRAMS for each in (ALGORITHMS if name == "calling" else SOME)]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("name", "algorithm"), EACH)
def test_maintaining_equals_recomputing(name: str, algorithm: str) -> None:
    history = History(name, Random(f"{name} {algorithm}"))
    history.check()
    for step in range(8):
        with history.db.transaction(algorithm=algorithm, dry_run=step == 2) as tx:
            before = {n: set(rows) for n, rows in history.facts.items()}
            for change in history.changes():
                sign, relation = change[0], change[1 : change.index("(")]
                row = tuple(map(int, change[change.index("(") + 1 : -2].split(",")))
                (tx.insert if sign == "+" else tx.delete)(relation, [row])
            if step in (3, 5):
                tx.add_rule(MORE[name][step == 5])
            elif step == 6:
                tx.remove_rule(MORE[name][0])
        if step == 2:
            history.facts = before
        history.check()
        pruned = [w for w in tx.report.works if w.why.startswith("subsumption and choice")]
        assert all(work.algorithm == "recompute" for work in pruned)
        assert bool(pruned) <= (name != "calling")


@pytest.mark.parametrize("policy", ["sequential", "marking", "fully-dynamic"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_streams_come_to_the_same(name: str, policy: str) -> None:
    history = History(name, Random(f"{name} {policy}"))
    updates = [" ".join(history.changes()) for _ in range(6)]
    for _ in history.db.stream([u for u in updates if u], policy):
        pass
    history.check()


def test_a_choice_keeps_one_fact_for_each_key_and_as_many_as_can_be() -> None:
    history = History("chosen", Random(1))
    for _ in range(5):
        history.db.apply(" ".join(history.changes()) + " commit.")
        edges = {(x, y) for x, y in history.facts["e"] if x != y} | history.facts["pair"]
        pairs = set(history.db["pair"])
        left, right = {x for x, _ in pairs}, {y for _, y in pairs}
        assert pairs <= edges
        assert len(left) == len(right) == len(pairs)
        assert all(x in left or y in right for x, y in edges)
