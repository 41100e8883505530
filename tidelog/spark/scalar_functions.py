"""Functions that executors call for a value at a time.

They are pickled by name, so that an executor loads this file and no more of Spark's functions.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidelog.local.string_functors import FUNCTORS
from tidelog.program.diagnostics import EvaluationError
from tidelog.program.syntax import Kind
from tidelog.spark.float_sums import total


@dataclass(frozen=True, slots=True)
class OfValues:
    """The function, null where an argument is null: where what computes the argument failed."""

    function: Callable[..., Any]

    def __call__(self, *args: Any) -> Any:
        return None if any(arg is None for arg in args) else self.function(*args)


def _signed(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def power(a: int, b: int) -> int | None:
    if b >= 0:
        return _signed(pow(a, b, 1 << 64))
    if a == 0:
        return None
    return a ** (b % 2) if a in (1, -1) else 0


def power_unsigned(a: int, b: int) -> int:
    return _signed(pow(a % (1 << 64), b % (1 << 64), 1 << 64))


def float_power(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(a) ** np.float64(b))


def float_rest(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.fmod(a, b))


def local(functor: str, *args: Any) -> Any:
    """The result of the local engine's functor, in Spark's representation; None if it fails."""
    try:
        found = FUNCTORS[functor](*args)
    except EvaluationError:
        return None
    return _signed(found) if isinstance(found, int) else found


def why_not(functor: str, *args: Any) -> str | None:
    """Why the functor fails; None if it does not."""
    try:
        FUNCTORS[functor](*args)
    except EvaluationError as error:
        return str(error)
    return None


def bits_of_float(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def float_of_bits(value: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", value))[0])


def whole(value: float) -> int | None:
    if not math.isfinite(value) or not -(1 << 63) <= math.trunc(value) < 1 << 63:
        return None
    return math.trunc(value)


def whole_unsigned(value: float) -> int | None:
    if not math.isfinite(value) or not 0 <= math.trunc(value) < 1 << 64:
        return None
    return _signed(math.trunc(value))


def unsigned_part(a: int, b: int) -> int:
    return _signed(a % (1 << 64) // (b % (1 << 64)))


def unsigned_rest(a: int, b: int) -> int:
    return _signed(a % (1 << 64) % (b % (1 << 64)))


def total_of(values: list[float]) -> float | None:
    """Exact, and rounded once, so that it does not depend on order."""
    return total(values) if values else None


def mean_of(values: list[float]) -> float | None:
    return total(values) / len(values) + 0.0 if values else None


def integer_range(start: int, stop: int, step: int | None = None) -> list[int]:
    if step is None:
        step = 1 if start <= stop else -1
    if step == 0:
        return [] if start == stop else [start]
    return list(range(start, stop, step))


def unsigned_range(start: int, stop: int, step: int | None = None) -> list[int]:
    whole = 1 << 64
    found = integer_range(start % whole, stop % whole, None if step is None else step % whole)
    return [value - whole if value >= whole >> 1 else value for value in found]


def float_range(start: float, stop: float, step: float | None = None) -> list[float]:
    if any(value != value for value in (start, stop, step)):
        return []
    if step is None:
        step = 1.0 if start <= stop else -1.0
    if step == 0:
        return [] if start == stop else [start]
    found = []
    while start < stop if step > 0 else start > stop:
        found.append(start + 0.0)
        if start + step == start:  # the step is too small to change the value
            break
        start += step
    return found


RANGES: dict[Kind, Callable[..., Any]] = {
    "number": integer_range,
    "unsigned": unsigned_range,
    "float": float_range,
}
