"""Mat-Mod: materialisation by modules (Hu, Motik and Horrocks 2019, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tidelog.engine import Engine, FactSet, Ids
from tidelog.maintain import closure_seeds
from tidelog.maintain.closure_modules import STANDARD, Closed, closed, edges
from tidelog.maintain.memory import Memory
from tidelog.maintain.module import Claim, Module, claims, parts
from tidelog.maintain.seminaive import Watch
from tidelog.maintain.update import Context
from tidelog.plan.closures import Closure, paired
from tidelog.program.rules import Rule, Stratum


@dataclass(frozen=True, slots=True)
class Division:
    """The recursive rules of a stratum: one closure, or modules and the rules left."""

    closure: Closure | None
    claims: tuple[Claim, ...]
    generic: tuple[Rule, ...]

    @property
    def at_once(self) -> bool:
        return any(claim.kind.at_once for claim in self.claims)

    @property
    def first(self) -> Rule:
        """A rule that represents all of them in profiles."""
        return (self.closure or self.claims[0]).rules[0]

    def modules(self, watch: Watch) -> list[Module]:
        """Empty modules."""
        made = [claim.kind(claim.rules) for claim in self.claims]
        for module in made:
            module.watch = watch
        return made

    def parts(self, modules: Sequence[Module], inside: frozenset[str]) -> list[Module]:
        return parts(modules, self.generic, inside)


def divide(stratum: Stratum, kinds: Sequence[type[Module]]) -> Division:
    found, generic = claims(stratum.recursive, kinds)
    if {*STANDARD}.issubset(kinds) and all(claim.kind in STANDARD for claim in found):
        whole = paired(stratum)
        if len(whole.closures) == 1 and not whole.generic:
            (closure,) = whole.closures
            if not set(stratum.relations).issubset(closure.relations):
                return Division(None, tuple(found), generic)
            return Division(closure if closure.base is None or closure.whole else None, (), ())
    return Division(None, tuple(found), generic)


def usable(
    engine: Engine, memory: Memory, stratum: Stratum, E: FactSet, changes: bool = False
) -> Division | None:
    """The stratum's modules, if it has any; a linear closure only without explicit facts."""
    if not memory.modules or not stratum.recursive:
        return None
    kinds = STANDARD if memory.modules is True else memory.modules
    found = memory.once(divide, stratum, kinds)
    if found.closure is not None and found.closure.base is not None:
        explicit = changes or not set(stratum.relations).isdisjoint(engine.relations(E))
        return None if explicit else found
    return found if found.closure is not None or found.claims else None


def close(
    engine: Engine,
    memory: Memory,
    stratum: Stratum,
    found: Division,
    E: FactSet,
    I: FactSet,
    watch: Watch,
) -> None:
    """Mat-Mod for a stratum with modules, of which I has only the explicit facts."""
    closure = found.closure
    if closure is not None and closure.base is not None:
        exactly(engine, memory, stratum, closure, edges(engine, closure, I), I, watch)
        return
    if closure is not None:
        X = closure_seeds.connecting(engine, memory, stratum, E, I)
        connects = X is not None
        if X is None:
            X = edges(engine, closure, closure_seeds.seeds(engine, stratum, E, I))
        exactly(engine, memory, stratum, closure, X, I, watch, connects)
        return
    N = closure_seeds.seeds(engine, stratum, E, I)
    I |= N
    modules = found.modules(watch)
    _keep(engine, memory, stratum, modules)
    each = found.parts(modules, memory.known(stratum).inside)
    waiting = [engine.collect(N) for _ in each[1:]]
    insert(Context(engine, E, I, watch, memory), each, [*waiting, N])


def exactly(
    engine: Engine,
    memory: Memory,
    stratum: Stratum,
    closure: Closure,
    X: Ids,
    I: FactSet,
    watch: Watch,
    connects: bool = False,
) -> None:
    """The same where all recursion is one closure, of which I may have more facts; it is built from
    X, or from edges that connect the same."""
    made: Closed = closed(closure, watch)
    _keep(engine, memory, stratum, [made])
    made.connects = connects
    before = len(I)
    I |= made.grow(engine, X)
    made.worked(engine, facts=len(I) - before)


def _keep(engine: Engine, memory: Memory, stratum: Stratum, modules: Sequence[Module]) -> None:
    """New modules, which do not need the ages of facts."""
    if engine.ages is not None:
        engine.ages.undate(stratum.relations)
    memory.closed[stratum.relations] = modules
    memory.keep(stratum, "modules")


def insert(
    c: Context,
    each: Sequence[Module],
    waiting: list[FactSet],
    inserted: FactSet | None = None,
) -> None:
    """Close I by modules in turns (Algorithm 2, lines 11 to 15). `waiting` has, for each module,
    the facts of I that it has yet to use. Facts inserted into I are also collected in `inserted`.
    """
    into = (c.I,) if inserted is None else (c.I, inserted)
    take_turns(c.engine, each, waiting, into, lambda module, N: module.add(c, N))


def take_turns(
    engine: Engine,
    each: Sequence[Module],
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
        for i, module in enumerate(each):
            if N := waiting[i]:
                waiting[i] = engine.none()
                J = turn(module, N)
                del N  # a set less
                for facts in (*into, *waiting[:i], *waiting[i + 1 :]):
                    facts |= J
                del J
