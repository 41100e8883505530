"""More sets at once than a row's mask has bits, against Python's sets."""

from __future__ import annotations

import gc
from functools import reduce
from operator import or_
from random import Random

import pytest

from tests.local.reference import Facts, facts_of, hold, instances, number, put
from tests.local.rules import random_facts, random_rule
from tests.local.test_seam import new_engine, say
from tidelog.engine import Split, View
from tidelog.local.sets import BITS, LocalSet
from tidelog.program.rules import Literal, Rule

MANY = 100


def test_a_hundred_sets() -> None:
    """Each keeps its facts while all are read and changed in turn, and their views are right."""
    engine, facts = new_engine(), [{("a", (n,)), ("b", (n, n % 7))} for n in range(MANY)]
    sets = [hold(engine, each) for each in facts]
    assert len(engine.bits.spilled) >= MANY - BITS
    for S, each in zip(sets, facts, strict=True):
        assert facts_of(engine, S) == each
        assert len(S) == 2
    every: View = reduce(or_, sets[1:], sets[0])
    assert facts_of(engine, every) == set().union(*facts)
    assert facts_of(engine, every - reduce(or_, sets[2:], sets[1])) == facts[0]
    x, y = number("x"), number("y")
    rule = Rule(Literal("p", (y, x)), (Literal("a", (x,)), Literal("b", (x, y))))
    heads = {("p", (n % 7, n)) for n in range(MANY)}
    assert facts_of(engine, engine.apply([rule], within=every)) == heads
    assert facts_of(engine, engine.apply([rule], within=every, guard=~every)) == heads
    assert facts_of(engine, engine.provable([rule], hold(engine, heads), within=every)) == heads
    for i in range(0, MANY, 9):
        touched = engine.derive([rule], touching=sets[i], within=every)
        assert facts_of(engine, touched) == {("p", (i % 7, i))}
        sets[i] |= sets[(i + 50) % MANY]
        facts[i] |= facts[(i + 50) % MANY]
    for S, each in zip(sets, facts, strict=True):
        assert facts_of(engine, S) == each
    del sets, S, every
    gc.collect()
    assert not engine.bits.spilled
    assert len(engine.bits.free) >= BITS - 3


def test_rounds_with_many_sets() -> None:
    """A closure, with sets made and dropped between its rounds."""
    engine = new_engine()
    x, y, z = number("x"), number("y"), number("z")
    rule = Rule(Literal("p", (x, z)), (Literal("p", (x, y)), Literal("b", (y, z))))
    put(engine, {("b", (n, n + 1)) for n in range(30)}, engine.all)
    others = [hold(engine, {("a", (n,))}) for n in range(12)]
    N = hold(engine, {("p", (0, 1))})
    rounds = 0

    def each() -> bool:
        nonlocal rounds
        rounds += 1
        if rounds == 5:
            others.extend(hold(engine, {("a", (n,)), ("p", (n, n))}) for n in range(12, 40))
        if rounds == 15:
            del others[5:]
        return True

    added = engine.none()
    into = (engine.all, added)
    engine.spread([rule], N, into, within=engine.all, guard=~engine.all, each=each)
    assert facts_of(engine, added) == {("p", (0, n)) for n in range(1, 31)}
    assert rounds == 30
    for n, S in enumerate(others):
        assert facts_of(engine, S) == {("a", (n,))}


def test_setting_aside_with_many_sets() -> None:
    """Facts that are set aside may be in sets without a bit."""
    engine = new_engine()
    put(engine, {("a", (n,)) for n in range(50)}, engine.all)
    sets = [hold(engine, {("a", (n,)), ("a", (n + 1,))}) for n in range(40)]
    taken = engine.take(("a",))
    put(engine, {("a", (n,)) for n in range(25, 60)}, engine.all)
    gone, came = engine.compare(taken)
    assert facts_of(engine, gone) == {("a", (n,)) for n in range(25)}
    assert facts_of(engine, came) == {("a", (n,)) for n in range(50, 60)}
    for n, S in enumerate(sets):
        assert facts_of(engine, S) == {("a", (n,)), ("a", (n + 1,))}


class Many:
    """Sets, and the same as Python holds them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.engine = new_engine()
        if self.random.random() < 0.5:
            self.engine.begin()
        self.sets: list[LocalSet] = [self.engine.all]
        self.facts: list[Facts] = [random_facts(self.random, 30)]
        put(self.engine, self.facts[0], self.engine.all)
        while len(self.sets) < self.random.choice((20, 40)):
            self.add()

    def add(self) -> None:
        facts = random_facts(self.random, self.random.choice((0, 3, 20)))
        self.sets.append(hold(self.engine, facts))
        self.facts.append(facts)

    def view(self, size: int) -> tuple[View, Facts]:
        """A view over so many sets, which lies within them."""
        if size == 1:
            i = self.random.randrange(len(self.sets))
            return self.sets[i], self.facts[i]
        left = self.random.randrange(1, size)
        (V, v), (W, w) = self.view(left), self.view(size - left)
        return self.random.choice([(V | W, v | w), (V | W, v | w), (V & W, v & w), (V - W, v - w)])

    def wide(self) -> tuple[View, Facts]:
        return self.view(self.random.choice((1, 3, 8, 25)))

    def check(self) -> None:
        for S, s in zip(self.sets, self.facts, strict=True):
            assert len(S) == len(s)
            assert facts_of(self.engine, S) == s


@pytest.mark.parametrize("seed", range(60))
def test_many_sets_against_python(seed: int) -> None:
    """Random views over random numbers of sets, in every evaluator."""
    many = Many(seed)
    engine, random = many.engine, many.random
    for _ in range(8):
        (X, x), (Y, y), (C, c) = many.wide(), many.wide(), many.wide()
        assert len(engine.some(X, 5)) == min(5, len(x))
        rules = [random_rule(random) for _ in range(random.choice((1, 3)))]
        every = [found for rule in rules for found in instances(rule, x, y)]
        heads = {head for head, _ in every}
        step = random.randrange(6)
        if step == 0:
            G, allowed = random.choice([(~C, heads - c), (C, heads & c), (None, heads)])
            found = engine.apply(rules, within=X, guard=G, negative=Y)
            assert facts_of(engine, found) == allowed, say(rules)
        elif step == 1:
            N, n = many.view(1)
            assert isinstance(N, LocalSet)
            found = engine.derive(rules, touching=N, within=X, guard=~C, negative=Y)
            touched = {head for head, body in every if not n.isdisjoint(body)}
            # A body whose only facts are those that Y has is not touched.
            assert facts_of(engine, found) == touched - c, say(rules)
        elif step == 2:
            F, f = many.view(1)
            assert isinstance(F, LocalSet)
            proved = engine.provable(rules, F, within=X, negative=Y)
            assert facts_of(engine, proved) == heads & f, say(rules)
            support = engine.support(rules, F, within=X, negative=Y)
            expected = {fact for head, body in every if head in f for fact in body}
            assert facts_of(engine, support) == expected, say(rules)
        elif step == 3:
            within = Split(frozenset("abc"), X, Y)
            split = {f for f in x if f[0] in "abc"} | {f for f in y if f[0] not in "abc"}
            found = engine.apply(rules, within=within, negative=Y)
            expected = {head for rule in rules for head, _ in instances(rule, split, y)}
            assert facts_of(engine, found) == expected, say(rules)
        else:
            i = random.randrange(1, len(many.sets))
            S, s = many.sets[i], many.facts[i]
            if random.random() < 0.5:
                S |= X
                many.facts[i] = s | x
            else:
                S -= X
                many.facts[i] = s - x
            many.add()
    many.check()
