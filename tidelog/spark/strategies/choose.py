"""Which strategy suits a recursive stratum, and why.

- *components*: the recursive rules are one symmetric-transitive closure.
- *pivot*: every recursive rule keeps an argument, so that the consequences of a fact stay in the
  part that is the home of that argument; or the rules are one transitive closure, which has a
  linear form that does.
- *shuffle*: everything else. Facts travel between parts, round by round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal as Choice

from tidelog.plan.closures import Closure, modules
from tidelog.program.diagnostics import TidelogError, plural
from tidelog.program.rules import Group, Literal, Relation, Rule, Stratum
from tidelog.program.suggestions import suggestion
from tidelog.program.syntax import Variable

Name = Choice["pivot", "components", "shuffle"]
NAMES: tuple[Name, ...] = ("pivot", "components", "shuffle")
BROADCAST = 20_000_000  # facts that may be sent to every executor


@dataclass(frozen=True, slots=True)
class Strategy:
    name: Name
    why: str  # a sentence for `tidelog plan`
    pivots: Mapping[str, int] = field(default_factory=dict)  # relation to column
    closure: Closure | None = None  # the closure that the recursive rules form


@dataclass(frozen=True, slots=True)
class Unfit:
    why: str


def choose(
    stratum: Stratum,
    relations: Mapping[str, Relation],
    forced: str | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
) -> Strategy:
    """The strategy for a stratum, or the requested one. None is chosen that would broadcast too
    much, where the sizes of lower relations are known."""
    if forced is not None:
        return _forced(stratum, relations, forced)
    found = _components(stratum, relations)
    if isinstance(found, Strategy):
        return found
    found = _pivot(stratum, relations)
    if isinstance(found, Unfit):
        return Strategy("shuffle", f"facts travel between parts, because {found.why}")
    large = sum((sizes or {}).get(name, 0) for name in whole(stratum, found))
    if large > BROADCAST:
        return Strategy("shuffle", f"every part would need {plural(large, 'fact')} to keep a pivot")
    return found


def _forced(stratum: Stratum, relations: Mapping[str, Relation], forced: str) -> Strategy:
    if forced == "shuffle":
        return Strategy("shuffle", "requested")
    if forced not in NAMES:
        raise TidelogError(f"error: unknown strategy {forced!r}\n    {suggestion(forced, NAMES)}")
    found = (_pivot if forced == "pivot" else _components)(stratum, relations)
    if isinstance(found, Unfit):
        names = ", ".join(stratum.relations)
        raise TidelogError(
            f"error: the strategy {forced} does not fit {names}: {found.why}\n"
            "    use shuffle, which fits all rules, or leave the choice to Tidelog"
        )
    return found


def _only_closure(stratum: Stratum) -> Closure | None:
    """The closure that the recursive rules form, if they form one."""
    found = modules(stratum) if len(stratum.relations) == 1 else None
    if found is None or found.generic or len(found.closures) != 1:
        return None
    return found.closures[0]


def _components(stratum: Stratum, relations: Mapping[str, Relation]) -> Strategy | Unfit:
    closure = _only_closure(stratum)
    if closure is None or closure.kind != "symmetric-transitive":
        return Unfit("its recursive rules are not a symmetric-transitive closure")
    why = f"{closure.relation} is symmetric and transitive: its facts are connected components"
    return Strategy("components", why, closure=closure)


def _pivot(stratum: Stratum, relations: Mapping[str, Relation]) -> Strategy | Unfit:
    closure = _only_closure(stratum)
    if closure is not None and closure.kind == "transitive":
        column = relations[closure.relation].attributes[0]
        why = f"{closure.relation} is transitive: its linear form keeps column {column}"
        return Strategy("pivot", why, {closure.relation: 0}, closure)
    if not stratum.recursive:
        return Unfit("it has no recursive rules")
    pivots = pivots_of(stratum, relations)
    if pivots is None:
        return Unfit("no column of each relation stays the same through all recursive rules")
    kept = [f"{n}.{relations[n].attributes[c]}" for n, c in pivots.items()]
    shown = ", ".join(kept[:3]) + (" and others" if len(kept) > 3 else "")
    linear = closure if closure is not None and closure.base is not None else None
    return Strategy("pivot", f"all recursive rules keep {shown}", pivots, linear)


def pivots_of(stratum: Stratum, relations: Mapping[str, Relation]) -> dict[str, int] | None:
    """A column for each relation such that a rule's head and all its atoms of the stratum have the
    same variable there; None if there are no such columns.

    >>> from tidelog.plan import analyse
    >>> from tidelog.text import parse
    >>> text = "p(x, y) :- e(x, y). p(x, z) :- p(x, y), e(y, z). e(1, 2)."
    >>> checked = analyse(parse(text).program).checked
    >>> pivots_of(checked.strata[-1], checked.relations)
    {'p': 0}
    """
    inside = frozenset(stratum.relations)
    links = [link for rule in stratum.recursive for link in _links(rule, inside)]
    columns = {name: frozenset(range(relations[name].arity)) for name in stratum.relations}
    return _settled(links, columns)


# Pairs of relations, and which columns of the one match columns of the other.
Link = tuple[str, str, frozenset[tuple[int, int]]]
Columns = dict[str, frozenset[int]]


def _links(rule: Rule, inside: frozenset[str]) -> Iterator[Link]:
    for atom in rule.literals():
        if atom.relation in inside:
            yield (
                rule.head.relation,
                atom.relation,
                frozenset(
                    (h, b)
                    for h, kept in enumerate(rule.head.terms)
                    for b, term in enumerate(atom.terms)
                    if isinstance(kept, Variable) and kept == term
                ),
            )


def _settled(links: list[Link], columns: Columns) -> dict[str, int] | None:
    """Drop columns that the links rule out, then try the columns of a relation that has several."""
    columns = _narrowed(links, columns)
    if not all(columns.values()):
        return None
    open_ = next((name for name, few in columns.items() if len(few) > 1), None)
    if open_ is None:
        return {name: min(few) for name, few in columns.items()}
    for column in sorted(columns[open_]):
        found = _settled(links, {**columns, open_: frozenset({column})})
        if found is not None:
            return found
    return None


def _narrowed(links: list[Link], columns: Columns) -> Columns:
    columns = dict(columns)
    N = set(columns)  # relations that have lost columns
    while N:
        before = dict(columns)
        for head, body, pairs in links:
            if head in N or body in N:
                both = [(h, b) for h, b in pairs if h in columns[head] and b in columns[body]]
                columns[head] &= {h for h, b in both if head != body or h == b}
                columns[body] &= {b for h, b in both if head != body or h == b}
        N = {name for name, few in columns.items() if few != before[name]}
    return columns


# What a pivot strategy needs of lower relations.


def apart(stratum: Stratum, strategy: Strategy) -> dict[str, int]:
    """Lower relations that can be divided like the stratum, each with the dividing column: every
    rule that reads the relation has the head's pivot in it."""
    inside = frozenset(stratum.relations)
    if strategy.closure is not None and strategy.closure.kind == "transitive":
        return {}
    columns: dict[str, set[int]] = {}
    for rule in stratum.rules:
        kept = rule.head.terms[strategy.pivots[rule.head.relation]]
        for part in rule.body:
            if isinstance(part, Literal | Group) and part.relation not in inside:
                same = isinstance(kept, Variable)
                found = {c for c, term in enumerate(part.terms) if same and term == kept}
                columns.setdefault(part.relation, found).intersection_update(found)
    return {name: min(found) for name, found in columns.items() if found}


def whole(stratum: Stratum, strategy: Strategy) -> list[str]:
    """Lower relations that every part needs in full."""
    divided = apart(stratum, strategy)
    read = {name: None for rule in stratum.rules for name, _ in rule.reads()}
    return [name for name in read if name not in stratum.relations and name not in divided]
