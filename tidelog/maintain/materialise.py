"""Materialisation from scratch, stratum by stratum (the papers' Mat, and Mat-Mod with modules)."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tidelog.maintain import modular
from tidelog.maintain.memory import Memory
from tidelog.maintain.seam import Engine, FactSet
from tidelog.maintain.seminaive import Watch, saturate
from tidelog.program.rules import Stratum


def materialise(
    engine: Engine,
    strata: Sequence[Stratum],
    I: FactSet,
    watch: Watch,
    memory: Memory,
    E: FactSet,
) -> None:
    """Add to I, which holds the explicit facts E, all that follows from them.

    The memory says whether closure modules are used; what a stratum takes is remembered.
    """
    for stratum in strata:
        if stratum.rules:
            began = time.thread_time()
            watch.stratum(stratum)
            found = modular.usable(engine, memory, stratum, E)
            if found:
                modular.close(engine, memory, stratum, found, E, I, watch)
            else:
                if stratum.recursive:
                    engine.date(stratum.relations)
                    memory.keep(stratum, "ages")
                N = engine.apply(stratum.rules, within=I, guard=~I)
                saturate(engine, stratum.recursive, I, N, watch)
            if stratum.recursive:
                memory.costs(stratum).recomputed(time.thread_time() - began)
