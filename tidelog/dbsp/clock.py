"""Nodes that pass changes on under a clock, and clocks within clocks.

A nested stream runs once through all its inner times in each step of the outer clock. Only times
at which something happens are visited: a change that meets rows of a later round is kept until that
round comes, and rounds that nothing has to do with cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidelog.dbsp.delays import ENDLESS, Future, at, once
from tidelog.dbsp.operators import Operator
from tidelog.dbsp.trace import Batch
from tidelog.program.diagnostics import LimitError, plural


def same(batch: Batch) -> Batch:
    """Within a clock; and δ₀, from the outer clock into the first round of an inner one."""
    return batch


def delayed(batch: Batch) -> Batch:
    """z⁻¹: a round later."""
    later = batch.copy()
    later[:, -2] += 1
    return later


def eliminated(batch: Batch) -> Batch:
    """∫: what all rounds changed, in sum."""
    return once(at(batch, 0))


@dataclass(frozen=True, slots=True)
class Wire:
    into: Future
    how: Callable[[Batch], Batch]


class OperatorNode:
    """An operator, what waits at its inputs, and where its results go."""

    def __init__(self, operator: Operator, widths: Sequence[int]) -> None:
        self.operator = operator
        self.inputs = [Future(width) for width in widths]
        self.wires: list[Wire] = []

    def first(self) -> int:
        return min(self.operator.due(), *(future.first() for future in self.inputs))

    def run(self, time: int) -> None:
        if self.first() > time:
            return
        self.give(self.operator.step(time, *(future.take(time) for future in self.inputs)))

    def give(self, batch: Batch) -> None:
        if len(batch):
            for wire in self.wires:
                wire.into.put(wire.how(batch))

    def memory(self) -> int:
        return self.operator.memory()


class Clock:
    """Nodes, and clocks within, in an order in which results only flow on, but for z⁻¹.

    Times come in ascending order, and only those at which something happens.
    """

    def __init__(
        self, rounds: int | None = None, each_round: Callable[[], None] = lambda: None
    ) -> None:
        self.parts: list[OperatorNode | Clock] = []
        self.rounds = rounds  # a limit
        self.each_round = each_round

    def first(self) -> int:
        return min((part.first() for part in self.parts), default=ENDLESS)

    def run(self, time: int = 0) -> None:
        """All that is to do: for a clock within, in one tick of the outer one."""
        rounds = 0
        while (now := self.first()) < ENDLESS:
            rounds += 1
            self.each_round()
            if self.rounds is not None and rounds > self.rounds:
                raise LimitError(
                    f"error: a fixpoint has not ended after {plural(self.rounds, 'round')}; "
                    "`distinct` in it, or a limit on what it derives, may be missing"
                )
            for part in self.parts:
                part.run(now)

    def memory(self) -> int:
        return sum(part.memory() for part in self.parts)
