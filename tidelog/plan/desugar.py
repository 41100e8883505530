"""Clauses into rules of the core form (`program.rules`).

Each alternative of a body becomes a rule for each head. Expressions leave atoms and heads
for equations with fresh variables, ranges become `Range`, aggregates `Group`.

A `Group` reads one relation. Where an aggregate's body is more than one plain atom, a
hidden relation `%agg:…` holds its assignments: a column for each local variable and `_`,
for each variable from outside, and for the target's value. A variable from outside that
the aggregate's body does not bind itself is bound in the hidden rule by what binds it in
the rule outside, which is then `borrowed`; if only the rule's own cycle binds it, `thresholds`
may do without.

A negated atom with `_` reads a hidden projection `%not:…`. Hidden relations are named by
their content, so that equal ones are shared and other clauses do not change their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from tidelog.plan.alternatives import NOTHING, alternatives
from tidelog.plan.autoinc import numbered, refuse_inside
from tidelog.plan.core_program import CoreProgram
from tidelog.plan.draft import Draft
from tidelog.plan.lower_body import BodyLowering, Setting, can_hold
from tidelog.plan.strongly_connected import components
from tidelog.plan.thresholds import with_steps
from tidelog.program.formula_walk import everything, flat, has_aggregate
from tidelog.program.functors import calls
from tidelog.program.qualifiers import QUALIFIERS
from tidelog.program.rules import BodyLiteral, Constraint, Literal, Relation, Rule
from tidelog.program.syntax import (
    UNDER,
    And,
    Atom,
    Clause,
    Comparison,
    Constant,
    Variable,
    Wildcard,
)
from tidelog.text.writer import to_text


def desugar(draft: Draft) -> Draft:
    """Bring all clauses and facts to the core form."""
    program = draft.program
    core = CoreProgram()
    under = {decl.name for decl in program.relations if decl.name.startswith(UNDER)}
    for decl in program.relations:
        if decl.name not in draft.doubtful and decl.name not in draft.unfolded:
            kinds = tuple(draft.types[a.type_name].kind for a in decl.attributes)
            names = tuple(a.name for a in decl.attributes)
            core.relations[decl.name] = Relation(
                decl.name,
                names,
                kinds,
                decl.qualifiers,
                decl.at,
                tuple(tuple(map(names.index, each)) for each in decl.choices),
                bool(decl.choices) or f"{UNDER}{decl.name}" in under,
            )
            for rule in declared_rules(core.relations[decl.name]):
                core.add(rule)
    for relation, values, _ in program.facts:
        core.facts.setdefault(relation, []).append(values)
    recursive = _recursive(program.clauses)
    own = []
    for clause in program.clauses:
        around = [recursive.get(head.relation, NOTHING) for head in clause.heads]
        own.append(tuple(_add(core, clause, NOTHING.union(*around), draft.states)))
    return replace(
        draft,
        relations=core.relations,
        rules=tuple(core.rules),
        own=tuple(own),
        facts=core.facts,
        computed=tuple(core.computed),
        borrowed=frozenset(core.borrowed),
        numbered=tuple(core.numbered),
    ).found(core.found)


def declared_rules(relation: Relation) -> Iterator[Rule]:
    """The rules that the relation's qualifiers define."""
    at = relation.at

    def literal(letters: str) -> Literal:
        kind = relation.kinds[0]
        terms = (Wildcard(at, kind) if v == "_" else Variable(v, at, kind) for v in letters)
        return Literal(relation.name, tuple(terms), at=at)

    meant = (QUALIFIERS[each].rules for each in sorted(relation.qualifiers))
    for head, *body in dict.fromkeys(chain.from_iterable(meant)):
        rule = Rule(literal(head), tuple(map(literal, body)), at=at)
        yield replace(rule, text=to_text(rule))


def _recursive(clauses: Iterable[Clause]) -> dict[str, frozenset[str]]:
    """For each head with an aggregate, the relations on a cycle with it, itself included."""
    clauses = list(clauses)
    with_aggregates = [has_aggregate(clause) for clause in clauses]
    if not any(with_aggregates):
        return {}
    uses: dict[str, dict[str, None]] = {}
    wanted: set[str] = set()
    for clause, has_one in zip(clauses, with_aggregates, strict=True):
        terms = chain.from_iterable(head.terms for head in clause.heads)
        read = everything(clause.body, *terms)  # not the heads, which do not depend on each other
        names = {n.relation: None for n in read if isinstance(n, Atom)}
        for name in names:
            uses.setdefault(name, {})
        for head in clause.heads:
            uses.setdefault(head.relation, {}).update(names)
        if has_one:
            wanted.update(head.relation for head in clause.heads)
    groups = [frozenset(group) for group in components(uses)]
    return {name: group for group in groups for name in group & wanted}


def _plain_body(clause: Clause) -> tuple[BodyLiteral, ...] | None:
    """The body of a clause that is in core form as it is written, as most are."""
    if flat(clause) is None:
        return None
    found: list[BodyLiteral] = []
    for part in clause.body.parts if type(clause.body) is And else (clause.body,):
        if type(part) is Atom:
            found.append(Literal(part.relation, part.terms, False, part.at))  # type: ignore[arg-type]
        elif type(part) is Comparison:
            found.append(Constraint(part.op, part.left, part.right, part.at))  # type: ignore[arg-type]
        else:
            return None
    return tuple(found)


def _add(
    core: CoreProgram, clause: Clause, recursive: frozenset[str], states: bool
) -> Iterator[Rule]:
    text = to_text(clause)
    if plain := _plain_body(clause):
        for head in clause.heads:
            literal = Literal(head.relation, head.terms, False, head.at)  # type: ignore[arg-type]
            yield core.add(Rule(literal, plain, text, clause.at))
        return
    refuse_inside(core, clause)
    satisfiable = (each for each in alternatives(clause) if can_hold(each.body))
    for heads, parts, scope in chain.from_iterable(
        with_steps(core, text, each, recursive) for each in satisfiable
    ):
        body = BodyLowering(Setting(core, text, recursive), scope, parts)
        body.resolve()
        shared = list(body.items)
        for head in heads:
            values = [term.value for term in head.terms if isinstance(term, Constant)]
            # `p(2).` and `p(1 + 1).` are facts; `p(2) :- true.` is a rule, which can be removed.
            is_fact = clause.body == And(()) and not parts
            if is_fact and len(values) == len(head.terms):
                core.facts.setdefault(head.relation, []).append(tuple(values))
                continue
            body.items = list(shared)
            terms = tuple([body.simple(term) for term in head.terms])
            body.resolve()
            literal = Literal(head.relation, terms, at=head.at)
            rule = Rule(literal, body.parts(), text, clause.at)
            if is_fact and states and _is_computed(rule):
                core.computed.append(rule)
                continue
            yield core.add(numbered(core, rule))


def _is_computed(rule: Rule) -> bool:
    """Does the rule state one fact, by expressions that the language itself evaluates?"""
    return all(isinstance(part, Constraint) for part in rule.body) and not any(calls(rule))
