"""Counting (Gupta, Mumick and Subrahmanian 1993): a fact holds while it has derivations.

For strata without recursion. The change is all instances that are lost, and all that are
new; a fact goes when it is not explicit and its counter falls to zero. Where a stratum is
recursive, a fact could keep its own counter up: `trace` counts by rounds then.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.maintain import trace
from tidelog.maintain.counters import recount, split
from tidelog.maintain.steps import gained, kept, lost
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum


def maintain(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    if stratum.recursive:
        trace.maintain(u, stratum, gone, come)
        return
    u.work.algorithm = "counting"
    engine, E, I = u.engine, u.E, u.I
    gone, recursive = split(stratum, gone)
    rules = kept(stratum.nonrecursive, come)
    recount(u, stratum, "nonrecursive", (*rules, *gone))
    D = lost(u, stratum, rules, gone, engine.nonrecursive)
    A = gained(u, stratum, rules, come, engine.nonrecursive)
    u.memory.keep(stratum, "nonrecursive")
    if u.gives(stratum):
        D |= u.went(stratum)
        A |= u.came(stratum)
        A -= I
    if recursive:
        # The recursion has ended: what it derived holds by its counter, or not at all.
        D |= engine.apply(recursive, within=u.old, guard=I)
    if D:
        D -= E
        D -= engine.positive(engine.nonrecursive, D)
        I -= D
    I |= A
    u.note("counts")
    u.net(D, A)
