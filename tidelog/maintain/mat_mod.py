"""Mat-Mod: materialisation by modules (Hu, Motik and Horrocks 2019, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    parts = (Closures(_begin(engine, memory, stratum, found, watch)), Seminaive(rules))
    insert(engine, parts, [engine.collect(N), N], I, watch)


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
    waiting: list[FactSet],
    I: FactSet,
    watch: Watch,
    inserted: FactSet | None = None,
) -> None:
    """Close I by modules in turns (Algorithm 2, lines 11 to 15). `waiting` has, for each module,
    the facts of I that it has yet to use. Facts inserted into I are also collected in `inserted`.
    """

    into = (I,) if inserted is None else (I, inserted)
    take_turns(engine, parts, waiting, into, lambda part, N: part.add(engine, I, N, watch))


def take_turns(
    engine: Engine,
    parts: Sequence[Module],
    waiting: list[FactSet],
    into: Sequence[FactSet],
    turn: Callable[[Module, FactSet], FactSet],
) -> None:
    """Until no facts are waiting, a module takes its turn with those that wait for it. What it
    returns joins the sets `into`, and waits for the other modules.

    So each module uses every fact once, and none before its turn. In the paper, all modules work on
    the same I and exchange facts when all have had their turn; here a module has the facts of those
    before it at once.
    """
    while any(waiting):
        for i, part in enumerate(parts):
            if N := waiting[i]:
                waiting[i] = engine.none()
                J = turn(part, N)
                del N  # a set less
                for facts in (*into, *waiting[:i], *waiting[i + 1 :]):
                    facts |= J
                del J
