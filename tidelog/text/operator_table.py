"""The words and signs of the language, with Soufflé's precedence: parser and writer share them.

A rank says how tightly an operator binds; 0 is left for brackets.
"""

from __future__ import annotations

from tidelog.program.builtin_functors import BUILTINS, Signature
from tidelog.program.builtin_functors import TESTS as _TESTS
from tidelog.program.syntax import Action

OR, AND, NOT, COMPARE, UNARY, POWER = 1, 2, 3, 4, 14, 15

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
TESTS = tuple(_TESTS)  # comparisons that are written as calls

BINARY: dict[str, int] = {
    "lor": 5,
    "lxor": 6,
    "land": 7,
    "bor": 8,
    "bxor": 9,
    "band": 10,
    "bshl": 11,
    "bshr": 11,
    "bshru": 11,
    "+": 12,
    "-": 12,
    "*": 13,
    "/": 13,
    "%": 13,
    "^": POWER,  # the only one that groups to the right
}
INFIX: dict[str, int] = BINARY | dict.fromkeys(COMPARISONS, COMPARE)

PREFIX: dict[str, int] = {"-": UNARY, "bnot": UNARY, "lnot": UNARY, "!": NOT}

# Functors that are written as calls.
FUNCTORS: dict[str, Signature] = {
    name: functor.signature
    for name, functor in BUILTINS.items()
    if name not in BINARY and name not in PREFIX
}

# Soufflé does not reserve these, so a relation may bear such a name.
UNRESERVED = frozenset(name for name in FUNCTORS if not BUILTINS[name].reserved)

AGGREGATES = ("count", "sum", "min", "max", "mean")

RESERVED = (
    frozenset({"true", "false", "nil", "as", "_", *FUNCTORS, *AGGREGATES, *TESTS})
    | frozenset(word for word in (*BINARY, *PREFIX) if word.isalpha())
) - UNRESERVED

# Directives that may also stand after a declaration.
ACTIONS: dict[str, Action] = {"input": "input", "output": "output", "printsize": "printsize"}
