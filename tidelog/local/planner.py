"""From a rule to a plan that the join kernel runs.

Which literal comes first is given (the one that ranges over the delta, or the heads to
prove) or chosen by cost; `order` decides on the others, `steps` writes them down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter

from tidelog.local.body import (
    Catalog,
    Outside,
    Prepared,
    RuleShape,
    Use,
    binds,
    may_fail,
    mentions,
    takes_apart,
)
from tidelog.local.join_order import order_parts
from tidelog.local.kernels import layout as at
from tidelog.local.plan_steps import Builder, Request, RulePlan
from tidelog.program.rules import Group, Literal, Range
from tidelog.program.syntax import Variable

NO_BACK = -(1 << 40)  # stays negative when plans are put together
MOST_TEMPLATES = 4096  # templates; the rules of few programs have as many shapes
Build = Callable[[Catalog, Prepared, Use], RulePlan]


def make_plan(
    catalog: Catalog, prepared: Prepared, use: Use, shapes: Shapes | None = None
) -> RulePlan:
    """The plan of a rule. Plans of rules that are alike are taken from `shapes`."""
    prepared = prepared.around(use.delta)
    order = _order(catalog, prepared, use)
    if shapes is None or prepared.shape is None:
        return _build(catalog, prepared, use, order)

    def build(catalog: Catalog, prepared: Prepared, use: Use) -> RulePlan:
        return _build(catalog, prepared, use, order)

    return shapes.plan(prepared, prepared.shape, use, tuple(order), build)


def _order(catalog: Catalog, prepared: Prepared, use: Use) -> list[int]:
    """The cheapest order of parts found from any start."""
    parts, delta = prepared.parts, use.delta
    if prepared.shape is not None and len(parts) == 1:
        return [0]
    if prepared.shape is not None and len(parts) == 2 and delta >= 0:
        return [delta, 1 - delta]
    starts: list[int | None] = [delta]
    if not use.follows:
        starts = [i for i, p in enumerate(parts) if isinstance(p, Literal) and not p.negated]
        if use.of_heads or not 0 < len(starts) <= 8:
            starts = [None]
    orders = (order_parts(catalog, prepared, use, start) for start in starts)
    return min(orders, key=itemgetter(0))[1]


def _build(catalog: Catalog, prepared: Prepared, use: Use, order: list[int]) -> RulePlan:
    requests: list[Request] = []
    for place, i in enumerate(order):
        part = prepared.parts[i]
        if isinstance(part, Outside):
            head = Literal(part.requests, part.args)
            asking = use._replace(exact=False, among=None)
            builder = _steps(catalog, prepared, asking, order[:place], head)
            builder.emit(head)
            requests.append(Request(part, builder.finish()))
    head = prepared.rule.head
    builder = _steps(catalog, prepared, use, order, head)
    if use.mode == "prove":
        builder.step(at.OP_PROVE, rel=catalog.number(head), a=builder.where["%%row"])
    elif use.mode in ("support", "search"):
        _support_steps(builder, prepared, use)
    else:
        builder.emit(head)
    return builder.finish(requests)


def _support_steps(builder: Builder, prepared: Prepared, use: Use) -> None:
    literals = supporting(prepared, use.among)
    if use.mode == "search":
        builder.step(at.OP_FOUND, nkey=len(literals))
    for place, literal in enumerate(literals):
        row = builder.fact(at.OP_SUPPORT, literal)
        if place < len(literals) - 1:
            row[at.P_BACK] = NO_BACK


def supporting(prepared: Prepared, among: frozenset[str] | None) -> list[Literal]:
    """The literals whose facts are support."""
    return [
        part
        for part in prepared.parts
        if isinstance(part, Literal)
        and not part.negated
        and (among is None or part.relation in among)
    ]


def _steps(
    catalog: Catalog, prepared: Prepared, use: Use, order: list[int], target: Literal
) -> Builder:
    """Steps for the parts in this order, ready for the last one."""
    builder, delta, exact = Builder(catalog, prepared.rule), use.delta, use.exact
    if use.of_heads:
        row = builder.register()
        builder.where["%%row"] = row
        head = prepared.rule.head
        wanted = {t.name for t in head.terms if isinstance(t, Variable)}
        builder.match(head, at.ROLE_HEADS, wanted, True)
        builder.steps[-1][at.P_B] = row
        builder.keep_open()
    later: list[set[str]] = []
    needed = {t.name for t in target.terms if isinstance(t, Variable)}
    for i in reversed(order):
        later.append(set(needed))
        needed |= mentions(prepared.parts[i])
    later.reverse()
    # A fact that supports a head must be found again by all its columns.
    if use.mode in ("support", "search"):
        later = [set().union(*map(mentions, prepared.parts)) for _ in order]
    aged = supporting(prepared, use.among) if use.mode == "prove" and use.among else []
    for literal in aged:
        later = [names | mentions(literal) for names in later]
    for place, i in enumerate(order):
        part = prepared.parts[i]
        if may_fail(part) or isinstance(part, Outside):
            builder.keep_open()  # whether it fails must not depend on which match came first
        if isinstance(part, Literal) and i == delta:
            role = at.ROLE_NEG_DELTA if part.negated else at.ROLE_DELTA
            builder.match(part, role, later[place], exact)
        elif isinstance(part, Literal) and part.negated:
            before = use.mode == "change" and i < delta
            builder.negate(part, at.ROLE_NEG_OLD if before else at.ROLE_NEG)
        elif isinstance(part, Literal):
            builder.match(part, at.ROLE_OLD if i < delta else at.ROLE_ALL, later[place], exact)
            if part in aged:
                builder.older(part, prepared.rule.head)
        elif isinstance(part, Outside):
            builder.match(part.literal, at.ROLE_ALL, later[place], True)
        elif isinstance(part, Group):
            builder.group(part)
        elif isinstance(part, Range):
            builder.span(part)
        elif (found := takes_apart(part, set(builder.where))) is not None:
            builder.take(*found, needed=later[place])
        else:
            variable = binds(part, set(builder.where))
            if variable is None:
                builder.test(part.op, part.left, part.right)
            else:
                other = part.right if variable == part.left else part.left
                builder.compute(variable, other)
        if not exact:
            builder.close(later[place])
    return builder


@dataclass(frozen=True, slots=True)
class _Template:
    """A plan that numbers its relations and indexes itself."""

    plan: RulePlan
    indexes: list[tuple[int, tuple[int, ...]]]  # relation and columns of each
    relation_at: list[tuple[int, int, int]]  # row and column of the steps, and the number there
    index_at: list[tuple[int, int, int]]


class Shapes:
    """Plans of rules that are alike: made once, and then copied with the other relations in them.

    Programs of an ontology have a thousand rules of a dozen shapes, and a small update needs plans
    for many of them that it has never needed before. A rule whose body has only positive literals
    is its shape and its relations; a plan that is made for the shape names relations and indexes by
    numbers of its own, and taking it over is a matter of putting in theirs.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._templates: dict[tuple[object, ...], _Template] = {}

    def plan(
        self, prepared: Prepared, shape: RuleShape, use: Use, order: tuple[int, ...], build: Build
    ) -> RulePlan:
        """What `build` would make of the rule, with its parts in this order."""
        if (among := use.among) is not None:
            marks = (_mark(i) for i, (name, _) in enumerate(shape.relations) if name in among)
            use = use._replace(among=frozenset(marks))
        key = (shape.key, use, order)
        template = self._templates.get(key)
        if template is None:
            if len(self._templates) > MOST_TEMPLATES:
                self._templates.clear()
            template = _template(self._catalog, prepared, shape, use, build)
            self._templates[key] = template
        return _filled(template, self._catalog, prepared, shape)


def _mark(number: int) -> str:
    """A relation's name in a template; in none that a program has is there such a character."""
    return f"\0{number}\0"


def _template(
    catalog: Catalog, prepared: Prepared, shape: RuleShape, use: Use, build: Build
) -> _Template:
    marks = {about: _mark(i) for i, about in enumerate(shape.relations)}
    numbers = {mark: i for i, mark in enumerate(marks.values())}
    indexes: list[tuple[int, tuple[int, ...]]] = []

    def marked(literal: Literal) -> Literal:
        return replace(literal, relation=marks[literal.relation, len(literal.terms)])

    def index(r: int, columns: tuple[int, ...]) -> int:
        if (r, columns) not in indexes:
            indexes.append((r, columns))
        return indexes.index((r, columns))

    rule = replace(prepared.rule, head=marked(prepared.rule.head))
    parts = tuple(marked(part) for part in prepared.parts if isinstance(part, Literal))
    about = replace(catalog, relation=lambda name, _: numbers[name], index=index)
    plan = build(about, replace(prepared, rule=rule, parts=parts), use)
    template = _Template(plan, indexes, [], [])
    for row, step in enumerate(plan.steps.tolist()):
        template.relation_at.append((row, at.P_REL, step[at.P_REL]))
        if step[at.P_OP] == at.OP_LOOKUP:
            template.index_at.append((row, at.P_IDX, step[at.P_IDX]))
        elif step[at.P_OP] == at.OP_OLDER:
            template.relation_at.append((row, at.P_B, step[at.P_B]))
        if step[at.P_PRE] == at.PRE_INDEX:
            template.index_at.append((row, at.P_PRE_ID, step[at.P_PRE_ID]))
        elif step[at.P_PRE] == at.PRE_MEMBER:
            template.relation_at.append((row, at.P_PRE_ID, step[at.P_PRE_ID]))
    return template


def _filled(
    template: _Template, catalog: Catalog, prepared: Prepared, shape: RuleShape
) -> RulePlan:
    """The template's plan with the relations of this rule."""
    numbers = [catalog.relation(name, arity) for name, arity in shape.relations]
    indexes = [catalog.index(numbers[r], columns) for r, columns in template.indexes]
    steps = template.plan.steps.copy()
    for row, column, number in template.relation_at:
        steps[row, column] = numbers[number]
    for row, column, number in template.index_at:
        steps[row, column] = indexes[number]
    return replace(
        template.plan,
        rule=prepared.rule,
        steps=steps,
        indexes=tuple(indexes[x] for x in template.plan.indexes),
        text=_named(template.plan.text, shape),
    )


def _named(text: str, shape: RuleShape) -> str:
    for number, (name, _) in enumerate(shape.relations):
        text = text.replace(_mark(number), name)
    return text
