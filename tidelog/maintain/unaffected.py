"""Instances that no lower change meets, where rules have aggregates.

A negated literal of such an instance reads a fact outside I | D, which was absent before and is
absent now. An aggregate has no view in which it is the same before and now, but over a group that
no change touches it is the same in all of them. So a rule gets a negated literal over the keys of
the groups that are touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from tidelog.engine import View
from tidelog.maintain.update import Update
from tidelog.program.formula_walk import names_of
from tidelog.program.rules import Group, Literal, Relation, Rule, Stratum
from tidelog.program.syntax import Variable


def unaffected(u: Update, stratum: Stratum, rules: tuple[Rule, ...]) -> tuple[Sequence[Rule], View]:
    """The rules, and the view that is their `negative`, for instances that neither D nor A
    meets; their positive literals are read in I - A."""
    grouped = u.memory.known(stratum).grouped
    changed = {*u.engine.relations(u.D), *u.engine.relations(u.A)} if grouped else set()
    if grouped.isdisjoint(changed):
        return rules, u.I | u.D
    keys: dict[str, Rule] = {}
    narrowed = []
    for rule in rules:
        mine = [_keys(rule, group) for group in _groups(rule) if group.relation in changed]
        keys.update((each.head.relation, each) for each in mine)
        narrowed.append(_without(rule, tuple(each.head for each in mine)) if mine else rule)
    for each in keys.values():
        u.engine.declare(_relation(each.head))
    touched = u.engine.apply(tuple(keys.values()), within=u.D | u.A)
    return narrowed, u.I | u.D | touched


def _groups(rule: Rule) -> Iterator[Group]:
    return (part for part in rule.body if isinstance(part, Group))


@lru_cache(maxsize=1024)
def _without(rule: Rule, keys: tuple[Literal, ...]) -> Rule:
    return replace(rule, body=(*rule.body, *(replace(key, negated=True) for key in keys)))


@lru_cache(maxsize=1024)
def _keys(rule: Rule, group: Group) -> Rule:
    """From facts of the aggregate's relation to the keys of their groups."""
    others = (rule.head, *(part for part in rule.body if part is not group))
    outside = {name for part in others for name in names_of(part)}
    keys = dict.fromkeys(
        term for term in group.terms if isinstance(term, Variable) and term.name in outside
    )
    name = f"%touched:{group.relation}{group.terms}:{tuple(keys)}"
    body = Literal(group.relation, group.terms)
    return Rule(Literal(name, tuple(keys)), (body,), f"keys of {group.relation}")


def _relation(head: Literal) -> Relation:
    keys = [term for term in head.terms if isinstance(term, Variable)]
    kinds = tuple(key.kind for key in keys if key.kind is not None)
    return Relation(head.relation, tuple(key.name for key in keys), kinds)
