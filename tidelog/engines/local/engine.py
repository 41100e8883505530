"""The local engine: the seam over Numba kernels, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tidelog.engines.local.order import Catalog, Mode
from tidelog.engines.local.plans import Batch, PlanBook
from tidelog.engines.local.running import Reading, Runner
from tidelog.engines.local.sets import LocalSet, Rows, bound
from tidelog.engines.local.steps import Plan, Request
from tidelog.engines.local.store import Store
from tidelog.engines.local.values import ABSENT, Dictionary, fits
from tidelog.maintain.seam import FactSet, View
from tidelog.program.rules import Relation, Rule, Stratum
from tidelog.program.syntax import Value
from tidelog.program.table import Table

BITS = 16  # sets at a time


@dataclass(slots=True)
class Measure:
    """What one rule did in one evaluation."""

    rule: Rule
    seconds: float
    instances: int
    facts: int


@dataclass(slots=True)
class Counters:
    instances: int = 0
    evaluations: int = 0


class LocalEngine:
    """Relations by name, sets as bits, rules through the join kernel."""

    def __init__(self) -> None:
        self.store = Store()
        self.dictionary = Dictionary()
        self.counters = Counters()
        self.measure: Callable[[Measure], None] | None = None  # where given, rules run one by one
        self.relations: dict[str, int] = {}
        self.kinds: dict[str, Relation] = {}
        self._free_bits = [1 << i for i in range(BITS - 1, -1, -1)]
        self.explicit = LocalSet(self, self._free_bits.pop(), whole=True)
        self.all = LocalSet(self, self._free_bits.pop(), whole=True)
        self._runner = Runner(self.store, self.dictionary, self.all)
        self._book = PlanBook(
            Catalog(
                relation=self.relation,
                arity=self.store.arity,
                size=self.store.size,
                sizes=self.store.sizes,
                fanout=self.store.fanout,
                index=self.store.index,
                identify=self.dictionary.id,
                word=self.dictionary.word,
            ),
            self._runner.answers,
        )

    def watch(self, tick: Callable[[Rule | None], None] | None) -> None:
        """Have `tick` called while work goes on; it may raise to stop it."""
        self._runner.tick = tick or (lambda rule: None)

    # Relations and facts.

    def declare(self, relation: Relation) -> int:
        self.kinds[relation.name] = relation
        return self.relation(relation.name, relation.arity)

    def relation(self, name: str, arity: int) -> int:
        number = self.relations.get(name)
        if number is None:
            number = self.relations[name] = self.store.add(arity)
        return number

    def load(self, name: str, table: Table, into: Sequence[LocalSet]) -> None:
        """Add a table's rows to these sets."""
        r = self.relations[name]
        rows = min(1, table.size) if not table.columns else table.size
        data = np.empty((rows, len(table.columns)), dtype=np.uint32)
        for c, (kind, column) in enumerate(zip(table.kinds, table.columns, strict=True)):
            data[:, c] = self.dictionary.encode(kind, column)
        before = self.store.size(r)
        numbers = self.store.load(r, data, 0)
        fresh = slice(before, self.store.size(r))
        known = np.unique(numbers[numbers < before]).astype(np.uint32)
        for target in into:
            target.add(r, fresh)
            target.add(r, known)

    def table(self, name: str, rows: Rows | None = None) -> Table:
        """A relation's facts in the materialisation, or the given rows of it."""
        relation, r = self.kinds[name], self.relations[name]
        data = self.store.rows(r)
        if rows is not None:
            data = data[rows]
        elif self.all.count(r) < len(data):
            data = data[self.all.rows(r)]
        decode = self.dictionary.decode
        columns = tuple(decode(kind, data[:, c]) for c, kind in enumerate(relation.kinds))
        return Table(relation.kinds, columns, len(data))

    def size(self, name: str) -> int:
        return self.all.count(self.relations[name])

    def facts(self) -> int:
        """Rows held, of all relations but those that string functors keep."""
        sizes = self.store.sizes()
        return int(sizes.sum() - sizes[self._book.functors].sum())

    def memory(self) -> int:
        return self.store.memory() + self.dictionary.memory()

    # Sets.

    def none(self) -> LocalSet:
        if not self._free_bits:
            raise RuntimeError(f"more than {BITS} sets at once")
        return LocalSet(self, self._free_bits.pop())

    def release(self, bit: int) -> None:
        self._free_bits.append(bit)

    def settle(self, facts: FactSet) -> FactSet:
        return facts

    def members(self, view: View) -> Iterator[tuple[int, slice | Rows]]:
        """The rows of a view, by relation."""
        if isinstance(view, LocalSet):
            for r in view.relations():
                yield r, view.span(r) or view.rows(r)
            return
        sets = bound(view)
        if sets is None:
            raise ValueError("this view has no bounds: it cannot be listed")
        table = self._runner.table(view)
        for r in sorted({r for s in sets for r in s.relations()}):
            rows = np.unique(np.concatenate([s.rows(r) for s in sets]))
            rows = rows[table[self.store.mask(r)[rows]] != 0]
            if len(rows):
                yield r, rows

    # The four evaluators.

    def derive(
        self,
        rules: Sequence[Rule],
        *,
        touching: FactSet,
        within: View,
        guard: View | None = None,
        negative: View | None = None,
    ) -> LocalSet:
        return self._evaluate(rules, "delta", Reading(within, guard, negative, _local(touching)))

    def apply(
        self,
        rules: Sequence[Rule],
        *,
        within: View,
        guard: View | None = None,
        negative: View | None = None,
    ) -> LocalSet:
        return self._evaluate(rules, "apply", Reading(within, guard, negative))

    def provable(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
    ) -> LocalSet:
        return self._evaluate(rules, "prove", Reading(within, None, negative, _local(facts)))

    def support(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
    ) -> LocalSet:
        return self._evaluate(rules, "support", Reading(within, None, negative, _local(facts)))

    def _evaluate(self, rules: Sequence[Rule], mode: Mode, reading: Reading) -> LocalSet:
        result = self.none()
        touched = tuple(reading.touching.relations()) if reading.touching is not None else ()
        batch = self._book.batch_for(rules, mode, touched)
        if batch is None:
            return result
        self.counters.evaluations += 1
        if self.measure is None:
            self._run(batch, result, reading)
            return result
        for plan in batch.plans:
            began, facts = time.perf_counter(), len(result)
            instances = self._run(self._book.batch((plan,)), result, reading)
            seconds = time.perf_counter() - began
            self.measure(Measure(plan.rule, seconds, instances, len(result) - facts))
        return result

    def _run(self, batch: Batch, result: LocalSet, reading: Reading) -> int:
        for request in batch.requests:
            self._answer(request, reading)
        instances = self._runner.run(batch, result, reading)
        self.counters.instances += instances
        return instances

    def _answer(self, request: Request, reading: Reading) -> None:
        """Collect arguments that a string functor has not met, and have it computed."""
        call = request.outside
        asked, into = self.relations[call.requests], self.relations[call.relation]
        before = self.store.size(asked)
        found = self.none()
        try:
            # A request that was made before has its answer: only new rows are of interest.
            self._runner.run(
                self._book.batch((request.plan,)), found, replace(reading, guard=~self.all)
            )
            self._runner.answer(call, request.plan.rule, asked, into, before)
        except BaseException:
            # A request without an answer would read as 'there is none': forget them all.
            found.clear()
            self.store.clear(asked)
            self.store.clear(into)
            raise

    def plan_of(self, rule: Rule) -> Plan:
        """How the rule would be evaluated now, for `tidelog plan`."""
        return self._book.plan(rule, "apply", -1)

    # Questions.

    def holds(self, relation: Relation, row: Sequence[Value]) -> bool:
        """Is this fact in the materialisation?"""
        if len(row) != relation.arity or not all(map(fits, relation.kinds, row)):
            return False
        known = self.dictionary.known
        ids = [known(kind, value) for kind, value in zip(relation.kinds, row, strict=True)]
        if ABSENT in ids:
            return False
        r = self.relations[relation.name]
        number = self.store.find(r, ids)
        return number >= 0 and bool(self.store.mask(r)[number] & np.uint16(self.all.bit))

    def ask(self, strata: Sequence[Stratum], relation: Relation) -> Table:
        """Evaluate rules over relations of their own, and forget all but the answer."""
        found = self.none()
        self.declare(relation)
        try:
            for stratum in strata:
                view = self.all | found
                found |= self.apply(stratum.rules, within=view)
            return self.table(relation.name, found.rows(self.relations[relation.name]))
        finally:
            found.clear()
            for stratum in strata:
                for name in stratum.relations:
                    if name in self.relations:
                        self.store.clear(self.relations[name])
            self._book.forget(rule for stratum in strata for rule in stratum.rules)
            del self.kinds[relation.name]


def _local(facts: FactSet) -> LocalSet:
    assert isinstance(facts, LocalSet)
    return facts
