"""Literals: numbers and strings."""

from __future__ import annotations

import math

from tidelog.program.syntax import Constant, Span
from tidelog.text.lexer import ESCAPES, Fault, SourceText, Token

_LARGEST = 2**64 - 1  # whether it fits a signed number is for the types to say


def number(token: Token, source: SourceText, minus: Token | None = None) -> Constant:
    """The constant of a numeric token, with the minus sign before it if there is one."""
    start = minus.start if minus else token.start
    at = source.span(start, token.start + len(token.text) - start)
    if token.kind == "float":
        value = float(token.text)
        if math.isinf(value):
            raise Fault("float literal out of range", at, "the largest is about 1.8e308")
        return Constant(-value if minus else value, "float", at)
    if token.kind == "address":
        return Constant(-_address(token, at) if minus else _address(token, at), None, at)
    digits = token.text.removesuffix("u")
    unsigned = digits != token.text
    base = {"0x": 16, "0b": 2}.get(digits[:2], 10)
    body = digits[2:] if base != 10 else digits
    # A literal of a million digits is refused before it is converted.
    value = int(body, base) if len(body.lstrip("0")) <= 64 else _LARGEST + 1
    if minus and unsigned:
        raise Fault("an unsigned literal cannot be negative", at, "write it without `u`")
    if value > _LARGEST or (minus and value > 2**63):
        raise Fault(
            "integer literal out of range",
            at,
            "number: -9223372036854775808 to 9223372036854775807; "
            "unsigned: 0 to 18446744073709551615",
        )
    return Constant(-value if minus else value, "unsigned" if unsigned else None, at)


def _address(token: Token, at: Span) -> int:
    """1.2.3.4 as Soufflé reads it: 32 bits, the highest of which is the sign."""
    parts = [int(part) if len(part) <= 10 else 256 for part in token.text.split(".")]
    if max(parts) > 255:
        raise Fault(f"`{token.text}` is not an IPv4 address", at, "each part goes from 0 to 255")
    return int.from_bytes(bytes(parts), "big", signed=True)


def string(token: Token, source: SourceText) -> Constant:
    return Constant(unescape(token, source), "symbol", source.span(token.start, len(token.text)))


def unescape(token: Token, source: SourceText) -> str:
    """The text between the quotes, with `\\n` and other escapes replaced."""
    raw = token.text[1:-1]
    if "\\" not in raw:
        return raw
    first, *rest = raw.split("\\")
    parts = [first]
    where = token.start + 1 + len(first)
    pieces = iter(rest)
    for piece in pieces:
        if piece == "":  # two backslashes: the next piece is plain text
            following = next(pieces)
            parts += ["\\", following]
            where += 2 + len(following)
            continue
        if piece[0] not in ESCAPES:
            raise Fault(
                f"unknown escape `\\{piece[0]}` in a string",
                source.span(where, 2),
                "write `\\\\` for a backslash",
            )
        parts += [ESCAPES[piece[0]], piece[1:]]
        where += 1 + len(piece)
    return "".join(parts)
