"""String functors, computed by Python for a batch of arguments at once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from tidelog.program.diagnostics import EvaluationError
from tidelog.program.syntax import Kind

# As C++'s stoll and stod read: blanks, then the longest prefix that is a number.
_INTEGER = re.compile(r"[ \t-\r]*([+-]?)([0-9]+)")
_FLOAT = re.compile(
    r"[ \t-\r]*([+-]?)(?:(inf(?:inity)?|nan)"
    r"|(0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?)"
    r"|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?))",
    re.IGNORECASE,
)


def compute(
    functor: str, kinds: tuple[Kind, ...], columns: Sequence[list[Any]], size: int
) -> list[Any]:
    """Results for each row of arguments; `kinds` are those of the arguments and the result."""
    if functor == "cat":
        return ["".join(parts) for parts in zip(*columns, strict=True)]
    if functor == "strlen":
        return [len(text) for text in columns[0]]
    if functor == "substr":
        return [_substring(*args) for args in zip(*columns, strict=True)]
    if functor == "to_string":
        return _texts(kinds[0], columns[0])
    if functor in ("to_number", "to_unsigned", "to_float"):
        parse = {"to_number": _number, "to_unsigned": _unsigned, "to_float": _float}[functor]
        return [parse(text) for text in columns[0]]
    if functor == "contains":
        return [int(part in text) for part, text in zip(*columns, strict=True)]
    if functor == "match":
        return _matches(columns[0], columns[1])
    pick: Callable[..., Any] = min if functor == "min" else max
    return [pick(args) for args in zip(*columns, strict=True)]


def _substring(text: str, start: int, length: int) -> str:
    if start < 0 or start > len(text):
        return ""
    return text[start:] if length < 0 else text[start : start + length]


def _texts(kind: Kind, values: list[Any]) -> list[str]:
    # A float prints as C++'s std::to_string does.
    return [f"{value:f}" for value in values] if kind == "float" else [str(v) for v in values]


def _number(text: str) -> int:
    found = _INTEGER.match(text)
    if found is None:
        raise EvaluationError(f'to_number("{text}") is no number')
    value = int(found.group())
    if not -(1 << 63) <= value < 1 << 63:
        raise EvaluationError(f'to_number("{text}") does not fit into 64 bits')
    return value


def _unsigned(text: str) -> int:
    found = _INTEGER.match(text)
    if found is None:
        raise EvaluationError(f'to_unsigned("{text}") is no number')
    value = int(found.group(2))
    if found.group(1) == "-" or value >= 1 << 64:
        raise EvaluationError(f'to_unsigned("{text}") does not fit into an unsigned')
    return value


def _float(text: str) -> float:
    found = _FLOAT.match(text)
    if found is None:
        raise EvaluationError(f'to_float("{text}") is no number')
    sign, named, hexadecimal, decimal = found.groups()
    try:
        value = float.fromhex(hexadecimal) if hexadecimal else float(named or decimal)
    except OverflowError:
        value = math.inf
    if math.isinf(value) and not named:
        raise EvaluationError(f'to_float("{text}") does not fit into a float')
    return -value if sign == "-" else value


def _matches(patterns: list[str], texts: list[str]) -> list[int]:
    import re2  # here, because most programs do without

    compiled: dict[str, Any] = {}
    options = re2.Options()
    options.log_errors = False
    for pattern in patterns:
        if pattern not in compiled:
            try:
                compiled[pattern] = re2.compile(pattern, options)
            except re2.error as error:
                detail = error.args[0].decode() if isinstance(error.args[0], bytes) else error
                raise EvaluationError(
                    f'match: "{pattern}" is no regular expression: {detail}'
                ) from None
    return [
        int(compiled[pattern].fullmatch(text) is not None)
        for pattern, text in zip(patterns, texts, strict=True)
    ]
