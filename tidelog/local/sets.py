"""Sets of facts as bits of a mask, and views as truth tables over masks.

Every row has a mask of sixteen bits, one a set. A set that changes with an update also
lists its rows, so that what is done with it costs its size; a *whole* set (the
materialisation, the explicit facts) only counts them.

Where there are more sets than bits, some are *spilled*: they list their rows and have no bit until
they are needed.
"""

from __future__ import annotations

import weakref
from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from operator import neg
from typing import Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tidelog.engine import Combination, FactSet, View
from tidelog.local.kernels.bits import turn
from tidelog.local.row_store import Rows, RowStore

Move = Literal["added", "removed", "taken"]
Saved = dict[int, NDArray[np.uint32]]  # facts by relation, as ids: row numbers may change
# By relation, in order; with the ages of removed facts.
Journal = list[tuple[Move, int, NDArray[np.uint32], NDArray[np.int32] | None]]
BITS = 16  # of a row's mask: so many sets are not spilled
MANY = 1 << 14  # new rows, from which on a list of them is avoided: chosen, not measured
NO_ROWS: Rows = np.empty(0, dtype=np.uint32)
CACHED_TABLES = 512  # truth tables of 64 KiB each: 32 MiB at most
MASKS = np.arange(1 << 16, dtype=np.uint16)
EXPLICIT, ALL = 1, 2  # the bits of the two sets that stay
Key = int | tuple[object, ...]  # a set's bit, or how others are combined
NOT_IN_ALL: Key = ("not", ALL)


class TruthTable(NamedTuple):
    """A view's truth table. Kernels know it by address: it must live as long as they run."""

    holds: NDArray[np.uint8]  # not to be changed
    address: int
    of_nothing: int  # whether a fact that is in no set is in the view
    all_plain: int  # whether all facts are that are in the materialisation and in no other set
    some_plain: int  # whether some of those are: explicit ones, or the others

    @classmethod
    def of(cls, holds: NDArray[np.bool_]) -> TruthTable:
        table = holds.view(np.uint8)
        plain = int(table[ALL]), int(table[ALL | EXPLICIT])
        return cls(table, table.ctypes.data, int(table[0]), min(plain), max(plain))


@lru_cache(CACHED_TABLES)
def truth(key: Key | None) -> TruthTable:
    """The truth table of a view with this key; of one that has all facts, if there is none."""
    if key is None:
        return TruthTable.of(np.ones(len(MASKS), dtype=np.bool_))
    if isinstance(key, int):
        return TruthTable.of((MASKS & np.uint16(key)) != 0)
    sides = [truth(side).holds.view(np.bool_) for side in key[1:]]
    if key[0] == "not":
        return TruthTable.of(~sides[0])
    return TruthTable.of(sides[0] | sides[1] if key[0] == "or" else sides[0] & sides[1])


class Pool(Protocol):
    """What sets need of the engine."""

    store: RowStore
    bits: Bits

    def members(self, view: View) -> Iterable[tuple[int, slice | Rows]]:
        """The rows of a view, by relation."""


class LocalSet(FactSet):
    """One bit of every row's mask, or none (0) while the set is spilled."""

    __slots__ = (
        "__weakref__",
        "_counts",
        "_parts",
        "_total",
        "bit",
        "bits",
        "dated",
        "journal",
        "pool",
        "store",
        "whole",
    )

    def __init__(self, pool: Pool, bit: int, *, whole: bool = False) -> None:
        self.pool = pool
        self.bits = pool.bits
        self.store = pool.store
        self.bit = bit
        self.whole = whole
        self.dated = False  # whether the order in which facts are added is recorded
        self.journal: Journal | None = None  # where changes are noted, to be undone
        self._parts: dict[int, list[slice | Rows]] = {}  # relation to its rows, where listed
        self._counts: dict[int, int] = {}
        self._total = 0

    def __len__(self) -> int:
        return self._total

    def __ior__(self, other: View) -> Self:
        for r, rows in self.pool.members(other):
            self.add(r, rows)
        return self

    def __isub__(self, other: View) -> Self:
        if isinstance(other, LocalSet):
            # What is listed leads to the rows of both.
            fewer = other if self.whole or len(other) < len(self) else self
            for r in fewer.relations():
                if self.count(r) and other.count(r):
                    rows = fewer.rows(r)
                    self.remove(r, (other if fewer is self else self).those(r, rows))
            return self
        for r, found in self.pool.members(self & other):
            self.remove(r, found)
        return self

    def count(self, r: int) -> int:
        return self._counts.get(r, 0)

    def relations(self) -> list[int]:
        return [r for r, count in self._counts.items() if count]

    def rows(self, r: int) -> Rows:
        """Row numbers of one relation."""
        if self.whole:
            mask = self.store.mask(r)
            return np.flatnonzero(mask & np.uint16(self.bit)).astype(np.uint32)
        parts = self._parts.get(r)
        if not parts:
            return NO_ROWS
        if len(parts) == 1:
            return listed(parts[0])
        rows = np.concatenate([listed(part) for part in parts])
        self._parts[r] = [rows]
        return rows

    def span(self, r: int) -> slice | None:
        """The rows as one range, if they are contiguous."""
        if self.whole:
            size = self.store.size(r)
            return slice(0, size) if self.count(r) == size else None
        parts = self._parts.get(r)
        if parts is not None and len(parts) == 1 and isinstance(parts[0], slice):
            return parts[0]
        return None

    def add(self, r: int, rows: slice | Rows) -> None:
        size = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        if not size:
            return
        bit = self.bit or self.bits.place(self)
        # Many new rows, of which none is in the set, need no list of new ones.
        plain = isinstance(rows, slice) and size > MANY and not self.has(r, rows).any()
        fresh = NO_ROWS if plain else np.empty(size, dtype=np.uint32)
        count = self._turn(r, rows, bit, 0, fresh)
        if not count:
            return
        if count < size:
            rows = fresh[:count]
        self.adopt(r, rows, count)
        if self.dated:
            self.store.counters.stamp(r, rows, count)

    def _turn(self, r: int, rows: slice | Rows, on: int, off: int, changed: Rows = NO_ROWS) -> int:
        """Turn bits of the rows' masks on and off; returns how many that changes, and lists them
        if asked."""
        at = self.store.tables.rels_at
        if isinstance(rows, slice):
            size = rows.stop - rows.start
            return int(turn(at, r, NO_ROWS, rows.start, size, on, off, changed))
        return int(turn(at, r, rows, 0, len(rows), on, off, changed))

    def adopt(self, r: int, rows: slice | Rows, count: int) -> None:
        """Rows whose bit has been set."""
        self._counts[r] = self._counts.get(r, 0) + count
        self._total += count
        if not self.whole:
            self._parts.setdefault(r, []).append(rows)
            self.store.dirty.note(r, rows)
        if self.journal is not None:
            self.journal.append(("added", r, self.store.rows(r)[rows].copy(), None))

    def replace(self, spans: dict[int, slice]) -> None:
        """Replace the set by these rows; a kernel has already set and cleared the bits."""
        self._parts = {r: [span] for r, span in spans.items()}
        self._counts = {r: span.stop - span.start for r, span in spans.items()}
        self._total = sum(self._counts.values())

    def spill(self) -> None:
        """Give up the bit, and list the rows instead."""
        for r in self.relations():
            for rows in self._parts[r]:
                self._turn(r, rows, 0, self.bit)
        self.bit = 0

    def restore(self) -> None:
        """Set the set's new bit in its rows."""
        for r in self.relations():
            for rows in self._parts[r]:
                self._turn(r, rows, self.bit, 0)
                self.store.dirty.note(r, rows)

    def remove(self, r: int, rows: slice | Rows) -> None:
        bit = self.bit or self.bits.place(self)
        if self.journal is not None:
            # Noted before it is done: there may be no memory for the note.
            rows = self.those(r, listed(rows))
            if not len(rows):
                return
            ages = self.store.counters.ages(r, rows)
            self.journal.append(("removed", r, self.store.rows(r)[rows], ages))
            self.store.dirty.note(r, rows)
        had = self._turn(r, rows, 0, bit)
        if not had:
            return
        self._total -= had
        self._counts[r] -= had
        if not self.whole:
            self._parts[r] = [self.those(r, self.rows(r))]

    @contextmanager
    def unnoticed(self) -> Iterator[None]:
        """Changes in the block are taken back later: they are not undone, and give no ages."""
        journal, dated = self.journal, self.dated
        self.journal, self.dated = None, False
        try:
            yield
        finally:
            self.journal, self.dated = journal, dated

    def pop(self, r: int, count: int) -> slice | Rows:
        """Rows of a relation that has some, at most so many, which leave the set."""
        parts = self._parts[r]
        last = parts.pop()
        size = last.stop - last.start if isinstance(last, slice) else len(last)
        if size > count:
            if isinstance(last, slice):
                parts.append(slice(last.start, last.stop - count))
                last = slice(last.stop - count, last.stop)
            else:
                parts.append(last[: size - count])
                last = last[size - count :]
            size = count
        if self.bit:
            self._turn(r, last, 0, self.bit)
        self._total -= size
        self._counts[r] -= size
        return last

    def become(self, other: LocalSet) -> None:
        """Take over the facts of the other set, and leave it empty."""
        self.clear()
        bit = self.bit or self.bits.place(self)  # the other may lose its own by that
        for r in other.relations():
            self._turn(r, other.span(r) or other.rows(r), bit, other.bit)
        self._parts, other._parts = other._parts, {}
        self._counts, other._counts = other._counts, {}
        self._total, other._total = other._total, 0

    def has(self, r: int, rows: slice | Rows) -> NDArray[np.bool_]:
        """Of each row, whether it is in the set."""
        bit = self.bit or self.bits.place(self)
        return np.asarray((self.store.mask(r)[rows] & np.uint16(bit)) != 0)

    def those(self, r: int, rows: Rows) -> Rows:
        """Those of the rows that are in the set."""
        bit = self.bit or self.bits.place(self)
        return self.store.select(r, rows, truth(bit).holds)

    def others(self, r: int, rows: Rows) -> Rows:
        """Those of the rows that are not in the set."""
        bit = self.bit or self.bits.place(self)
        return self.store.select(r, rows, truth(bit).holds, False)

    def drop(self, r: int) -> None:
        """Forget a relation's facts; their bits stay as they are."""
        self._total -= self._counts.pop(r, 0)
        self._parts.pop(r, None)

    def empty(self, r: int) -> None:
        """Have no facts of a relation any more."""
        if self.bit and self.count(r):
            self._turn(r, self.span(r) or self.rows(r), 0, self.bit)
        self.drop(r)

    def clear(self) -> None:
        for r in self.relations():
            self.empty(r)
        self._parts.clear()
        self._counts.clear()

    def release(self) -> None:
        """Empty the set and release its bit."""
        bit = getattr(self, "bit", None)
        if bit is None or self.whole:
            return
        try:
            if self._total:
                self.clear()
        finally:
            self.bit = 0
            self.bits.release(self, bit)

    def __del__(self) -> None:
        self.release()


class Bits:
    """The bits of a mask, but those of the two sets that stay. Where there are more sets than
    bits, the smallest are spilled."""

    def __init__(self) -> None:
        self.spills = 0  # so far: as long as there are no more, sets keep their bits
        self.free = [1 << i for i in range(BITS - 1, 1, -1)]
        # By bit: a finalizer of its own for each, as a WeakSet has one, would cost small updates.
        self._held: dict[int, weakref.ref[LocalSet]] = {}
        self.spilled: dict[int, weakref.ref[LocalSet]] = {}  # sets without a bit, by id

    def place(self, made: LocalSet, keep: Sequence[LocalSet] = ()) -> int:
        """Give a set a bit. If there is none left, the smallest other set is spilled, but none of
        those to keep."""
        if not self.free:
            kept = set(map(id, keep))
            smallest = min((s for s in self.sets() if s.bit and id(s) not in kept), key=len)
            bit = smallest.bit
            smallest.spill()
            self.spilled[id(smallest)] = self._held.pop(bit)
            self.free.append(bit)
            self.spills += 1
        bit = made.bit = self.free.pop()
        self._held[bit] = weakref.ref(made)
        if self.spilled and self.spilled.pop(id(made), None) is not None:
            made.restore()
        return bit

    def place_all(self, sets: Sequence[LocalSet]) -> None:
        for facts in sets:
            if not facts.bit:
                self.place(facts, sets)

    def release(self, made: LocalSet, bit: int) -> None:
        """Release the bit of a set that is empty."""
        if not bit:
            self.spilled.pop(id(made), None)
            return
        del self._held[bit]
        # In order, so that the same work has the same bits each time: tables are made for bits.
        insort(self.free, bit, key=neg)

    def sets(self) -> list[LocalSet]:
        """All temporary sets."""
        refs = (*self._held.values(), *self.spilled.values())
        return [made for ref in refs if (made := ref()) is not None]


def listed(rows: slice | Rows) -> Rows:
    return np.arange(rows.start, rows.stop, dtype=np.uint32) if isinstance(rows, slice) else rows


def distinct(rows: Rows) -> Rows:
    """The distinct numbers in order; faster here than `np.unique`."""
    rows = np.sort(rows)
    different = np.ones(len(rows), dtype=np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=different[1:])
    return rows[different]


def key_of(view: View) -> Key:
    """What the truth table depends on: bits and how they are combined."""
    if isinstance(view, LocalSet):
        return view.bit
    assert isinstance(view, Combination)
    if view.op == "not":
        return ("not", key_of(view.left))
    return (view.op, key_of(view.left), key_of(view.right))
