"""Where facts must be so that every rule instance is found in some part.

Facts of a relation are sent to the parts of its *routes*: the homes of the values of a column, or
all parts. A rule can be evaluated part by part if its body atoms share a variable and each has a
route by it; atoms of relations that are everywhere do not matter, and a single atom needs no
partner. A longer body without a common variable is split: the facts that two of its atoms yield
become a relation of their own, whose name starts with `%part:`. Negated literals and aggregates
need their relation in full, so it is broadcast.

Negated literals and aggregates need their relation whole, so that is broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tidelog.program.formula_walk import names_of
from tidelog.program.rules import (
    BodyLiteral,
    Constraint,
    Group,
    Literal,
    Relation,
    Rule,
    Stratum,
)
from tidelog.program.syntax import Constant, Value, Variable
from tidelog.program.table import Table
from tidelog.spark.strategies.blobs import Mask, Parts, equal, home, select

Where = tuple[tuple[int, Value], ...]
NOWHERE_ELSE = -1  # the column of a route to the first part, for relations without columns


@dataclass(frozen=True, slots=True)
class Route:
    """Facts with these values in these columns are sent to the home of another column's value, or
    everywhere."""

    column: int | None  # None is everywhere
    where: Where = ()

    def meets(self, table: Table) -> Mask:
        """Whether the route applies to each fact."""
        found = np.ones(table.size, dtype=np.bool_)
        for column, value in self.where:
            found &= equal(table.columns[column], value)
        return found

    def homes(self, table: Table, parts: int) -> Parts:
        if self.column is None or self.column == NOWHERE_ELSE:
            return np.zeros(table.size, dtype=np.int64)
        return home(table.columns[self.column], parts)


@dataclass(frozen=True, slots=True)
class Partitioning:
    """The rules as parts evaluate them, and where their facts must be."""

    seeds: tuple[Rule, ...]  # they read only what is broadcast
    rules: tuple[Rule, ...]
    relations: dict[str, Relation]  # relations that split rules
    broadcast: frozenset[str]
    routes: dict[str, tuple[Route, ...]]  # of the others; the first one is the owner's


def targets(
    routes: Sequence[Route], table: Table, parts: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Facts, by number, and the parts that they are sent to; distinct pairs, ordered by part."""
    everywhere = np.zeros(table.size, dtype=np.bool_)
    for route in routes:
        if route.column is None:
            everywhere |= route.meets(table)
    every = np.flatnonzero(everywhere)
    rows, to = [np.tile(every, parts)], [np.repeat(np.arange(parts, dtype=np.int64), len(every))]
    nowhere = np.full(table.size, -1, dtype=np.int64)
    before: list[NDArray[np.int64]] = []
    for route in routes:
        if route.column is not None:
            homes = np.where(route.meets(table) & ~everywhere, route.homes(table, parts), nowhere)
            new = homes >= 0
            for other in before:  # a fact may have the same home by several columns
                new &= homes != other
            before.append(homes)
            rows.append(np.flatnonzero(new))
            to.append(homes[new])
    to_all = np.concatenate(to)
    # Small numbers are sorted in one pass.
    order = np.argsort(to_all.astype(np.uint16 if parts < 1 << 16 else np.int64), kind="stable")
    return np.concatenate(rows)[order], to_all[order]


def by_part(routes: Sequence[Route], table: Table, parts: int) -> Iterator[tuple[int, Table]]:
    """The facts that are sent to each part, if any are."""
    rows, to = targets(routes, table, parts)
    bounds = np.searchsorted(to, np.arange(parts + 1))
    for part in np.flatnonzero(np.diff(bounds)).tolist():
        yield part, select(table, rows[bounds[part] : bounds[part + 1]])


Few = Callable[[Literal], bool]  # whether so few facts match the atom that all parts can have them


def place(
    stratum: Stratum,
    relations: Mapping[str, Relation],
    small: frozenset[str],
    few: Few = lambda atom: False,
) -> Partitioning:
    """A partitioning in which every instance of the stratum's rules is found.

    `small` are lower relations that are broadcast only because they are small.
    """
    whole = {name for rule in stratum.rules for name, complete in rule.reads() if complete}
    inside = frozenset(stratum.relations)
    plan = _Plan(inside, relations, (small | whole) - inside, few)
    for rule in stratum.rules:
        plan.add(rule)
    return plan.done()


@dataclass(slots=True)
class _Plan:
    inside: frozenset[str]
    known: Mapping[str, Relation]
    broadcast: frozenset[str]
    few: Few
    seeds: list[Rule] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    made: dict[str, Relation] = field(default_factory=dict)
    routes: dict[str, dict[Route, None]] = field(default_factory=dict)

    def relation(self, name: str) -> Relation:
        return self.made.get(name) or self.known[name]

    def add(self, rule: Rule) -> None:
        if not self._spread(rule):
            self.seeds.append(rule)
            return
        while (pair := self._divided(rule)) is not None:
            part, rule = pair
            self._meet(self._far(part))
            self.rules.append(part)
        self.rules.append(rule)

    def _spread(self, rule: Rule) -> list[Literal]:
        """The atoms that are not broadcast."""
        return [a for a in rule.literals() if not a.negated and a.relation not in self.broadcast]

    def _far(self, rule: Rule) -> list[Literal]:
        """The atoms that are neither broadcast nor everywhere."""
        return [atom for atom in self._spread(rule) if not self._everywhere(atom)]

    def _everywhere(self, atom: Literal) -> bool:
        routes = self.routes.get(atom.relation, {})
        return Route(None) in routes or Route(None, where(atom)) in routes

    def _divided(self, rule: Rule) -> tuple[Rule, Rule] | None:
        """A rule for two of the atoms and one for the rest, unless all can meet as they are."""
        if len(self._spread(rule)) < 2:
            return None
        for atom in self._spread(rule):
            if len(self._far(rule)) > 1 and self.few(atom):
                self._route(atom, None)
        atoms = self._far(rule)
        if len(atoms) < 2 or self._meet(atoms):
            return None
        pairs = [(a, b) for a, b in combinations(atoms, 2) if _variables(a) & _variables(b)]
        if not pairs:
            # A product: each fact of one side meets each of the other.
            self._route(min(atoms, key=lambda a: (len(a.terms), -len(where(a)))), None)
            return self._divided(rule)
        return self._division(rule, max(pairs, key=lambda p: len(_variables(p[0], p[1]))))

    def _meet(self, atoms: Sequence[Literal]) -> bool:
        """Let the atoms meet at the home of a variable that all of them have."""
        if len(atoms) < 2:
            return True
        shared = set.intersection(*(_variables(atom) for atom in atoms))
        if not shared:
            return False
        # A variable by which the relations are already sent costs nothing more.
        best = max(sorted(shared), key=lambda name: sum(self._has(a, name) for a in atoms))
        for atom in atoms:
            self._route(atom, _column(atom, best))
        return True

    def _has(self, atom: Literal, name: str) -> bool:
        routes = self.routes.get(atom.relation, {})
        return any(
            isinstance(term, Variable) and term.name == name and Route(c) in routes
            for c, term in enumerate(atom.terms)
        )

    def _route(self, atom: Literal, column: int | None) -> None:
        routes = self.routes.setdefault(atom.relation, {})
        if Route(column) not in routes and Route(None) not in routes:
            routes[Route(column, where(atom))] = None

    def _division(self, rule: Rule, pair: tuple[Literal, Literal]) -> tuple[Rule, Rule]:
        inner = _variables(*pair)
        taken: list[BodyLiteral] = [
            part for part in rule.body if any(part is a for a in pair) or _compares(part, inner)
        ]
        rest = [part for part in rule.body if not any(part is other for other in taken)]
        needed = {name for part in (rule.head, *rest) for name in names_of(part)}
        kept: dict[str, Variable] = {}
        kinds = []
        for atom in pair:
            for c, term in enumerate(atom.terms):
                if isinstance(term, Variable) and term.name in needed and term.name not in kept:
                    kept[term.name] = term
                    kinds.append(self.relation(atom.relation).kinds[c])
        name = f"%part:{len(self.made)}"
        self.made[name] = Relation(name, tuple(kept), tuple(kinds))
        head = Literal(name, tuple(kept.values()), at=rule.at)
        return (
            replace(rule, head=head, body=tuple(taken)),
            replace(rule, body=(head, *rest)),
        )

    def done(self) -> Partitioning:
        read = {a.relation for rule in self.rules for a in self._spread(rule)}
        routes = {}
        for name in sorted(read | self.inside | self.made.keys()):
            found = list(self.routes.get(name, {}))
            plain = [r for r in found if not r.where and r.column is not None]
            owner = plain[0] if plain else Route(0 if self.relation(name).arity else NOWHERE_ELSE)
            routes[name] = (owner, *(r for r in found if r != owner))
        return Partitioning(tuple(self.seeds), tuple(self.rules), self.made, self.broadcast, routes)


def where(atom: Literal | Group) -> Where:
    """The constants of an atom, by column."""
    return tuple((c, t.value) for c, t in enumerate(atom.terms) if isinstance(t, Constant))


def _column(atom: Literal, name: str) -> int:
    return next(c for c, t in enumerate(atom.terms) if isinstance(t, Variable) and t.name == name)


def _variables(*atoms: Literal) -> set[str]:
    return {t.name for atom in atoms for t in atom.terms if isinstance(t, Variable)}


def _compares(part: BodyLiteral, bound: set[str]) -> bool:
    """Evaluate a comparison as soon as its variables and constants are bound."""
    if not isinstance(part, Constraint) or part.op not in ("=", "!=", "<", "<=", ">", ">="):
        return False
    sides = (part.left, part.right)
    return all(
        isinstance(side, Constant) or (isinstance(side, Variable) and side.name in bound)
        for side in sides
    )
