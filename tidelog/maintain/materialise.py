"""Materialisation from scratch, stratum by stratum (the papers' Mat, and Mat-Mod with modules)."""

from __future__ import annotations

import time
from collections.abc import Sequence

from tidelog.engine import Engine, FactSet
from tidelog.maintain import closure_seeds, mat_mod, pruned_strata
from tidelog.maintain.closure_modules import edges
from tidelog.maintain.memory import Memory
from tidelog.maintain.seminaive import Watch
from tidelog.program.rules import Stratum

# Rule instances after which closures become modules (docs/decisions/014-closure-modules.md).
LONG = 500_000


def materialise(
    engine: Engine,
    strata: Sequence[Stratum],
    I: FactSet,
    watch: Watch,
    memory: Memory,
    E: FactSet,
) -> None:
    """Add to I, which holds the explicit facts E, all that follows from them.

    The memory says whether closure modules are used, and records the cost of each stratum.
    """
    for stratum in strata:
        if not stratum.given:
            began = time.thread_time() - engine.lasting
            watch.stratum(stratum)
            evaluate(engine, stratum, I, watch, memory, E)
            if stratum.recursive:
                memory.costs(stratum).recomputed(time.thread_time() - engine.lasting - began)


def evaluate(
    engine: Engine, stratum: Stratum, I: FactSet, watch: Watch, memory: Memory, E: FactSet
) -> None:
    """Add to I, which has the explicit facts of the stratum and no others, all that it derives.

    Most closures are small, and their modules take a moment to load. So they are evaluated like
    other rules at first, and become modules if that takes long, must take long, or did before.
    """
    if stratum.pruned:
        pruned_strata.evaluate(engine, stratum, I, watch, E)
        memory.keep(stratum)
        return
    if stratum.recursive and not memory.limits.keys().isdisjoint(stratum.relations):
        _limited(engine, stratum, I, watch, memory, E)
        return
    if (own := engine.own_evaluation) is not None and own.evaluate(stratum, watch):
        memory.keep(stratum)
        return
    found = mat_mod.usable(engine, memory, stratum, E)
    if found and (found.at_once or memory.had_modules(stratum)):
        mat_mod.close(engine, memory, stratum, found, E, I, watch)
        return
    closure = found.closure if found else None
    X = closure_seeds.connecting(engine, memory, stratum, E, I) if closure else None
    if closure and X is not None and closure_seeds.triples(X) > LONG:
        mat_mod.exactly(engine, memory, stratum, closure, X, I, watch, connects=True)
        return
    if stratum.recursive and (ages := engine.ages) is not None:
        ages.date(stratum.relations)
        memory.keep(stratum, "ages")
    else:
        memory.keep(stratum)

    def each() -> bool:
        watch.round()
        return True

    if not found:
        N = engine.apply(memory.known(stratum).rules, within=I, guard=~I)
        engine.spread(stratum.recursive, N, (I,), within=I, guard=~I, each=each, alone=watch)
        return
    N = closure_seeds.seeds(engine, stratum, E, I)
    X = edges(engine, closure, N) if closure and closure.base is None else None
    # A few edges have few pairs that meet: no need to estimate how many.
    if X is None or len(X) ** 2 <= LONG or closure_seeds.meeting(X) <= LONG:
        engine.spread(stratum.recursive, N, (I,), within=I, guard=~I, each=each, most=LONG)
    if N:
        lost = len(engine.collect(N - I))
        N -= N
        if X is None:
            lost += len(I)
            engine.take(stratum.relations)
            lost -= len(I)
        engine.worked(found.first, 0.0, -lost)  # they will be derived again
        if closure is None or X is None:
            mat_mod.close(engine, memory, stratum, found, E, I, watch)
        else:
            mat_mod.exactly(engine, memory, stratum, closure, X, I, watch)


def _limited(
    engine: Engine, stratum: Stratum, I: FactSet, watch: Watch, memory: Memory, E: FactSet
) -> None:
    """The same up to the round in which a relation reaches its limit (Soufflé's `.limitsize`): what
    that round derives is left out. No algorithm maintains such facts."""
    limits = {name: most for name, most in memory.limits.items() if name in stratum.relations}
    rounds = 0

    def each() -> bool:
        nonlocal rounds
        watch.round()
        rounds += 1
        # What nonrecursive rules derive is kept in any case.
        return rounds == 1 or all(engine.size(name) < most for name, most in limits.items())

    memory.keep(stratum)
    N = engine.apply(stratum.nonrecursive, within=I)
    N |= engine.collect(E, stratum.relations)
    engine.spread(stratum.recursive, N, (I,), within=I, guard=~I, each=each)
    N -= N
