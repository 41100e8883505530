"""Counting (Gupta, Mumick and Subrahmanian 1993): a fact holds while it has derivations.

For strata without recursion. The change is all instances lost, and all gained; a fact is deleted
when it is not explicit and its counter falls to zero. In a recursive stratum a fact could keep
its own counter above zero, so `round_trace` counts by rounds there.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.maintain import round_trace
from tidelog.maintain.derivation_counters import recount, split
from tidelog.maintain.steps import gained, kept, lost
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum


def maintain(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    if stratum.recursive:
        round_trace.maintain(u, stratum, removed, added)
        return
    u.work.algorithm = "counting"
    engine, E, I = u.engine, u.E, u.I
    removed, recursive = split(stratum, removed)
    rules = kept(stratum.nonrecursive, added)
    recount(u, stratum, "nonrecursive", (*rules, *removed), u.old)
    u.note("build")
    D = lost(u, stratum, rules, removed, engine.nonrecursive)
    A = gained(u, stratum, rules, added, engine.nonrecursive)
    u.memory.keep(stratum, "nonrecursive")
    if u.touches(stratum):
        D |= u.explicit_deleted(stratum)
        A |= u.explicit_inserted(stratum)
        A -= I
    if recursive:
        # The stratum was recursive: what that derived holds by its counter, or not at all.
        D |= engine.apply(recursive, within=u.old, guard=I)
    if D:
        D -= E
        D -= engine.positive(engine.nonrecursive, D)
        u.deletes(len(D))
        I -= D
    I |= A
    u.note("counts")
    u.net(D, A)
