"""Queries of closures with one end bound: a search from there, step by step.

Magic sets make of `path(x, z) :- path(x, y), path(y, z).` and of a linear rule that grows at the
bound end a path from every node on the way. The forms here go on from the bound end only, so that
the work is that of a search (Naughton, Ramakrishnan, Sagiv and Ullman 1989 for linear rules):

- transitive, R is S⁺: `R(x, y) :- S(x, y).` with `R(x, z) :- R(x, y), S(y, z).` where the first
  column is bound, and the mirror image where the second is. S is what the other rules derive.
- symmetric-transitive: the same, over S either way round.
- right-linear with the first column bound, R is B* ∘ X: from the bound value along B, then X.
  Left-linear with the second column bound likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tidelog.plan.closures import Closure, copies, modules
from tidelog.program.rules import Literal, Relation, Rule, Stratum
from tidelog.program.syntax import Variable

GIVEN = "%given:"  # before a relation's name: its explicit facts
Pair = Callable[[Variable, Variable], Literal]


@dataclass(frozen=True, slots=True)
class BoundClosure:
    """Rules for a closure with one end bound, and those of the relations that they need."""

    rules: tuple[Rule, ...]
    parts: tuple[tuple[Relation, tuple[Rule, ...]], ...] = ()


def is_closure(relation: str, stratum: Stratum) -> bool:
    return any(closure.relation == relation for closure in modules(stratum).closures)


def reach(
    relation: Relation, forward: bool, stratum: Stratum, has_facts: bool
) -> BoundClosure | None:
    """How to find the facts of a closure from a value of its first column, or backward from one
    of its second; None if its own rules do that."""
    closures = [c for c in modules(stratum).closures if c.relation == relation.name]
    rules = [rule for rule in stratum.rules if rule.head.relation == relation.name]
    if not closures:
        return None
    found = _reach(relation, closures, rules, forward, has_facts)
    return found and _told(found, closures[0].rules[0])


def _told(found: BoundClosure, written: Rule) -> BoundClosure:
    """The rules, with the text of the rule that the user wrote."""

    def with_text(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        return tuple(r if r.text else replace(r, text=written.text, at=written.at) for r in rules)

    parts = tuple((relation, with_text(rules)) for relation, rules in found.parts)
    return BoundClosure(with_text(found.rules), parts)


def _reach(
    relation: Relation,
    closures: Sequence[Closure],
    rules: Sequence[Rule],
    forward: bool,
    has_facts: bool,
) -> BoundClosure | None:
    if closures[0].base is None:
        return _square(relation, closures[0], rules, forward, has_facts)
    other = _others(rules, closures)
    bases = {(closure.base, closure.swapped) for closure in closures}
    if len(bases) == 1 and not has_facts:
        base, swapped = bases.pop()
        if base is not None and other and copies(other, base, swapped):
            return BoundClosure(_along(relation, _read(base, swapped), forward))
    side = "right-linear" if forward else "left-linear"
    growing = [closure for closure in closures if closure.kind == side]
    return _star(relation, growing, rules, forward, has_facts) if growing else None


def _square(
    relation: Relation, closure: Closure, rules: Sequence[Rule], forward: bool, has_facts: bool
) -> BoundClosure:
    other = _others(rules, [closure])
    step, part = _rest(relation, other, has_facts)
    if closure.kind == "transitive":
        return BoundClosure(_along(relation, step, forward), part)
    either = replace(relation, name=f"%either:{relation.name}", qualifiers=frozenset())
    x, y, _ = _variables(relation)
    both = (
        _rule(_pair(either.name)(x, y), step(x, y)),
        _rule(_pair(either.name)(y, x), step(x, y)),
    )
    return BoundClosure(_along(relation, _pair(either.name), forward), (*part, (either, both)))


def _star(
    relation: Relation,
    growing: Sequence[Closure],
    rules: Sequence[Rule],
    forward: bool,
    facts: bool,
) -> BoundClosure:
    """B* from the bound end, then what the other rules derive."""
    rest, part = _rest(relation, _others(rules, growing), facts)
    kind = relation.kinds[0 if forward else 1]
    x, y, z = (Variable(name, relation.at, kind) for name in "xyz")
    star = Relation(
        f"%{'from' if forward else 'to'}:{relation.name}", ("x", "y"), (kind, kind), at=relation.at
    )
    path = _pair(star.name)
    rows = [_rule(path(x, x))]
    for closure in growing:
        assert closure.base is not None
        step = _read(closure.base, closure.swapped)
        body = (path(x, y), step(y, z)) if forward else (step(x, y), path(y, z))
        rows.append(_rule(path(x, z), *body))
    first, last = (Variable(n, relation.at, k) for n, k in zip("xz", relation.kinds, strict=True))
    body = (path(first, y), rest(y, last)) if forward else (rest(first, y), path(y, last))
    rule = _rule(_pair(relation.name)(first, last), *body)
    return BoundClosure((rule,), (*part, (star, tuple(rows))))


def _along(relation: Relation, step: Pair, forward: bool) -> tuple[Rule, ...]:
    x, y, z = _variables(relation)
    own = _pair(relation.name)
    body = (own(x, y), step(y, z)) if forward else (step(x, y), own(y, z))
    return _rule(own(x, y), step(x, y)), _rule(own(x, z), *body)


def _rest(
    relation: Relation, rules: Sequence[Rule], has_facts: bool
) -> tuple[Pair, tuple[tuple[Relation, tuple[Rule, ...]], ...]]:
    """What the rules derive, with the relation's facts: a relation of its own, unless the rules
    only copy another one."""
    if not rules:
        return _pair(GIVEN + relation.name), ()
    if len(rules) == 1 and not has_facts:
        (only,) = rules[0].body if len(rules[0].body) == 1 else (None,)
        if isinstance(only, Literal) and only.relation != relation.name:
            for swapped in (False, True):
                if copies(rules, only.relation, swapped):
                    return _read(only.relation, swapped), ()
    rest = replace(relation, name=f"%step:{relation.name}", qualifiers=frozenset())
    made = [replace(rule, head=replace(rule.head, relation=rest.name)) for rule in rules]
    if has_facts:
        x, y = (Variable(n, relation.at, k) for n, k in zip("xy", relation.kinds, strict=True))
        made.append(_rule(_pair(rest.name)(x, y), _pair(GIVEN + relation.name)(x, y)))
    return _pair(rest.name), ((rest, tuple(made)),)


def _others(rules: Sequence[Rule], closures: Sequence[Closure]) -> list[Rule]:
    taken = {id(rule) for closure in closures for rule in closure.rules}
    return [rule for rule in rules if id(rule) not in taken]


def _variables(relation: Relation) -> tuple[Variable, Variable, Variable]:
    x, y, z = (Variable(name, relation.at, relation.kinds[0]) for name in "xyz")
    return x, y, z


def _pair(name: str) -> Pair:
    return lambda one, other: Literal(name, (one, other))


def _read(base: str, swapped: bool) -> Pair:
    if swapped:
        return lambda one, other: Literal(base, (other, one))
    return _pair(base)


def _rule(head: Literal, *body: Literal) -> Rule:
    return Rule(head, body)
