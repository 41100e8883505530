"""Materialisation from scratch: seminaive evaluation, stratum by stratum.

The method is that of Abiteboul, Hull and Vianu, *Foundations of Databases*, chapter 13;
the papers call it Mat. Every rule instance is considered once: first those over what
the lower strata and the explicit facts give, then those that need a fact of the round
before.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from tidelog.maintain.memory import Memory
from tidelog.maintain.seam import Counter, Engine, FactSet
from tidelog.program.rules import Rule, Stratum


class Watch(Protocol):
    """Told where the evaluation is; may raise to end it."""

    def stratum(self, stratum: Stratum) -> None: ...

    def round(self) -> None: ...


def materialise(
    engine: Engine,
    strata: Sequence[Stratum],
    I: FactSet,
    watch: Watch,
    memory: Memory | None = None,
) -> None:
    """Add to I, which holds the explicit facts, all that follows from them.

    What it takes for a stratum is remembered, if a memory is given.
    """
    for stratum in strata:
        if stratum.rules:
            began = time.thread_time()
            watch.stratum(stratum)
            if memory is not None and stratum.recursive:
                engine.date(stratum.relations)
                memory.keep(stratum, "ages")
            N = engine.apply(stratum.rules, within=I, guard=~I)
            saturate(engine, stratum.recursive, I, N, watch)
            if memory is not None and stratum.recursive:
                memory.costs(stratum).recomputed(time.thread_time() - began)


def saturate(
    engine: Engine,
    rules: Sequence[Rule],
    I: FactSet,
    N: FactSet,
    watch: Watch,
    *,
    added: FactSet | None = None,
    add_to: Counter | None = None,
) -> None:
    """Close I | N under rules for which only instances that touch N are missing.

    What comes to I comes to `added` too, and the instances are counted, if that is asked for.
    """

    def each() -> bool:
        watch.round()
        return True

    into = (I,) if added is None else (I, added)
    engine.spread(rules, N, into, within=I, guard=~I, add_to=add_to, each=each)
