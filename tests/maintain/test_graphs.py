"""The law where recursion goes deep: closures of random graphs, where facts have many proofs."""

from __future__ import annotations

from random import Random

import pytest

from tests.algorithms import ALGORITHMS
from tests.maintain.histories import checked
from tests.maintain.reference import Fact
from tests.maintain.worlds import World, naive
from tidelog.maintain import bf

PROGRAMS = {
    "linear": "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).",
    "nonlinear": "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), path(y, z).",
    "symmetric": "path(x, y) :- path(y, x). path(x, z) :- path(x, y), path(y, z).",
    "mutual": """
        odd(x, y) :- edge(x, y).
        odd(x, z) :- even(x, y), edge(y, z).
        even(x, z) :- odd(x, y), odd(y, z), !edge(x, x).
        path(x, z) :- odd(x, y), even(y, z), path(x, y).
        path(x, y) :- even(x, y), edge(y, x).
    """,
}
DECLARED = ".decl edge(x: number, y: number)\n.decl path(x: number, y: number)\n"
CASES = [("python", 5, 2), ("local", 9, 6)]  # engine, nodes, seeds


@pytest.mark.sampled(30)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("on", "nodes", "seed"), [(on, nodes, s) for on, nodes, seeds in CASES for s in range(seeds)]
)
def test_closures_of_graphs(
    on: str,
    nodes: int,
    seed: int,
    program: str,
    algorithm: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = Random(seed)
    core = checked(DECLARED + PROGRAMS[program])
    base = "path" if program == "symmetric" else "edge"

    def some(count: int) -> set[Fact]:
        return {(base, (random.randrange(nodes), random.randrange(nodes))) for _ in range(count)}

    world = World(core.relations.values(), core.rules, some(2 * nodes), on)
    for _ in range(6):
        monkeypatch.setattr(bf, "FIRST", random.choice((1, 2, 64)))
        before = world.state
        known = sorted(world.E)
        delete = random.sample(known, min(len(known), random.choice((1, 1, 2, 5))))
        insert = some(random.choice((0, 0, 1, 3)))
        D, A = world.change(algorithm, delete=delete, insert=insert)
        after = naive(world.relations, world.rules, world.E)
        said = f"seed {seed}: -{delete} +{sorted(insert)}"
        assert world.state == after, said
        assert before - after == {f for f in D if f[0] in world.relations}, said
        assert after - before == {f for f in A if f[0] in world.relations}, said
        assert world.miscounts() == [], said
