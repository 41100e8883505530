"""What chains of facts connect, found without a join."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.closure.histories import Pair, connected, words
from tidelog.closure import Step, chains, joined, spanning

Facts = list[tuple[list[Pair], bool]]


def steps(chain: Facts) -> list[Step]:
    return [Step(np.array(some, np.uint32).reshape(-1, 2), turned) for some, turned in chain]


def all_ends(chain: Facts) -> set[Pair]:
    """The ends of all chains."""
    ways = [{(b, a) if turned else (a, b) for a, b in some} for some, turned in chain]
    found = ways[0]
    for way in ways[1:]:
        found = {(a, c) for a, b in found for other, c in way if b == other}
    return found


def drawn(rng: random.Random, base: int) -> Facts:
    nodes = rng.choice((3, 6, 12))

    def some() -> list[Pair]:
        count = rng.randrange(1 + nodes)
        return [(base + rng.randrange(nodes), base + rng.randrange(nodes)) for _ in range(count)]

    return [(some(), rng.random() < 0.5) for _ in range(rng.choice((1, 2, 2, 3, 4)))]


@pytest.mark.parametrize("seed", range(300))
def test_chains(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What connects is what the join connects, and all pairs are those that it has."""
    rng = random.Random(seed)
    base = rng.choice((0, 1, 2**32 - 12))
    facts = [drawn(rng, base) for _ in range(rng.choice((1, 1, 2, 3)))]
    found = spanning([steps(chain) for chain in facts])
    assert found is not None
    ends = {pair for chain in facts for pair in all_ends(chain)}
    assert np.array_equal(connected({(a, b) for a, b in found.tolist()}), connected(ends))
    # A star for each component: every end once, with the same one.
    assert len({a for a, _ in found.tolist()}) == len(found)
    assert {b for _, b in found.tolist()} <= {a for a, b in found.tolist() if a == b}
    monkeypatch.setattr(chains, "ROOM", rng.choice((1, 8, 1 << 16)))
    monkeypatch.setattr(chains, "WORK", rng.choice((1, 8, 1 << 16)))
    for chain in facts:
        pairs = joined([steps(chain)])
        assert pairs is not None
        assert words(pairs).tolist() == words(all_ends(chain)).tolist()


def test_what_leads_nowhere_is_not_followed() -> None:
    """From a thousand ends to a thousand dead ends: that would be a million steps."""
    into = [*((i, 0) for i in range(1, 1000)), (1000, 1)]
    on = [*((0, j) for j in range(2, 1000)), (1, 1)]
    chain: Facts = [(into, False), (on, False), ([(1, 1000)], False)]
    looks: list[int] = []
    pairs = joined([steps(chain)], lambda: looks.append(1))
    assert pairs is not None
    assert pairs.tolist() == [[1000, 1000]]
    few = len(looks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chains, "WORK", 500)
        joined([steps(chain)], lambda: looks.append(1))
    assert (few, len(looks) - few <= 5) == (1, True)  # an end is a step, too


def test_chains_without_an_end() -> None:
    chain: Facts = [([(1, 2)], False), ([(3, 4)], False)]
    pairs = joined([steps(chain)])
    assert pairs is not None
    assert pairs.tolist() == []


def test_ids_that_are_far_apart_are_left_to_a_join() -> None:
    chain: Facts = [([(0, 1), (2**31, 2)], False), ([(1, 0), (2, 5)], False)]
    assert spanning([steps(chain)]) is None
    assert joined([steps(chain)]) is None
