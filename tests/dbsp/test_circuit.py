"""Circuits: fixpoints equal naive iteration, and a batch equals its changes one at a time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tidelog.dbsp import (
    Circuit,
    Flow,
    Stream,
    ZSet,
    ZSets,
    count,
    incremental,
    least,
    lift,
    recursive,
    sum_of,
)
from tidelog.dbsp.clock import Clock
from tidelog.program.diagnostics import LimitError


def linear(edge: ZSet | Flow, path: ZSet | Flow) -> ZSet | Flow:
    """path(x, z) :- path(x, y), edge(y, z)."""
    return (edge + path.join(edge, [(1, 0)], (0, 3))).distinct()


def square(edge: ZSet | Flow, path: ZSet | Flow) -> ZSet | Flow:
    """path(x, z) :- path(x, y), path(y, z)."""
    return (edge + path.join(path, [(1, 0)], (0, 3))).distinct()


def symmetric(edge: ZSet | Flow, path: ZSet | Flow) -> ZSet | Flow:
    """Both directions, and steps at either end."""
    back = path.project((1, 0))
    return (edge + back + back.join(edge, [(0, 1)], (2, 1))).distinct()


def same_generation(edge: ZSet | Flow, same: ZSet | Flow) -> ZSet | Flow:
    """same(x, y) :- edge(p, x), same(p, q), edge(q, y)."""
    ends = edge.project((1, 1)) + edge.join(same, [(0, 0)], (1, 3)).join(edge, [(1, 0)], (0, 3))
    return ends.distinct()


def unpaired(edge: ZSet | Flow, path: ZSet | Flow) -> ZSet | Flow:
    """Paths through nodes that have no edge to themselves: a difference inside."""
    loops = edge.select(lambda x, y: x == y).project((0,)).distinct()
    stops = path.join(loops, [(1, 0)], (0, 1))
    return (edge + (path - stops).join(edge, [(1, 0)], (0, 3))).distinct()


def nearest(edge: ZSet | Flow, distance: ZSet | Flow) -> ZSet | Flow:
    """Steps from node 0, the fewest: an aggregate inside the recursion."""
    start = edge.project(()).distinct().map(lambda: (0, 0))
    further = distance.join(edge, [(0, 0)], (3, 1)).map(lambda y, n: (y, n + 1))
    return (start + further).group_by((0,), least(1))


BODIES = (linear, square, symmetric, same_generation, unpaired, nearest)


def circuit_of(body: Callable[..., Flow]) -> Circuit:
    circuit = Circuit()
    edge = circuit.input("edge", 2)
    circuit.output("found", circuit.fixpoint(2, lambda found: body(edge, found)))
    return circuit


def history(seed: int, nodes: int, steps: int) -> Iterator[ZSet]:
    """Changes of a set of edges: some come and some go, in one step."""
    rng = random.Random(seed)
    edges: set[tuple[int, int]] = set()
    for _ in range(steps):
        drawn = {
            (rng.randrange(nodes), rng.randrange(nodes)) for _ in range(rng.choice((1, 2, nodes)))
        }
        go = {e for e in edges if rng.random() < rng.choice((0, 0.1, 0.5))}
        yield ZSet.of(dict.fromkeys(drawn - edges, 1) | dict.fromkeys(go, -1), width=2)
        edges = (edges | drawn) - go


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("seed", range(12))
def test_a_fixpoint_is_the_incremental_form_of_the_recursive_query(
    body: Callable[..., Flow], seed: int
) -> None:
    """(↑recursive(R))^Δ: after each change the same as naive iteration from nothing."""
    pairs = ZSets(2)
    changes = list(history(seed, nodes=(3, 5, 8)[seed % 3], steps=8))
    query = lift(recursive(body, pairs, pairs))
    expected = incremental(query)(Stream.of(pairs, changes))
    circuit = circuit_of(body)
    for t, change in enumerate(changes):
        assert circuit.step(edge=change)["found"] == expected[t]


def closure(edges: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
    found = set(edges)
    while new := {(a, d) for a, b in found for c, d in edges if b == c} - found:
        found |= new
    return found


@pytest.mark.parametrize("body", [linear, square])
def test_a_long_history_of_a_closure(body: Callable[..., Flow]) -> None:
    circuit = circuit_of(body)
    edges, paths = ZSet.zero(2), ZSet.zero(2)
    for change in history(seed=3, nodes=12, steps=150):
        edges += change
        paths += circuit.step(edge=change)["found"]
        assert dict(paths) == dict.fromkeys(closure({row for row, _ in edges}), 1)


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("seed", range(6))
def test_a_batch_equals_its_changes_one_at_a_time(body: Callable[..., Flow], seed: int) -> None:
    """In any order, with retractions in recursion: what is gone may not hold itself up."""
    rng = random.Random(seed)
    whole, single = circuit_of(body), circuit_of(body)
    for change in history(seed + 100, nodes=6, steps=6):
        found = whole.step(edge=change)["found"]
        rows = list(change)
        rng.shuffle(rows)
        parts = [single.step(edge=ZSet.of({row: w}))["found"] for row, w in rows]
        assert sum(parts, ZSet.zero(2)) == found


def reaching() -> Circuit:
    circuit = Circuit()
    start, edge = circuit.input("start", 1), circuit.input("edge", 2)
    reached = circuit.fixpoint(
        1, lambda reached: (start + reached.join(edge, [(0, 0)], (2,))).distinct()
    )
    circuit.output("reached", reached)
    return circuit


def test_a_cycle_that_is_cut_off_goes() -> None:
    """The nodes of a cycle hold each other up, and must still go with the way to it."""
    circuit = reaching()
    edges = ZSet.of([(0, 1), (1, 2), (2, 3), (3, 1)])
    assert len(circuit.step(start=ZSet.of([(0,)]), edge=edges)["reached"]) == 4
    cut = circuit.step(edge=ZSet.of({(0, 1): -1}))["reached"]
    assert dict(cut) == {(1,): -1, (2,): -1, (3,): -1}
    assert dict(circuit.step(edge=ZSet.of([(0, 3)]))["reached"]) == {(1,): 1, (2,): 1, (3,): 1}


def test_relations_that_depend_on_each_other() -> None:
    circuit = Circuit()
    edge = circuit.input("edge", 2)

    def body(odd: Flow, even: Flow) -> tuple[Flow, Flow]:
        more = even.join(edge, [(1, 0)], (0, 3))
        return (edge + more).distinct(), odd.join(edge, [(1, 0)], (0, 3)).distinct()

    for name, flow in zip(("odd", "even"), circuit.fixpoint((2, 2), body), strict=True):
        circuit.output(name, flow)
    found = circuit.step(edge=ZSet.of([(0, 1), (1, 2), (2, 3), (3, 0)]))
    assert all((b - a) % 2 == 1 for (a, b), _ in found["odd"])
    assert (len(found["odd"]), len(found["even"])) == (8, 8)
    found = circuit.step(edge=ZSet.of({(3, 0): -1}))
    assert dict(found["odd"]) == dict.fromkeys([(1, 0), (2, 1), (3, 0), (3, 2)], -1)
    assert dict(found["even"]) == dict.fromkeys(
        [(0, 0), (1, 1), (2, 0), (2, 2), (3, 1), (3, 3)], -1
    )


def test_fixpoints_follow_each_other() -> None:
    """What a fixpoint gives is an input of the next, and of queries outside."""
    circuit = Circuit()
    edge = circuit.input("edge", 2)
    path = circuit.fixpoint(2, lambda path: linear(edge, path))
    mutual = path.join(path, [(1, 0), (0, 1)], (0, 1))
    circuit.output(
        "members", circuit.fixpoint(2, lambda x: linear(mutual, x)).group_by((0,), count())
    )
    circuit.output("weights", edge.group_by((), sum_of(1)))
    found = circuit.step(edge=ZSet.of([(1, 2), (2, 1), (2, 3)]))
    assert dict(found["members"]) == {(1, 2): 1, (2, 2): 1}
    assert dict(found["weights"]) == {(6,): 1}
    found = circuit.step(edge=ZSet.of({(3, 1): 1}))
    assert dict(found["members"]) == {(1, 2): -1, (2, 2): -1, (1, 3): 1, (2, 3): 1, (3, 3): 1}
    assert dict(found["weights"]) == {(6,): -1, (7,): 1}


def test_a_feedback_by_hand() -> None:
    """Paths of an even number of edges, by a second delay in the loop."""
    circuit = Circuit()
    edge = circuit.input("edge", 2)

    def body(far: Flow) -> Flow:
        step = circuit.feedback(2)
        step.connect(far.join(edge, [(1, 0)], (0, 3)))
        return (edge + step.join(edge, [(1, 0)], (0, 3))).distinct()

    circuit.output("odd", circuit.fixpoint(2, body))
    found = circuit.step(edge=ZSet.of([(k, k + 1) for k in range(6)]))["odd"]
    assert {row for row, _ in found} == {(a, b) for a in range(6) for b in range(a + 1, 7, 2)}


def test_only_rounds_in_which_something_happens_are_visited() -> None:
    """A round that is far away is reached at once: its time comes from what a change meets."""
    circuit = reaching()
    chain = ZSet.of([(k, k + 1) for k in range(500)])
    (clock,) = (part for part in circuit._clock.parts if isinstance(part, Clock))
    clock.rounds = 502
    assert len(circuit.step(start=ZSet.of([(0,)]), edge=chain)["reached"]) == 501
    clock.rounds = 6
    for weight in (-1, 1):
        change = circuit.step(edge=ZSet.of({(498, 499): weight, (497, 499): -weight}))
        assert change["reached"] == ZSet.zero(1)
        change = circuit.step(edge=ZSet.of({(499, 500): weight}))
        assert dict(change["reached"]) == {(500,): weight}


def test_memory_is_reported_and_given_back() -> None:
    circuit = circuit_of(linear)
    empty = circuit.memory()
    edges = ZSet.of([(k, k + 1) for k in range(200)])
    circuit.step(edge=edges)
    full = circuit.memory()
    assert full > 20_000 * 4 * 40
    for _ in range(3):
        circuit.step(edge=-edges)
        circuit.step(edge=edges)
    assert circuit.memory() <= 2 * full
    circuit.step(edge=-edges)
    assert circuit.memory() < full / 10
    assert empty < 20_000


def endless(circuit: Circuit) -> Flow:
    edge = circuit.input("edge", 2)
    return circuit.fixpoint(2, lambda p: edge + p.join(edge, [(1, 0)], (0, 3)))


def test_a_fixpoint_without_an_end_is_given_up() -> None:
    circuit = Circuit(rounds=1000)
    circuit.output("path", endless(circuit))
    with pytest.raises(LimitError, match="not ended after 1,000 rounds; `distinct` in it"):
        circuit.step(edge=ZSet.of([(1, 1)]))
    with pytest.raises(ValueError, match="something failed here before: build the circuit anew"):
        circuit.step(edge=ZSet.of([(1, 1)]))


def test_weights_that_grow_beyond_64_bits_are_refused() -> None:
    circuit = Circuit()
    circuit.output("path", endless(circuit))
    with pytest.raises(OverflowError, match="might not fit into 64 bits"):
        circuit.step(edge=ZSet.of([(0, 0), (0, 1), (1, 0), (1, 1)]))


@dataclass
class Building:
    circuit: Circuit
    edge: Flow
    inside: Flow


@pytest.fixture
def building() -> Building:
    circuit = Circuit()
    edge = circuit.input("edge", 2)
    seen: list[Flow] = []

    def body(path: Flow) -> Flow:
        seen.append(path)
        return path + edge.distinct() - path

    circuit.fixpoint(2, body)
    return Building(circuit, edge, seen[0])


def nest(b: Building) -> object:
    return b.circuit.fixpoint(2, lambda p: b.circuit.fixpoint(2, lambda q: p + q))


def leave_open(b: Building) -> object:
    return b.circuit.fixpoint(2, lambda p: p + b.circuit.feedback(2))


def build_late(b: Building) -> object:
    b.circuit.step()
    return b.edge.distinct()


def output_late(b: Building) -> object:
    b.circuit.step()
    return b.circuit.output("late", b.edge)


WRONG: list[tuple[Callable[[Building], object], str]] = [
    (nest, "a fixpoint within a fixpoint would need a third clock"),
    (leave_open, "there is a feedback that was never connected"),
    (build_late, "a circuit is built before its first step"),
    (output_late, "a circuit is built before its first step"),
    (lambda b: b.inside + b.edge, "a flow of a fixpoint that is closed: use what it returned"),
    (lambda b: b.circuit.output("x", b.inside), "a flow of a fixpoint that is closed"),
    (lambda b: b.circuit.fixpoint(2, lambda p: b.circuit.output("x", p)), "outside of fixpoints"),
    (lambda b: b.edge + Circuit().input("edge", 2), "a flow of another circuit"),
    (lambda b: b.edge + b.edge.project((0,)), "rows of 2 and of 1 columns have no sum"),
    (lambda b: b.circuit.feedback(2), "a feedback is part of a fixpoint's body"),
    (lambda b: b.circuit.fixpoint(3, lambda p: b.edge), "connected once, to a flow of its width"),
    (lambda b: b.circuit.fixpoint((2, 2), lambda p, q: [p]), "takes 2 flows, and gives 1"),
    (lambda b: b.circuit.input("edge", 2), "the input edge already exists"),
    (lambda b: b.circuit.step(edges=ZSet.zero(2)), "unknown input edges; known: edge"),
    (lambda b: b.circuit.step(edge=ZSet.zero(3)), "edge has 2 columns, and its change 3"),
    (lambda b: b.edge.project((2,)), "column 2 is out of range"),
    (lambda b: b.edge.join(b.edge, [(0, 9)]), "column 9 is out of range"),
    (lambda b: b.edge.group_by((0,), sum_of(2)), "column 2 is out of range"),
]


@pytest.mark.parametrize(("act", "message"), WRONG)
def test_circuits_that_cannot_be(
    building: Building, act: Callable[[Building], object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        act(building)


def test_a_refused_step_changes_nothing(building: Building) -> None:
    building.circuit.output("edges", building.edge)
    with pytest.raises(ValueError, match="unknown input other"):
        building.circuit.step(edge=ZSet.of([(1, 2)]), other=ZSet.zero(1))
    with pytest.raises(TypeError, match="the change of edge is not a Z-set"):
        building.circuit.step(edge={(1, 2): 1})  # type: ignore[arg-type]
    assert building.circuit.step()["edges"] == ZSet.zero(2)
