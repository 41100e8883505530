"""The local engine: the seam over Numba kernels, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tidelog.engines.local.functors import compute
from tidelog.engines.local.kernels import layout as at
from tidelog.engines.local.kernels.join import ALL_BOUND, run
from tidelog.engines.local.planner import (
    NO_BACK,
    Catalog,
    Mode,
    Outside,
    Plan,
    Prepared,
    Request,
    make_plan,
    prepare,
)
from tidelog.engines.local.sets import Key, LocalSet, Rows, bound, key_of, truth
from tidelog.engines.local.store import Store
from tidelog.engines.local.values import ABSENT, Dictionary
from tidelog.maintain.seam import Combination, FactSet, View
from tidelog.program.diagnostics import EvaluationError
from tidelog.program.rules import Literal, Relation, Rule, Stratum
from tidelog.program.syntax import Value
from tidelog.program.table import Table

TICKS = 20_000_000  # work between two looks at the clock: some tenths of a second
FAILURES = {
    at.DIVISION: "division by zero",
    at.POWER: "zero to a negative power",
}


@dataclass(slots=True)
class Batch:
    """Plans put together for one call of the kernel."""

    plans: tuple[Plan, ...]
    arrays: tuple[NDArray[np.int64], ...]  # what the addresses point into
    addresses: tuple[int, int, int]  # of steps, arguments and the plans' starts
    workspace: tuple[int, int, int]  # of registers, places and ends
    stack_at: int
    indexes: tuple[int, ...]
    heads: tuple[int, ...]
    reads: tuple[int, ...]
    members: tuple[int, ...]  # relations whose facts are looked up one by one
    symbols_ordered: bool
    requests: tuple[Request, ...]


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


@dataclass(slots=True)
class Watcher:
    """Called while work goes on: may raise to stop it, may show progress."""

    tick: Callable[[Rule | None], None] = lambda rule: None
    measure: Callable[[Measure], None] | None = None  # asked for, rules run one by one


@dataclass(slots=True)
class _Views:
    """The tables of one evaluation, kept alive while the kernel reads them."""

    tables: list[NDArray[np.uint8]] = field(default_factory=list)


class LocalEngine:
    """Relations by name, sets as bits, rules through the join kernel."""

    def __init__(self) -> None:
        self.closed = False
        self.store = Store()
        self.dictionary = Dictionary()
        self.watcher = Watcher()
        self.counters = Counters()
        self.relations: dict[str, int] = {}
        self.kinds: dict[str, Relation] = {}
        self._answers: list[int] = []  # relations that hold the results of string functors
        self._free_bits = [1 << i for i in range(15, -1, -1)]
        self._tables: dict[Key, NDArray[np.uint8]] = {}
        # Rules are known by identity: comparing them on every evaluation would cost more.
        self._prepared: dict[int, Prepared] = {}
        self._plans: dict[tuple[int, Mode, int], tuple[tuple[int, ...], Plan]] = {}
        self._batches: dict[tuple[int, ...], Batch] = {}
        self._catalog = Catalog(
            relation=self.relation,
            size=self.store.size,
            fanout=self.store.fanout,
            index=self.store.index,
            identify=self.dictionary.id,
            word=self.dictionary.word,
        )
        self._state = np.zeros(at.T_WIDTH, dtype=np.int64)
        self._buffer = np.zeros(at.BUFFER, dtype=np.uint64)  # of heads, grown to the widest
        self.explicit = LocalSet(self, self._free_bits.pop(), whole=True)
        self.all = LocalSet(self, self._free_bits.pop(), whole=True)

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
        if not table.columns:
            data = np.empty((min(1, table.size), 0), dtype=np.uint32)
        else:
            data = np.empty((table.size, len(table.columns)), dtype=np.uint32)
            for c, (kind, column) in enumerate(zip(table.kinds, table.columns, strict=True)):
                data[:, c] = self.dictionary.encode(kind, column)
        before = self.store.size(r)
        rows = self.store.load(r, data, 0)
        fresh = slice(before, self.store.size(r))
        old = rows[rows < before].astype(np.uint32)
        for target in into:
            target.add(r, fresh)
            if len(old):
                target.add(r, np.unique(old))

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
        """Rows held, of all relations."""
        return int(self.store.rels[:, at.R_N].sum())

    def memory(self) -> int:
        return self.store.memory() + self.dictionary.memory()

    # Sets.

    def none(self) -> LocalSet:
        if not self._free_bits:
            raise RuntimeError("more than sixteen sets at once")
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
        table = self._table(view)
        for r in sorted({r for s in sets for r in s.relations()}):
            rows = np.unique(np.concatenate([s.rows(r) for s in sets]))
            rows = rows[table[self.store.mask(r)[rows]] != 0]
            if len(rows):
                yield r, rows

    def _table(self, view: View) -> NDArray[np.uint8]:
        key = key_of(view)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = truth(key).astype(np.uint8)
        return table

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
        assert isinstance(touching, LocalSet)
        changed = set(touching.relations())
        chosen: list[tuple[Rule, Mode, int]] = []
        for rule in rules:
            for place, part in enumerate(self._prepare(rule).parts):
                if (
                    isinstance(part, Literal)
                    and not part.negated
                    and self.relations.get(part.relation) in changed
                ):
                    chosen.append((rule, "delta", place))
        return self._evaluate(chosen, within, guard, negative, touching)

    def apply(
        self,
        rules: Sequence[Rule],
        *,
        within: View,
        guard: View | None = None,
        negative: View | None = None,
    ) -> LocalSet:
        return self._evaluate([(r, "apply", -1) for r in rules], within, guard, negative, None)

    def provable(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
    ) -> LocalSet:
        chosen = self._about(rules, facts, "prove")
        return self._evaluate(chosen, within, None, negative, facts)

    def support(
        self,
        rules: Sequence[Rule],
        facts: FactSet,
        *,
        within: View,
        negative: View | None = None,
    ) -> LocalSet:
        chosen = self._about(rules, facts, "support")
        return self._evaluate(chosen, within, None, negative, facts)

    def _about(
        self, rules: Sequence[Rule], facts: FactSet, mode: Mode
    ) -> list[tuple[Rule, Mode, int]]:
        assert isinstance(facts, LocalSet)
        present = set(facts.relations())
        return [(rule, mode, -1) for rule in rules if self.relations[rule.head.relation] in present]

    # How an evaluation goes.

    def _evaluate(
        self,
        chosen: list[tuple[Rule, Mode, int]],
        within: View,
        guard: View | None,
        negative: View | None,
        touching: FactSet | None,
    ) -> LocalSet:
        result = self.none()
        if not chosen:
            return result
        assert touching is None or isinstance(touching, LocalSet)
        self.counters.evaluations += 1
        plans = tuple(self._plan(*choice) for choice in chosen)
        single = self.watcher.measure is not None
        batches = [self._batch((p,)) for p in plans] if single else [self._batch(plans)]
        for batch in batches:
            began, facts = time.perf_counter(), len(result)
            for request in batch.requests:
                self._answer(request, within, negative, touching)
            instances = self._run(batch, result, within, guard, negative, touching)
            self.counters.instances += instances
            if self.watcher.measure is not None:
                seconds = time.perf_counter() - began
                rule = batch.plans[0].rule
                self.watcher.measure(Measure(rule, seconds, instances, len(result) - facts))
        return result

    def _run(
        self,
        batch: Batch,
        result: LocalSet,
        within: View,
        guard: View | None,
        negative: View | None,
        touching: LocalSet | None,
    ) -> int:
        env = self.dictionary.env
        if batch.symbols_ordered:
            self.dictionary.order_symbols()
        kept = self._set_views(batch, within, guard, negative, touching)
        env[at.E_OUTBIT] = result.bit
        rels = self.store.rels
        first = {r: int(rels[r, at.R_N]) for r in batch.heads}
        counts = np.zeros(len(batch.plans), dtype=np.int64)
        state = self._state
        state[:] = (0, -1, 1, 0, 0, 0)
        widest = int(rels[list(batch.heads), at.R_ARITY].max()) + 1
        if len(self._buffer) < at.BUFFER * widest:
            self._buffer = np.zeros(at.BUFFER * widest, dtype=np.uint64)
        try:
            self._loop(batch, counts)
        finally:
            # Rows that an interrupted run left are in no set but the result, which is dropped.
            for r in batch.heads:
                fresh, listed = slice(first[r], int(rels[r, at.R_N])), self.store.take_out(r)
                if fresh.start < fresh.stop:
                    result.adopt(r, fresh, fresh.stop - fresh.start)
                if len(listed):
                    result.adopt(r, listed, len(listed))
            kept.clear()
        return int(counts.sum())

    def _loop(self, batch: Batch, counts: NDArray[np.int64]) -> None:
        store, env, state = self.store, self.dictionary.env, self._state
        env_at, state_at, counts_at = env.ctypes.data, state.ctypes.data, counts.ctypes.data
        buffer_at = self._buffer.ctypes.data
        while True:
            env[at.E_TICKS] = TICKS
            status = run(
                store.rels_at,
                store.idxs_at,
                env_at,
                *batch.addresses,
                len(batch.plans),
                counts_at,
                state_at,
                *batch.workspace,
                store.scratch_at,
                batch.stack_at,
                buffer_at,
            )
            if status == at.DONE:
                return
            rule = batch.plans[int(state[at.T_PLAN])].rule
            if status == at.GROW_ROWS:
                store.grow(int(state[at.T_WHAT]))
            elif status == at.GROW_OUT:
                store.grow_out(int(state[at.T_WHAT]))
            elif status == at.GROW_WORDS:
                self.dictionary.grow()
            elif status in FAILURES:
                raise EvaluationError(_in_rule(FAILURES[status], rule))
            self.watcher.tick(rule)

    def _set_views(
        self,
        batch: Batch,
        within: View,
        guard: View | None,
        negative: View | None,
        touching: LocalSet | None,
    ) -> list[NDArray[np.uint8]]:
        """Tell the kernel what each role reads; returns the tables, to be kept alive."""
        rels, env = self.store.rels, self.dictionary.env
        n = rels[:, at.R_N]
        rels[:, at.R_START] = n
        rels[:, at.R_OLD] = n
        full = self._full(within)
        rels[:, at.R_FULL + at.ROLE_ALL] = full
        rels[:, at.R_FULL + at.ROLE_OLD] = full
        rels[:, at.R_FULL + at.ROLE_DELTA] = full
        rels[:, at.R_FULL + at.ROLE_NEG] = full if negative is None else self._full(negative)
        rels[:, at.R_FULL + at.ROLE_HEADS] = 1
        tables = [self._table(within)] * at.ROLES
        if negative is not None:
            tables[at.ROLE_NEG] = self._table(negative)
        olds: dict[int, int] = {}
        if touching is not None:
            tables[at.ROLE_OLD] = self._table(within - touching)
            for r in touching.relations():
                span = touching.span(r)
                if span is not None:
                    rels[r, at.R_DLIST] = 0
                    rels[r, at.R_DLO], rels[r, at.R_DHI] = span.start, span.stop
                else:
                    rows = touching.rows(r)
                    touching.parts[r] = [rows]
                    rels[r, at.R_DLIST] = rows.ctypes.data
                    rels[r, at.R_DLO], rels[r, at.R_DHI] = 0, len(rows)
                if span is not None and span.stop == n[r] and full[r]:
                    olds[r] = rels[r, at.R_OLD] = span.start
                else:
                    rels[r, at.R_FULL + at.ROLE_OLD] = 0
        for x in batch.indexes:
            r = int(self.store.idxs[x, at.X_REL])
            if not self.store.catch_up(x, olds.get(r)):
                rels[r, at.R_FULL + at.ROLE_OLD] = 0
        if guard is None:
            env[at.E_GUARD_NEW] = 1
            tables.append(_EVERY)
            rels[:, at.R_FAST] = 0
        else:
            table = self._table(guard)
            env[at.E_GUARD_NEW] = int(table[0])
            tables.append(table)
            excluded = key_of(guard)
            fast = excluded == ("not", key_of(self.all))
            rels[:, at.R_FAST] = self._full(self.all) if fast else 0
        self._fill(batch)
        for role in range(at.ROLES):
            env[at.E_VIEWS + role] = tables[role].ctypes.data
        env[at.E_GUARD] = tables[at.ROLES].ctypes.data
        return tables

    def _fill(self, batch: Batch) -> None:
        """Row numbers are needed where single facts are looked up or masks are read."""
        rels, roles = self.store.rels, slice(at.R_FULL, at.R_FULL + at.ROLE_HEADS)
        for r in batch.members:
            self.store.fill(r)
        for r in batch.reads:
            if not rels[r, roles].all():
                self.store.fill(r)
        for r in batch.heads:
            if not rels[r, at.R_FAST]:
                self.store.fill(r)

    def _full(self, view: View) -> NDArray[np.int64]:
        """Per relation, 1 where every row is in the view."""
        full = self._covers(view)
        full[self._answers] = True  # answers of functors are in no set; all may be read
        return full.astype(np.int64)

    def _covers(self, view: View) -> NDArray[np.bool_]:
        if isinstance(view, LocalSet):
            counts = np.zeros(len(self.store.rels), dtype=np.int64)
            counts[: len(view.counts)] = view.counts
            return np.asarray(counts == self.store.rels[:, at.R_N])
        assert isinstance(view, Combination)
        if view.op == "not":
            return ~self._meets(view.left)
        left, right = self._covers(view.left), self._covers(view.right)
        return left | right if view.op == "or" else left & right

    def _meets(self, view: View) -> NDArray[np.bool_]:
        """Per relation, False where certainly no row is in the view."""
        if isinstance(view, LocalSet):
            some = np.zeros(len(self.store.rels), dtype=np.bool_)
            some[: len(view.counts)] = view.counts > 0
            return some
        return np.ones(len(self.store.rels), dtype=np.bool_)

    # String functors.

    def _answer(
        self,
        request: Request,
        within: View,
        negative: View | None,
        touching: LocalSet | None,
    ) -> None:
        """Collect the arguments that a functor has not met, and let Python compute them."""
        call = request.outside
        asked = self.relations[call.requests]
        before = self.store.size(asked)
        found = self.none()
        self._run(self._batch((request.plan,)), found, within, ~self.all, negative, touching)
        found.clear()
        rows = self.store.rows(asked)[before:]
        if not len(rows):
            return
        kinds = call.signature
        columns = [self.dictionary.values(k, rows[:, c]) for c, k in enumerate(kinds[:-1])]
        try:
            results = compute(call.functor, kinds, columns, len(rows))
        except EvaluationError as error:
            raise EvaluationError(_in_rule(str(error), request.plan.rule)) from None
        answers = np.empty((len(rows), len(kinds)), dtype=np.uint32)
        answers[:, :-1] = rows
        column = Table.from_rows((kinds[-1],), [(v,) for v in results]).columns[0]
        answers[:, -1] = self.dictionary.encode(kinds[-1], column)
        self.store.load(self.relations[call.relation], answers, 0)

    # Questions.

    def holds(self, relation: Relation, row: Sequence[Value]) -> bool:
        """Is this fact in the materialisation?"""
        if len(row) != relation.arity:
            return False
        known = self.dictionary.known
        ids = [known(kind, value) for kind, value in zip(relation.kinds, row, strict=True)]
        r = self.relations[relation.name]
        if ABSENT in ids:
            return False
        number = self.store.find(r, ids)
        return number >= 0 and bool(self.store.mask(r)[number] & np.uint16(self.all.bit))

    def ask(self, strata: Sequence[Stratum], relation: Relation) -> Table:
        """Evaluate rules over relations of their own, and forget all but the answer."""
        heads = [name for stratum in strata for name in stratum.relations if stratum.rules]
        found = self.none()
        self.kinds[relation.name] = relation
        try:
            for stratum in strata:
                if stratum.rules:
                    view = self.all | found
                    found |= self.apply(stratum.rules, within=view, negative=view)
            r = self.relation(relation.name, relation.arity)
            return self.table(relation.name, found.rows(r))
        finally:
            found.clear()
            for name in heads:
                if name in self.relations:
                    self.store.clear(self.relations[name])
            del self.kinds[relation.name]
            for stratum in strata:
                for rule in stratum.rules:
                    self._forget(rule)

    def _forget(self, rule: Rule) -> None:
        self._prepared.pop(id(rule), None)
        for key in [key for key in self._plans if key[0] == id(rule)]:
            del self._plans[key]
        self._batches.clear()

    # Plans.

    def _prepare(self, rule: Rule) -> Prepared:
        prepared = self._prepared.get(id(rule))
        if prepared is None:
            prepared = self._prepared[id(rule)] = prepare(rule)
            for call in prepared.outside:
                self._answers.append(self.relation(call.relation, len(call.signature)))
                self.relation(call.requests, len(call.signature) - 1)
        return prepared

    def _plan(self, rule: Rule, mode: Mode, delta: int) -> Plan:
        """The plan for the sizes of now: it is made again when they have changed much."""
        prepared = self._prepare(rule)
        sizes = tuple(
            self.store.size(self.relation(p.relation, len(p.terms))).bit_length() // 2
            for p in prepared.parts
            if isinstance(p, Literal)
        )
        known = self._plans.get((id(rule), mode, delta))
        if known is not None and known[0] == sizes:
            return known[1]
        plan = make_plan(self._catalog, prepared, mode, delta)
        self._plans[id(rule), mode, delta] = (sizes, plan)
        return plan

    def plan_of(self, rule: Rule) -> Plan:
        """How the rule would be evaluated now, for `tidelog plan`."""
        return self._plan(rule, "apply", -1)

    def _batch(self, plans: tuple[Plan, ...]) -> Batch:
        key = tuple(id(plan) for plan in plans)
        batch = self._batches.get(key)
        if batch is None:
            if len(self._batches) > 4096:
                self._batches.clear()
            batch = self._batches[key] = _put_together(plans)
        return batch


_EVERY = np.ones(1 << 16, dtype=np.uint8)


def _in_rule(message: str, rule: Rule) -> str:
    where = f"{rule.at.file}:{rule.at.line}:{rule.at.column}: " if rule.at.line else ""
    return f"{where}error: {message} in the rule\n    {rule.text}"


def _put_together(plans: tuple[Plan, ...]) -> Batch:
    starts = np.cumsum([0] + [len(plan.steps) for plan in plans])
    steps = np.concatenate([plan.steps for plan in plans])
    args_at = 0
    for plan, start in zip(plans, starts.tolist(), strict=False):
        mine = steps[start : start + len(plan.steps)]
        mine[:, at.P_ARGS] += args_at
        mine[mine[:, at.P_BACK] > NO_BACK, at.P_BACK] += start
        args_at += len(plan.args)
    ops, relations = steps[:, at.P_OP], steps[:, at.P_REL]
    heads = np.isin(ops, (at.OP_EMIT, at.OP_PROVE, at.OP_SUPPORT))
    reads = np.isin(ops, (at.OP_SCAN, at.OP_LOOKUP, at.OP_MEMBER, at.OP_GROUP))
    members = np.isin(ops, (at.OP_MEMBER, at.OP_SUPPORT))
    members |= (ops == at.OP_GROUP) & (steps[:, at.P_IDX] == ALL_BOUND)
    arrays = (
        np.ascontiguousarray(steps),
        np.concatenate([plan.args for plan in plans]),
        starts.astype(np.int64),
        np.zeros(max(plan.registers for plan in plans) + 1, dtype=np.int64),
        np.zeros(len(steps) + 1, dtype=np.int64),
        np.zeros(len(steps) + 1, dtype=np.int64),
        np.zeros(max(plan.stack for plan in plans) + 2, dtype=np.int64),
    )
    places = [array.ctypes.data for array in arrays]
    return Batch(
        plans,
        arrays,
        (places[0], places[1], places[2]),
        (places[3], places[4], places[5]),
        places[6],
        tuple(dict.fromkeys(x for plan in plans for x in plan.indexes)),
        tuple(np.unique(relations[heads]).tolist()),
        tuple(np.unique(relations[reads]).tolist()),
        tuple(np.unique(relations[members]).tolist()),
        any(plan.symbols_ordered for plan in plans),
        tuple(r for plan in plans for r in plan.requests),
    )


__all__ = ["LocalEngine", "Measure", "Outside", "Value", "Watcher"]
