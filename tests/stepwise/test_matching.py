"""Instances over facts: all of them, each once, and no more than asked for."""

from __future__ import annotations

import random
from itertools import product

import pytest

from bench.stepwise.matching import Fact, Facts, Frontier, Instance, Known, Rules, closure
from tidelog.oracle.evaluate import evaluate
from tidelog.plan import analyse
from tidelog.text import parse

TEXT = """
.decl e(x: number, y: number)
.decl f(x: number, y: number, z: number)
p(x, z) :- e(x, y), e(y, z), x != z.
p(x, x) :- e(x, x).
q(x) :- f(x, _, y), f(_, x, y), p(y, 1).
q(y) :- q(x), f(x, y, _), x < y.
r() :- q(2).
"""


def random_facts(rng: random.Random) -> Facts:
    values = range(3)
    every = [Fact("e", row) for row in product(values, repeat=2)]
    every += [Fact("f", row) for row in product(values, repeat=3)]
    return Facts(rng.sample(every, 14))


@pytest.mark.parametrize("seed", range(20))
def test_closure_is_that_of_the_oracle(seed: int) -> None:
    E = random_facts(random.Random(seed))
    typed = analyse(parse(TEXT).program).typed
    assert typed is not None
    given = {name: [f.values for f in E if f.relation == name] for name in ("e", "f")}
    right = {Fact(name, row) for name, rows in evaluate(typed, given).items() for row in rows}
    assert closure(Rules.read(TEXT), E) == right


@pytest.mark.parametrize("seed", range(20))
def test_every_start_finds_the_same_instances(seed: int) -> None:
    rules = Rules.read(TEXT)
    I = Facts(closure(rules, random_facts(random.Random(seed))))
    every = sorted(rules.instances(I))
    assert len(set(every)) == len(every)
    assert sorted(r for head in I for r in rules.deriving(head, I)) == every
    for fact in I:
        assert sorted(rules.touching(fact, I)) == [r for r in every if fact in r.body]


def test_searches_are_gradual() -> None:
    """The first of a million instances does not cost a million."""
    rules = Rules.read(".decl e(x: number) p(x, y) :- e(x), e(y).")
    I = Facts(Fact("e", (n,)) for n in range(1000))
    assert isinstance(next(rules.instances(I)), Instance)


def test_a_frontier_grows_with_its_facts() -> None:
    rules = Rules.read(".decl e(x: number, y: number) p(x, z) :- e(x, y), e(y, z).")
    edges = [Fact("e", (n, n + 1)) for n in range(4)]
    I = Known(rules)
    frontier = Frontier(I)
    found = []
    for edge in edges:
        I.add(edge)
        frontier.put(edge)
        while r := frontier.first(lambda r: r.head not in found):
            found.append(r.head)
    assert found == [Fact("p", (n, n + 2)) for n in range(3)]


@pytest.mark.parametrize("seed", range(10))
def test_known_instances_are_those_that_a_search_finds(seed: int) -> None:
    """While facts come, go, and are taken out and put back."""
    rng = random.Random(seed)
    rules = Rules.read(TEXT)
    every = [Fact(name, row) for name in "ep" for row in product(range(3), repeat=2)]
    every += [Fact("f", row) for row in product(range(3), repeat=3)]
    known = Known(rules)
    for _ in range(30):
        for fact in rng.sample(every, 3):
            (known.remove if fact in known else known.add)(fact)
        out = rng.sample(list(known), min(3, len(known)))
        for fact in out:
            known.take_out(fact)
        for fact in out[:2]:
            known.add(fact)
        known.settle()
        plain = Facts(known)
        for fact in plain:
            assert sorted(known.touching(fact)) == sorted(rules.touching(fact, plain))
        for fact in every:
            assert sorted(known.deriving(fact)) == sorted(rules.deriving(fact, plain))


def test_removed_facts_leave_every_index() -> None:
    facts = Facts([Fact("e", (1, 2)), Fact("e", (1, 3))])
    assert len(facts.matching("e", (0,), (1,))) == 2
    facts.remove(Fact("e", (1, 2)))
    assert facts.matching("e", (0,), (1,)) == (Fact("e", (1, 3)),)
    assert facts.matching("e", (), ()) == (Fact("e", (1, 3)),)


@pytest.mark.parametrize("rule", ["p(x) :- e(x), !f(x).", "p(x) :- e(x), x = count : { e(_) }."])
def test_what_the_papers_do_not_have_is_refused(rule: str) -> None:
    with pytest.raises(ValueError, match="only atoms and comparisons"):
        Rules.read(f".decl e(x: number) .decl f(x: number) {rule}")
