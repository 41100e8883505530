"""Sets of kinds as masks: one bit for each kind, so that a set is an integer."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.program.syntax import KINDS, Kind, Primitive
from tidelog.program.terms import TermKind

BITS: dict[Primitive, int] = {kind: 1 << i for i, kind in enumerate(KINDS)}
NUMBER, UNSIGNED, FLOAT, SYMBOL = BITS.values()
INTEGER = NUMBER | UNSIGNED
NUMERIC = INTEGER | FLOAT
ANY = NUMERIC | SYMBOL  # every built-in kind; the bits of records and algebraic types are higher


def bit(kind: Kind) -> int:
    return kind.bit if isinstance(kind, TermKind) else BITS[kind]


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
