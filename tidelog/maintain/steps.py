"""Steps that maintenance algorithms share: instances that a lower change takes and brings.

An instance is lost because of a lower fact (one that went, or one that came and is
negated; all read in the old state), or because of a fact of the stratum itself; then its
lower facts were there before and are there now. So no instance is met twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.maintain.seam import Counter, FactSet
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule


def kept(rules: tuple[Rule, ...], come: Sequence[Rule]) -> tuple[Rule, ...]:
    """Those of the rules that were there before."""
    if not come:
        return rules
    heads = {rule.head.relation for rule in come}
    return tuple(r for r in rules if r.head.relation not in heads or r not in come)


def lost(
    u: Update, rules: Sequence[Rule], gone: Sequence[Rule], counter: Counter | None = None
) -> FactSet:
    """Heads of old instances that lost a lower fact, or their rule."""
    old = u.old
    N = u.engine.derive(
        rules, touching=u.D, touching_negated=u.A, within=old, guard=u.I, take_from=counter
    )
    if gone:
        N |= u.engine.apply(gone, within=old, guard=u.I, take_from=counter)
    return N


def gained(
    u: Update, rules: Sequence[Rule], come: Sequence[Rule], counter: Counter | None = None
) -> FactSet:
    """Heads, not in I, of instances over I that a lower fact makes new, or their rule."""
    N = u.engine.derive(
        rules, touching=u.A, touching_negated=u.D, within=u.I, guard=~u.I, add_to=counter
    )
    if come:
        N |= u.engine.apply(come, within=u.I, guard=~u.I, add_to=counter)
    return N
