"""The words and signs of the language, with Soufflé's precedence: parser and writer share them.

A rank says how tightly an operator binds; 0 is left for brackets.
"""

from __future__ import annotations

OR, AND, NOT, COMPARE, UNARY, POWER = 1, 2, 3, 4, 14, 15

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
TESTS = ("match", "contains")  # comparisons that are written as calls

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

# How many arguments each functor takes; None: any number from the first on.
FUNCTORS: dict[str, tuple[int, int | None]] = {
    "min": (2, None),
    "max": (2, None),
    "cat": (2, None),
    "strlen": (1, 1),
    "substr": (3, 3),
    "ord": (1, 1),
    "to_number": (1, 1),
    "to_string": (1, 1),
    "to_float": (1, 1),
    "to_unsigned": (1, 1),
    "itou": (1, 1),
    "itof": (1, 1),
    "utoi": (1, 1),
    "utof": (1, 1),
    "ftoi": (1, 1),
    "ftou": (1, 1),
    "range": (2, 3),
    "autoinc": (0, 0),
}

# Soufflé does not reserve these, so a relation may bear such a name.
UNRESERVED = frozenset({"itou", "itof", "utoi", "utof", "ftoi", "ftou"})

AGGREGATES = ("count", "sum", "min", "max", "mean")

RESERVED = (
    frozenset({"true", "false", "nil", "as", "autoinc", "_", *FUNCTORS, *AGGREGATES, *TESTS})
    | frozenset(word for word in (*BINARY, *PREFIX) if word.isalpha())
) - UNRESERVED

# Words after a declaration. The first three stand for directives of their own.
# fmt: off
QUALIFIERS = frozenset({
    "input", "output", "printsize", "eqrel", "btree", "btree_delete", "brie", "inline",
    "no_inline", "magic", "no_magic", "overridable", "override", "transitive",
})
# fmt: on
ACTIONS = ("input", "output", "printsize")
