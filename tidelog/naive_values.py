"""What functors, comparisons and aggregates give, for naive evaluation alone.

Engines have their own arithmetic; this one is written in Python's unbounded integers and
shares nothing with it, so that neither can hide a fault of the other.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tidelog.program.diagnostics import EvaluationError
from tidelog.program.syntax import Kind, Value

Row = tuple[Value, ...]


def as_row(row: Iterable[Value], kinds: Iterable[Kind]) -> Row:
    return tuple(as_kind(value, kind) for value, kind in zip(row, kinds, strict=True))


def as_kind(value: Any, kind: Kind | None) -> Value:
    """The value as its kind holds it: 64 bits with wrap-around, one zero and one NaN."""
    match kind:
        case "number":
            return (int(value) + 2**63) % 2**64 - 2**63
        case "unsigned":
            return int(value) % 2**64
        case "float":
            return float(value) + 0.0 if value == value else math.nan
        case "symbol":
            return str(value)
    raise EvaluationError(f"{value!r} has no type: evaluation needs a typed program")


def same(a: Value, b: Value) -> bool:
    return a == b or (a != a and b != b)


_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "=": same,
    "!=": lambda a, b: not same(a, b),
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "contains": lambda a, b: a in b,
}


def holds(op: str, a: Any, b: Any) -> bool:
    return _matches(a, b) if op == "match" else _ORDER[op](a, b)


def _matches(pattern: str, text: str) -> bool:
    import re2  # which few programs need

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options).fullmatch(text) is not None
    except re2.error:
        raise EvaluationError(f"{pattern!r} is no regular expression") from None


def each(start: Any, stop: Any, step: Any = None) -> Iterator[Value]:
    """Start included, stop not; a step of 0 gives the start alone, if that is not the stop."""
    if step is None:
        step = 1 if start <= stop else -1
    if step == 0:
        stop, step = start + (start != stop), 1
    while start < stop if step > 0 else start > stop:
        yield start
        start += step


def total(values: Sequence[Any]) -> Any:
    if not all(isinstance(value, float) and math.isfinite(value) for value in values):
        return sum(values)
    exact = sum(map(Fraction, values))
    try:
        return float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact)


def extreme(op: str, values: Sequence[Any]) -> Any:
    if any(value != value for value in values):
        return math.nan
    return min(values) if op == "min" else max(values)


CAN_FAIL = {"range", "/", "%", "^", "to_number", "to_unsigned", "to_float", "ftoi", "ftou"}
_INTEGER: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": lambda a, *b: a - b[0] if b else -a,
    "*": operator.mul,
    "band": operator.and_,
    "bor": operator.or_,
    "bxor": operator.xor,
    "bnot": operator.invert,
    "bshl": lambda a, b: a << b % 64,
    "bshr": lambda a, b: a >> b % 64,
    "bshru": lambda a, b: a % 2**64 >> b % 64,
    "land": lambda a, b: bool(a) and bool(b),
    "lor": lambda a, b: bool(a) or bool(b),
    "lxor": lambda a, b: bool(a) != bool(b),
    "lnot": operator.not_,
}
_FLOAT: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": _INTEGER["-"],
    "*": operator.mul,
    "/": operator.truediv,
    "%": np.fmod,
    "^": operator.pow,
}
# What C's strtoll, strtoull and strtod read of a string; anything may follow.
_PREFIX = {
    "number": r"[ \t-\r]*([+-]?[0-9]+)",
    "unsigned": r"(?!-)[ \t-\r]*([+-]?[0-9]+)",
    "float": r"[ \t-\r]*([+-]?(?i:inf(?:inity)?|nan"
    r"|0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?"
    r"|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?))",
}


def apply(functor: str, args: Sequence[Any], kind: Kind | None, result: Kind | None) -> Any:
    """The functor's value before wrap-around; `kind` is that of the arguments."""
    first, *others = args
    match functor:
        case "min" | "max":
            return extreme(functor, args)
        case "cat":
            return "".join(args)
        case "strlen":
            return len(first)
        case "substr":
            start, length = others
            inside = 0 <= start <= len(first)
            return first[start:][: length if length >= 0 else None] if inside else ""
        case "to_string":
            return f"{first:f}" if kind == "float" else str(first)
        case "to_number" | "to_unsigned" | "to_float" if kind == "symbol":
            return _parsed(first, str(result))
        case "to_number" | "to_unsigned" | "ftoi" | "ftou" if kind == "float":
            if not math.isfinite(first) or as_kind(first, result) != math.trunc(first):
                raise EvaluationError(f"{functor}({first}): the value does not fit")
            return first
        case "to_number" | "to_unsigned" | "to_float" | "itof" | "itou" | "utof" | "utoi":
            return first
        case _ if kind == "float" and functor in _FLOAT:
            with np.errstate(all="ignore"):
                return _FLOAT[functor](*map(np.float64, args))
        case "/" | "%":
            if others == [0]:
                raise EvaluationError(f"division by zero: {first} {functor} 0")
            quotient = abs(first) // abs(others[0]) * (1 if first * others[0] > 0 else -1)
            return quotient if functor == "/" else first - others[0] * quotient
        case "^":
            return _power(first, others[0])
        case _ if functor in _INTEGER:
            return _INTEGER[functor](*args)
    raise EvaluationError(f"{functor} is no functor")


def _power(base: int, exponent: int) -> int:
    if exponent >= 0:
        return pow(base, exponent, 2**64)
    if base == 0:
        raise EvaluationError(f"division by zero: 0 ^ {exponent}")
    return (1 if base == 1 or exponent % 2 == 0 else -1) if base in (1, -1) else 0


def _parsed(text: str, kind: str) -> int | float:
    """The number that the string begins with."""
    found = re.match(_PREFIX[kind], text)
    if not found:
        raise EvaluationError(f'to_{kind}("{text}"): the string is no {kind}')
    digits = found[1]
    try:
        if kind != "float":
            value: int | float = int(digits) if len(digits.lstrip("+-0")) <= 20 else 2**64
            fits = -(2**63) <= value < 2**63 if kind == "number" else abs(value) < 2**64
        else:
            value = float.fromhex(digits) if "x" in digits.lower() else float(digits)
            fits = math.isfinite(value) or "n" in digits.lower()
    except OverflowError:
        value, fits = math.inf, False
    if not fits:
        raise EvaluationError(f'to_{kind}("{text}"): the string is no {kind} of 64 bits')
    return value
