"""Steps that maintenance algorithms share: instances that a lower change takes and brings.

An instance is lost because of a lower fact (one that went, or one that came and is
negated; all read in the old state), or because of a fact of the stratum itself; then its
lower facts were there before and are there now. So no instance is met twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.maintain.seam import Counter, FactSet
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum


def kept(rules: tuple[Rule, ...], come: Sequence[Rule]) -> tuple[Rule, ...]:
    """Those of the rules that were there before."""
    if not come:
        return rules
    heads = {rule.head.relation for rule in come}
    return tuple(r for r in rules if r.head.relation not in heads or r not in come)


def lost(
    u: Update,
    stratum: Stratum,
    rules: Sequence[Rule],
    gone: Sequence[Rule],
    counter: Counter | None = None,
) -> FactSet:
    """Heads of old instances that lost a lower fact, or their rule."""
    engine, old = u.engine, u.old
    seeds = marked(u, stratum)
    guard = u.I if seeds is None else u.I - seeds
    u.glance()
    if u.D or (u.A and u.memory.known(stratum).complete):
        N = engine.derive(
            rules, touching=u.D, touching_negated=u.A, within=old, guard=guard, take_from=counter
        )
    else:
        N = engine.none()
    if gone:
        N |= engine.apply(gone, within=old, guard=guard, take_from=counter)
    u.applied("deletions", len(N))
    if seeds is not None:
        N |= seeds
    return N


def marked(u: Update, stratum: Stratum) -> FactSet | None:
    """Facts that the last update marked: they are affected, and need not be found."""
    seeds = None if u.marks is None else u.marks.marked(u, stratum)
    u.applied("prevented", len(seeds or ()))
    return seeds


def gained(
    u: Update,
    stratum: Stratum,
    rules: Sequence[Rule],
    come: Sequence[Rule],
    counter: Counter | None = None,
) -> FactSet:
    """Heads, not in I, of instances over I that a lower fact makes new, or their rule."""
    engine, I = u.engine, u.I
    u.glance()
    if u.A or (u.D and u.memory.known(stratum).complete):
        N = engine.derive(
            rules, touching=u.A, touching_negated=u.D, within=I, guard=~I, add_to=counter
        )
    else:
        N = engine.none()
    if come:
        N |= engine.apply(come, within=I, guard=~I, add_to=counter)
    return N


def losing(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> FactSet:
    """Facts that are explicit no more, or that a lower change takes an instance from."""
    N = lost(u, stratum, kept(u.memory.known(stratum).rules, come), gone)
    if u.gives(stratum):
        N |= u.went(stratum)
    return N


def gaining(u: Update, stratum: Stratum, come: Sequence[Rule]) -> FactSet:
    """Facts, not in I, that are explicit now, or that a lower change derives over I."""
    A = gained(u, stratum, kept(u.memory.known(stratum).rules, come), come)
    if u.gives(stratum):
        A |= u.came(stratum)
        A -= u.I
    return A
