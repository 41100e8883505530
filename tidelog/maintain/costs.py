"""What maintaining a stratum has taken: by what follows from changes, and from scratch.

Which of the two is quicker depends on the data, and hardly on anything that is known
beforehand; so what they took before decides, for changes of about the same size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

TRIAL = 0.01  # seconds for overdeletion while it is not known what recomputing takes
LEAST = 0.0005  # seconds for it in any case: what takes less is quick enough
PATIENCE = 0.3  # the part of what recomputing takes that overdeletion may take
WORSE = 4  # times what a deletion takes without counters: for so long they are tried
CLEARLY = 1.15  # times quicker is quicker
SEEN = 2  # changes of a kind before they count as slow, unless one is very slow
VERY = 1.0  # seconds, which loading kernels and making indexes does not take
MEMORY = 10  # times what the other way takes: for so long it is remembered what that is
BULK = 64  # facts that change: deletions of fewer are no reason to count derivations
COUNT = 0.5  # of what recomputing takes: so long it takes to count all derivations
PLAN = 0.0003  # seconds that it takes to plan a rule's part in following a deletion


@dataclass(slots=True)
class Costs:
    """In seconds."""

    recompute: float = 0.0  # 0 if not known
    support: float = 1.0  # part of the facts checked by `aged` that had older support
    _hoped: float = 0.0  # what recomputing may take now, for all we know
    _spent: float = 0.0  # on recomputing, so far
    counts: bool | None = None  # whether derivations are counted; None while that is not decided
    _searched: float = 0.0  # on bulk deletions without counters, so far
    _search: float = 0.0  # what such a deletion took, since counters are tried
    _tried: int = 0  # bulk deletions with counters
    _usual: dict[tuple[bool, int], float] = field(default_factory=dict)  # by kind of change
    _seen: dict[tuple[bool, int], int] = field(default_factory=dict)
    _least: dict[tuple[bool, int], float] = field(default_factory=dict)  # the least so far

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
        if usual < LEAST:
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
        best = self._least[kind] = min(seconds, self._least.get(kind, seconds))
        if self.recompute and seconds > max(VERY, 2 * self.recompute):
            self._usual[kind] = seconds
        elif seen < SEEN:
            # The first times, plans are made and kernels are loaded that stay.
            self._usual[kind] = 0.0
        elif seen == SEEN:
            # Of these, the least says most: now and then, tables grow.
            self._usual[kind] = best
        else:
            self._usual[kind] = _typical(self._usual[kind], seconds)

    def may_count(self, facts: int) -> bool:
        """Have deletions of many facts taken so long that counting all derivations would have
        paid by now?"""
        if self.counts is not None:
            return self.counts
        if not self._search and facts >= BULK and 0 < COUNT * self.recompute <= self._searched:
            self._search = self._usual.get((True, _size(facts)), 0.0)
        return self._search > 0

    def searched(self, facts: int, seconds: float) -> None:
        """What a deletion took without counters."""
        if facts >= BULK:
            self._searched += seconds

    def counted(self, facts: int, seconds: float) -> None:
        """What a deletion took with counters."""
        if facts >= BULK:
            self._tried += 1
            if self._tried >= SEEN:  # the first time, plans are made
                self.counts = seconds < self._search

    def counting(self, plans: int) -> float:
        """How long a deletion with counters may take. The first time, so many plans have to be
        made."""
        return max(LEAST, WORSE * self._search) + (0.0 if self._tried else PLAN * plans)

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
