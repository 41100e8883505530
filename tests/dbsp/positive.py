"""Positive programs, as facts and rules that come and go, for the circuits of the DYRE paper."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from tests.dbsp.words import Facts
from tidelog.program.rules import Literal, Rule, Simple
from tidelog.program.syntax import Constant, Variable, Wildcard

WIDTHS = {"e": 2, "f": 2, "p": 2, "q": 2, "u": 1, "n": 0}
NAMES = ("x", "y", "z")


@dataclass(frozen=True)
class Move:
    """A step: changes of explicit facts, rules added and rules removed."""

    facts: Facts
    come: list[Rule]
    gone: list[Rule]


def constant(value: int) -> Constant:
    return Constant(value, "number")


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    terms: st.SearchStrategy[Simple] = st.one_of(
        *(st.just(Variable(name)) for name in NAMES),
        st.sampled_from(NAMES).map(Variable),
        st.integers(0, 2).map(constant),
        st.just(Wildcard()),
    )
    body = []
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(sorted(WIDTHS)))
        body.append(Literal(name, tuple(draw(terms) for _ in range(WIDTHS[name]))))
    known = sorted({t.name for atom in body for t in atom.terms if isinstance(t, Variable)})
    heads: st.SearchStrategy[Simple] = st.integers(0, 2).map(constant)
    if known:
        heads = st.one_of(st.sampled_from(known).map(Variable), heads)
    name = draw(st.sampled_from(sorted(WIDTHS)))
    return Rule(Literal(name, tuple(draw(heads) for _ in range(WIDTHS[name]))), tuple(body))


@st.composite
def histories(draw: st.DrawFn) -> list[Move]:
    pool = draw(st.lists(rules(), min_size=1, max_size=5, unique=True))
    facts: set[tuple[str, tuple[int, ...]]] = set()
    held: set[Rule] = set()
    moves = []
    for _ in range(draw(st.integers(1, 5))):
        flipped = draw(st.sets(st.sampled_from(pool), max_size=3))
        changed = draw(
            st.sets(
                st.sampled_from(("e", "e", "f", "p", "u")).flatmap(
                    lambda name: st.tuples(
                        st.just(name), st.tuples(*[st.integers(0, 3)] * WIDTHS[name])
                    )
                ),
                max_size=6,
            )
        )
        moves.append(
            Move(
                {fact: -1 if fact in facts else 1 for fact in sorted(changed)},
                [rule for rule in pool if rule in flipped - held],
                [rule for rule in pool if rule in flipped & held],
            )
        )
        facts ^= changed
        held ^= flipped
    return moves
