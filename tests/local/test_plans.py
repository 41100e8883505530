"""Plans: whatever the order of the join, the answer is the same; and counts of instances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from itertools import islice, permutations
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.local.reference import Fact, declare, facts_of, hold, instances, put
from tests.local.rules import ARITIES, random_rule
from tests.local.test_seam import World, say
from tidelog import Database
from tidelog.local import planner
from tidelog.local.body import Part, Use, binds, mentions, needs, prepare
from tidelog.local.engine import LocalEngine
from tidelog.local.plan_steps import RulePlan
from tidelog.maintain.materialise import materialise
from tidelog.maintain.memory import Memory
from tidelog.plan.accept import accept
from tidelog.program.rules import Constraint, Group, Literal, Range, Stratum
from tidelog.text import parse


def valid(parts: tuple[Part, ...], order: tuple[int, ...], bound: set[str]) -> bool:
    """Can every part run where it stands?"""
    everywhere: dict[str, int] = {}
    for part in parts:
        for name in mentions(part):
            everywhere[name] = everywhere.get(name, 0) + 1
    bound = set(bound)
    for i in order:
        part = parts[i]
        if isinstance(part, Literal) and part.negated and not mentions(part) <= bound:
            return False
        if isinstance(part, Range) and not needs(part) <= bound:
            return False
        if isinstance(part, Constraint) and not needs(part) <= bound and not binds(part, bound):
            return False
        if isinstance(part, Group):
            shared = {t.name for t in part.terms if hasattr(t, "name") and (everywhere[t.name] > 1)}
            if not shared <= bound:
                return False
            bound.add(part.result.name)
        else:
            bound |= mentions(part)
    return True


@pytest.mark.parametrize("seed", range(25))
def test_every_join_order_gives_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(7000 + seed, size=30)
    rules = [random_rule(world.random)]
    _, x = world.view("I")
    build = planner._build
    every = list(instances(rules[0], x, x))
    n = frozenset(list(world.facts["I"])[::2])
    asked = frozenset(head for head, _ in every[::2]) | {("w", ())}
    tried = 0
    parts = prepare(rules[0]).parts
    orders = list(islice(permutations(range(len(parts))), 5040))
    orders = [order for order in orders if valid(parts, order, set())]
    for order in world.random.sample(orders, min(len(orders), 12)):
        forced: list[list[int]] = []

        def build_in_order(
            catalog: Any,
            prepared: Any,
            use: Use,
            given: list[int],
            order: tuple[int, ...] = order,
            forced: list[list[int]] = forced,
        ) -> Any:
            bound: set[str] = set()
            wanted = [*order]
            if use.mode == "delta":
                wanted = [use.delta, *(i for i in order if i != use.delta)]
            elif use.mode in ("prove", "support"):
                bound = {t.name for t in prepared.rule.head.terms if hasattr(t, "name")}
            if len(prepared.parts) == len(order) and valid(prepared.parts, tuple(wanted), bound):
                forced.append(wanted)
                given = wanted
            return build(catalog, prepared, use, given)

        monkeypatch.setattr(planner, "_build", build_in_order)
        engine = LocalEngine()
        declare(engine, ARITIES)
        I = hold(engine, x)
        assert facts_of(engine, engine.apply(rules, within=I)) == {h for h, _ in every}, say(rules)
        N = hold(engine, n)
        touched = {head for head, body in every if any(fact in n for fact in body)}
        assert facts_of(engine, engine.derive(rules, touching=N, within=I)) == touched, say(rules)
        F = hold(engine, asked)
        proved = {head for head, _ in every if head in asked}
        assert facts_of(engine, engine.provable(rules, F, within=I)) == proved, say(rules)
        support = {fact for head, body in every if head in asked for fact in body}
        assert facts_of(engine, engine.support(rules, F, within=I)) == support, say(rules)
        tried += len(forced)
    # A rule with an empty relation in its body needs no plan.
    assert tried or not every


def test_plan_text_is_stable() -> None:
    text = """
    .decl e(x: number, y: number)
    p(x, z) :- e(x, y), e(y, z), x < z.
    q(x) :- p(x, y), !e(y, x), n = count : { e(x, _) }, n > 1.
    """
    orders = set()
    for _ in range(3):
        db = Database(text, facts={"e": [(n, n + 1) for n in range(50)]})
        orders.add(tuple(db.join_order(rule) for rule in db._checked.rules))
        db.query("e(x, y), p(y, z)")
        orders.add(tuple(db.join_order(rule) for rule in db._checked.rules))
    assert len(orders) == 1


# Seminaive evaluation considers every instance once.


class Silent:
    def stratum(self, stratum: Stratum) -> None: ...

    def round(self) -> None: ...

    def room(self) -> int:
        return 1 << 60

    def passed(self, count: int) -> None: ...

    def pairs(self, count: int) -> None: ...


PROGRAMS = {
    "linear": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z).",
    "non-linear": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z).",
    "mutual": "p(x, y) :- e(x, y). q(x, z) :- p(x, y), e(y, z). p(x, z) :- q(x, y), p(y, z).",
    "three": "p(x, y) :- e(x, y). p(x, u) :- p(x, y), p(y, z), p(z, u).",
    "triangle": "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z), p(z, x).",
    "square": "p(x, y) :- e(x, y). p(y, x) :- p(x, y), p(y, x). p(x, x) :- p(x, y), p(x, y).",
    "constants": "p(x, y) :- e(x, y). p(x, 0) :- p(x, y), p(y, x). p(x, z) :- p(x, 0), p(0, z).",
    "unary": "p(x, y) :- e(x, y). q(x) :- p(x, x). q(y) :- q(x), p(x, y). p(x, y) :- q(x), q(y).",
    "same generation": "p(x, y) :- e(z, x), e(z, y). p(x, y) :- e(u, x), p(u, v), e(v, y).",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("seed", range(3))
def test_every_instance_once(name: str, seed: int) -> None:
    random = Random(seed)
    checked = accept(parse(".decl e(x: number, y: number)\n" + PROGRAMS[name])).checked
    edges = {("e", (random.randrange(9), random.randrange(9))) for _ in range(14)}
    engine = LocalEngine()
    for relation in checked.relations.values():
        engine.declare(relation)
    put(engine, edges, engine.all)
    materialise(
        engine, checked.strata, engine.all, Silent(), Memory(modules=False), engine.explicit
    )
    facts: frozenset[Fact] = frozenset(edges)
    while True:
        heads = {h for rule in checked.rules for h, _ in instances(rule, facts, facts)}
        if heads <= facts:
            break
        facts |= heads
    assert facts_of(engine, engine.all) == facts
    distinct = sum(len(list(instances(rule, facts, facts))) for rule in checked.rules)
    assert engine.instances == distinct


# Rules that are alike share a plan.

ALIKE = """
.decl a(x: number, y: number)
.decl b(x: number, y: number)
.decl c(x: number, y: number)
.decl u(x: number)
.decl v(x: number)
u(x) :- a(x, _).
v(x) :- b(x, _).
a(x, y) :- b(y, x).
b(x, y) :- c(y, x).
a(x, z) :- b(x, y), c(y, z).
c(x, z) :- a(x, y), b(y, z).
a(x, z) :- a(x, y), a(y, z).
b(x, z) :- b(x, y), b(y, z).
b(x, z) :- b(x, y), c(y, z).
u(x) :- a(x, y), v(y), b(y, 3).
v(x) :- b(x, y), u(y), c(y, 3).
u(x) :- a(x, y), v(y), b(y, 4).
"""


def test_rules_that_are_alike_share_a_plan() -> None:
    """What is taken from another rule's plan is what would have been made for this one."""
    database = Database(ALIKE, facts={"c": [(n, n + 1) for n in range(9)], "a": [(1, 2)]})
    book = database._engine._book
    shapes, shared = planner.Shapes(book._catalog), 0
    for rule in database._checked.rules:
        prepared = prepare(rule)
        for use in asked_of(len(prepared.parts)):
            before = len(shapes._templates)
            plans = [
                planner.make_plan(book._catalog, prepared, use, known) for known in (None, shapes)
            ]
            made, taken = map(spelled, plans)
            assert taken == made, (rule.text, use)
            shared += len(shapes._templates) == before
    assert shared > len(database._checked.rules)


def asked_of(parts: int) -> Iterator[Use]:
    for exact in (False, True):
        yield Use("apply", exact=exact)
        yield from (Use("delta", place, exact) for place in range(parts))
    for among in (None, frozenset({"a", "u"}), frozenset({"b", "c"})):
        yield Use("prove", among=among)
        yield Use("support", exact=True, among=among)


def spelled(plan: RulePlan) -> dict[str, Any]:
    return {
        field.name: value.tolist() if isinstance(value, np.ndarray) else value
        for field in fields(plan)
        for value in [getattr(plan, field.name)]
    }
