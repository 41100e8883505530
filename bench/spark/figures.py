"""What was measured: one row for each system that did a step of a case."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Status = Literal["ok", "seconds", "failed"]  # done; stopped at the limit; an error
Sums = dict[str, list[int]]  # size and checksum of relations
Bounded = tuple[float, bool]  # a ratio, and whether it is at least that


@dataclass(frozen=True)
class Sample:
    """One time that it was done."""

    seconds: float
    jobs: int = 0
    stages: int = 0
    tasks: int = 0
    shuffled: int = 0  # bytes


@dataclass
class Row:
    """`case` is the data, `step` what was done with it, `system` who did it."""

    case: str
    step: str
    system: str
    given: int = 0  # facts
    facts: int = 0  # that there were afterwards, of all relations
    samples: list[Sample] = field(default_factory=list)
    status: Status = "ok"
    limit: float = 0.0  # seconds, where it was stopped
    detail: str = ""  # what went wrong, or how it was done
    sums: Sums = field(default_factory=dict)
    more: dict[str, float] = field(default_factory=dict)  # further figures, by name

    @property
    def seconds(self) -> float:
        """The median."""
        return statistics.median(sample.seconds for sample in self.samples)

    @property
    def jobs(self) -> int:
        """At the most."""
        return max(sample.jobs for sample in self.samples)

    @property
    def shuffled(self) -> int:
        return max(sample.shuffled for sample in self.samples)

    @property
    def done(self) -> bool:
        return self.status == "ok" and bool(self.samples)

    @staticmethod
    def of(saved: dict[str, Any]) -> Row:
        """From what `asdict` made of it."""
        samples = [Sample(**sample) for sample in saved["samples"]]
        return Row(**{**saved, "samples": samples})


Rows = list[Row]
Say = Callable[[Row], None]


def saved(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [asdict(row) for row in rows]


def find(rows: Sequence[Row], system: str, case: str, step: str | None = None) -> Row | None:
    for row in rows:
        if (row.system, row.case) == (system, case) and step in (None, row.step):
            return row
    return None


def faster(mine: Row | None, theirs: Row | None) -> Bounded | None:
    """How many times as long the other takes; at least, if it was stopped at a limit."""
    if mine is None or theirs is None or not mine.done:
        return None
    if theirs.done:
        return theirs.seconds / mine.seconds, False
    return (theirs.limit / mine.seconds, True) if theirs.status == "seconds" else None


def told(ratio: Bounded | None) -> str:
    """
    >>> told((12.345, True)), told((0.5, False)), told(None)
    ('more than 12.3 times', '0.50 times', 'no ratio')
    """
    if ratio is None:
        return "no ratio"
    value, bound = ratio
    return f"{'more than ' * bound}{value:.{2 if value < 10 else 1}f} times"


def differing(rows: Sequence[Row]) -> list[str]:
    """Systems that have other facts than the first one with figures for the same step."""
    first: dict[tuple[str, str], Row] = {}
    wrong = []
    for row in rows:
        if not row.done or not row.sums:
            continue
        other = first.setdefault((row.case, row.step), row)
        if any(other.sums[name] != row.sums[name] for name in other.sums.keys() & row.sums.keys()):
            wrong.append(f"{row.case}, {row.step}: {row.system}")
    return wrong


def cases(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for case in dict.fromkeys(row.case for row in rows):
        yield case, [row for row in rows if row.case == case]
