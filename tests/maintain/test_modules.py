"""Closures by modules: the law for strata that have them, alone and among other rules."""

from __future__ import annotations

import pytest

from tests.algorithms import ALGORITHMS
from tests.maintain.closures import DECLARED, History
from tests.maintain.histories import checked
from tests.maintain.worlds import World, naive
from tidelog.maintain import closure_seeds, materialise, modular

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
MODULAR = ("auto", "recompute", "dredc-mod", "bfc-mod")
WAYS = [("python", seed) for seed in range(3)] + [("local", seed) for seed in range(8)]


@pytest.fixture(autouse=True)
def modules_for_all_closures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materialise, "LONG", 0)
    monkeypatch.setattr(closure_seeds, "FEW", 0)


@pytest.mark.sampled(40)
@pytest.mark.parametrize("algorithm", MODULAR)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("on", "seed"), WAYS)
def test_maintaining_equals_recomputing(on: str, seed: int, program: str, algorithm: str) -> None:
    history = History(DECLARED + PROGRAMS[program], seed, on)
    for _ in range(12):
        history.step(algorithm)


@pytest.mark.sampled(15)
@pytest.mark.parametrize(
    "program", ["transitive", "symmetric", "joined", "joined, with its inverse"]
)
@pytest.mark.parametrize(("on", "seed"), WAYS)
def test_what_comes_is_looked_for_when_something_goes(
    on: str, seed: int, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many facts come, one after the other, and then some go; also where little may be owed."""
    monkeypatch.setattr(closure_seeds, "FEW", 1000)
    history = History(DECLARED + PROGRAMS[program], 2000 + seed, on)
    world, random = history.world, history.random
    world.change("dredc-mod", insert=[("e", (8, 9))])
    assert history.closed().pending
    monkeypatch.setattr(modular, "PENDING_UPDATES", random.choice((1, 3, 32)))
    for _ in range(6):
        for _ in range(random.randrange(5)):
            world.change("dredc-mod", insert=[history.fact()])
            assert world.state == naive(world.relations, world.rules, world.E)
        history.step("dredc-mod")


@pytest.mark.sampled(20)
@pytest.mark.parametrize("program", ["joined", "chained"])
@pytest.mark.parametrize("algorithm", MODULAR)
@pytest.mark.parametrize(("on", "seed"), WAYS)
def test_what_connects_is_enough_until_something_goes(
    on: str, seed: int, program: str, algorithm: str
) -> None:
    """Facts come, and then some go, or rules do: what rules derive themselves is known by then."""
    history = History(DECLARED + PROGRAMS[program], 3000 + seed, on)
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


@pytest.mark.sampled(30)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("on", "seed"), WAYS)
def test_modules_come_and_go(
    on: str, seed: int, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some algorithms use them, others do not, and they may be switched off for a while."""
    history = History(DECLARED + PROGRAMS[program], 1000 + seed, on)
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


def test_the_closure_of_certain_facts_is_kept() -> None:
    """Only the first update builds closures, and edges are inserted through them, not by joins."""
    edges = [("e", (i, i + 1)) for i in range(60)] + [("e", (i, i + 2)) for i in range(0, 60, 9)]
    facts = [*edges, *(("f", (i,)) for i in range(3)), ("g", (5,))]
    core = checked(DECLARED + PROGRAMS["among others"])
    inserting = {}
    for algorithm in ("bfc-mod", "dredc-mod", "bfc"):
        world = World(core.relations.values(), core.rules, facts, "local")
        built, inserting[algorithm] = [], 0
        for place in (20, 30, 40):
            for change in ("delete", "insert"):
                one = [("e", (place, place + 1))]
                D, A = world.change(algorithm, **{change: one})  # type: ignore[arg-type]
                assert max(len(D), len(A)) > 300
                built.append(world.works("r").numbers["build"])
            inserting[algorithm] += world.works("r").instances
        if algorithm != "bfc":
            assert built[0] > 0
            assert built[1:] == [0] * 5
    assert inserting["bfc-mod"] <= inserting["dredc-mod"] + 3
    assert 100 * inserting["bfc-mod"] < inserting["bfc"]
