"""What maintaining a stratum has taken: by what follows from changes, and from scratch.

Which of the two is quicker depends on the data, and hardly on anything that is known
beforehand; so what they took before decides, for changes of about the same size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

TRIAL = 0.01  # seconds for overdeletion while it is not known what recomputing takes
LEAST = 0.0005  # seconds for it in any case
PATIENCE = 0.3  # the part of what recomputing takes that overdeletion may take
CLEARLY = 1.15  # times quicker is quicker
SEEN = 3  # changes of a kind before they count as slow, unless one is very slow
VERY = 1.0  # seconds, which loading kernels and making indexes does not take
MEMORY = 10  # times what the other way takes: for so long it is remembered what that is
PLAN = 0.0003  # seconds that it takes to plan a rule's part in following a deletion


@dataclass(slots=True)
class Costs:
    """In seconds."""

    recompute: float = 0.0  # 0 if not known
    support: float = 1.0  # part of the facts checked by `aged` that had older support
    _hoped: float = 0.0  # what recomputing may take now, for all we know
    _spent: float = 0.0  # on recomputing, so far
    _usual: dict[tuple[bool, int], float] = field(default_factory=dict)  # by kind of change
    _seen: dict[tuple[bool, int], int] = field(default_factory=dict)

    def from_scratch(
        self, deletes: bool, facts: int, small: Callable[[], bool], plans: Callable[[], int]
    ) -> bool:
        """Should recomputing be quicker than following a change of so many facts?

        The first deletion that is followed needs plans, so many of them: that waits until they
        would have paid for what recomputing has taken. Where a stratum is small, recomputing is
        tried. What is not done seems quicker and quicker, until it is tried again: the sooner,
        the less that would cost in comparison.
        """
        kind = deletes, _size(facts)
        if deletes and kind not in self._seen and self._spent < PLAN * plans():
            return True
        usual = self._usual.get(kind, 0.0)
        if not usual:
            return False
        if not (self.recompute or small()):
            return False
        if CLEARLY * self._hoped < usual:
            self._usual[kind] = usual * _faded(self.recompute, usual)
            return True
        self._hoped *= _faded(usual, self.recompute)
        return False

    def usual(self, deletes: bool, facts: int) -> float | None:
        """What following such a change took before; None if that is not known."""
        return self._usual.get((deletes, _size(facts))) or None

    def followed(self, deletes: bool, facts: int, seconds: float) -> None:
        """What following such a change took."""
        kind = deletes, _size(facts)
        seen = self._seen[kind] = self._seen.get(kind, 0) + 1
        if self.recompute and seconds > max(VERY, 2 * self.recompute):
            self._usual[kind] = seconds
        elif seen < SEEN:
            # The first times, indexes are made and kernels are loaded that stay.
            self._usual[kind] = 0.0
        else:
            self._usual[kind] = _typical(self._usual[kind], seconds)

    def supported(self, some: int, checked: int) -> None:
        self.support += 0.3 * (some / checked - self.support)

    def patience(self, plans: int) -> float:
        """For how long to search for what to delete before recomputing. The first times, so many
        plans have to be made."""
        search = max(LEAST, PATIENCE * self.recompute or TRIAL)
        deletions = sum(times for (deletes, _), times in self._seen.items() if deletes)
        return search + min(PLAN * plans, self.recompute) if deletions < SEEN else search

    def recomputed(self, seconds: float) -> None:
        self.recompute = self._hoped = _typical(self.recompute, seconds)
        self._spent += seconds


def _faded(spent: float, other: float) -> float:
    """How much less the other way seems to take after so much was spent on this one."""
    return math.exp(-spent / (MEMORY * other)) if other else 1.0


def _size(facts: int) -> int:
    return (2 * facts).bit_length() // 6


def _typical(before: float, now: float) -> float:
    """Geometric means: what a change takes varies by orders of magnitude."""
    return math.sqrt(before * now) if before else now
