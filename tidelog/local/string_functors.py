"""String functors, computed by Python for a batch of arguments at once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from tidelog.program.builtin_functors import BUILTINS
from tidelog.program.diagnostics import EvaluationError, doubt
from tidelog.program.regex import InvalidPattern, UnsupportedPattern, compile_pattern
from tidelog.program.syntax import Kind

# As C++'s stoll and stod read: blanks, then the longest prefix that is a number.
_INTEGER = re.compile(r"[ \t-\r]*([+-]?)([0-9]+)")
_FLOAT = re.compile(
    r"[ \t-\r]*([+-]?)(?:(inf(?:inity)?|nan)"
    r"|(0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?)"
    r"|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?))",
    re.IGNORECASE,
)


def _hyperbolic(function: Callable[[float], float]) -> Callable[[float], float]:
    """`sinh` or `cosh`, infinite where Python raises an exception."""

    def compute(x: float) -> float:
        if abs(x) > 710.4758600739439:  # beyond this they exceed the largest float
            return function(math.copysign(1.0, x)) * math.inf
        return function(x)

    return compute


def _within(function: Callable[[float], float], low: float, high: float) -> Callable[..., float]:
    """The function where it is defined, NaN elsewhere."""

    def compute(x: float) -> float:
        return function(x) if low <= x <= high else math.nan

    return compute


def _atanh(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) == 1.0 else math.atanh(x)


_HUGE = math.nextafter(math.inf, 0.0)
# IEEE results: infinities and NaN where Python raises an exception.
MATH: dict[str, Callable[[float], float]] = {
    "sin": _within(math.sin, -_HUGE, _HUGE),
    "cos": _within(math.cos, -_HUGE, _HUGE),
    "tan": _within(math.tan, -_HUGE, _HUGE),
    "asin": _within(math.asin, -1.0, 1.0),
    "acos": _within(math.acos, -1.0, 1.0),
    "atan": math.atan,
    "sinh": _hyperbolic(math.sinh),
    "cosh": _hyperbolic(math.cosh),
    "tanh": math.tanh,
    "asinh": math.asinh,
    "acosh": _within(math.acosh, 1.0, math.inf),
    "atanh": _within(_atanh, -1.0, 1.0),
    "log": _within(lambda x: math.log(x) if x else -math.inf, 0.0, math.inf),
    "exp": lambda x: math.exp(x) if not x > 709.782712893384 else math.inf,
}


def _prefix(pattern: re.Pattern[str], functor: str, text: str) -> re.Match[str]:
    found = pattern.match(text)
    if found is None:
        raise EvaluationError(f'{functor}("{text}"): the string does not begin with a number')
    return found


def _number(text: str) -> int:
    value = int(_prefix(_INTEGER, "to_number", text).group())
    if not -(1 << 63) <= value < 1 << 63:
        raise EvaluationError(f'to_number("{text}"): the number does not fit into 64 bits')
    return value


def _unsigned(text: str) -> int:
    found = _prefix(_INTEGER, "to_unsigned", text)
    value = int(found.group(2))
    if found.group(1) == "-" or value >= 1 << 64:
        raise EvaluationError(f'to_unsigned("{text}"): the number does not fit into an unsigned')
    return value


def _float(text: str) -> float:
    sign, named, hexadecimal, decimal = _prefix(_FLOAT, "to_float", text).groups()
    try:
        value = float.fromhex(hexadecimal) if hexadecimal else float(named or decimal)
    except OverflowError:
        value = math.inf
    if math.isinf(value) and not named:
        raise EvaluationError(f'to_float("{text}"): the number does not fit into a float')
    return -value if sign == "-" else value


INVALID = -1  # neither match nor !match holds for an invalid pattern


def _matches(patterns: list[str], texts: list[str], warn: Callable[[str], None]) -> list[int]:
    compiled: dict[str, Any] = {}
    for pattern in patterns:
        if pattern not in compiled:
            try:
                compiled[pattern] = compile_pattern(pattern)
            except InvalidPattern as error:
                warn(f'match: "{pattern}" is not a regular expression: {error}')
                compiled[pattern] = None
            except UnsupportedPattern as error:
                raise EvaluationError(f'match: "{pattern}" is not supported: {error}') from None
    return [
        int(found.fullmatch(text) is not None) if (found := compiled[pattern]) else INVALID
        for pattern, text in zip(patterns, texts, strict=True)
    ]


# What Python computes, a row at a time. MATH is here because LLVM's results would differ from the
# C library's in the last bit.
FUNCTORS: dict[str, Callable[..., Any]] = {
    **{name: functor.compute for name, functor in BUILTINS.items() if functor.compute},
    "to_string": str,
    "to_number": _number,
    "to_unsigned": _unsigned,
    "to_float": _float,
    "min": min,
    "max": max,
    "contains": lambda part, text: int(part in text),
    "match": lambda pattern, text: _matches([pattern], [text], doubt)[0],
    **MATH,
}
ALSO_IN_KERNEL = frozenset({"to_number", "to_unsigned", "to_float", "min", "max"})  # no symbols


def compute(
    functor: str,
    kinds: tuple[Kind, ...],
    columns: Sequence[list[Any]],
    warn: Callable[[str], None] = doubt,
) -> list[Any]:
    """Results for each row of arguments; `kinds` are those of the arguments and the result."""
    if functor == "to_string" and kinds[0] == "float":
        return [f"{value:f}" for value in columns[0]]  # as C++'s std::to_string prints it
    if functor == "match":
        return _matches(columns[0], columns[1], warn)
    return list(map(FUNCTORS[functor], *columns))
