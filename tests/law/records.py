"""Histories with records: relations whose first two columns become one, and nothing else changes.

`recorded(told)` is the history of a program that says the same, with `[x, y]` wherever a
relation had x and y side by side: in facts, heads, bodies, negations and aggregates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tests.law.adapters import Row, surface, typed
from tests.law.histories import Change, Facts, History, RuleText, Step
from tidelog.oracle.evaluate import column_kinds
from tidelog.program.diagnostics import ProgramError
from tidelog.program.syntax import (
    Atom,
    Attribute,
    BranchDecl,
    Call,
    Clause,
    Kind,
    Program,
    RelationDecl,
    TypeDecl,
)
from tidelog.program.terms import RECORD, Branch
from tidelog.text.writer import to_text


def recorded(told: History, branches: bool = False) -> History:
    """The same with records, or with an algebraic type of one branch for each of them."""
    program = _declared(surface(told.text), column_kinds(typed(told.text)))
    wide = _wide(program)
    given = tuple((fact.relation, fact.values) for fact in program.facts)
    rewriter = _Rewriter(wide, branches)
    text = to_text(rewriter.program(program))
    return replace(
        told,
        text=text,
        given=frozenset((name, rewriter.row(name, row)) for name, row in (*given, *told.given)),
        steps=tuple(rewriter.step(step) for step in told.steps),
    )


def _declared(program: Program, kinds: Mapping[str, Sequence[Kind]]) -> Program:
    """With declarations of relations that only their facts show: facts are given apart."""
    known = {decl.name for decl in program.relations}
    more = (
        RelationDecl(name, tuple(Attribute(f"c{i}", kind) for i, kind in enumerate(kinds[name])))
        for name in kinds
        if name not in known
    )
    return replace(program, relations=(*program.relations, *more))


def _wide(program: Program) -> frozenset[str]:
    plain = (decl for decl in program.relations if not decl.qualifiers & {"eqrel", "transitive"})
    return frozenset(decl.name for decl in plain if len(decl.attributes) > 1)


def spread(row: Row) -> Row:
    """A row as it was before."""
    if row and isinstance(row[0], Branch):
        return (*row[0].values, *row[1:])
    return (*row[0], *row[1:]) if row and isinstance(row[0], tuple) else row


class _Rewriter:
    def __init__(self, wide: frozenset[str], branches: bool) -> None:
        self.wide = wide
        self.branches = branches

    def program(self, program: Program) -> Program:
        types: dict[str, TypeDecl] = {}
        relations = tuple(self.declaration(decl, types) for decl in program.relations)
        return replace(
            program,
            types=(*program.types, *types.values()),
            relations=relations,
            clauses=tuple(map(self.node, program.clauses)),
            facts=(),
        )

    def declaration(self, decl: RelationDecl, types: dict[str, TypeDecl]) -> RelationDecl:
        if decl.name not in self.wide:
            return decl
        first, second, *rest = decl.attributes
        name = f"Both_{first.type_name}_{second.type_name}"  # shared by relations alike
        parts = (Attribute("a", first.type_name), Attribute("b", second.type_name))
        if self.branches:
            made = (BranchDecl("Both", parts), BranchDecl("None", ()))
            types[name] = TypeDecl(name, "algebraic", (), branches=made)
        else:
            types[name] = TypeDecl(name, "record", (), branches=(BranchDecl(RECORD, parts),))
        return replace(decl, attributes=(Attribute("both", name), *rest))

    def node(self, node: Any) -> Any:
        """A clause or what is in it, with records."""
        if isinstance(node, tuple) and not hasattr(node, "_fields"):
            return tuple(map(self.node, node))
        if not is_dataclass(node):
            return node
        parts = {f.name: self.node(getattr(node, f.name)) for f in fields(node) if f.name != "at"}
        made = replace(node, **parts)  # type: ignore[type-var]
        if isinstance(made, Atom) and made.relation in self.wide:
            functor = "$Both" if self.branches else RECORD
            both = Call(functor, made.terms[:2], made.at)
            return replace(made, terms=(both, *made.terms[2:]))
        return made

    def row(self, name: str, row: Row) -> Row:
        if name not in self.wide or len(row) < 2:
            return row
        both = Branch("Both", row[:2]) if self.branches else row[:2]
        return (both, *row[2:])

    def step(self, step: Step) -> Step:
        return replace(step, changes=tuple(map(self.change, step.changes)))

    def change(self, change: Change) -> Change:
        if isinstance(change, Facts):
            rows = tuple(self.row(change.relation, row) for row in change.rows)
            return replace(change, rows=rows)
        assert isinstance(change, RuleText)
        try:
            clauses: tuple[Clause, ...] = surface(change.text).clauses
        except ProgramError:
            return change
        return replace(change, text=to_text(self.node(clauses[0]))) if clauses else change
