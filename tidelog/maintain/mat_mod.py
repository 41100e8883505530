"""Mat-Mod: materialisation by modules (Hu, Motik and Horrocks 2019, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.engine import Engine, FactSet, Ids
from tidelog.maintain import closure_seeds
from tidelog.maintain.memory import Memory
from tidelog.maintain.modules import Closed, Closures, Module, Seminaive, edges
from tidelog.maintain.seminaive import Watch
from tidelog.plan.closures import Closure, paired
from tidelog.program.rules import Stratum


def usable(
    engine: Engine, memory: Memory, stratum: Stratum, E: FactSet, changes: bool = False
) -> tuple[Closure, ...]:
    """The stratum's closures; linear ones only without other recursive rules or explicit facts."""
    if not memory.modules or not stratum.recursive:
        return ()
    found = memory.once(paired, stratum).closures
    if any(closure.base is not None for closure in found):
        explicit = changes or not set(stratum.relations).isdisjoint(engine.relations(E))
        whole = len(found) == 1 and found[0].whole and not memory.once(paired, stratum).generic
        return found if whole and not explicit else ()
    return found


def close(
    engine: Engine,
    memory: Memory,
    stratum: Stratum,
    found: Sequence[Closure],
    E: FactSet,
    I: FactSet,
    watch: Watch,
) -> None:
    """Mat-Mod for a stratum with closures, of which I has only the explicit facts."""
    rules = memory.once(paired, stratum).generic
    if found[0].base is not None:
        exactly(engine, memory, stratum, found, edges(engine, found[0], I), I, watch)
        return
    if not rules and (X := closure_seeds.connecting(engine, memory, stratum, E, I)) is not None:
        exactly(engine, memory, stratum, found, X, I, watch, connects=True)
        return
    N = closure_seeds.seeds(engine, stratum, E, I)
    if not rules:
        exactly(engine, memory, stratum, found, edges(engine, found[0], N), I, watch)
        return
    I |= N
    own = [engine.none(), engine.none()]
    parts = _begin(engine, memory, stratum, found, watch)
    insert(engine, (Closures(parts), Seminaive(rules)), own, I, N, watch)


def exactly(
    engine: Engine,
    memory: Memory,
    stratum: Stratum,
    found: Sequence[Closure],
    X: Ids,
    I: FactSet,
    watch: Watch,
    connects: bool = False,
) -> None:
    """The same where all recursion is one closure, of which I may have more facts; it is built from
    X, or from edges that connect the same."""
    (closed,) = _begin(engine, memory, stratum, found, watch)
    closed.connects = connects
    before = len(I)
    I |= closed.grow(engine, X)
    closed.worked(engine, facts=len(I) - before)


def _begin(
    engine: Engine, memory: Memory, stratum: Stratum, found: Sequence[Closure], watch: Watch
) -> list[Closed]:
    """Empty modules, which do not need the ages of facts."""
    if engine.ages is not None:
        engine.ages.undate(stratum.relations)
    parts = [Closed(closure, watch) for closure in found]
    memory.closed[stratum.relations] = parts
    memory.keep(stratum, "modules")
    return parts


def insert(
    engine: Engine,
    parts: Sequence[Module],
    own: list[FactSet],
    I: FactSet,
    N: FactSet,
    watch: Watch,
    inserted: FactSet | None = None,
) -> None:
    """Close I, which has N, by modules in turns; `own` is what of N each module derived itself
    (Algorithm 2, lines 11 to 15). Facts inserted into I are also collected in `inserted`."""
    while N:
        for i, part in enumerate(parts):
            own[i] = theirs = engine.collect(N - own[i])
            if theirs:
                own[i] = part.add(engine, I, theirs, watch)
            del theirs
        N -= N
        for i in range(len(parts)):
            N |= own[i]
        if inserted is not None:
            inserted |= N
