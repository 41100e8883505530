"""Measurements: one row for each system that did a step of a case."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Status = Literal["ok", "seconds", "failed"]  # done; stopped at the limit; an error
Sums = dict[str, list[int]]  # number and checksum of a relation's facts
Bounded = tuple[float, bool]  # a ratio, and whether it is a lower bound


@dataclass(frozen=True)
class Sample:
    """One measured repetition."""

    seconds: float
    jobs: int = 0
    stages: int = 0
    tasks: int = 0
    shuffled: int = 0  # bytes


@dataclass
class Row:
    """`case` is the data, `step` the work, `system` who did it."""

    case: str
    step: str
    system: str
    given: int = 0  # facts
    facts: int = 0  # facts of all relations afterwards
    samples: list[Sample] = field(default_factory=list)
    status: Status = "ok"
    limit: float = 0.0  # the limit in seconds, if it was stopped
    detail: str = ""  # the error, or how the step was done
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
        """The row of an `asdict` record."""
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
    """How many times as long the other takes; a lower bound if it was stopped at a limit."""
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
    """Systems whose facts differ from those of the first one with figures for the same step."""
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
