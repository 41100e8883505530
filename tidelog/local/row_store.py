"""Rows, masks and hash tables, with their indexes and counters: the memory behind the engine."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.engine import Ids
from tidelog.local.arrays import (
    LOAD,
    MOST_ROWS,
    STEP_DOWN,
    IndexArrays,
    Key,
    RelationArrays,
    RelationTable,
    by_key,
    larger,
    zeros,
)
from tidelog.local.bitmap import Bitmap
from tidelog.local.kernels import layout as at
from tidelog.local.kernels.bits import select
from tidelog.local.kernels.hashing import (
    enter_pairs,
    fill_rows,
    load_rows,
    locate,
    note_odd,
    rehash,
)
from tidelog.local.kernels.index import GROW_SLOTS, INDEXED, append_rows, rehash_slots
from tidelog.local.kernels.removal import remove_rows, unindex_rows
from tidelog.program.diagnostics import LimitError

PASSED = 4  # slots passed over per row, on average, before another multiplier is tried
MULTIPLIERS = tuple(
    np.uint64(m) for m in (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F)
)
PART = 8  # where more than one row in so many goes, the others are put in again
MANY = 1 << 20  # rows between two looks at the clock
MOST_DIRTY = 1 << 19  # rows; of more, too many others would share a bit with one
AGAIN = 2  # times as many notes, as rows are noted again for every set that they enter
AGE = at.R_AGE - at.R_COUNT  # the counter that has ages
LAST_AGE = (1 << 31) - 1  # ages have 32 bits with a sign

Rows = NDArray[np.uint32]  # row numbers
Numbers = NDArray[np.int32]


class Indexes:
    """Indexes by number, made when plans need them; they lag behind until a run reads them."""

    def __init__(self, tables: RelationTable) -> None:
        self.table: NDArray[np.int64] = np.zeros((16, at.X_WIDTH), dtype=np.int64)  # for kernels
        self.table_at: int = self.table.ctypes.data
        self._tables = tables
        self._made: list[IndexArrays] = []
        self._of: defaultdict[int, dict[Key, int]] = defaultdict(dict)  # by relation

    def index(self, r: int, key: Key) -> int:
        """The index of relation r on these columns, created if necessary; it may lag behind."""
        known = self._of[r].get(key)
        if known is not None:
            return known
        columns = range(int(self._tables.rels[r, at.R_ARITY]))
        rest = [c for c in columns if len(key) > 2 or c not in key]
        number = len(self._made)
        if number == len(self.table):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
            self.table_at = self.table.ctypes.data
        row = self.table[number]
        made = IndexArrays(
            slots=np.zeros(16 * at.SLOT, dtype=np.uint32),
            arena=np.empty(16 * len(rest), dtype=np.uint32),
            free=np.full(48, -1, dtype=np.int64),
            columns=np.array([*key, *rest], dtype=np.int64),
        )
        self._made.append(made)
        row[at.X_REL] = r
        row[at.X_NKEY] = len(key)
        row[at.X_STRIDE] = len(rest)
        row[at.X_FREE] = made.free.ctypes.data
        row[at.X_COLS] = made.columns.ctypes.data
        row[at.X_EPOCH] = 1
        self._attach(number)
        self._of[r][key] = number
        return number

    def _attach(self, x: int) -> None:
        made, row = self._made[x], self.table[x]
        row[at.X_SLOTS] = made.slots.ctypes.data
        row[at.X_SIZE] = len(made.slots) // at.SLOT
        row[at.X_LIMIT] = int(LOAD * (len(made.slots) // at.SLOT))
        row[at.X_ARENA] = made.arena.ctypes.data
        row[at.X_CAP] = len(made.arena)

    def catch_up(self, x: int, old: int | None = None) -> bool:
        """Index all rows. Those from `old` on (none, if not given) count as new: True if so."""
        row = self.table[x]
        n = int(self._tables.rels[int(row[at.X_REL]), at.R_N])
        mark = n if old is None else old
        if row[at.X_DONE] <= mark and row[at.X_MARK] != mark:
            self._append(x, mark)
            row[at.X_MARK] = mark
            row[at.X_EPOCH] += 1
        self._append(x, n)
        return int(row[at.X_MARK]) == mark

    def complete(self, r: int) -> None:
        """Bring all indexes of a relation up to date."""
        for x in self._of[r].values():
            self._append(x, int(self._tables.rels[r, at.R_N]))

    def _append(self, x: int, upto: int) -> None:
        if self.table[x, at.X_DONE] >= upto:
            return
        made = self._made[x]
        began = 0.0 if made.used else time.thread_time()
        self._extend(x, made, upto)
        if not made.used:
            made.used = True
            self._tables.lasting += time.thread_time() - began

    def _extend(self, x: int, made: IndexArrays, upto: int) -> None:
        tables = self._tables
        while (
            why := append_rows(tables.rels_at, self.table_at, x, upto, tables.scratch_at)
        ) != INDEXED:
            row = self.table[x]
            done, used, top = (int(row[column]) for column in (at.X_DONE, at.X_USED, at.X_TOP))
            if why == GROW_SLOTS:
                size = len(made.slots) // at.SLOT
                likely = int(used / max(1, done) * upto / LOAD)  # if keys come on as they did
                size = max(larger(size), min(likely, 8 * size))
                slots = np.zeros(size * at.SLOT, dtype=np.uint32)
                rehash_slots(made.slots, slots)
                made.slots = slots
            else:
                needed = top + int(row[at.X_STRIDE]) * max(64, (upto - done) // 4)
                needed = max(larger(len(made.arena)), needed)
                if needed > MOST_ROWS:
                    raise LimitError("an index holds at most 4 billion values")
                arena = zeros(needed, np.uint32)
                arena[:top] = made.arena[:top]
                made.arena = arena
            self._attach(x)

    def remove(self, r: int, rows: NDArray[np.uint32], data: NDArray[np.uint32]) -> list[int]:
        """Take these rows, which have this data, out of the relation's indexes: their numbers."""
        self.complete(r)
        tables = self._tables
        for key, x in self._of[r].items():
            order = rows[by_key(data, key)]
            unindex_rows(tables.rels_at, self.table_at, x, order, tables.scratch_at)
        return list(self._of[r].values())

    def clear(self, r: int) -> None:
        for x in self._of[r].values():
            self._made[x].slots.fill(0)
            self._made[x].free.fill(-1)
            self.table[x, [at.X_USED, at.X_TOP, at.X_DONE, at.X_MARK]] = 0

    def memory(self) -> int:
        return sum(each.slots.nbytes + each.arena.nbytes for each in self._made)


class RowCounters:
    """Counters by relation. An age is a number, too: when the row came to the materialisation."""

    def __init__(self, tables: RelationTable) -> None:
        self.now = 1  # the age of the next row
        self._tables = tables
        self._of: defaultdict[int, dict[int, Numbers]] = defaultdict(dict)

    def of(self, r: int, which: int) -> Numbers:
        """Each row's number in a counter, zero at first (a view)."""
        if which not in self._of[r]:
            self._attach(r, which, zeros(int(self._tables.rels[r, at.R_CAP]), np.int32))
        return self._of[r][which][: int(self._tables.rels[r, at.R_N])]

    def _attach(self, r: int, which: int, numbers: Numbers) -> None:
        self._of[r][which] = numbers
        self._tables.rels[r, at.R_COUNT + which] = numbers.ctypes.data

    def counts(self, r: int) -> bool:
        """Are derivations counted?"""
        return bool(self._of[r].keys() - {AGE})

    def grow(self, r: int, capacity: int) -> None:
        for which in self._of[r]:
            old, numbers = self.of(r, which), zeros(capacity, np.int32)
            numbers[: len(old)] = old
            self._attach(r, which, numbers)

    def saved(self, r: int, rows: NDArray[np.bool_]) -> dict[int, Numbers]:
        """The numbers of some rows, by counter."""
        return {which: self.of(r, which)[rows] for which in self._of[r]}

    def restore(self, r: int, saved: dict[int, Numbers]) -> None:
        for which, numbers in saved.items():
            self.of(r, which)[:] = numbers

    def clear(self, r: int) -> None:
        for numbers in self._of[r].values():
            numbers.fill(0)

    def memory(self) -> int:
        return sum(numbers.nbytes for mine in self._of.values() for numbers in mine.values())

    # Ages.

    def date(self, r: int) -> None:
        """Begin to give the relation's rows ages."""
        self.of(r, AGE)

    def undate(self, r: int) -> None:
        """Stop giving the relation's rows ages."""
        if self._of[r].pop(AGE, None) is not None:
            self._tables.rels[r, at.R_AGE] = 0

    def stamp(self, r: int, rows: slice | NDArray[np.uint32], count: int) -> None:
        """Give these rows the next ages, in this order, if the relation's rows have ages."""
        ages = self._of[r].get(AGE)
        if ages is not None:
            if self.now + count > LAST_AGE:
                raise LimitError("too many facts of recursive relations are added at once")
            ages[rows] = np.arange(self.now, self.now + count, dtype=np.int32)
            self.now += count

    def ages(self, r: int, rows: slice | NDArray[Any]) -> Numbers | None:
        ages = self._of[r].get(AGE)
        return None if ages is None else ages[rows].copy()

    def set_ages(self, r: int, rows: NDArray[np.uint32], ages: Numbers) -> None:
        self.of(r, AGE)[rows] = ages

    def renew_ages(self) -> None:
        """Renumber ages that have become large, in the same order."""
        if self.now < LAST_AGE // 2:
            return
        dated = [self.of(r, AGE) for r, mine in self._of.items() if AGE in mine]
        ages, places = np.unique(np.concatenate(dated), return_inverse=True)
        start = 0
        for mine in dated:
            mine[:] = places[start : start + len(mine)]
            start += len(mine)
        self.now = len(ages)


class DirtyRows:
    """Rows that are not just in the materialisation, so that joins look at the masks of no others:
    a bit for each, by a hash of its values, where an update has begun to note them."""

    def __init__(self, tables: RelationTable, rows: Callable[[int], NDArray[np.uint32]]) -> None:
        self.too_many: set[int] = set()  # relations of which too many rows are dirty
        self._tables = tables
        self._rows = rows
        self._bits: dict[int, Bitmap] = {}
        self._noted: dict[int, int] = {}  # how many

    def begin(self, r: int, count: int) -> bool:
        """Begin to note the relation's dirty rows; False if there are too many."""
        if count > MOST_DIRTY:
            self.too_many.add(r)
            return False
        bits = self._bits.get(r)
        if bits is None or not bits.suits(count):
            bits = self._bits[r] = Bitmap(count)
        else:
            bits.clear()
        self._tables.rels[r, at.R_ODD] = bits.address
        self._noted[r] = 0
        return True

    def note(self, r: int, rows: slice | NDArray[np.uint32]) -> None:
        """Note these rows as dirty, where dirty rows are noted and not too many."""
        if self._tables.rels[r, at.R_ODD]:
            self.note_facts(r, self._rows(r)[rows])

    def note_facts(self, r: int, data: NDArray[np.uint32]) -> None:
        """The same for facts that may have no rows."""
        if not self._tables.rels[r, at.R_ODD]:
            return
        self._noted[r] += len(data)  # some for the second time
        if len(data) > MOST_DIRTY or self._noted[r] > AGAIN * MOST_DIRTY:
            self.too_many.add(r)
            self.forget(r)
        else:
            note_odd(self._tables.rels_at, r, data)

    def forget(self, r: int | None = None) -> None:
        """Forget the dirty rows of a relation, or of all."""
        self._tables.rels[slice(None) if r is None else r, at.R_ODD] = 0


class RowStore:
    """Relations by number. Row numbers stay as they are until rows are removed."""

    def __init__(self) -> None:
        self.tables = RelationTable()
        self.indexes = Indexes(self.tables)
        self.counters = RowCounters(self.tables)
        self.dirty = DirtyRows(self.tables, self.rows)
        self._rows: list[RelationArrays] = []

    def add(self, arity: int) -> int:
        """A new, empty relation."""
        number = len(self._rows)
        self._rows.append(RelationArrays())
        self.tables.add_relation(number, arity)
        return number

    def arity(self, r: int) -> int:
        return int(self.tables.rels[r, at.R_ARITY])

    def size(self, r: int) -> int:
        return int(self.tables.rels[r, at.R_N])

    def sizes(self) -> NDArray[np.int64]:
        """Rows of every relation (a view, until relations are added)."""
        return self.tables.rels[: len(self._rows), at.R_N]

    def grow(self, r: int, rows: int = 0) -> None:
        """Make room for at least one more row, or for `rows` rows in all."""
        store, rel = self._rows[r], self.tables.rels[r]
        n, capacity, arity = int(rel[at.R_N]), int(rel[at.R_CAP]), int(rel[at.R_ARITY])
        # Every growth touches new pages, which cost more than the rows that they hold: grow in
        # large steps while a relation is small.
        capacity = max(64, 4 * capacity if capacity < STEP_DOWN else larger(capacity), rows)
        if capacity > MOST_ROWS:
            raise LimitError(f"a relation holds at most {MOST_ROWS:,} facts")
        size = (int(capacity / LOAD) // 8 + 1) * 8
        keys, slots = zeros(size, np.uint64), zeros(size, np.uint32)
        data, mask = zeros(max(1, capacity * arity), np.uint32), zeros(capacity, np.uint16)
        # Pairs get their numbers late, but at once where derivations are counted.
        numbered = arity > 2 or rel[at.R_FILLED] or self.counters.counts(r)
        numbers = store.slots if numbered else store.slots[:0]
        for multiplier in MULTIPLIERS:
            if rehash(store.keys, numbers, keys, slots, multiplier) <= PASSED * (n + 8):
                break
            keys.fill(0)
            slots.fill(0)
        else:
            rehash(store.keys, numbers, keys, slots, multiplier)
        self.counters.grow(r, capacity)  # the last for which there may be no memory
        data[: n * arity] = store.rows[: n * arity]
        mask[:n] = store.mask[:n]
        store.keys, store.slots, store.rows, store.mask = keys, slots, data, mask
        rel[at.R_CAP] = capacity
        rel[at.R_ROWS] = data.ctypes.data
        rel[at.R_MASK] = mask.ctypes.data
        rel[at.R_HKEYS] = keys.ctypes.data
        rel[at.R_HROWS] = slots.ctypes.data
        rel[at.R_HSIZE] = size
        rel[at.R_MULT] = multiplier.view(np.int64)

    def grow_out(self, r: int) -> None:
        store, rel = self._rows[r], self.tables.rels[r]
        out = np.empty(max(64, 2 * len(store.out)), dtype=np.uint32)
        out[: len(store.out)] = store.out
        store.out = out
        rel[at.R_OUT] = out.ctypes.data
        rel[at.R_OUTCAP] = len(out)

    def take_out(self, r: int) -> Rows:
        """The listed rows of the last result; the list starts anew."""
        count = int(self.tables.rels[r, at.R_OUTN])
        self.tables.rels[r, at.R_OUTN] = 0
        return self._rows[r].out[:count].copy()

    def load(self, r: int, data: Ids, bits: int = 0) -> Rows:
        """Find or add rows; new ones start with `bits`. Returns their numbers."""
        self.fill(r)
        found = np.empty(len(data), dtype=np.int64)
        tables, rel, done = self.tables, self.tables.rels[r], 0
        while True:
            done = load_rows(tables.rels_at, r, data, done, tables.scratch_at, bits, found)
            if done == len(data):
                return found.astype(np.uint32)
            # Loaded tables are mostly new rows: reserve for what is left, within reason.
            self.grow(r, min(int(rel[at.R_N]) * 4 + 64, int(rel[at.R_N]) + len(data) - done))

    def enter(self, r: int, data: Ids, bits: int, tick: Callable[[], None]) -> Rows:
        """Add rows that are absent, which start with `bits`; the others' numbers are returned.

        The same as `load`, but quicker for many pairs that nobody looks up soon.
        """
        self.fill(r)
        before = self.size(r)
        if self.arity(r) != 2:
            found = self.load(r, data, bits)
            return found[found < before]
        if len(data) > before and before + len(data) > self.tables.rels[r, at.R_CAP]:
            self.grow(r, before + len(data))  # for many rows, which are mostly new
        known = np.empty(len(data), dtype=np.uint32)
        done = count = 0
        while done < len(data):
            tick()
            part = data[: done + MANY]
            done, count = enter_pairs(self.tables.rels_at, r, part, done, bits, known, count)
            if done < len(part):
                self.grow(r)
        return known[:count]

    def fill(self, r: int) -> None:
        """Let the hash table know every row's number; needed to read masks and members."""
        rel = self.tables.rels[r]
        if rel[at.R_FILLED] < rel[at.R_N]:
            began = time.thread_time()
            fill_rows(self.tables.rels_at, r, self.tables.scratch_at)
            self.tables.lasting += time.thread_time() - began

    def find(self, r: int, ids: Sequence[int]) -> int:
        """The number of a row, or -1."""
        self.fill(r)
        self.tables.scratch[: len(ids)] = ids
        return int(locate(self.tables.rels_at, r, self.tables.scratch_at))

    def clear(self, r: int) -> None:
        """Take all rows away; only for relations that no set holds."""
        store, rel = self._rows[r], self.tables.rels[r]
        rel[at.R_N] = rel[at.R_FILLED] = 0
        store.keys.fill(0)
        store.slots.fill(0)
        self.counters.clear(r)
        self.indexes.clear(r)

    def remove(self, r: int, rows: Rows) -> None:
        """Take rows away. The last rows move into the gaps: other row numbers change."""
        if not len(rows):
            return
        if self.is_part(r, len(rows)):
            stays = np.ones(self.size(r), dtype=np.bool_)
            stays[rows] = False
            self.keep(r, stays)
            return
        self.fill(r)
        going, tables = np.sort(rows)[::-1].copy(), self.tables
        which = np.array(self.indexes.remove(r, going, self.rows(r)[going]), dtype=np.int64)
        remove_rows(tables.rels_at, self.indexes.table_at, r, going, which, tables.scratch_at)

    def is_part(self, r: int, rows: int) -> bool:
        """Are so many rows a large part of a relation? To put the others in again is quicker then
        than to take them away."""
        return PART * rows > self.size(r)

    def keep(self, r: int, kept: NDArray[np.bool_]) -> None:
        """Take all other rows away. Row numbers change."""
        data, masks = self.rows(r)[kept], self.mask(r)[kept]
        numbers = self.counters.saved(r, kept)
        self.clear(r)
        self.enter(r, data, 0, lambda: None)
        self.mask(r)[:] = masks
        self.counters.restore(r, numbers)

    def rows(self, r: int) -> Ids:
        """All rows, one line each (a view)."""
        n, arity = int(self.tables.rels[r, at.R_N]), int(self.tables.rels[r, at.R_ARITY])
        return self._rows[r].rows[: n * arity].reshape(n, arity)

    def mask(self, r: int) -> NDArray[np.uint16]:
        return self._rows[r].mask[: int(self.tables.rels[r, at.R_N])]

    def select(self, r: int, rows: Rows, holds: NDArray[np.uint8], wanted: bool = True) -> Rows:
        """Those of the rows whose masks a truth table holds, or does not hold."""
        found = np.empty(len(rows), dtype=np.uint32)
        return found[: select(self.tables.rels_at, r, rows, holds, wanted, found)]

    def memory(self) -> int:
        """Bytes that the arrays take."""
        rows = sum(each.nbytes() for each in self._rows)
        return rows + self.counters.memory() + self.indexes.memory()
