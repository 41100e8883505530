"""The four evaluators and the algebra of sets against brute force, over random rules and facts."""

from __future__ import annotations

import gc
from collections.abc import Callable
from random import Random

import pytest

from tests.local.reference import (
    Fact,
    Facts,
    call,
    constant,
    declare,
    facts_of,
    hold,
    instances,
    number,
    put,
)
from tests.local.rules import ARITIES, random_facts, random_rule
from tidelog.engine import View
from tidelog.local.engine import LocalEngine
from tidelog.local.sets import LocalSet
from tidelog.program.rules import Constraint, Literal, Range, Rule

EXACT = {f"h{n}": n for n in range(9)}


def new_engine() -> LocalEngine:
    engine = LocalEngine()
    declare(engine, ARITIES | EXACT)
    return engine


class World:
    """An engine with the sets I, D, A and C, and the same sets as Python holds them."""

    def __init__(self, seed: int, size: int = 60) -> None:
        self.random = Random(seed)
        self.engine = new_engine()
        # In an update the engine notes which rows are odd.
        if self.random.random() < 0.5:
            self.engine.begin()
        # Some worlds hold the materialisation as a whole set, as databases do.
        self.whole = self.random.random() < 0.5
        self.sets: dict[str, LocalSet] = {}
        self.facts: dict[str, Facts] = {}
        for name in "IDAC":
            facts = random_facts(self.random, self.random.choice((0, size // 4, size)))
            if name == "I" and self.whole:
                put(self.engine, facts, self.engine.all)
                self.sets[name] = self.engine.all
            else:
                self.sets[name] = hold(self.engine, facts)
            self.facts[name] = facts

    def view(self, kind: str) -> tuple[View, Facts]:
        (I, D, A), (i, d, a) = (
            (self.sets["I"], self.sets["D"], self.sets["A"]),
            (self.facts["I"], self.facts["D"], self.facts["A"]),
        )
        made: dict[str, Callable[[], tuple[View, Facts]]] = {
            "I": lambda: (I, i),
            "I - D": lambda: (I - D, i - d),
            "(I - D) | A": lambda: ((I - D) | A, (i - d) | a),
            "I | A": lambda: (I | A, i | a),
            "I & A": lambda: (I & A, i & a),
        }
        return made[kind]()

    def guard(self) -> tuple[View | None, Callable[[Fact], bool]]:
        i, c = self.facts["I"], self.facts["C"]
        which = self.random.randrange(4)
        if which == 0:
            return None, lambda fact: True
        if which == 1:
            return ~self.sets["I"], lambda fact: fact not in i
        if which == 2:
            return self.sets["C"], lambda fact: fact in c
        return self.sets["C"] - self.sets["I"], lambda fact: fact in c and fact not in i


VIEWS = ("I", "I - D", "(I - D) | A", "I | A", "I & A")


def say(rules: list[Rule]) -> str:
    return "\n".join(rule.text for rule in rules)


def check_apply(world: World, rules: list[Rule], count: bool = False) -> None:
    engine, random = world.engine, world.random
    (X, x), (Y, y) = world.view(random.choice(VIEWS)), world.view(random.choice(VIEWS))
    G, allowed = world.guard()
    before = engine.instances
    found = engine.apply(rules, within=X, guard=G, negative=Y)
    every = [head for rule in rules for head, _ in instances(rule, x, y)]
    expected = {head for head in every if allowed(head)}
    assert facts_of(engine, found) == expected, say(rules)
    assert len(found) == len(expected)
    if count:
        assert engine.instances - before == len(every), say(rules)


def check_derive(world: World, rules: list[Rule], n: Facts, N: LocalSet, count: bool) -> None:
    engine, random = world.engine, world.random
    X, x = world.view(random.choice(VIEWS))
    G, allowed = world.guard()
    before = engine.instances
    found = engine.derive(rules, touching=N, within=X, guard=G)
    every = [
        head for rule in rules for head, body in instances(rule, x, x) if any(f in n for f in body)
    ]
    expected = {head for head in every if allowed(head)}
    assert facts_of(engine, found) == expected, say(rules)
    if count:
        assert engine.instances - before == len(every), say(rules)


@pytest.mark.parametrize("seed", range(60))
def test_apply(seed: int) -> None:
    world = World(seed)
    for _ in range(4):
        rules = [random_rule(world.random) for _ in range(world.random.choice((1, 3)))]
        check_apply(world, rules)


@pytest.mark.parametrize("seed", range(40))
def test_apply_considers_every_instance_once(seed: int) -> None:
    world = World(1000 + seed)
    for _ in range(4):
        check_apply(world, [random_rule(world.random, exact=True, literals=2)], count=True)


# Crashes: the kernel reads the list of N's rows after it was freed.
@pytest.mark.parametrize("seed", range(80))
def test_derive_touching_a_list(seed: int) -> None:
    world = World(2000 + seed)
    for exact in (False, True, True):
        n = random_facts(world.random, world.random.choice((1, 10, 40)))
        if world.random.random() < 0.5:
            n &= world.facts["I"]
        rules = [random_rule(world.random, exact=exact) for _ in range(2)]
        check_derive(world, rules, n, hold(world.engine, n), exact)


@pytest.mark.parametrize("seed", range(60))
def test_derive_touching_what_is_new_in_the_set(seed: int) -> None:
    """The newest rows, in the set: the case that indexes have a mark for."""
    world = World(3000 + seed)
    rules = [random_rule(world.random, exact=True) for _ in range(2)]
    for _ in range(3):
        fresh = random_facts(world.random, world.random.choice((1, 15))) - world.facts["I"]
        N = hold(world.engine, fresh)
        world.sets["I"] |= N
        world.facts["I"] |= fresh
        check_derive(world, rules, fresh, N, True)
        if world.random.random() < 0.3:
            world.sets["I"] -= world.sets["D"]
            world.facts["I"] -= world.facts["D"]


@pytest.mark.parametrize("seed", range(30))
def test_derive_touching_everything(seed: int) -> None:
    world = World(4000 + seed)
    rules = [random_rule(world.random, exact=True, literals=2)]
    check_derive(world, rules, world.facts["I"], world.sets["I"], True)


@pytest.mark.parametrize("seed", range(80))
def test_provable_and_support(seed: int) -> None:
    world = World(5000 + seed)
    engine, random = world.engine, world.random
    for _ in range(3):
        rules = [random_rule(random) for _ in range(random.choice((1, 3)))]
        (X, x), (Y, y) = world.view(random.choice(VIEWS)), world.view(random.choice(VIEWS))
        every = [found for rule in rules for found in instances(rule, x, y)]
        heads = sorted({head for head, _ in every})
        asked = random_facts(random, 20) | set(random.sample(heads, min(len(heads), 8)))
        F = hold(engine, asked)
        proved = engine.provable(rules, F, within=X, negative=Y)
        assert facts_of(engine, proved) == {h for h, _ in every if h in asked}, say(rules)
        support = engine.support(rules, F, within=X, negative=Y)
        expected = {fact for head, body in every if head in asked for fact in body}
        assert facts_of(engine, support) == expected, say(rules)


def test_what_an_evaluation_adds_is_invisible_to_it() -> None:
    """New heads of any width are read neither by literals nor by negation of the same run."""
    engine = new_engine()
    x, y, u = number("x"), number("y"), number("u")
    rules = [
        Rule(Literal("r", (y, x, x)), (Literal("r", (x, y, u)),)),
        Rule(Literal("p", (y, x)), (Literal("p", (x, y)), Literal("p", (y, y), negated=True))),
        Rule(Literal("q", (x,)), (Literal("r", (x, y, u)), Literal("r", (y, x, x), negated=True))),
        Rule(Literal("w", ()), (Literal("p", (x, y)), Literal("w", (), negated=True))),
        Rule(Literal("p", (y, y)), (Literal("p", (x, y)),)),
    ]
    put(engine, {("r", (0, 1, 2)), ("p", (0, 1))}, engine.all)
    D = engine.none()
    expected = {("r", (1, 0, 0)), ("p", (1, 0)), ("q", (0,)), ("w", ()), ("p", (1, 1))}
    for X in (engine.all, engine.all - D):
        for order in (rules, rules[::-1]):
            for G in (None, ~engine.all):
                assert facts_of(engine, engine.apply(order, within=X, guard=G)) == expected


def test_support_of_a_head_without_body_facts_is_nothing() -> None:
    """A body without facts has none to name."""
    engine = new_engine()
    rule = Rule(Literal("q", (number("x"),)), (Range(number("x"), constant(0), constant(3), None),))
    F = hold(engine, {("q", (1,)), ("q", (7,))})
    assert facts_of(engine, engine.provable([rule], F, within=engine.all)) == {("q", (1,))}
    assert facts_of(engine, engine.support([rule], F, within=engine.all)) == set()


def test_head_variables_bound_by_arithmetic() -> None:
    engine = new_engine()
    x, y = number("x"), number("y")
    rule = Rule(
        Literal("p", (y, x)), (Literal("a", (x,)), Constraint("=", y, call("+", x, constant(1))))
    )
    I = hold(engine, {("a", (n,)) for n in range(5)})
    F = hold(engine, {("p", (3, 2)), ("p", (3, 3)), ("p", (9, 8))})
    assert facts_of(engine, engine.provable([rule], F, within=I)) == {("p", (3, 2))}
    assert facts_of(engine, engine.support([rule], F, within=I)) == {("a", (2,))}


def test_rules_over_relations_that_nobody_declared() -> None:
    engine = LocalEngine()
    declare(engine, {"a": 1})
    I = hold(engine, {("a", (1,))})
    x = number("x")
    rule = Rule(Literal("new", (x,)), (Literal("a", (x,)), Literal("absent", (x,), negated=True)))
    assert len(engine.provable([rule], I, within=I)) == 0
    assert len(engine.support([rule], I, within=I)) == 0
    assert len(engine.derive([rule], touching=I, within=I)) == 1


# The algebra of sets.


@pytest.mark.parametrize("seed", range(30))
def test_set_algebra(seed: int) -> None:
    random = Random(seed)
    engine = new_engine()
    names = "ABCDE"
    sets: dict[str, LocalSet] = {name: engine.none() for name in names}
    sets["E"] = engine.all
    facts: dict[str, set[Fact]] = {name: set() for name in names}
    for _ in range(60):
        one, two, three = (random.choice(names) for _ in range(3))
        S, s = sets[one], facts[one]
        view, content = random.choice(
            [
                (sets[two], facts[two]),
                (sets[two] - sets[three], facts[two] - facts[three]),
                (sets[two] | sets[three], facts[two] | facts[three]),
                (sets[two] & sets[three], facts[two] & facts[three]),
                (
                    (sets[two] | sets[three]) - sets["A"],
                    (facts[two] | facts[three]) - facts["A"],
                ),
            ]
        )
        assert facts_of(engine, view) == content
        step = random.randrange(4)
        if step == 0:
            S |= view
            facts[one] = s | content
        elif step == 1:
            S -= view
            facts[one] = s - content
        elif step == 2:
            new = random_facts(random, 5)
            put(engine, new, S)
            facts[one] = s | new
        elif random.random() < 0.3:
            S.clear()
            facts[one] = set()
        for name in names:
            assert len(sets[name]) == len(facts[name])
            assert bool(sets[name]) == bool(facts[name])
            assert facts_of(engine, sets[name]) == facts[name]


def test_more_than_sixteen_sets_over_time() -> None:
    engine = new_engine()
    I = hold(engine, {("a", (n,)) for n in range(10)})
    rule = Rule(Literal("q", (number("x"),)), (Literal("a", (number("x"),)),))
    for n in range(200):
        found = engine.apply([rule], within=I, guard=~I)
        kept = hold(engine, {("b", (n, 0))})
        assert len(found) == 10
        assert facts_of(engine, kept | found) == facts_of(engine, kept) | facts_of(engine, found)
    del found, kept
    gc.collect()
    sets = [engine.none() for _ in range(13)]
    assert all(len(s) == 0 and facts_of(engine, s) == set() for s in sets)
    assert not engine.bits.spilled
    sets.pop()
    gc.collect()
    assert len(engine.none()) == 0
    assert not engine.bits.spilled
    sets.append(engine.none())
    assert not engine.bits.spilled
    more = engine.none()
    assert len(engine.bits.spilled) == 1
    assert len(more) == 0


def test_a_view_keeps_its_sets() -> None:
    engine = new_engine()
    view = hold(engine, {("a", (1,))}) | hold(engine, {("a", (2,))})
    gc.collect()
    others = [hold(engine, {("a", (n + 3,))}) for n in range(8)]
    assert facts_of(engine, view) == {("a", (1,)), ("a", (2,))}
    assert len(others) == 8


def test_rows_in_no_set_come_back() -> None:
    engine = new_engine()
    I = engine.all
    rule = Rule(
        Literal("p", (number("y"), number("x"))), (Literal("b", (number("x"), number("y"))),)
    )
    put(engine, {("b", (1, 2)), ("b", (3, 4))}, I)
    first = engine.apply([rule], within=I, guard=~I)
    assert facts_of(engine, first) == {("p", (2, 1)), ("p", (4, 3))}
    del first  # its rows are in no set now
    gc.collect()
    again = engine.apply([rule], within=I, guard=~I)
    assert facts_of(engine, again) == {("p", (2, 1)), ("p", (4, 3))}
    I |= again
    assert len(engine.apply([rule], within=I, guard=~I)) == 0
    gone = hold(engine, {("b", (1, 2)), ("p", (2, 1))})
    I -= gone
    assert facts_of(engine, engine.apply([rule], within=I)) == {("p", (4, 3))}
    put(engine, {("b", (1, 2))}, I)
    assert facts_of(engine, engine.apply([rule], within=I, guard=~I)) == {("p", (2, 1))}


def test_removing_what_a_complement_holds() -> None:
    """`I -= ~C` keeps what is in both: I itself bounds the work."""
    engine = new_engine()
    I, C = hold(engine, {("a", (1,)), ("a", (2,))}), hold(engine, {("a", (2,)), ("a", (3,))})
    I -= ~C
    assert facts_of(engine, I) == {("a", (2,))}
