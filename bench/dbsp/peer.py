"""pydbsp, by its indexed interpreter of Datalog: rules are data there, as they are in DYRE.

Its interface is that of version 2. It needs Python 3.12, and no other file here imports it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from bench.checksum import checksum
from bench.data import Rows
from bench.dbsp.cases import Step
from bench.dbsp.play import State
from bench.plain import Atom, parse_plain
from bench.updates.changes import Change

Weights = dict[Any, int]


class Pydbsp:
    """A circuit with the program's rules; each change is a tick of its outer clock."""

    def __init__(self, program: str) -> None:
        core, operators = import_module("pydbsp.core"), import_module("pydbsp.operator")
        zset = import_module("pydbsp.zset")
        indexed = import_module("pydbsp.indexed_relational_operators")
        group = zset.ZSetAddition()
        self.zset = zset.ZSet
        self.evaluator = import_module("pydbsp.evaluate").Evaluator(
            circuit=import_module("pydbsp.circuit").Circuit(),
            storage=import_module("pydbsp.storage").DictStorage(),
            ctx=import_module("pydbsp.compute").ComputeCtx(lattice=core.dbsp_time(2)),
            group=group,
        )
        circuit = self.evaluator.circuit

        def source(axes: int) -> Any:
            frontier = core.Antichain(core.dbsp_time(axes))
            return operators.Input(frontier=frontier).connect(circuit, ())

        self.facts, self.rules, self.seed = source(1), source(1), source(1)
        self.known, self.rewrites = source(2), source(2)
        rules = operators.LiftStreamIntroduction(group=group).connect(circuit, (self.rules,))
        body = indexed.IndexedIncrementalDatalogBody(*8 * (group,))
        inputs = (self.facts, rules, self.known, self.rewrites, self.seed)
        self.body = body.connect(circuit, inputs)
        self.nothing = import_module("pydbsp.datalog").Rewrite({})
        self.tick, self.depth = 0, -1
        self.all: Weights = {}
        self.coming: Weights = dict.fromkeys(written(program), 1)

    def warm_up(self, steps: Sequence[Step]) -> None:
        """It has no kernels."""

    def make(self, change: Change) -> None:  # it has no clock of its own
        facts = weights(change.come, 1) | weights(change.gone, -1)
        rules = self.coming | dict.fromkeys(written("\n".join(change.rules_come)), 1)
        rules |= dict.fromkeys(written("\n".join(change.rules_gone)), -1)
        self.coming = {}
        self._push(facts, rules)
        last = -1
        steps = self.evaluator.saturate_inner(
            self.body, self.tick, is_empty=nothing_new, min_inner=self.depth
        )
        for last, (found, rewritten) in steps:
            moment = (self.tick, last)
            self.evaluator.push(self.known, found, t=moment)
            self.evaluator.push(self.rewrites, rewritten, t=moment)
            for fact, weight in found.inner.items():
                self.all[fact] = self.all.get(fact, 0) + weight
        self.depth = max(self.depth, last)
        self.tick += 1
        # Drop what no later tick reads, or memory would grow even faster.
        self.evaluator.compact()

    def _push(self, facts: Weights, rules: Weights) -> None:
        self.evaluator.push(self.facts, self.zset(facts))
        self.evaluator.push(self.rules, self.zset(rules))
        seed = {(0, self.nothing): 1} if self.tick == 0 else {}
        self.evaluator.push(self.seed, self.zset(seed))

    def state(self) -> State:
        rows: dict[str, list[tuple[int, ...]]] = {}
        for (relation, values), weight in self.all.items():
            if weight > 0:
                rows.setdefault(relation, []).append(values)
        return {name: checksum(np.array(some, dtype=np.int64)) for name, some in rows.items()}

    @contextmanager
    def compiling(self) -> Iterator[Sequence[object]]:
        """It compiles nothing."""
        yield ()


def nothing_new(diff: tuple[Any, Any]) -> bool:
    return not diff[0].inner and not diff[1].inner


def weights(facts: Mapping[str, Rows], weight: int) -> Weights:
    return {
        (name, values): weight
        for name, rows in facts.items()
        for values in map(tuple, rows.tolist())
    }


def written(program: str) -> list[Any]:
    """Rules in its own form: tuples of atoms, the head first; variables begin with a `?`.

    >>> written("p(x) :- q(x, 7).")
    [(('p', ('?x',)), ('q', ('?x', 7)))]
    """

    def atom(one: Atom) -> Any:
        terms = (term if isinstance(term, int) else f"?{term}" for term in one.terms)
        return one.relation, tuple(terms)

    return [(atom(rule.head), *map(atom, rule.body)) for rule in parse_plain(program).rules]
