"""Transitive closure under insertion and deletion of edges."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.closure.histories import Pair, history, reachable, words
from tests.closure.laws import Allocator, assert_is, follow, follow_without_memory
from tidelog.closure import Reachability, growing_arrays, reachability
from tidelog.closure.kernels import rows
from tidelog.program.diagnostics import LimitError

CYCLE = [(1, 2), (2, 3), (3, 4), (4, 1)]


def pairs_of(array: NDArray[np.uint32]) -> set[Pair]:
    words(array)
    return {(a, b) for a, b in array.tolist()}


def built(edges: list[Pair]) -> Reachability:
    closure = Reachability()
    closure.insert(edges)
    return closure


def random_edges(seed: int, nodes: int, count: int, forward: bool) -> list[Pair]:
    rng = random.Random(seed)
    pairs = (tuple(rng.sample(range(nodes), 2)) for _ in range(count))
    return [(min(a, b), max(a, b)) if forward else (a, b) for a, b in pairs]


@pytest.mark.parametrize("block", range(6))
def test_keeping_equals_closing_anew(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        follow(Reachability(), reachable, history(seed, 25))


@pytest.mark.parametrize("block", range(3))
def test_memory_is_given_back_all_the_time(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are moved together and nodes forgotten after nearly every change."""
    monkeypatch.setattr(reachability, "SPARE", 0)
    for seed in range(1000 + 20 * block, 1020 + 20 * block):
        follow(Reachability(), reachable, history(seed, 25))


@pytest.mark.parametrize("seed", range(10))
def test_words_in_use_are_counted(seed: int) -> None:
    """Or rows that are left behind would never be given back, or all the time."""
    closure = Reachability()
    for kind, edges in history(seed, 25):
        getattr(closure, kind)(edges)
        r = closure._rows
        roots = np.flatnonzero(r.root[: closure._nodes] == np.arange(closure._nodes))
        assert r.info[rows.LIVE] == r.length[roots].sum() <= r.info[rows.TOP]


@pytest.mark.parametrize("bulk", [0, 10**9])
@pytest.mark.parametrize("trial", [1, 10**9])
def test_edges_one_by_one_or_in_one_pass(
    bulk: int, trial: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Always one by one, one by one until the first is too dear, always in one pass."""
    monkeypatch.setattr(reachability, "BULK", bulk)
    monkeypatch.setattr(reachability, "TRIAL", trial)
    for seed in range(2000, 2020):
        follow(Reachability(), reachable, history(seed, 25))


@pytest.mark.parametrize(
    ("there", "come"),
    [
        ([(5, 2), (6, 8), (2, 5)], [(3, 1), (8, 3), (8, 6), (1, 2), (5, 8), (3, 2)]),
        (
            [(0, 7), (3, 8), (8, 3), (3, 4), (4, 7)],
            [(4, 8), (0, 4), (4, 9), (7, 0), (9, 8)],
        ),
    ],
)
def test_an_edge_is_not_used_before_its_turn(
    there: list[Pair], come: list[Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One by one, an edge must not pass on what comes before it has been joined itself."""
    monkeypatch.setattr(reachability, "BULK", 0)
    monkeypatch.setattr(reachability, "EDGE", 1000)
    follow(Reachability(), reachable, [("insert", there), ("insert", come)])


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("degree", [1, 2, 5])
def test_some_hundred_nodes(degree: int, forward: bool) -> None:
    """Rows of several words, components of many nodes, many that wait at once."""
    edges = random_edges(degree, 300, 300 * degree, forward)
    rng = random.Random(degree)
    changes = [("insert", edges)]
    for count in (1, 1, 1, 1, 5, 30, 100, len(edges) // 2):
        some = rng.sample(edges, count)
        changes += [("delete", some), ("insert", some)]
    follow(Reachability(), reachable, changes)


def test_nodes_that_are_far_apart() -> None:
    """Chains of ten among many nodes, then edges between them."""
    chains = [(x, x + 1) for x in range(1500) if x % 10 != 9]
    rng = random.Random(7)
    across = [(rng.randrange(1500), rng.randrange(1500)) for _ in range(40)]
    rng.shuffle(chains)
    changes = [("insert", chains), *(("insert", [edge]) for edge in across[:3])]
    changes += [("insert", across), ("delete", across[::2]), ("delete", across)]
    closure = Reachability()
    follow(closure, reachable, changes)
    assert closure.size == 150 * 45


@pytest.mark.parametrize("seed", range(5))
def test_what_goes_and_comes_back(seed: int) -> None:
    edges = random_edges(seed, 60, 150, seed % 2 == 0)
    closure = built(edges)
    pairs = words(closure.pairs())
    for count in (1, 2, 10, 100):
        some = random.Random(count).sample(edges, count)
        went = closure.delete(some)
        came = closure.insert(some)
        assert pairs_of(went) == pairs_of(came)
        assert_is(closure, set(edges), pairs)


def test_nothing() -> None:
    closure = Reachability()
    for edges in ([], np.empty((0, 2), np.uint32)):
        assert closure.insert(edges).shape == (0, 2)
        assert closure.delete(edges).shape == (0, 2)
    assert closure.delete([(1, 2)]).shape == (0, 2)
    assert closure.pairs().dtype == np.uint32
    assert_is(closure, set(), words([]))


def test_edges_have_two_ends() -> None:
    with pytest.raises(ValueError, match=r"edges have the shape \(k, 2\), not \(1, 3\)"):
        Reachability().insert([(1, 2, 3)])


@pytest.mark.parametrize("edge", [(-1, 0), (0, 2**32), (0.5, 1)])
def test_ids_are_whole_numbers_of_32_bits(edge: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match=r"^ids are whole numbers from 0 to 2\*\*32 - 1$"):
        Reachability().insert([edge])


def test_arrays_that_cannot_be_written_or_are_turned() -> None:
    edges = np.array([[1, 2], [2, 3]], dtype=np.uint32)
    edges.flags.writeable = False
    assert pairs_of(Reachability().insert(edges)) == {(1, 2), (2, 3), (1, 3)}
    assert pairs_of(Reachability().insert(edges[:, ::-1])) == {(2, 1), (3, 2), (3, 1)}


def test_edges_that_are_there_or_not() -> None:
    closure = built([(1, 2)])
    assert len(closure.insert([(1, 2), (1, 2)])) == 0
    assert pairs_of(closure.insert([(2, 3), (2, 3), (1, 2)])) == {(2, 3), (1, 3)}
    assert len(closure.delete([(1, 3), (3, 1), (9, 9)])) == 0
    assert pairs_of(closure.delete([(1, 2), (1, 2), (7, 8)])) == {(1, 2), (1, 3)}


def test_a_loop() -> None:
    closure = built([(1, 2)])
    assert pairs_of(closure.insert([(1, 1)])) == {(1, 1)}
    assert pairs_of(closure.insert([(2, 2)])) == {(2, 2)}
    assert pairs_of(closure.delete([(1, 1)])) == {(1, 1)}
    assert pairs_of(closure.delete([(1, 2)])) == {(1, 2)}


def test_a_cycle_closes_and_opens() -> None:
    closure = built(CYCLE[:3])
    back = {(a, b) for a in range(1, 5) for b in range(1, a + 1)}
    assert pairs_of(closure.insert(CYCLE[3:])) == back
    assert pairs_of(closure.pairs()) == set(itertools.product(range(1, 5), repeat=2))
    assert pairs_of(closure.delete(CYCLE[3:])) == back
    closure.insert(CYCLE[3:])
    assert len(closure.delete([(2, 3)])) == 16 - 6


def test_a_cycle_with_a_chord() -> None:
    closure = built([*CYCLE, (2, 4), (0, 1), (4, 5)])
    assert len(closure.delete([(1, 2), (4, 1)])) > 0
    closure.insert([(1, 2), (4, 1)])
    assert pairs_of(closure.delete([(3, 4)])) == {(3, x) for x in range(1, 6)}
    assert pairs_of(closure.insert([(3, 4)])) == {(3, x) for x in range(1, 6)}
    assert len(closure.delete([(2, 4)])) == 0


def test_cycles_that_merge_and_part() -> None:
    closure = built([(1, 2), (2, 1), (3, 4), (4, 3)])
    assert len(closure.insert([(2, 3)])) == 4
    assert len(closure.insert([(4, 1)])) == 4
    assert closure.size == 16
    assert len(closure.delete([(2, 3), (4, 1)])) == 8


def test_the_end_of_a_component_that_reaches_as_much_as_before() -> None:
    """Nodes 1 and 2 keep their row while 3 leaves their component, and 9 reaches them."""
    closure = built([(1, 2), (2, 1), (2, 3), (3, 1), (9, 3)])
    assert pairs_of(closure.delete([(3, 1)])) == {(3, 1), (3, 2), (3, 3), (9, 1), (9, 2)}


def test_the_largest_ids() -> None:
    top = 2**32 - 1
    closure = built([(top, 0), (0, top - 1)])
    assert pairs_of(closure.pairs()) == {(top, 0), (0, top - 1), (top, top - 1)}


@pytest.mark.parametrize("seed", range(12))
def test_without_memory_nothing_changes(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachability, "SPARE", 0)
    allocator = Allocator(monkeypatch)
    changes = history(3000 + seed, 15)
    assert follow_without_memory(Reachability(), reachable, changes, allocator) > 20


def test_a_tick_may_stop_a_change() -> None:
    most = 10**9

    def tick(pairs: int) -> None:
        if pairs > most:
            raise LimitError(f"more than {most} facts")

    closure = Reachability(tick)
    chain = [(x, x + 1) for x in range(200)]
    closure.insert(chain[:50])
    most = closure.size
    for edges in (chain, [(50, 51)], [(51, 51), (50, 51)]):
        with pytest.raises(LimitError, match="more than 1275 facts"):
            closure.insert(edges)
        assert_is(closure, set(chain[:50]), reachable(set(chain[:50])))
    most = 10**9
    assert len(closure.insert(chain)) == 200 * 201 // 2 - 1275
    most = 0
    with pytest.raises(LimitError):
        closure.delete([(100, 101)])
    most = 10**9
    assert len(closure.delete([(100, 101)])) == 101 * 100


def test_ticks_come_while_a_change_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the slices are: kernels go on where they stopped."""
    monkeypatch.setattr(reachability, "SLICE", 0)
    ticks: list[int] = []
    chain = [(x, x + 1) for x in range(100)]
    follow(Reachability(ticks.append), reachable, [("insert", chain), ("delete", chain[50:])])
    assert len(ticks) > 150
    assert max(ticks) == 101 * 50
    for seed in range(20):
        follow(Reachability(ticks.append), reachable, history(seed, 20))


def test_an_array_that_is_too_large() -> None:
    with pytest.raises(LimitError, match=r"error: no memory for a table of .* MiB"):
        growing_arrays.new(1 << 56, np.uint64)


def test_nodes_without_edges_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachability, "SPARE", 100)
    closure = Reachability()
    for start in range(0, 20_000, 1000):
        edges = [(x, x + 1) for x in range(start, start + 999)]
        assert len(closure.insert(edges)) == len(closure.delete(edges)) == 999 * 1000 // 2
    assert closure.memory() < 2 * built([(x, x + 1) for x in range(1999)]).memory()


def test_rows_left_behind_are_given_back() -> None:
    edges = random_edges(1, 2000, 20_000, True)
    closure = built(edges)
    memory = closure.memory()
    for _ in range(5):
        closure.delete(edges[:5000])
        closure.insert(edges[:5000])
    assert closure.memory() < 4 * memory


@pytest.mark.parametrize(
    ("nodes", "count", "forward"),
    [(2000, 20_000, True), (1000, 10_000, False), (20_000, 15_000, False), (20_000, 100, True)],
)
def test_an_estimate_of_memory(nodes: int, count: int, forward: bool) -> None:
    edges = random_edges(5, nodes, count, forward)
    memory = built(edges).memory()
    assert 0.8 * memory < Reachability.estimate(edges) < 2 * memory


def test_an_estimate_of_nothing() -> None:
    assert Reachability.estimate([]) == Reachability().memory()


def test_chains_take_little_memory() -> None:
    """However many nodes there are, a row has room for what it reaches only."""
    ids = np.random.default_rng(1).permutation(100_000).astype(np.uint32)
    starts = np.flatnonzero(np.arange(100_000) % 10 != 9)
    edges = np.stack([ids[starts], ids[starts + 1]], axis=1)
    closure = Reachability()
    assert len(closure.insert(edges)) == 10_000 * 45
    assert closure.memory() < 200 * 100_000
