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
HOPE = 0.85  # of what a change usually takes, each time: one hard change says little of the next
FADE = 0.98  # of what recomputing takes, each time: it may have become quicker


@dataclass(slots=True)
class Costs:
    """In seconds."""

    recompute: float = 0.0  # 0 if not known
    _usual: dict[tuple[bool, int], float] = field(default_factory=dict)  # by kind of change

    def from_scratch(self, deletes: bool, facts: int, small: Callable[[], bool]) -> bool:
        """Should recomputing be quicker than following a change of so many facts?

        Where a stratum is small, that is tried. What is not done seems quicker each time, until
        it is tried again.
        """
        kind = deletes, _size(facts)
        usual = self._usual.get(kind, 0.0)
        if not usual or not (self.recompute or small()):
            return False
        if CLEARLY * self.recompute < usual:
            self._usual[kind] = usual * HOPE
            return True
        self.recompute *= FADE
        return False

    def followed(self, deletes: bool, facts: int, seconds: float) -> None:
        """What following such a change took."""
        kind = deletes, _size(facts)
        if kind in self._usual:
            self._usual[kind] = _typical(self._usual[kind], seconds)
        else:
            self._usual[kind] = 0.0  # the first time, indexes are made that stay

    @property
    def patience(self) -> float:
        """For how long to search for what to delete before recomputing."""
        return max(LEAST, PATIENCE * self.recompute or TRIAL)

    def recomputed(self, seconds: float) -> None:
        self.recompute = _typical(self.recompute, seconds)


def _size(facts: int) -> int:
    return (2 * facts).bit_length() // 6


def _typical(before: float, now: float) -> float:
    """Geometric means: what a change takes varies by orders of magnitude."""
    return math.sqrt(before * now) if before else now
