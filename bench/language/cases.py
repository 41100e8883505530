"""One measurement in two forms: its targets, and how its figures are shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.report import Target


@dataclass(frozen=True)
class Figures:
    """The best seconds of two forms of a program over the same facts."""

    case: str
    given: int  # facts
    derived: int
    names: tuple[str, str]
    seconds: tuple[float, float]
    target: Target


@dataclass(frozen=True)
class Case:
    """A case by name; `measure` takes whether it is to be small."""

    name: str
    measure: Callable[[bool], Figures]


def best_of(runs: int, *forms: Callable[[], float]) -> list[float]:
    """The minimum seconds of each form, in turns, so that the machine's load affects both."""
    best = [float("inf")] * len(forms)
    for _ in range(runs):
        for i, form in enumerate(forms):
            best[i] = min(best[i], form())
    return best
