"""Functors, comparisons and aggregates, for the naive evaluator only.

This arithmetic uses Python's unbounded integers and shares no code with the engines, so that
neither can hide a bug in the other.
"""

from __future__ import annotations

import math
import operator
import re
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tidelog.program.diagnostics import EvaluationError
from tidelog.program.syntax import Kind, Value
from tidelog.program.terms import Branch, TermKind

Row = tuple[Value, ...]


def as_row(row: Iterable[Value], kinds: Iterable[Kind]) -> Row:
    return tuple(as_kind(value, kind) for value, kind in zip(row, kinds, strict=True))


def as_kind(value: Any, kind: Kind | None) -> Value:
    """The value as its type represents it: 64 bits with wrap-around, one zero and one NaN."""
    match kind:
        case "number":
            return (int(value) + 2**63) % 2**64 - 2**63
        case "unsigned":
            return int(value) % 2**64
        case "float":
            return float(value) + 0.0 if value == value else math.nan
        case "symbol":
            return str(value)
    if isinstance(kind, TermKind):
        return _term(value, kind)
    raise EvaluationError(f"{value!r} has no type: evaluation needs a typed program")


def _term(value: Any, kind: TermKind) -> Value:
    """A record or branch, with its fields as their types represent them."""
    if value is None:
        return None
    if isinstance(value, Branch):
        return Branch(
            value.name, as_row(value.values, (f.kind for f in kind.constructors[value.name]))
        )
    return as_row(value, (f.kind for f in kind.constructors["[]"]))


def same(a: Any, b: Any) -> bool:
    return bool(a == b or (a != a and b != b))


def _place(value: Any) -> tuple[bool, Any]:
    """A sort key by which NaN equals itself and comes last."""
    return (False, value) if value == value else (True, None)


def holds(op: str, a: Any, b: Any) -> bool | None:
    """None if neither the test nor its negation holds: the pattern is invalid."""
    return TESTS[op](a, b)


def _matches(pattern: str, text: str) -> bool | None:
    import re2  # few programs need it

    options = re2.Options()
    options.log_errors = False
    plain = re.sub(r"\\.|\[(\\.|[^]\\])*\]", "", pattern)  # without escapes and classes
    braces = re.findall(r"\{(\d+,?\d*)\}", plain)
    counts = [[int(n[:9]) for n in brace.split(",") if n] for brace in braces]
    if any(count != sorted(count) for count in counts):
        return None
    try:
        if any(max(count) > 1000 for count in counts):
            raise re2.error("more than RE2 repeats")
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        if re.match("(b.)?(missing [])]|unexpected|.*class range|no arg|trailing)", str(error)):
            return None
        raise EvaluationError(f"{pattern!r} is not supported") from None
    if plain.count("{") > len(counts):
        return None  # Soufflé rejects a brace that is not a repetition
    return compiled.fullmatch(text) is not None


TESTS: dict[str, Callable[[Any, Any], bool | None]] = {
    "=": same, "!=": lambda a, b: not same(a, b),
    "<": lambda a, b: _place(a) < _place(b), "<=": lambda a, b: _place(a) <= _place(b),
    ">": lambda a, b: _place(a) > _place(b), ">=": lambda a, b: _place(a) >= _place(b),
    "contains": lambda a, b: a in b, "match": _matches,
}  # fmt: skip


def each(start: Any, stop: Any, step: Any = None) -> Iterator[Value]:
    """The values of a range, without the stop; with a step of 0, the start unless it is the stop.

    A range with a NaN is empty. A range ends when a step no longer changes the value.
    """
    if any(value != value for value in (start, stop, step)):
        return
    if step is None:
        step = 1 if start <= stop else -1
    if step == 0:
        if start != stop:
            yield start
        return
    while start < stop if step > 0 else start > stop:
        yield start
        if start + step == start:
            return
        start += step


def _total(values: Sequence[Any]) -> Any:
    """The sum; of floats exact and rounded once, so that it does not depend on their order."""
    if not all(isinstance(value, float) for value in values):
        return sum(values)
    special = [value for value in values if not math.isfinite(value)]
    if special:
        return sum(special)
    exact = sum(map(Fraction, values))
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf  # copysign would convert `exact`, too


def _extreme(op: str, values: Sequence[Any]) -> Any:
    return min(values, key=_place) if op == "min" else max(values, key=_place)


def folded(op: str, values: Sequence[Any], kind: Kind | None) -> Value | None:
    """The result of an aggregate, None if it has none."""
    match op:
        case "count":
            return as_kind(len(values), kind)
        case "sum":
            return as_kind(_total(values), kind)
        case "mean" if values:
            return as_kind(_total([float(value) for value in values]) / len(values), kind)
        case "min" | "max" if values:
            return as_kind(_extreme(op, values), kind)
    return None


def cast(value: Any, old: Kind | None, new: Kind | None, symbols: dict[str, int]) -> Value:
    """The same 64-bit word as another type; a symbol's word is its `ord`."""
    if old == new:
        return as_kind(value, new)
    if old == "symbol":
        value = symbols.setdefault(value, len(symbols))
    elif old == "float":
        (value,) = struct.unpack("<q", struct.pack("<d", value))
    if new == "float":
        (value,) = struct.unpack("<d", struct.pack("<q", as_kind(value, "number")))
    elif new == "symbol":
        if not 0 <= value < len(symbols):
            raise EvaluationError(f"no symbol has the number {value}")
        return str(list(symbols)[value])
    return as_kind(value, new)


CAN_FAIL = {"/", "%", "^", "to_number", "to_unsigned", "to_float", "ftoi", "ftou"}
INTEGER: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": lambda a, *b: a - b[0] if b else -a, "*": operator.mul,
    "/": lambda a, b: abs(a) // abs(b) * (1 if a * b > 0 else -1),
    "%": lambda a, b: abs(a) % abs(b) * (1 if a > 0 else -1),
    "^": lambda a, b: pow(a, b, 2**64) if b >= 0 else a ** (b % 2) if a in (1, -1) else 0 // a,
    "band": operator.and_, "bor": operator.or_, "bxor": operator.xor, "bnot": operator.invert,
    "bshl": lambda a, b: a << b % 64, "bshr": lambda a, b: a >> b % 64,
    "bshru": lambda a, b: a % 2**64 >> b % 64,
    "land": lambda a, b: bool(a) and bool(b), "lor": lambda a, b: bool(a) or bool(b),
    "lxor": lambda a, b: bool(a) != bool(b), "lnot": operator.not_,
}  # fmt: skip
_FLOAT = INTEGER | {"/": operator.truediv, "%": np.fmod, "^": operator.pow}
STRING: dict[str, Callable[..., Any]] = {
    "cat": lambda *parts: "".join(parts),
    "strlen": len,
    "substr": lambda s, i, n: s[i:][: n if n >= 0 else None] if 0 <= i <= len(s) else "",
}
MATH = {
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
    *("asinh", "acosh", "atanh", "log", "exp"),
}


def _mathematical(name: str, x: float) -> float:
    """The C library's result, where Python raises instead of returning an infinity or NaN."""
    try:
        return float(getattr(math, name)(x))
    except OverflowError:
        return -math.inf if name == "sinh" and x < 0 else math.inf
    except ValueError:
        poles = {("log", 0.0): -math.inf, ("atanh", 1.0): math.inf, ("atanh", -1.0): -math.inf}
        return poles.get((name, x), math.nan)


# The prefixes that C's strtoll, strtoull and strtod parse.
_PREFIX = {
    "number": r"[ \t-\r]*([+-]?[0-9]+)",
    "unsigned": r"(?!-)[ \t-\r]*([+-]?[0-9]+)",
    "float": r"[ \t-\r]*([+-]?(?i:inf(?:inity)?|nan"
    r"|0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?"
    r"|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?))",
}


_LIMITS = {
    "number": (-(2**63), 2**63 - 1),
    "unsigned": (1 - 2**64, 2**64 - 1),
    "float": (-sys.float_info.max, sys.float_info.max),
}


def apply(functor: str, args: Sequence[Any], kind: Kind | None, result: Kind | None) -> Any:
    """The functor's value before wrap-around; `kind` is the type of the arguments."""
    first = args[0]
    match functor, kind:
        case "min" | "max", _:
            return _extreme(functor, args)
        case "to_string", _:
            return f"{first:f}" if kind == "float" else str(first)
        case "to_number" | "to_unsigned" | "to_float", "symbol":
            return _parsed(first, str(result))
        case "to_number" | "to_unsigned" | "ftoi" | "ftou", "float":
            if not math.isfinite(first) or as_kind(first, result) != math.trunc(first):
                raise EvaluationError(f"{functor}({first}): the value does not fit")
            return first
        case "to_number" | "to_unsigned" | "to_float" | "itof" | "itou" | "utof" | "utoi", _:
            return first
        case name, _ if name in STRING:
            return STRING[functor](*args)
        case name, _ if name in MATH:
            return _mathematical(name, first)
        case _, "float":
            with np.errstate(all="ignore"):
                return _FLOAT[functor](*map(np.float64, args))
    try:
        return INTEGER[functor](*args)
    except ZeroDivisionError:
        raise EvaluationError(f"division by zero: {first} {functor} {args[1]}") from None


def _parsed(text: str, kind: str) -> int | float:
    """The number at the start of the string."""
    found = re.match(_PREFIX[kind], text)
    if not found:
        raise EvaluationError(f'to_{kind}("{text}"): the string is no {kind}')
    digits = found[1].lower()
    read = int if kind != "float" else float.fromhex if "x" in digits else float
    try:
        value = read(digits)
    except (OverflowError, ValueError):  # Python limits the digits of integers
        value = math.inf
    least, most = _LIMITS[kind]
    if not least <= value <= most and "n" not in digits:  # inf and nan contain an n
        raise EvaluationError(f'to_{kind}("{text}"): the string is no {kind} of 64 bits')
    return value
