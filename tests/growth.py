"""Time grows with the size of the work. Both sizes are measured here and now, in time of this
process, and again if they are too far apart: neither the machine nor its load matters."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import TypeVar

T = TypeVar("T")
TRIES = 5
SLACK = 4  # for caches, the garbage collector, and what else happens to a process


def spent(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return process_time() - began


def within(allowed: float, work: Callable[[], T], measure: Callable[[], object]) -> T:
    """What the work returns, which takes at most so many times the time of `measure`."""
    found: list[T] = []
    ratios = []
    for _ in range(TRIES):
        unit = min(spent(measure) for _ in range(3))
        ratios.append(spent(lambda: found.append(work())) / unit)
        if ratios[-1] < allowed:
            return found[-1]
    raise AssertionError(f"{min(ratios):.1f} times as long, and {allowed:g} times are allowed")


def linear(work: Callable[[int], T], size: int, times: int = 16) -> T:
    """What the work returns for this size, which takes in proportion to the size."""
    small = size // times
    return within(SLACK * times, lambda: work(size), lambda: work(small))
