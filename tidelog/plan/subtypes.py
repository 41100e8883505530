"""Subtypes and unions: a variable's type in the body must fit the head.

As in Soufflé, a body variable is of all types that its atoms give it, and a head takes
only what is contained in its type. Literals, expressions and the columns of undeclared
relations fit every type of their kind. Alternatives of a disjunction are united. The body
of an aggregate counts for a variable that it alone binds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.plan.draft import Draft, place
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.formula_walk import aggregates, own_names
from tidelog.program.syntax import (
    And,
    Atom,
    Cast,
    Clause,
    Comparison,
    Formula,
    Or,
    RelationDecl,
    Term,
    Variable,
)


def check_subtypes(draft: Draft) -> Draft:
    """Find variables that are of no type, or of a type that does not fit the head."""
    if all(decl.form == "alias" for decl in draft.program.types):
        return draft
    checker = _Checker(draft)
    faulty = []
    found: list[Diagnostic] = []
    for clause in draft.program.clauses:
        faults = checker.faults(clause)
        found += faults
        if faults:
            faulty.append(clause)
    return draft.without(faulty).found(found)


class _Given:
    """What atoms say of a variable: the leaves open to it, and the last atom that said so."""

    __slots__ = ("by", "leaves")

    def __init__(self, leaves: frozenset[str], by: str) -> None:
        self.leaves = leaves
        self.by = by


_Env = dict[str, _Given]


class _Checker:
    def __init__(self, draft: Draft) -> None:
        self.types = draft.types
        self.declared: Mapping[str, RelationDecl] = {
            decl.name: decl for decl in draft.program.relations if not decl.inferred
        }

    def faults(self, clause: Clause) -> list[Diagnostic]:
        self.found: list[Diagnostic] = []
        self.witnesses: _Env = {}
        env = self.conjunction((clause.body,))
        for head in clause.heads:
            self.inside(head)
        for head in clause.heads:
            self.head(head, self.witnesses | env)
        return self.found

    def conjunction(self, parts: Sequence[Formula]) -> _Env:
        """Types by atoms, then by equations for variables that are in no atom."""
        env: _Env = {}
        equations: list[Comparison] = []
        for part in parts:
            match part:
                case Atom():
                    self.inside(part)
                    self.atom(part, env)
                case And():
                    self.meet(env, self.conjunction(part.parts), part)
                case Or():
                    self.meet(env, self.alternatives(part), part)
                case Comparison():
                    self.inside(part)
                    if part.op == "=":
                        equations.append(part)
        self.equations(equations, env)
        return env

    def inside(self, part: Formula) -> None:
        """An aggregate's body is checked on its own: its variables may be its own."""
        for aggregate in aggregates(part):
            env = self.conjunction((aggregate.body,))
            targets = own_names(aggregate.target) if aggregate.target else ()
            self.witnesses |= {name: env[name] for name in env if name not in targets}

    def atom(self, atom: Atom, env: _Env) -> None:
        decl = self.declared.get(atom.relation)
        if decl is None:
            return
        for term, attribute in zip(atom.terms, decl.attributes, strict=True):
            if isinstance(term, Variable):
                by = f"{attribute.type_name} in {atom.relation} ({place(term.at)})"
                given = _Given(self.types[attribute.type_name].leaves, by)
                self.meet(env, {term.name: given}, term)

    def meet(self, env: _Env, more: _Env, at: Formula | Variable) -> None:
        for name, given in more.items():
            before = env.get(name)
            if before is None:
                env[name] = given
                continue
            leaves = before.leaves & given.leaves
            if not leaves:
                message = f"variable {name} would have to be of two types that share no value"
                advice = f"here it is {given.by.partition(' (')[0]}"
                note = f"it is {before.by}"
                self.found.append(Diagnostic(message, at.at, advice, notes=(note,)))
                leaves = before.leaves  # complain once
            env[name] = _Given(leaves, given.by if leaves < before.leaves else before.by)

    def alternatives(self, formula: Or) -> _Env:
        """What every alternative says of a variable, united."""
        envs = [self.conjunction((part,)) for part in formula.parts]
        return {
            name: _Given(frozenset().union(*(env[name].leaves for env in envs)), given.by)
            for name, given in envs[0].items()
            if all(name in env for env in envs)
        }

    def equations(self, equations: list[Comparison], env: _Env) -> None:
        waiting = equations
        while waiting:
            left_over = []
            for equation in waiting:
                left, right = equation.left, equation.right
                for one, other in ((left, right), (right, left)):
                    if isinstance(one, Variable) and one.name not in env:
                        given = self.given(other, env)
                        if given is not None:
                            env[one.name] = given
                            break
                else:
                    left_over.append(equation)
            if len(left_over) == len(waiting):
                return
            waiting = left_over

    def given(self, term: Term, env: _Env) -> _Given | None:
        match term:
            case Variable():
                return env.get(term.name)
            case Cast():
                by = f"{term.type_name} by as ({place(term.at)})"
                return _Given(self.types[term.type_name].leaves, by)
            case _:
                return None

    def head(self, head: Atom, env: _Env) -> None:
        decl = self.declared.get(head.relation)
        if decl is None:
            return
        for term, attribute in zip(head.terms, decl.attributes, strict=True):
            given = self.given(term, env)
            if given is not None and not given.leaves <= self.types[attribute.type_name].leaves:
                subject = f"variable {term.name}" if isinstance(term, Variable) else "this value"
                message = f"{subject} may be of a type that is not in {attribute.type_name}"
                advice = f"attribute {attribute.name} of {head.relation} is {attribute.type_name}"
                note = f"it is {given.by}; as(…, {attribute.type_name}) would convert it"
                self.found.append(Diagnostic(message, term.at, advice, notes=(note,)))
