"""One evaluation: tell the kernel what each role reads, and run it."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidelog.engine import Combination, Rounds, Split, View
from tidelog.local.bitmap import Bitmap
from tidelog.local.dictionary import Dictionary
from tidelog.local.functor_calls import in_rule
from tidelog.local.kernels import layout as at
from tidelog.local.kernels.bits import give
from tidelog.local.kernels.join import run
from tidelog.local.plan_cache import Choice, PlanBatch
from tidelog.local.row_store import Rows, RowStore
from tidelog.local.sets import (
    CACHED_TABLES,
    NO_ROWS,
    NOT_IN_ALL,
    Key,
    LocalSet,
    TruthTable,
    key_of,
    truth,
)
from tidelog.local.table_growth import Paces
from tidelog.program.builtin_functors import DIVISION_BY_ZERO, FLOAT_TOO_LARGE, ZERO_TO_NEGATIVE
from tidelog.program.diagnostics import EvaluationError
from tidelog.program.rules import Rule

Relations = frozenset[int | None]  # numbers, and None for those that have none
TICKS = 20_000_000  # work between two looks at the clock: some tenths of a second
FAILURES = {
    at.DIVISION: DIVISION_BY_ZERO,
    at.POWER: ZERO_TO_NEGATIVE,
    at.CONVERSION: FLOAT_TOO_LARGE,
}
_START = np.array((0, -1, 1, 0, 0, 0), dtype=np.int64)
_ROLES = slice(at.R_FULL, at.R_FULL + at.ROLES)
# R_FAST, then R_FULL by role: all, old, delta, neg, heads, neg delta, neg old
_FLAGS = {
    (known, full, sure): np.array((known, full, full, full, sure, 1, 1, sure), dtype=np.int64)
    for known, full, sure in product((False, True), repeat=3)
}


class Reading(NamedTuple):
    """What an evaluation reads and whom it may derive; see the engine interface."""

    within: View
    guard: View | None = None
    negative: View | None = None
    touching: LocalSet | None = None
    touching_negated: LocalSet | None = None
    counter: int = -1  # the counter that heads change, if any
    sign: int = 0  # by how much


class TruthTables(NamedTuple):
    """The truth tables of an evaluation, in the form that the kernel takes."""

    guard: TruthTable
    read: tuple[TruthTable, ...]  # by side and role
    addresses: NDArray[np.int64]
    plain: NDArray[np.int64]


@lru_cache(CACHED_TABLES)
def tables(
    inside: Key,
    outside: Key | None,
    negative: Key | None,
    guard: Key | None,
    touching: Key | None,
    lost: Key | None,
) -> TruthTables:
    """Those of views with these keys; `outside` is None if the evaluation reads one view."""
    sides = []
    read = inside if negative is None else negative
    for side in (inside, inside if outside is None else outside):
        mine = [truth(side)] * at.ROLES
        mine[at.ROLE_NEG] = mine[at.ROLE_NEG_OLD] = truth(read)
        if touching is not None:
            mine[at.ROLE_OLD] = truth(("and", side, ("not", touching)))
        if lost is not None:
            mine[at.ROLE_NEG_OLD] = truth(("or", read, lost))
        sides += mine
    return TruthTables(
        truth(guard),
        tuple(sides),
        np.array([table.address for table in sides]),
        np.array([table.all_plain or table.some_plain - 1 for table in sides]),
    )


class Views(NamedTuple):
    """What a reading's roles see. That stays the same while its sets change."""

    inside: View
    outside: View
    apart: Relations  # that are read in `inside`, if not all
    new: bool  # whether the guard lets all heads pass that are not in the materialisation
    tables: TruthTables


def views(reading: Reading, numbers: Callable[[frozenset[str]], Relations]) -> Views:
    """What a reading needs, whatever its sets hold; `numbers` are those of relations."""
    within = inside = outside = reading.within
    apart: Relations = frozenset()
    if isinstance(within, Split):
        inside, outside, apart = within.inside, within.outside, numbers(within.relations)
    touching, lost = reading.touching, reading.touching_negated
    guard = None if reading.guard is None else key_of(reading.guard)
    found = tables(
        key_of(inside),
        None if outside is inside else key_of(outside),
        None if reading.negative is None else key_of(reading.negative),
        guard,
        None if touching is None else touching.bit,
        None if lost is None else lost.bit,
    )
    new = guard == NOT_IN_ALL and not reading.sign
    return Views(inside, outside, apart, new, found)


def covers(view: View, r: int, n: int) -> bool:
    """Are all n rows of a relation in the view? False if that is expensive to find out."""
    if isinstance(view, LocalSet):
        return view.count(r) == n
    assert isinstance(view, Combination)
    if view.op == "not":
        return isinstance(view.left, LocalSet) and not view.left.count(r)
    if view.op == "or":
        return covers(view.left, r, n) or covers(view.right, r, n)
    return covers(view.left, r, n) and covers(view.right, r, n)


@dataclass(slots=True)
class Budget:
    """How much work a run may do, about an instance each; None for any."""

    work: int | None = None
    spent: bool = False


_ANY = Budget()


@dataclass(slots=True)
class Alone:
    """Rounds that a run may begin by itself: which sets their facts join, who counts them."""

    choice: Choice
    into: Sequence[LocalSet]
    rounds: Rounds
    room: int  # facts, before Python must look
    large: int  # facts of a round
    passed: int = 0  # rounds that have been reported


class Runner:
    """The kernel, its tables and its state."""

    def __init__(
        self,
        store: RowStore,
        dictionary: Dictionary,
        everything: LocalSet,
        numbers: Callable[[frozenset[str]], Relations],
        answers: Container[int],
    ) -> None:
        # Finds dirty rows, in an update; if not sure that it pays, maybe not.
        self.find_dirty: Callable[[int, bool], None] | None = None
        self.tick: Callable[[Rule | None], None] = lambda rule: None
        self.runs = 0
        self._store = store
        self._dictionary = dictionary
        self._all = everything
        self._numbers = numbers
        self._answers = answers  # relations that hold the results of string functors
        self._state = np.zeros(at.T_WIDTH, dtype=np.int64)
        self._state_at: int = self._state.ctypes.data
        self._rounds = np.zeros(at.W_WIDTH, dtype=np.int64)
        self._rounds_at: int = self._rounds.ctypes.data
        self._make_buffer(0)
        self._env_at: int = dictionary.env.ctypes.data
        self._fresh: dict[int, Bitmap] = {}
        self._used: set[int] = set()  # relations of which these bits are not all zero
        self._read: TruthTables | None = None  # alive as long as the kernel may read them
        self._held: list[Rows] = []  # what the kernel reads by address stays alive here

    def _make_buffer(self, widest: int) -> None:
        """Where heads wait, of so many columns at most."""
        self._widest = widest
        self._buffer = np.zeros(at.BUFFER * (widest + 1), dtype=np.uint64)
        self._buffer_at: int = self._buffer.ctypes.data

    def views(self, reading: Reading) -> Views:
        return views(reading, self._numbers)

    def run(
        self,
        batch: PlanBatch,
        result: LocalSet,
        reading: Reading,
        seen: Views | None = None,
        again: bool = False,
        budget: Budget | None = None,
        alone: Alone | None = None,
    ) -> int:
        """Add to the result what the plans derive; returns the instances considered.

        With `again`, nothing has changed since the last run but the facts that are touched, and
        whatever the run finds has a row. A run that has spent its budget ends at once. A run that
        is `alone` may go on with further rounds: the delta of each has joined its sets and is
        what is touched, and the result is that of the last one.
        """
        rels = self._store.tables.rels
        self.runs += 1
        if again and reading.touching is not None:
            self._held.clear()
            for r in reading.touching.relations():
                self._give(r, reading.touching, at.R_DLIST)
                rels[r, at.R_FULL + at.ROLE_OLD] = 0
        else:
            if batch.symbols_ordered:
                self._dictionary.order_symbols()
            self._set_views(batch, reading, seen or self.views(reading))
        self._dictionary.env[at.E_OUTBIT] = result.bit
        first = [int(rels[r, at.R_N]) for r in batch.heads]
        batch.counts.fill(0)
        self._state[:] = _START
        if batch.widest > self._widest:
            self._make_buffer(batch.widest)
        if alone is not None:
            self._let_alone(batch, reading, alone)
        try:
            self._loop(batch, budget or _ANY, alone)
        finally:
            if alone is not None:
                first = self._end_alone(batch, reading, alone, first)
            # What an interrupted run added is in the result alone, which the caller drops.
            for r, start in zip(batch.heads, first, strict=True):
                stop = int(rels[r, at.R_N])
                if start < stop:
                    result.adopt(r, slice(start, stop), stop - start)
                    if r in batch.both:
                        self._used.add(r)
                if rels[r, at.R_OUTN]:
                    listed = self._store.take_out(r)
                    result.adopt(r, listed, len(listed))
        return sum(batch.counts.tolist())

    def _let_alone(self, batch: PlanBatch, reading: Reading, alone: Alone) -> None:
        """Tell the kernel what it needs to go on with the next round."""
        new, choice = reading.touching, alone.choice
        assert new is not None
        assert choice.roles is not None
        for r in batch.used:
            if not new.count(r):  # a plan scans its delta nevertheless
                self._store.tables.rels[r, at.R_DLIST : at.R_DHI + 1] = 0
        bits = new.bit
        for facts in alone.into:
            bits |= facts.bit
        self._rounds[:] = (
            *(0, 0, alone.room, alone.large, new.bit, bits, self._store.counters.now),
            *(choice.roles.ctypes.data, len(batch.used)),
            *(batch.index_array.ctypes.data, len(batch.index_array)),
            *(a.ctypes.data for a in (choice.relations, choice.low, choice.high)),
            len(choice.relations),
        )
        self._dictionary.env[at.E_ROUNDS] = self._rounds_at

    def _end_alone(
        self, batch: PlanBatch, reading: Reading, alone: Alone, first: list[int]
    ) -> list[int]:
        """Give the sets what the kernel put there; returns where the last round's rows begin."""
        self._dictionary.env[at.E_ROUNDS] = 0
        if not self._rounds[at.W_PASSED]:
            return first
        self._report(alone)
        rels, new = self._store.tables.rels, reading.touching
        assert new is not None
        self._store.counters.now = int(self._rounds[at.W_AGE])
        starts = [int(rels[r, at.R_START]) for r in batch.heads]
        for r, start, stop in zip(batch.heads, first, starts, strict=True):
            if start < stop:
                for facts in alone.into:
                    facts.adopt(r, slice(start, stop), stop - start)
                if r in batch.both:
                    self._used.add(r)
        for r in new.relations():
            if r not in batch.used:
                new.empty(r)
        deltas = {r: slice(*rels[r, at.R_DLO : at.R_DHI + 1].tolist()) for r in batch.heads}
        new.replace({r: span for r, span in deltas.items() if span.start < span.stop})
        return starts

    def _report(self, alone: Alone) -> None:
        """Report rounds that the kernel has begun."""
        passed = int(self._rounds[at.W_PASSED])
        if passed > alone.passed:
            more, alone.passed = passed - alone.passed, passed
            alone.rounds.passed(more)

    def _loop(self, batch: PlanBatch, budget: Budget, alone: Alone | None) -> None:
        store, env, state = self._store, self._dictionary.env, self._state
        tables, paces = store.tables, None
        program, arguments, starts, registers, places, ends, stack, counts = batch.addresses
        while True:
            env[at.E_TICKS] = TICKS if budget.work is None else min(TICKS, budget.work)
            status = run(
                tables.rels_at,
                store.indexes.table_at,
                self._env_at,
                *(program, arguments, starts),
                len(batch.plans),
                counts,
                self._state_at,
                *(registers, places, ends),
                tables.scratch_at,
                stack,
                self._buffer_at,
            )
            if status == at.DONE:
                if budget.work is not None:
                    budget.work = max(1, budget.work - sum(batch.counts.tolist()))
                return
            if status == at.PAUSE and budget.work is not None:
                budget.spent = True
                return
            if alone is not None:
                self._report(alone)
            rule = batch.plans[int(state[at.T_PLAN])].rule
            if status == at.GROW_ROWS:
                r = int(state[at.T_WHAT])
                paces = paces or Paces(store, batch)
                store.grow(r, paces.likely(int(state[at.T_PLAN]), r))
            elif status == at.GROW_OUT:
                store.grow_out(int(state[at.T_WHAT]))
            elif status == at.GROW_WORDS:
                self._dictionary.grow()
            elif status == at.GROW_TERMS:
                self._dictionary.terms.grow()
            elif status in FAILURES:
                raise EvaluationError(in_rule(FAILURES[status], rule))
            self.tick(rule)

    def _set_views(self, batch: PlanBatch, reading: Reading, views: Views) -> None:
        rels, env = self._store.tables.rels, self._dictionary.env
        touching, lost = reading.touching, reading.touching_negated
        tables = self._read = views.tables
        self._set_flags(batch, reading, views)
        self._held.clear()
        for r in batch.keys:  # of the changed groups: collected just before
            rels[r, at.R_DLIST : at.R_DHI + 1] = (0, 0, rels[r, at.R_N])
        olds: dict[int, int] = {}
        for r in batch.used:
            if touching is not None and touching.count(r):
                span = self._give(r, touching, at.R_DLIST)
                whole = span is not None and span.stop == rels[r, at.R_N]
                if span is not None and whole and rels[r, at.R_FULL + at.ROLE_ALL]:
                    olds[r] = rels[r, at.R_OLD] = span.start
                else:
                    rels[r, at.R_FULL + at.ROLE_OLD] = 0
            if lost is not None and lost.count(r):
                self._give(r, lost, at.R_NLIST)
                rels[r, at.R_FULL + at.ROLE_NEG_OLD] = 0
        for x in batch.indexes:
            r = int(self._store.indexes.table[x, at.X_REL])
            if not self._store.indexes.catch_up(x, olds.get(r)):
                rels[r, at.R_FULL + at.ROLE_OLD] = 0
        self._set_guard(reading, batch, tables.guard)
        self._fill(batch)
        self._set_fresh(batch)
        env[at.E_VIEWS : at.E_VIEWS + 2 * at.ROLES] = tables.addresses
        env[at.E_PLAIN : at.E_PLAIN + 2 * at.ROLES] = tables.plain

    def _set_flags(self, batch: PlanBatch, reading: Reading, views: Views) -> None:
        """Per relation and role, whether every row is in the view: then joins need no masks."""
        rels, negative = self._store.tables.rels, reading.negative
        inside, outside, apart = views.inside, views.outside, views.apart
        split = inside is not outside
        for r in batch.used:
            row = rels[r]
            n = int(row[at.R_N])
            if r in self._answers:  # in no set; all may be read
                full = sure = known = True
            else:
                full = covers(inside if not split or r in apart else outside, r, n)
                sure = full if negative is None else covers(negative, r, n)
                known = views.new and self._all.count(r) == n
            row[at.R_START : at.R_OLD + 1] = n
            row[at.R_FAST : at.R_FULL + at.ROLES] = _FLAGS[known, full, sure]
            row[at.R_SIDE] = at.ROLES if split and r not in apart else 0
            row[at.R_FRESH] = 0
            if self.find_dirty and not (full and sure and known) and not row[at.R_ODD]:
                self.find_dirty(r, False)

    def _give(self, r: int, facts: LocalSet, column: int) -> slice | None:
        """Tell the kernel a relation's delta: a range of rows (returned), or a list."""
        span = facts.span(r)
        if span is not None:
            give(self._store.tables.rels_at, r, column, NO_ROWS, span.start, span.stop)
        else:
            rows = facts.rows(r)
            self._held.append(rows)
            give(self._store.tables.rels_at, r, column, rows, 0, 0)
        return span

    def _set_guard(self, reading: Reading, batch: PlanBatch, guard: TruthTable) -> None:
        env = self._dictionary.env
        env[at.E_GUARD] = guard.address
        env[at.E_GUARD_NEW] = guard.of_nothing
        env[at.E_GUARD_PLAIN] = guard.some_plain
        env[at.E_COUNTER] = at.R_COUNT + reading.counter if reading.sign else 0
        env[at.E_SIGN] = reading.sign
        if reading.sign:
            for r in batch.heads:
                self._store.counters.of(r, reading.counter)

    def _set_fresh(self, batch: PlanBatch) -> None:
        """Relations that the run both adds to and looks facts up in note what it adds."""
        for r in batch.both:
            bits = self._fresh.get(r)
            if bits is None:
                bits = self._fresh[r] = Bitmap()
            elif r in self._used:
                bits.clear()
                self._used.remove(r)
            self._store.tables.rels[r, at.R_FRESH] = bits.address

    def _fill(self, batch: PlanBatch) -> None:
        """Row numbers are needed where single facts are looked up or masks are read."""
        rels = self._store.tables.rels
        for r in batch.used:
            if rels[r, at.R_FILLED] < rels[r, at.R_N] and (
                r in batch.members
                or (r in batch.heads and not rels[r, at.R_FAST])
                or (r in batch.reads and 0 in rels[r, _ROLES].tolist())
            ):
                self._store.fill(r)
