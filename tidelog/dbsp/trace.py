"""Traces: a stream's past as one Z-set of rows with times, arranged for the joins that read it.

A nested stream has two clocks. The outer one counts updates; what has come in earlier updates is
summed up, because later ones see nothing else of it. The inner one counts the rounds of a
fixpoint; it is kept, so that an update changes a round at the round's own time. That is the
arrangement of DBSP (Budiu et al. 2023, sections 5 and 6) and of differential dataflow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.dbsp.kernels import cells as kernels
from tidelog.dbsp.kernels import row_table
from tidelog.dbsp.kernels.zset_joins import by_time as ordered_by_time
from tidelog.dbsp.kernels.zset_joins import join, total, total_kept

Words = NDArray[np.int64]
Batch = Words  # lines of a row's words, an inner time and a weight
Slots = NDArray[np.int32]

HEAVIEST = int(row_table.HEAVIEST)
FEWEST = 16  # cells that a trace has room for
PACKED = 1024  # cells below which empty ones are not worth giving back
LIKELY = 1 << 16  # sums that a join has room for at once, if it may have so many pairs
SAMPLE = 1024  # cells that tell how many keys others will have
PIECE = 1 << 21  # pairs joined at a time, about, so that limits are kept in between


def none(width: int) -> Batch:
    return np.empty((0, width + 2), dtype=np.int64)


def weighted(rows: NDArray[Any], weight: int) -> Batch:
    """Rows at time 0, all with one weight."""
    batch = np.zeros((len(rows), rows.shape[1] + 2), dtype=np.int64)
    batch[:, :-2] = rows
    batch[:, -1] = weight
    return batch


def gather(batches: Sequence[Batch]) -> Batch:
    """The sum of several batches, each of which has each row and time once."""
    return batches[0] if len(batches) == 1 else consolidated(np.concatenate(batches))


def consolidated(batch: Batch) -> Batch:
    """The batch with each row and time once, if its weights do not add up to zero."""
    summed, top = total(batch)
    check(top)
    return summed  # type: ignore[no-any-return]


def kept(batch: Batch) -> Batch:
    """The batch with each row and time once, whatever its weights add up to."""
    summed, top = total_kept(batch)
    check(top)
    return summed  # type: ignore[no-any-return]


def check(top: int) -> None:
    """Weights that wrap around would be wrong; those below HEAVIEST have not."""
    if not 0 <= top < HEAVIEST:
        raise OverflowError("weights, summed or multiplied, do not fit into 64 bits")


def by_time(batch: Batch) -> Iterator[tuple[int, Batch]]:
    """The rows of each time, the earliest first."""
    if not len(batch):
        return
    ordered, bounds = ordered_by_time(batch)
    starts = bounds.tolist()
    for start, stop in pairwise(starts):
        yield int(ordered[start, -2]), ordered[start:stop]


@dataclass(slots=True)
class Index:
    """Cells by some of their columns: a chain of cells for every key."""

    columns: Words
    slots: Slots
    links: Slots
    keys: int = 0
    done: int = 0  # cells that are in it
    uses: int = 1


@dataclass(slots=True, eq=False)
class Trace:
    """A Z-set of rows with times that changes; indexes follow."""

    width: int
    cells: Words = field(init=False)
    slots: Slots = field(init=False)
    used: int = 0
    empty: int = 0  # cells whose weight is 0
    top: int = 0  # the largest weight that a sum came to: to be checked, after the change is noted
    indexes: dict[tuple[int, ...], Index] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cells = np.empty((FEWEST, self.width + 3), dtype=np.int64)
        self.slots = np.zeros(2 * FEWEST, dtype=np.int32)

    def __len__(self) -> int:
        """Rows with times that have a weight."""
        return self.used - self.empty

    def add(self, batch: Batch, sign: int = 1) -> None:
        if not len(batch):
            return
        self._reserve(len(batch))
        self._changed(*kernels.add(self.cells, self.slots, self.used, batch, sign))

    def _changed(self, used: int, emptied: int, top: int) -> None:
        self.used = used
        self.top = max(self.top, top) if top >= 0 else HEAVIEST
        self.empty += emptied
        if self.empty > PACKED and 2 * self.empty > self.used:
            self._pack()
        for index in self.indexes.values():
            self._enter(index)

    def batch(self) -> Batch:
        """All that it has."""
        weighty = self.cells[: self.used, self.width + 1] != 0
        return self.cells[: self.used][weighty, :-1]

    def index(self, columns: tuple[int, ...]) -> None:
        """Keep cells by these columns from now on; calls are counted."""
        found = self.indexes.get(columns)
        if found is not None:
            found.uses += 1
            return
        index = Index(
            np.array(columns, dtype=np.int64),
            np.zeros(2 * FEWEST, dtype=np.int32),
            np.zeros(len(self.cells), dtype=np.int32),
        )
        self.indexes[columns] = index
        self._enter(index)

    def unindex(self, columns: tuple[int, ...]) -> None:
        index = self.indexes[columns]
        index.uses -= 1
        if not index.uses:
            del self.indexes[columns]

    def memory(self) -> int:
        """Bytes."""
        indexes = sum(x.slots.nbytes + x.links.nbytes for x in self.indexes.values())
        return self.cells.nbytes + self.slots.nbytes + indexes

    def distinct(
        self, outputs: Trace, rows: Batch, time: int, *, rising: bool = False, again: int = 0
    ) -> tuple[Words, Words]:
        """Add rows at a time to these inputs of distinct, whose outputs so far are given.

        For each row: what its output at this time has to change by, and when to look at it again;
        see `kernels.cells.distinct`. Rows are given once each; those with weight 0 are looked at.
        """
        changes, later = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
        self._reserve(int(np.count_nonzero(rows[:, -1])))
        after = kernels.distinct(
            self.cells,
            self.slots,
            self.used,
            outputs.cells,
            outputs.slots,
            rows,
            time,
            rising,
            again,
            changes,
            later,
        )
        self._changed(*after)
        return changes, later

    def _reserve(self, more: int) -> None:
        needed = self.used + more
        if needed <= len(self.cells):
            return
        room = max(2 * len(self.cells), needed + needed // 2)
        cells = np.empty((room, self.width + 3), dtype=np.int64)
        cells[: self.used] = self.cells[: self.used]
        self.cells = cells
        self.slots = np.zeros(2 * room, dtype=np.int32)
        kernels.rehash(cells, self.slots, self.used, self.width)
        for index in self.indexes.values():
            links = np.zeros(room, dtype=np.int32)
            links[: self.used] = index.links[: self.used]
            index.links = links

    def _pack(self) -> None:
        """Give back the cells without a weight; what that costs follows what made them so."""
        left = self.used - self.empty
        room = FEWEST
        while room < 2 * left:
            room *= 2
        cells = np.empty((room, self.width + 3), dtype=np.int64)
        self.used = kernels.pack(self.cells, self.used, self.width, cells)
        self.cells, self.empty = cells, 0
        self.slots = np.zeros(2 * room, dtype=np.int32)
        kernels.chain(cells, self.slots, self.used, self.width)
        for index in self.indexes.values():
            index.links = np.zeros(room, dtype=np.int32)
            index.slots = np.zeros(2 * FEWEST, dtype=np.int32)
            index.keys = index.done = 0

    def _enter(self, index: Index) -> None:
        while True:
            index.done, index.keys = kernels.enter(
                self.cells,
                index.columns,
                index.slots,
                index.links,
                index.keys,
                index.done,
                self.used,
            )
            if index.done == self.used:
                return
            wider = np.zeros(self._wanted(index), dtype=np.int32)
            kernels.move(self.cells, index.columns, index.slots, wider)
            index.slots = wider

    def _wanted(self, index: Index) -> int:
        """Slots for an index that is full: room for the keys that all cells will have, if they go
        on as they began."""
        more = 4 * len(index.slots)
        if index.done < SAMPLE:
            return more
        return max(more, 3 * index.keys * self.used // index.done)


@dataclass(frozen=True, slots=True)
class Match:
    """How given rows meet the cells of a trace: a join, with what comes out of a pair.

    Words of `probe` and `result` are (where from, which), tests are (how, left, right): see
    `kernels.joining`.
    """

    columns: tuple[int, ...]  # of cells: the key
    probe: Words
    asked: Words  # tests of given rows
    tests: Words  # tests of pairs
    result: Words

    @classmethod
    def of(
        cls,
        columns: Sequence[int],
        probe: Sequence[tuple[int, int]],
        result: Sequence[tuple[int, int]],
        asked: Sequence[tuple[int, int, int]] = (),
        tests: Sequence[tuple[int, int, int]] = (),
    ) -> Match:
        return cls(
            tuple(columns),
            _table(probe, 2),
            _table(asked, 3),
            _table(tests, 3),
            _table(result, 2),
        )

    def pairs(
        self, given: Batch, trace: Trace, *, shift: int = 0, late: int = 0, sign: int = 1
    ) -> Iterator[Batch]:
        """The pairs' rows, in pieces; see `kernels.joining.join` for times."""
        index = trace.indexes[self.columns]
        keys, cells = max(1, index.keys), max(1, trace.used)
        piece = max(1, PIECE * keys // cells)
        for start in range(0, len(given), piece):
            stop = min(start + piece, len(given))
            rows = stop - start
            found, top = join(
                given,
                start,
                stop,
                self.asked,
                self.probe,
                trace.cells,
                index.slots,
                index.links,
                index.columns,
                self.tests,
                self.result,
                shift,
                late,
                sign,
                max(rows, min(rows * cells // keys, LIKELY)),
            )
            check(top)
            if len(found):
                yield found


def _table(lines: Sequence[tuple[int, ...]], width: int) -> Words:
    return np.array(lines, dtype=np.int64).reshape(-1, width)
