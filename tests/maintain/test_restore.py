"""What is undone leaves no trace: facts, counters and rules are as they were."""

from __future__ import annotations

import pytest

from tests.algorithms import ALGORITHMS
from tests.maintain.histories import History
from tests.maintain.worlds import ENGINES, KEPT, World


def counted(world: World) -> set[object]:
    """Strata whose counters are in step."""
    memory = world.memory
    return {(which, s.relations) for s in world.strata for which in KEPT if memory.has(which, s)}


@pytest.mark.sampled(24)
@pytest.mark.parametrize("on", ENGINES)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("seed", [4000, 4001, 4002, 4004, 4005])
def test_a_change_and_its_opposite_restore_everything(seed: int, algorithm: str, on: str) -> None:
    history = History(seed, on)
    world = history.world
    for _ in range(3):
        # Counters are counted when they are needed first: everything is touched once before.
        E = sorted(world.E, key=repr)
        world.change(algorithm, delete=E)
        world.change(algorithm, insert=E)
        state, counts, known = world.state, world.counts(), counted(world)
        gone, come = history.rules()
        insert = [fact for fact in history.facts() if fact not in world.E]
        delete = [fact for fact in history.facts() if fact in world.E and fact not in insert]
        D, A = world.change(algorithm, insert=insert, delete=delete, gone=gone, come=come)
        back = world.change(algorithm, insert=delete, delete=insert, gone=come, come=gone)
        assert back == (A, D), str(history.program)
        assert world.state == state, str(history.program)
        # On a slow machine, `auto` may have begun to count in between.
        if not gone and not come and counted(world) == known:
            assert world.counts() == counts, str(history.program)
        assert world.miscounts() == [], str(history.program)
        history.step(algorithm)
