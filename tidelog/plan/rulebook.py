"""A program whose rules change, checked rule by rule.

An added rule is checked against the declarations that it mentions and not with the whole
program, and only strata that a rule could change are computed again: the work follows the
change. A `Rulebook` is a value: a change returns another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Self

from tidelog.plan import Analysis, analyse
from tidelog.plan.desugar import declared_rules
from tidelog.plan.draft import Draft
from tidelog.plan.strata import fewest, stratify
from tidelog.plan.strata import strata as by_components
from tidelog.program.diagnostics import Diagnostic, ProgramError, Sources
from tidelog.program.formula_walk import everything, has_aggregate, relations
from tidelog.program.rules import CheckedProgram, Relation, Rule, Stratum
from tidelog.program.suggestions import did_you_mean
from tidelog.program.syntax import (
    UNDER,
    Aggregate,
    And,
    Atom,
    Call,
    Cast,
    Clause,
    Comparison,
    Constant,
    Or,
    Program,
    Span,
    Truth,
    Variable,
)
from tidelog.text.writer import to_text


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Clauses by their names, and what they mean together."""

    program: Program  # types, declarations and directives; its clauses are those of the start
    clauses: Mapping[str, Clause]
    rules: Mapping[str, tuple[Rule, ...]]  # of each clause, those of hidden relations included
    uses: Mapping[Rule, int]  # how many clauses a rule belongs to; declarations count as one
    relations: Mapping[str, Relation]
    strata: tuple[Stratum, ...]
    stratum_of: Mapping[str, int]
    readers: Mapping[str, Mapping[str, int]]  # relation to heads of rules that read it
    with_aggregates: int  # clauses that have one
    loose: bool = False  # a removed rule may have held a stratum together
    # Where strata are as few as possible: the relations that keep their own.
    apart: frozenset[str] | None = None

    @classmethod
    def of(
        cls, program: Program, checked: CheckedProgram, apart: frozenset[str] | None = None
    ) -> Self:
        """The rulebook of a program that has been checked."""
        strata = checked.strata if apart is None else fewest(checked.strata, apart)
        by_head: dict[str, list[Rule]] = {}
        for rule in checked.rules:
            by_head.setdefault(rule.head.relation, []).append(rule)
        clauses: dict[str, Clause] = {}
        rules: dict[str, tuple[Rule, ...]] = {}
        uses: dict[Rule, int] = {}
        for clause, own in zip(program.clauses, checked.own, strict=True):
            if own or clause.body != And(()):  # otherwise it is a fact
                name = name_of(clause)
                clauses.setdefault(name, clause)
                # A clause that is written twice, with other variables, is removed as one.
                written = (*rules.get(name, ()), *_with_hidden(own, by_head))
                rules[name] = tuple(dict.fromkeys(written))
        for of_clause in rules.values():
            for rule in of_clause:
                uses[rule] = uses.get(rule, 0) + 1
        for relation in checked.relations.values():
            for rule in declared_rules(relation):
                uses[rule] = uses.get(rule, 0) + 1
        for stratum in checked.strata:
            for each in stratum.pruned:
                for rule in _with_hidden(each.rules, by_head):
                    uses[rule] = uses.get(rule, 0) + 1
        for rule in checked.rules:
            uses.setdefault(rule, 1)  # those of hidden relations
        return cls(
            program,
            clauses,
            rules,
            uses,
            checked.relations,
            strata,
            _positions(strata),
            _readers(checked.rules),
            sum(map(has_aggregate, clauses.values())),
            apart=apart,
        )

    @property
    def visible(self) -> dict[str, Relation]:
        """The relations that a user knows, in the order of strata."""
        names = (name for stratum in self.strata for name in stratum.relations)
        return {name: self.relations[name] for name in names if not name.startswith("%")}

    @property
    def components(self) -> tuple[Stratum, ...]:
        """Strata of relations that depend on each other, however they are maintained."""
        if self.apart is None:
            return self.strata
        return tuple(by_components(self.relations, tuple(self.uses)))

    def place_of(self, relation: str) -> tuple[int, int]:
        """The position of a relation in the order of strata."""
        s = self.stratum_of[relation]
        return s, self.strata[s].relations.index(relation)

    def typed(self) -> Program:
        """The program with its current clauses."""
        return replace(self.program, clauses=tuple(self.clauses.values()))

    def find(
        self, rule: Clause | str, sources: Sources | None = None, at: Span | None = None
    ) -> str:
        """The name of a rule of the program, given as a clause or by its name."""
        if isinstance(rule, str):
            if rule in self.clauses:
                return rule
            advice = did_you_mean(rule, self.clauses, "the rules' names are listed by `rules`")
            found = Diagnostic(f"unknown rule {rule}", at, advice)
            raise ProgramError([found], sources)
        name = name_of(rule)
        if name not in self.clauses:
            name = name_of(self._check(rule, sources)[0])
        if name not in self.clauses:
            heads = {head.relation for head in rule.heads}
            same = [c for c in self.clauses.values() if heads & {h.relation for h in c.heads}]
            notes = tuple(f"there is {to_text(clause)}" for clause in same[:3])
            advice = "write the text of the rule; only the names of variables may differ"
            message = "the program has no such rule"
            raise ProgramError([Diagnostic(message, rule.at, advice, notes=notes)], sources)
        return name

    def without(self, names: Iterable[str]) -> tuple[Rulebook, tuple[Rule, ...]]:
        """The book without some clauses, in unchanged strata, and the removed rules."""
        uses, removed = dict(self.uses), list[Rule]()
        clauses, rules = dict(self.clauses), dict(self.rules)
        with_aggregates = self.with_aggregates
        for name in names:
            with_aggregates -= has_aggregate(clauses.pop(name))
            for rule in rules.pop(name):
                uses[rule] -= 1
                if not uses[rule]:
                    del uses[rule]
                    removed.append(rule)
        strata = list(self.strata)
        loose = self.loose or (self.apart is not None and bool(removed))
        for s, leaving in _by_stratum(removed, self.stratum_of).items():
            old = strata[s]
            loose = loose or any(rule in leaving for rule in old.recursive)
            strata[s] = Stratum(
                old.relations,
                tuple(rule for rule in old.nonrecursive if rule not in leaving),
                tuple(rule for rule in old.recursive if rule not in leaving),
                old.pruned,
            )
        book = replace(
            self,
            clauses=clauses,
            rules=rules,
            uses=uses,
            strata=tuple(strata),
            readers=_changed_readers(self.readers, removed, -1),
            with_aggregates=with_aggregates,
            loose=loose,
        )
        return book, tuple(removed)

    def restated_since(self, before: Rulebook) -> list[str]:
        """Clauses of both books whose rules differ."""
        return [
            name for name, rules in self.rules.items() if before.rules.get(name, rules) != rules
        ]

    def new_rules(self, clauses: Iterable[str], before: Rulebook) -> tuple[Rule, ...]:
        """Rules of these clauses that were not there before, as the strata have them."""
        found: dict[Rule, None] = {}
        for name in clauses:
            for rule in self.rules[name]:
                if rule not in before.uses:
                    stratum = self.strata[self.stratum_of[rule.head.relation]]
                    found.setdefault(stratum.rules[stratum.rules.index(rule)])
        return tuple(found)

    def check(self, rule: Clause, sources: Sources | None = None) -> Clause:
        """The clause with its types; raises all its errors at once."""
        return self._check(rule, sources)[0]

    def plus(
        self, rule: Clause, sources: Sources | None = None
    ) -> tuple[Rulebook, str, tuple[Rule, ...]]:
        """The book with one more clause, its name, and the rules that are new."""
        clause, checked, program = self._check(rule, sources)
        name = name_of(clause)
        if name in self.clauses:
            return self, name, ()
        by_head: dict[str, list[Rule]] = {}
        for each in checked.rules:
            by_head.setdefault(each.head.relation, []).append(each)
        mine = tuple(_with_hidden(checked.own[-1], by_head))
        new = tuple(each for each in mine if each not in self.uses)
        uses = dict(self.uses)
        for each in mine:
            uses[each] = uses.get(each, 0) + 1
        added = {n: r for n, r in checked.relations.items() if n not in self.relations}
        declared = {decl.name for decl in self.program.relations}
        decls = tuple(d for d in program.relations if d.name not in declared)
        book = replace(
            self,
            program=replace(self.program, relations=(*self.program.relations, *decls)),
            clauses={**self.clauses, name: clause},
            rules={**self.rules, name: mine},
            uses=uses,
            relations={**self.relations, **added},
            readers=_changed_readers(self.readers, new, 1),
            with_aggregates=self.with_aggregates + has_aggregate(clause),
        )
        try:
            return book._placed(added, new, sources), name, new
        except ProgramError:
            if len(checked.own) <= len(self.clauses):  # it was checked alone
                raise
            # The whole program is valid, but the rules of other aggregates have changed.
            return book._restated(program, checked), name, new

    def _restated(self, program: Program, checked: CheckedProgram) -> Rulebook:
        """The book with the rules that a check of the whole program gives its clauses."""
        whole = Rulebook.of(program, checked, self.apart)
        rules = {name: whole.rules.get(name, ()) for name in self.clauses}
        return replace(whole, clauses=self.clauses, rules=rules)

    def _check(
        self, rule: Clause, sources: Sources | None
    ) -> tuple[Clause, CheckedProgram, Program]:
        """A clause to add, with types and as rules."""
        if has_aggregate(rule) or self.with_aggregates:
            # What an aggregate means may depend on the recursion around it.
            whole = replace(self.typed(), clauses=(*self.clauses.values(), rule))
            found = analyse(whole, states=False)
        else:
            # Inline relations bring others with them, which may be any.
            named = None if self.program.inlined else relations(rule)
            found = self._alone(rule, named)
            if found.checked is None and named is not None:  # for advice, all names must be known
                found = self._alone(rule, None)
        if found.checked is None or found.typed is None:
            errors = [d for d in found.diagnostics if d.severity == "error"]
            raise ProgramError(errors, sources)
        return found.typed.clauses[-1], found.checked, found.typed

    def _alone(self, rule: Clause, named: set[str] | None) -> Analysis:
        decls = self.program.relations
        some = decls if named is None else [d for d in decls if d.name in named]
        known = self.program
        program = Program(
            types=known.types,
            relations=tuple(some),
            clauses=(rule,),
            functors=known.functors,
            inlined=known.inlined,
        )
        return analyse(program, states=False)

    def _placed(
        self, added: Mapping[str, Relation], new: tuple[Rule, ...], sources: Sources | None
    ) -> Rulebook:
        """The book with these relations and rules in its strata."""
        stratum_of, strata = dict(self.stratum_of), list(self.strata)
        for name in added:
            stratum_of[name] = len(strata)
            strata.append(Stratum((name,), (), ()))
        if self.apart is not None or not all(_fits(rule, stratum_of) for rule in new):
            return self.settled(sources, force=True)
        for s, entering in _by_stratum(new, stratum_of).items():
            old = strata[s]
            parts: tuple[list[Rule], list[Rule]] = [*old.nonrecursive], [*old.recursive]
            for rule in entering:
                parts[any(stratum_of[read] == s for read, _ in rule.reads())].append(rule)
            strata[s] = Stratum(old.relations, tuple(parts[0]), tuple(parts[1]), old.pruned)
        return replace(self, strata=tuple(strata), stratum_of=stratum_of)

    def settled(self, sources: Sources | None = None, force: bool = False) -> Rulebook:
        """The book with strata as small, or as few, as they can be."""
        if not self.loose and not force:
            return self
        draft = stratify(Draft(self.program, relations=self.relations, rules=tuple(self.uses)))
        if draft.faulty:
            raise ProgramError(draft.diagnostics, sources)
        known = {stratum.relations: stratum for stratum in self.strata}
        found = draft.strata if self.apart is None else fewest(draft.strata, self.apart)
        strata = tuple(_same(stratum, known.get(stratum.relations)) for stratum in found)
        return replace(self, strata=strata, stratum_of=_positions(strata), loose=False)


def name_of(clause: Clause) -> str:
    """A name that stays, whatever else the program holds and however variables are called.

    >>> from tidelog.text import parse
    >>> one, other = parse("p(x) :- q(x, y). p(a) :- q(a, b).").program.clauses
    >>> name_of(one) == name_of(other), name_of(one)
    (True, 'p.c133421bb6e2773a')
    """
    names: dict[str, int] = {}
    spelled = [str(len(clause.heads))]
    for node in everything(*clause.heads, clause.body):
        match node:
            case Variable(name):
                spelled.append(f"?{names.setdefault(name, len(names))}")
            case Atom(relation, terms):
                spelled.append(f"{relation}/{len(terms)}")
            case Constant(value):
                spelled.append(repr(value))
            case Call(functor, args):
                spelled.append(f"{functor}/{len(args)}")
            case And(parts) | Or(parts):
                spelled.append(f"{type(node).__name__}/{len(parts)}")
            case Comparison(op):
                spelled.append(op)
            case Cast(_, type_name):
                spelled.append(f"as {type_name}")
            case Aggregate(op, target):
                spelled.append(f"{op} {target is not None}")
            case _:
                spelled.append(type(node).__name__)
                if isinstance(node, Truth):
                    spelled.append(str(node.value))
    digest = blake2b("\0".join(spelled).encode(), digest_size=8).hexdigest()
    return f"{clause.heads[0].relation}.{digest}"


def _with_hidden(own: Iterable[Rule], by_head: Mapping[str, list[Rule]]) -> Iterator[Rule]:
    """Rules, and those of the hidden relations that they read."""
    seen: set[str] = set()
    todo = list(own)
    while todo:
        rule = todo.pop(0)
        yield rule
        for name, _ in rule.reads():
            if name.startswith("%") and name not in seen:
                seen.add(name)
                todo += by_head.get(name, ())


def _fits(rule: Rule, stratum_of: Mapping[str, int]) -> bool:
    """Do the strata stay as they are when the rule arrives?"""
    s = stratum_of[rule.head.relation]
    return all(
        stratum_of[name] < s or (stratum_of[name] == s and not complete)
        for name, complete in rule.reads()
    )


def _by_stratum(
    rules: Iterable[Rule], stratum_of: Mapping[str, int]
) -> dict[int, dict[Rule, None]]:
    found: dict[int, dict[Rule, None]] = {}
    for rule in rules:
        found.setdefault(stratum_of[rule.head.relation], {})[rule] = None
    return found


def _positions(strata: Iterable[Stratum]) -> dict[str, int]:
    """Where relations are worked on; pairs for a subsumption are where their relation is."""
    found = {name: s for s, stratum in enumerate(strata) for name in stratum.relations}
    for s, stratum in enumerate(strata):
        found |= {f"{UNDER}{each.relation}": s for each in stratum.pruned}
    return found


def _readers(rules: Iterable[Rule]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for rule in rules:
        for name, _ in rule.reads():
            heads = found.setdefault(name, {})
            heads[rule.head.relation] = heads.get(rule.head.relation, 0) + 1
    return found


def _changed_readers(
    readers: Mapping[str, Mapping[str, int]], rules: Iterable[Rule], sign: int
) -> dict[str, Mapping[str, int]]:
    found = dict(readers)
    for rule in rules:
        for name, _ in rule.reads():
            heads = dict(found.get(name, {}))
            heads[rule.head.relation] = heads.get(rule.head.relation, 0) + sign
            found[name] = {head: count for head, count in heads.items() if count}
    return found


def _same(new: Stratum, old: Stratum | None) -> Stratum:
    """The old stratum where nothing has changed: engines know sequences of rules by identity."""
    return old if old is not None and old == new else new
