"""Closure modules: recursive rules that have an algorithm of their own (Hu et al. 2019, section 4).

A stratum's recursive rules are divided into modules. For a relation R of two columns:
  - `R(x, z) :- R(x, y), R(y, z).` is *transitive*;
  - with `R(x, y) :- R(y, x).` it is *symmetric-transitive*;
  - `R(x, z) :- R(x, y), B(y, z).` is *left-linear* and `R(x, z) :- B(x, y), R(y, z).`
    *right-linear*, where B is complete before the stratum.
All other recursive rules are one generic module. The names of variables and the order and
repetition of atoms do not matter, nor what other rules R and its stratum have.

What the rules of a module make of X, the facts of R from elsewhere (explicit ones and those
of other rules):
  - transitive: X⁺, the pairs with a way of one or more facts of X from the first to the second;
  - symmetric-transitive: all pairs within a connected component of X, those of a node with
    itself included;
  - left-linear: X ∘ B*, and right-linear: B* ∘ X. The other column only rides along and may
    have another type. If X is B itself, either is B⁺.

`eqrel` means the symmetric-transitive rules with `R(x, x) :- R(x, _).` and
`R(x, x) :- R(_, x).`, which add no fact to them: R(x, y) and R(y, x) give R(x, x). A rule
over R alone that follows from its module in such a way belongs to it. With symmetry, atoms of
the transitive rule may stand either way round.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal as Choice

from tidelog.program.rules import Literal, Rule, Stratum
from tidelog.program.syntax import Variable, Wildcard

Kind = Choice["transitive", "symmetric-transitive", "left-linear", "right-linear"]


@dataclass(frozen=True, slots=True)
class Closure:
    """Recursive rules of one relation that close it."""

    kind: Kind
    relation: str
    rules: tuple[Rule, ...]
    base: str | None = None  # B, if linear
    swapped: bool = False  # B is read with its columns swapped: it stands for its inverse
    whole: bool = False  # linear, and R's other rules only copy B: without explicit facts, R is B⁺
    inverse: str | None = None  # a relation with the same pairs the other way round

    @property
    def source(self) -> str:
        """The relation whose facts are X: the base, or the relation itself."""
        return self.base or self.relation

    @property
    def relations(self) -> tuple[str, ...]:
        """What the rules derive."""
        return (self.relation,) if self.inverse is None else (self.relation, self.inverse)

    def __str__(self) -> str:
        """
        >>> print(Closure("right-linear", "path", (), "edge", swapped=True))
        right-linear path over edge with columns swapped
        >>> print(Closure("transitive", "above", (), inverse="below"))
        transitive above with its inverse below
        """
        base = "" if self.base is None else f" over {self.base}"
        inverse = "" if self.inverse is None else f" with its inverse {self.inverse}"
        return (
            f"{self.kind} {self.relation}{base}{inverse}" + " with columns swapped" * self.swapped
        )


@dataclass(frozen=True, slots=True)
class Modules:
    """The recursive rules of a stratum, each once."""

    closures: tuple[Closure, ...]
    generic: tuple[Rule, ...]

    @property
    def own(self) -> tuple[Closure, ...]:
        """Closures that have an algorithm of their own: of linear ones, those that are B⁺."""
        return tuple(closure for closure in self.closures if closure.base is None or closure.whole)


def modules(stratum: Stratum) -> Modules:
    """The modules of a stratum; its relations and rules keep their order.

    >>> from tidelog.plan import analyse
    >>> from tidelog.text import parse
    >>> text = "p(1, 2). p(a, c) :- p(b, c), p(a, b). p(x, x) :- p(x, y), q(y). q(2)."
    >>> found = modules(analyse(parse(text).program).checked.strata[-1])
    >>> print(*found.closures, *(rule.text for rule in found.generic), sep="; ")
    transitive p; p(x, x) :- p(x, y), q(y).
    """
    recursive = _by_head(stratum.recursive)
    nonrecursive = _by_head(stratum.nonrecursive)
    inside = frozenset(stratum.relations)
    closures: list[Closure] = []
    for name, rules in recursive.items():
        found = _square(name, rules) or _linear(name, rules, inside)
        copied = {shape for _, shape in nonrecursive.get(name, ())}
        closures += (_whole(closure, rules, copied) for closure in found)
    # By identity: hashing every rule of a large stratum takes longer than all the rest.
    taken = {id(rule) for closure in closures for rule in closure.rules}
    return Modules(tuple(closures), tuple(r for r in stratum.recursive if id(r) not in taken))


def paired(stratum: Stratum) -> Modules:
    """The same, but where all recursion is a transitive relation and its inverse, they are one.

    Of X, the facts of both from elsewhere, those of the inverse turned round, the one relation is
    X⁺ and the other one its inverse, and no fact depends on itself.

    >>> from tidelog.plan import analyse
    >>> from tidelog.text import parse
    >>> text = "p(1, 2). p(a, c) :- p(a, b), p(b, c). q(y, x) :- p(x, y). p(y, x) :- q(x, y)."
    >>> print(*paired(analyse(parse(text).program).checked.strata[-1]).closures)
    transitive p with its inverse q
    """
    found = modules(stratum)
    if len(stratum.relations) != 2 or not found.closures:
        return found
    names = {*stratum.relations}
    turned = {rule.head.relation for rule in found.generic}
    if turned != names or any(closure.kind != "transitive" for closure in found.closures):
        return found
    for rule in found.generic:
        (other,) = names - {rule.head.relation}
        if _shape(rule) != Shape((0, 1), frozenset({(other, (1, 0))})):
            return found
    first = found.closures[0]
    (other,) = names - {first.relation}
    rules = (*(rule for closure in found.closures for rule in closure.rules), *found.generic)
    return Modules((replace(first, rules=rules, inverse=other),), ())


def copies(rules: Iterable[Rule], base: str, swapped: bool) -> bool:
    """Do the rules only copy facts of a relation of two columns, or swap them?"""
    copy = Shape((0, 1), frozenset({(base, (1, 0) if swapped else (0, 1))}))
    return all(_shape(rule) == copy for rule in rules)


Chain = tuple[tuple[str, bool], ...]  # relations, and whether their columns are swapped


@dataclass(frozen=True, slots=True)
class Feed:
    """How rules without recursion feed a symmetric-transitive closure, all the recursion that its
    stratum has."""

    closure: Closure
    chains: tuple[Chain, ...]
    others: tuple[Rule, ...]


def feed(stratum: Stratum) -> Feed | None:
    """None where no rule joins facts in a chain."""
    found = paired(stratum)
    if found.generic or [c.kind for c in found.closures] != ["symmetric-transitive"]:
        return None
    chains: list[Chain] = []
    others: list[Rule] = []
    for rule in stratum.nonrecursive:
        steps = chain(rule)
        if steps is not None and len(steps) > 1:
            chains.append(steps)
        else:
            others.append(rule)
    return Feed(found.closures[0], tuple(chains), tuple(others)) if chains else None


def chain(rule: Rule) -> Chain | None:
    """Relations that lead from the head's first variable to its second, one after the other; None
    if the body is anything else.

    >>> from tidelog.text import parse
    >>> from tidelog.plan import analyse
    >>> text = "p(1, 2). q(x, y) :- p(x, u), p(v, u), p(v, y). r(x) :- p(x, _)."
    >>> [chain(rule) for rule in analyse(parse(text).program).checked.rules]
    [(('p', False), ('p', True), ('p', False)), None]
    """
    shape = _shape(rule)
    if shape is None or shape.head != (0, 1):
        return None
    left, seen, at = set(shape.body), {0}, 0
    steps: list[tuple[str, bool]] = []
    while left:
        here = [part for part in left if at in part[1]]
        if len(here) != 1:
            return None
        ((name, (x, y)),) = here
        swapped = at == y
        at = x if swapped else y
        if at in seen:
            return None
        left.discard(here[0])
        seen.add(at)
        steps.append((name, swapped))
    return tuple(steps) if at == 1 else None


# A rule as a graph: its variables are nodes, in numbers, and its atoms are edges. The head leads
# from 0 to 1, and the first node that is not in it is 2; if it repeats a variable, from 0 to 0.
Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Shape:
    head: Edge
    body: frozenset[tuple[str, Edge]]

    def over(self, relation: str) -> frozenset[Edge] | None:
        """The body's edges if all are of this relation."""
        same = all(name == relation for name, _ in self.body)
        return frozenset(edge for _, edge in self.body) if same else None


Shaped = tuple[Rule, Shape | None]  # None for rules that no closure has


def _by_head(rules: Iterable[Rule]) -> dict[str, list[Shaped]]:
    found: dict[str, list[Shaped]] = {}
    for rule in rules:
        found.setdefault(rule.head.relation, []).append((rule, _shape(rule)))
    return found


def _shape(rule: Rule) -> Shape | None:
    """The graph of a rule whose atoms are pairs of variables and `_`, and are not negated."""
    numbers: dict[str | int, int] = {}
    edges: list[tuple[str, Edge]] = []
    for part in (rule.head, *rule.body):
        if not isinstance(part, Literal) or part.negated or len(part.terms) != 2:
            return None
        ends: list[int] = []
        for term in part.terms:
            if isinstance(term, Variable):
                ends.append(numbers.setdefault(term.name, len(numbers)))
            elif isinstance(term, Wildcard):
                ends.append(numbers.setdefault(len(numbers), len(numbers)))  # a node of its own
            else:
                return None
        edges.append((part.relation, (ends[0], ends[1])))
    return Shape(edges[0][1], frozenset(edges[1:]))


TRANSITIVE: frozenset[Edge] = frozenset({(0, 2), (2, 1)})
SYMMETRIC: frozenset[Edge] = frozenset({(1, 0)})


def squares(rules: Iterable[Rule]) -> list[Closure]:
    """The transitive and symmetric-transitive modules among recursive rules."""
    return [closure for name, mine in _by_head(rules).items() for closure in _square(name, mine)]


def _square(name: str, rules: list[Shaped]) -> list[Closure]:
    """The transitive or symmetric-transitive module of a relation, if it has one."""
    own = [
        (rule, shape.head, edges)
        for rule, shape in rules
        if shape is not None and (edges := shape.over(name)) is not None
    ]
    kind: Kind = "transitive"
    needed = TRANSITIVE
    if any(head == (0, 1) and edges == SYMMETRIC for _, head, edges in own):
        kind = "symmetric-transitive"
        needed = _either_way(needed)
        own = [(rule, head, _either_way(edges)) for rule, head, edges in own]
    if not any(head == (0, 1) and edges == needed for _, head, edges in own):
        return []
    implied = (rule for rule, head, edges in own if _leads(head, edges))
    return [Closure(kind, name, tuple(implied))]


def _either_way(edges: Iterable[Edge]) -> frozenset[Edge]:
    return frozenset(edge for x, y in edges for edge in ((x, y), (y, x)))


def _leads(head: Edge, edges: frozenset[Edge]) -> bool:
    """Is there a way of one or more edges from the head's first node to its second?"""
    start, end = head
    after: dict[int, list[int]] = {}
    for x, y in edges:
        after.setdefault(x, []).append(y)
    reached: set[int] = set()
    N = {start}
    while N:
        N = {y for x in N for y in after.get(x, ())} - reached
        reached |= N
    return end in reached


# How R and B stand in a linear rule, and whether B's columns are swapped.
LINEAR: dict[tuple[Edge, Edge], tuple[Kind, bool]] = {
    ((0, 2), (2, 1)): ("left-linear", False),
    ((0, 2), (1, 2)): ("left-linear", True),
    ((2, 1), (0, 2)): ("right-linear", False),
    ((2, 1), (2, 0)): ("right-linear", True),
}


def _linear(name: str, rules: list[Shaped], inside: frozenset[str]) -> list[Closure]:
    """The linear modules of a relation: one for each side, base and direction of the base."""
    found: dict[tuple[Kind, str, bool], list[Rule]] = {}
    for rule, shape in rules:
        if shape is not None and shape.head == (0, 1) and len(shape.body) == 2:
            (first, edge), (base, other) = sorted(shape.body, key=lambda part: part[0] != name)
            known = LINEAR.get((edge, other))
            if known is not None and first == name and base not in inside:
                found.setdefault((known[0], base, known[1]), []).append(rule)
    return [
        Closure(kind, name, tuple(own), base, swapped)
        for (kind, base, swapped), own in found.items()
    ]


def _whole(closure: Closure, rules: list[Shaped], copied: set[Shape | None]) -> Closure:
    """The closure with what is known of the relation's other rules."""
    if closure.base is None or len(rules) > len(closure.rules):
        return closure
    copy = Shape((0, 1), frozenset({(closure.base, (1, 0) if closure.swapped else (0, 1))}))
    return replace(closure, whole=copied == {copy})
