"""Positive programs, as facts and rules that come and go, for the circuits of the DYRE paper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from hypothesis import strategies as st

from tests.dbsp.words import Facts, rules_of
from tidelog.dbsp.definitions import Fact
from tidelog.program.rules import Literal, Rule, Simple
from tidelog.program.syntax import Constant, Variable, Wildcard

DECLARED = """
.decl e(x: number, y: number)
.decl f(x: number, y: number)
.decl p(x: number, y: number)
.decl q(x: number, y: number)
.decl u(x: number)
.decl n()
"""
RULES = rules_of(
    DECLARED
    + """
p(x, y) :- e(x, y).
p(x, z) :- e(x, y), p(y, z).
p(x, z) :- p(x, y), p(y, z).
p(y, x) :- p(x, y), f(x, _).
q(x, z) :- e(x, y), f(y, z).
q(x, w) :- e(x, y), f(y, z), p(z, w).
q(x, x) :- p(x, x).
q(1, x) :- p(2, x), q(x, 3).
p(x, 1) :- q(x, _), e(_, x), u(x).
u(x) :- p(x, _), q(_, x).
u(x) :- e(x, x), e(x, _).
n() :- u(2), p(2, 3).
e(x, 0) :- n(), u(x).
e(x, y) :- q(x, y), q(y, x).
"""
)
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
    """Mostly variables, so that atoms meet and rules feed each other."""
    variables = st.sampled_from(NAMES).map(Variable)
    rare = st.one_of(st.integers(0, 2).map(constant), st.just(Wildcard()))
    terms: st.SearchStrategy[Simple] = st.one_of(variables, variables, variables, rare)
    body = [
        Literal(name, tuple(draw(terms) for _ in range(WIDTHS[name])))
        for name in draw(st.lists(st.sampled_from("eefppqun"), min_size=1, max_size=3))
    ]
    known = sorted({t.name for atom in body for t in atom.terms if isinstance(t, Variable)})
    heads: st.SearchStrategy[Simple] = st.integers(0, 2).map(constant)
    if known:
        heads = st.one_of(*3 * [st.sampled_from(known).map(Variable)], heads)
    name = draw(st.sampled_from("ppqqun"))
    return Rule(Literal(name, tuple(draw(heads) for _ in range(WIDTHS[name]))), tuple(body))


@st.composite
def pools(draw: st.DrawFn) -> list[Rule]:
    """Generated rules, recursive ones that are well known, and some with their body in another
    order."""
    known = st.sampled_from(RULES)
    pool = draw(st.lists(st.one_of(rules(), known, known), min_size=2, max_size=6, unique=True))
    other = draw(st.sampled_from(pool))
    same_width = [name for name in "pqun" if WIDTHS[name] == len(other.head.terms)]
    head = replace(other.head, relation=draw(st.sampled_from(same_width)))
    turned = Rule(head, tuple(draw(st.permutations(other.body))))
    return [*pool, turned] if turned not in pool else pool


@st.composite
def histories(draw: st.DrawFn) -> list[Move]:
    """All rules and many facts at first; then some of both come and go."""
    pool = draw(pools())
    row = {name: st.tuples(*[st.integers(0, 4)] * width) for name, width in WIDTHS.items()}
    fact = st.sampled_from("eeeefpu").flatmap(lambda name: st.tuples(st.just(name), row[name]))
    facts: set[tuple[str, tuple[int, ...]]] = set()
    held: set[Rule] = set()
    moves = []
    for at in range(draw(st.integers(2, 5))):
        flipped = draw(st.sets(st.sampled_from(pool), max_size=2)) if at else set(pool)
        changed = draw(st.sets(fact, min_size=0 if at else 6, max_size=4 if at else 16))
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


class Story:
    """Random changes of facts and rules, one after the other."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.rules: list[Rule] = []
        self.facts: set[Fact] = set()

    def next(self) -> tuple[Facts, list[Rule], list[Rule]]:
        random = self.random
        come = [r for r in RULES if r not in self.rules and random.random() < 0.2]
        gone = [r for r in self.rules if random.random() < 0.15]
        change: Facts = {}
        for _ in range(random.choice((0, 1, 1, 3, 8))):
            name = random.choice("eeefu")
            width = 1 if name == "u" else 2
            fact = (name, tuple(random.randrange(5) for _ in range(width)))
            change[fact] = -1 if fact in self.facts else 1
        self.rules = [r for r in self.rules if r not in gone] + come
        self.facts.symmetric_difference_update(change)
        return change, come, gone
