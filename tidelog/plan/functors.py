"""What kinds each functor takes and gives. A set of kinds is a mask of their bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tidelog.program.syntax import KINDS, Kind, Primitive
from tidelog.program.terms import TermKind

BITS: dict[Primitive, int] = {kind: 1 << i for i, kind in enumerate(KINDS)}
NUMBER, UNSIGNED, FLOAT, SYMBOL = BITS.values()
INTEGER = NUMBER | UNSIGNED
NUMERIC = INTEGER | FLOAT
ANY = NUMERIC | SYMBOL  # of those that are built in; records and algebraic types come on top


def bit(kind: Kind) -> int:
    return kind.bit if isinstance(kind, TermKind) else BITS[kind]


class Signature(NamedTuple):
    """Functors take `operands`, one mask per argument (the last one repeats up to `most`).

    `gives` is None where all arguments and the result are of one kind.
    """

    operands: tuple[int, ...]
    gives: int | None
    least: int
    most: int


def _alike(mask: int, least: int, most: int) -> Signature:
    return Signature((mask,), None, least, most)


def _fixed(*operands: int, gives: int) -> Signature:
    return Signature(operands, gives, len(operands), len(operands))


MANY = 1 << 30
SIGNATURES: dict[str, Signature] = {
    **dict.fromkeys(("+", "*", "/", "^"), _alike(NUMERIC, 2, 2)),
    **dict.fromkeys(("%", "band", "bor", "bxor", "bshl", "bshr", "bshru"), _alike(INTEGER, 2, 2)),
    **dict.fromkeys(("land", "lor", "lxor"), _alike(INTEGER, 2, 2)),
    **dict.fromkeys(("bnot", "lnot"), _alike(INTEGER, 1, 1)),
    **dict.fromkeys(("min", "max"), _alike(ANY, 2, MANY)),
    "-": _alike(NUMERIC, 1, 2),
    "range": _alike(NUMERIC, 2, 3),
    "cat": Signature((SYMBOL,), SYMBOL, 2, MANY),
    "autoinc": Signature((), NUMBER, 0, 0),
    "strlen": _fixed(SYMBOL, gives=NUMBER),
    "ord": _fixed(ANY, gives=NUMBER),
    "substr": _fixed(SYMBOL, NUMBER, NUMBER, gives=SYMBOL),
    "to_string": _fixed(ANY, gives=SYMBOL),
    "to_number": _fixed(ANY, gives=NUMBER),
    "to_unsigned": _fixed(ANY, gives=UNSIGNED),
    "to_float": _fixed(ANY, gives=FLOAT),
    "itou": _fixed(NUMBER, gives=UNSIGNED),
    "itof": _fixed(NUMBER, gives=FLOAT),
    "utoi": _fixed(UNSIGNED, gives=NUMBER),
    "utof": _fixed(UNSIGNED, gives=FLOAT),
    "ftoi": _fixed(FLOAT, gives=NUMBER),
    "ftou": _fixed(FLOAT, gives=UNSIGNED),
}

NEGATION = NUMBER | FLOAT  # `-x` of an unsigned x is no unsigned
RISKY = frozenset({"/", "%", "^", "to_number", "to_unsigned", "to_float", "ftoi", "ftou"})


def is_risky(functor: str) -> bool:
    """May it stop an evaluation, for some arguments? Functions of the program's own may."""
    return functor in RISKY or functor.startswith("@")


def spelled_value(mask: int, terms: Sequence[TermKind] = ()) -> str:
    """The kind of a value; one that could be any number is called a number."""
    return spelled(NUMBER if mask == NUMERIC else mask, terms)


def spelled(mask: int, terms: Sequence[TermKind] = ()) -> str:
    """
    >>> spelled(NUMERIC)
    'a number, unsigned or float'
    >>> spelled(UNSIGNED)
    'an unsigned'
    """
    names: list[str] = [kind for kind, bit in BITS.items() if mask & bit]
    names += [kind for kind in terms if mask & kind.bit]
    article = "an" if names[0] == "unsigned" else "a"
    return f"{article} {' or '.join([', '.join(names[:-1]), names[-1]] if names[1:] else names)}"
