"""What maintaining a stratum has taken, and what to try next.

DRed and B/F search for what to delete and change nothing before they know it, so a search
can be given up. Which of them is quick depends on the data, and hardly on anything that is
known beforehand; so what they took before decides, for changes of about the same size. One
that is given up again and again rests for longer and longer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

SEARCHES = ("dred", "bf")
TRIAL = 0.01  # seconds for a search while it is not known what recomputing takes
PATIENCE = 0.3  # the part of what recomputing takes that a search may take
MUCH = 2  # times quicker than the favourite is what takes its place
CLEARLY = 1.15  # times quicker is quicker
HOPE = 0.85  # of what a change usually takes, each time: one hard change says little of the next
FADE = 0.98  # of what is not the favourite, each time: it may have become better


@dataclass(slots=True)
class Record:
    """One search, for changes of one size."""

    seconds: float = 0.0  # typically; 0 if not known
    tries: int = 0
    failures: int = 0  # in a row
    rest: int = 0  # updates for which it is not tried


@dataclass(slots=True)
class Costs:
    """In seconds."""

    recompute: float = 0.0  # 0 if not known
    _usual: dict[tuple[bool, int], float] = field(default_factory=dict)  # by kind of change
    _records: dict[tuple[str, int], Record] = field(default_factory=dict)
    _favourites: dict[int, str] = field(default_factory=dict)

    def from_scratch(self, deletes: bool, facts: int, small: bool) -> bool:
        """Should recomputing be quicker than following a change of so many facts?

        Where a stratum is small, that is tried. What is not done seems quicker each time, until
        it is tried again.
        """
        kind = deletes, _size(2 * facts)
        usual = self._usual.get(kind, 0.0)
        if not usual or not (self.recompute or small):
            return False
        if CLEARLY * self.recompute < usual:
            self._usual[kind] = usual * HOPE
            return True
        self.recompute *= FADE
        return False

    def followed(self, deletes: bool, facts: int, seconds: float) -> None:
        """What following such a change took."""
        kind = deletes, _size(2 * facts)
        if kind in self._usual:
            self._usual[kind] = _typical(self._usual[kind], seconds)
        else:
            self._usual[kind] = 0.0  # the first time, indexes are made that stay

    def of(self, search: str, facts: int) -> Record:
        """`facts` is how many lose a derivation to begin with."""
        return self._records.setdefault((search, _size(facts)), Record())

    def searches(self, facts: int) -> list[str]:
        """What to try before recomputing: what has never been tried, then the favourite."""
        records = {name: self.of(name, facts) for name in SEARCHES}
        favourite = self._favourites.get(_size(facts), SEARCHES[0])
        for name, record in records.items():
            if name != favourite:
                record.seconds *= FADE
            if 0 < MUCH * record.seconds < records[favourite].seconds:
                favourite = name
        self._favourites[_size(facts)] = favourite
        order = sorted(SEARCHES, key=lambda name: (records[name].seconds > 0, name != favourite))
        limit = self.recompute or math.inf
        found = [n for n in order if not records[n].rest and records[n].seconds < limit]
        for record in records.values():
            record.rest = max(0, record.rest - 1)
        return found

    def budget(self, search: str, facts: int) -> float:
        """For how long to try a search before the next."""
        mine = self.of(search, facts).seconds
        whole = PATIENCE * self.recompute or TRIAL
        others = (self.of(name, facts).seconds for name in SEARCHES if name != search)
        return max(2 * mine, min(whole, *(2 * other or math.inf for other in others)))

    def took(self, search: str, facts: int, seconds: float) -> None:
        record = self.of(search, facts)
        record.tries += 1
        record.failures = 0
        if record.tries > 1:  # the first time, indexes are made that stay
            record.seconds = _typical(record.seconds, seconds)

    def gave_up(self, search: str, facts: int, seconds: float) -> None:
        record = self.of(search, facts)
        record.tries += 1
        if record.tries == 1:
            return
        record.seconds = max(record.seconds, _typical(record.seconds, 2 * seconds))
        record.failures += 1
        record.rest = 2**record.failures - 2

    def recomputed(self, seconds: float) -> None:
        self.recompute = _typical(self.recompute, seconds)


def _size(facts: int) -> int:
    return facts.bit_length() // 6


def _typical(before: float, now: float) -> float:
    """Geometric means: what a search takes varies by orders of magnitude."""
    return math.sqrt(before * now) if before else now
