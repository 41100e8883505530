"""Subsumptions go through the passes as clauses, for a hidden relation of pairs of facts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidelog.plan.draft import Draft
from tidelog.program.diagnostics import Diagnostic, plural
from tidelog.program.rules import Rule
from tidelog.program.syntax import UNDER, Attribute, Clause, Program, RelationDecl


def lower_subsumptions(draft: Draft) -> Draft:
    """Turn them into clauses, and declare what these derive; `raised` reverts that."""
    program = draft.program
    if not program.subsumptions:
        return draft
    declared = {decl.name: decl for decl in program.relations}
    found: list[Diagnostic] = []
    clauses: list[Clause] = []
    made: dict[str, RelationDecl] = {}
    for clause in program.subsumptions:
        name = clause.heads[0].relation.removeprefix(UNDER)
        decl = declared.get(name)
        if decl is None or decl.inferred:
            advice = f"declare it: .decl {name}(…)"
            message = f"unknown relation {name} in a subsumption"
            found.append(Diagnostic(message, clause.at, advice))
        elif fault := _misfit(clause, decl):
            found.append(fault)
        elif all(attribute.type_name in draft.types for attribute in decl.attributes):
            clauses.append(clause)
            made[name] = _pairs(decl)
    program = replace(
        program,
        relations=(*program.relations, *made.values()),
        clauses=(*program.clauses, *clauses),
        subsumptions=(),
    )
    return replace(draft, program=program).found(found)


def _misfit(clause: Clause, decl: RelationDecl) -> Diagnostic | None:
    given, columns = len(clause.heads[0].terms), len(decl.attributes)
    if given == 2 * columns:
        return None
    message = f"relation {decl.name} has {plural(columns, 'column')}"
    advice = "both atoms of a subsumption need a term for each"
    return Diagnostic(f"{message}, but {given} terms are given for two facts", clause.at, advice)


def _pairs(decl: RelationDecl) -> RelationDecl:
    """The hidden relation of pairs: the columns of the one fact, then of the other."""
    attributes = tuple(
        Attribute(f"{attribute.name}{which}", attribute.type_name, attribute.at)
        for which in ("'", "''")
        for attribute in decl.attributes
    )
    return RelationDecl(f"{UNDER}{decl.name}", attributes, at=decl.at)


def raised(
    program: Program, own: tuple[tuple[Rule, ...], ...]
) -> tuple[Program, tuple[tuple[Rule, ...], ...]]:
    """The program with its subsumptions beside its clauses again, and the clauses' rules."""
    hidden = [clause.heads[0].relation.startswith(UNDER) for clause in program.clauses]
    if not any(hidden):
        return program, own
    both = list(zip(program.clauses, own, hidden, strict=True))
    typed = replace(
        program,
        relations=tuple(d for d in program.relations if not d.name.startswith(UNDER)),
        clauses=tuple(clause for clause, _, under in both if not under),
        subsumptions=tuple(clause for clause, _, under in both if under),
    )
    return typed, tuple(rules for _, rules, under in both if not under)


def faults(relation: str, rules: tuple[Rule, ...], inside: frozenset[str]) -> Iterator[Diagnostic]:
    """Report subsumptions whose condition depends on the relation that they reduce."""
    for rule in rules:
        for name, complete in rule.reads():
            if name in inside and (name != relation or complete):
                what = f"{name}, which depends on {relation}"
                if name == relation or name.startswith("%"):
                    what = f"what depends on all of {relation}"
                message = f"the subsumption of {relation} reads {what}"
                advice = "a subsumption may read only what is complete before it"
                yield Diagnostic(message, rule.at, advice)
                return
