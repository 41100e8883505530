"""The kind of every term: number, unsigned, float, symbol, or the type of a record or branch.

Terms that must agree share a node of a union-find structure over the whole program; a
node knows which kinds are still open to it. Columns of relations without a declaration
are nodes too, so their types follow from all facts and clauses at once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tidelog.plan.clause_types import Column, Typer, Writer
from tidelog.plan.draft import Draft
from tidelog.plan.fact_types import convert, learn
from tidelog.plan.kinds import Kinds
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.formula_walk import relations
from tidelog.program.kind_masks import bit
from tidelog.program.syntax import And, Attribute, Clause, Constant, Fact, RelationDecl
from tidelog.program.terms import TermKind


def infer_types(draft: Draft) -> Draft:
    """Set the kind of every term, convert facts, and complete inferred declarations."""
    program = draft.program
    structured = (t.kind for t in draft.types.values() if isinstance(t.kind, TermKind))
    kinds = Kinds(tuple(dict.fromkeys(structured)))
    columns = {
        decl.name: _columns(decl, draft, kinds)
        for decl in program.relations
        if decl.name not in draft.doubtful
    }
    doubtful, unsure = set(draft.doubtful), set(draft.unsure)
    found: list[Diagnostic] = []
    facts: dict[str, list[Fact]] = {}
    for fact in program.facts:
        facts.setdefault(fact.relation, []).append(fact)
    inferred = {d.name for d in program.relations if _is_open(d) and d.name not in doubtful}
    for name in facts:
        if name in inferred and (fault := learn(facts[name], columns[name], kinds)):
            found.append(fault)
            doubtful.add(name)

    typer = Typer(kinds, columns, draft.types, draft.functors)
    visited: list[tuple[Clause, set[str], list[int]]] = []
    for clause in program.clauses:
        mentioned = relations(clause)
        if doubtful.isdisjoint(mentioned):
            nodes, faults = typer.clause(clause)
            found += faults
            if faults:
                unsure |= mentioned
            else:
                visited.append((clause, mentioned, nodes))
        else:
            unsure |= mentioned
    if typer.unresolved:
        faulty = typer.unsettled()
        found += (fault for faults in faulty.values() for fault in faults)
        unsure.update(n for clause, names, _ in visited if id(clause) in faulty for n in names)
        visited = [each for each in visited if id(each[0]) not in faulty]

    declared = {decl.name: decl for decl in program.relations}
    unknown: dict[str, Diagnostic] = {}
    for decl in program.relations:
        if _is_open(decl) and decl.name not in doubtful:
            declared[decl.name], fault = _completed(decl, columns[decl.name], kinds)
            if fault:
                unknown[decl.name] = fault
    unsure |= _infected(unsure, unknown, [mentioned for _, mentioned, _ in visited])
    found += (fault for name, fault in unknown.items() if name not in unsure)
    doubtful |= unknown.keys()

    writer = Writer(kinds)
    clauses = []
    stated: list[Fact] = []
    for clause, mentioned, nodes in visited:
        if doubtful.isdisjoint(mentioned):
            clause, faults = writer.clause(clause, nodes)
            found += faults
            if not faults and (made := _fact(clause)):
                stated.append(made)
            elif not faults:
                clauses.append(clause)

    changed = False
    for name in [name for name in facts if name not in doubtful]:
        of_columns = [kinds.chosen(kinds.mask(column.node)) for column in columns[name]]
        converted, faults = convert(facts[name], of_columns, columns[name])
        found += faults
        changed = changed or converted is not facts[name]
        facts[name] = converted
    all_facts = program.facts
    if changed:
        rest = {name: iter(of_relation) for name, of_relation in facts.items()}
        all_facts = tuple([next(rest[fact.relation]) for fact in program.facts])
    all_facts = (*all_facts, *stated)

    program = replace(
        program, relations=tuple(declared.values()), clauses=tuple(clauses), facts=all_facts
    )
    return replace(
        draft, program=program, doubtful=frozenset(doubtful), unsure=frozenset(unsure)
    ).found(found)


def _fact(clause: Clause) -> Fact | None:
    """The fact that a clause of literals states, where a record or branch is among them."""
    if clause.body != And(()) or len(clause.heads) > 1:
        return None
    (head,) = clause.heads
    values = [term.value for term in head.terms if isinstance(term, Constant)]
    structured = any(isinstance(term.kind, TermKind) for term in head.terms)
    if not structured or len(values) < len(head.terms):
        return None
    return Fact(head.relation, tuple(values), head.at)


def _is_open(decl: RelationDecl) -> bool:
    """Are the types to be found? They are known if they were found before, for other clauses."""
    return decl.inferred and not all(attribute.type_name for attribute in decl.attributes)


def _columns(decl: RelationDecl, draft: Draft, kinds: Kinds) -> list[Column]:
    columns = []
    is_open = _is_open(decl)
    for i, attribute in enumerate(decl.attributes):
        name = f"argument {i + 1} of {decl.name}"
        if is_open:
            text = f"{name} has one type everywhere; write a .decl for {decl.name} to choose it"
            columns.append(Column(kinds.node(), None, name, text))
        else:
            mask = bit(draft.types[attribute.type_name].kind)
            text = f"{name} is {kinds.spelled(mask)}"
            columns.append(Column(kinds.node(mask), mask, name, text))
    return columns


def _completed(
    decl: RelationDecl, columns: list[Column], kinds: Kinds
) -> tuple[RelationDecl, Diagnostic | None]:
    """The declaration with the types found, or a column whose type cannot be known."""
    fault = None
    attributes = []
    for attribute, column in zip(decl.attributes, columns, strict=True):
        mask = kinds.mask(column.node)
        if kinds.is_open(mask) and fault is None:
            message = f"the type of {column.name} cannot be inferred"
            fault = Diagnostic(message, decl.at, f"write a .decl for {decl.name}")
        attributes.append(Attribute(attribute.name, kinds.chosen(mask), attribute.at))
    return replace(decl, attributes=tuple(attributes)), fault


def _infected(unsure: set[str], unknown: Collection[str], clauses: list[set[str]]) -> set[str]:
    """Relations of unknown type that may have it from a clause that was found faulty."""
    if not unknown:
        return set()
    users: dict[str, list[set[str]]] = {}
    for mentioned in clauses:
        for name in mentioned:
            users.setdefault(name, []).append(mentioned)
    found, N = set(unsure), set(unsure)
    while N:
        # A relation's clauses are looked at once, however long the chain of relations is.
        reached = [mentioned for name in N for mentioned in users.pop(name, ())]
        N = {name for mentioned in reached for name in mentioned if name in unknown} - found
        found |= N
    return found
