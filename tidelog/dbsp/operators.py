"""Incremental operators: Q^Δ, from the changes of inputs to the change of the result.

Every operator works under two clocks. The outer one counts steps, and is not seen here: what
earlier steps brought is summed up in a `Past`. The inner one counts the rounds of a fixpoint, and
is a column of every batch. So what stands here is (↑(↑Q)^Δ)^Δ, the form that is incremental in
both; outside of a fixpoint all inner times are 0, and it is (↑Q)^Δ.

An operator is given the changes at one inner time, at times in ascending order within a step. What
it gives is due at that time or, where the past has later rows that the change meets, later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from tidelog.dbsp import row_columns as of_columns
from tidelog.dbsp.aggregates import Aggregate, aggregated
from tidelog.dbsp.delays import ENDLESS, Future, Past, at, once, plus
from tidelog.dbsp.kernels.zset_joins import FOUND, GIVEN
from tidelog.dbsp.row_columns import Expansion, Function, Predicate, matching, some_of
from tidelog.dbsp.trace import Batch, Match, kept, none


class Operator(Protocol):
    width: int  # of the result

    def step(self, time: int, *changes: Batch) -> Batch:
        """The change of the result, from the changes of the inputs at a time."""

    def due(self) -> int:
        """The next inner time at which it has something to look at again, or `ENDLESS`."""

    def memory(self) -> int:
        """Bytes of what it remembers."""


class Linear:
    """Q(a + b) = Q(a) + Q(b): such a query is its own incremental form, and remembers nothing."""

    width: int

    def due(self) -> int:
        return ENDLESS

    def memory(self) -> int:
        return 0


class Plus(Linear):
    """The sum of inputs, all of the same width; of one input, the input itself."""

    def __init__(self, width: int) -> None:
        self.width = width

    def step(self, time: int, *changes: Batch) -> Batch:
        return plus(changes, self.width)


class Negate(Linear):
    def __init__(self, width: int) -> None:
        self.width = width

    def step(self, time: int, *changes: Batch) -> Batch:
        (change,) = changes
        negated = change.copy()
        negated[:, -1] *= -1
        return negated


class Select(Linear):
    """σ: the rows for which a predicate of columns is true."""

    def __init__(self, width: int, predicate: Predicate) -> None:
        of_columns.selected(predicate, none(width)[:, :-2])
        self.width, self.predicate = width, predicate

    def step(self, time: int, *changes: Batch) -> Batch:
        (change,) = changes
        return change[of_columns.selected(self.predicate, change[:, :-2])]


class MapRows(Linear):
    """Rows by a function of columns."""

    def __init__(self, width: int, function: Function) -> None:
        self.width = of_columns.mapped(function, none(width)[:, :-2]).shape[1]
        self.function = function

    def step(self, time: int, *changes: Batch) -> Batch:
        (change,) = changes
        rows = of_columns.mapped(self.function, change[:, :-2])
        return once(np.concatenate((rows, change[:, -2:]), axis=1))


class FlatMap(Linear):
    """Any number of rows for each row, by a function of one row's integers."""

    def __init__(self, function: Expansion, width: int) -> None:
        self.function, self.width = function, width

    def step(self, time: int, *changes: Batch) -> Batch:
        (change,) = changes
        return once(of_columns.expanded(self.function, change, self.width, more=2))


class Project(Linear):
    """π: some columns, in any order."""

    def __init__(self, width: int, columns: tuple[int, ...]) -> None:
        self.columns = [*some_of(columns, width), width, width + 1]
        self.width = len(columns)

    def step(self, time: int, *changes: Batch) -> Batch:
        (change,) = changes
        return once(change[:, self.columns])


class Join:
    """⋈ is bilinear: (a ⋈ b)^Δ = a ⋈ b + z⁻¹(I(a)) ⋈ b + a ⋈ z⁻¹(I(b)).

    Of the three, the first and the second are taken together: I(a) ⋈ b.
    """

    pairs = 0  # found so far, summed up where they are the same

    def __init__(
        self,
        left: int,
        right: int,
        on: Sequence[tuple[int, int]],
        columns: Sequence[int] | None = None,
    ) -> None:
        self.from_left, self.from_right = matching(on, columns, left, right)
        self.width = len(self.from_left.result)
        self.left = Past(left, self.from_right.columns)
        self.right = Past(right, self.from_left.columns)

    def step(self, time: int, *changes: Batch) -> Batch:
        a, b = changes
        with_past = self.right.meet(self.from_left, a)
        self.left.add(a)
        with_all = self.left.meet(self.from_right, b)
        self.right.add(b)
        found = plus([*with_past, *with_all], self.width)
        self.pairs += len(found)
        return found

    def due(self) -> int:
        return ENDLESS

    def memory(self) -> int:
        return self.left.trace.memory() + self.right.trace.memory()


class Distinct:
    """distinct^Δ: rows whose sum of weights comes to be more than 0, or no longer is.

    A change at an inner time can make the row's output right there and wrong at later times at
    which the row has something, so these are looked at when they come.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.inputs, self.outputs = Past(width), Past(width)
        self.again = Future(width)

    def step(self, time: int, *changes: Batch) -> Batch:
        (change,) = changes
        looked = at(self.again.take(time), time)
        looked[:, -1] = 0
        rows = kept(np.concatenate((change, looked))) if len(looked) else change.copy()
        lacking, later = self.inputs.distinct(self.outputs, rows, time)
        again = rows[later < ENDLESS]
        again[:, -2] = later[later < ENDLESS]
        again[:, -1] = 1  # so that no two reminders cancel out
        self.again.put(again)
        rows[:, -1] = lacking
        changed: Batch = rows[lacking != 0]
        self.outputs.add(changed)
        return changed

    def due(self) -> int:
        return self.again.first()

    def memory(self) -> int:
        return self.inputs.trace.memory() + self.outputs.trace.memory()


class GroupBy:
    """An aggregate of each group. Groups that a change touches are looked at as a whole.

    What is kept of a group depends on the aggregate: all rows that matter to a minimum, but for a
    count or a sum the sums themselves.
    """

    def __init__(self, width: int, keys: tuple[int, ...], aggregate: Aggregate) -> None:
        self.keys, self.aggregate = some_of(keys, width), aggregate
        aggregate.keep(none(width), self.keys)
        self.kept = len(keys) + aggregate.kept
        self.width = len(keys) + aggregate.results
        key = tuple(range(len(keys)))
        self.inputs, self.outputs = Past(self.kept, key), Past(self.width, key)
        self.from_inputs = _all_of_groups(key, self.kept)
        self.from_outputs = _all_of_groups(key, self.width)
        self.again = Future(len(keys))

    def step(self, time: int, *changes: Batch) -> Batch:
        (change,) = changes
        new_lines = self.aggregate.keep(change, self.keys)
        self.inputs.add(new_lines)
        groups = _each([self._keys_of(new_lines), self.again.take(time)], 0)
        inputs = plus(self.inputs.meet(self.from_inputs, groups), self.kept)
        outputs = plus(self.outputs.meet(self.from_outputs, groups), self.width)
        self._look_again(self._keys_of(inputs[inputs[:, -2] > time]))
        until_now = once(at(inputs[inputs[:, -2] <= time], time))
        new = aggregated(self.aggregate, until_now, len(self.keys), time)
        old = once(at(outputs[outputs[:, -2] <= time], time))
        old[:, -1] *= -1
        changed = plus([new, old], self.width)
        self.outputs.add(changed)
        return changed

    def _keys_of(self, batch: Batch) -> Batch:
        return batch[:, [*range(len(self.keys)), -2, -1]]

    def _look_again(self, lines: Batch) -> None:
        """At groups that have something later, at the first such time.

        Outputs need not be asked: where one changes in a later round, an input does.
        """
        lines = lines[np.lexsort((lines[:, -2], *lines[:, :-2].T))]
        is_first = np.ones(len(lines), dtype=np.bool_)
        is_first[1:] = (lines[1:, :-2] != lines[:-1, :-2]).any(axis=1)
        lines = lines[is_first]
        lines[:, -1] = 1  # whatever weighs there, so that no two reminders cancel out
        self.again.put(lines)

    def due(self) -> int:
        return self.again.first()

    def memory(self) -> int:
        return self.inputs.trace.memory() + self.outputs.trace.memory()


def _each(batches: list[Batch], time: int) -> Batch:
    """The rows of some batches, each once and with weight 1."""
    rows = at(np.concatenate(batches), time)
    rows[:, -1] = 1
    rows = once(rows)
    rows[:, -1] = 1
    return rows


def _all_of_groups(key: tuple[int, ...], width: int) -> Match:
    return Match.of(key, [(GIVEN, c) for c in key], [(FOUND, c) for c in range(width)])
