"""One conjunction on its way to the core form, aggregates included."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import count

from tidelog.plan.alternatives import conjunctions, is_named_wildcard
from tidelog.plan.bound_variables import bound_by
from tidelog.plan.conjunction import Part, Parts
from tidelog.plan.core_body import (
    Item,
    borrow,
    bound_in,
    constraint_item,
    group_item,
    literal_item,
    range_item,
)
from tidelog.plan.core_program import CoreProgram
from tidelog.program.formula_walk import all_names, own, own_names, parts, rebuilt, variables
from tidelog.program.rules import (
    BodyLiteral,
    Constraint,
    Expression,
    Group,
    Literal,
    Range,
    Simple,
)
from tidelog.program.syntax import (
    Aggregate,
    Atom,
    Call,
    Cast,
    Comparison,
    Constant,
    Kind,
    Not,
    Span,
    Term,
    Value,
    Variable,
    Wildcard,
)
from tidelog.program.terms import RECORD, TermKind, is_constructor


class Setting:
    """What all conjunctions of one rule share."""

    def __init__(self, core: CoreProgram, text: str, recursive: frozenset[str]) -> None:
        self.core = core
        self.text = text
        self.recursive = recursive  # relations on a cycle with the rule's heads
        self.numbers = count(1)

    def fresh(self, kind: Kind | None, at: Span) -> Variable:
        """A variable that no program can spell."""
        return Variable(f"%{next(self.numbers)}", at, kind)


class PendingAggregate:
    """An aggregate that has its place in a body, but no `Group` yet."""

    def __init__(self, result: Variable, aggregate: Aggregate) -> None:
        self.result = result
        self.aggregate = aggregate


class BodyLowering:
    """`scope` are the variables of the conjunction and around it; `outside` only the latter.

    Inside an aggregate each `_` and each range is a variable to count, so it gets a name.
    """

    def __init__(
        self, setting: Setting, scope: Set[str], written: Parts, outside: Set[str] | None = None
    ) -> None:
        self.setting = setting
        self.scope = scope
        self.inside = outside is not None
        self.items: list[Item | PendingAggregate] = []
        self.counted: list[Variable] = []
        self.written = written
        self.outside = outside or frozenset()
        for i, part in enumerate(written):
            self.part(i, part)

    def parts(self) -> tuple[BodyLiteral, ...]:
        return tuple([item.part for item in self.resolved()])

    def resolved(self) -> list[Item]:
        return [item for item in self.items if isinstance(item, Item)]

    def part(self, i: int, part: Part) -> None:
        match part:
            case Atom(relation, terms, at):
                simple = tuple([self.simple(term) for term in terms])
                self.items.append(literal_item(Literal(relation, simple, at=at)))
            case Not(Atom(relation, terms, at)) if any(map(_has_gap, terms)):
                self.items.append(literal_item(self.without(relation, terms, at)))
            case Not(Atom(relation, terms, at) as atom):
                simple = tuple([self.simple(term) for term in terms])
                if any(isinstance(term, Wildcard) for term in simple):
                    relation = self.setting.core.projection(atom, self.setting.text)
                    simple = tuple([t for t in simple if not isinstance(t, Wildcard)])
                self.items.append(literal_item(Literal(relation, simple, True, at)))
            case Comparison("=", left, right, at) if _is_constructor(left) or _is_constructor(
                right
            ):
                self.equal(i, left, right, at)
            case Comparison(op, left, right, at):
                for one, other in ((left, right), (right, left)):
                    if op == "=" and isinstance(one, Variable) and self.only_gives(i, one, other):
                        self.bind(one, other)
                        return
                    if op == "=" and isinstance(one, Variable) and _gives_values(other):
                        # Bound elsewhere: what it is compared with is no variable of its own.
                        value = self.setting.fresh(other.kind, other.at)
                        self.bind(value, other)
                        self.items.append(constraint_item(Constraint("=", one, value, at)))
                        return
                constraint = Constraint(op, self.expression(left), self.expression(right), at)
                self.items.append(constraint_item(constraint))

    def equal(self, i: int, left: Term, right: Term, at: Span) -> None:
        """Lower an equation with a record or branch: part by part, or to one that engines solve."""
        if not _is_constructor(right):
            left, right = right, left
        assert isinstance(right, Call)
        parts = _same_constructor(left, right)
        if parts is None:
            self.take_apart(self.simple(left), right)
        else:
            for one, other in zip(parts, right.args, strict=True):
                if not isinstance(one, Wildcard) and not isinstance(other, Wildcard):
                    self.part(i, Comparison("=", one, other, at))

    def take_apart(self, value: Simple, call: Call) -> None:
        """`value = [x, y]`, in which engines find the value or the fields, as they like."""
        assert isinstance(value, Variable)
        args = tuple([self.field(arg) for arg in call.args])
        functor = f"{call.functor}{'' if call.functor == RECORD else ':'}{call.kind}"
        found = Constraint("=", value, Call(functor, args, call.at, call.kind), call.at)
        self.items.append(constraint_item(found))

    def field(self, term: Term) -> Variable | Constant:
        if isinstance(term, Wildcard):
            return self.setting.fresh(term.kind, term.at)
        found = self.simple(term)
        assert not isinstance(found, Wildcard)
        return found

    def without(self, relation: str, terms: tuple[Term, ...], at: Span) -> Literal:
        """A negated atom with `_` in a record: the hidden relation has what else is in it."""
        kept: list[Variable] = []
        given: list[Simple] = []
        pattern = tuple([self.gaps(term, kept, given) for term in terms])
        body = BodyLowering(self.setting, frozenset(), (Atom(relation, pattern, at),))
        kinds = tuple([variable.kind or "number" for variable in kept])
        rules = [(kept, body.parts())]
        name = self.setting.core.assignments(kinds, rules, self.setting.text, at, "%not")
        return Literal(name, tuple(given), True, at)

    def gaps(self, term: Term, kept: list[Variable], given: list[Simple]) -> Term:
        """The term with a variable, in `kept`, for each part that has a value, in `given`."""
        if isinstance(term, Wildcard):
            return term
        if isinstance(term, Call) and _has_gap(term):
            args = tuple([self.gaps(arg, kept, given) for arg in term.args])
            return Call(term.functor, args, term.at, term.kind)
        kept.append(self.setting.fresh(term.kind, term.at))
        given.append(self.simple(term))
        return kept[-1]

    def only_gives(self, i: int, variable: Variable, term: Term) -> bool:
        """Whether the variable takes its value from part i, a range or aggregate, alone."""
        if not _gives_values(term):
            return False
        others = self.written[:i] + self.written[i + 1 :]
        return variable.name not in bound_by(others, self.scope, self.outside)

    def simple(self, term: Term) -> Simple:
        if isinstance(term, Variable | Constant | Wildcard):
            return term
        if isinstance(term, Call) and is_constructor(term.functor):
            variable = self.setting.fresh(term.kind, term.at)
            self.take_apart(variable, term)
            return variable
        value = self.expression(term)
        if isinstance(value, Variable | Constant):
            return value
        variable = self.setting.fresh(term.kind, term.at)
        self.items.append(constraint_item(Constraint("=", variable, value, term.at)))
        return variable

    def expression(self, term: Term) -> Expression:
        """The term, with variables in place of ranges and aggregates."""
        if _gives_values(term):
            variable = self.setting.fresh(term.kind, term.at)
            if self.inside and isinstance(term, Call):
                self.counted.append(variable)
            self.bind(variable, term)
            return variable
        match term:
            case Variable() | Constant():
                return term
            case Call(functor) if is_constructor(functor):
                return self.field(term)
            case Call() | Cast():
                return rebuilt(term, self.expression)
        raise AssertionError(f"{term} has no value, which the safety pass refuses")

    def bind(self, variable: Variable, term: Term) -> None:
        """The variable takes the values of a range, or the value of an aggregate."""
        if isinstance(term, Aggregate):
            self.items.append(PendingAggregate(variable, term))
        elif isinstance(term, Call):
            start, stop, *step = [self.expression(arg) for arg in term.args]
            found = Range(variable, start, stop, step[0] if step else None, term.at)
            self.items.append(range_item(found))

    def resolve(self, around: Sequence[Item] = ()) -> None:
        """Make a `Group` of each aggregate, in an order in which their variables are bound."""
        N: list[PendingAggregate] = [
            item for item in self.items if isinstance(item, PendingAggregate)
        ]
        while N:
            before = len(N)
            for pending in list(N):
                available = [*self.resolved(), *around]
                keys = frozenset(all_names(pending.aggregate) & self.scope)
                if keys <= bound_in(available):
                    group = self.group(pending, keys, available)
                    self.items[self.items.index(pending)] = group_item(group, keys)
                    N.remove(pending)
            assert len(N) < before, "the safety pass lets no aggregate wait for itself"

    def group(
        self, pending: PendingAggregate, keys: frozenset[str], available: list[Item]
    ) -> Group:
        aggregate, result = pending.aggregate, pending.result
        bodies = [body for body in conjunctions(aggregate.body) if can_hold(body)]
        plain = _plain(aggregate, bodies)
        if plain is None:
            relation, terms, value = self.assignments(aggregate, bodies, keys, available)
        else:
            relation, terms = plain
            value = aggregate.target if isinstance(aggregate.target, Variable) else None
        return Group(aggregate.op, result, value, relation, terms, aggregate.at)

    def assignments(
        self, aggregate: Aggregate, bodies: list[Parts], keys: frozenset[str], around: list[Item]
    ) -> tuple[str, tuple[Simple, ...], Variable | None]:
        """The hidden relation of an aggregate, how to read it, and its column of values."""
        setting, target = self.setting, aggregate.target
        outer = [v for v in {v.name: v for v in variables(aggregate)}.values() if v.name in keys]
        value = target if isinstance(target, Variable) else None
        results: list[Variable] = []  # a target that is an expression has a column of its own
        if target is not None and value is None:
            results = [value := setting.fresh(target.kind, target.at)]
        elif value is not None and not bodies:
            results = [value]
        made: list[tuple[list[Variable], tuple[BodyLiteral, ...]]] = []
        lent_by: set[str] = set()
        for written in bodies:
            body = BodyLowering(
                setting, self.scope | own_names(*parts(aggregate)), written, self.scope
            )
            if target is not None and value is not None and results:
                equal = Constraint("=", value, body.expression(target), target.at)
                body.items.append(constraint_item(equal))
            body.resolve(around)
            items = body.resolved()
            risky = any(item.risky for item in items)
            missing = keys - bound_in(items)
            lent = borrow(missing, around, setting.recursive, risky) if missing or risky else []
            lent_by.update(i.part.relation for i in lent if isinstance(i.part, Literal | Group))
            made.append(
                (self.local(written) + body.counted, tuple(i.part for i in (*items, *lent)))
            )

        local = list({v.name: v for own_here, _ in made for v in own_here}.values())
        columns = [*local, *outer, *results]
        heads = [
            tuple(_or_filler(c, own_here, outer + results) for c in columns) for own_here, _ in made
        ]
        kinds = tuple([variable.kind or "number" for variable in columns])
        if any(len(own_here) < len(local) for own_here, _ in made):
            # Assignments of different variables are different, whatever fills the gaps.
            sets = [frozenset(v.name for v in own_here) for own_here, _ in made]
            marks = [Constant(sets.index(names), "number", aggregate.at) for names in sets]
            heads = [(*head, mark) for head, mark in zip(heads, marks, strict=True)]
            kinds = (*kinds, "number")
        rules = [(head, body) for head, (_, body) in zip(heads, made, strict=True)]
        name = setting.core.assignments(kinds, rules, setting.text, aggregate.at)
        setting.core.borrowed.update((name, relation) for relation in lent_by)
        kept = {*keys, value.name} if value else keys
        terms = [c if c.name in kept else Wildcard(c.at, c.kind) for c in columns]
        terms += [Wildcard(aggregate.at, "number")] * (len(kinds) - len(columns))
        return name, tuple(terms), value

    def local(self, written: Parts) -> list[Variable]:
        """Variables of an aggregate's conjunction that are not from outside."""
        found = [v for part in written for v in own(part) if isinstance(v, Variable)]
        return [v for v in {v.name: v for v in found}.values() if v.name not in self.scope]


def _or_filler(
    column: Variable, own_here: Sequence[Variable], others: Sequence[Variable]
) -> Simple:
    if any(column.name == variable.name for variable in (*own_here, *others)):
        return column
    value: Value = "" if column.kind == "symbol" else 0.0 if column.kind == "float" else 0
    if isinstance(column.kind, TermKind):
        value = None  # which engines take for any such kind
    return Constant(value, column.kind, column.at)


def _is_constructor(term: Term) -> bool:
    return isinstance(term, Call) and is_constructor(term.functor)


def can_hold(parts: Parts) -> bool:
    """False if records or branches of different shapes are equated, as in `nil = [x, y]`: such an
    equation binds none of its variables."""
    return not any(
        isinstance(part, Comparison) and part.op == "=" and _differ(part.left, part.right)
        for part in parts
    )


def _differ(left: Term, right: Term) -> bool:
    if not _is_constructor(right):
        left, right = right, left
    if not isinstance(right, Call) or not _is_constructor(right):
        return False
    parts = _same_constructor(left, right)
    if parts is None:
        return isinstance(left, Constant) or _is_constructor(left)
    return any(map(_differ, parts, right.args))


def _has_gap(term: Term) -> bool:
    """Does a record or branch contain `_`?"""
    if not isinstance(term, Call) or not is_constructor(term.functor):
        return False
    return any(isinstance(arg, Wildcard) or _has_gap(arg) for arg in term.args)


def _same_constructor(term: Term, call: Call) -> tuple[Term, ...] | None:
    """The parts of the term, if it is made by the same constructor."""
    if isinstance(term, Call) and term.functor == call.functor:
        return term.args
    if isinstance(term, Constant) and isinstance(term.kind, TermKind):
        found = term.kind.taken_apart(term.value)
        if found is not None and call.functor in (found[0], f"${found[0]}"):
            fields = term.kind.constructors[found[0]]
            pairs = zip(found[1], fields, strict=True)
            return tuple([Constant(value, field.kind, term.at) for value, field in pairs])
    return None


def _gives_values(term: Term) -> bool:
    return isinstance(term, Aggregate) or (isinstance(term, Call) and term.functor == "range")


def _plain(aggregate: Aggregate, bodies: list[Parts]) -> tuple[str, tuple[Simple, ...]] | None:
    """The aggregate's only atom, if a `Group` can read it as it is."""
    if len(bodies) != 1 or len(bodies[0]) != 1 or not isinstance(bodies[0][0], Atom):
        return None
    atom = bodies[0][0]
    names = [term.name for term in atom.terms if isinstance(term, Variable)]
    target = aggregate.target
    if len(set(names)) < len(names):
        return None
    if target is not None and not (isinstance(target, Variable) and target.name in names):
        return None
    terms: list[Simple] = []
    for term in atom.terms:
        if isinstance(term, Variable) and is_named_wildcard(term):
            terms.append(Wildcard(term.at, term.kind))
        elif isinstance(term, Variable | Constant | Wildcard):
            terms.append(term)
        else:
            return None
    return atom.relation, tuple(terms)
