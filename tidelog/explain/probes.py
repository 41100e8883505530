"""Rule instances by their heads, found by the engine's evaluators.

A rule `h(x, z) :- b(x, y), c(y, z).` has the probe `%instance(x, y, z) :- %goal(x, z), b(x, y),
c(y, z).` Facts of `%goal` are the heads asked for; those of `%instance` say what each variable is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import NamedTuple, Self

import numpy as np

from tidelog.engine import Ids, Split, Store, TemporaryRelations, View
from tidelog.program.formula_walk import names_of, terms_of, variables
from tidelog.program.rules import BodyLiteral, Group, Literal, Relation, Rule, Simple
from tidelog.program.syntax import Constant, Kind, Value, Variable, Wildcard
from tidelog.program.table import python_values

IdRow = tuple[int, ...]  # a fact by the ids of its values
IdFact = tuple[str, IdRow]  # its relation, and its row
MOST = 50_000  # instances read from one evaluation: more take long


class RuleMatch(NamedTuple):
    """An instance of `origin`: of `rule`, in which each wildcard of a positive literal has a
    name."""

    origin: Rule
    rule: Rule
    env: Mapping[str, int]
    order: int  # of the rule among those asked


@dataclass(frozen=True, slots=True)
class Probe:
    """`made` derives the columns, which are variables of `named`: the rule `of` with names for
    wildcards."""

    of: Rule
    named: Rule
    made: Rule
    columns: tuple[Variable, ...]

    @classmethod
    def for_heads(cls, rule: Rule, number: int, goal: Literal) -> Self:
        body = tuple(_named(part, i) for i, part in enumerate(rule.body))
        used = (goal, rule.head, *body)
        local = _local(used)
        found = {v.name: v for part in used for v in variables(*terms_of(part))}
        columns = tuple(v for name, v in found.items() if name not in local)
        made = Rule(Literal(f"%instance:{number}", columns), (goal, *body), rule.text, rule.at)
        return cls(rule, replace(rule, body=body), made, columns)


def _named(part: BodyLiteral, number: int) -> BodyLiteral:
    """A positive literal with a variable in place of each wildcard."""
    if not isinstance(part, Literal) or part.negated:
        return part
    terms: list[Simple] = [
        Variable(f"%any:{number}:{i}", t.at, t.kind) if isinstance(t, Wildcard) else t
        for i, t in enumerate(part.terms)
    ]
    return replace(part, terms=tuple(terms))


def _local(parts: Sequence[BodyLiteral]) -> set[str]:
    """Variables that occur in one aggregate only."""
    uses = Counter(name for part in parts for name in names_of(part))
    groups = (part for part in parts if isinstance(part, Group))
    return {v.name for g in groups for v in variables(*g.terms) if uses[v.name] == 1}


class Probes:
    """Asks an engine for rule instances, in a block; at its end the engine is as it was before."""

    def __init__(self, engine: Store) -> None:
        self.engine = engine
        self.found = 0  # instances of the last evaluation, whether they were read or not
        self.declared: dict[str, Relation] = {}
        self.rules: list[Rule] = []
        self._probes: dict[tuple[int, str], tuple[Rule, Probe]] = {}
        self._values: dict[tuple[Kind | None, int], Value] = {}

    @classmethod
    @contextmanager
    def of(cls, engine: Store, scratch: TemporaryRelations) -> Iterator[Self]:
        probes = cls(engine)
        try:
            with scratch.scope():
                yield probes
        finally:
            scratch.drop(probes.declared, probes.rules)

    def matches(
        self,
        asked: Iterable[tuple[Rule, Literal]],
        goals: Mapping[str, Collection[IdRow]],
        explicit: frozenset[str] = frozenset(),
        most: int = MOST,
    ) -> list[RuleMatch]:
        """The instances of rules that meet the facts of a relation of goals; of relations that are
        `explicit`, bodies have explicit facts only. `found` says how many there are; `most` of
        them are returned."""
        engine = self.engine
        probes = [self._probe(rule, goal) for rule, goal in asked]
        G = engine.none()
        for name, rows in goals.items():
            if name in self.declared:  # otherwise no rule reads it
                G |= engine.pick(name, as_ids(rows, self.declared[name].arity))
        view: View = engine.all | G
        if explicit:
            view = Split(explicit, engine.explicit, view)
        found = engine.apply([probe.made for probe in probes], within=view, negative=engine.all)
        self.found = len(found)
        if self.found > most:
            found = engine.some(found, most)
        matched: list[RuleMatch] = []
        for i, probe in enumerate(probes):
            names = [column.name for column in probe.columns]
            rows = engine.ids(found, probe.made.head.relation).tolist()
            envs = (dict(zip(names, row, strict=True)) for row in rows)
            matched += (RuleMatch(probe.of, probe.named, env, i) for env in envs)
        return matched

    def _probe(self, rule: Rule, goal: Literal) -> Probe:
        known = self._probes.get((id(rule), goal.relation))
        if known is not None:
            return known[1]
        probe = Probe.for_heads(rule, len(self._probes), goal)
        self._probes[id(rule), goal.relation] = rule, probe  # no other rule gets its identity
        for literal in (goal, probe.made.head):
            self._declare(literal)
        self.rules.append(probe.made)
        return probe

    def _declare(self, literal: Literal) -> None:
        if literal.relation not in self.declared:
            names = tuple(f"column{i + 1}" for i in range(len(literal.terms)))
            kinds = tuple(term.kind or "number" for term in literal.terms)
            self.declared[literal.relation] = relation = Relation(literal.relation, names, kinds)
            self.engine.declare(relation, aside=True)

    # Facts and values by ids.

    def among(self, view: View, facts: Iterable[IdFact]) -> set[IdFact]:
        """Those of the facts that a view has."""
        found: set[IdFact] = set()
        for name, rows in by_relation(facts).items():
            picked = self.engine.pick(name, as_ids(rows, len(rows[0])))
            kept = self.engine.ids(self.engine.collect(picked & view), name).tolist()
            found.update((name, tuple(row)) for row in kept)
        return found

    def ids(self, relation: Relation, row: Sequence[Value]) -> IdRow:
        return tuple(self.id(kind, value) for kind, value in zip(relation.kinds, row, strict=True))

    def id(self, kind: Kind, value: Value) -> int:
        return int(self.engine.identify(kind, [value])[0])

    def value(self, kind: Kind | None, number: int) -> Value:
        if (kind, number) not in self._values:
            column = self.engine.values(kind or "number", np.array([number], dtype=np.uint32))
            self._values[kind, number] = python_values(column)[0]
        return self._values[kind, number]

    def ids_of(self, literal: Literal, env: Mapping[str, int]) -> IdRow:
        """The fact that a positive literal of an instance is."""
        return self.reader(literal)(env)

    def reader(self, literal: Literal) -> Callable[[Mapping[str, int]], IdRow]:
        """The same for many instances."""
        names = tuple(term.name for term in literal.terms if isinstance(term, Variable))
        if len(names) == len(literal.terms) > 1:
            read: Callable[[Mapping[str, int]], IdRow] = itemgetter(*names)
            return read
        known = {
            i: self.id(term.kind or "number", term.value)
            for i, term in enumerate(literal.terms)
            if isinstance(term, Constant)
        }
        terms = [known.get(i, getattr(t, "name", "")) for i, t in enumerate(literal.terms)]
        return lambda env: tuple(env[t] if isinstance(t, str) else t for t in terms)


def as_ids(rows: Collection[IdRow], arity: int) -> Ids:
    found: Ids = np.array(list(rows), dtype=np.uint32).reshape(len(rows), arity)
    return found


def by_relation(facts: Iterable[IdFact]) -> dict[str, list[IdRow]]:
    found: dict[str, list[IdRow]] = {}
    for name, row in facts:
        found.setdefault(name, []).append(row)
    return found
