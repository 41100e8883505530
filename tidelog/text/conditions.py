"""The conditions of `#if`: whole numbers, `defined`, and the operators of C."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

from tidelog.text.macros import NAME, Expansion, Macro, Misused, without_comments

MAX_DEPTH = 100  # `#if` within `#if`, far more than programs have

_TOKEN = re.compile(
    rf"\s*+(?:(?P<number>0[xX][0-9a-fA-F]++|[0-9]++)[uUlL]*+|(?P<name>{NAME})"
    r"|(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!()]))"
)
_DEFINED = re.compile(rf"\bdefined\s*+(?:\(\s*+({NAME})\s*+\)|({NAME}))")


def _divided(left: int, right: int) -> int:
    """As in C: cut off towards zero."""
    if right == 0:
        raise Misused("`#if` divides by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    return left - right * _divided(left, right)


_INFIX: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "||": (1, lambda a, b: int(bool(a) or bool(b))),
    "&&": (2, lambda a, b: int(bool(a) and bool(b))),
    "==": (3, lambda a, b: int(a == b)),
    "!=": (3, lambda a, b: int(a != b)),
    "<": (4, lambda a, b: int(a < b)),
    "<=": (4, lambda a, b: int(a <= b)),
    ">": (4, lambda a, b: int(a > b)),
    ">=": (4, lambda a, b: int(a >= b)),
    "+": (5, operator.add),
    "-": (5, operator.sub),
    "*": (6, operator.mul),
    "/": (6, _divided),
    "%": (6, _remainder),
}


def holds(text: str, macros: Mapping[str, Macro]) -> bool:
    """Whether a condition holds; a name that is no macro counts as 0.

    >>> holds("defined(A) && A > 1", {"A": Macro("A", None, "2")})
    True
    """
    text = without_comments(text).replace("\\\r\n", " ").replace("\\\n", " ")
    text = _DEFINED.sub(lambda found: str(int((found[1] or found[2]) in macros)), text)
    text = Expansion(macros).expanded(text, frozenset())
    return bool(_Condition(_tokens(text)).read())


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    done, text = 0, text.rstrip()
    while done < len(text):
        found = _TOKEN.match(text, done)
        if found is None:
            raise Misused(f"`#if` cannot read `{text[done:].split()[0]}`", "write whole numbers")
        done = found.end()
        if found["number"] and len(found["number"]) > 20:
            raise Misused("a number of `#if` is out of range")
        tokens.append("0" if found["name"] else found["number"] or found["sign"])
    return tokens


class _Condition:
    """Reads from left to right, by ranks."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._index = 0
        self._depth = 0

    def read(self) -> int:
        if not self._tokens:
            raise Misused("`#if` has no condition", "write `#if LIMIT > 10`")
        value = self._ranked(1)
        if self._index < len(self._tokens):
            raise Misused(f"unexpected `{self._tokens[self._index]}` in `#if`")
        return value

    def _ranked(self, least: int) -> int:
        """What binds at least as tightly as `least`."""
        left = self._operand()
        while self._index < len(self._tokens):
            rank, apply = _INFIX.get(self._tokens[self._index], (0, operator.add))
            if rank < least:
                break
            self._index += 1
            right = self._ranked(rank + 1)
            # 64 bits, as a program's numbers; an unused part may overflow.
            left = (apply(left, right) + 2**63) % 2**64 - 2**63
        return left

    def _operand(self) -> int:
        if self._index >= len(self._tokens):
            raise Misused("`#if` ends too early", "write a number or a macro after its operator")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Misused(f"`#if` is nested more than {MAX_DEPTH} deep")
        token = self._tokens[self._index]
        self._index += 1
        if token[0].isdigit():
            value = int(token, 16 if token[:2] in ("0x", "0X") else 10)
        elif token == "(":
            value = self._ranked(1)
            if self._index >= len(self._tokens) or self._tokens[self._index] != ")":
                raise Misused("a `(` of `#if` is not closed", "close it with `)`")
            self._index += 1
        elif token in ("!", "-", "+"):
            value = self._operand()
            value = {"!": int(not value), "-": -value, "+": value}[token]
        else:
            raise Misused(f"unexpected `{token}` in `#if`")
        self._depth -= 1
        return value
