"""Magic sets: the rules of a program, changed so that they derive only what is asked for.

A relation that is asked for with some columns bound, `path(1, x)`, gets rules of its own for that
pattern of bound (b) and free (f) columns: `%path^bf`. They derive facts only for values that
`%need:path^bf` has, which in turn is derived from where the values come from: the query, and
the parts of rules before the one that asks (`sideways`). Where no column is bound, all facts are
needed, and the relation is *whole*: its rules stay as they are, but for what they ask for.

Negation and aggregates may ask for bound columns, too. Where a cycle would go through one of
them, what it reads is taken whole, and all below it; then there is none. A relation that is
asked for in many patterns, or whole besides, is taken whole.

Beeri and Ramakrishnan 1991, *On the Power of Magic*; Balbin et al. 1991 for negation. Departures:
closures with one end bound have forms of their own (`reaching`), and there are no supplementary
relations: a demand repeats the parts of its rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidelog.plan.closure_demand import GIVEN, is_closure, reach
from tidelog.plan.sideways_passing import PassingStep, group_keys, in_order, is_plain
from tidelog.plan.strata import strata
from tidelog.program.formula_walk import names_of
from tidelog.program.rules import (
    BodyLiteral,
    Constraint,
    Group,
    Literal,
    Relation,
    Rule,
    Simple,
    Stratum,
)
from tidelog.program.syntax import Constant, Variable

PATTERNS = 8  # of one relation, before it is taken whole


@dataclass(frozen=True, slots=True)
class Demand:
    """What is to be evaluated: relations that are made for it, and its strata in order.

    `reads` are the relations whose explicit facts are needed. `narrowed` are relations of the
    program of which less than the whole is derived.
    """

    relations: dict[str, Relation]
    strata: tuple[Stratum, ...]
    reads: frozenset[str]
    narrowed: frozenset[str]

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(rule for stratum in self.strata for rule in stratum.rules)


@dataclass(frozen=True, slots=True)
class AskedProgram:
    """The program of a query: all relations, its strata, and which relations have facts."""

    relations: Mapping[str, Relation]
    strata: tuple[Stratum, ...]
    has_facts: Callable[[str], bool] = lambda name: True
    narrow: Callable[[str], bool] = lambda name: True  # relations that may be narrowed
    stratum_of: dict[str, int] = field(init=False, default_factory=dict)
    by_head: dict[str, list[Rule]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for s, stratum in enumerate(self.strata):
            self.stratum_of.update(dict.fromkeys(stratum.relations, s))
            for rule in stratum.rules:
                self.by_head.setdefault(rule.head.relation, []).append(rule)

    def below(self, name: str) -> set[str]:
        """The relation and all that it depends on, as far as rules derive them."""
        found: set[str] = set()
        N = {name} & self.by_head.keys()
        while N:
            found |= N
            read = {read for each in N for rule in self.by_head[each] for read, _ in rule.reads()}
            N = (read & self.by_head.keys()) - found
        return found


def demand(source: AskedProgram, wanted: Sequence[str], *, keep: bool = False) -> Demand:
    """Rules that derive the relations `wanted`, and of others only what those need.

    Relations that are derived whole are called `%name^`; with `keep` they keep their names, for
    an evaluation that starts from explicit facts alone.

    >>> from tidelog.plan import analyse
    >>> from tidelog.text import parse
    >>> text = "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z). q(x) :- p(1, x). e(1, 2)."
    >>> checked = analyse(parse(text).program).checked
    >>> found = demand(AskedProgram(checked.relations, checked.strata, {"e"}.__contains__), ["q"])
    >>> for rule in found.rules:
    ...     print(rule.head.relation, [part.relation for part in rule.body])
    %need:p^bf []
    %p^bf ['%need:p^bf', 'e']
    %p^bf ['%need:p^bf', '%p^bf', 'e']
    %q^ ['%p^bf']
    """
    whole = set(wanted)
    while True:
        work = _Demands(source, whole, keep)
        for name in wanted:
            work.ask(name, "f" * source.relations[name].arity)
        work.run()
        more = work.also_whole - whole
        if not more:
            made = strata(work.names(), list(work.rules))
            faults = _faults(made)
            if not faults:
                return work.result(made)
            read = {work.original.get(name, name) for name in faults}
            more = set().union(*map(source.below, read)) - whole
            assert more, "what is whole looks down only, as in the program"
        whole |= more


def _faults(made: Iterable[Stratum]) -> set[str]:
    """Relations that a rule of their own stratum needs complete."""
    return {
        read
        for stratum in made
        for rule in stratum.recursive
        for read, complete in rule.reads()
        if complete and read in stratum.relations
    }


class _Demands:
    """One attempt, in which the relations `whole` are known to be needed whole."""

    def __init__(self, source: AskedProgram, whole: Collection[str], keep: bool) -> None:
        self.source = source
        self.whole = whole
        self.keep = keep
        self.relations: dict[str, Relation] = {}  # made here
        self.original: dict[str, str] = {}  # of a made relation, and of parts of a closure
        self.virtual: dict[str, tuple[Relation, tuple[Rule, ...]]] = {}
        self.patterns: dict[str, list[str]] = {}
        self.rules: dict[Rule, None] = {}
        self.also_whole: set[str] = set()
        self.todo: list[tuple[str, str]] = []

    # Demand.

    def derived(self, name: str) -> bool:
        return name in self.virtual or name in self.source.by_head

    def relation(self, name: str) -> Relation:
        return self.virtual[name][0] if name in self.virtual else self.source.relations[name]

    def stratum(self, name: str) -> int:
        name = self.original.get(name, name)
        return self.source.stratum_of.get(name, -1)

    def ask(self, name: str, pattern: str) -> str:
        """The relation that has the facts for this pattern; it is derived if it is new."""
        pattern = self.settled(name, pattern)
        made = self.name_of(name, pattern)
        if pattern not in self.patterns.setdefault(name, []):
            self.patterns[name].append(pattern)
            self.todo.append((name, pattern))
            if made != name:
                self.relations[made] = replace(
                    self.relation(name), name=made, qualifiers=frozenset()
                )
                self.original[made] = self.original.get(name, name)
        return made

    def settled(self, name: str, pattern: str) -> str:
        """The pattern by which the relation is really asked."""
        free = "f" * len(pattern)
        own = self.original.get(name, name)
        if name in self.whole or pattern == free or not self.source.narrow(own):
            if name not in self.virtual and name not in self.whole:
                self.also_whole.add(name)
            return free
        if len(self.patterns.get(name, ())) >= PATTERNS and pattern not in self.patterns[name]:
            self.also_whole.add(own)
            return free
        if pattern == "bb" and name not in self.virtual and self.is_closure(name):
            return "bf"
        return pattern

    def is_closure(self, name: str) -> bool:
        s = self.source.stratum_of.get(name)
        return s is not None and is_closure(name, self.source.strata[s])

    def name_of(self, name: str, pattern: str) -> str:
        if "b" in pattern:
            return f"%{name}^{pattern}"
        return name if self.keep and name not in self.virtual else f"%{name}^"

    def run(self) -> None:
        while self.todo:
            name, pattern = self.todo.pop()
            for rule in self.rules_for(name, pattern):
                self.adorn(rule, name, pattern)

    def rules_for(self, name: str, pattern: str) -> Sequence[Rule]:
        if name in self.virtual:
            return self.virtual[name][1]
        own = self.source.by_head.get(name, [])
        relation, has_facts = self.source.relations[name], self.source.has_facts(name)
        if pattern in ("bf", "fb"):
            stratum = self.source.strata[self.source.stratum_of[name]]
            found = reach(relation, pattern == "bf", stratum, has_facts)
            if found is not None:
                for part, rules in found.parts:
                    self.virtual[part.name] = part, rules
                    self.original[part.name] = name
                return found.rules
        if has_facts and not (self.keep and "b" not in pattern):
            return [*own, _copy(relation)]
        return own

    # Rules.

    def adorn(self, rule: Rule, name: str, pattern: str) -> None:
        """The rule for this pattern of its head, and what it needs of others."""
        head = replace(rule.head, relation=self.name_of(name, pattern))
        body: list[BodyLiteral] = []
        handed: list[BodyLiteral] = []  # parts that hand values on
        given: frozenset[str] = frozenset()
        selective = False
        if "b" in pattern:
            needed = self.need(head, pattern)
            body.append(needed)
            handed.append(needed)
            given, selective = names_of(needed), True
        for step in in_order(rule, given, self.derived):
            part = step.part
            if isinstance(part, Literal | Group) and self.derived(part.relation):
                part = self.asked(rule, name, step, handed if selective else None)
            elif isinstance(part, Literal) and part.relation.startswith(GIVEN):
                part = replace(part, relation=part.relation.removeprefix(GIVEN))
            body.append(part)
            if step.hands_on:
                handed.append(part)
                selective = selective or _selects(part)
        self.rules.setdefault(replace(rule, head=head, body=tuple(body)))

    def asked(
        self, rule: Rule, name: str, step: PassingStep, handed: Sequence[BodyLiteral] | None
    ) -> BodyLiteral:
        """A part over the relation that has what it asks for, which is demanded from now on.

        Without parts before it that select something, it asks for constants only.
        """
        part = step.part
        assert isinstance(part, Literal | Group)
        known = step.known if handed is not None else frozenset()
        if isinstance(part, Group):
            known &= group_keys(part, rule)
        if self.stratum(part.relation) == self.stratum(name):
            known -= step.grown
        bound = [_fixed(term, known) for term in part.terms]
        pattern = "".join("b" if b else "f" for b in bound)
        pattern = self.settled(part.relation, pattern)
        asked = replace(part, relation=self.ask(part.relation, pattern))
        if "b" in pattern:
            needed = self.need(asked, pattern)
            before = _connected(names_of(needed), handed or ())
            if needed not in before:
                self.rules.setdefault(Rule(needed, tuple(before), rule.text, rule.at))
        return asked

    def need(self, part: Literal | Group, pattern: str) -> Literal:
        """The demand of this part for a relation: the values of bound columns."""
        name = f"%need:{part.relation.removeprefix('%')}"
        columns = [i for i, mark in enumerate(pattern) if mark == "b"]
        if name not in self.relations:
            of = self.relations[part.relation]
            attributes = tuple(of.attributes[i] for i in columns)
            kinds = tuple(of.kinds[i] for i in columns)
            self.relations[name] = Relation(name, attributes, kinds, at=of.at)
            self.original[name] = self.original[part.relation]
        return Literal(name, tuple(part.terms[i] for i in columns), at=part.at)

    # The result.

    def names(self) -> list[str]:
        found = dict.fromkeys(self.relations)
        for rule in self.rules:
            found[rule.head.relation] = None
            found.update((name, None) for name, _ in rule.reads())
        return list(found)

    def result(self, made: list[Stratum]) -> Demand:
        names = self.names()
        given = frozenset(name for name in names if name not in self.relations)
        narrowed = {
            name
            for name, patterns in self.patterns.items()
            if name not in self.virtual and any("b" in pattern for pattern in patterns)
        }
        return Demand(self.relations, tuple(made), given, frozenset(narrowed))


def _copy(relation: Relation) -> Rule:
    """The rule that copies the explicit facts of a relation into it."""
    terms = tuple(Variable(f"x{i}", relation.at, kind) for i, kind in enumerate(relation.kinds))
    text = f"facts of {relation.name}"
    head, given = Literal(relation.name, terms), Literal(GIVEN + relation.name, terms)
    return Rule(head, (given,), text, relation.at)


def _fixed(term: Simple, known: frozenset[str]) -> bool:
    return isinstance(term, Constant) or (isinstance(term, Variable) and term.name in known)


def _selects(part: BodyLiteral) -> bool:
    """Is it likely that fewer facts pass than the relation has?"""
    if isinstance(part, Literal):
        return any(isinstance(term, Constant) for term in part.terms)
    if isinstance(part, Constraint) and part.op == "=" and is_plain(part):
        return isinstance(part.left, Constant) or isinstance(part.right, Constant)
    return True


def _connected(names: frozenset[str], parts: Sequence[BodyLiteral]) -> list[BodyLiteral]:
    """The parts that have to do with these variables, or with those of another such part."""
    reached, taken = set(names), set[int]()
    N = [i for i, part in enumerate(parts) if names_of(part) & reached]
    while N:
        taken.update(N)
        reached.update(*(names_of(parts[i]) for i in N))
        N = [i for i, p in enumerate(parts) if i not in taken and names_of(p) & reached]
    return [parts[i] for i in sorted(taken)]
