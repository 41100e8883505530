"""Recompute: the stratum's facts are set aside and derived again from scratch.

The baseline of all comparisons, and the best choice where a change reaches most of a
stratum. Only the strata that the change reaches are recomputed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.maintain import modular
from tidelog.maintain.seminaive import saturate
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum


def maintain(u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]) -> None:
    if modular.closures(u, stratum):
        modular.recompute(u, stratum)
        u.work.algorithm = "recompute"
    else:
        plainly(u, stratum)


def plainly(u: Update, stratum: Stratum) -> None:
    """Without modules; facts have ages then."""
    u.work.algorithm = "recompute"
    engine, I = u.engine, u.I
    if stratum.recursive:
        engine.date(stratum.relations)
        u.memory.keep(stratum, "ages")
    else:
        u.memory.keep(stratum)
    taken = engine.take(stratum.relations)
    N = engine.apply(u.memory.known(stratum).rules, within=I, guard=~I)
    saturate(engine, stratum.recursive, I, N, u.watch)
    u.note("apply")
    u.net(*engine.compare(taken))
