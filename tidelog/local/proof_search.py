"""Backward/Forward for single facts: tell the kernel what it evaluates, and run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidelog.engine import Checked, Checking, Counter, Split
from tidelog.local.dictionary import Dictionary
from tidelog.local.executor import FAILURES, TICKS, Reading, Runner, covers
from tidelog.local.fact_sets import local
from tidelog.local.functor_calls import in_rule
from tidelog.local.kernels import layout as at
from tidelog.local.kernels import proofs
from tidelog.local.plan_cache import Ask, PlanBatch, PlanBook
from tidelog.local.row_store import Rows, RowStore
from tidelog.local.sets import LocalSet
from tidelog.program.diagnostics import EvaluationError
from tidelog.program.rules import Rule

SOON = 2_000  # steps, after which dirty rows are noted
WORK = 100_000  # steps between two looks at the clock: some hundredths of a second
FIRST = 64  # entries of a list at first
MOST_TOUCHED = 4096  # facts that are evaluated together
LARGE = 1 << 16  # words of lists that are not kept for the next search
FEW = 8  # relations that get plans one by one; then all do
MOST = 256  # batches of plans that are known
_WIDTHS = (2, 2, 2, 2, 2, proofs.F_WIDTH, 2, 1)  # of the lists' entries


class _Plans(NamedTuple):
    """The plans of one reading."""

    batch: PlanBatch
    groups: NDArray[np.int64]  # by the relation of the given fact: the first plan, and how many
    counts: NDArray[np.int64]


class _About(NamedTuple):
    """The constant properties of rules."""

    rules: Sequence[Rule]
    longest: int  # body facts of the stratum, at most
    calls: bool  # whether there are string functors


class SearchSets(NamedTuple):
    """Sets whose bits a search uses, in the kernel's order. V, O, N, what is touched and what
    is found are empty before and after."""

    C: LocalSet
    K: LocalSet
    V: LocalSet
    S: LocalSet
    O: LocalSet
    N: LocalSet
    now: LocalSet
    found: LocalSet


class ProofSearch:
    """Searches for proofs, one after the other, over one store."""

    def __init__(
        self,
        store: RowStore,
        dictionary: Dictionary,
        runner: Runner,
        book: PlanBook,
        number: Callable[[str], int],
    ) -> None:
        self._store = store
        self._dictionary = dictionary
        self._runner = runner
        self._book = book
        self._number = number
        self._table = np.zeros(proofs.S_WIDTH, dtype=np.int64)
        self._readings = np.zeros((proofs.READINGS, proofs.Q_WIDTH), dtype=np.int64)
        self._state = np.zeros(at.T_WIDTH, dtype=np.int64)
        self._buffer = np.zeros(1, dtype=np.uint64)  # all heads exist, and none waits
        self._lists = [_list(which) for which in range(proofs.LISTS)]
        self._held: list[NDArray[np.int64]] = []  # what the kernel reads by address
        self._rules: dict[int, _About] = {}  # by identity
        self._known: dict[tuple[int, int], _Plans] = {}  # by reading and batch
        # Of the search under way.
        self._asked: Checking
        self._sets: SearchSets
        self._ready: list[int]  # relations whose facts have plans
        self._plans: list[_Plans | None]  # by reading
        self._masked: set[int]  # relations of which some rows are not in view
        self._counted: list[tuple[int, _Plans]]  # all that were used, with their readings

    def search(
        self,
        N: LocalSet,
        asked: Checking,
        sets: SearchSets,
        counter: int | None,
        each: Callable[[], bool],
    ) -> Checked | None:
        """None, with nothing done, where rules call string functors, which Python answers."""
        about = [
            self._about(rules, asked.inside)
            for rules in (asked.rules, asked.loss, asked.direct)
            if not isinstance(rules, Counter)
        ]
        if any(each.calls for each in about):
            return None
        self._asked, self._sets, self._ready = asked, sets, N.relations()
        self._plans, self._counted, self._masked = [], [], set()
        self._start(counter, about[0].longest)
        try:
            self._choose()
            self._see()
            for r in self._ready:
                self._queue(r, N.rows(r))
            self._loop(each)
        finally:
            self._end()
            del self._asked, self._sets  # their bits are free again as soon as may be
        counts = [0] * proofs.READINGS
        for which, plans in self._counted:
            counts[which] += int(plans.counts.sum())
        return Checked(
            sets.S,
            counts[proofs.BACK],
            counts[proofs.FORWARD] + counts[proofs.DIRECT],
            counts[proofs.LOSS],
        )

    # What is evaluated.

    def _about(self, rules: Sequence[Rule], inside: frozenset[str]) -> _About:
        known = self._rules.get(id(rules))
        if known is None or known.rules is not rules:
            if len(self._rules) > MOST:
                self._rules.clear()
            longest = max((_literals(rule, inside) for rule in rules), default=0)
            calls = any(self._book.prepare(rule).outside for rule in rules)
            known = self._rules[id(rules)] = _About(rules, longest, calls)
        return known

    def _choose(self) -> None:
        """Choose plans for facts of these relations."""
        asked, touched = self._asked, tuple(self._ready)
        direct = () if isinstance(asked.direct, Counter) else asked.direct
        found: list[_Plans | None] = []
        for which, rules, ask in (
            (proofs.BACK, asked.rules, Ask("search", touched, among=asked.inside)),
            (proofs.FORWARD, asked.rules, Ask("delta", touched)),
            (proofs.LOSS, asked.loss, Ask("delta", touched)),
            (proofs.DIRECT, direct, Ask("prove", touched)),
        ):
            batch = self._book.choose(rules, ask).batch if rules else None
            found.append(None if batch is None else self._grouped(which, batch))
        self._plans = found

    def _more(self, r: int) -> None:
        """Begin to check facts of one more relation."""
        few = len(self._ready) < FEW
        self._ready = [*self._ready, r] if few else list(map(self._number, self._asked.inside))
        self._choose()
        self._see()

    def _grouped(self, which: int, batch: PlanBatch) -> _Plans:
        known = self._known.get((which, id(batch)))
        size = 2 * len(self._store.tables.rels)
        if known is not None and len(known.groups) == size:
            return known
        groups = np.zeros(size, dtype=np.int64)
        steps, starts = batch.arrays[0], batch.arrays[2]
        for p in reversed(range(len(batch.plans))):
            mine = steps[starts[p] : starts[p + 1]]
            r = int(mine[_is_given(mine)][0, at.P_REL])
            groups[2 * r] = p
            groups[2 * r + 1] += 1
        if len(self._known) > MOST:
            self._known.clear()
        made = _Plans(batch, groups, np.zeros(len(batch.plans), dtype=np.int64))
        self._known[which, id(batch)] = made
        return made

    def _see(self) -> None:
        """Tell the kernel about the plans, the views, and the relations that are read."""
        store, asked = self._store, self._asked
        views = [self._runner.views(reading) for reading in _readings(asked, self._sets)]
        apart = views[proofs.BACK].apart
        nothing = np.zeros(2 * len(store.tables.rels), dtype=np.int64)
        ready = np.zeros(len(store.tables.rels), dtype=np.int64)
        ready[self._ready] = 1
        self._table[proofs.S_READY] = ready.ctypes.data
        self._table[proofs.S_SEES] = -1
        self._held = [nothing, ready]
        for row, plans, (*_, tables) in zip(self._readings, self._plans, views, strict=True):
            guard = tables.guard
            seen = np.concatenate(
                (tables.addresses, tables.plain, (guard.address, guard.some_plain))
            )
            self._held.append(seen)
            row[:] = 0
            row[proofs.Q_VIEWS] = seen.ctypes.data
            row[proofs.Q_GROUPS] = nothing.ctypes.data
            if plans is not None:
                program, arguments, starts, registers, places, ends, stack, _ = (
                    plans.batch.addresses
                )
                row[proofs.Q_STEPS : proofs.Q_COUNTS] = program, arguments, starts
                row[proofs.Q_COUNTS] = plans.counts.ctypes.data
                row[proofs.Q_REGISTERS : proofs.Q_STACK] = registers, places, ends
                row[proofs.Q_STACK] = stack
                row[proofs.Q_GROUPS] = plans.groups.ctypes.data
        batches = [plans.batch for plans in self._plans if plans is not None]
        for r in {r for batch in batches for r in batch.used}:
            line, n = store.tables.rels[r], int(store.tables.rels[r, at.R_N])
            mine = r in apart
            seen_all = not mine and covers(asked.I, r, n)
            full = seen_all and covers(asked.lower, r, n)
            sure = seen_all and covers(asked.negative, r, n)
            store.fill(r)
            line[at.R_START : at.R_OLD + 1] = n
            line[at.R_DLIST : at.R_DHI + 1] = 0
            line[at.R_FAST : at.R_FULL + at.ROLES] = (0, full, full, 1, sure, 1, 1, sure)
            line[at.R_SIDE] = 0 if mine else at.ROLES
            line[at.R_FRESH] = 0
            if not (full and sure):
                self._masked.add(r)
        for x in {x for batch in batches for x in batch.indexes}:
            store.indexes.catch_up(x)
        if any(batch.symbols_ordered for batch in batches):
            self._dictionary.order_symbols()
        for which, plans in enumerate(self._plans):
            if plans is not None and not any(plans is known for _, known in self._counted):
                plans.counts.fill(0)
                self._counted.append((which, plans))

    def _start(self, counter: int | None, longest: int) -> None:
        env, s, asked = self._dictionary.env, self._table, self._asked
        env[at.E_OUTBIT] = self._sets.found.bit
        env[at.E_GUARD_NEW] = env[at.E_COUNTER] = env[at.E_SIGN] = env[at.E_ROUNDS] = 0
        s[: proofs.S_LISTS] = 0
        s[proofs.S_PHASE] = proofs.IDLE
        s[proofs.S_WORK] = SOON
        if counter is not None:
            s[proofs.S_COUNTER] = at.R_COUNT + counter
            for name in asked.inside:
                self._store.counters.of(self._number(name), counter)
        s[proofs.S_BODY] = longest
        s[proofs.B_C : proofs.B_E] = [each.bit for each in self._sets]
        s[proofs.B_E] = local(asked.E).bit
        for which in range(proofs.LISTS):
            if len(self._lists[which]) > LARGE:
                self._lists[which] = _list(which)
            self._place(which, 0)

    def _place(self, which: int, length: int) -> None:
        """Tell the kernel where a list is."""
        entries, of = self._lists[which], proofs.S_LISTS + 3 * which
        self._table[of : of + 3] = entries.ctypes.data, len(entries) // self._width(which), length

    def _width(self, which: int) -> int:
        """Of an entry of a list."""
        return 2 * int(self._table[proofs.S_BODY]) if which == proofs.INSTANCES else _WIDTHS[which]

    def _length(self, which: int) -> int:
        return int(self._table[proofs.S_LISTS + 3 * which + 2])

    def _queue(self, r: int, numbers: Rows) -> None:
        self._grow(len(numbers))
        before = self._length(proofs.QUEUE)
        entries = self._lists[proofs.QUEUE].reshape(-1, 2)[before : before + len(numbers)]
        entries[:, 0], entries[:, 1] = r, numbers
        self._store.mask(r)[numbers] |= np.uint16(self._sets.N.bit)
        self._store.dirty.note(r, numbers)
        self._place(proofs.QUEUE, before + len(numbers))

    def _grow(self, more: int) -> None:
        """Let all lists have room for so many more entries, but for those that stay where they are:
        the kernel reads them."""
        for which in range(proofs.TOUCHED):
            width, length = self._width(which), self._length(which)
            old = self._lists[which]
            if len(old) < (length + more) * width:
                self._lists[which] = new = np.zeros(2 * (length + more) * width, dtype=np.int64)
                new[: length * width] = old[: length * width]
                self._place(which, length)

    # The run.

    def _loop(self, each: Callable[[], bool]) -> None:
        store, env, s, state = self._store, self._dictionary.env, self._table, self._state
        addresses = (
            *(self._readings.ctypes.data, s.ctypes.data, state.ctypes.data),
            *(store.tables.scratch_at, self._buffer.ctypes.data),
        )
        self._runner.runs += 1
        while True:
            env[at.E_TICKS] = TICKS
            env_at = env.ctypes.data
            status = proofs.search(store.tables.rels_at, store.indexes.table_at, env_at, *addresses)
            if status == at.DONE:
                return
            rule = self._rule()
            if status == proofs.GROW_LISTS:
                self._grow(int(s[proofs.S_NEED]))
            elif status == proofs.PREPARE:
                self._more(int(s[proofs.S_NEED]))
            elif status == at.GROW_OUT:
                store.grow_out(int(state[at.T_WHAT]))
            elif status == at.GROW_WORDS:
                self._dictionary.grow()
            elif status == at.GROW_TERMS:
                self._dictionary.terms.grow()
            elif status in FAILURES:
                assert rule is not None
                raise EvaluationError(in_rule(FAILURES[status], rule))
            else:
                self._runner.tick(rule)
                each()
                s[proofs.S_WORK] = WORK
                self._note_dirty()

    def _note_dirty(self) -> None:
        """Note the dirty rows of relations where that has not been done, also those that only the
        lists have."""
        store, find = self._store, self._runner.find_dirty
        while find is not None and self._masked:
            r = self._masked.pop()
            if not store.tables.rels[r, at.R_ODD]:
                find(r, True)
                if store.tables.rels[r, at.R_ODD]:
                    for which in (proofs.QUEUE, proofs.MET, proofs.KNOWN):
                        store.dirty.note(r, self._listed(which, r))

    def _listed(self, which: int, r: int) -> Rows:
        """The relation's rows in a list of pairs."""
        pairs = self._lists[which][: 2 * self._length(which)].reshape(-1, 2)
        rows: Rows = pairs[pairs[:, 0] == r, 1].astype(np.uint32)
        return rows

    def _rule(self) -> Rule | None:
        """The rule that is being evaluated, if one is."""
        phase = int(self._table[proofs.S_PHASE])
        plan = None if phase == proofs.IDLE or self._table[proofs.S_RAN] else self._plans[phase]
        if plan is None:
            return None
        first = int(plan.groups[2 * self._table[proofs.S_R]])
        return plan.batch.plans[first + int(self._state[at.T_PLAN])].rule

    def _end(self) -> None:
        """Give the sets what the kernel has put there, also where it did not come to an end."""
        store, s, sets = self._store, self._table, self._sets
        if s[proofs.S_PHASE] != proofs.IDLE:
            r, count = int(s[proofs.S_R]), self._length(proofs.TOUCHED)
            store.tables.rels[r, at.R_DLIST : at.R_DHI + 1] = 0
            rows = self._lists[proofs.TOUCHED].view(np.uint32)[:count]
            store.mask(r)[rows] &= ~np.uint16(sets.now.bit)
            for r in {r for plan in self._plans if plan is not None for r in plan.batch.heads}:
                if store.tables.rels[r, at.R_OUTN]:
                    found = store.take_out(r)
                    sets.found.adopt(r, found, len(found))
        proofs.clear(store.tables.rels_at, s.ctypes.data)
        for which, into in (
            (proofs.MET, sets.C),
            (proofs.KNOWN, sets.K),
            (proofs.LOST, sets.S),
        ):
            relations = self._lists[which][: 2 * self._length(which) : 2]
            for r in np.unique(relations).tolist():
                rows = self._listed(which, r)
                into.adopt(r, rows, len(rows))


def _list(which: int) -> NDArray[np.int64]:
    entries = MOST_TOUCHED if which == proofs.TOUCHED else FIRST
    return np.zeros(entries * _WIDTHS[which], dtype=np.int64)


def _readings(asked: Checking, sets: SearchSets) -> tuple[Reading, ...]:
    """In the order of the kernel's numbers for them."""
    I, inside, now = asked.I, asked.inside, sets.now
    guard = (I - sets.C) - sets.N
    return (
        Reading(Split(inside, I - sets.S, I), None, I, now),
        Reading(Split(inside, sets.V, I), I - sets.K, I, now),
        Reading(Split(inside, I - sets.O, asked.lower), guard, asked.negative, now),
        Reading(I, None, None, now),
    )


def _is_given(steps: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Is each step the scan of the facts that are given?"""
    given = (steps[:, at.P_ROLE] == at.ROLE_DELTA) | (steps[:, at.P_ROLE] == at.ROLE_HEADS)
    return np.asarray((steps[:, at.P_OP] == at.OP_SCAN) & given)


def _literals(rule: Rule, inside: frozenset[str]) -> int:
    return sum(literal.relation in inside for literal in rule.literals() if not literal.negated)
