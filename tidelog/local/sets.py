"""Sets of facts as bits of a mask, and views as truth tables over masks.

Every row has a mask of sixteen bits, one a set. A set that changes with an update also
lists its rows, so that what is done with it costs its size; a *whole* set (the
materialisation, the explicit facts) only counts them.

Where there are more sets than bits, some are *spilled*: they list their rows and have no bit until
they are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import NDArray

from tidelog.engine import Combination, FactSet, Split, View
from tidelog.local.kernels.bits import turn

if TYPE_CHECKING:
    from tidelog.local.engine import LocalEngine

Rows = NDArray[np.uint32]
Key = int | tuple[object, ...]  # a set's bit, or how others are combined
Move = Literal["came", "went", "taken"]
Saved = dict[int, NDArray[np.uint32]]  # facts by relation, as ids: row numbers may change
# By relation, in order; with the ages of what went.
Journal = list[tuple[Move, int, NDArray[np.uint32], NDArray[np.int32] | None]]
MASKS = 1 << 16
MANY = 1 << 14  # rows
_ALL_MASKS = np.arange(MASKS, dtype=np.uint16)
NO_ROWS: Rows = np.empty(0, dtype=np.uint32)


class LocalSet(FactSet):
    """One bit of every row's mask, or none (0) while the set is spilled."""

    __slots__ = (
        "__weakref__",
        "_counts",
        "_parts",
        "_total",
        "bit",
        "dated",
        "engine",
        "journal",
        "whole",
    )

    def __init__(self, engine: LocalEngine, bit: int, *, whole: bool = False) -> None:
        self.engine = engine
        self.bit = bit
        self.whole = whole
        self.dated = False  # whether the order in which facts come is noted
        self.journal: Journal | None = None  # where changes are noted, to be undone
        self._parts: dict[int, list[slice | Rows]] = {}  # relation to its rows, where listed
        self._counts: dict[int, int] = {}
        self._total = 0

    def __len__(self) -> int:
        return self._total

    def __ior__(self, other: View) -> Self:
        for r, rows in self.engine.members(other):
            self.add(r, rows)
        return self

    def __isub__(self, other: View) -> Self:
        if isinstance(other, LocalSet):
            # What is listed leads to the rows of both.
            listed = other if self.whole or len(other) < len(self) else self
            for r in listed.relations():
                if self.count(r) and other.count(r):
                    rows = listed.rows(r)
                    self.remove(r, (other if listed is self else self).those(r, rows))
            return self
        for r, found in self.engine.members(self & other):
            self.remove(r, found)
        return self

    def count(self, r: int) -> int:
        return self._counts.get(r, 0)

    def relations(self) -> list[int]:
        return [r for r, count in self._counts.items() if count]

    def rows(self, r: int) -> Rows:
        """Row numbers of one relation."""
        if self.whole:
            mask = self.engine.store.mask(r)
            return np.flatnonzero(mask & np.uint16(self.bit)).astype(np.uint32)
        parts = self._parts.get(r)
        if not parts:
            return NO_ROWS
        if len(parts) == 1:
            return _listed(parts[0])
        rows = np.concatenate([_listed(part) for part in parts])
        self._parts[r] = [rows]
        return rows

    def span(self, r: int) -> slice | None:
        """The rows as one unbroken range, where they are one."""
        if self.whole:
            size = self.engine.store.size(r)
            return slice(0, size) if self.count(r) == size else None
        parts = self._parts.get(r)
        if parts is not None and len(parts) == 1 and isinstance(parts[0], slice):
            return parts[0]
        return None

    def add(self, r: int, rows: slice | Rows) -> None:
        size = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        if not size:
            return
        bit = self.bit or self.engine.place(self)
        # Many new rows, of which none is in the set, need no list of those that come.
        plain = isinstance(rows, slice) and size > MANY and not self._has_any(r, rows)
        fresh = NO_ROWS if plain else np.empty(size, dtype=np.uint32)
        count = self._turn(r, rows, bit, 0, fresh)
        if not count:
            return
        if count < size:
            rows = fresh[:count]
        self._note(r, rows, count)
        if self.dated:
            self.engine.store.stamp(r, rows, count)
        if self.journal is not None:
            self.journal.append(("came", r, self.engine.store.rows(r)[rows].copy(), None))

    def _turn(self, r: int, rows: slice | Rows, on: int, off: int, changed: Rows = NO_ROWS) -> int:
        """Turn bits of the rows' masks on and off; returns how many that changes, and lists them
        if asked."""
        at = self.engine.store.rels_at
        if isinstance(rows, slice):
            size = rows.stop - rows.start
            return int(turn(at, r, NO_ROWS, rows.start, size, on, off, changed))
        return int(turn(at, r, rows, 0, len(rows), on, off, changed))

    def _has_any(self, r: int, rows: slice) -> bool:
        return bool((self.engine.store.mask(r)[rows] & np.uint16(self.bit)).any())

    def adopt(self, r: int, rows: slice | Rows, count: int) -> None:
        """Rows whose bit a kernel has set."""
        self._note(r, rows, count)
        if self.journal is not None:
            self.journal.append(("came", r, self.engine.store.rows(r)[rows].copy(), None))

    def replace(self, spans: dict[int, slice]) -> None:
        """Have these rows, whose bit a kernel has set, and no others, whose bit it has cleared."""
        self._parts = {r: [span] for r, span in spans.items()}
        self._counts = {r: span.stop - span.start for r, span in spans.items()}
        self._total = sum(self._counts.values())

    def _note(self, r: int, rows: slice | Rows, count: int) -> None:
        self._counts[r] = self._counts.get(r, 0) + count
        self._total += count
        if not self.whole:
            self._parts.setdefault(r, []).append(rows)
            self.engine.store.note_odd(r, rows)

    def spill(self) -> None:
        """Do without the bit: the rows are listed."""
        for r in self.relations():
            for rows in self._parts[r]:
                self._turn(r, rows, 0, self.bit)
        self.bit = 0

    def restore(self) -> None:
        """The rows get the bit that the set has got."""
        for r in self.relations():
            for rows in self._parts[r]:
                self._turn(r, rows, self.bit, 0)
                self.engine.store.note_odd(r, rows)

    def remove(self, r: int, rows: slice | Rows) -> None:
        bit = self.bit or self.engine.place(self)
        if self.journal is not None:
            # Noted before it is done: there may be no memory for the note.
            rows = self.those(r, _listed(rows))
            if not len(rows):
                return
            store = self.engine.store
            self.journal.append(("went", r, store.rows(r)[rows], store.ages(r, rows)))
            store.note_odd(r, rows)
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
        """The facts of the other set, which is empty then."""
        self.clear()
        bit = self.bit or self.engine.place(self)  # the other may lose its own by that
        for r in other.relations():
            self._turn(r, other.span(r) or other.rows(r), bit, other.bit)
        self._parts, other._parts = other._parts, {}
        self._counts, other._counts = other._counts, {}
        self._total, other._total = other._total, 0

    def has(self, r: int, rows: Rows) -> NDArray[np.bool_]:
        """Of each row, whether it is in the set."""
        bit = self.bit or self.engine.place(self)
        return np.asarray((self.engine.store.mask(r)[rows] & np.uint16(bit)) != 0)

    def those(self, r: int, rows: Rows) -> Rows:
        """Those of the rows that are in the set."""
        bit = self.bit or self.engine.place(self)
        return self.engine.store.select(r, rows, _of_bit(bit))

    def others(self, r: int, rows: Rows) -> Rows:
        """Those of the rows that are not in the set."""
        bit = self.bit or self.engine.place(self)
        return self.engine.store.select(r, rows, _of_bit(bit), False)

    def drop(self, r: int) -> None:
        """Forget a relation's facts; their bits stay as they are."""
        self._total -= self._counts.pop(r, 0)
        self._parts.pop(r, None)

    def empty(self, r: int) -> None:
        """Have no facts of a relation any more."""
        if self.bit and self.count(r):
            self._turn(r, self.span(r) or self.rows(r), 0, self.bit)
        self.drop(r)

    def renumber(self, r: int) -> None:
        """List a relation's rows again, by their bits."""
        self.drop(r)
        rows = np.flatnonzero(self.engine.store.mask(r) & np.uint16(self.bit)).astype(np.uint32)
        if len(rows):
            self._note(r, rows, len(rows))

    def clear(self) -> None:
        for r in self.relations():
            self.empty(r)
        self._parts.clear()
        self._counts.clear()

    def release(self) -> None:
        """Empty the set and give its bit back: it is of no use any more."""
        bit = getattr(self, "bit", None)
        if bit is None or self.whole:
            return
        try:
            if self._total:
                self.clear()
        finally:
            self.bit = 0
            self.engine.release(self, bit)

    def __del__(self) -> None:
        self.release()


def _listed(rows: slice | Rows) -> Rows:
    return np.arange(rows.start, rows.stop, dtype=np.uint32) if isinstance(rows, slice) else rows


def key_of(view: View) -> Key:
    """What the truth table depends on: bits and how they are combined."""
    if isinstance(view, LocalSet):
        return view.bit
    assert isinstance(view, Combination)
    if view.op == "not":
        return ("not", key_of(view.left))
    return (view.op, key_of(view.left), key_of(view.right))


@lru_cache(maxsize=256)
def truth(key: Key) -> NDArray[np.bool_]:
    """For every mask, whether a row with it is in the view. Not to be changed."""
    if isinstance(key, int):
        return np.asarray((_ALL_MASKS & np.uint16(key)) != 0)
    op = key[0]
    if op == "not":
        return ~truth(key[1])
    left, right = truth(key[1]), truth(key[2])
    return left | right if op == "or" else left & right


@cache
def _of_bit(bit: int) -> NDArray[np.uint8]:
    return truth(bit).view(np.uint8)


def sets_of(*views: View | None) -> list[LocalSet]:
    """The sets that views are made of, each once."""
    found: dict[int, LocalSet] = {}
    waiting = list(views)
    while waiting:
        view = waiting.pop()
        if isinstance(view, LocalSet):
            found[id(view)] = view
        elif isinstance(view, Combination):
            waiting += (view.left,) if view.op == "not" else (view.left, view.right)
        elif isinstance(view, Split):
            waiting += (view.inside, view.outside)
    return list(found.values())


def bound(view: View) -> list[LocalSet] | None:
    """Sets whose union contains the view, or None where only a scan would do."""
    if isinstance(view, LocalSet):
        return [view]
    assert isinstance(view, Combination)
    if view.op == "not":
        return None
    left, right = bound(view.left), bound(view.right)
    if view.op == "or":
        return None if left is None or right is None else left + right
    candidates = [sets for sets in (left, right) if sets is not None]
    return min(candidates, key=_cost, default=None)


def lacks(view: View, r: int) -> bool:
    """Has the view certainly no fact of the relation?"""
    if isinstance(view, LocalSet):
        return not view.count(r)
    assert isinstance(view, Combination)
    if view.op == "not":
        return False
    left = lacks(view.left, r)
    return left if left == (view.op == "and") else lacks(view.right, r)


def _cost(sets: list[LocalSet]) -> tuple[bool, int]:
    return any(s.whole for s in sets), sum(len(s) for s in sets)
