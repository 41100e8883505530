"""Fields of fact files: text to values, or the reason why a field has no value."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from tidelog.program.syntax import Kind

_INTEGER = re.compile(r"0x([0-9a-fA-F]+)|0b([01]+)|([+-]?)([0-9]+)")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEX_FLOAT = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?"
)
_INFINITY = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE)
_NAN = re.compile(r"[+-]?nan(?:\([0-9a-z_]*\))?", re.IGNORECASE)
BLANKS = " \t"


@dataclass(frozen=True, slots=True)
class CellFault:
    """Why a field has no value; `{cell}` and `{column}` in the message are placeholders."""

    message: str
    advice: str
    place: int = 0  # in the field, where it is one of many parts


def a_kind(kind: Kind) -> str:
    """
    >>> a_kind("unsigned")
    'an unsigned'
    """
    return f"an {kind}" if kind == "unsigned" else f"a {kind}"


def shown(text: str, room: int = 40) -> str:
    """A field as messages quote it: one short line."""
    quoted = json.dumps(text[:room], ensure_ascii=False)
    return quoted if len(text) <= room else quoted[:-1] + '…"'


def parse_number(cell: str) -> int | CellFault:
    """A decimal 64-bit number, with blanks around it ignored.

    >>> [parse_number(cell) for cell in ("42", "-7", " +7", "007")]
    [42, -7, 7, 7]
    """
    value = _integer(cell, "number")
    if isinstance(value, CellFault) or -(2**63) <= value < 2**63:
        return value
    return _beyond("a number", -(2**63), 2**63 - 1)


def parse_unsigned(cell: str) -> int | CellFault:
    """An unsigned 64-bit number, decimal, hexadecimal or binary.

    >>> [parse_unsigned(cell) for cell in ("42", "0x2a", "0b101", " +7")]
    [42, 42, 5, 7]
    """
    value = _integer(cell, "unsigned")
    if isinstance(value, CellFault):
        return value
    if cell.strip(BLANKS).startswith("-"):
        return CellFault(
            "{cell} is negative, but {column} is unsigned",
            f"an unsigned number lies between 0 and {2**64 - 1}",
        )
    return value if value < 2**64 else _beyond("an unsigned number", 0, 2**64 - 1)


def _integer(cell: str, kind: Kind) -> int | CellFault:
    text = cell.strip(BLANKS)
    match = _INTEGER.fullmatch(text)
    if match is None:
        if not text:
            return _empty(kind)
        if _FLOAT.fullmatch(text):
            advice = "write a whole number, or declare the column float"
        else:
            advice = f"write a whole number such as {'42 or 0x2a' if kind == 'unsigned' else '42'}"
        return CellFault(f"{{cell}} is not a whole number, but {{column}} is {kind}", advice)
    hexadecimal, binary, sign, decimal = match.groups()
    if kind == "number" and not decimal:
        return CellFault(
            "{cell} is not decimal, but {column} is number",
            "write it in decimal, or declare the column unsigned",
        )
    base = 16 if hexadecimal else 2 if binary else 10
    digits = (hexadecimal or binary or decimal).lstrip("0") or "0"
    # Python refuses to convert very long digit strings, and 64 digits are too many in any base.
    value = int(digits, base) if len(digits) <= 64 else 2**64
    return -value if sign == "-" else value


def parse_float(cell: str) -> float | CellFault:
    """A double. There is one NaN, and -0.0 becomes 0.0, so that equal values are one value."""
    text = cell.strip(BLANKS)
    if _FLOAT.fullmatch(text):
        value = float(text)
    elif _HEX_FLOAT.fullmatch(text):
        try:
            value = float.fromhex(text)
        except OverflowError:
            value = math.inf
    elif infinite := _INFINITY.fullmatch(text):
        return -math.inf if infinite[1] == "-" else math.inf
    elif not text:
        return _empty("float")
    elif _NAN.fullmatch(text):
        return math.nan
    else:
        return CellFault(
            "{cell} is not a number, but {column} is float",
            "write a number such as 2.5, 1e-3, inf or nan",
        )
    if math.isinf(value):
        return CellFault("{cell} in {column} is too large for a float", "write inf if you mean it")
    return value + 0.0


def _empty(kind: Kind) -> CellFault:
    return CellFault(
        f"an empty field, but {{column}} is {kind}", "write a value; only symbols may be empty"
    )


def _beyond(what: str, least: int, most: int) -> CellFault:
    return CellFault(
        "{cell} in {column} does not fit in 64 bits",
        f"{what} lies between {least} and {most}",
    )


PARSERS: dict[Kind, Callable[[str], int | float | CellFault]] = {
    "number": parse_number,
    "unsigned": parse_unsigned,
    "float": parse_float,
}


def float_text(value: float) -> str:
    """A double with 17 significant digits, as Soufflé prints it, which always reads back equal.

    >>> float_text(0.5), float_text(0.1), float_text(1e100), float_text(-0.0)
    ('0.5', '0.10000000000000001', '1e+100', '0')
    """
    return "%.17g" % (value + 0.0) if value == value else "nan"
