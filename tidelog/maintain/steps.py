"""Steps that maintenance algorithms share: instances lost and gained by a lower change.

An instance is lost because of a lower fact (deleted, or inserted and negated; all are read in the
old state), or because of a fact of the stratum itself; then its lower facts were in I before and
are in I now. So no instance is considered twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tidelog.engine import Counter, FactSet
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum

# Chosen, not measured.
LARGE = 4_000  # new facts of a relation: from here on, samples tell what they delete
SAMPLE = 128  # facts of one of two samples


def kept(rules: tuple[Rule, ...], added: Sequence[Rule]) -> tuple[Rule, ...]:
    """Those of the rules that are not new."""
    if not added:
        return rules
    heads = {rule.head.relation for rule in added}
    return tuple(r for r in rules if r.head.relation not in heads or r not in added)


def lost(
    u: Update,
    stratum: Stratum,
    rules: Sequence[Rule],
    removed: Sequence[Rule],
    counter: Counter | None = None,
) -> FactSet:
    """Heads of old instances that have lost a lower fact, or their rule."""
    engine, old = u.engine, u.old
    if u.D or (u.A and u.memory.known(stratum).complete):
        N = engine.derive(
            rules, touching=u.D, touching_negated=u.A, within=old, guard=u.I, take_from=counter
        )
    else:
        N = engine.none()
    if removed:
        N |= engine.apply(removed, within=old, guard=u.I, take_from=counter)
    return N


def gained(
    u: Update,
    stratum: Stratum,
    rules: Sequence[Rule],
    added: Sequence[Rule],
    counter: Counter | None = None,
) -> FactSet:
    """Heads, not in I, of instances over I that are new by a lower fact, or by their rule."""
    engine, I = u.engine, u.I
    if u.A or (u.D and u.memory.known(stratum).complete):
        N = engine.derive(
            rules, touching=u.A, touching_negated=u.D, within=I, guard=~I, add_to=counter
        )
    else:
        N = engine.none()
    if added:
        N |= engine.apply(added, within=I, guard=~I, add_to=counter)
    return N


def losing(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> FactSet:
    """Facts that have ceased to be explicit, or lose an instance by a lower change."""
    N = lost(u, stratum, kept(u.memory.known(stratum).rules, added), removed)
    if u.touches(stratum):
        N |= u.explicit_deleted(stratum)
    return N


def gaining(u: Update, stratum: Stratum, added: Sequence[Rule]) -> FactSet:
    """Facts, not in I, that have become explicit, or gain an instance by a lower change."""
    A = gained(u, stratum, kept(u.memory.known(stratum).rules, added), added)
    if u.touches(stratum):
        A |= u.explicit_inserted(stratum)
        A -= u.I
    return A


def expected(u: Update, N: FactSet, following: Callable[[FactSet], FactSet]) -> float:
    """About how many facts the next round finds, where they may be too many: two samples of N
    tell."""
    found, engine = 0.0, u.engine
    for name in engine.relations(N) if math.isfinite(u.most) and len(N) >= LARGE else ():
        if len(M := engine.collect(N, (name,))) < LARGE:
            continue
        S = engine.sample(M, name, SAMPLE)
        T = engine.sample(engine.collect(M - S), name, SAMPLE)
        scale = len(M) / (len(S) + len(T))
        F, G = following(S), following(T)
        both = len(engine.collect(F & G))
        # Samples that lead to the same facts lead to few (Lincoln and Petersen's estimate).
        few = len(F) * len(G) / both if both else math.inf
        found += min(few, scale * (len(F) + len(G) - both))
    return found
