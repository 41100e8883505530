"""The heights of all facts of some relations, found forwards, round by round.

A search backwards looks at all that a fact could follow from, which may be nearly everything. The
rounds of a seminaive evaluation say how high each fact is: those of the first round follow from
explicit facts, and so on. They are derived when a search needs them, beside what the engine has,
and kept until something changes.

# J facts so far   N facts of the last round
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tidelog.engine import Ids, Store
from tidelog.explain.probes import IdRow, as_ids
from tidelog.program.rules import Rule

UNKNOWN = 2**31 - 1  # the height of a fact that no round derives
MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, with bits set all over


class Ranks:
    def __init__(
        self,
        engine: Store,
        rules: Mapping[str, Sequence[Rule]],
        closed: Collection[str],
    ) -> None:
        """By the rules of these relations; facts of those that are closed, and of hidden ones, are
        given."""
        self.relations = frozenset(rules)
        derived = [name for name in rules if name not in closed]
        every = [rule for name in derived for rule in rules[name]]
        read = {name for rule in every for name, _ in rule.reads()} | self.relations
        J = engine.collect(engine.explicit & engine.all, sorted(read))
        J |= engine.collect(engine.all, [n for n in read if n in closed or n.startswith("%")])
        found: dict[str, list[Ids]] = {name: [] for name in derived}
        heights: dict[str, list[int]] = {name: [] for name in derived}
        N = engine.apply(every, within=J, guard=engine.all - J, negative=engine.all)
        level = 0
        while N:
            level += 1
            for name in engine.relations(N):
                found[name].append(engine.ids(N, name).copy())
                heights[name].append(level)
            J |= N
            N = engine.derive(
                every, touching=N, within=J, guard=engine.all - J, negative=engine.all
            )
        self._tables = {
            name: _Table(np.concatenate(parts), np.repeat(heights[name], list(map(len, parts))))
            for name, parts in found.items()
            if parts
        }

    def of(self, relation: str, rows: Sequence[IdRow]) -> list[int]:
        """The heights of facts that are not explicit."""
        table = self._tables.get(relation)
        if table is None:
            return [UNKNOWN] * len(rows)
        return table.heights(as_ids(rows, len(rows[0])))


class _Table:
    """Heights by rows, in the order of a hash."""

    def __init__(self, rows: Ids, heights: NDArray[np.int64]) -> None:
        hashes = _hashes(rows)
        order = np.argsort(hashes)
        self._hashes, self._rows = hashes[order], rows[order]
        self._heights = heights[order].astype(np.int32)

    def heights(self, rows: Ids) -> list[int]:
        wanted = _hashes(rows)
        found = np.full(len(rows), UNKNOWN, dtype=np.int32)
        at = np.searchsorted(self._hashes, wanted)
        open_ = np.arange(len(rows))
        while len(open_):  # once, unless hashes collide
            open_ = open_[at[open_] < len(self._hashes)]
            open_ = open_[self._hashes[at[open_]] == wanted[open_]]
            same = (self._rows[at[open_]] == rows[open_]).all(axis=1)
            found[open_[same]] = self._heights[at[open_[same]]]
            open_ = open_[~same]
            at[open_] += 1
        heights: list[int] = found.tolist()
        return heights


def _hashes(rows: Ids) -> NDArray[np.uint64]:
    found = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        found = (found ^ column) * MIX
        found ^= found >> np.uint64(29)
    return found


def below(rules: Mapping[str, Sequence[Rule]], relations: Iterable[str]) -> dict[str, list[Rule]]:
    """The rules of these relations, and of those that their positive literals read."""
    found: dict[str, list[Rule]] = {}
    work = list(relations)
    while work:
        name = work.pop()
        if name not in found and name in rules:
            found[name] = list(rules[name])
            work += [p.relation for rule in found[name] for p in rule.literals() if not p.negated]
    return found
