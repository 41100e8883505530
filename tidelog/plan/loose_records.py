"""Records that no type describes: `r = [x, y], s = r, s = [v, w]` says `v = x, w = y`.

As in Soufflé, a variable that stands for such a record is replaced by it, and two records are
equal if their parts are. A record with as many fields as some record type is left to the types,
and so is one that is left over, because it stands in an atom or a head.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from functools import partial

from tidelog.plan.alternatives import TooManyAlternatives, conjunctions
from tidelog.plan.conjunction import Part
from tidelog.plan.draft import Draft
from tidelog.plan.substitution import MAX_NODES, replaced
from tidelog.program.formula_walk import (
    all_names,
    clause_nodes,
    everything,
    flat,
    own_names,
    rebuilt,
)
from tidelog.program.syntax import (
    Aggregate,
    And,
    Atom,
    Call,
    Clause,
    Comparison,
    Constant,
    Formula,
    Not,
    Or,
    Span,
    Term,
    Truth,
    Variable,
    Wildcard,
)
from tidelog.program.terms import RECORD, TermKind


def solve_loose_records(draft: Draft) -> Draft:
    """Solve the equations of records without a type."""
    kinds = [each.kind for each in draft.types.values()]
    known = {len(kind.constructors.get(RECORD, ())) for kind in kinds if isinstance(kind, TermKind)}
    clauses = tuple([_solved(clause, known) for clause in draft.program.clauses])
    return replace(draft, program=replace(draft.program, clauses=clauses))


def _solved(clause: Clause, known: Set[int]) -> Clause:
    if flat(clause) is not None:
        return clause
    nodes = clause_nodes(clause)
    if not any(isinstance(n, Comparison) and _has_loose(n, known) for n in nodes):
        return clause
    try:
        return _Solver(clause, known).solved()
    except (TooManyAlternatives, _TooLarge):  # the types refuse the records then
        return clause


def _has_loose(comparison: Comparison, known: Set[int]) -> bool:
    return any(_is_loose(side, known) for side in (comparison.left, comparison.right))


def _is_loose(term: Term, known: Set[int]) -> bool:
    return isinstance(term, Call) and term.functor == RECORD and len(term.args) not in known


class _TooLarge(Exception):
    """Records in records, each several times, multiply."""


class _Solver:
    def __init__(self, clause: Clause, known: Set[int]) -> None:
        self.clause = clause
        self.known = known
        nodes = clause_nodes(clause)
        self.taken = {node.name for node in nodes if isinstance(node, Variable)}
        targets = [n.target for n in nodes if isinstance(n, Aggregate) and n.target is not None]
        self.targets = all_names(*targets)  # local to their aggregates, whatever is outside
        self.made = 0
        self.room = MAX_NODES

    def solved(self) -> Clause:
        heads = tuple(self.atom(head, own_names(self.clause.body)) for head in self.clause.heads)
        kept = all_names(*self.clause.heads)
        return Clause(heads, self.formula(self.clause.body, kept), self.clause.at)

    def formula(self, formula: Formula, kept: Set[str]) -> Formula:
        """The formula with its equations solved; `kept` are the variables around it."""
        if not any(isinstance(n, Comparison) and self.is_loose(n) for n in everything(formula)):
            return formula
        bodies = [self.conjunction(body, kept) for body in conjunctions(formula)]
        return bodies[0] if len(bodies) == 1 else Or(tuple(bodies)) if bodies else Truth(False)

    def is_loose(self, comparison: Comparison) -> bool:
        return _has_loose(comparison, self.known)

    def conjunction(self, body: Sequence[Part], kept: Set[str]) -> Formula:
        before = own_names(*body)
        fixed = kept | self.targets
        parts: list[Formula] = [*body]
        gone: set[str] = set()
        i = 0
        while i < len(parts):
            part = parts[i]
            if not isinstance(part, Comparison) or part.op not in ("=", "!="):
                i += 1
                continue
            binding = self.binding(part, fixed)
            if binding is not None:
                name, record = binding
                del parts[i]
                gone.add(name)
                value, more = self.named(record)
                if name in all_names(value):  # a record is no part of itself
                    return Truth(False, part.at)
                parts = [self.with_record(each, name, value) for each in parts] + more
                i = 0
            elif (split := self.split(part)) is not None:
                parts[i : i + 1] = split
            else:
                i += 1
        parts = [self.inside(part, kept | own_names(*parts)) for part in parts]
        lost = sorted(before - gone - own_names(*parts) - kept)
        parts += [self.needed(name, body) for name in lost]
        return And(tuple(parts))

    def with_record(self, part: Formula, name: str, record: Call) -> Formula:
        if name not in all_names(part):
            return part
        part = replaced(part, {name: record})
        self.room -= len(everything(part))
        if self.room < 0:
            raise _TooLarge
        return part

    def binding(self, part: Comparison, fixed: Set[str]) -> tuple[str, Call] | None:
        """The variable that the equation makes a record without a type."""
        for one, other in ((part.left, part.right), (part.right, part.left)):
            if not (isinstance(other, Call) and _is_loose(other, self.known)):
                continue
            if part.op == "=" and isinstance(one, Variable) and one.name not in fixed:
                return one.name, other
        return None

    def split(self, part: Comparison) -> list[Formula] | None:
        """What two records are equal by, or differ by."""
        left, right = part.left, part.right
        if not (isinstance(left, Call) and isinstance(right, Call) and self.is_loose(part)):
            return None
        if left.functor != RECORD or right.functor != RECORD:
            return None
        equal = part.op == "="
        if len(left.args) != len(right.args):
            return [Truth(not equal, part.at)]
        pairs = [*zip(left.args, right.args, strict=True)]
        if equal:
            pairs = [p for p in pairs if not any(isinstance(term, Wildcard) for term in p)]
        found = tuple(Comparison(part.op, one, other, part.at) for one, other in pairs)
        return [*found] if equal else [Or(found, part.at)]

    def named(self, record: Call) -> tuple[Call, list[Formula]]:
        """The record with a variable for each part that must not be written twice."""
        args: list[Term] = []
        more: list[Formula] = []
        for arg in record.args:
            if isinstance(arg, Call) and arg.functor == RECORD:
                arg, inside = self.named(arg)
                more += inside
            elif isinstance(arg, Wildcard):
                arg = self.fresh("_", arg.at)
            elif not isinstance(arg, Variable | Constant) or (
                isinstance(arg, Variable) and arg.name in self.targets
            ):
                value = self.fresh("_field", arg.at)
                more.append(Comparison("=", value, arg, arg.at))
                arg = value
            args.append(arg)
        return replace(record, args=tuple(args)), more

    def fresh(self, name: str, at: Span) -> Variable:
        self.made += 1
        return Variable(f"{name}%{self.made}", at)

    def needed(self, name: str, body: Sequence[Part]) -> Formula:
        """A use of a variable that only a record had: it must be bound all the same."""
        nodes = everything(*body)
        variable = next(n for n in nodes if isinstance(n, Variable) and n.name == name)
        return Comparison("=", variable, variable, variable.at)

    def inside(self, formula: Formula, around: Set[str]) -> Formula:
        """The formula with the equations in its aggregates solved."""
        match formula:
            case Comparison(op, left, right, at) if op.startswith("!") and op != "!=":
                # Only alternatives have it.
                equal = Comparison(op[1:], left, right, at)
                return Not(rebuilt(equal, partial(self.term, around=around)), at)
            case Comparison("!=") if (unequal := self.split(formula)) is not None:
                return self.inside(And(tuple(unequal)), around)  # records in records differ
            case And() | Or() | Not():
                return rebuilt(formula, partial(self.inside, around=around))
            case _:
                return rebuilt(formula, partial(self.term, around=around))

    def atom(self, atom: Atom, around: Set[str]) -> Atom:
        return rebuilt(atom, partial(self.term, around=around))

    def term(self, term: Term, around: Set[str]) -> Term:
        if isinstance(term, Aggregate):
            return replace(term, body=self.formula(term.body, around))
        return rebuilt(term, partial(self.term, around=around))
