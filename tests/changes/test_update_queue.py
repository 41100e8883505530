"""The update queue: some changes join at a time, with the same result as in order."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog import Database, FactChange
from tidelog.changes.arrivals import PORTION as READ
from tidelog.changes.policies.fully_dynamic import FullyDynamic
from tidelog.changes.policies.policy import Arrived
from tidelog.changes.policies.update_queue import PORTION, StartedUpdate, UpdateQueue
from tidelog.program.changes import Op
from tidelog.transaction.core import Options

Some = dict[str, dict[tuple[int], Op]]

relations = st.sampled_from(("p", "q"))
rows = st.tuples(st.integers(0, 5))
changes = st.dictionaries(relations, st.dictionaries(rows, st.sampled_from("+-"), min_size=1))
# An update that is taken, or None where some join.
schedules = st.lists(st.none() | changes, max_size=30)


@given(schedules, st.integers(1, 6))
def test_the_last_change_of_a_fact_counts(schedule: list[Some | None], portion: int) -> None:
    queue = UpdateQueue(portion)
    expected: dict[tuple[str, tuple[int]], Op] = {}
    found: dict[tuple[str, tuple[int]], Op] = {}
    given_, done = [], []

    def join() -> None:
        some, updates = queue.some()
        assert sum(map(len, some.values())) <= portion
        for name, mine in some.items():
            found.update({(name, row): op for row, op in mine.items()})
        done.extend(taken.update.number for taken in updates)

    for number, update in enumerate(schedule):
        if update is not None:
            given_.append(number)
            expected.update(
                {(n, row): op for n, mine in update.items() for row, op in mine.items()}
            )
            copied = {name: dict(mine) for name, mine in update.items()}
            queue.add(StartedUpdate(Arrived(number, (), 0.0), 0.0), copied)
        elif queue:
            join()
    while queue:
        join()
    assert found == expected
    assert sorted(done) == given_


PATHS = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""


def arrived(number: int, *changes: FactChange) -> Arrived:
    return Arrived(number, [(change, {}) for change in changes], perf_counter())


def added(first: int, count: int) -> list[FactChange]:
    return [FactChange("+", "edge", (first + 2 * n, first + 2 * n + 1)) for n in range(count)]


def test_a_small_update_joins_before_the_rest_of_a_large_one() -> None:
    database = Database(PATHS)
    policy = FullyDynamic(database.core, lambda: None, Options("auto"))
    policy.take(arrived(1, *added(0, 3 * PORTION)))
    assert not policy.wants()  # before some of it has joined
    assert not policy.step()
    policy.take(arrived(2, *added(10**6, 1), FactChange("-", "edge", (0, 1))))
    assert not policy.step()
    assert database._engine.explicit.count(database._engine.numbers["edge"]) == PORTION + 1
    done = []
    while not done:
        done = list(policy.step())
    first, second = done
    assert second.first_effect < first.first_effect
    assert first.together == second.together == 2
    assert database.size("edge") == database.size("path") == 3 * PORTION
    assert (0, 1) not in database["edge"]


def test_a_large_update_and_what_undoes_it_leave_nothing_to_do() -> None:
    database = Database(PATHS, facts={"edge": [(n, n + 1) for n in range(5)]})
    large = added(100, 2 * PORTION)
    back = [FactChange("-", "edge", change.row) for change in large]
    done = list(database.stream([large, back], "fully-dynamic"))
    assert [each.together for each in done] == [2, 2]
    assert done[-1].delta.counts == {}
    assert database.size("edge") == 5


@pytest.mark.parametrize("policy", ["sequential", "marking", "fully-dynamic"])
def test_long_updates_are_read_in_portions(policy: str) -> None:
    """And yet each is one."""
    database = Database(PATHS)
    sizes = [1, READ - 1, READ, READ + 1, 3 * READ, 1]
    updates = [added(10**5 * n, size) for n, size in enumerate(sizes)]
    stream = database.stream(updates, policy)
    done = list(stream)
    assert [each.changes for each in done] == sizes
    assert database.size("path") == sum(sizes)
