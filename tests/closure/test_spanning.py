"""What chains of facts connect, found without a join."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.closure.histories import Pair, connected, words
from tests.closure.laws import Allocator
from tidelog.closure import Components, Step, spanning
from tidelog.program.diagnostics import LimitError

Facts = list[tuple[list[Pair], bool]]


def steps(chain: Facts) -> list[Step]:
    return [Step(np.array(some, np.uint32).reshape(-1, 2), turned) for some, turned in chain]


def joined(chain: Facts) -> set[Pair]:
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
def test_it_connects_what_the_join_connects(seed: int) -> None:
    rng = random.Random(seed)
    base = rng.choice((0, 1, 2**32 - 12))
    chains = [drawn(rng, base) for _ in range(rng.choice((1, 1, 2, 3)))]
    found = spanning([steps(chain) for chain in chains])
    assert found is not None
    ends = {pair for chain in chains for pair in joined(chain)}
    assert np.array_equal(connected({(a, b) for a, b in found.tolist()}), connected(ends))
    # A star for each component: every end once, with the same one.
    assert len({a for a, _ in found.tolist()}) == len(found)
    assert {b for _, b in found.tolist()} <= {a for a, b in found.tolist() if a == b}


def test_ids_that_are_far_apart_are_left_to_a_join() -> None:
    chain: Facts = [([(0, 1), (2**31, 2)], False), ([(1, 0), (2, 5)], False)]
    assert spanning([steps(chain)]) is None


@pytest.mark.parametrize("seed", range(40))
def test_other_edges_that_connect_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever array is refused, the closure is as it was or as it is to be."""
    rng = random.Random(seed)
    edges = {(rng.randrange(30), rng.randrange(30)) for _ in range(rng.choice((1, 10, 40)))}
    stars = spanning([steps([(sorted(edges), False)])])
    assert stars is not None
    closure = Components()
    closure.insert(stars)
    before = words(closure.pairs())
    allocator = Allocator(monkeypatch)
    for number in range(1, 100):
        allocator.left = number
        try:
            closure.become(sorted(edges))
        except LimitError:
            assert np.array_equal(words(closure.edges()), words(stars))
            assert np.array_equal(words(closure.pairs()), before)
        else:
            break
    allocator.left = -1
    assert number > 1
    assert np.array_equal(words(closure.edges()), words(edges))
    assert np.array_equal(words(closure.pairs()), before)
    assert closure.size == len(before)
    gone = rng.sample(sorted(edges), len(edges) // 2)
    closure.delete(gone)
    assert np.array_equal(words(closure.pairs()), connected(edges - set(gone)))
