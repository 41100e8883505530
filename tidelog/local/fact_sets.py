"""Relations by name, and sets and views of their facts."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.engine import Combination, FactSet, Ids, Split, View
from tidelog.local.dictionary import Dictionary, fits
from tidelog.local.row_store import Rows, RowStore
from tidelog.local.sets import ALL, EXPLICIT, Bits, LocalSet, Saved, distinct, key_of, truth
from tidelog.local.term_dictionary import ABSENT
from tidelog.program.rules import Relation
from tidelog.program.syntax import Kind, Value
from tidelog.program.table import DTYPES, Column, Table

ROOM = 8  # sets that one evaluation reads: views over more sets are made sets first


class RelationStore:
    """A relation has a number, under which the store has its rows and kernels know it."""

    def __init__(self) -> None:
        self.store = RowStore()
        self.dictionary = Dictionary()
        self.kinds: dict[str, Relation] = {}
        self.numbers: dict[str, int] = {}
        self.names: list[str] = []  # by number
        self._aside: set[int] = set()  # relations that algorithms keep for a moment
        self._pruned: set[int] = set()  # relations whose explicit facts need not hold
        self._retired: dict[tuple[str, int], int] = {}
        self._groups: dict[frozenset[str], frozenset[int | None]] = {}

    @property
    def lasting(self) -> float:
        return self.store.tables.lasting

    def declare(self, relation: Relation, aside: bool = False) -> int:
        self.kinds[relation.name] = relation
        number = self.relation(relation.name, relation.arity)
        if relation.pruned:
            self._pruned.add(number)
        if aside:
            self._aside.add(number)
        return number

    def undeclare(self, name: str) -> None:
        """Forget a relation, which has no facts. It keeps its number, which plans may know,
        should it come again."""
        relation = self.kinds.pop(name)
        self._retired[name, relation.arity] = self.numbers.pop(name)
        self._groups.clear()

    def relation(self, name: str, arity: int) -> int:
        """The number of a relation, a new one if need be."""
        number = self.numbers.get(name)
        if number is None:
            number = self._retired.pop((name, arity), None)
            if number is None:
                number = self.store.add(arity)
                self.names.append(name)
            self.numbers[name] = number
            self._groups.clear()
        return number

    def numbers_of(self, relations: frozenset[str]) -> frozenset[int | None]:
        """The numbers of a stratum's relations; cached, because it may have thousands."""
        known = self._groups.get(relations)
        if known is None:
            known = self._groups[relations] = frozenset(map(self.numbers.get, relations))
        return known

    def sizes(self) -> NDArray[np.int64]:
        """Rows of every relation now."""
        return self.store.sizes().copy()

    def memory(self) -> int:
        return self.store.memory() + self.dictionary.memory()

    # Facts as numbers.

    def identify(self, kind: Kind, values: Sequence[Value] | NDArray[Any]) -> Ids:
        if kind not in DTYPES:
            return np.array([self.dictionary.id(kind, value) for value in values], dtype=np.uint32)
        return self.dictionary.encode(kind, np.asarray(values, dtype=DTYPES[kind]))

    def values(self, kind: Kind, ids: Ids) -> Column:
        return self.dictionary.decode(kind, ids)

    def ordered(self, relation: str, ids: Ids) -> NDArray[np.int64]:
        return self.dictionary.ordered(self.kinds[relation].kinds, ids)

    def encoded(self, table: Table) -> Ids:
        rows = min(1, table.size) if not table.columns else table.size
        data = np.empty((rows, len(table.columns)), dtype=np.uint32)
        for c, (kind, column) in enumerate(zip(table.kinds, table.columns, strict=True)):
            data[:, c] = self.dictionary.encode(kind, column)
        return data

    def decoded(self, relation: Relation, ids: Ids) -> Table:
        """Facts as values."""
        decode = self.dictionary.decode
        columns = tuple(decode(kind, ids[:, c]) for c, kind in enumerate(relation.kinds))
        return Table(relation.kinds, columns, len(ids))


class FactSets(RelationStore):
    """Two sets stay: all facts, and the explicit ones."""

    def __init__(self) -> None:
        super().__init__()
        self.bits = Bits()
        self.explicit = LocalSet(self, EXPLICIT, whole=True)
        self.all = LocalSet(self, ALL, whole=True)
        self.all.dated = True

    def none(self) -> LocalSet:
        made = LocalSet(self, 0)
        self.bits.place(made)
        return made

    @contextmanager
    def scope(self) -> Iterator[None]:
        before = self.bits.sets()
        known = set(map(id, before))
        try:
            yield
        finally:
            for made in self.bits.sets():
                if id(made) not in known:
                    made.release()

    # Views over sets that all have bits.

    def _placed(self, view: View) -> View:
        """The view over sets that all have bits; spilled sets get theirs back."""
        if len(sets_of(view)) > ROOM:
            view = self._one(view)
        self.bits.place_all(sets_of(view))
        return view

    def _one(self, view: View) -> View:
        """The view as a set of its own, or the complement of one."""
        if isinstance(view, LocalSet):
            return view
        if isinstance(view, Split):
            return Split(view.relations, self._one(view.inside), self._one(view.outside))
        assert isinstance(view, Combination)
        if view.op == "not":
            inner = self._one(view.left)
            return inner.left if isinstance(inner, Combination) else ~inner
        if view.op == "or":
            return self._one(~(~view.left & ~view.right))
        left, right = self._one(view.left), self._one(view.right)
        if isinstance(left, Combination):
            if isinstance(right, Combination):
                return ~self.collect(left.left | right.left)
            return self.collect(right - left.left)
        return self.collect(left & right)

    # Rows of views.

    def members(
        self, view: View, only: Container[int] | None = None
    ) -> Iterator[tuple[int, slice | Rows]]:
        """The rows of a view, by relation; of these relations only, if given."""
        if isinstance(view, LocalSet):
            for r in view.relations():
                if only is None or r in only:
                    yield r, view.span(r) or view.rows(r)
            return
        sets = bound(view)
        if sets is None:
            raise ValueError("this view has no bounds: it cannot be listed")
        if self.bits.spilled:
            # All rows are looked up at once: whoever is given some may have sets spilled.
            view = self._placed(view)
            yield from list(self._selected(view, bound(view) or sets, only))
        else:
            yield from self._selected(view, sets, only)

    def _selected(
        self, view: View, sets: list[LocalSet], only: Container[int] | None
    ) -> Iterator[tuple[int, Rows]]:
        """The rows of these sets that are in the view."""
        holds = truth(key_of(view)).holds
        for r in sorted({r for s in sets for r in s.relations()}):
            if (only is not None and r not in only) or lacks(view, r):
                continue
            mine = [s.rows(r) for s in sets if s.count(r)]
            rows = mine[0] if len(mine) == 1 else np.unique(np.concatenate(mine))
            rows = self.store.select(r, rows, holds)
            if len(rows):
                yield r, rows

    def collect(self, view: View, relations: Sequence[str] | None = None) -> LocalSet:
        found = self.none()
        only = None if relations is None else {self.numbers[name] for name in relations}
        for r, rows in self.members(view, only):
            found.add(r, rows)
        return found

    def some(self, view: View, count: int) -> LocalSet:
        found = self.none()
        for r, rows in self.members(view):
            wanted = count - len(found)
            if isinstance(rows, slice):
                rows = slice(rows.start, min(rows.stop, rows.start + wanted))
            found.add(r, rows if isinstance(rows, slice) else rows[:wanted])
            if len(found) == count:
                break
        return found

    def sample(self, view: View, relation: str, count: int) -> LocalSet:
        found, r = self.none(), self.numbers[relation]
        if isinstance(view, LocalSet) and not view.whole:
            rows = view.rows(r)
            found.add(r, rows[:: max(1, -(-len(rows) // count))].copy())  # kernels do not stride
            return found
        size = self.store.size(r)
        rows = np.arange(0, size, max(1, -(-size // count)), dtype=np.uint32)
        if self.bits.spilled:
            view = self._placed(view)
        found.add(r, self.store.select(r, rows, truth(key_of(view)).holds))
        return found

    def cut(self, facts: FactSet, count: int, relations: Sequence[str]) -> LocalSet:
        found, mine = self.none(), local(facts)
        for name in relations:
            r = self.numbers[name]
            while mine.count(r) and len(found) < count:
                found.add(r, mine.pop(r, count - len(found)))
        return found

    def settle(self, facts: FactSet) -> FactSet:
        return facts

    def relations(self, facts: FactSet) -> list[str]:
        return [self.names[r] for r in local(facts).relations()]

    def size(self, name: str) -> int:
        return self.all.count(self.numbers[name])

    # Saved facts.

    def save(self, facts: FactSet) -> Saved:
        mine = local(facts)
        return {r: self.store.rows(r)[mine.rows(r)] for r in mine.relations()}

    def hold(self, saved: Saved) -> LocalSet:
        found = self.none()
        for r, data in saved.items():
            found.add(r, self.store.load(r, data))
        return found

    def odd(self, saved: Sequence[Saved]) -> LocalSet:
        if len(saved) == 1:
            return self.hold(saved[0])
        found = self.none()
        for r in dict.fromkeys(r for each in saved for r in each):
            data = np.concatenate([each[r] for each in saved if r in each])
            rows, times = np.unique(self.store.load(r, data), return_counts=True)
            found.add(r, rows[times % 2 == 1])
        return found

    def joined(self, saved: Sequence[Saved]) -> Saved:
        parts: dict[int, list[Ids]] = {}
        for each in saved:
            for r, data in each.items():
                parts.setdefault(r, []).append(data)
        return {r: mine[0] if len(mine) == 1 else np.concatenate(mine) for r, mine in parts.items()}

    def sizes_of(self, saved: Saved) -> dict[str, int]:
        return {self.names[r]: len(data) for r, data in saved.items()}

    # Tables.

    def reads(self, data: object) -> bool:
        return False

    def load(self, name: str, data: Table, into: Sequence[FactSet]) -> None:
        r = self.numbers[name]
        before = self.store.size(r)
        rows = self.store.load(r, self.encoded(data))
        fresh, known = slice(before, self.store.size(r)), np.unique(rows[rows < before])
        for target in map(local, into):
            target.add(r, fresh)
            target.add(r, known)

    def explicit_rows(self, name: str, table: Table) -> tuple[int, Rows, NDArray[np.bool_]]:
        """The rows of a table's facts, found or added, and whether each is explicit."""
        r = self.numbers[name]
        before = self.store.size(r)
        rows = distinct(self.store.load(r, self.encoded(table)))
        self.store.dirty.note(r, slice(before, self.store.size(r)))
        return r, rows, self.explicit.has(r, rows)

    def find(self, name: str, table: Table) -> LocalSet:
        found = self.none()
        r, rows, _ = self.explicit_rows(name, table)
        found.add(r, rows)
        return found

    def table(self, name: str, facts: View | Rows | None = None) -> Table:
        """A relation's facts in the materialisation, in a view, or in the given rows."""
        if isinstance(facts, View):
            return self.decoded(self.kinds[name], self.ids(facts, name))
        r = self.numbers[name]
        rows = self.all.span(r) or self.all.rows(r) if facts is None else facts
        return self.decoded(self.kinds[name], self.store.rows(r)[rows])

    def native(self, name: str) -> Table:
        return self.table(name)

    def ids(self, view: View, relation: str) -> Ids:
        r = self.numbers[relation]
        data = self.store.rows(r)
        found = [data[rows] for _, rows in self.members(view, (r,))]
        return found[0] if found else data[:0]

    def holds(self, relation: Relation, row: Sequence[Value]) -> bool:
        return self._is_in(self.all, relation, row)

    def is_explicit(self, relation: Relation, row: Sequence[Value]) -> bool:
        return self._is_in(self.explicit, relation, row)

    def _is_in(self, facts: LocalSet, relation: Relation, row: Sequence[Value]) -> bool:
        if len(row) != relation.arity or not all(map(fits, relation.kinds, row)):
            return False
        known = self.dictionary.known
        ids = [known(kind, value) for kind, value in zip(relation.kinds, row, strict=True)]
        r = self.numbers[relation.name]
        number = -1 if ABSENT in ids else self.store.find(r, ids)
        return number >= 0 and bool(self.store.mask(r)[number] & np.uint16(facts.bit))


def local(facts: FactSet) -> LocalSet:
    assert isinstance(facts, LocalSet)
    return facts


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
