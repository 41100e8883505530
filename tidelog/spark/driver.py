"""The driver's share of the work: a local engine that holds small strata.

Relations that such strata read or derive are fetched once and then kept in step, so an update of
them costs what it costs in one process, and needs no job. Changes are passed on to the Spark
engine's own sets. The facts held here can be dropped at any time: Spark has them.

# u the update as the Spark engine sees it   v the same in the driver
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tidelog.formats import spark_columns
from tidelog.formats.spark_columns import Row
from tidelog.local.engine import LocalEngine
from tidelog.local.sets import LocalSet
from tidelog.maintain import bf, dred
from tidelog.maintain.driver import auto
from tidelog.maintain.materialise import evaluate
from tidelog.maintain.memory import Memory, ModuleKinds
from tidelog.maintain.report import Work
from tidelog.maintain.seminaive import Watch
from tidelog.maintain.update import Algorithm, Spent, Update
from tidelog.program.rules import Rule, Stratum
from tidelog.spark.sets import Extent, SparkSet

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelog.spark.frame_engine import FrameEngine


PATIENCE = 0.5  # seconds after which slices are better derived anew in the executors


class TooLarge(Exception):
    """An evaluation in the driver exceeded the number of facts that it may hold."""


class Driver:
    """A local engine with some of the Spark engine's relations."""

    def __init__(self, engine: FrameEngine, most: int, modules: ModuleKinds) -> None:
        self.engine = engine
        self.most = most  # facts of a stratum and of what it reads
        self._modules = modules
        self.forget()

    def forget(self) -> None:
        """Drop all facts."""
        self.local = LocalEngine()
        self.memory = Memory(modules=self._modules)
        self.held: set[str] = set()
        self._v: Update | None = None
        self._synced: set[str] = set()  # relations that the current update has reached

    def begin(self) -> None:
        """Begin an update: the facts held here are those before it."""
        self._synced = set()

    def fits(self, stratum: Stratum, rules: Iterable[Rule] = ()) -> bool:
        """Whether the stratum and all that it reads are small enough."""
        names = reads(stratum, rules)
        return sum(self.engine.all.of(name).most for name in names) <= self.most

    # From scratch.

    def evaluate(self, stratum: Stratum, watch: Watch) -> bool:
        """Derive the stratum here, if it turns out to be small enough."""
        local, names = self.local, reads(stratum)
        for name in sorted(names):
            self._hold(name)
        others = local.facts() - sum(map(local.size, names))
        tick = getattr(watch, "tick", lambda rule: None)

        def bounded(rule: Rule | None) -> None:
            tick(rule)
            if local.facts() - others > self.most:
                raise TooLarge

        local.watch(bounded)
        try:
            evaluate(local, stratum, local.all, watch, self.memory, local.explicit)
            bounded(None)
        except TooLarge:
            self.forget()
            return False
        finally:
            local.watch(None)
        for name in stratum.relations:
            relation = self.engine.kinds[name]
            self.engine.all.put(name, self.engine.hand_over(relation, local.table(name), True))
        return True

    def renew(self, stratum: Stratum, watch: Watch) -> bool:
        """Derive within an update that the facts held here do not follow yet."""
        names = reads(stratum)
        if not self.held.isdisjoint(names):
            self.forget()
        done = self.evaluate(stratum, watch)
        if done:
            self._synced.update(names)
        return done

    def _hold(self, name: str) -> None:
        """Fetch the facts of a relation."""
        if name in self.held:
            return
        engine, local = self.engine, self.local
        relation = engine.kinds[name]
        local.declare(relation)
        for facts, into in ((engine.all, local.all), (engine.explicit, local.explicit)):
            extent = facts.of(name)
            if not extent.empty:
                local.load(name, engine.table_of(name, extent), (into,))
        self.held.add(name)

    # Updates.

    def maintain(
        self,
        algorithm: Algorithm,
        u: Update,
        stratum: Stratum,
        removed: Sequence[Rule],
        added: Sequence[Rule],
    ) -> None:
        """Maintain one stratum by this algorithm."""
        v = self._begun(u)
        self._bring(u, v, reads(stratum, removed), set(stratum.relations))
        D, A = self._run(algorithm, u, v, stratum, stratum, removed, added)
        u.I -= D
        u.I |= A
        u.net(D, A)

    def maintain_slices(
        self,
        algorithm: Algorithm,
        u: Update,
        stratum: Stratum,
        form: Stratum,
        tables: Mapping[str, pa.Table],
    ) -> bool:
        """Maintain just these slices of a stratum, as they were before the change, by the rules of
        `form`.

        They are dropped when the update is done. Rules would derive other slices, too, so only
        algorithms that follow the change can be used: DRed, unless B/F is requested. Return False,
        with nothing done, if `auto` finds that this takes long.
        """
        if not self.held.isdisjoint(stratum.relations):
            self.forget()
        v = self._begun(u)
        inside = set(stratum.relations)
        self._bring(u, v, reads(form) - inside, inside)
        for name, facts in tables.items():
            self._hold_slice(u, v, name, facts)
        # Closures of whole relations would cost more than slices of them.
        v.memory = Memory(modules=False)
        if algorithm is auto.maintain:
            v.deadline = v.clock() + PATIENCE
        by = bf.maintain if algorithm is bf.maintain else dred.maintain
        try:
            D, A = self._run(by, u, v, stratum, form, (), ())
        except Spent:
            return False
        finally:
            v.memory, v.deadline = self.memory, math.inf
            self._take_back(stratum)
        u.work.place = "driver, by slices"
        u.I -= D
        u.I |= A
        u.net(D, A)
        return True

    def _take_back(self, stratum: Stratum) -> None:
        """Drop the slices of a stratum."""
        for name in stratum.relations:
            r = self.local.numbers[name]
            for facts in (self.local.explicit, self.local.all):
                facts.remove(r, facts.rows(r))

    def _hold_slice(self, u: Update, v: Update, name: str, facts: pa.Table) -> None:
        """The facts of a slice, and which of them are explicit now."""
        engine, local = self.engine, self.local
        relation = engine.kinds[name]
        local.declare(relation)
        local.load(name, spark_columns.from_arrow(relation, facts), (local.all,))
        r, rows = self._rows(u.X, name)
        _add(v.X, r, rows)
        given = engine.explicit.of(name).plus
        if given:
            mine = given & (set(spark_columns.rows_of(relation, facts)) | _rows_of(u.X, name))
            local.load(name, spark_columns.as_table(relation, mine), (local.explicit,))

    def _bring(self, u: Update, v: Update, names: set[str], inside: set[str]) -> None:
        """Make sure that these relations are here, in their current state."""
        for name in sorted(names):
            if name in self.held:
                self._sync(u, v, name, inside)
            else:
                self._fetch(u, v, name, inside)

    def _run(
        self,
        algorithm: Algorithm,
        u: Update,
        v: Update,
        stratum: Stratum,
        form: Stratum,
        removed: Sequence[Rule],
        added: Sequence[Rule],
    ) -> tuple[SparkSet, SparkSet]:
        """Facts that the algorithm inserts and deletes."""
        v.watch = u.watch
        v.note_explicit()
        tick = getattr(u.watch, "tick", None)
        self.local.watch(tick)
        v.begin(Work(stratum.relations))
        algorithm(v, form, removed, added)
        self.local.watch(None)
        self._synced.update(stratum.relations)
        u.work.algorithm, u.work.why = v.work.algorithm, v.work.why
        u.work.numbers, u.work.place = v.work.numbers, "driver"
        self.engine.instances += v.work.instances
        return self._handed(v.D, stratum), self._handed(v.A, stratum)

    def _begun(self, u: Update) -> Update:
        if self._v is None:
            local = self.local
            local.begin()
            X, D, A = local.none(), local.none(), local.none()
            base = (local, local.explicit, local.all, u.watch, self.memory)
            self._v = Update(*base, X, D, A)
        return self._v

    def _sync(self, u: Update, v: Update, name: str, inside: set[str]) -> None:
        """Apply the update's changes to a relation that is held here."""
        if name in self._synced:
            return
        self._synced.add(name)
        self._follow_explicit(u, v, name)
        if name not in inside:
            for facts, mine, grows in ((u.D, v.D, False), (u.A, v.A, True)):
                r, rows = self._rows(facts, name)
                _add(mine, r, rows)
                (self.local.all.add if grows else self.local.all.remove)(r, rows)

    def _fetch(self, u: Update, v: Update, name: str, inside: set[str]) -> None:
        """The relation's current facts, and the update's changes of it."""
        self._synced.add(name)
        self._hold(name)
        r, rows = self._rows(u.X, name)
        _add(v.X, r, rows)
        if name not in inside:
            for facts, mine in ((u.D, v.D), (u.A, v.A)):
                r, rows = self._rows(facts, name)
                _add(mine, r, rows)

    def _follow_explicit(self, u: Update, v: Update, name: str) -> None:
        r, rows = self._rows(u.X, name)
        if len(rows):
            _add(v.X, r, rows)
            were = self.local.explicit.has(r, rows)
            self.local.explicit.remove(r, rows[were])
            self.local.explicit.add(r, rows[~were])

    def _rows(self, facts: object, name: str) -> tuple[int, Any]:
        """The rows here of the facts in a Spark set."""
        assert isinstance(facts, SparkSet)
        extent = facts.of(name)
        if extent.empty:
            return self.local.numbers[name], np.empty(0, dtype=np.uint32)
        r, rows, _ = self.local.explicit_rows(name, self.engine.table_of(name, extent))
        return r, rows

    def _handed(self, facts: object, stratum: Stratum) -> SparkSet:
        """The stratum's facts in a set here, as a Spark set."""
        assert isinstance(facts, LocalSet)
        made = self.engine.none()
        for name in stratum.relations:
            r = self.local.numbers[name]
            if facts.count(r):
                table = self.local.table(name, facts.rows(r))
                made.put(name, self.engine.hand_over(self.engine.kinds[name], table, True))
        return made

    def follow(self, u: Update) -> None:
        """End an update or a phase of it: the facts held here follow all of it."""
        touched = {name for facts in (u.X, u.D, u.A) for name in _names(facts)}
        waiting = (touched & self.held) - self._synced
        large = any(not _small(facts, name) for facts in (u.X, u.D, u.A) for name in waiting)
        if large:
            self.forget()
            return
        if waiting:
            v = self._begun(u)
            for name in sorted(waiting):
                self._sync(u, v, name, set())
            self.memory.forget(waiting)
        if self._v is not None:
            self._v = None
            self.local.commit()
            self.memory.settle(undone=False)
        self._synced = set()

    def has(self, facts: SparkSet, name: str, rows: set[Row]) -> set[Row] | None:
        """Which of these rows are explicit facts, or facts at all; None if that is unknown here."""
        if name not in self.held or self._v is not None:
            return None
        relation = self.engine.kinds[name]
        ask = self.local.is_explicit if facts is self.engine.explicit else self.local.holds
        table = spark_columns.as_table(relation, rows)
        return {row for row, value in zip(rows, table.rows(), strict=True) if ask(relation, value)}


def reads(stratum: Stratum, more: Iterable[Rule] = ()) -> set[str]:
    """Relations of the stratum, and those that it reads."""
    found = set(stratum.relations)
    for rule in (*stratum.rules, *more):
        found.add(rule.head.relation)
        found.update(name for name, _ in rule.reads())
    return found


def _add(facts: object, r: int, rows: Any) -> None:
    assert isinstance(facts, LocalSet)
    facts.add(r, rows)


def _rows_of(facts: object, name: str) -> set[Row]:
    assert isinstance(facts, SparkSet)
    return facts.of(name).plus


def _names(facts: object) -> list[str]:
    assert isinstance(facts, SparkSet)
    return facts.names()


def _small(facts: object, name: str) -> bool:
    assert isinstance(facts, SparkSet)
    extent: Extent = facts.of(name)
    return extent.small
