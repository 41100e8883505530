"""Generated programs and random updates of them, held against naive evaluation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from tests.law.adapters import surface
from tests.law.generate import CONSTANTS, from_seed
from tests.maintain.reference import Fact
from tests.maintain.worlds import Stratify, World, naive
from tidelog.plan import analyse
from tidelog.plan.strata import strata
from tidelog.program.rules import CheckedProgram, Relation, Rule


def checked(text: str) -> CheckedProgram:
    found = analyse(surface(text), states=False).checked
    assert found is not None
    return found


class History:
    """A generated program, or those of its rules that a test wants, and random changes to it."""

    def __init__(
        self,
        seed: int,
        on: str,
        wanted: Callable[[Rule], bool] = lambda rule: True,
        stratify: Stratify = strata,
    ) -> None:
        self.random = Random(seed)
        self.program = from_seed(seed)
        core = checked(self.program.text)
        given = {name: set(rows) for name, rows in core.facts.items()}
        for name, rows in self.program.facts.items():
            given.setdefault(name, set()).update(rows)
        self.pool: set[Fact] = {(name, row) for name, rows in given.items() for row in rows}
        self.visible = [r for r in core.relations.values() if not r.hidden]
        self.every = tuple(filter(wanted, core.rules))
        rules = [rule for rule in self.every if self.random.random() < 0.8]
        self.world = World(core.relations.values(), rules, self.pool, on, stratify)

    def fact(self, relation: Relation) -> Fact:
        row = tuple(self.random.choice(CONSTANTS[kind]) for kind in relation.kinds)
        return relation.name, row

    def facts(self) -> list[Fact]:
        """Some that are there, some that were, some new, some that are derived."""
        random = self.random
        found = [self.fact(random.choice(self.visible)) for _ in range(random.choice((0, 1, 3)))]
        names = {relation.name for relation in self.visible}
        for source in (self.pool, self.world.E, self.world.state):
            known = sorted((f for f in source if f[0] in names), key=repr)
            found += random.sample(known, min(len(known), random.choice((0, 1, 2))))
        return found

    def rules(self) -> tuple[list[Rule], list[Rule]]:
        """Rules to remove and rules to add."""
        random, held = self.random, set(self.world.rules)
        others = [rule for rule in self.every if rule not in held]
        counts = random.choice(((0, 0), (0, 0), (1, 0), (0, 1), (1, 1), (2, 2)))
        gone = random.sample(self.world.rules, min(len(held), counts[0]))
        return gone, random.sample(others, min(len(others), counts[1]))

    def step(self, algorithm: str, phases: Sequence[str] = ("two", "old", "one")) -> None:
        """One update, and what must be true after it."""
        world, before = self.world, self.world.state
        gone, come = self.rules()
        if self.random.random() < 0.2:
            insert, delete = self.facts(), sorted(world.E, key=repr)
        else:
            insert, delete = self.facts(), self.facts()
        chosen = self.random.choice(phases)
        D, A = world.change(
            algorithm, insert=insert, delete=delete, gone=gone, come=come, phases=chosen
        )
        said = f"{algorithm}, {chosen}: +{insert} -{delete} rules -{gone} +{come}\n{self.program}"
        after = naive(world.relations, world.rules, world.E)
        assert world.state == after, said
        mine = world.relations.keys()
        assert {f for f in D if f[0] in mine} == before - after, said
        assert {f for f in A if f[0] in mine} == after - before, said
        assert world.miscounts() == [], said
