"""The registry of built-in functors: what each takes, returns and does, and when it fails.

The parser, the type checker, the planners, both engines, messages and the table in
`docs/language.md` derive from it. A test asserts that the local engine, Spark and the oracle
implement exactly these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.program.diagnostics import plural
from tidelog.program.kind_masks import ANY, FLOAT, INTEGER, NUMBER, NUMERIC, SYMBOL, UNSIGNED
from tidelog.program.syntax import Value

DIVISION_BY_ZERO = "division by zero"
ZERO_TO_NEGATIVE = "zero to a negative power"
FLOAT_TOO_LARGE = "a float that does not fit into an integer"
NO_NUMBER = "the string does not begin with a number that fits"
NO_PATTERN = "the pattern has backreferences, lookaround or the like"


@dataclass(frozen=True, slots=True)
class Signature:
    """The kinds of the arguments, one mask each (the last repeats), and of the result.

    `gives` is None where all arguments and the result are of one kind. `most` is None where there
    is no limit.
    """

    operands: tuple[int, ...]
    gives: int | None
    least: int
    most: int | None

    def takes(self, count: int) -> bool:
        return self.least <= count and (self.most is None or count <= self.most)

    @property
    def arguments(self) -> str:
        """
        >>> Signature((SYMBOL,), SYMBOL, 2, None).arguments
        '2 or more arguments'
        """
        if self.most is None:
            return f"{self.least} or more arguments"
        if self.least == self.most:
            return plural(self.least, "argument")
        return f"{self.least} or {self.most} arguments"


@dataclass(frozen=True, slots=True)
class Builtin:
    """A functor. `call` and `result` are its row in the documentation.

    It fails for some arguments if the first is of a kind in `fails_on`, with the message `error`.
    A relation may have the name of one that is not `reserved`. `compute` is for strings: the value
    for one row, or an EvaluationError.
    """

    name: str
    call: str
    result: str
    signature: Signature
    fails_on: int = 0
    error: str = ""
    reserved: bool = True
    compute: Callable[..., Value] | None = None


def fixed(*operands: int, gives: int) -> Signature:
    return Signature(operands, gives, len(operands), len(operands))


def _alike(kinds: int, least: int = 2, most: int | None = 2) -> Signature:
    return Signature((kinds,), None, least, most)


def _substring(text: str, start: int, length: int) -> str:
    if start < 0 or start > len(text):
        return ""
    return text[start:] if length < 0 else text[start : start + length]


_PARSED = SYMBOL | FLOAT
_PARSE_ERROR = f"{NO_NUMBER}; {FLOAT_TOO_LARGE}"

GROUPS: dict[str, tuple[Builtin, ...]] = {
    "arithmetic": (
        Builtin("+", "x + y", "the sum; of symbols, `cat(x, y)`", _alike(ANY)),
        Builtin("-", "x - y", "the difference; `-x` is the negative", _alike(NUMERIC, 1)),
        Builtin("*", "x * y", "the product", _alike(NUMERIC)),
        Builtin(
            "/",
            "x / y",
            "the quotient; of integers, rounded towards zero",
            _alike(NUMERIC),
            INTEGER,
            DIVISION_BY_ZERO,
        ),
        Builtin(
            "%",
            "x % y",
            "the remainder, with the sign of x",
            _alike(INTEGER),
            INTEGER,
            DIVISION_BY_ZERO,
        ),
        Builtin("^", "x ^ y", "x to the power of y", _alike(NUMERIC), NUMBER, ZERO_TO_NEGATIVE),
        Builtin(
            "min", "min(x, y, …)", "the least; of symbols, by code points", _alike(ANY, 2, None)
        ),
        Builtin(
            "max", "max(x, y, …)", "the greatest; of symbols, by code points", _alike(ANY, 2, None)
        ),
    ),
    "bits and truth values": (
        Builtin("band", "x band y", "the bits that both have", _alike(INTEGER)),
        Builtin("bor", "x bor y", "the bits that one has or both have", _alike(INTEGER)),
        Builtin("bxor", "x bxor y", "the bits that exactly one has", _alike(INTEGER)),
        Builtin("bnot", "bnot x", "the bits that x does not have", _alike(INTEGER, 1, 1)),
        Builtin("bshl", "x bshl y", "x shifted left by y modulo 64 bits", _alike(INTEGER)),
        Builtin("bshr", "x bshr y", "x shifted right; a number keeps its sign", _alike(INTEGER)),
        Builtin("bshru", "x bshru y", "x shifted right, filled with zeros", _alike(INTEGER)),
        Builtin("land", "x land y", "1 if neither is 0, else 0", _alike(INTEGER)),
        Builtin("lor", "x lor y", "0 if both are 0, else 1", _alike(INTEGER)),
        Builtin("lxor", "x lxor y", "1 if exactly one is 0, else 0", _alike(INTEGER)),
        Builtin("lnot", "lnot x", "1 if x is 0, else 0", _alike(INTEGER, 1, 1)),
    ),
    "strings": (
        Builtin(
            "cat",
            "cat(s, t, …)",
            "the strings one after the other",
            Signature((SYMBOL,), SYMBOL, 2, None),
            compute=lambda *parts: "".join(parts),
        ),
        Builtin(
            "strlen",
            "strlen(s)",
            "the number of characters",
            fixed(SYMBOL, gives=NUMBER),
            compute=len,
        ),
        Builtin(
            "substr",
            "substr(s, i, n)",
            "n characters from index i (the first is 0); fewer if the string ends before, all the "
            "rest if n is negative, none if i lies outside",
            fixed(SYMBOL, NUMBER, NUMBER, gives=SYMBOL),
            compute=_substring,
        ),
        Builtin(
            "ord",
            "ord(x)",
            "the 64 bits of x; for a symbol an internal number, different for different symbols",
            fixed(ANY, gives=NUMBER),
        ),
    ),
    "conversions": (
        Builtin("to_string", "to_string(x)", "x as text", fixed(ANY, gives=SYMBOL)),
        Builtin(
            "to_number",
            "to_number(x)",
            "x as a number",
            fixed(ANY, gives=NUMBER),
            _PARSED,
            _PARSE_ERROR,
        ),
        Builtin(
            "to_unsigned",
            "to_unsigned(x)",
            "x as an unsigned",
            fixed(ANY, gives=UNSIGNED),
            _PARSED,
            _PARSE_ERROR,
        ),
        Builtin(
            "to_float", "to_float(x)", "x as a float", fixed(ANY, gives=FLOAT), SYMBOL, NO_NUMBER
        ),
        *(
            Builtin(
                name,
                f"{name}(x)",
                f"`{same}(x)`",
                fixed(taken, gives=gives),
                taken & FLOAT,
                FLOAT_TOO_LARGE if taken == FLOAT else "",
                reserved=False,
            )
            for name, same, taken, gives in (
                ("itou", "to_unsigned", NUMBER, UNSIGNED),
                ("itof", "to_float", NUMBER, FLOAT),
                ("utoi", "to_number", UNSIGNED, NUMBER),
                ("utof", "to_float", UNSIGNED, FLOAT),
                ("ftoi", "to_number", FLOAT, NUMBER),
                ("ftou", "to_unsigned", FLOAT, UNSIGNED),
            )
        ),
    ),
    "mathematics": (
        *(
            Builtin(name, f"{name}(x)", result, fixed(FLOAT, gives=FLOAT), reserved=False)
            for name, result in (
                ("sin", "the sine"),
                ("cos", "the cosine"),
                ("tan", "the tangent"),
                ("asin", "the inverse sine"),
                ("acos", "the inverse cosine"),
                ("atan", "the inverse tangent"),
                ("sinh", "the hyperbolic sine"),
                ("cosh", "the hyperbolic cosine"),
                ("tanh", "the hyperbolic tangent"),
                ("asinh", "the inverse hyperbolic sine"),
                ("acosh", "the inverse hyperbolic cosine"),
                ("atanh", "the inverse hyperbolic tangent"),
                ("log", "the natural logarithm"),
                ("exp", "e to the power of x"),
            )
        ),
    ),
    "generators": (
        Builtin(
            "range", "range(a, b, step)", "each of a, a + step, … before b", _alike(NUMERIC, 2, 3)
        ),
        Builtin("autoinc", "autoinc()", "a number that no other fact has", fixed(gives=NUMBER)),
    ),
}

BUILTINS: dict[str, Builtin] = {
    functor.name: functor for group in GROUPS.values() for functor in group
}
CONVERSIONS = frozenset(functor.name for functor in GROUPS["conversions"])
PARTIAL = frozenset(name for name, functor in BUILTINS.items() if functor.fails_on)

# Comparisons that are written as calls.
TESTS: dict[str, Builtin] = {
    "match": Builtin(
        "match",
        "match(pattern, s)",
        "whether all of s matches the regular expression",
        fixed(SYMBOL, SYMBOL, gives=NUMBER),
        SYMBOL,
        NO_PATTERN,
    ),
    "contains": Builtin(
        "contains", "contains(t, s)", "whether t occurs in s", fixed(SYMBOL, SYMBOL, gives=NUMBER)
    ),
}


def is_declared(functor: str) -> bool:
    """Whether the program declares it by `.functor`."""
    return functor.startswith("@")


def can_fail(functor: str) -> bool:
    """Whether the functor may stop an evaluation for some arguments; declared ones may."""
    return functor in PARTIAL or is_declared(functor)


def test_can_fail(op: str) -> bool:
    """The same for a comparison, negated or not."""
    test = TESTS.get(op.removeprefix("!"))
    return test is not None and test.fails_on != 0
