"""The search for proofs fact by fact, where it stops and goes on, and grows what it needs."""

from __future__ import annotations

import gc
from random import Random

import pytest

from tests.maintain.histories import checked
from tests.maintain.reference import Fact
from tests.maintain.test_graphs import DECLARED, PROGRAMS
from tests.maintain.worlds import World, naive
from tidelog.local import engine, proof_search
from tidelog.maintain.update import Update

RELATIONS = 20  # of a stratum: more than get plans one by one
RING = "\n".join(
    [
        "r0(x) :- a(x). r0(x) :- b(x).",
        *(f"r{i + 1}(x) :- r{i}(x)." for i in range(RELATIONS)),
        f"r0(x) :- r{RELATIONS}(x).",
    ]
)


@pytest.mark.parametrize("algorithm", ["bf", "bfc", "auto"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("seed", range(4))
def test_it_may_stop_at_every_step(
    seed: int, program: str, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And note, when it stops, which rows are odd."""
    monkeypatch.setattr(proof_search, "SOON", seed)
    monkeypatch.setattr(proof_search, "WORK", 1)
    monkeypatch.setattr(proof_search, "FIRST", 1)
    monkeypatch.setattr(engine, "FEW_ROWS", 0)
    random = Random(seed)
    core = checked(DECLARED + PROGRAMS[program])
    base = "path" if program == "symmetric" else "edge"
    edges = {(base, (random.randrange(9), random.randrange(9))) for _ in range(18)}
    world = World(core.relations.values(), core.rules, edges, "local", modules=False)
    for _ in range(4):
        world.memory.forget(["path", "odd", "even"])  # so that auto does not go by ages
        world.change(algorithm, delete=random.sample(sorted(world.E), 3))
        assert world.state == naive(world.relations, world.rules, world.E)


def ring() -> World:
    core = checked(".decl a(x: number)\n.decl b(x: number)\n" + RING)
    facts: list[Fact] = [("a", (1,)), ("a", (2,)), ("b", (2,))]
    return World(core.relations.values(), core.rules, facts, "local")


def test_all_relations_of_a_stratum_are_reached() -> None:
    world = ring()
    world.change("bf", delete=[("a", (1,))])
    assert world.state == naive(world.relations, world.rules, world.E)
    assert world.works("r0").numbers["|C|"] == RELATIONS + 1


def test_plans_are_made_for_what_is_reached() -> None:
    world = ring()
    world.change("bf", delete=[("a", (2,))])
    assert world.works("r0").numbers["|C|"] == 1
    assert world.state == naive(world.relations, world.rules, world.E)


def test_a_search_that_is_stopped_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    core = checked(DECLARED + PROGRAMS["linear"])
    line: list[Fact] = [("edge", (i, i + 1)) for i in range(30)]
    world = World(core.relations.values(), core.rules, line, "local", modules=False)
    local = world.engine
    assert isinstance(local, engine.LocalEngine)
    before = local.store.mask(local.numbers["path"]).copy()

    def stop(self: Update) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(proof_search, "SOON", 40)
    monkeypatch.setattr(Update, "round", stop)
    with pytest.raises(KeyboardInterrupt):
        world.change("bf", delete=[("edge", (14, 15))])
    gc.collect()
    assert (local.store.mask(local.numbers["path"]) == before).all()
