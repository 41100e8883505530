"""A layered drawing: blocks in rows from top to bottom, and links between them.

Sugiyama's four steps: rows, with a limit on their width; points where long links cross a row, one
for all links of a port; an order in each row that avoids crossings, by barycentres; and positions
that keep links straight, by least squares.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]

# Distances in points; all are chosen by eye.
BLOCK_GAP = 26.0
POINT_GAP = 9.0
ROW_GAP = 64.0
SWEEPS = 12  # passes over the rows to remove crossings: chosen, not measured


@dataclass(frozen=True, slots=True)
class Block:
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Port:
    """A point on a block, relative to its upper left corner."""

    block: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Link:
    """A link from a port down to a port of a later block.

    Links of one `trunk` start together and share a path as far as possible.
    """

    source: Port
    target: Port
    trunk: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """The upper left corners of the blocks, and the paths of the links.

    Each of `trunks` is drawn once; `ends` lead from a trunk or a source to one target.
    A path is a list of points, joined by smooth curves.
    """

    corners: tuple[Point, ...]
    trunks: dict[str, tuple[tuple[Point, ...], ...]]
    ends: tuple[tuple[Link, tuple[Point, ...]], ...]
    width: float
    height: float


@dataclass(slots=True)
class _Item:
    """A block, or a point where a trunk crosses a row."""

    row: int
    width: float
    block: int | None = None
    x: float = 0.0  # of the left side
    above: list[tuple[_Item, float, float]] | None = None  # neighbour, its offset, own offset
    below: list[tuple[_Item, float, float]] | None = None

    def link(self, offset: float, other: _Item, other_offset: float) -> None:
        self.below = self.below or []
        other.above = other.above or []
        self.below.append((other, other_offset, offset))
        other.above.append((self, offset, other_offset))


def draw(blocks: Sequence[Block], links: Sequence[Link]) -> Drawing:
    """Draw blocks, listed in an order in which links lead forward."""
    if not blocks:
        return Drawing((), {}, (), 0.0, 0.0)
    rows_of = _rows(blocks, links)
    items = [_Item(rows_of[i], block.width, i) for i, block in enumerate(blocks)]
    chains = _cross_rows(items, links)
    rows: list[list[_Item]] = [[] for _ in range(max(rows_of) + 1)]
    for item in (*items, *(point for chain in chains.values() for point in chain)):
        rows[item.row].append(item)
    _order(rows)
    _position(rows)
    return _finish(blocks, links, items, chains, rows)


# Rows


def _rows(blocks: Sequence[Block], links: Iterable[Link]) -> list[int]:
    before: dict[int, set[int]] = defaultdict(set)
    after: dict[int, set[int]] = defaultdict(set)
    for link in links:
        before[link.target.block].add(link.source.block)
        after[link.source.block].add(link.target.block)
    total = sum(block.width + BLOCK_GAP for block in blocks)
    # One and a half times as wide as high, so that large drawings fit on a screen.
    limit = max(1600.0, (total * 250) ** 0.5)
    row: dict[int, int] = {}
    used: dict[int, float] = defaultdict(float)

    def put(i: int, start: int, step: int) -> None:
        while used[start] and used[start] + blocks[i].width > limit:
            start += step
        row[i] = start
        used[start] += blocks[i].width + BLOCK_GAP

    derived = [i for i in range(len(blocks)) if before[i]]
    for i in derived:
        put(i, 1 + max((row[j] for j in before[i] if j in row), default=0), 1)
    # Blocks without predecessors stand right above the first block that needs them.
    sources = [i for i in range(len(blocks)) if not before[i] and after[i]]
    for i in sorted(sources, key=lambda i: -min(row[j] for j in after[i])):
        put(i, min(row[j] for j in after[i]) - 1, -1)
    last = max(row.values(), default=0)
    for i in range(len(blocks)):
        if i not in row:
            put(i, last + 1, 1)
    numbers = {old: new for new, old in enumerate(sorted(set(row.values())))}
    return [numbers[row[i]] for i in range(len(blocks))]


def _cross_rows(items: list[_Item], links: Iterable[Link]) -> dict[str, list[_Item]]:
    """Points for links over more than one row, as a chain per trunk."""
    chains: dict[str, list[_Item]] = {}
    for link in links:
        source, target = items[link.source.block], items[link.target.block]
        chain = chains.setdefault(link.trunk, [])
        while source.row + len(chain) + 1 < target.row:
            point = _Item(source.row + len(chain) + 1, 1.0)
            if chain:
                chain[-1].link(0.5, point, 0.5)
            else:
                source.link(link.source.x, point, 0.5)
            chain.append(point)
        near = target.row - source.row - 2
        if near >= 0:
            chain[near].link(0.5, target, link.target.x)
        else:
            source.link(link.source.x, target, link.target.x)
    return chains


# Order and position


def _order(rows: list[list[_Item]]) -> None:
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            place: dict[int, float] = {}
            for i, item in enumerate(row):
                others = item.above if down else item.below
                # Items without neighbours on that side keep their position.
                middle = [o.x + offset for o, offset, _ in others] if others else [item.x or i]
                place[id(item)] = sum(middle) / len(middle)
            row.sort(key=lambda item: place[id(item)])
            _pack(row)


def _pack(row: list[_Item]) -> None:
    x = 0.0
    for item in row:
        item.x = x
        x += item.width + _gap(item)
    for item in row:
        item.x -= x / 2  # centre the row, so that positions in different rows compare


def _gap(item: _Item) -> float:
    return POINT_GAP if item.block is None else BLOCK_GAP


def _position(rows: list[list[_Item]]) -> None:
    """Move each item towards its neighbours, as far as the others in its row allow."""
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            wanted, weights = [], []
            for item in row:
                others = [*(item.above or ())] if down else [*(item.below or ())]
                if sweep >= SWEEPS - 2 or not others:
                    others = [*(item.above or ()), *(item.below or ())]
                pulls = [o.x + offset - own for o, offset, own in others]
                wanted.append(sum(pulls) / len(pulls) if pulls else item.x)
                weights.append(0.1 if not pulls else 4.0 if item.block is None else 1.0)
            _spread(row, wanted, weights)


def _spread(row: list[_Item], wanted: list[float], weights: list[float]) -> None:
    """The nearest positions (least squares) that keep order and gaps: isotonic regression."""
    shifts = [0.0]
    for item, following in pairwise(row):
        gap = max(_gap(item), _gap(following))
        shifts.append(shifts[-1] + item.width + gap)
    pools: list[list[float]] = []  # sum of weighted values, weight, number of items
    for want, weight, shift in zip(wanted, weights, shifts, strict=True):
        pools.append([(want - shift) * weight, weight, 1])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] >= pools[-1][0] / pools[-1][1]:
            value, more, count = pools.pop()
            pools[-1][0] += value
            pools[-1][1] += more
            pools[-1][2] += count
    i = 0
    for value, weight, count in pools:
        for _ in range(int(count)):
            row[i].x = value / weight + shifts[i]
            i += 1


# Coordinates


def _finish(
    blocks: Sequence[Block],
    links: Sequence[Link],
    items: list[_Item],
    chains: dict[str, list[_Item]],
    rows: list[list[_Item]],
) -> Drawing:
    left = min(item.x for row in rows for item in row)
    right = max(item.x + item.width for row in rows for item in row)
    heights = [
        max((blocks[i.block].height for i in r if i.block is not None), default=0) for r in rows
    ]
    tops = [0.0]
    for height in heights:
        tops.append(tops[-1] + height + ROW_GAP)

    def at(port: Port) -> Point:
        item = items[port.block]
        return item.x - left + port.x, corners[port.block][1] + port.y

    # Centre blocks vertically in their row.
    corners = tuple(
        (item.x - left, tops[item.row] + (heights[item.row] - block.height) / 2)
        for item, block in zip(items, blocks, strict=True)
    )

    def through(point: _Item) -> tuple[Point, Point]:
        x = point.x - left + 0.5
        return (x, tops[point.row]), (x, tops[point.row] + heights[point.row])

    starts = {link.trunk: link.source for link in links}
    trunks: dict[str, tuple[tuple[Point, ...], ...]] = {}
    for trunk, chain in chains.items():
        if chain:
            paths = [(at(starts[trunk]), through(chain[0])[0])]
            paths += [through(point) for point in chain]
            paths += [(through(a)[1], through(b)[0]) for a, b in pairwise(chain)]
            trunks[trunk] = tuple(paths)
    ends = []
    for link in links:
        near = items[link.target.block].row - items[link.source.block].row - 2
        start = through(chains[link.trunk][near])[1] if near >= 0 else at(link.source)
        ends.append((link, (start, at(link.target))))
    return Drawing(corners, trunks, tuple(ends), right - left, tops[-1] - ROW_GAP)
