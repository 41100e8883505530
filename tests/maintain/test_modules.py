"""Closures by modules: the law for strata that have them, alone and among other rules."""

from __future__ import annotations

from random import Random

import pytest

from tests.algorithms import ALGORITHMS
from tests.maintain.histories import checked
from tests.maintain.reference import Fact
from tests.maintain.worlds import World, naive
from tidelog.maintain import closure_seeds, materialise, modular
from tidelog.maintain.modules import Closed
from tidelog.program.rules import Rule

DECLARED = """
.decl e(x: number, y: number)
.decl f(x: number)
.decl g(x: number)
.decl r(x: number, y: number)
.decl s(x: number, y: number)
"""
PROGRAMS = {
    "transitive": "r(x, y) :- e(x, y). r(x, z) :- r(y, z), r(x, y).",
    "symmetric": "r(x, y) :- e(x, y). r(x, z) :- r(x, y), r(y, z). r(x, y) :- r(y, x).",
    "left": "r(x, y) :- e(x, y). r(x, z) :- r(x, y), e(y, z).",
    "right": "r(x, y) :- e(y, x). r(x, z) :- e(y, x), r(y, z).",
    "fed": """
        r(x, y) :- e(x, y), !f(x). r(x, y) :- e(y, x), g(x), f(y). r(x, z) :- r(x, y), r(y, z).
        s(x, n) :- f(x), n = count : { r(x, _) }.
    """,
    "among others": """
        r(x, y) :- e(x, y). r(x, z) :- r(x, y), r(y, z). r(x, y) :- s(x, y), g(y).
        s(x, y) :- r(y, x), f(x). s(x, y) :- e(y, x), g(x).
    """,
    "with its inverse": """
        r(x, y) :- e(x, y). r(x, z) :- r(x, y), r(y, z). s(y, x) :- r(x, y). r(y, x) :- s(x, y).
        s(x, y) :- e(x, y), f(x), !g(y).
    """,
    "both transitive": """
        s(y, x) :- e(x, y), !f(x). r(x, z) :- r(x, y), r(y, z). s(b, a) :- r(a, b).
        s(x, z) :- s(y, z), s(x, y). r(x, y) :- s(y, x). r(x, y) :- e(x, y), g(x).
    """,
    "joined": """
        r(x, z) :- e(x, y), e(z, y). r(x, y) :- e(x, y), f(y). r(x, z) :- r(x, y), r(y, z).
        r(x, y) :- r(y, x).
    """,
    "chained": """
        r(x, w) :- e(x, y), s(z, y), e(z, w). r(x, z) :- e(y, x), e(y, z). r(x, y) :- s(x, y).
        r(x, z) :- r(x, y), r(y, z). r(x, y) :- r(y, x). s(x, y) :- e(y, x), g(x).
    """,
    "joined, with its inverse": """
        r(x, z) :- e(x, y), e(y, z). r(x, z) :- r(x, y), r(y, z). s(y, x) :- r(x, y).
        r(y, x) :- s(x, y). s(x, y) :- e(x, y), f(x).
    """,
    "in a circle": """
        r(x, y) :- e(x, y), f(x). r(x, z) :- r(x, y), r(y, z). r(x, y) :- s(x, y).
        s(x, y) :- r(x, y).
    """,
    "symmetric among others": """
        r(x, y) :- e(x, y). r(x, z) :- r(x, y), r(y, z). r(y, x) :- r(x, y).
        s(x, y) :- r(x, y), f(x), !g(y). r(x, y) :- s(x, z), e(z, y).
    """,
    "two": """
        r(x, y) :- e(x, y). r(x, z) :- r(x, y), r(y, z). r(x, y) :- s(y, x), f(x).
        s(x, z) :- s(x, y), s(y, z). s(y, x) :- s(x, y). s(x, y) :- r(x, y), g(y).
    """,
}
ALONE = ("transitive", "symmetric", "left", "right", "fed", "with its inverse", "both transitive")
NODES = 6
MODULAR = ("auto", "recompute", "dredc-mod", "bfc-mod")
WAYS = [("python", seed) for seed in range(3)] + [("local", seed) for seed in range(8)]


@pytest.fixture(autouse=True)
def modules_for_all_closures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materialise, "LONG", 0)
    monkeypatch.setattr(closure_seeds, "FEW", 0)


class History:
    """Random changes of facts, and now and then of rules."""

    def __init__(self, program: str, seed: int, on: str) -> None:
        core = checked(DECLARED + PROGRAMS[program])
        self.random = Random(f"{program} {seed}")
        self.every = core.rules
        self.given = [r for r in core.relations.values() if not r.hidden]
        facts = {self.fact() for _ in range(self.random.choice((4, 10, 16)))}
        self.world = World(core.relations.values(), core.rules, facts, on)

    def fact(self) -> Fact:
        names = [r for r in self.given for _ in range(6 if r.name == "e" else 1)]
        relation = self.random.choice(names)
        row = tuple(self.random.randrange(NODES) for _ in relation.kinds)
        return relation.name, row

    def rules(self) -> tuple[list[Rule], list[Rule]]:
        if self.random.random() < 0.75:
            return [], []
        held = set(self.world.rules)
        others = [rule for rule in self.every if rule not in held]
        gone = self.random.sample(self.world.rules, min(1, len(held)))
        return gone, self.random.sample(others, min(len(others), 1))

    def step(self, algorithm: str) -> None:
        world, random = self.world, self.random
        before, E = world.state, sorted(world.E)
        delete = random.sample(E, min(len(E), random.choice((0, 1, 1, 2, 5))))
        insert = [self.fact() for _ in range(random.choice((0, 1, 1, 3)))]
        gone, come = self.rules()
        D, A = world.change(algorithm, delete=delete, insert=insert, gone=gone, come=come)
        said = f"{algorithm}: +{insert} -{delete} rules -{gone} +{come}"
        after = naive(world.relations, world.rules, world.E)
        assert world.state == after, said
        mine = world.relations.keys()
        assert {f for f in D if f[0] in mine} == before - after, said
        assert {f for f in A if f[0] in mine} == after - before, said
        assert world.miscounts() == [], said

    def closed(self) -> Closed:
        """What the first closure knows."""
        found: Closed = next(iter(self.world.memory.closed.values()))[0]
        return found


@pytest.mark.parametrize("algorithm", MODULAR)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("on", "seed"), WAYS)
def test_maintaining_equals_recomputing(on: str, seed: int, program: str, algorithm: str) -> None:
    history = History(program, seed, on)
    for _ in range(12):
        history.step(algorithm)


@pytest.mark.parametrize(
    "program", ["transitive", "symmetric", "joined", "joined, with its inverse"]
)
@pytest.mark.parametrize(("on", "seed"), WAYS)
def test_what_comes_is_looked_for_when_something_goes(
    on: str, seed: int, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many facts come, one after the other, and then some go; also where little may be owed."""
    monkeypatch.setattr(closure_seeds, "FEW", 1000)
    history = History(program, 2000 + seed, on)
    world, random = history.world, history.random
    world.change("dredc-mod", insert=[("e", (8, 9))])
    assert history.closed().pending
    monkeypatch.setattr(modular, "TIMES", random.choice((1, 3, 32)))
    for _ in range(6):
        for _ in range(random.randrange(5)):
            world.change("dredc-mod", insert=[history.fact()])
            assert world.state == naive(world.relations, world.rules, world.E)
        history.step("dredc-mod")


@pytest.mark.parametrize("program", ["joined", "chained"])
@pytest.mark.parametrize("algorithm", MODULAR)
@pytest.mark.parametrize(("on", "seed"), WAYS)
def test_what_connects_is_enough_until_something_goes(
    on: str, seed: int, program: str, algorithm: str
) -> None:
    """Facts come, and then some go, or rules do: what rules derive themselves is known by then."""
    history = History(program, 3000 + seed, on)
    world, random = history.world, history.random
    world.change("recompute", insert=[("e", (8, 9)), ("e", (7, 9))])
    for _ in range(random.randrange(4)):
        world.change("dredc-mod", insert=[history.fact()])
        assert world.state == naive(world.relations, world.rules, world.E)
    assert history.closed().connects
    if random.random() < 0.5:
        world.change("dredc-mod", delete=[("e", (8, 9))])
        assert world.state == naive(world.relations, world.rules, world.E)
        assert not history.closed().connects
    for _ in range(4):
        history.step(algorithm)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("on", "seed"), WAYS)
def test_modules_come_and_go(
    on: str, seed: int, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some algorithms use them, others do not, and they may be switched off for a while."""
    history = History(program, 1000 + seed, on)
    for _ in range(16):
        history.world.memory.modules = history.random.random() < 0.8
        monkeypatch.setattr(materialise, "LONG", history.random.choice((0, 5, 1000)))
        monkeypatch.setattr(closure_seeds, "FEW", history.random.choice((0, 1000)))
        history.step(history.random.choice([*ALGORITHMS, *MODULAR]))


@pytest.mark.parametrize("program", ALONE)
def test_a_closure_alone_is_never_overdeleted(program: str) -> None:
    edges = [("e", (i, j)) for i in range(6) for j in range(6) if i < j]
    core = checked(DECLARED + PROGRAMS[program])
    world = World(core.relations.values(), core.rules, edges, "local")
    D, A = world.change("dredc-mod", delete=[("e", (0, 5))])
    work = world.works("r")
    assert (work.algorithm, work.numbers["|D|"]) == ("dredc-mod", 0)
    assert {("e", (0, 5))} == D
    assert not A
