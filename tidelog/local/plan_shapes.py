"""Plans of rules that are alike: made once, and then copied with the other relations in them.

Programs of an ontology have a thousand rules of a dozen shapes, and a small update needs plans for
many of them that it has never needed before. A rule whose body has only positive literals is
its shape and its relations; a plan that is made for the shape names relations and indexes by
numbers of its own, and taking it over is a matter of putting in theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tidelog.local.body import Prepared, Shape
from tidelog.local.join_order import Catalog, Mode
from tidelog.local.kernels import layout as at
from tidelog.local.plan_steps import Plan
from tidelog.program.rules import Literal

MOST = 4096  # templates; the rules of few programs have as many shapes
Build = Callable[[Catalog, Prepared, frozenset[str] | None], Plan]


@dataclass(frozen=True, slots=True)
class _Template:
    """A plan whose relations and indexes are numbers of its own."""

    plan: Plan
    indexes: list[tuple[int, tuple[int, ...]]]  # relation and columns of each
    relation_at: list[tuple[int, int, int]]  # row and column of the steps, and the number there
    index_at: list[tuple[int, int, int]]


class Shapes:
    """Templates by shape, and by what was asked of it."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._templates: dict[tuple[object, ...], _Template] = {}

    def plan(
        self,
        prepared: Prepared,
        shape: Shape,
        asked: tuple[Mode, int, bool, tuple[int, ...]],
        among: frozenset[str] | None,
        build: Build,
    ) -> Plan:
        """What `build` would make of the rule; `asked` says all that it does besides."""
        inside = None
        if among is not None:
            inside = frozenset(
                _mark(i) for i, (name, _) in enumerate(shape.relations) if name in among
            )
        key = (shape.key, asked, inside)
        template = self._templates.get(key)
        if template is None:
            if len(self._templates) > MOST:
                self._templates.clear()
            template = _template(self._catalog, prepared, shape, inside, build)
            self._templates[key] = template
        return _filled(template, self._catalog, prepared, shape)


def _mark(number: int) -> str:
    """A relation's name in a template; in none that a program has is there such a character."""
    return f"\0{number}\0"


def _template(
    catalog: Catalog,
    prepared: Prepared,
    shape: Shape,
    inside: frozenset[str] | None,
    build: Build,
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
    plan = build(about, replace(prepared, rule=rule, parts=parts), inside)
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


def _filled(template: _Template, catalog: Catalog, prepared: Prepared, shape: Shape) -> Plan:
    """The template's plan with the relations of this rule."""
    numbers = [catalog.relation(name, arity) for name, arity in shape.relations]
    indexes = [catalog.index(numbers[r], columns) for r, columns in template.indexes]
    plan = template.plan
    steps = plan.steps.copy()
    for row, column, number in template.relation_at:
        steps[row, column] = numbers[number]
    for row, column, number in template.index_at:
        steps[row, column] = indexes[number]
    return Plan(
        prepared.rule,
        steps,
        plan.args,
        plan.registers,
        plan.stack,
        tuple(indexes[x] for x in plan.indexes),
        tuple(numbers[r] for r in plan.reads),
        _named(plan.text, shape),
        plan.symbols_ordered,
    )


def _named(text: str, shape: Shape) -> str:
    for number, (name, _) in enumerate(shape.relations):
        text = text.replace(_mark(number), name)
    return text
