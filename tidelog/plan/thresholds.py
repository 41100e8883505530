"""Aggregates over lower relations, compared with a value that only the rule's own cycle has.

In `out(r + 1, z) :- out(r, _), z = count : { point(x), x <= r }.` the hidden relation of the
aggregate's assignments would take r from `out`, and close a cycle that the program does not have.
The value of the aggregate changes only where r passes a value of x. Hidden relations hold these
`steps`, the value `at` each of them, and the step that comes `next`; the rule looks up the last
step that fulfils the comparison. It becomes one rule for each case: there is a next step that does
not fulfil it, there is no next step, the first step does not fulfil it, there are no steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

from tidelog.plan.alternatives import INVERSE, Alternative, conjunctions
from tidelog.plan.bound_variables import bound_by
from tidelog.plan.conjunction import Parts
from tidelog.plan.core_body import borrow, bound_in
from tidelog.plan.core_program import Core
from tidelog.plan.lower_body import Body, Setting
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


class _Threshold(NamedTuple):
    """`step op limit` is a part of the aggregate's body, beside the `rest`."""

    aggregate: Aggregate
    rest: Parts
    step: Term
    op: str
    limit: Term
    keys: tuple[Variable, ...]  # from outside, and bound by the rest or by `lower`
    lower: Parts  # of the rule around it: nothing of its cycle


def with_steps(
    core: Core, text: str, found: Alternative, recursive: frozenset[str], done: int = 0
) -> list[Alternative]:
    """The alternative, with a look-up of steps for each aggregate that needs one."""
    for aggregate in aggregates(*found.heads, *found.body) if recursive else ():
        threshold = _threshold(aggregate, found, recursive)
        if threshold is not None:
            steps = _Steps(core, text, threshold, f"%step{done}")
            ways = [
                Alternative(
                    tuple(map(steps.without, found.heads)),
                    (*map(steps.without, found.body), *case),
                    found.scope,
                )
                for case in steps.cases()
            ]
            return [
                each for way in ways for each in with_steps(core, text, way, recursive, done + 1)
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
    test = tests[0] if len(tests) == 1 else None
    if not isinstance(test, Comparison):
        return None
    rest = tuple([part for part in body if part is not test])
    for step, op, limit in (
        (test.left, test.op, test.right),
        (test.right, SWAPPED.get(test.op, test.op), test.left),
    ):
        inside = all_names(*rest, step, *([aggregate.target] if aggregate.target else []))
        if (
            op in SWAPPED
            and missing.isdisjoint(inside)
            and all_names(limit) <= scope
            and (inside & scope) <= bound_by((*rest, *lower), scope)
            and (op == "=" or step.kind in ("number", "unsigned", "float"))
            and not any(map(_is_special, everything(step, limit)))
            and not any(isinstance(n, Call) and can_fail(n.functor) for n in everything(aggregate))
        ):
            keys = {v.name: v for v in variables(*rest, step) if v.name in scope}.values()
            return _Threshold(aggregate, rest, step, op, limit, tuple(keys), tuple(lower))
    return None


def _is_risky(node: object) -> bool:
    """Can hidden relations of this rule not have it in their bodies?"""
    return isinstance(node, Aggregate) or (isinstance(node, Call) and can_fail(node.functor))


def _is_special(node: object) -> bool:
    """Does it have several values, or one of its own?"""
    return isinstance(node, Aggregate | Wildcard) or (
        isinstance(node, Call) and node.functor == "range"
    )


class _Steps:
    """The hidden relations of one aggregate, and what replaces it."""

    def __init__(self, core: Core, text: str, threshold: _Threshold, prefix: str) -> None:
        self.core = core
        self.text = text
        self.of = threshold
        self.at = threshold.aggregate.at
        self.names = (f"{prefix}.{i}" for i in count(1))
        self.result = self.fresh(threshold.aggregate.kind)
        self.limit = self.fresh(threshold.step.kind)
        step = self.fresh(threshold.step.kind)
        equal = Comparison("=", step, threshold.step, self.at)
        self.steps = self.define((step,), (*threshold.rest, equal))
        passed = ORDER[threshold.op][2] if threshold.op != "=" else "="
        so_far = (*threshold.rest, Comparison(passed, threshold.step, step, self.at))
        value = self.aggregate(threshold.aggregate.op, threshold.aggregate.target, so_far)
        of_step = (self.read(self.steps, step), Comparison("=", self.result, value, self.at))
        self.values = self.define((step, self.result), of_step)

    def fresh(self, kind: Kind | None) -> Variable:
        """A variable that neither a program nor other parts of the lowering can spell."""
        return Variable(next(self.names), self.at, kind)

    def define(self, columns: Sequence[Variable], body: Parts) -> str:
        """A hidden relation of the keys and these columns."""
        columns = (*self.of.keys, *columns)
        setting = Setting(self.core, self.text, frozenset())
        lowered = Body(setting, own_names(*columns, *body), body)
        lowered.resolve()
        items = lowered.resolved()
        if missing := own_names(*self.of.keys) - bound_in(items):
            around = Body(setting, own_names(*self.of.lower), self.of.lower)
            items += borrow(missing, around.resolved(), frozenset(), False)
        kinds = tuple([column.kind or "number" for column in columns])
        rules = [(columns, tuple([item.part for item in items]))]
        return self.core.assignments(kinds, rules, self.text, self.at, "%step")

    def read(self, relation: str, *terms: Term) -> Atom:
        return Atom(relation, (*self.of.keys, *terms), self.at)

    def aggregate(self, op: str, target: Term | None, body: Parts) -> Aggregate:
        kind = self.of.aggregate.kind if target is self.of.aggregate.target else target.kind  # type: ignore[union-attr]
        return Aggregate(op, target, And(body), self.at, kind)

    def cases(self) -> Iterator[Parts]:
        """The ways in which the aggregate has its value."""
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
