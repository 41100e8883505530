"""Aggregates over lower relations, compared with a value that only the rule's own cycle has.

In `out(r + 1, z) :- out(r, _), z = count : { point(x), x <= r }.` the hidden relation of the
aggregate's assignments would take r from `out`, and close a cycle that the program does not have.
The value of the aggregate changes only where r passes a value of x. Hidden relations hold these
`steps`, the value `at` each of them, and the step that comes `next`; the rule looks up the last
step that fulfils the comparison. It becomes one rule for each case: there is a next step that does
not fulfil it, there is no next step, the first step does not fulfil it, there are no steps.

Several comparisons, such as `x <= r + 1, x >= -r - 1`, have steps if each compares with r or -r,
plus a constant. Their steps are the values of r from which on one of them changes, and the least
number; the value at a step is that of the aggregate where r is the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from tidelog.plan.alternatives import INVERSE, Alternative, conjunctions
from tidelog.plan.bound_variables import bound_by
from tidelog.plan.conjunction import Parts
from tidelog.plan.core_body import borrow, bound_in
from tidelog.plan.core_program import CoreProgram
from tidelog.plan.lower_body import BodyLowering, Setting
from tidelog.program.builtin_functors import can_fail
from tidelog.program.formula_walk import (
    aggregates,
    all_names,
    everything,
    own_names,
    rebuilt,
    relations_of,
    variables,
)
from tidelog.program.syntax import (
    Aggregate,
    And,
    Atom,
    Call,
    Comparison,
    Constant,
    Formula,
    Kind,
    Not,
    Term,
    Variable,
    Wildcard,
)

# How steps are ordered: which of those ahead is next, and which test holds of what is ahead.
UP = ("min", ">", "<=")
DOWN = ("max", "<", ">=")
ORDER = {"<": UP, "<=": UP, ">": DOWN, ">=": DOWN}
SWAPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

_LEAST = {"number": -(1 << 63), "unsigned": 0}


class _Threshold(NamedTuple):
    """The rest of an aggregate's body, and the steps that its other comparisons make.

    The value at a step holds for each limit for which it is the last with `step op limit`.
    """

    aggregate: Aggregate
    rest: Parts
    steps: tuple[Term, ...]  # over variables of the rest
    op: str
    limit: Term
    tests: Callable[[Variable], Parts]  # the comparisons at a step
    keys: tuple[Variable, ...]  # from outside, and bound by the rest or by `lower`
    lower: Parts  # of the rule around it: nothing of its cycle

    @property
    def kind(self) -> Kind | None:
        return self.steps[0].kind


def with_steps(
    core: CoreProgram, text: str, found: Alternative, recursive: frozenset[str], done: int = 0
) -> list[Alternative]:
    """The alternative, with a look-up of steps for each aggregate that needs one."""
    for aggregate in aggregates(*found.heads, *found.body) if recursive else ():
        threshold = _threshold(aggregate, found, recursive)
        if threshold is not None:
            steps = _Steps(core, text, threshold, f"%step{done}")
            cases = [
                Alternative(
                    tuple(map(steps.without, found.heads)),
                    (*map(steps.without, found.body), *values),
                    found.scope,
                )
                for values in steps.cases()
            ]
            return [
                each for case in cases for each in with_steps(core, text, case, recursive, done + 1)
            ]
    return [found]


def _threshold(
    aggregate: Aggregate, around: Alternative, recursive: frozenset[str]
) -> _Threshold | None:
    """What the aggregate is compared with, if only relations of `recursive` bind that."""
    bodies = conjunctions(aggregate.body)
    if len(bodies) != 1 or relations_of(aggregate.body) & recursive:
        return None
    (body,) = bodies
    scope = around.scope
    missing = (all_names(aggregate) & scope) - bound_by(body, scope)
    lower = [p for p in around.body if not isinstance(p, Atom) or p.relation not in recursive]
    missing -= bound_by(lower, scope)
    lower = [part for part in lower if not any(map(_is_risky, everything(part)))]
    tests = [part for part in body if not missing.isdisjoint(all_names(part))]
    if any(isinstance(n, Call) and can_fail(n.functor) for n in everything(aggregate)):
        return None
    rest = tuple([part for part in body if part not in tests])
    target = [aggregate.target] if aggregate.target else []
    for steps, op, limit, at_step in _steps(tests, missing):
        inside = all_names(*rest, *steps, *target)
        if (
            missing.isdisjoint(inside)
            and all_names(limit) <= scope
            and (inside & scope) <= bound_by((*rest, *lower), scope)
            and not any(map(_is_special, everything(*steps, limit)))
        ):
            known = {v.name: v for v in variables(*rest, *steps) if v.name in scope}
            keys = tuple(known.values())
            return _Threshold(aggregate, rest, steps, op, limit, at_step, keys, tuple(lower))
    return None


_Found = tuple[tuple[Term, ...], str, Term, Callable[[Variable], Parts]]


def _steps(tests: Sequence[Formula], missing: AbstractSet[str]) -> Iterator[_Found]:
    """The steps of these comparisons, what they are compared with, and the tests at a step."""
    if not all(isinstance(test, Comparison) for test in tests):
        return
    sides = [
        side
        for test in tests
        if isinstance(test, Comparison)
        for side in (
            (test.left, test.op, test.right),
            (test.right, SWAPPED.get(test.op, test.op), test.left),
        )
    ]
    if len(tests) == 1:
        for step, op, limit in sides:
            if op in SWAPPED and (op == "=" or step.kind in ("number", "unsigned", "float")):
                yield (step,), op, limit, partial(_passed, step, op)
    if len(missing) == 1:
        lines = [(step, line) for step, _, limit in sides if (line := _line(limit, missing))]
        (variable,) = {v.name: v for v in variables(*tests) if v.name in missing}.values()
        if len(lines) == len(tests) and variable.kind in _LEAST:
            starts = [start for step, line in lines for start in _starts(step, line, variable)]
            least = Constant(_LEAST[variable.kind], variable.kind, variable.at)
            yield (least, *starts), "<=", variable, partial(_replaced, tests, variable.name)


def _passed(step: Term, op: str, at: Variable) -> Parts:
    return (Comparison(ORDER[op][2] if op != "=" else "=", step, at, at.at),)


def _replaced(tests: Sequence[Formula], name: str, at: Variable) -> Parts:
    def change(node: Any) -> Any:
        return at if isinstance(node, Variable) and node.name == name else rebuilt(node, change)

    return tuple(map(change, tests))


def _line(term: Term, names: AbstractSet[str]) -> tuple[int, int] | None:
    """`(s, c)` if the term is `s * v + c`, where s is 1 or -1 and v the only one of the names."""
    match term:
        case Variable(name) if name in names:
            return 1, 0
        case Call("-", (a,)) if line := _line(a, names):
            return -line[0], -line[1]
        case Call("+", (a, Constant(int(value)))) | Call("+", (Constant(int(value)), a)) if (
            line := _line(a, names)
        ):
            return line[0], line[1] + value
        case Call("-", (a, Constant(int(value)))) if line := _line(a, names):
            return line[0], line[1] - value
        case Call("-", (Constant(int(value)), a)) if line := _line(a, names):
            return -line[0], value - line[1]
    return None


def _starts(term: Term, line: tuple[int, int], variable: Variable) -> Iterator[Term]:
    """Where a comparison of the term with the line may change: at, after, and where it wraps."""
    sign, offset = line
    kind, at = variable.kind, variable.at
    least = _LEAST[kind or "number"]

    def number(value: int) -> Constant:
        return Constant((value - least) % (1 << 64) + least, kind, at)

    pair = (term, number(offset)) if sign == 1 else (number(offset), term)
    equal = Call("-", pair, at, kind)
    yield equal
    yield Call("+", (equal, number(1)), at, kind)
    yield number(least - offset if sign == 1 else offset - least + 1)


def _is_risky(node: object) -> bool:
    """Can hidden relations of this rule not have it in their bodies?"""
    return isinstance(node, Aggregate) or (isinstance(node, Call) and can_fail(node.functor))


def _is_special(node: object) -> bool:
    """Is it an aggregate, a range or `_`?"""
    return isinstance(node, Aggregate | Wildcard) or (
        isinstance(node, Call) and node.functor == "range"
    )


class _Steps:
    """The hidden relations of one aggregate, and what replaces it."""

    def __init__(self, core: CoreProgram, text: str, threshold: _Threshold, prefix: str) -> None:
        self.core = core
        self.text = text
        self.of = threshold
        self.at = threshold.aggregate.at
        self.names = (f"{prefix}.{i}" for i in count(1))
        self.result = self.fresh(threshold.aggregate.kind)
        self.limit = self.fresh(threshold.kind)
        step = self.fresh(threshold.kind)
        equal = [Comparison("=", step, each, self.at) for each in threshold.steps]
        self.steps = self.define((step,), *[(*threshold.rest, each) for each in equal])
        so_far = (*threshold.rest, *threshold.tests(step))
        value = self.aggregate(threshold.aggregate.op, threshold.aggregate.target, so_far)
        of_step = (self.read(self.steps, step), Comparison("=", self.result, value, self.at))
        self.values = self.define((step, self.result), of_step)

    def fresh(self, kind: Kind | None) -> Variable:
        """A variable that neither a program nor other parts of the lowering can spell."""
        return Variable(next(self.names), self.at, kind)

    def define(self, columns: Sequence[Variable], *bodies: Parts) -> str:
        """A hidden relation of the keys and these columns."""
        columns = (*self.of.keys, *columns)
        rules = []
        setting = Setting(self.core, self.text, frozenset())
        for body in bodies:
            lowered = BodyLowering(setting, own_names(*columns, *body), body)
            lowered.resolve()
            items = lowered.resolved()
            if missing := own_names(*self.of.keys) - bound_in(items):
                around = BodyLowering(setting, own_names(*self.of.lower), self.of.lower)
                items += borrow(missing, around.resolved(), frozenset(), False)
            rules.append((columns, tuple([item.part for item in items])))
        kinds = tuple([column.kind or "number" for column in columns])
        return self.core.assignments(kinds, rules, self.text, self.at, "%step")

    def read(self, relation: str, *terms: Term) -> Atom:
        return Atom(relation, (*self.of.keys, *terms), self.at)

    def aggregate(self, op: str, target: Term | None, body: Parts) -> Aggregate:
        kind = self.of.aggregate.kind if target is self.of.aggregate.target else target.kind  # type: ignore[union-attr]
        return Aggregate(op, target, And(body), self.at, kind)

    def cases(self) -> Iterator[Parts]:
        """The cases in which the aggregate has its value."""
        op, limit, result, at = self.of.op, self.limit, self.result, self.at
        given = Comparison("=", limit, self.of.limit, at)
        kind = self.of.aggregate.kind
        nothing = Comparison("=", result, Constant(0.0 if kind == "float" else 0, kind, at), at)
        zero = self.of.aggregate.op in ("count", "sum")  # of nothing
        if op == "=":
            yield given, self.read(self.values, limit, result)
            if zero:
                yield given, Not(self.read(self.steps, limit), at), nothing
            return
        step, after = self.fresh(limit.kind), self.fresh(limit.kind)
        gap = Wildcard(at, limit.kind)
        choice, ahead, _ = ORDER[op]
        later = (self.read(self.steps, after), Comparison(ahead, after, step, at))
        first_of_later = Comparison("=", limit, self.aggregate(choice, after, later), at)
        following = self.define((step, limit), (self.read(self.steps, step), first_of_later))
        holds = Comparison(op, step, limit, at)
        fails = Comparison(INVERSE[op], after, limit, at)
        here = (given, self.read(self.values, step, result), holds)
        yield *here, self.read(following, step, after), fails
        yield *here, Not(self.read(following, step, gap), at)
        if zero:
            everything_there = (self.read(self.steps, after),)
            first = Comparison("=", step, self.aggregate(choice, after, everything_there), at)
            firsts = self.define((step,), (self.read(self.steps, gap), first))
            yield given, self.read(firsts, after), fails, nothing
            yield Not(self.read(self.steps, gap), at), nothing

    def without(self, node: Any) -> Any:
        """The node with the variable of the value in place of the aggregate."""
        return self.result if node is self.of.aggregate else rebuilt(node, self.without)
