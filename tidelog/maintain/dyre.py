"""DYRE: a positive program and its facts as the circuit of the paper (see `tidelog.dbsp.dyre`).

de Lima, Kramer, Apinis and Micinski: Incremental Evaluation of Dynamic Datalog Programs as a
Higher-order DBSP Program (2024), Figure 3. An update is a step of the circuit: facts and rules are
changes of Z-sets. Values are the numbers that the engine assigns. It is meant for some thousand
facts with few derivations, of which each is a Python value; `dbsp` is the same in kernels. Programs
with anything but positive literals are refused, and evaluated from scratch.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from tidelog.engine import View
from tidelog.maintain.dbsp import changed, named, names_of
from tidelog.maintain.report import Work
from tidelog.maintain.update import Update, refuses_pruning
from tidelog.program.rules import Literal, Rule, Simple, Stratum
from tidelog.program.syntax import Constant

# When a circuit is built anew; chosen, not measured.
MANY = 100_000  # elements
GROWTH = 4  # times the elements that it had at first
POSITIVE = "only positive programs without arithmetic are maintained"


class DyreAlgorithm:
    """The algorithm."""

    name = "dyre"

    def refusal(self, strata: Sequence[Stratum], removed: Sequence[Rule]) -> str:
        # A circuit that is to follow the change is built with the rules before it.
        positive = all(map(is_positive, (*rules_of(strata), *removed)))
        return refuses_pruning(strata) or ("" if positive else POSITIVE)

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
            rules = [rule for rule in rules_of(strata) if rule not in new]
            u.memory.circuit = None
            u.memory.forget(names_of(strata))
            running = RunningDyre(u)
            running.step(explicit(u, names_of(strata)), (*rules, *removed))
        u.memory.circuit = running
        running.u, running.rounds = u, 0
        pairs = running.circuit.product.pairs
        facts = {
            (name, tuple(row[:-2])): row[-1]
            for name, batch in changed(u).items()
            for row in batch.tolist()
        }
        running.given = sum(weight > 0 for weight in facts.values())
        D, A = u.engine.none(), u.engine.none()
        for name, (deleted, inserted) in running.step(facts, added, removed).items():
            for rows, into in ((deleted, D), (inserted, A)):
                if rows:
                    into |= u.engine.pick(name, np.array(rows, dtype=np.uint32))
        u.I -= D
        u.I |= A
        u.net(D, A)
        numbers = u.work.numbers
        numbers["rounds"] = running.rounds
        numbers["rewrites"] = len(running.circuit.rewrites.outputs.trace)
        numbers["bytes"] = running.circuit.memory()
        u.work.instances = running.circuit.product.pairs - pairs
        u.work.relations = tuple(dict.fromkeys(u.changed))
        u.work.seconds = time.perf_counter() - began
        u.report.works.append(u.work)


class RunningDyre:
    """A circuit that is in step with a database."""

    def __init__(self, u: Update) -> None:
        from tidelog.dbsp.dyre import Dyre  # loads kernels

        self.name = DyreAlgorithm.name
        self.circuit = Dyre(each_round=self._round)
        self.u: Update | None = u
        self.rounds = 0
        self.given: float = np.inf  # explicit facts inserted by this update; all, at first
        self._before = 0  # facts before it
        self._first = 0  # elements of the circuit after the first update

    def step(
        self, facts: Facts, added: Iterable[Rule], removed: Iterable[Rule] = ()
    ) -> dict[str, tuple[list[Row], list[Row]]]:
        """Facts deleted and inserted, by relation."""
        assert self.u is not None
        rules: dict[Rule, int] = {}
        for some, weight in ((removed, -1), (added, 1)):
            for rule in some:
                rule = in_words(rule, self.u)
                rules[rule] = rules.get(rule, 0) + weight
        self._before = self._facts()
        found: dict[str, tuple[list[Row], list[Row]]] = {}
        for (name, row), weight in self.circuit.step(facts, rules).items():
            found.setdefault(name, ([], []))[weight > 0].append(row)
        return found

    def settle(self, undone: bool) -> bool:
        """An update has ended; False if the circuit cannot be used any more, or has become too
        large: it never gives the number of an element back."""
        self.u = None
        elements = len(self.circuit.elements)
        self._first = self._first or elements
        return not undone and elements <= MANY + GROWTH * self._first

    def _round(self) -> None:
        assert self.u is not None
        self.rounds += 1
        self.u.watch.round()
        # The engine has rows for explicit facts already.
        self.u.watch.pairs(int(max(0, self._facts() - self._before - self.given)))

    def _facts(self) -> int:
        return len(self.circuit.facts.outputs.trace)


Row = tuple[int, ...]
Facts = dict[tuple[str, Row], int]


def is_positive(rule: Rule) -> bool:
    return all(isinstance(part, Literal) and not part.negated for part in rule.body)


def rules_of(strata: Iterable[Stratum]) -> list[Rule]:
    return [rule for stratum in strata for rule in stratum.rules]


def in_words(rule: Rule, u: Update) -> Rule:
    """The rule, with the engine's number in place of each constant."""

    def word(term: Simple) -> Simple:
        if not isinstance(term, Constant):
            return term
        assert term.kind is not None
        return replace(term, value=int(u.engine.identify(term.kind, [term.value])[0]))

    def literal(part: Literal) -> Literal:
        return replace(part, terms=tuple(map(word, part.terms)))

    body = tuple(literal(part) for part in rule.body if isinstance(part, Literal))
    return replace(rule, head=literal(rule.head), body=body)


def explicit(u: Update, names: Iterable[str]) -> Facts:
    """The explicit facts before the update."""
    views: tuple[View, ...] = (u.E - u.X, u.X - u.E)
    return {
        (name, tuple(row)): 1
        for name in names
        for view in views
        for row in u.engine.ids(view, name).tolist()
    }
