"""An atom of an inline relation replaced by the bodies of its rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.program.formula_walk import all_names, clause_nodes, everything
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
    Truth,
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
        heads = tuple(
            Atom(head.relation, tuple(self.term(term) for term in head.terms), head.at)
            for head in clause.heads
        )
        return Clause(heads, self.formula(clause.body, positive=True), clause.at)

    def formula(self, formula: Formula, positive: bool, inside: bool = False) -> Formula:
        """`positive`: under no negation; `inside`: in an aggregate."""
        match formula:
            case And(parts, at):
                return And(tuple(self.formula(p, positive, inside) for p in parts), at)
            case Or(parts, at):
                return Or(tuple(self.formula(p, positive, inside) for p in parts), at)
            case Not(part, at):
                return Not(self.formula(part, False, inside), at)
            case Comparison(op, left, right, at):
                return Comparison(op, self.term(left), self.term(right), at)
            case Atom(relation, terms, at):
                atom = Atom(relation, tuple(self.term(term) for term in terms), at)
                if relation in self.rules:
                    return self.unfolded(atom, positive and not inside)
                return atom
            case Truth():
                return formula

    def term(self, term: Term) -> Term:
        """The term, with what is in its aggregates unfolded."""
        match term:
            case Aggregate(op, target, body, at, kind):
                inner = target and self.term(target)
                return Aggregate(op, inner, self.formula(body, True, inside=True), at, kind)
            case Call(functor, args, at, kind):
                return Call(functor, tuple(self.term(arg) for arg in args), at, kind)
            case Cast(inner, type_name, at, kind):
                return Cast(self.term(inner), type_name, at, kind)
            case _:
                return term

    def unfolded(self, atom: Atom, free: bool) -> Formula:
        """The expansion of the atom, or the atom if it is not `free` and that is not the same."""
        rules = self.rules[atom.relation]
        if not free and not all(can_stand_anywhere(rule, atom) for rule in rules):
            return atom
        ways = tuple(self.body(rule, atom, free) for rule in rules)
        return ways[0] if len(ways) == 1 else Or(ways, atom.at)

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
        body = replaced_in(rule.body, new)
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


def replaced_in(formula: Formula, new: Mapping[str, Term]) -> Formula:
    """The formula with other terms for its variables."""
    match formula:
        case And(parts, at):
            return And(tuple(replaced_in(part, new) for part in parts), at)
        case Or(parts, at):
            return Or(tuple(replaced_in(part, new) for part in parts), at)
        case Not(part, at):
            return Not(replaced_in(part, new), at)
        case Comparison(op, left, right, at):
            return Comparison(op, replaced(left, new), replaced(right, new), at)
        case Atom(relation, terms, at):
            return Atom(relation, tuple(replaced(term, new) for term in terms), at)
        case Truth():
            return formula


def replaced(term: Term, new: Mapping[str, Term]) -> Term:
    match term:
        case Variable(name, at, kind):
            found = new[name]
            if isinstance(found, Variable):
                return Variable(found.name, at, kind)
            return found
        case Call(functor, args, at, kind):
            return Call(functor, tuple(replaced(arg, new) for arg in args), at, kind)
        case Cast(inner, type_name, at, kind):
            return Cast(replaced(inner, new), type_name, at, kind)
        case Aggregate(op, target, body, at, kind):
            return Aggregate(op, target and replaced(target, new), replaced_in(body, new), at, kind)
        case _:
            return term
