"""One evaluation: tell the kernel what each role reads, run it, answer string functors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidelog.engine import Combination, Rounds, Split, View
from tidelog.local.bitmap import Bitmap
from tidelog.local.body import Outside
from tidelog.local.dictionary import Dictionary
from tidelog.local.functor_calls import call as call_function
from tidelog.local.kernels import layout as at
from tidelog.local.kernels.bits import give
from tidelog.local.kernels.join import run
from tidelog.local.plan_cache import Batch, Choice
from tidelog.local.sets import NO_ROWS, Key, LocalSet, Rows, key_of, truth
from tidelog.local.store import Store
from tidelog.local.string_functors import compute
from tidelog.program.builtin_functors import (
    DIVISION_BY_ZERO,
    FLOAT_TOO_LARGE,
    ZERO_TO_NEGATIVE,
)
from tidelog.program.diagnostics import EvaluationError, LimitError, doubt
from tidelog.program.functors import Functor
from tidelog.program.rules import Rule
from tidelog.program.table import Column, Table

MOST_TABLES = 500
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


class Truth(NamedTuple):
    """For every mask, whether a row with it is in a view."""

    holds: NDArray[np.uint8]
    address: int
    of_nothing: int  # whether a fact that is in no set is in the view
    all_plain: int  # whether all facts are that are in the materialisation and in no other set
    some_plain: int  # whether some of those are: explicit ones, or the others

    @classmethod
    def of(cls, holds: NDArray[np.uint8], plain: Sequence[int]) -> Truth:
        of_plain = [int(holds[mask]) for mask in plain]
        return cls(holds, holds.ctypes.data, int(holds[0]), min(of_plain), max(of_plain))


class Reading(NamedTuple):
    """What an evaluation reads and whom it may derive; see the engine interface."""

    within: View
    guard: View | None = None
    negative: View | None = None
    touching: LocalSet | None = None
    touching_negated: LocalSet | None = None
    counter: int = -1  # the counter that heads change, if any
    sign: int = 0  # by how much


class Tables(NamedTuple):
    """The truth tables of a reading, in the form that the kernel takes."""

    guard: Truth
    read: tuple[Truth, ...]  # by side and role
    addresses: NDArray[np.int64]
    plain: NDArray[np.int64]


class Views(NamedTuple):
    """What a reading's roles see. That stays the same while its sets change."""

    inside: View
    outside: View
    apart: frozenset[int | None]  # relations that are read in `inside`, if not all
    fast: View | None  # the set that heads must not be in, where that is all the guard says
    tables: Tables


_EVERY = Truth.of(np.ones(1 << 16, dtype=np.uint8), (0,))


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
    used: NDArray[np.int64]  # the plans' relations, with what each is
    into: Sequence[LocalSet]
    rounds: Rounds
    room: int  # facts, before Python must look
    large: int  # facts of a round
    passed: int = 0  # rounds that have been reported


COPIES = 16  # times as many rows, at most, that a look ahead makes room for


class Pace(NamedTuple):
    """How a relation grew while a plan scanned another."""

    plan: int
    done: int  # rows that were scanned
    rows: int
    rate: float  # new rows for each that was scanned, since it grew last


class Runner:
    """The kernel, its tables and its state."""

    def __init__(
        self,
        store: Store,
        dictionary: Dictionary,
        everything: LocalSet,
        explicit: LocalSet,
        number: Callable[[str], int | None],
    ) -> None:
        self.odd: Callable[[int], None] | None = None  # finds a relation's odd rows, in an update
        self.tick: Callable[[Rule | None], None] = lambda rule: None
        self.answers: set[int] = set()  # relations that hold the results of string functors
        self.functions: Mapping[str, Functor] = {}  # that programs call
        self.calling = False  # one of these is at work
        self._numbers = 0  # that `autoinc()` has given
        self._store = store
        self._dictionary = dictionary
        self._number = number
        self._strata: dict[frozenset[str], frozenset[int | None]] = {}
        self._plain = (everything.bit, everything.bit | explicit.bit)
        self._not_in_all: Key = ("not", key_of(everything))
        self._truths: dict[Key, Truth] = {}
        self._tables: dict[tuple[Key | None, ...], Tables] = {}
        self._state = np.zeros(at.T_WIDTH, dtype=np.int64)
        self._state_at: int = self._state.ctypes.data
        self._rounds = np.zeros(at.W_WIDTH, dtype=np.int64)
        self._rounds_at: int = self._rounds.ctypes.data
        self._make_buffer(0)
        self._env_at: int = dictionary.env.ctypes.data
        self._fresh: dict[int, Bitmap] = {}
        self._used: set[int] = set()  # relations of which these bits are not all zero
        self.runs = 0
        self._read: Tables | None = None  # alive as long as the kernel may read them
        self._held: list[Rows] = []  # what the kernel reads by address stays alive here

    def _make_buffer(self, widest: int) -> None:
        """Where heads wait, of so many columns at most."""
        self._widest = widest
        self._buffer = np.zeros(at.BUFFER * (widest + 1), dtype=np.uint64)
        self._buffer_at: int = self._buffer.ctypes.data

    def is_new(self, guard: View) -> bool:
        """Does the guard let exactly the facts pass that are not in the materialisation?"""
        return key_of(guard) == self._not_in_all

    def table(self, view: View) -> Truth:
        """The view's truth table. It lives on for long: the kernel knows it by address."""
        return self._truth(key_of(view))

    def _truth(self, key: Key) -> Truth:
        table = self._truths.get(key)
        if table is None:
            if len(self._truths) > MOST_TABLES:
                self._truths.clear()
            table = self._truths[key] = Truth.of(truth(key).view(np.uint8), self._plain)
        return table

    def run(
        self,
        batch: Batch,
        result: LocalSet,
        reading: Reading,
        views: Views | None = None,
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
        rels = self._store.rels
        self.runs += 1
        if again and reading.touching is not None:
            self._held.clear()
            for r in reading.touching.relations():
                self._give(r, reading.touching, at.R_DLIST)
                rels[r, at.R_FULL + at.ROLE_OLD] = 0
        else:
            if batch.symbols_ordered:
                self._dictionary.order_symbols()
            self._set_views(batch, reading, views or self.views(reading))
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

    def _let_alone(self, batch: Batch, reading: Reading, alone: Alone) -> None:
        """Tell the kernel what it needs to go on with the next round."""
        new, choice = reading.touching, alone.choice
        assert new is not None
        for r in batch.used:
            if not new.count(r):  # a plan scans its delta nevertheless
                self._store.rels[r, at.R_DLIST : at.R_DHI + 1] = 0
        bits = new.bit
        for facts in alone.into:
            bits |= facts.bit
        self._rounds[:] = (
            *(0, 0, alone.room, alone.large, new.bit, bits, self._store.now),
            *(alone.used.ctypes.data, len(batch.used)),
            *(batch.index_array.ctypes.data, len(batch.index_array)),
            *(a.ctypes.data for a in (choice.relations, choice.low, choice.high)),
            len(choice.relations),
        )
        self._dictionary.env[at.E_ROUNDS] = self._rounds_at

    def _end_alone(
        self, batch: Batch, reading: Reading, alone: Alone, first: list[int]
    ) -> list[int]:
        """Give the sets what the kernel put there; returns where the last round's rows begin."""
        self._dictionary.env[at.E_ROUNDS] = 0
        if not self._rounds[at.W_PASSED]:
            return first
        self._report(alone)
        rels, new = self._store.rels, reading.touching
        assert new is not None
        self._store.now = int(self._rounds[at.W_AGE])
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

    def _loop(self, batch: Batch, budget: Budget, alone: Alone | None) -> None:
        store, env, state = self._store, self._dictionary.env, self._state
        paces: dict[int, Pace] = {}
        while True:
            env[at.E_TICKS] = TICKS if budget.work is None else min(TICKS, budget.work)
            status = run(
                store.rels_at,
                store.idxs_at,
                self._env_at,
                *batch.addresses,
                len(batch.plans),
                batch.counts_at,
                self._state_at,
                *batch.workspace,
                store.scratch_at,
                batch.stack_at,
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
                store.grow(int(state[at.T_WHAT]), self._likely(batch, paces))
            elif status == at.GROW_OUT:
                store.grow_out(int(state[at.T_WHAT]))
            elif status == at.GROW_WORDS:
                self._dictionary.grow()
            elif status == at.GROW_TERMS:
                self._dictionary.terms.grow()
            elif status in FAILURES:
                raise EvaluationError(in_rule(FAILURES[status], rule))
            self.tick(rule)

    def _likely(self, batch: Batch, paces: dict[int, Pace]) -> int:
        """Rows that the relation which has no room will have, if a plan that copies what it scans
        goes on as it did; 0 where that is not known. A large table is dear to put into another."""
        plan, r = int(self._state[at.T_PLAN]), int(self._state[at.T_WHAT])
        steps, _, starts, _, places, ends, _ = batch.arrays
        scan = int(starts[plan])
        if not _copies(steps, scan):
            return 0
        done, rows = int(places[scan]), int(self._store.rels[r, at.R_N])
        last = paces.get(r)
        rate = 0.0 if last is None else last.rate
        if last is not None and last.plan == plan and last.done < done:
            rate = (rows - last.rows) / (done - last.done)
        paces[r] = Pace(plan, done, rows, rate)
        more = int(1.02 * rate * (int(ends[scan]) - done))
        if not more:
            return 0
        for later in starts[plan + 1 : len(batch.plans)].tolist():
            if _copies(steps, later) and steps[later + 1, at.P_REL] == r:
                copied = int(self._store.rels[steps[later, at.P_REL], at.R_N])
                more += min(int(rate * copied), rows + more)  # twice as many at most, if it errs
        return min(rows + more + 2 * at.BUFFER, COPIES * rows)

    # Views.

    def views(self, reading: Reading) -> Views:
        """What a reading needs, whatever its sets hold."""
        within, negative, guard = reading.within, reading.negative, reading.guard
        inside = outside = within
        apart: frozenset[int | None] = frozenset()
        if isinstance(within, Split):
            inside, outside = within.inside, within.outside
            apart = self._numbers_of(within.relations)
        touching, lost = reading.touching, reading.touching_negated
        keys = (
            key_of(inside),
            None if outside is inside else key_of(outside),
            None if negative is None else key_of(negative),
            None if guard is None else key_of(guard),
            None if touching is None else touching.bit,
            None if lost is None else lost.bit,
        )
        tables = self._tables.get(keys)
        if tables is None:
            if len(self._tables) > MOST_TABLES:
                self._tables.clear()
            tables = self._tables[keys] = self._make_tables(*keys)
        fast = None
        if not reading.sign and keys[3] == self._not_in_all:
            fast = guard.left  # type: ignore[union-attr]
        return Views(inside, outside, apart, fast, tables)

    def _numbers_of(self, relations: frozenset[str]) -> frozenset[int | None]:
        """Numbers of a stratum's relations: it may have thousands, and is asked for in each run."""
        known = self._strata.get(relations)
        if known is None:
            known = self._strata[relations] = frozenset(map(self._number, relations))
        return known

    def renumber(self) -> None:
        """Relations have come or gone."""
        self._strata.clear()

    def _make_tables(
        self,
        inside: Key,
        outside: Key | None,
        negative: Key | None,
        guard: Key | None,
        touching: Key | None,
        lost: Key | None,
    ) -> Tables:
        tables = [self._truth(inside)] * at.ROLES
        others = tables if outside is None else [self._truth(outside)] * at.ROLES
        if negative is not None:
            tables[at.ROLE_NEG] = tables[at.ROLE_NEG_OLD] = self._truth(negative)
        if touching is not None:
            not_touched = ("not", touching)
            tables[at.ROLE_OLD] = self._truth(("and", inside, not_touched))
            if outside is not None:
                others[at.ROLE_OLD] = self._truth(("and", outside, not_touched))
        if lost is not None:
            read = inside if negative is None else negative
            tables[at.ROLE_NEG_OLD] = self._truth(("or", read, lost))
        if outside is not None:
            for role in (at.ROLE_NEG, at.ROLE_NEG_OLD):
                others[role] = tables[role]
        both = (*tables, *others)
        return Tables(
            _EVERY if guard is None else self._truth(guard),
            both,
            np.array([table.address for table in both]),
            np.array([table.all_plain or table.some_plain - 1 for table in both]),
        )

    def _set_views(self, batch: Batch, reading: Reading, views: Views) -> None:
        rels, env = self._store.rels, self._dictionary.env
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
            r = int(self._store.idxs[x, at.X_REL])
            if not self._store.catch_up(x, olds.get(r)):
                rels[r, at.R_FULL + at.ROLE_OLD] = 0
        self._set_guard(reading, batch, tables.guard)
        self._fill(batch)
        self._set_fresh(batch)
        env[at.E_VIEWS : at.E_VIEWS + 2 * at.ROLES] = tables.addresses
        env[at.E_PLAIN : at.E_PLAIN + 2 * at.ROLES] = tables.plain

    def _set_flags(self, batch: Batch, reading: Reading, views: Views) -> None:
        """Per relation and role, whether every row is in the view: then joins need no masks."""
        rels, negative, fast = self._store.rels, reading.negative, views.fast
        inside, outside, apart = views.inside, views.outside, views.apart
        split = inside is not outside
        for r in batch.used:
            row = rels[r]
            n = int(row[at.R_N])
            if r in self.answers:  # in no set; all may be read
                full = sure = known = True
            else:
                full = _covers(inside if not split or r in apart else outside, r, n)
                sure = full if negative is None else _covers(negative, r, n)
                known = fast is not None and _covers(fast, r, n)
            row[at.R_START : at.R_OLD + 1] = n
            row[at.R_FAST : at.R_FULL + at.ROLES] = _FLAGS[known, full, sure]
            row[at.R_SIDE] = at.ROLES if split and r not in apart else 0
            row[at.R_FRESH] = 0
            if self.odd is not None and not (full and sure and known) and not row[at.R_ODD]:
                self.odd(r)

    def _give(self, r: int, facts: LocalSet, column: int) -> slice | None:
        """Tell the kernel a relation's delta: a range of rows (returned), or a list."""
        span = facts.span(r)
        if span is not None:
            give(self._store.rels_at, r, column, NO_ROWS, span.start, span.stop)
        else:
            rows = facts.rows(r)
            self._held.append(rows)
            give(self._store.rels_at, r, column, rows, 0, 0)
        return span

    def _set_guard(self, reading: Reading, batch: Batch, guard: Truth) -> None:
        env = self._dictionary.env
        env[at.E_GUARD] = guard.address
        env[at.E_GUARD_NEW] = guard.of_nothing
        env[at.E_GUARD_PLAIN] = guard.some_plain
        env[at.E_COUNTER] = at.R_COUNT + reading.counter if reading.sign else 0
        env[at.E_SIGN] = reading.sign
        if reading.sign:
            for r in batch.heads:
                self._store.counts(r, reading.counter)

    def _set_fresh(self, batch: Batch) -> None:
        """Relations that the run both adds to and looks facts up in note what it adds."""
        for r in batch.both:
            bits = self._fresh.get(r)
            if bits is None:
                bits = self._fresh[r] = Bitmap()
            elif r in self._used:
                bits.clear()
                self._used.remove(r)
            self._store.rels[r, at.R_FRESH] = bits.address

    def _fill(self, batch: Batch) -> None:
        """Row numbers are needed where single facts are looked up or masks are read."""
        rels = self._store.rels
        for r in batch.used:
            if rels[r, at.R_FILLED] < rels[r, at.R_N] and (
                r in batch.members
                or (r in batch.heads and not rels[r, at.R_FAST])
                or (r in batch.reads and 0 in rels[r, _ROLES].tolist())
            ):
                self._store.fill(r)

    # String functors.

    def answer(self, call: Outside, rule: Rule, asked: int, into: int, before: int) -> None:
        """Compute a functor for the requests from row `before` on."""
        rows = self._store.rows(asked)[before:]
        if not len(rows):
            return
        kinds, dictionary = call.signature, self._dictionary
        columns = [dictionary.decode(k, rows[:, c]) for c, k in enumerate(kinds[:-1])]
        try:
            if call.functor == "autoinc":
                column: Column = self._counted(dictionary.ordered(kinds[:-1], rows))
            else:
                column = self._results(call, rule, columns, len(rows))
        except LimitError:
            raise
        except EvaluationError as error:
            raise EvaluationError(in_rule(str(error), rule)) from error.__cause__
        answers = np.empty((len(rows), len(kinds)), dtype=np.uint32)
        answers[:, :-1] = rows
        answers[:, -1] = dictionary.encode(kinds[-1], column)
        self._store.load(into, answers, 0)

    def _counted(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """The next numbers, given in the order of the arguments' values."""
        numbers = np.empty(len(order), dtype=np.int64)
        numbers[order] = np.arange(self._numbers, self._numbers + len(order))
        self._numbers += len(order)
        return numbers

    def _results(self, call: Outside, rule: Rule, columns: list[Column], size: int) -> Column:
        function = self.functions.get(call.functor)
        if function is None:
            values = compute(
                call.functor,
                call.signature,
                [c.tolist() for c in columns],
                lambda message: doubt(in_rule(message, rule, "warning")),
            )
            return Table.from_rows(call.signature[-1:], [(v,) for v in values]).columns[0]
        self.calling = True
        try:
            return call_function(
                call.functor, function, call.signature, columns, size, lambda: self.tick(rule)
            )
        finally:
            self.calling = False


def _copies(steps: NDArray[np.int64], scan: int) -> bool:
    """Is a plan that begins with this step one that makes heads of what it scans?"""
    return bool(steps[scan, at.P_OP] == at.OP_SCAN and steps[scan, at.P_FUSE] != at.FUSE_NONE)


def _covers(view: View, r: int, n: int) -> bool:
    """Is every one of the n rows of a relation in the view? False where it is hard to tell."""
    if isinstance(view, LocalSet):
        return view.count(r) == n
    assert isinstance(view, Combination)
    if view.op == "not":
        return isinstance(view.left, LocalSet) and not view.left.count(r)
    if view.op == "or":
        return _covers(view.left, r, n) or _covers(view.right, r, n)
    return _covers(view.left, r, n) and _covers(view.right, r, n)


def in_rule(message: str, rule: Rule, severity: str = "error") -> str:
    where = f"{rule.at.file}:{rule.at.line}:{rule.at.column}: " if rule.at.line else ""
    return f"{where}{severity}: {message} in the rule\n    {rule.text}"
