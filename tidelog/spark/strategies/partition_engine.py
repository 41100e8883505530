"""What runs inside executors: a local engine for each part's share of the facts.

A part's engine starts from the facts whose home is the part, derives their consequences, and
reports which of them are new and who else needs them. It knows only what is broadcast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidelog.control.limits import Limits, LimitWatch
from tidelog.formats import spark_columns
from tidelog.local.engine import LocalEngine
from tidelog.plan.closures import Closure
from tidelog.program.rules import Relation, Stratum
from tidelog.program.table import Table
from tidelog.spark.strategies import kernel_group as kernel_group
from tidelog.spark.strategies.blobs import after, concat, select, unpack
from tidelog.spark.strategies.partitioning import Partitioning, Route, by_part

Blobs = Mapping[str, list[bytes]]  # packed tables, by relation
Tables = dict[str, list[Table]]


@dataclass(frozen=True, slots=True)
class Cargo:
    """All that executors need to know of a stratum, broadcast once."""

    run: str  # different for every evaluation
    stratum: Stratum
    relations: Mapping[str, Relation]
    partitioning: Partitioning
    parts: int
    whole: Blobs = field(default_factory=dict)  # facts of the broadcast relations
    limits: Limits = field(default_factory=Limits)
    closure: Closure | None = None


class Share:
    """One part's facts, and the engine that holds them."""

    def __init__(self, cargo: Cargo, part: int) -> None:
        self.cargo = cargo
        self.part = part
        self.only: Any = None  # of the facts at home here, an Arrow array of the pivots that matter
        self.engine = engine = LocalEngine()
        self.watch = LimitWatch(cargo.limits, engine.facts)
        engine.watch(self.watch.tick)
        for name in {**cargo.relations, **cargo.whole}:
            engine.declare(cargo.relations[name])
        for relation in cargo.partitioning.relations.values():
            engine.declare(relation, aside=True)
        for name, blobs in cargo.whole.items():
            for blob in blobs:
                engine.load(name, unpack(engine.kinds[name], blob), (engine.all,))
        self.watch.stratum(cargo.stratum)
        self.names = [n for n in cargo.partitioning.routes if n in engine.kinds]
        self._before = self._arrived = self._sizes()

    def begin(self, arrived: Tables) -> None:
        """Derive all consequences of the facts at home here."""
        engine, partitioning = self.engine, self.cargo.partitioning
        self.take_in(arrived)
        self._arrived = self._sizes()
        N = engine.apply(partitioning.rules, within=engine.all, guard=~engine.all)
        self._spread(N)

    def take_in(self, arrived: Tables) -> None:
        """The initial facts. Seeds may test the absence of a fact of a lower relation."""
        inside = self.cargo.stratum.relations
        self.load({name: tables for name, tables in arrived.items() if name not in inside})
        self.load(self._seeds())
        self.load({name: tables for name, tables in arrived.items() if name in inside})

    def go_on(self, arrived: Tables) -> None:
        """Derive the consequences of arriving facts."""
        engine = self.engine
        self._before = self._sizes()
        N = engine.none()
        for name, tables in arrived.items():
            for table in tables:
                engine.load(name, table, (N,))
        N -= engine.all
        self._arrived = self._sizes()
        self._spread(N)

    def load(self, tables: Tables) -> None:
        """Take facts in, without deriving their consequences."""
        for name, each in tables.items():
            for table in each:
                self.engine.load(name, table, (self.engine.all,))

    def _spread(self, N: Any) -> None:
        def each() -> bool:
            self.watch.round()
            return True

        engine, rules = self.engine, self.cargo.partitioning.rules
        I = engine.all
        engine.spread(rules, N, (I,), within=I, guard=~I, each=each)
        self.watch.tick(None)

    def _seeds(self) -> Tables:
        """Derive the consequences of broadcast facts alone: every part finds them and keeps those
        at home there."""
        engine, partitioning = self.engine, self.cargo.partitioning
        found: Tables = {}
        if not partitioning.seeds:
            return found
        N = engine.apply(partitioning.seeds, within=engine.all)
        for name in engine.relations(N):
            r = engine.numbers[name]
            table = engine.table(name, N.rows(r))
            homes = by_part(partitioning.routes[name], table, self.cargo.parts)
            for table in (mine for part, mine in homes if part == self.part):
                found[name] = [select(table, self.matters(name, table))]
        N.clear()
        for name in found:
            engine.store.clear(engine.numbers[name])
        return found

    def matters(self, name: str, table: Table) -> NDArray[np.bool_]:
        """Whether each fact's pivot is one of those that matter."""
        pivot = self.cargo.partitioning.routes[name][0].column
        if self.only is None or pivot is None:
            return np.ones(table.size, dtype=np.bool_)
        column = spark_columns.to_arrow(self.engine.kinds[name], table).column(pivot)
        return np.asarray(pc.is_in(column, value_set=self.only))

    # What is new since the last arrivals.

    def _sizes(self) -> dict[str, int]:
        store, numbers = self.engine.store, self.engine.numbers
        return {name: store.size(numbers[name]) for name in self.names}

    def news(self) -> Iterator[tuple[str, int, Iterator[tuple[int, Table]]]]:
        """By relation: how many facts that are new here this part owns, and the facts derived here
        for each other part that is a home of theirs."""
        parts = self.cargo.parts
        for name, size in self._sizes().items():
            before = self._before[name]
            if size > before:
                table = self._rows(name, before, size)
                owned = self._owner(name).homes(table, parts) == self.part
                yield name, int(owned.sum()), self._outward(name, table, before)

    def _outward(self, name: str, table: Table, before: int) -> Iterator[tuple[int, Table]]:
        arrived = self._arrived[name] - before
        if self.cargo.parts == 1 or arrived == table.size:
            return
        routes = self.cargo.partitioning.routes[name]
        for part, mine in by_part(routes, after(table, arrived), self.cargo.parts):
            if part != self.part:
                yield part, mine

    def owned(self) -> Iterator[tuple[str, Table]]:
        """The stratum's facts that this part owns."""
        for name in self.cargo.stratum.relations:
            table = self.engine.table(name)
            if table.size:
                owned = self._owner(name).homes(table, self.cargo.parts) == self.part
                yield name, select(table, owned)

    def _owner(self, name: str) -> Route:
        return self.cargo.partitioning.routes[name][0]

    def _rows(self, name: str, start: int, stop: int) -> Table:
        return self.engine.table(name, np.arange(start, stop, dtype=np.uint32))


def gathered(cargo: Cargo, pieces: Iterable[tuple[str, bytes]]) -> Tables:
    """Blobs as tables, one per relation: loading many small ones takes longer."""
    found: Tables = {}
    for name, blob in pieces:
        found.setdefault(name, []).append(unpack(relation_of(cargo, name), blob))
    return {name: [concat(relation_of(cargo, name), each)] for name, each in found.items()}


def relation_of(cargo: Cargo, name: str) -> Relation:
    return cargo.relations.get(name) or cargo.partitioning.relations[name]
