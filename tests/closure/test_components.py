"""Symmetric-transitive closure under insertion and deletion of edges."""

from __future__ import annotations

import contextlib
import itertools
import random

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.closure.histories import Pair, connected, history, words
from tests.closure.laws import Allocator, assert_is, follow, follow_without_memory
from tidelog.closure import Components, components
from tidelog.program.diagnostics import LimitError


def pairs_of(array: NDArray[np.uint32]) -> set[Pair]:
    words(array)
    return {(a, b) for a, b in array.tolist()}


def built(edges: list[Pair]) -> Components:
    closure = Components()
    closure.insert(edges)
    return closure


def square(*ids: int) -> set[Pair]:
    return set(itertools.product(ids, repeat=2))


@pytest.mark.parametrize("block", range(6))
def test_keeping_equals_closing_anew(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        follow(Components(), connected, history(seed, 25))


@pytest.mark.parametrize("block", range(2))
def test_memory_is_given_back_all_the_time(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "SPARE", 0)
    for seed in range(1000 + 20 * block, 1020 + 20 * block):
        follow(Components(), connected, history(seed, 25))


@pytest.mark.parametrize("extra", [0, 5, 50, 300])
def test_some_hundred_nodes(extra: int) -> None:
    """A tree of 300 nodes with more or fewer other edges: bridges, and long ways round."""
    rng = random.Random(extra)
    edges = [(x, rng.randrange(max(0, x - 9), x)) for x in range(1, 300)]
    edges += [(rng.randrange(300), rng.randrange(300)) for _ in range(extra)]
    changes = [("insert", edges)]
    for count in (1, 1, 1, 1, 1, 2, 5, 30, 100):
        some = rng.sample(edges, count)
        changes += [("delete", some), ("insert", some)]
    follow(Components(), connected, changes)


@pytest.mark.parametrize("seed", range(5))
def test_what_goes_and_comes_back(seed: int) -> None:
    rng = random.Random(seed)
    edges = [(rng.randrange(60), rng.randrange(60)) for _ in range(60)]
    closure = built(edges)
    pairs = words(closure.pairs())
    for count in (1, 2, 10, 50):
        some = rng.sample(edges, count)
        went = closure.delete(some)
        came = closure.insert(some)
        assert pairs_of(went) == pairs_of(came)
        assert_is(closure, set(edges), pairs)


def test_nothing() -> None:
    closure = Components()
    for edges in ([], np.empty((0, 2), np.uint32)):
        assert closure.insert(edges).shape == (0, 2)
        assert closure.delete(edges).shape == (0, 2)
    assert closure.delete([(1, 2)]).shape == (0, 2)
    assert_is(closure, set(), words([]))


def test_both_directions_count() -> None:
    closure = built([(1, 2)])
    assert len(closure.insert([(2, 1)])) == 0
    assert len(closure.delete([(1, 2)])) == 0
    assert pairs_of(closure.delete([(2, 1)])) == square(1, 2)
    assert pairs_of(closure.edges()) == set()


def test_a_loop_alone() -> None:
    closure = Components()
    assert pairs_of(closure.insert([(5, 5)])) == {(5, 5)}
    assert pairs_of(closure.insert([(5, 6)])) == {(5, 6), (6, 5), (6, 6)}
    assert len(closure.delete([(5, 5)])) == 0
    assert pairs_of(closure.delete([(5, 6)])) == square(5, 6)


def test_a_loop_stays_behind() -> None:
    closure = built([(5, 5), (5, 6)])
    assert pairs_of(closure.delete([(5, 6)])) == {(5, 6), (6, 5), (6, 6)}
    assert pairs_of(closure.pairs()) == {(5, 5)}


def test_components_merge_and_split() -> None:
    closure = built([(1, 2), (3, 4), (5, 6)])
    came = square(1, 2, 3, 4, 5, 6) - square(1, 2) - square(3, 4) - square(5, 6)
    assert pairs_of(closure.insert([(2, 3), (6, 4)])) == came
    assert pairs_of(closure.pairs()) == square(1, 2, 3, 4, 5, 6)
    assert pairs_of(closure.delete([(2, 3), (6, 4)])) == came
    assert pairs_of(closure.pairs()) == square(1, 2) | square(3, 4) | square(5, 6)


def test_the_middle_goes() -> None:
    """Both ends of a chain are cut off from what lies between, and from each other."""
    closure = built([(1, 2), (2, 3), (3, 4), (4, 5), (5, 6)])
    went = square(1, 2, 3, 4, 5, 6) - square(1, 2) - square(3, 4) - square(5, 6)
    assert pairs_of(closure.delete([(2, 3), (4, 5)])) == went


def test_the_largest_ids() -> None:
    top = 2**32 - 1
    closure = built([(top, 0)])
    assert pairs_of(closure.pairs()) == square(top, 0)


def test_a_long_way_round() -> None:
    """An edge of a cycle is no bridge, a second one is; a star falls apart entirely."""
    ring = [(x, (x + 1) % 500) for x in range(500)]
    closure = built(ring)
    assert len(closure.delete([(7, 8)])) == 0
    assert len(closure.delete([(107, 108)])) == 2 * 100 * 400
    star = [(1000, x) for x in range(1001, 1300)]
    assert len(closure.insert(star)) == 300**2
    assert len(closure.delete(star[::2])) == 300**2 - 150**2
    assert closure.size == 400**2 + 100**2 + 150**2


@pytest.mark.parametrize("seed", range(12))
def test_without_memory_nothing_changes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "SPARE", 0)
    allocator = Allocator(monkeypatch)
    changes = history(3000 + seed, 15)
    assert follow_without_memory(Components(), connected, changes, allocator) > 20


def test_members_that_could_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    closure, allocator = Components(), Allocator(monkeypatch)
    for number in itertools.count(1):
        assert pairs_of(closure.pairs()) == pairs_of(closure.around([(1, 2)])) == set()
        allocator.left = number
        with contextlib.suppress(LimitError):
            closure.insert([(1, 2)])
        allocator.left = -1
        if closure.size:
            break
    assert number > 10
    assert pairs_of(closure.pairs()) == square(1, 2)


def test_a_tick_may_stop_a_change() -> None:
    most = 16

    def tick(pairs: int) -> None:
        if pairs > most:
            raise LimitError(f"more than {most} facts")

    closure = Components(tick)
    chain = {(1, 2), (2, 3), (3, 4)}
    closure.insert(list(chain))
    with pytest.raises(LimitError, match="more than 16 facts"):
        closure.insert([(4, 5)])
    assert_is(closure, chain, words(square(1, 2, 3, 4)))
    most = 7
    for edge in ((2, 3), (2, 3), (1, 2)):
        with pytest.raises(LimitError, match="more than 7 facts"):
            closure.delete([edge, (9, 1)])
        assert_is(closure, chain, words(square(1, 2, 3, 4)))
    most = 8
    assert len(closure.delete([(2, 3)])) == 8


def test_nodes_without_edges_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "SPARE", 100)
    closure = Components()
    for start in range(0, 20_000, 500):
        edges = [(x, x + 1) for x in range(start, start + 499)]
        assert len(closure.insert(edges)) == len(closure.delete(edges)) == 500**2
    assert closure.memory() < 2 * built([(x, x + 1) for x in range(999)]).memory()


@pytest.mark.parametrize("seed", range(40))
def test_it_may_have_other_edges(seed: int) -> None:
    rng = random.Random(seed)
    closure, edges = Components(), set[Pair]()
    for _ in range(6):
        nodes, count = rng.choice((3, 10, 30)), rng.choice((0, 1, 8, 40))
        others = {(rng.randrange(nodes), rng.randrange(nodes)) for _ in range(count)}
        others |= {edge for edge in edges if rng.random() < 0.5}
        before = pairs_of(closure.pairs())
        came, went = (pairs_of(some) for some in closure.become(sorted(others)))
        assert_is(closure, others, connected(others))
        assert (before | came) - went == pairs_of(closure.pairs())
        assert not came & before
        edges = others
