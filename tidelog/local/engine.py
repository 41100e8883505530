"""The local engine: the engine interface over Numba kernels, in one process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tidelog.engine import FactSet, Ids, OverlapStore, RelationDelta, Taken, TemporaryRelations
from tidelog.local.evaluators import Evaluators
from tidelog.local.fact_sets import local
from tidelog.local.net_changes import net
from tidelog.local.row_store import Rows, RowStore
from tidelog.local.sets import ALL, Journal, LocalSet, Saved, distinct
from tidelog.program.changes import Op
from tidelog.program.rules import Relation, Rule, Stratum
from tidelog.program.syntax import Value
from tidelog.program.table import Table

FEW_ROWS = 1 << 12  # of which masks are at hand: whether a row is dirty need not be known
FEW_INSTANCES = 1 << 12  # of an update for which finding dirty rows does not pay


@dataclass(slots=True)
class LocalTaken(Taken):
    """Rows of relations, by number."""

    rows: Saved = field(default_factory=dict)


class Litter:
    """Rows that are not in the materialisation any more, or never were: they take up room until
    they are removed, which changes the numbers of others. No other set may have facts then but the
    two that stay; relations of functors keep their rows, and `pruned` ones explicit facts."""

    def __init__(
        self,
        store: RowStore,
        everything: LocalSet,
        explicit: LocalSet,
        pruned: Container[int],
        functors: Sequence[int],
    ) -> None:
        self._store = store
        self._all = everything
        self._explicit = explicit
        self._pruned = pruned
        self._functors = functors
        self._begun: NDArray[np.int64] = np.empty(0, dtype=np.int64)  # the relations' sizes then
        self._left: list[tuple[int, Ids]] = []  # facts that updates took out
        self.renumbered: set[int] = set()  # relations whose rows an update has put in again

    def begin(self) -> None:
        """All rows so far are noted, or in the materialisation."""
        self._begun = self._store.sizes().copy()
        self.renumbered.clear()

    def note(self, journal: Journal) -> None:
        """Record changes that will not be undone."""
        self._left += [(r, data) for move, r, data, _ in journal if move == "removed" and len(data)]

    def facts(self, r: int) -> Iterator[Ids]:
        return (data for q, data in self._left if q == r)

    def start(self, r: int) -> int:
        """The first row that may be new since the update began."""
        return int(self._begun[r]) if r < len(self._begun) and r not in self.renumbered else 0

    def __len__(self) -> int:
        """How many rows may have to be removed: facts that have left the materialisation, and
        rows added since the update began, which may never have been in it."""
        new = self._store.sizes().copy()
        new[: len(self._begun)] -= self._begun
        return sum(len(data) for _, data in self._left) + int(new.clip(0).sum())

    def tidy(self, most: int) -> bool:
        """Remove some of it; `sweep` removes all. False once nothing is left."""
        rows_of = self._store.rows
        self._left += [(r, rows_of(r)[rows]) for r, rows in self._fresh()]
        self.begin()
        if not self._left:
            self._store.dirty.forget()
            return False
        while most and self._left:
            r, data = self._left.pop()
            if len(data) > most:
                self._left.append((r, data[most:]))
                data = data[:most]
            most -= len(data)
            self._store.remove(r, self._useless(r, distinct(self._store.load(r, data))))
            self._begun[r] = self._store.size(r)
        return True

    def sweep(self, before: NDArray[np.int64] | None = None) -> None:
        """Remove all of it; of new rows, those added since relations had these sizes, if given."""
        if before is not None:
            self._begun = before
        store, left = self._store, self._left
        self._left = []
        counts = Counter[int]()
        for r, data in left:
            counts[r] += len(data)
        many = {r for r, count in counts.items() if store.is_part(r, count)}
        going: dict[int, list[Rows]] = {}
        for r, data in left:
            if r not in many:
                going.setdefault(r, []).append(self._useless(r, store.load(r, data)))
        for r, rows in self._fresh():
            going.setdefault(r, []).append(rows)
        for r in (going.keys() | many) - set(self._functors):
            if r in many:  # a pass over all rows is faster than looking up the deleted ones
                sets = self._all.bit | (self._explicit.bit if r in self._pruned else 0)
                store.keep(r, (store.mask(r) & np.uint16(sets)) != 0)
                continue
            parts = going[r]
            # A fact leaves once at a time, so that a part by itself has each row once.
            store.remove(r, parts[0] if len(parts) == 1 else distinct(np.concatenate(parts)))

    def _fresh(self) -> Iterator[tuple[int, Rows]]:
        """Rows added since the update began that are not in the materialisation."""
        now, known = self._store.sizes(), len(self._begun)
        changed = {*np.flatnonzero(now[:known] != self._begun).tolist(), *self.renumbered}
        changed.update(range(known, len(now)))
        for r in changed - set(self._functors):
            rows = self._useless(r, np.arange(self.start(r), now[r], dtype=np.uint32))
            if len(rows):
                yield r, rows

    def _useless(self, r: int, rows: Rows) -> Rows:
        """The rows that are neither in the materialisation nor kept as explicit facts."""
        rows = self._all.others(r, rows)
        return self._explicit.others(r, rows) if r in self._pruned else rows


class LocalEngine(Evaluators):
    """Relations with transactions: changes of the materialisation are recorded, so that they can be
    undone."""

    def __init__(self) -> None:
        super().__init__()
        self._restated: list[tuple[Op, int, Ids]] = []  # by the update: explicit facts, in order
        self._small_until = 0
        self._not_yet: Saved = {}  # facts that `as_before` leaves out
        self._litter = Litter(
            self.store, self.all, self.explicit, self._pruned, self._book.functors
        )

    @property
    def overlapping(self) -> OverlapStore:
        return self

    @property
    def scratch(self) -> TemporaryRelations:
        return self

    # Changes.

    def change_explicit(
        self,
        op: Op,
        name: str,
        data: Table,
        changed: FactSet,
        check: Callable[[tuple[Value, ...]], None] | None = None,
    ) -> bool:
        if check is not None:
            for row in dict.fromkeys(data.rows()):
                check(row)
        r, rows, explicit = self.explicit_rows(name, data)
        rows = rows[~explicit] if op == "+" else rows[explicit]
        if not len(rows):
            return False
        self._restated.append((op, r, self.store.rows(r)[rows]))
        (self.explicit.add if op == "+" else self.explicit.remove)(r, rows)
        X = local(changed)
        again, fresh = X.those(r, rows), X.others(r, rows)
        X.remove(r, again)
        X.add(r, fresh)
        return True

    def take(self, relations: Sequence[str]) -> LocalTaken:
        taken, store = LocalTaken(), self.store
        for name in relations:
            r = self.numbers[name]
            rows = self.all.rows(r)
            taken.rows[r] = store.rows(r)[rows]
            if self.all.journal is not None:
                ages = store.counters.ages(r, rows)
                self.all.journal.append(("taken", r, taken.rows[r], ages))
            sets = [s for s in (self.explicit, *self.bits.sets()) if s.count(r)]
            held = [(s, store.rows(r)[s.rows(r)]) for s in sets]
            for facts in (self.all, *sets):
                facts.drop(r)
            store.clear(r)
            store.dirty.forget(r)
            self._litter.renumbered.add(r)
            for facts, ids in held:
                facts.add(r, store.load(r, ids))
            self.all.add(r, self.explicit.rows(r))
        return taken

    def compare(self, taken: Taken) -> tuple[LocalSet, LocalSet]:
        assert isinstance(taken, LocalTaken)
        deleted, inserted = self.none(), self.none()
        for r, data in taken.rows.items():
            rows = self.store.load(r, data)
            self.store.dirty.forget(r)
            is_now = (self.store.mask(r) & np.uint16(ALL)) != 0
            was = np.zeros(len(is_now), dtype=np.bool_)
            was[rows] = True
            deleted.add(r, np.flatnonzero(was & ~is_now).astype(np.uint32))
            inserted.add(r, np.flatnonzero(is_now & ~was).astype(np.uint32))
        return deleted, inserted

    @contextmanager
    def as_before(self, deleted: FactSet, inserted: FactSet) -> Iterator[None]:
        sets = local(deleted), local(inserted)
        back, off = ({r: mine.rows(r) for r in mine.relations()} for mine in sets)
        for mine in sets:
            mine.release()
        self._put(back, off)
        self._not_yet = {r: self.store.rows(r)[rows] for r, rows in off.items()}
        try:
            yield
        finally:
            self._not_yet = {}
            self._put(off, back)
        for mine, rows_of in zip(sets, (back, off), strict=True):
            self.bits.place(mine)
            for r, rows in rows_of.items():
                mine.add(r, rows)

    def _put(self, there: Mapping[int, Rows], away: Mapping[int, Rows]) -> None:
        """Facts enter and leave the materialisation without a note."""
        with self.all.unnoticed():
            for r, rows in there.items():
                self.all.add(r, rows)
            for r, rows in away.items():
                self.all.remove(r, rows)
                self.store.dirty.note(r, rows)

    # Transactions.

    def begin(self) -> None:
        """An update begins: from now on, changes of the materialisation can be undone.

        All facts must be in it, but for those that pruned relations leave out, and sets other
        than those two must be empty.
        """
        self._be_free()
        self.all.journal = []
        self.store.counters.renew_ages()
        self._litter.begin()
        self._small_until = self.instances + FEW_INSTANCES
        self.store.dirty.too_many.clear()
        self._runner.find_dirty = self._find_dirty

    def _find_dirty(self, r: int, sure: bool) -> None:
        """Note a relation's dirty rows: in sets of the update, gone from the materialisation, or
        new and not in it."""
        store, dirty = self.store, self.store.dirty
        if r in dirty.too_many or r in self._pruned or store.size(r) < FEW_ROWS:
            return
        if not sure and self.instances < self._small_until:
            return
        rows = [s.rows(r) for s in self.bits.sets() if s.bit and s.count(r)]
        start = self._litter.start(r)
        fresh = np.flatnonzero((store.mask(r)[start:] & np.uint16(ALL)) == 0).astype(np.uint32)
        rows.append(fresh + np.uint32(start))
        deleted = [
            data for move, q, data, _ in self.all.journal or () if q == r and move == "removed"
        ]
        deleted += self._litter.facts(r)
        deleted += [data for q, data in self._not_yet.items() if q == r]
        if not dirty.begin(r, sum(map(len, rows)) + sum(map(len, deleted))):
            return
        for numbers in rows:
            dirty.note(r, numbers)
        for data in deleted:
            dirty.note_facts(r, data)

    def delta(
        self, phases: Sequence[tuple[Saved, Saved]], relations: Mapping[str, Relation]
    ) -> dict[str, RelationDelta]:
        deleted, inserted = phases[0] if len(phases) == 1 else net(phases)
        nothing = np.empty((0, 0), dtype=np.uint32)
        found: dict[str, RelationDelta] = {}
        for r in deleted.keys() | inserted.keys():
            relation = relations.get(self.names[r])
            if relation is not None:
                rows: dict[Op, Ids] = {"+": inserted.get(r, nothing), "-": deleted.get(r, nothing)}
                sizes = {op: len(ids) for op, ids in rows.items()}
                decode = partial(self._decode, relation, rows)
                found[relation.name] = RelationDelta(relation, sizes, decode)
        return found

    def _decode(self, relation: Relation, rows: Mapping[Op, Ids], op: Op) -> Table:
        return self.decoded(relation, rows[op])

    def commit(self) -> None:
        self.end(undo=False)
        self._litter.sweep()

    def rollback(self) -> None:
        for op, r, data in reversed(self._restated):
            rows = self.store.load(r, data)
            (self.explicit.remove if op == "+" else self.explicit.add)(r, rows)
        self.end(undo=True)
        self._litter.sweep()

    def end(self, undo: bool) -> None:
        """Release all sets but the two persistent ones, optionally after undoing changes."""
        journal, self.all.journal = self.all.journal or [], None
        self._restated.clear()
        self._runner.find_dirty = None
        self.store.dirty.forget()
        for facts in self.bits.sets():
            facts.release()
        if undo:
            for move, r, data, ages in reversed(journal):
                rows = self.store.load(r, data)
                (self.all.remove if move == "added" else self.all.add)(r, rows)
                if ages is not None:
                    self.store.counters.set_ages(r, rows, ages)
        self._litter.note(journal)

    def keep(self) -> None:
        journal, self.all.journal = self.all.journal or [], []
        self._restated.clear()
        self._litter.note(journal)

    @property
    def litter(self) -> int:
        return len(self._litter)

    def tidy(self, most: int) -> bool:
        return self._litter.tidy(most)

    def sweep(self, before: NDArray[np.int64]) -> None:
        """Remove rows that are not in the materialisation, of those that came since relations had
        these sizes. No other set may have facts but the explicit ones and the materialisation."""
        self._litter.sweep(before)

    # Questions.

    def drop(self, relations: Iterable[str], rules: Iterable[Rule]) -> None:
        for name in relations:
            self.store.clear(self.numbers[name])
            self.undeclare(name)
        self._book.forget(rules)

    def ask(
        self, strata: Sequence[Stratum], relation: Relation, parts: Sequence[Relation]
    ) -> Table:
        self.declare(relation)
        try:
            with self.scope():
                found = self.none()
                for stratum in strata:
                    view = self.all | found
                    found |= self.apply(stratum.rules, within=view)
                return self.table(relation.name, found)
        finally:
            for stratum in strata:
                for name in stratum.relations:
                    if name in self.numbers:
                        self.store.clear(self.numbers[name])
            self._book.forget(rule for stratum in strata for rule in stratum.rules)
            del self.kinds[relation.name]
