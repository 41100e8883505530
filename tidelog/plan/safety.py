"""Groundedness, as in Soufflé: every variable is bound.

A positive atom binds its variables, and an equation binds a variable that stands alone on
one side once the other side has a value. In both places a record or branch binds the variables
that are its fields. All other places only use values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import chain, count
from typing import NamedTuple

from tidelog.plan.alternatives import (
    MOST_RULES,
    NOTHING,
    TooManyAlternatives,
    alternatives,
    conjunctions,
    written,
)
from tidelog.plan.bound_variables import bare, bound_by, pattern_names
from tidelog.plan.conjunction import Parts
from tidelog.plan.draft import Draft, place
from tidelog.program.diagnostics import Diagnostic
from tidelog.program.formula_walk import (
    Node,
    aggregates,
    all_names,
    clause_nodes,
    flat,
    own_names,
    own_variables,
    parts,
    relations,
)
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
from tidelog.program.terms import is_constructor
from tidelog.text.writer import to_text

SPLIT = "define a relation for some of them"


def check_safety(draft: Draft) -> Draft:
    """Report unbound variables, and warn of variables that occur once."""
    found: list[Diagnostic] = []
    faulty: list[Clause] = []
    more = 0  # rules than clauses
    for number, clause in enumerate(draft.program.clauses):
        waits = bool(draft.unfolded) and not draft.unfolded.isdisjoint(relations(clause))
        if not waits and _is_plainly_safe(clause):
            continue
        nodes = clause_nodes(clause)
        faults = list(_wildcards(clause, nodes))
        try:
            if not waits:  # otherwise its values may come from what it is put into, or that into it
                checker = _Checker(clause)
                faults += checker.faults()
                more += len(clause.heads) * (checker.alternatives - 1)
        except TooManyAlternatives as stop:
            faults.append(Diagnostic(stop.message, clause.at, SPLIT))
        if more > MOST_RULES:
            message = (
                f"the alternatives of clauses up to this one make more than {MOST_RULES:,} rules"
            )
            found.append(Diagnostic(message, clause.at, SPLIT))
            return draft.without(draft.program.clauses[number:]).without(faulty).found(found)
        if faults:
            faulty.append(clause)
        found += faults or _singletons(nodes)
    return draft.without(faulty).found(found)


def is_safe(clause: Clause) -> bool:
    """Does the clause bind all its variables?"""
    if _is_plainly_safe(clause):
        return True
    try:
        return not _Checker(clause).faults()
    except TooManyAlternatives:
        return False


def _is_plainly_safe(clause: Clause) -> bool:
    """Whether the clause is safe at a glance; False if it needs the full check."""
    if flat(clause) is None:
        return False
    body = clause.body
    users: list[Node] = [*clause.heads]
    names: list[str] = []
    for part in body.parts if type(body) is And else (body,):
        if type(part) is Atom:
            names += [term.name for term in part.terms if type(term) is Variable]
        else:
            users.append(part)
    bound = {*names}
    for user in users:
        negated = type(user) is Not
        atom = user.part if type(user) is Not else user
        terms = (atom.left, atom.right) if type(atom) is Comparison else atom.terms  # type: ignore[union-attr]
        for term in terms:
            if type(term) is Variable:
                if term.name not in bound:
                    return False
                names.append(term.name)
            elif type(term) is Wildcard and not negated:
                return False
    return 1 not in Counter(names).values()


def _singletons(nodes: list[Node]) -> Iterator[Diagnostic]:
    occurrences = [node for node in nodes if type(node) is Variable]
    counts = Counter([variable.name for variable in occurrences])
    if 1 not in counts.values():
        return
    for variable in occurrences:
        if counts[variable.name] == 1 and not variable.name.startswith("_"):
            message = f"variable {variable.name} occurs only once"
            yield Diagnostic(message, variable.at, "write _ if any value will do", "warning")


def _wildcards(clause: Clause, nodes: list[Node]) -> Iterator[Diagnostic]:
    """`_` is bound only as an argument of a body atom, or inside a record that is matched."""
    if Wildcard not in {*map(type, nodes)}:
        return
    for head in clause.heads:
        for term in _in_patterns(head.terms):
            if isinstance(term, Wildcard):
                advice = "write a variable that the body binds, or a constant"
                yield Diagnostic("_ in the head has no value", term.at, advice)
    bodies = (clause.body, *(node.body for node in nodes if isinstance(node, Aggregate)))
    denied = {id(comparison) for body in bodies for comparison in _denied(body, False)}
    for node in nodes:
        terms: tuple[Term, ...]
        match node:
            case Comparison(op="=", left=left, right=right) if id(node) not in denied:
                terms, where = (left, right), "in a comparison"
            case Comparison(left=left, right=right):
                terms, where = (*_in_patterns((left, right)),), "in a comparison"
            case Call(functor=functor) if is_constructor(functor):
                continue
            case Call(args=args):
                terms, where = (*_in_patterns(args),), f"as an argument of {node.functor}"
            case Cast(term=inner):
                terms, where = (inner,), "as an argument of as"
            case Aggregate(target=Wildcard() as target):
                terms, where = (target,), f"as the target of {node.op}"
            case _:
                continue
        for term in terms:
            if isinstance(term, Wildcard):
                advice = "write a variable that the body binds"
                yield Diagnostic(f"_ has no value {where}", term.at, advice)


def _denied(formula: Formula, negated: bool) -> Iterator[Comparison]:
    """The comparisons of a formula that must not hold: these take no record apart."""
    match formula:
        case Comparison() if negated:
            yield formula
        case Not(part=part):
            yield from _denied(part, not negated)
        case And(parts=parts) | Or(parts=parts):
            for part in parts:
                yield from _denied(part, negated)


def _in_patterns(terms: Sequence[Term]) -> Iterator[Term]:
    """The terms, with the fields of records and branches in their place."""
    for term in map(bare, terms):
        if isinstance(term, Call) and is_constructor(term.functor):
            yield from _in_patterns(term.args)
        else:
            yield term


class _Use(NamedTuple):
    """A place that uses a variable's value: how it is called, and what to do there."""

    place: str
    advice: str


HEAD = _Use("is in the head", "bind {} in the body, or replace it by a constant")
NEGATED = _Use("is under a negation", "bind {} in a positive atom, or write _ for any value")
COMPARED = _Use("is compared", "bind {} in a positive atom")
TARGET = _Use("is the target of an aggregate", "bind {} inside the braces")
OPERAND = _Use("is in an expression", "bind {} in a positive atom")
SOLVED = _Use("is in an expression", "an equation binds a variable only if it is alone on one side")


class _Checker:
    """One clause. Each variable is reported once, at the first place that misses its value."""

    def __init__(self, clause: Clause) -> None:
        self.clause = clause
        self.unbound: dict[str, tuple[Variable, _Use]] = {}
        self.bound_somewhere: set[str] = set()
        self.alternatives = 1
        self.found: list[Diagnostic] = []

    def faults(self) -> list[Diagnostic]:
        found = alternatives(self.clause)
        self.alternatives = len(found)
        for heads, body, scope in found:
            uses = [(variable, HEAD) for variable in own_variables(*heads)]
            bound = self.conjunction(body, uses, scope, NOTHING)
            if len(found) > 1:
                self.bound_somewhere |= bound
            self.inside(heads, scope)
        for name, (variable, use) in self.unbound.items():
            self.report(name, variable, use)
        return self.found

    def report(self, name: str, variable: Variable, use: _Use) -> None:
        shown = written(name)
        aggregate = _witnessed(shown, self.clause)
        if name in self.bound_somewhere:
            message = f"variable {shown} {use.place} but not bound in every alternative of the body"
            advice = use.advice.format(shown)
        elif aggregate is not None:
            inner = not any(
                aggregate is a for a in aggregates(*self.clause.heads, self.clause.body)
            )
            op = f"an inner {aggregate.op}" if inner else aggregate.op
            message = f"variable {shown} is a witness of {op}: only its body binds {shown}"
            advice = f"bind {shown} outside its braces, for example by {_binder(shown, aggregate)}"
        elif use is HEAD and self.clause.body == And(()):
            message = f"a fact cannot contain the variable {shown}"
            advice = f'write "{shown}" for a string, or a number'
        else:
            message = f"variable {shown} {use.place} but in no positive body atom"
            advice = use.advice.format(shown)
            if expression := _inside_atom(shown, self.clause):
                advice = f"an argument such as {expression} only compares: write a variable for it"
            elif use is TARGET and shown in own_names(*self.clause.heads, self.clause.body):
                advice = _inside_braces(shown, variable, self.clause)
        notes = tuple(
            f"the {shown} of {node.op} ({place(node.at)}) is local to that aggregate"
            for node in clause_nodes(self.clause)
            if use is not TARGET
            and isinstance(node, Aggregate)
            and node.target
            and shown in own_names(node.target)
        )
        self.found.append(Diagnostic(message, variable.at, advice, notes=notes[:1]))

    def conjunction(
        self, body: Parts, uses: list[tuple[Variable, _Use]], scope: Set[str], given: Set[str]
    ) -> set[str]:
        """Note which of the parts' variables have no value, and return those that have one."""
        bound = bound_by(body, scope, given)
        uses = uses + [use for part in body for use in _uses(part)]
        unbound = {variable.name for variable, _ in uses} - bound
        if unbound:
            # A variable that only waits for another one does not need a separate message.
            roots = unbound - _waiting(body)
            follow_ups = bound_by(body, scope, given | roots) - roots
            for variable, use in uses:
                if variable.name in unbound and variable.name not in follow_ups:
                    self.unbound.setdefault(variable.name, (variable, use))
        self.inside(body, scope)
        return bound

    def inside(self, nodes: Sequence[Node], scope: Set[str]) -> None:
        if scope:  # which is empty where there are no aggregates
            for aggregate in aggregates(*nodes):
                self.aggregate(aggregate, scope)

    def aggregate(self, aggregate: Aggregate, scope: Set[str]) -> None:
        """Variables from outside have a value here: if not, they are reported outside."""
        own_here = own_names(*parts(aggregate)) - scope
        uses = [(v, TARGET) for v in own_variables(aggregate.target)] if aggregate.target else []
        for body in conjunctions(aggregate.body):
            self.conjunction(body, uses, scope | own_here, scope)
        if aggregate.target:
            self.inside((aggregate.target,), scope | own_here)


def _witnessed(name: str, clause: Clause) -> Aggregate | None:
    """An aggregate whose body binds the variable, preferably one without witnesses."""
    found = [
        node
        for node in clause_nodes(clause)
        if isinstance(node, Aggregate)
        and _binder(name, node)
        and not (node.target and name in own_names(node.target))
    ]
    return min(found, key=lambda aggregate: aggregate.op in ("min", "max"), default=None)


def _binder(name: str, aggregate: Aggregate) -> str:
    """The atom of its body that binds the variable, with `_` for all else: `family(p, _)`."""
    for atom in (part for body in conjunctions(aggregate.body) for part in body):
        if isinstance(atom, Atom):
            names = [term.name if isinstance(term, Variable) else "" for term in atom.terms]
            if name in names:
                terms = (name if i == names.index(name) else "_" for i in range(len(names)))
                return f"{atom.relation}({', '.join(terms)})"
    return ""


def _inside_atom(name: str, clause: Clause) -> str:
    """An expression with the variable that is an argument of a positive atom."""
    for body in conjunctions(clause.body):
        for atom in body:
            for term in atom.terms if isinstance(atom, Atom) else ():
                plain = isinstance(term, Call) and not is_constructor(term.functor)
                if plain and name in own_names(term):
                    return to_text(term)
    return ""


def _inside_braces(name: str, variable: Variable, clause: Clause) -> str:
    """How a target, of which the variable is local, uses the rule's variable of that name."""
    op, target = next(
        (node.op, node.target)
        for node in clause_nodes(clause)
        if isinstance(node, Aggregate)
        and node.target is not None
        and any(own.at == variable.at for own in own_variables(node.target))
    )
    names = all_names(*clause.heads, clause.body)
    new = next(n for n in chain("vuwxyz", map("v{}".format, count(1))) if n not in names)
    return (
        f"variables before the colon are local: to use the {name} of the rule, write "
        f"{op} {new} : {{ …, {new} = {to_text(target)} }}"
    )


def _uses(part: Node) -> Iterator[tuple[Variable, _Use]]:
    """Variables that a part of a body uses, not counting aggregates inside it."""
    match part:
        case Not(atom):
            yield from ((variable, NEGATED) for variable in own_variables(atom))
        case Comparison(op, left, right):
            operand = SOLVED if op == "=" else OPERAND
            for term in (left, right):
                if isinstance(term, Variable):
                    yield term, COMPARED
                else:
                    yield from ((variable, operand) for variable in own_variables(term))
        case Atom():
            for term in part.terms:
                if not isinstance(term, Variable):
                    yield from ((variable, OPERAND) for variable in own_variables(term))


def _waiting(body: Parts) -> set[str]:
    """Variables that an equation would bind."""
    return {
        name
        for part in body
        if isinstance(part, Comparison) and part.op == "="
        for name in pattern_names((part.left, part.right))
    }
