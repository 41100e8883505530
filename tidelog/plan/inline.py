"""Inline relations: their rules replace their uses, and no facts are stored.

`.decl lt(a: number, b: number) inline` with `lt(a, b) :- a < b.` holds for values that its use
binds, as in Soufflé. A relation is unfolded if its own rules do not bind its variables; others
are stored like all relations in a database that changes, and unfolded in a run (`unfold`).

An atom is replaced by the bodies of the relation's rules, with its arguments for the variables
of their heads. Under a negation and in an aggregate that is the same only if the bodies have no
variables besides: an aggregate would count them. A relation with such a use is stored, if its
rules bind its variables; so is one that has facts, or a rule with several heads, or that is
pruned by subsumption or choice, or numbered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from tidelog.plan.draft import Draft
from tidelog.plan.safety import check_safety, is_safe
from tidelog.plan.strongly_connected import components
from tidelog.plan.substitution import MAX_NODES, ExpansionTooLong, Unfolding
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.formula_walk import all_names, clause_nodes, relations, relations_of
from tidelog.program.syntax import UNDER, And, Atom, Call, Clause, Directive, RelationDecl

CANNOT_CHANGE = "rules of inline relations cannot change: declare it without inline"


def choose_inline(draft: Draft) -> Draft:
    """Choose the relations to unfold, and report errors of those that cannot be unfolded."""
    program = draft.program
    declared = {d.name: d for d in program.relations if "inline" in d.qualifiers}
    if not declared:
        return draft
    before = {head.relation for clause in program.inlined for head in clause.heads}
    found = [
        Diagnostic(f"{head.relation} is inline", head.at, CANNOT_CHANGE)
        for clause in program.clauses
        for head in clause.heads
        if head.relation in before
    ]
    found += _written(program.directives, declared)
    rules: dict[str, list[Clause]] = {name: [] for name in declared}
    plain = {name for name, decl in declared.items() if not decl.choices}
    for clause in program.clauses:
        for head in clause.heads:
            if head.relation in rules:
                rules[head.relation].append(clause)
                if len(clause.heads) > 1 or _numbers(clause) or _is_fact(clause):
                    plain.discard(head.relation)
            elif head.relation.startswith(UNDER):
                plain.discard(head.relation.removeprefix(UNDER))
    cycles = list(_cycles(rules, declared))
    found += (fault for fault, _ in cycles)
    stored = {fact.relation for fact in program.facts}.union(*(names for _, names in cycles))
    stored |= {directive.relation for directive in program.directives}
    chosen = {
        name
        for name in plain - stored
        if rules[name] and (draft.unfold or not all(map(is_safe, rules[name])))
    }
    # A rule that uses one of them may have its values from there only.
    N = chosen
    while N:
        N = {n for n in plain - stored - chosen if _uses(rules[n], dict.fromkeys(N | before))}
        chosen |= N
    return replace(draft, unfolded=frozenset(before | chosen)).found(found)


def _is_fact(clause: Clause) -> bool:
    """Is it a fact of records or expressions, such as `p([1, 2]).`?"""
    return clause.body == And(()) and not all_names(*clause.heads)


def _numbers(clause: Clause) -> bool:
    """Does it number its instances? Unfolding would number different ones."""
    return any(isinstance(n, Call) and n.functor == "autoinc" for n in clause_nodes(clause))


def _written(
    directives: Sequence[Directive], inline: Mapping[str, RelationDecl]
) -> Iterator[Diagnostic]:
    for directive in directives:
        if directive.relation in inline:
            message = f"{directive.relation} is inline, and has no facts of its own"
            advice = f"remove .{directive.action}, or declare {directive.relation} without inline"
            yield Diagnostic(message, directive.at, advice)


def _cycles(
    rules: Mapping[str, Sequence[Clause]], declared: Mapping[str, RelationDecl]
) -> Iterator[tuple[Diagnostic, list[str]]]:
    """Inline relations that depend on themselves through inline relations alone."""
    uses = {name: sorted(_uses(own, rules)) for name, own in rules.items()}
    for names in components(uses):
        if len(names) > 1 or names[0] in uses[names[0]]:
            ring = " -> ".join([*names, names[0]])
            message = f"inline relations depend on each other: {ring}"
            if len(names) == 1:
                message = f"{names[0]} is inline and depends on itself"
            advice = "declare it without inline"
            yield Diagnostic(message, declared[names[0]].at, advice), names


def unfold(draft: Draft) -> Draft:
    """Put the rules of inline relations where these are used."""
    waiting = draft.unfolded
    while waiting:
        try:
            own, clauses, unchecked = _unfolded(draft, waiting)
        except ExpansionTooLong as stop:
            message = f"inline relations expand to more than {MAX_NODES:,} conditions and terms"
            advice = f"declare {stop.atom.relation} without inline"
            fault = Diagnostic(message, stop.atom.at, advice)
            return replace(draft, program=replace(draft.program, clauses=())).found([fault])
        stays = {name for clause in clauses for name in relations(clause) & own.keys()}
        if not stays:
            return _checked(draft, own, clauses, unchecked)
        before = {clause.heads[0].relation for clause in draft.program.inlined}
        faulty = {n for n in stays if n in before or not all(map(is_safe, own[n]))}
        if faulty:
            found = _misplaced(faulty, clauses)
            return replace(draft, program=replace(draft.program, clauses=())).found(found)
        draft = replace(draft, unfolded=draft.unfolded - stays)
    return draft


def _unfolded(
    draft: Draft, waiting: Set[str]
) -> tuple[dict[str, list[Clause]], list[Clause], list[Clause]]:
    """Rules of inline relations, all others with these in them, and which of those are still to be
    checked for safety: the check left out every clause with a relation in `waiting`."""
    program = draft.program
    own: dict[str, list[Clause]] = {name: [] for name in sorted(draft.unfolded)}
    for clause in dict.fromkeys((*program.inlined, *program.clauses)):
        if clause.heads[0].relation in own:
            own[clause.heads[0].relation].append(clause)
    uses = {name: sorted(_uses(own[name], own)) for name in own}
    ready: dict[str, list[Clause]] = {}
    for (name,) in components(uses):  # each after those that it uses; there is no cycle
        unfolding = Unfolding(ready)
        ready[name] = [unfolding.clause(clause) for clause in own[name]]
    unfolding = Unfolding(ready)
    clauses, unchecked = [], []
    for clause in program.clauses:
        if clause.heads[0].relation not in own:
            mentioned = relations(clause)
            if not mentioned.isdisjoint(own):
                clause = unfolding.clause(clause)
            if not mentioned.isdisjoint(waiting):
                unchecked.append(clause)
            clauses.append(clause)
    return ready, clauses, unchecked


def _uses(clauses: Sequence[Clause], inline: Mapping[str, object]) -> set[str]:
    return {name for clause in clauses for name in relations_of(clause.body)} & inline.keys()


def _checked(
    draft: Draft, own: Mapping[str, list[Clause]], clauses: list[Clause], unchecked: list[Clause]
) -> Draft:
    """The draft with unfolded clauses, which must be safe."""
    program = replace(draft.program, clauses=tuple(unchecked))
    safety = check_safety(replace(draft, program=program, diagnostics=(), unfolded=frozenset()))
    found = [fault for fault in safety.diagnostics if fault.severity == "error"]
    inlined = tuple(clause for rules in own.values() for clause in rules)
    left = () if found else tuple(clauses)
    program = replace(draft.program, clauses=left, inlined=inlined)
    return replace(draft, program=program).found(found)


def _misplaced(names: Collection[str], clauses: Sequence[Clause]) -> list[Diagnostic]:
    advice = "write its definition here, or declare it without inline"
    note = "under a negation and in an aggregate, its rules may have no variables of their own"
    return [
        Diagnostic(
            f"{node.relation} is inline and cannot be used here", node.at, advice, notes=(note,)
        )
        for clause in clauses
        for node in clause_nodes(clause)
        if isinstance(node, Atom) and node.relation in names
    ]
