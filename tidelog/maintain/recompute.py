"""Recompute: set the stratum's facts aside and derive them again from scratch.

The baseline of all comparisons, and the best choice where a change reaches most of a
stratum. Only the strata that the change reaches are recomputed.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.maintain.materialise import evaluate
from tidelog.maintain.update import Update
from tidelog.program.rules import Rule, Stratum


def maintain(u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]) -> None:
    u.work.algorithm = "recompute"
    with u.anew(stratum):
        evaluate(u.engine, stratum, u.I, u.watch, u.memory, u.E)
    u.work.how = "by modules" if u.memory.has("modules", stratum) else ""


def plainly(u: Update, stratum: Stratum) -> None:
    """Without modules, so that facts get ages."""
    with_modules, u.memory.modules = u.memory.modules, False
    try:
        maintain(u, stratum, (), ())
    finally:
        u.memory.modules = with_modules
