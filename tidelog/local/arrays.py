"""Arrays that kernels read by address: how they grow, and the table that says where they are."""

from __future__ import annotations

import mmap
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.local.kernels import layout as at
from tidelog.program.diagnostics import LimitError

LOAD = 0.7  # of a hash table's slots, at most
STEP_DOWN = 1 << 18  # from four times this on, tables grow by half: memory matters more
LARGE = 1 << 22  # bytes of an array that gets large pages
MOST_ROWS = (1 << 32) - 2  # row numbers have 32 bits
Key = tuple[int, ...]  # columns of an index


def larger(size: int) -> int:
    return 2 * size if size < 4 * STEP_DOWN else size + size // 2


def zeros(size: int, kind: type[np.generic]) -> NDArray[Any]:
    """Pages that nobody touches take no memory."""
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
class IndexArrays:
    """One index's arrays."""

    slots: NDArray[np.uint32]
    arena: NDArray[np.uint32]
    free: NDArray[np.int64]
    columns: NDArray[np.int64]
    used: bool = False  # has it had rows yet?


@dataclass(slots=True)
class RelationArrays:
    """One relation's arrays; the kernels see their addresses."""

    rows: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    mask: NDArray[np.uint16] = field(default_factory=lambda: np.empty(0, np.uint16))
    keys: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    slots: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    out: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))

    def nbytes(self) -> int:
        arrays = (self.rows, self.mask, self.keys, self.slots, self.out)
        return sum(array.nbytes for array in arrays)


def by_key(rows: NDArray[np.uint32], key: Key) -> NDArray[np.int64]:
    """An order of the rows in which those with equal values in these columns are together."""
    if len(rows) == 1 or not key:
        return np.arange(len(rows))
    if len(key) == 1:
        return np.argsort(rows[:, key[0]])
    if len(key) == 2:
        return np.argsort(rows[:, key[0]].astype(np.uint64) << np.uint64(32) | rows[:, key[1]])
    return np.lexsort([rows[:, c] for c in key])


class RelationTable:
    """A line of numbers for every relation, and room for the ids of one fact."""

    def __init__(self) -> None:
        self.rels: NDArray[np.int64] = np.zeros((16, at.R_WIDTH), dtype=np.int64)
        self.scratch: NDArray[np.int64] = np.zeros(64, dtype=np.int64)
        self.lasting = 0.0  # seconds in which indexes and row numbers were made
        self._locate()

    def _locate(self) -> None:
        self.rels_at: int = self.rels.ctypes.data
        self.scratch_at: int = self.scratch.ctypes.data

    def add_relation(self, number: int, arity: int) -> None:
        if number == len(self.rels):
            self.rels = np.concatenate([self.rels, np.zeros_like(self.rels)])
        self.rels[number, at.R_ARITY] = arity
        if arity >= len(self.scratch):
            self.scratch = np.zeros(2 * arity, dtype=np.int64)
        self._locate()
