"""An atom of an inline relation replaced by the bodies of its rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tidelog.program.formula_walk import all_names, clause_nodes, everything, rebuilt
from tidelog.program.syntax import (
    Aggregate,
    And,
    Atom,
    Call,
    Cast,
    Clause,
    Comparison,
    Formula,
    Not,
    Or,
    Term,
    Variable,
    Wildcard,
)

MAX_NODES = 100_000  # conditions and terms that the inline relations of a clause may expand to


class ExpansionTooLong(Exception):
    """The expansion of a clause's inline relations is too large."""

    def __init__(self, atom: Atom) -> None:
        super().__init__(atom.relation)
        self.atom = atom


class Unfolding:
    """Unfolds atoms of these relations, whose clauses use none of them."""

    def __init__(self, rules: Mapping[str, Sequence[Clause]]) -> None:
        self.rules = rules
        self.taken: set[str] = set()
        self.nodes = 0

    def clause(self, clause: Clause) -> Clause:
        self.taken = all_names(*clause.heads, clause.body)
        self.nodes = 0
        heads = tuple(rebuilt(head, self.node) for head in clause.heads)
        return Clause(heads, self.node(clause.body), clause.at)

    def node(self, node: Any, positive: bool = True, inside: bool = False) -> Any:
        """`positive`: under no negation; `inside`: in an aggregate."""
        if isinstance(node, Aggregate):
            positive = inside = True
        elif isinstance(node, Not):
            positive = False
        made = rebuilt(node, partial(self.node, positive=positive, inside=inside))
        if isinstance(made, Atom) and made.relation in self.rules:
            return self.unfolded(made, positive and not inside)
        return made

    def unfolded(self, atom: Atom, free: bool) -> Formula:
        """The expansion of the atom, or the atom if it is not `free` and that is not the same."""
        rules = self.rules[atom.relation]
        if not free and not all(can_stand_anywhere(rule, atom) for rule in rules):
            return atom
        bodies = tuple(self.body(rule, atom, free) for rule in rules)
        return bodies[0] if len(bodies) == 1 else Or(bodies, atom.at)

    def body(self, rule: Clause, atom: Atom, free: bool) -> Formula:
        """The rule's body for the atom's arguments."""
        self.nodes += len(everything(rule.body))
        if self.nodes > MAX_NODES:
            raise ExpansionTooLong(atom)
        new: dict[str, Term] = {}
        equal: list[Formula] = []
        later: list[tuple[Term, Term]] = []
        for own, given in zip(rule.heads[0].terms, atom.terms, strict=True):
            if free and not isinstance(given, Variable | Wildcard) and not _is_constant(given):
                value = Variable(self.fresh("value"), given.at, given.kind)
                equal.append(Comparison("=", value, given, given.at))
                given = value
            if isinstance(own, Variable) and own.name not in new:
                if isinstance(given, Wildcard) and free:
                    given = Variable(self.fresh(own.name), given.at, given.kind)
                new[own.name] = given
            elif not isinstance(given, Wildcard):
                later.append((given, own))
        for name in sorted(all_names(rule.heads[0], rule.body) - new.keys()):
            new[name] = Variable(self.fresh(name))
        for given, own in later:
            equal.append(Comparison("=", given, replaced(own, new), atom.at))
        body = replaced(rule.body, new)
        parts = body.parts if isinstance(body, And) else (body,)
        whole = (*equal, *parts)
        return whole[0] if len(whole) == 1 else And(whole, atom.at)

    def fresh(self, name: str) -> str:
        new, i = name, 1
        while new in self.taken:
            i += 1
            new = f"{name}_{i}"
        self.taken.add(new)
        return new


def can_stand_anywhere(rule: Clause, atom: Atom) -> bool:
    """Is the body the same as the atom under a negation and in an aggregate?

    It has no variables but the head's, and a value for each of them.
    """
    head = rule.heads[0]
    names = {term.name for term in head.terms if isinstance(term, Variable)}
    nodes = clause_nodes(rule)
    if any(isinstance(node, Wildcard | Aggregate) for node in nodes):
        return False
    if any(isinstance(n, Call) and n.functor == "range" for n in (*nodes, *everything(atom))):
        return False
    if any(isinstance(node, Wildcard | Aggregate) for node in everything(atom)):
        return False
    return all_names(rule.body) <= names


def _is_constant(term: Term) -> bool:
    return not isinstance(term, Call | Cast | Aggregate)


def replaced(node: Any, new: Mapping[str, Term]) -> Any:
    """The node with other terms for its variables."""
    if isinstance(node, Variable):
        found = new.get(node.name, node)
        return Variable(found.name, node.at, node.kind) if isinstance(found, Variable) else found
    return rebuilt(node, partial(replaced, new=new))
