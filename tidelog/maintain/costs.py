"""The seconds that maintaining a stratum has taken: by following changes, and from scratch.

Which of the two is quicker depends on the data, and on little that is known beforehand. So what
they took before decides, for changes of about the same size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

# Chosen, not measured, but for WORSE (docs/decisions/013-ages.md); docs/figures/updates.md shows
# their effect.
TRIAL = 0.01  # seconds that overdeletion may take before the cost of recomputing is known
LEAST = 0.0005  # seconds that it may take in any case
PATIENCE = 0.3  # part of the seconds of recomputing that overdeletion may take
WORSE = 4  # a deletion with counters is given up at so many times the seconds without
BETTER = 1.4  # times quicker that a deletion must be with counters, which insertions pay for
CLEARLY = 1.15  # times quicker that counts as quicker
SEEN = 2  # changes of a kind after which they count as slow, unless one is very slow
VERY = 1.0  # seconds: loading kernels and making indexes takes less
MEMORY = 10  # a cost is remembered for so many times the seconds that the other way takes
PLAN = 0.0003  # seconds to plan a rule's part in following a deletion


@dataclass(slots=True)
class Costs:
    """In seconds."""

    recompute: float = 0.0  # 0 if not known
    proofs: bool | None = None  # whether B/F is quicker than DRed by age; None if not known
    support: float = 1.0  # part of the facts checked by `aged` that had older support
    _hoped: float = 0.0  # an optimistic guess of what recomputing takes now
    _spent: float = 0.0  # on recomputing, so far
    counts: bool | None = None  # whether derivations are counted; None while that is not decided
    _searched: float = 0.0  # on deletions without counters, so far
    _tried: int = 0  # deletions with counters
    # What deletions took without, since counters are tried.
    _before: dict[tuple[bool, int], float] = field(default_factory=dict)
    _usual: dict[tuple[bool, int], float] = field(default_factory=dict)  # by kind of change
    _seen: dict[tuple[bool, int], int] = field(default_factory=dict)
    _least: dict[tuple[bool, int], float] = field(default_factory=dict)  # the least so far

    def waits(self, facts: int, plans: Callable[[], int]) -> bool:
        """Should the first deletion of so many facts not be followed yet? That needs plans, which
        must cost less than what recomputing has taken so far."""
        return (True, _size(facts)) not in self._seen and self._spent < PLAN * plans()

    def from_scratch(
        self, deletes: bool, facts: int, counted: bool, small: Callable[[], bool]
    ) -> bool:
        """Should recomputing be quicker than following a change of so many facts?

        Where a stratum is small, recomputing is tried. The guess of what is not done falls until it
        is tried again: the sooner, the less that would cost in comparison. If derivations are
        counted, recomputing would lose the counters.
        """
        kind = deletes, _size(facts)
        usual = self._usual.get(kind, 0.0)
        if not usual or not (self.recompute or (usual >= LEAST and small())):
            return False
        # What takes little is not worth a trial.
        other = self._hoped if usual >= LEAST else math.inf if counted else self.recompute
        if CLEARLY * other < usual:
            self._usual[kind] = usual * _faded(self.recompute, usual)
            return True
        if usual >= LEAST:
            self._hoped *= _faded(usual, self.recompute)
        return False

    def usual(self, deletes: bool, facts: int) -> float | None:
        """The seconds that such a change took before; None if unknown."""
        return self._usual.get((deletes, _size(facts))) or None

    def followed(self, deletes: bool, facts: int, seconds: float) -> None:
        """Record the seconds of such a change."""
        kind = deletes, _size(facts)
        seen = self._seen[kind] = self._seen.get(kind, 0) + 1
        best = self._least[kind] = min(seconds, self._least.get(kind, seconds))
        if self.recompute and seconds > max(VERY, 2 * self.recompute):
            self._usual[kind] = seconds
        elif seen < SEEN:
            # The first times include plans and the loading of kernels.
            self._usual[kind] = 0.0
        elif seen == SEEN:
            # The least is typical: now and then, tables grow.
            self._usual[kind] = best
        else:
            self._usual[kind] = _typical(self._usual[kind], seconds)

    def searched(self, seconds: float) -> None:
        """Record the seconds that a deletion took without counters."""
        self._searched += seconds

    def due(self, counting: float) -> bool:
        """Have deletions without counters taken as long as counting, if that is known?"""
        return 0 < counting <= self._searched

    def knows_deletions(self, facts: int) -> bool:
        """Have enough deletions of this size been followed to know their cost?"""
        return self._seen.get((True, _size(facts)), 0) > SEEN

    def begin_to_count(self) -> None:
        """Derivations are counted from now on: what deletions took before only tells whether that
        pays."""
        self._searched, self._tried = 0.0, 0
        self._before = {kind: took for kind, took in self._least.items() if kind[0]}
        for kind in [kind for kind in self._seen if kind[0]]:
            del self._seen[kind], self._least[kind], self._usual[kind]

    def counted(self, facts: int, seconds: float) -> None:
        """Record the seconds that a deletion took with counters."""
        self._tried += 1
        if self.counts is None and self._tried >= SEEN:  # the first time includes plans
            self.counts = BETTER * seconds < self._without(facts)

    def patience_with_counters(self, facts: int, plans: int) -> float:
        """The seconds that a change may take with counters; the first one needs so many plans."""
        search = max(LEAST, WORSE * self._without(facts), self.recompute)
        return search if self._tried else search + PLAN * plans

    def _without(self, facts: int) -> float:
        """The seconds that a deletion of so many facts took without counters, or recomputing if
        that is less."""
        return min(self._before.get((True, _size(facts)), self.recompute), self.recompute)

    def supported(self, some: int, checked: int) -> None:
        self.support += 0.3 * (some / checked - self.support)

    def patience(self, plans: int) -> float:
        """The seconds to search for what to delete before recomputing; the first searches need so
        many plans."""
        search = max(LEAST, PATIENCE * self.recompute or TRIAL)
        deletions = sum(times for (deletes, _), times in self._seen.items() if deletes)
        return search + min(PLAN * plans, self.recompute) if deletions < SEEN else search

    def recomputed(self, seconds: float, deletes: bool = False) -> None:
        self.recompute = self._hoped = _typical(self.recompute, seconds)
        self._spent += seconds
        if deletes:
            self._searched += seconds


def _faded(spent: float, other: float) -> float:
    """The factor by which the estimate of the other cost falls after this many seconds."""
    return math.exp(-spent / (MEMORY * other)) if other else 1.0


def _size(facts: int) -> int:
    return (2 * facts).bit_length() // 6


def _typical(before: float, now: float) -> float:
    """The geometric mean: costs vary by orders of magnitude."""
    return math.sqrt(before * now) if before else now
