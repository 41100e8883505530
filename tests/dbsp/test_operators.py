"""Every incremental operator equals D ∘ ↑Q ∘ I, flat and nested."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dbsp.generate import QUERIES, K, T, grid, lawful, long, nested, streams
from tidelog.dbsp import Aggregate, Stream, Streams, ZSet, count, incremental, lift, sum_of
from tidelog.dbsp.clock import Clock, OperatorNode, Wire, same
from tidelog.dbsp.delays import Future
from tidelog.dbsp.operators import GroupBy, Operator


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", QUERIES)
@lawful
@given(data=st.data())
def test_operator_is_the_incremental_form_of_its_query(name: str, data: st.DataObject) -> None:
    query = QUERIES[name]
    inputs = [data.draw(streams()) for _ in range(query.inputs)]
    expected = incremental(lift(query.function, query.group))(*inputs)
    operator = query.operator()
    assert operator.width == query.width
    for t in range(T + 1):
        change = operator.step(0, *(s[t].batch() for s in inputs))
        assert ZSet.from_batch(change) == expected[t]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", QUERIES)
@long
@given(data=st.data())
def test_operator_is_incremental_under_two_clocks(name: str, data: st.DataObject) -> None:
    """(↑(↑Q)^Δ)^Δ, whatever the inner times at which changes come."""
    query = QUERIES[name]
    inputs = [data.draw(nested()) for _ in range(query.inputs)]
    within = incremental(lift(query.function, query.group))
    expected = incremental(lift(within, Streams(query.group)))(*inputs)
    assert run_nested(query.operator(), inputs) == grid(expected)


def run_nested(operator: Operator, inputs: list[Stream[Stream[ZSet]]]) -> list[list[ZSet]]:
    """An operator's results, by outer and inner times."""
    clock, node, results = (
        Clock(),
        OperatorNode(operator, [2] * len(inputs)),
        Future(operator.width),
    )
    clock.parts.append(node)
    node.wires.append(Wire(results, same))
    found = []
    for t in range(T + 1):
        for future, s in zip(node.inputs, inputs, strict=True):
            for k in range(K):
                future.put(s[t][k].batch(time=k))
        clock.run()
        found.append([ZSet.from_batch(results.take(k)) for k in range(K + 1)])
        assert results.first() == clock.first()  # nothing is left, and nothing came later
    return found


@pytest.mark.parametrize("name", [n for n, q in QUERIES.items() if q.inputs == 1])
def test_room_is_given_back(name: str) -> None:
    """What comes and goes again takes no room in the end."""
    many = ZSet.of([(a, b) for a in range(100) for b in range(100)])
    operator = QUERIES[name].operator()
    empty = operator.memory()
    for change in (many, -many, many, -many):
        operator.step(0, change.batch())
    assert operator.memory() <= 2 * empty + 200_000 if empty else operator.memory() == 0


def test_room_of_a_join_is_given_back() -> None:
    many = ZSet.of([(a, 0) for a in range(20_000)])
    join = QUERIES["join"].operator()
    nothing = ZSet.zero(2).batch()
    join.step(0, many.batch(), nothing)
    full = join.memory()
    join.step(0, (-many).batch(), nothing)
    assert full > 20_000 * 40
    assert join.memory() < full / 100


@pytest.mark.parametrize("aggregate", [count(), sum_of(1)])
def test_counts_and_sums_do_not_look_at_their_groups(aggregate: Aggregate) -> None:
    """What is kept of a group does not grow with it."""
    operator = GroupBy(2, (0,), aggregate)
    for start in range(0, 10_000, 1000):
        operator.step(0, ZSet.of([(7, start + k) for k in range(1000)]).batch())
    assert len(operator.inputs.trace) <= 2


class TestWeightsThatDoNotFit:
    """A weight beyond 64 bits would wrap around: it is refused, before it is in any state."""

    big = ZSet.of({(1, 1): 2**61})

    def test_sums_over_steps(self) -> None:
        operator = QUERIES["distinct"].operator()
        operator.step(0, self.big.batch())
        with pytest.raises(OverflowError, match="might not fit into 64 bits"):
            operator.step(0, self.big.batch())

    def test_what_cancels_out_does_not_count(self) -> None:
        operator = QUERIES["distinct"].operator()
        half = ZSet.of({(1, 1): 2**60})
        for change in (half, -half) * 5:
            found = ZSet.from_batch(operator.step(0, change.batch()))
            assert found == change.sign()

    @pytest.mark.parametrize("power", [31, 32, 40])
    def test_products(self, power: int) -> None:
        """2**32 times 2**32 would be 0, and the row would be lost."""
        operator, large = QUERIES["join"].operator(), ZSet.of({(1, 1): 2**power})
        with pytest.raises(OverflowError, match="might not fit into 64 bits"):
            operator.step(0, large.batch(), large.batch())

    def test_sums_of_columns(self) -> None:
        with pytest.raises(OverflowError, match="might not fit into 64 bits"):
            QUERIES["sum"].operator().step(0, ZSet.of({(1, 2**61): 2}).batch())
