"""DBSP: an interpreter of the program that is incremental (see `tidelog.dbsp.interpreter`).

An update is a step of the circuit, for all strata at once: facts and rules change alike. The
circuit holds derivations, and not only facts; it is built when the algorithm is first used, and
rebuilt after another algorithm has changed the facts. Only an update that adds rules which move
relations to other layers (see `tidelog.dbsp.strata_layers`) takes two steps, with a new circuit in
between.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tidelog.engine import View
from tidelog.maintain.report import Work
from tidelog.maintain.update import Update, refuses_pruning
from tidelog.program.rules import Rule, Stratum

if TYPE_CHECKING:  # loaded when it is first used
    from tidelog.dbsp.interpreter import Interpreter
    from tidelog.dbsp.trace import Batch
    from tidelog.maintain.circuit_host import EngineHost


@dataclass(frozen=True, slots=True)
class DbspAlgorithm:
    """The algorithm, with join orders as an index or without."""

    name: str
    indexed: bool = True

    def refusal(self, strata: Sequence[Stratum], removed: Sequence[Rule]) -> str:
        return refuses_pruning(strata)

    def maintain(
        self, u: Update, strata: Sequence[Stratum], removed: Sequence[Rule], added: Sequence[Rule]
    ) -> None:
        if not strata:
            return
        began = time.perf_counter()
        u.begin(Work((), self.name))
        u.watch.stratum(named(strata))
        running = u.memory.circuit
        if running is None or running.name != self.name:
            new = set(added)
            rules = [r for s in strata for r in s.rules if r not in new]
            u.memory.circuit = None
            u.memory.forget(names_of(strata))
            before = (u.E - u.X, u.X - u.E)
            running = self.start(u, names_of(strata), (*rules, *removed), before)
        u.memory.circuit = running
        host, circuit = running.host, running.circuit
        host.u = u
        pairs, rounds = circuit.pairs, 0
        facts = changed(u)
        host.given = sum(int((batch[:, -1] > 0).sum()) for batch in facts.values())
        if circuit.fits(added, removed):
            circuit.step(facts, added, removed)
        else:
            circuit.step(facts, (), removed)
            rounds = circuit.rounds
            u.work.why = "added rules move relations to other layers"
            rules = list(circuit.rules)
            running = u.memory.circuit = self.start(u, names_of(strata), rules, (u.E,), added)
            host, circuit = running.host, running.circuit
            pairs, host.again = 0, True
            circuit.step({}, added)
            host.again = False
        numbers = u.work.numbers
        numbers["rounds"] = rounds + circuit.rounds
        numbers["rewrites"] = circuit.rewrites()
        numbers["bytes"] = circuit.memory()
        u.work.instances = circuit.pairs - pairs
        u.work.relations = tuple(dict.fromkeys(u.changed))
        u.work.deleted, u.work.added = len(u.D), len(u.A)
        u.work.seconds = time.perf_counter() - began
        u.report.works.append(u.work)

    def start(
        self,
        u: Update,
        names: Iterable[str],
        rules: Collection[Rule],
        E: Iterable[View],
        later: Collection[Rule] = (),
    ) -> Running:
        """A circuit with these rules and explicit facts, in disjoint views; I is what follows from
        them. Its layers have room for rules that are added later."""
        from tidelog.dbsp.interpreter import Interpreter
        from tidelog.dbsp.trace import weighted
        from tidelog.maintain.circuit_host import EngineHost

        host = EngineHost(u)
        circuit = Interpreter(host, indexed=self.indexed)
        circuit.layers.expect((*rules, *later))
        host.silent = True
        facts = {
            name: weighted(np.concatenate([u.engine.ids(view, name) for view in E]), 1)
            for name in names
        }
        circuit.step(facts, rules)
        circuit.finish()
        host.silent = False
        return Running(self.name, circuit, host)


@dataclass(slots=True)
class Running:
    """A circuit that is in step with a database."""

    name: str
    circuit: Interpreter
    host: EngineHost

    def settle(self, undone: bool) -> bool:
        """End an update; False if the circuit can no longer be used."""
        self.host.leave()
        if undone:
            return self.circuit.undo()
        self.circuit.finish()
        return True


def named(strata: Sequence[Stratum]) -> Stratum:
    """The stratum that progress and limits name: all of them are worked on at once."""
    recursive = (stratum for stratum in strata if stratum.recursive)
    ruled = (stratum for stratum in strata if stratum.rules)
    return next(recursive, None) or next(ruled, None) or strata[0]


def names_of(strata: Iterable[Stratum]) -> list[str]:
    return [name for stratum in strata for name in stratum.relations]


def changed(u: Update) -> dict[str, Batch]:
    """Explicit facts deleted and inserted."""
    from tidelog.dbsp.trace import weighted

    names, now, before = u.engine.relations(u.X), u.X & u.E, u.X - u.E
    inserted = {name: u.engine.ids(now, name) for name in names}
    if sum(map(len, inserted.values())) == len(u.X):
        return {name: weighted(ids, 1) for name, ids in inserted.items()}
    deleted = {name: u.engine.ids(before, name) for name in names}
    return {
        name: np.concatenate((weighted(deleted[name], -1), weighted(inserted[name], 1)))
        for name in names
    }
