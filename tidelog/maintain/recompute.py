"""Recompute: the stratum's facts are set aside and derived again from scratch.

The baseline of all comparisons, and the best choice where a change reaches most of a
stratum. Only the strata that the change reaches are recomputed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from tidelog.maintain.materialise import evaluate
from tidelog.maintain.report import Work
from tidelog.maintain.update import THINNED, Update
from tidelog.program.rules import Rule, Stratum


def maintain(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    u.work.algorithm = "recompute"
    taken = u.engine.take(stratum.relations)
    evaluate(u.engine, stratum, u.I, u.watch, u.memory, u.E)
    u.note("apply")
    u.net(*u.engine.compare(taken))


def plainly(u: Update, stratum: Stratum) -> None:
    """Without modules; facts have ages then."""
    with_modules, u.memory.modules = u.memory.modules, False
    try:
        maintain(u, stratum, (), ())
    finally:
        u.memory.modules = with_modules


def everything(u: Update, strata: Sequence[Stratum], gone: Sequence[Rule]) -> None:
    """All strata, for an algorithm that takes them at once and cannot take these."""
    lose = {rule.head.relation for rule in gone}
    for stratum in strata:
        began, instances = time.perf_counter(), u.engine.instances
        u.watch.stratum(stratum)
        u.begin(Work(stratum.relations))
        if stratum.given and lose.isdisjoint(stratum.relations):
            u.work.algorithm = "input"
            D, A = u.went(stratum), u.came(stratum)
            u.I -= D
            u.I |= A
            u.net(D, A)
        else:
            maintain(u, stratum, (), ())
            u.work.why = THINNED
        u.work.seconds = time.perf_counter() - began
        u.work.instances = u.engine.instances - instances
        u.report.works.append(u.work)
