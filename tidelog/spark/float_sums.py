"""Sums of floats, as executors compute them."""

from __future__ import annotations

import math


def total(values: list[float]) -> float:
    """
    >>> total([0.1] * 10)
    1.0
    >>> total([1e308, 1e308])
    inf
    """
    try:
        return math.fsum(values) + 0.0
    except (OverflowError, ValueError):  # a partial sum beyond all floats, or inf - inf
        return _slowly(values)


def _slowly(values: list[float]) -> float:
    from fractions import Fraction

    special = [value for value in values if not math.isfinite(value)]
    if special:  # finite values cannot change the result, and their sum could overflow
        return sum(special)
    exact = sum(map(Fraction, values))
    try:
        return float(exact) + 0.0
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
