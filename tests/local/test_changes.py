"""What updates need of the engine: negated deltas, counters, rows that go, facts taken aside."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest

from tests.local.reference import Fact, Facts, facts_of, hold, instances, put, touched_instances
from tests.local.rules import ARITIES, random_facts, random_rule
from tests.local.test_seam import VIEWS, World, new_engine, say
from tidelog.local.engine import LocalEngine
from tidelog.program.rules import Rule


def counts(engine: LocalEngine, which: int) -> dict[Fact, int]:
    """All numbers of a counter that are not zero."""
    found: dict[Fact, int] = {}
    for name, r in engine.numbers.items():
        if name in engine.kinds:
            rows = engine.table(name, np.arange(engine.store.size(r), dtype=np.uint32)).rows()
            numbers = engine.store.counters.of(r, which).tolist()
            found |= {(name, row): n for row, n in zip(rows, numbers, strict=True) if n}
    return found


@pytest.mark.sampled(30)
@pytest.mark.parametrize("seed", range(150))
def test_derive_follows_negated_literals_and_aggregates(seed: int) -> None:
    world = World(7000 + seed, size=40)
    engine, random = world.engine, world.random
    for exact in (False, True, True):
        X, x = world.view(random.choice(VIEWS))
        Y, y = world.view(random.choice(VIEWS))
        p = random_facts(random, random.choice((0, 3, 20))) & x
        n = random_facts(random, random.choice((0, 3, 20))) - y
        rules = [random_rule(random, exact=exact) for _ in range(2)]
        G, allowed = world.guard()
        before = engine.instances
        found = engine.derive(
            rules,
            touching=hold(engine, p),
            touching_negated=hold(engine, n),
            within=X,
            negative=Y,
            guard=G,
        )
        every = [head for rule in rules for head in touched_instances(rule, x, y, p, n)]
        assert facts_of(engine, found) == {h for h in every if allowed(h)}, say(rules)
        if exact:
            assert engine.instances - before == len(every), say(rules)


@pytest.mark.parametrize("seed", range(60))
def test_counters_count_instances(seed: int) -> None:
    world = World(8000 + seed, size=40)
    engine, random = world.engine, world.random
    X, x = world.view(random.choice(VIEWS))
    p = random_facts(random, 20) & x
    n = random_facts(random, 10) - x
    rules = [random_rule(random, literals=2) for _ in range(3)]
    touching, lost = hold(engine, p), hold(engine, n)
    expected: Counter[Fact] = Counter(h for rule in rules for h, _ in instances(rule, x, x))
    engine.apply(rules, within=X, add_to=engine.recursive)
    assert counts(engine, 1) == +expected, say(rules)
    G, _ = world.guard()
    if G is not None and random.random() < 0.5:
        G = G | X  # what is derived exists, so the guard decides on the result alone
    engine.derive(
        rules,
        touching=touching,
        touching_negated=lost,
        within=X,
        negative=X,
        guard=G,
        take_from=engine.recursive,
    )
    lost_now = Counter(h for rule in rules for h in touched_instances(rule, x, x, p, n))
    assert counts(engine, 1) == expected - lost_now, say(rules)
    assert counts(engine, 0) == {}
    everything = engine.collect(X)
    above = {fact for fact, number in counts(engine, 1).items() if number > 0}
    assert facts_of(engine, engine.positive(engine.recursive, everything)) == above & x
    engine.reset(engine.recursive, list(ARITIES))
    assert counts(engine, 1) == {}


@pytest.mark.parametrize("seed", range(80))
def test_rows_that_go_leave_no_trace(seed: int) -> None:
    """After rows were removed, in whatever share, joins see what is left and nothing else."""
    random = Random(9000 + seed)
    engine = new_engine()
    rules = [random_rule(random, literals=3) for _ in range(3)]
    facts: Facts = frozenset()
    for _ in range(6):
        before = engine.sizes()
        fresh = random_facts(random, random.choice((5, 80, 300)))
        put(engine, fresh, engine.all)
        facts |= fresh
        found = engine.apply(rules, within=engine.all, add_to=engine.nonrecursive)
        del found
        share = random.choice((0.02, 0.3, 0.9))
        going = frozenset(fact for fact in facts if random.random() < share)
        facts -= going
        engine.begin()
        D = hold(engine, going)
        engine.all -= D
        engine.end(undo=False)
        engine.sweep(before)
        before = engine.sizes()
        assert facts_of(engine, engine.all) == facts
        assert int(engine.sizes()[: len(ARITIES)].sum()) <= len(facts)
        every = {head for rule in rules for head, _ in instances(rule, facts, facts)}
        assert facts_of(engine, engine.apply(rules, within=engine.all)) == every, say(rules)
        n = frozenset(fact for fact in facts if random.random() < 0.1)
        touched = {
            head
            for rule in rules
            for head, body in instances(rule, facts, facts)
            if any(fact in n for fact in body)
        }
        found = engine.derive(rules, touching=hold(engine, n), within=engine.all)
        assert facts_of(engine, found) == touched, say(rules)
        for name, row in going:
            assert not engine.holds(engine.kinds[name], row)
        del found
        engine.sweep(before)


def test_counters_follow_their_rows() -> None:
    random = Random(5)
    engine = new_engine()
    rule = next(r for r in iter(lambda: random_rule(random, exact=True), None) if _plain(r))
    facts = random_facts(random, 300)
    put(engine, facts, engine.all)
    heads = engine.apply([rule], within=engine.all, add_to=engine.nonrecursive)
    engine.all |= heads
    del heads
    expected = counts(engine, 0)
    going = frozenset(fact for fact in facts if random.random() < 0.3) - expected.keys()
    engine.begin()
    D = hold(engine, going)
    engine.all -= D
    engine.end(undo=False)
    engine.sweep(engine.sizes())
    assert counts(engine, 0) == expected


def _plain(rule: Rule) -> bool:
    return len(rule.body) == 2 and rule.head.relation == "h3"


def test_taken_facts_are_compared_with_what_takes_their_place() -> None:
    engine = new_engine()
    derived = {("p", (i, i)) for i in range(10)}
    explicit = {("p", (1, 2)), ("p", (3, 3))}
    put(engine, derived, engine.all)
    put(engine, explicit, engine.all, engine.explicit)
    changed = hold(engine, {("p", (1, 2)), ("p", (9, 9))})
    taken = engine.take(["p"])
    assert facts_of(engine, engine.all) == explicit
    assert facts_of(engine, engine.explicit) == explicit
    assert facts_of(engine, changed) == {("p", (1, 2)), ("p", (9, 9))}
    put(engine, {("p", (4, 4)), ("p", (7, 8))}, engine.all)
    gone, came = engine.compare(taken)
    assert facts_of(engine, gone) == derived - {("p", (3, 3)), ("p", (4, 4))}
    assert facts_of(engine, came) == {("p", (7, 8))}


def test_rows_that_come_and_go_take_no_more_memory() -> None:
    """A vector of an index that grows and shrinks again finds the chunk that it had before."""
    engine = new_engine()
    name = next(name for name, arity in ARITIES.items() if arity == 2)
    r = engine.numbers[name]
    engine.store.indexes.index(r, (0,))
    some = frozenset((name, (1, i)) for i in range(70))
    put(engine, some, engine.all)
    taken = []
    for _ in range(40):
        before = engine.sizes()
        engine.begin()
        D = hold(engine, frozenset((name, (1, i)) for i in range(20, 70)))
        engine.all -= D
        engine.end(undo=False)
        engine.sweep(before)
        put(engine, some, engine.all)
        engine.store.indexes.complete(r)
        taken.append(engine.store.memory())
    assert taken[-1] == taken[4]
