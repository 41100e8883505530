"""Rows, masks, hash tables and indexes: the memory behind the local engine."""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.local.bitmap import Bitmap
from tidelog.local.dictionary import Ids
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

LOAD = 0.7  # of a hash table's slots, at most
STEP_DOWN = 1 << 18  # from four times this on, tables grow by half: memory matters more
PASSED = 4  # slots passed over per row, on average, before another multiplier is tried
MULTIPLIERS = tuple(
    np.uint64(m) for m in (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F)
)
LARGE = 1 << 22  # bytes of an array that gets large pages
PART = 8  # where more than one row in so many goes, the others are put in again
MANY = 1 << 20  # rows between two looks at the clock
MOST_ODD = 1 << 19  # rows; of more, too many others would share a bit with one
AGAIN = 2  # times as many notes, as rows are noted again for every set that they enter
SAMPLE = 1024  # rows that an estimate looks at
# Where these are: not at equal distances, which would miss what rows next to each other share.
_ANYWHERE = np.random.default_rng(1).random(SAMPLE)
MOST_ROWS = (1 << 32) - 2
AGE = at.R_AGE - at.R_COUNT
LAST_AGE = (1 << 31) - 1


def _larger(size: int) -> int:
    return 2 * size if size < 4 * STEP_DOWN else size + size // 2


def _new(size: int, kind: type[np.generic]) -> NDArray[Any]:
    """Zeros: pages that nobody touches take no memory."""
    needed = size * np.dtype(kind).itemsize
    try:
        if needed < LARGE or not hasattr(mmap, "MADV_HUGEPAGE"):
            return np.zeros(size, dtype=kind)
        return np.frombuffer(_large_pages(needed), dtype=kind)
    except (MemoryError, OSError):
        raise LimitError(f"error: no memory for a table of {needed / 2**20:,.0f} MiB") from None


def _large_pages(needed: int) -> mmap.mmap:
    """Memory in large pages, where the system has them: a table is read all over, and there are
    fewer of them to be made and to be found again. A process that is forked has a copy."""
    made = mmap.mmap(-1, needed, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):
        made.madvise(mmap.MADV_HUGEPAGE)
    return made


@dataclass(slots=True)
class _Rows:
    """One relation's arrays; the kernels see their addresses."""

    rows: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    mask: NDArray[np.uint16] = field(default_factory=lambda: np.empty(0, np.uint16))
    keys: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    slots: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    out: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    counts: dict[int, NDArray[np.int32]] = field(default_factory=dict)
    indexes: dict[tuple[int, ...], int] = field(default_factory=dict)

    def nbytes(self) -> int:
        arrays: tuple[NDArray[Any], ...] = (self.rows, self.mask, self.keys, self.slots, self.out)
        return sum(array.nbytes for array in (*arrays, *self.counts.values()))


@dataclass(slots=True)
class _Index:
    slots: NDArray[np.uint32]
    arena: NDArray[np.uint32]
    free: NDArray[np.int64]
    columns: NDArray[np.int64]
    used: bool = False  # has it had rows yet?

    def nbytes(self) -> int:
        return self.slots.nbytes + self.arena.nbytes


class Store:
    """Relations by number. Row numbers stay as they are until rows are removed."""

    def __init__(self) -> None:
        self.rels: NDArray[np.int64] = np.zeros((16, at.R_WIDTH), dtype=np.int64)
        self.idxs: NDArray[np.int64] = np.zeros((16, at.X_WIDTH), dtype=np.int64)
        self._rows: list[_Rows] = []
        self._indexes: list[_Index] = []
        self.scratch: NDArray[np.int64] = np.zeros(64, dtype=np.int64)
        self._odd: dict[int, Bitmap] = {}
        self._noted: dict[int, int] = {}  # how many odd rows
        self.too_odd: set[int] = set()  # relations of which too many are
        self.now = 1  # the age of the next row
        self.lasting = 0.0  # seconds in which indexes and row numbers were made
        self._fanouts: dict[tuple[int, tuple[int, ...]], tuple[int, float]] = {}
        self._locate()

    def _locate(self) -> None:
        self.rels_at: int = self.rels.ctypes.data
        self.idxs_at: int = self.idxs.ctypes.data
        self.scratch_at: int = self.scratch.ctypes.data

    def add(self, arity: int) -> int:
        """A new, empty relation."""
        number = len(self._rows)
        if number == len(self.rels):
            self.rels = np.concatenate([self.rels, np.zeros_like(self.rels)])
        self._rows.append(_Rows())
        self.rels[number, at.R_ARITY] = arity
        if arity >= len(self.scratch):
            self.scratch = np.zeros(2 * arity, dtype=np.int64)
        self._locate()
        return number

    def arity(self, r: int) -> int:
        return int(self.rels[r, at.R_ARITY])

    def size(self, r: int) -> int:
        return int(self.rels[r, at.R_N])

    def sizes(self) -> NDArray[np.int64]:
        """Rows of every relation (a view, until relations are added)."""
        return self.rels[:, at.R_N]

    def grow(self, r: int, rows: int = 0) -> None:
        """Make room for at least one more row, or for `rows` rows in all."""
        store, rel = self._rows[r], self.rels[r]
        n, capacity, arity = int(rel[at.R_N]), int(rel[at.R_CAP]), int(rel[at.R_ARITY])
        # Every growth touches new pages, which cost more than the rows that they hold: grow in
        # large steps while a relation is small.
        capacity = max(64, 4 * capacity if capacity < STEP_DOWN else _larger(capacity), rows)
        if capacity > MOST_ROWS:
            raise LimitError(f"a relation holds at most {MOST_ROWS:,} facts")
        size = (int(capacity / LOAD) // 8 + 1) * 8
        keys, slots = _new(size, np.uint64), _new(size, np.uint32)
        data, mask = _new(max(1, capacity * arity), np.uint32), _new(capacity, np.uint16)
        # Pairs get their numbers late, but at once where derivations are counted.
        numbered = arity > 2 or rel[at.R_FILLED] or store.counts.keys() - {AGE}
        numbers = store.slots if numbered else store.slots[:0]
        for multiplier in MULTIPLIERS:
            if rehash(store.keys, numbers, keys, slots, multiplier) <= PASSED * (n + 8):
                break
            keys.fill(0)
            slots.fill(0)
        else:
            rehash(store.keys, numbers, keys, slots, multiplier)
        data[: n * arity] = store.rows[: n * arity]
        mask[:n] = store.mask[:n]
        store.keys, store.slots, store.rows, store.mask = keys, slots, data, mask
        for which, old in store.counts.items():
            counts = _new(capacity, np.int32)
            counts[:n] = old[:n]
            self._attach_counts(r, which, counts)
        rel[at.R_CAP] = capacity
        rel[at.R_ROWS] = data.ctypes.data
        rel[at.R_MASK] = mask.ctypes.data
        rel[at.R_HKEYS] = keys.ctypes.data
        rel[at.R_HROWS] = slots.ctypes.data
        rel[at.R_HSIZE] = size
        rel[at.R_MULT] = multiplier.view(np.int64)

    def reserve(self, r: int, more: int) -> None:
        """Make room for rows that are mostly new, where they are many."""
        n, capacity = int(self.rels[r, at.R_N]), int(self.rels[r, at.R_CAP])
        if more > n and n + more > capacity:
            self.grow(r, n + more)

    def counts(self, r: int, which: int) -> NDArray[np.int32]:
        """Each row's number in a counter, zero at first (a view)."""
        store = self._rows[r]
        if which not in store.counts:
            self._attach_counts(r, which, _new(int(self.rels[r, at.R_CAP]), np.int32))
        return store.counts[which][: int(self.rels[r, at.R_N])]

    def _attach_counts(self, r: int, which: int, counts: NDArray[np.int32]) -> None:
        self._rows[r].counts[which] = counts
        self.rels[r, at.R_COUNT + which] = counts.ctypes.data

    # Ages: the order in which rows came to the materialisation.

    def date(self, r: int) -> None:
        """From now on the relation's rows have ages."""
        self.counts(r, AGE)

    def undate(self, r: int) -> None:
        """They have none any more."""
        if self._rows[r].counts.pop(AGE, None) is not None:
            self.rels[r, at.R_AGE] = 0

    def stamp(self, r: int, rows: slice | NDArray[np.uint32], count: int) -> None:
        """These rows come now, in this order, where the relation's rows have ages."""
        ages = self._rows[r].counts.get(AGE)
        if ages is not None:
            if self.now + count > LAST_AGE:
                raise LimitError("too many facts of recursive relations come at once")
            ages[rows] = np.arange(self.now, self.now + count, dtype=np.int32)
            self.now += count

    def ages(self, r: int, rows: slice | NDArray[Any]) -> NDArray[np.int32] | None:
        ages = self._rows[r].counts.get(AGE)
        return None if ages is None else ages[rows].copy()

    def set_ages(self, r: int, rows: NDArray[np.uint32], ages: NDArray[np.int32]) -> None:
        self.counts(r, AGE)[rows] = ages

    def renew_ages(self) -> None:
        """Make the ages small again, in the same order, where they have become large."""
        if self.now < LAST_AGE // 2:
            return
        dated = [
            store.counts[AGE][: int(rel[at.R_N])]
            for store, rel in zip(self._rows, self.rels, strict=False)
            if AGE in store.counts
        ]
        ages, places = np.unique(np.concatenate(dated), return_inverse=True)
        start = 0
        for mine in dated:
            mine[:] = places[start : start + len(mine)]
            start += len(mine)
        self.now = len(ages)

    # Odd rows: those that are not just in the materialisation. A bit for each, by a hash of its
    # values, so that joins need not look at the masks of the others.

    def has_odd(self, r: int) -> bool:
        """Are the relation's odd rows known?"""
        return bool(self.rels[r, at.R_ODD])

    def keep_odd(self, r: int, count: int) -> bool:
        """From now on the relation's odd rows are noted, unless so many are too many."""
        if count > MOST_ODD:
            self.too_odd.add(r)
            return False
        bits = self._odd.get(r)
        if bits is None or not bits.suits(count):
            bits = self._odd[r] = Bitmap(count)
        else:
            bits.clear()
        self.rels[r, at.R_ODD] = bits.address
        self._noted[r] = 0
        return True

    def note_odd(self, r: int, rows: slice | NDArray[np.uint32]) -> None:
        """Note these rows as odd, where odd rows are noted and not too many."""
        if self.has_odd(r):
            count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
            if self._may_note(r, count):
                note_odd(self.rels_at, r, self.rows(r)[rows])

    def note_facts(self, r: int, data: NDArray[np.uint32]) -> None:
        """The same for facts that may have no rows."""
        if self.has_odd(r) and self._may_note(r, len(data)):
            note_odd(self.rels_at, r, data)

    def _may_note(self, r: int, count: int) -> bool:
        """May so many more rows be noted, some for the second time? If not, none are any longer."""
        self._noted[r] += count
        if count > MOST_ODD or self._noted[r] > AGAIN * MOST_ODD:
            self.too_odd.add(r)
            self.forget_odd(r)
            return False
        return True

    def forget_odd(self, r: int | None = None) -> None:
        """Odd rows of the relation, or of all, are no longer known."""
        if r is None:
            self.rels[:, at.R_ODD] = 0
        else:
            self.rels[r, at.R_ODD] = 0

    def grow_out(self, r: int) -> None:
        store, rel = self._rows[r], self.rels[r]
        out = np.empty(max(64, 2 * len(store.out)), dtype=np.uint32)
        out[: len(store.out)] = store.out
        store.out = out
        rel[at.R_OUT] = out.ctypes.data
        rel[at.R_OUTCAP] = len(out)

    def take_out(self, r: int) -> NDArray[np.uint32]:
        """The listed rows of the last result; the list starts anew."""
        count = int(self.rels[r, at.R_OUTN])
        self.rels[r, at.R_OUTN] = 0
        return self._rows[r].out[:count].copy()

    def load(self, r: int, data: Ids, bits: int) -> NDArray[np.int64]:
        """Find or add rows; new ones start with `bits`. Returns their numbers."""
        self.fill(r)
        found = np.empty(len(data), dtype=np.int64)
        rel = self.rels[r]
        done = 0
        while True:
            done = load_rows(self.rels_at, r, data, done, self.scratch_at, bits, found)
            if done == len(data):
                return found
            # Loaded tables are mostly new rows: reserve for what is left, within reason.
            self.grow(r, min(int(rel[at.R_N]) * 4 + 64, int(rel[at.R_N]) + len(data) - done))

    def enter(self, r: int, data: Ids, bits: int, tick: Callable[[], None]) -> NDArray[np.uint32]:
        """Add rows that are absent, which start with `bits`; the others' numbers are returned.

        The same as `load`, but quicker for many pairs that nobody looks up soon.
        """
        self.fill(r)
        before = self.size(r)
        if self.arity(r) != 2:
            found = self.load(r, data, bits)
            return found[found < before].astype(np.uint32)
        self.reserve(r, len(data))
        known = np.empty(len(data), dtype=np.uint32)
        done = count = 0
        while done < len(data):
            tick()
            part = data[: done + MANY]
            done, count = enter_pairs(self.rels_at, r, part, done, bits, known, count)
            if done < len(part):
                self.grow(r)
        return known[:count]

    def fill(self, r: int) -> None:
        """Let the hash table know every row's number; needed to read masks and members."""
        rel = self.rels[r]
        if rel[at.R_FILLED] < rel[at.R_N]:
            began = time.thread_time()
            fill_rows(self.rels_at, r, self.scratch_at)
            self.lasting += time.thread_time() - began

    def find(self, r: int, ids: Sequence[int]) -> int:
        """The number of a row, or -1."""
        self.fill(r)
        self.scratch[: len(ids)] = ids
        return int(locate(self.rels_at, r, self.scratch_at))

    def clear(self, r: int) -> None:
        """Take all rows away; only for relations that no set holds."""
        store, rel = self._rows[r], self.rels[r]
        rel[at.R_N] = rel[at.R_FILLED] = 0
        store.keys.fill(0)
        store.slots.fill(0)
        for counts in store.counts.values():
            counts.fill(0)
        for x in store.indexes.values():
            self._indexes[x].slots.fill(0)
            self._indexes[x].free.fill(-1)
            self.idxs[x, [at.X_USED, at.X_TOP, at.X_DONE, at.X_MARK]] = 0

    def remove(self, r: int, rows: NDArray[np.uint32]) -> None:
        """Take rows away. The last rows move into the gaps: other row numbers change."""
        n = self.size(r)
        if not len(rows):
            return
        if self.is_part(r, len(rows)):
            stays = np.ones(n, dtype=np.bool_)
            stays[rows] = False
            self.keep(r, stays)
            return
        self.fill(r)
        indexes = self._rows[r].indexes
        which = np.array(list(indexes.values()), dtype=np.int64)
        going = np.sort(rows)[::-1].copy()
        for key, x in indexes.items():
            self._append(x, n)
            order = going[_by_key(self.rows(r)[going], key)]
            unindex_rows(self.rels_at, self.idxs_at, x, order, self.scratch_at)
        remove_rows(self.rels_at, self.idxs_at, r, going, which, self.scratch_at)

    def is_part(self, r: int, rows: int) -> bool:
        """Are so many rows a large part of a relation? To put the others in again is quicker then
        than to take them away."""
        return PART * rows > self.size(r)

    def keep(self, r: int, kept: NDArray[np.bool_]) -> None:
        """Take all other rows away. Row numbers change."""
        data, masks = self.rows(r)[kept], self.mask(r)[kept]
        counts = {c: self.counts(r, c)[kept] for c in self._rows[r].counts}
        self.clear(r)
        self.enter(r, data, 0, lambda: None)
        self.mask(r)[:] = masks
        for c, numbers in counts.items():
            self.counts(r, c)[:] = numbers

    def rows(self, r: int) -> NDArray[np.uint32]:
        """All rows, one line each (a view)."""
        n, arity = int(self.rels[r, at.R_N]), int(self.rels[r, at.R_ARITY])
        return self._rows[r].rows[: n * arity].reshape(n, arity)

    def mask(self, r: int) -> NDArray[np.uint16]:
        return self._rows[r].mask[: int(self.rels[r, at.R_N])]

    def select(
        self, r: int, rows: NDArray[np.uint32], holds: NDArray[np.uint8], wanted: bool = True
    ) -> NDArray[np.uint32]:
        """Those of the rows whose masks a truth table holds, or does not hold."""
        found = np.empty(len(rows), dtype=np.uint32)
        return found[: select(self.rels_at, r, rows, holds, wanted, found)]

    def index(self, r: int, key: tuple[int, ...]) -> int:
        """The index of relation r on these columns, made if there is none; maybe behind."""
        known = self._rows[r].indexes.get(key)
        if known is not None:
            return known
        arity = int(self.rels[r, at.R_ARITY])
        rest = tuple(range(arity)) if len(key) > 2 else self.rest(arity, key)
        number = len(self._indexes)
        if number == len(self.idxs):
            self.idxs = np.concatenate([self.idxs, np.zeros_like(self.idxs)])
            self._locate()
        made = _Index(
            slots=np.zeros(16 * at.SLOT, dtype=np.uint32),
            arena=np.empty(16 * len(rest), dtype=np.uint32),
            free=np.full(48, -1, dtype=np.int64),
            columns=np.array(key + rest, dtype=np.int64),
        )
        self._indexes.append(made)
        row = self.idxs[number]
        row[at.X_REL] = r
        row[at.X_NKEY] = len(key)
        row[at.X_STRIDE] = len(rest)
        row[at.X_FREE] = made.free.ctypes.data
        row[at.X_COLS] = made.columns.ctypes.data
        row[at.X_EPOCH] = 1
        self._attach(number)
        self._rows[r].indexes[key] = number
        return number

    @staticmethod
    def rest(arity: int, key: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(c for c in range(arity) if c not in key)

    def _attach(self, x: int) -> None:
        made, row = self._indexes[x], self.idxs[x]
        row[at.X_SLOTS] = made.slots.ctypes.data
        row[at.X_SIZE] = len(made.slots) // at.SLOT
        row[at.X_LIMIT] = int(LOAD * (len(made.slots) // at.SLOT))
        row[at.X_ARENA] = made.arena.ctypes.data
        row[at.X_CAP] = len(made.arena)

    def catch_up(self, x: int, old: int | None = None) -> bool:
        """Index all rows. Those from `old` on (none, if not given) count as new: True if so."""
        r = int(self.idxs[x, at.X_REL])
        row, n = self.idxs[x], int(self.rels[r, at.R_N])
        mark = n if old is None else old
        if row[at.X_DONE] <= mark and row[at.X_MARK] != mark:
            self._append(x, mark)
            row[at.X_MARK] = mark
            row[at.X_EPOCH] += 1
        self._append(x, n)
        return int(row[at.X_MARK]) == mark

    def _append(self, x: int, upto: int) -> None:
        if self.idxs[x, at.X_DONE] >= upto:
            return
        made = self._indexes[x]
        if made.used:
            self._extend(x, made, upto)
            return
        began = time.thread_time()
        self._extend(x, made, upto)
        made.used = True
        self.lasting += time.thread_time() - began

    def _extend(self, x: int, made: _Index, upto: int) -> None:
        while (why := append_rows(self.rels_at, self.idxs_at, x, upto, self.scratch_at)) != INDEXED:
            if why == GROW_SLOTS:
                size = len(made.slots) // at.SLOT
                done, used = int(self.idxs[x, at.X_DONE]), int(self.idxs[x, at.X_USED])
                likely = int(used / max(1, done) * upto / LOAD)  # if keys come on as they did
                size = max(_larger(size), min(likely, 8 * size))
                slots = np.zeros(size * at.SLOT, dtype=np.uint32)
                rehash_slots(made.slots, slots)
                made.slots = slots
            else:
                stride = int(self.idxs[x, at.X_STRIDE])
                left = upto - int(self.idxs[x, at.X_DONE])
                needed = int(self.idxs[x, at.X_TOP]) + stride * max(64, left // 4)
                needed = max(_larger(len(made.arena)), needed)
                if needed > MOST_ROWS:
                    raise LimitError("an index holds at most 4 billion values")
                arena = _new(needed, np.uint32)
                top = int(self.idxs[x, at.X_TOP])
                arena[:top] = made.arena[:top]
                made.arena = arena
            self._attach(x)

    def complete(self, r: int) -> None:
        """Bring all indexes of a relation up to date."""
        for x in self._rows[r].indexes.values():
            self._append(x, self.size(r))

    def fanout(self, r: int, key: tuple[int, ...]) -> float:
        """How many facts share these columns with a fact, on average; from a sample.

        Columns with a few popular values thus count as the popular ones do, which is what
        a join mostly meets.
        """
        n = self.size(r)
        known = self._fanouts.get((r, key))
        if known is not None and known[0] == n.bit_length():
            return known[1]
        rows = self.rows(r)
        if n > 2 * SAMPLE:
            rows = rows[np.unique((_ANYWHERE * n).astype(np.int64))]
        sample = np.ascontiguousarray(rows[:, list(key)])
        estimate = 1.0
        if len(sample) > 1:
            whole = sample.view([("", sample.dtype)] * len(key)).ravel()
            counts = np.unique(whole, return_counts=True)[1].astype(np.float64)
            pairs = len(sample) * (len(sample) - 1.0)
            estimate = 1.0 + (n - 1) * float((counts * (counts - 1)).sum()) / pairs
        self._fanouts[r, key] = (n.bit_length(), estimate)
        return estimate

    def memory(self) -> int:
        """Bytes that the arrays take."""
        return sum(rows.nbytes() for rows in self._rows) + sum(i.nbytes() for i in self._indexes)


def _by_key(rows: NDArray[np.uint32], key: tuple[int, ...]) -> NDArray[np.int64]:
    """An order of the rows in which those with equal values in these columns are together."""
    if len(rows) == 1 or not key:
        return np.arange(len(rows))
    if len(key) == 1:
        return np.argsort(rows[:, key[0]])
    if len(key) == 2:
        return np.argsort(rows[:, key[0]].astype(np.uint64) << np.uint64(32) | rows[:, key[1]])
    return np.lexsort([rows[:, c] for c in key])
