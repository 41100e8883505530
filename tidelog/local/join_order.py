"""The order in which a plan evaluates a rule's parts.

Filters run as soon as they can; the next literal is the one expected to match fewest
facts for the columns that are bound. Expressions that can fail (a division, a string
that should be a number) wait until everything that could rule them out has had its say.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.local.body import (
    Catalog,
    Outside,
    Part,
    Prepared,
    Use,
    binds,
    may_fail,
    mentions,
    needs,
    occurrences,
    takes_apart,
)
from tidelog.program.rules import Constraint, Group, Literal, Range
from tidelog.program.syntax import Constant, Variable


def order_parts(
    catalog: Catalog, prepared: Prepared, use: Use, start: int | None
) -> tuple[float, list[int]]:
    """A greedy order of the parts with its estimated cost."""
    parts = prepared.parts
    everywhere = occurrences(prepared)
    bound: set[str] = set()
    if use.of_heads:
        bound |= {t.name for t in prepared.rule.head.terms if isinstance(t, Variable)}
    left = set(range(len(parts)))
    order: list[int] = []
    cost, matches = 0.0, 1.0

    def take(i: int) -> None:
        left.discard(i)
        order.append(i)
        part = parts[i]
        if isinstance(part, Group):
            bound.add(part.result.name)
        else:
            bound.update(mentions(part))

    if start is not None:
        literal = parts[start]
        assert isinstance(literal, Literal)
        size = 1.0 if use.follows else _fanout(catalog, literal, bound)
        matches *= max(size, 0.1)
        cost += matches
        take(start)
    while left:
        ready = next((i for i in sorted(left) if _filters(parts[i], bound, everywhere)), None)
        if ready is not None:
            take(ready)
            continue
        choice: tuple[float, int] | None = None
        for i in sorted(left):
            part = parts[i]
            if isinstance(part, Literal) and not part.negated:
                fanout = _fanout(catalog, part, bound)
                if bound and not (mentions(part) & bound):
                    fanout *= 4.0  # a cross product is the last resort among equals
                if choice is None or fanout < choice[0]:
                    choice = (fanout, i)
        others = [i for i in left if not isinstance(parts[i], Literal)]
        waiting = [i for i in others if _can_run(parts[i], bound, everywhere)]
        late = min(waiting, key=lambda i: (may_fail(parts[i]), i), default=None)
        if choice is not None and not _helps(parts, late, parts[choice[1]], bound):
            matches *= max(choice[0], 0.1)
            cost += matches
            take(choice[1])
        else:
            assert late is not None, f"no order for {prepared.rule.text}"
            take(late)
    return cost, order


def _helps(parts: Sequence[Part], late: int | None, choice: Part, bound: set[str]) -> bool:
    """Would the waiting part bind a column of a literal that is a cross product without it?"""
    if late is None or not bound or mentions(choice) & bound:
        return False
    return bool((mentions(parts[late]) - bound) & mentions(choice))


def _filters(part: Part, bound: set[str], everywhere: dict[str, int]) -> bool:
    """Can the part run now, without multiplying matches and without a chance to fail?"""
    if isinstance(part, Literal):
        return mentions(part) <= bound
    waits = isinstance(part, Outside | Range) or may_fail(part)
    return not waits and _can_run(part, bound, everywhere)


def _can_run(part: Part, bound: set[str], everywhere: dict[str, int]) -> bool:
    """Can the part run now? If it does not filter, it is a functor or a range."""
    if isinstance(part, Group):
        keys = {t.name for t in part.terms if isinstance(t, Variable) and everywhere[t.name] > 1}
        return keys <= bound
    if needs(part) <= bound:
        return True
    return isinstance(part, Constraint) and bool(binds(part, bound) or takes_apart(part, bound))


def _fanout(catalog: Catalog, literal: Literal, bound: set[str]) -> float:
    """Facts expected to match, given what is bound."""
    r = catalog.number(literal)
    key = tuple(
        i
        for i, t in enumerate(literal.terms)
        if isinstance(t, Constant) or (isinstance(t, Variable) and t.name in bound)
    )
    if not key:
        return float(catalog.store.size(r))
    return 0.5 if len(key) == len(literal.terms) else catalog.fanout(r, key)
