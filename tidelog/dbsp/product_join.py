"""How rewrites and facts meet: the product's join, from either side.

Words of a pattern are those of `grounding_kit`: HELD by the rewrite, FIXED, or FOUND in the fact.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.dbsp.grounding import (
    FIXED,
    FOUND,
    HELD,
    Folded,
    Product,
    Stage,
    Where,
    Without,
    Word,
    key_of,
)
from tidelog.dbsp.kernels.zset_joins import IS_FIXED, IS_GIVEN, IS_SAME
from tidelog.dbsp.trace import Batch, Match


def matches(
    stage: Stage, indexed: bool
) -> tuple[tuple[tuple[Match, int], ...], tuple[tuple[Match, int], ...]]:
    """How rewrites meet facts, and facts rewrites; each with a sign."""
    step = stage.step
    assert not isinstance(step, Where)
    result = stage.result
    if isinstance(step, Product):
        return (
            ((_forward(step.pattern, result, indexed), 1),),
            ((_backward(step.pattern, result, indexed), 1),),
        )
    if isinstance(step, Without):
        return (
            ((_forward(step.pattern, result, indexed), -1),),
            ((_backward(step.pattern, result, indexed), -1),),
        )
    forward = [(_forward(step.pattern, result, True), 1)]
    backward = [(_backward(step.pattern, result, True), 1)]
    if step.fold.has_default:
        # A group that has facts has no default value.
        keys = (*step.pattern[:-1], (-1, 0))
        tests, fixed = _default(step, result)
        forward.append((_forward(keys, fixed, True, tests), -1))
        backward.append((_backward(keys, fixed, True, tests), -1))
    return tuple(forward), tuple(backward)


def _forward(
    pattern: Sequence[Word],
    result: Sequence[Word],
    indexed: bool,
    asked: Sequence[tuple[int, int, int]] = (),
) -> Match:
    """Given rewrites, the facts that unify."""
    key = key_of(pattern) if indexed else ()
    first: dict[int, int] = {}
    tests = []
    for c, (source, which) in enumerate(pattern):
        if source == FOUND and first.setdefault(which, c) != c:
            tests.append((IS_SAME, c, first[which]))
        elif source == HELD and not indexed:
            tests.append((IS_GIVEN, c, which))
        elif source == FIXED and not indexed:
            tests.append((IS_FIXED, c, which))
    words = [
        (FOUND, first[which]) if source == FOUND else (source, which) for source, which in result
    ]
    return Match.of(key, [pattern[c] for c in key], words, asked, tests)


def _backward(
    pattern: Sequence[Word],
    result: Sequence[Word],
    indexed: bool,
    tests: Sequence[tuple[int, int, int]] = (),
) -> Match:
    """Given facts, the rewrites that they unify with."""
    first: dict[Word, int] = {}
    asked = []
    for c, word in enumerate(pattern):
        source, which = word
        if source == FIXED:
            asked.append((IS_FIXED, c, which))
        elif source in (HELD, FOUND) and first.setdefault(word, c) != c:
            asked.append((IS_SAME, c, first[word]))
    held = {which: c for (source, which), c in first.items() if source == HELD}
    given = [(IS_GIVEN, which, c) for which, c in held.items()]
    sources = {HELD: FOUND, FOUND: HELD}
    words = [
        (sources.get(source, source), first[source, which] if source == FOUND else which)
        for source, which in result
    ]
    if not indexed:
        return Match.of((), (), words, asked, (*tests, *given))
    return Match.of(tuple(held), [(HELD, c) for c in held.values()], words, asked, tests)


def _default(step: Folded, result: Sequence[Word]) -> tuple[list[tuple[int, int, int]], list[Word]]:
    """What a rewrite must satisfy to go on with the default value, and what of it goes on."""
    source, which = step.pattern[-1]
    tests = [(IS_FIXED, which, step.default)] if source == HELD else []
    return tests, [(FIXED, step.default) if word[0] == FOUND else word for word in result]


def default_rows(step: Folded, batch: Batch) -> Batch:
    source, which = step.pattern[-1]
    return batch[batch[:, which] == step.default] if source == HELD else batch
