"""A change of a pivot stratum inside the executors: slices that it reaches are derived anew.

Every part finds the slices that the change can reach, derives them from the current lower
relations, and compares. The difference is therefore exact, only the difference goes to the driver,
and an update costs at most what it costs to materialise the stratum: one job, and one to fetch the
difference.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.formats import spark_columns
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Relation
from tidelog.program.table import Table
from tidelog.spark.strategies.blob_changes import SMALL
from tidelog.spark.strategies.blobs import chunks, concat, from_bytes, pack, select, to_bytes
from tidelog.spark.strategies.choose import Strategy
from tidelog.spark.strategies.executor_errors import TaskFault, TaskReport
from tidelog.spark.strategies.partition_engine import Cargo, Share, gathered
from tidelog.spark.strategies.partition_state import (
    BLOBS,
    Inputs,
    RelationBlobs,
    batch,
    check,
    frames,
)
from tidelog.spark.strategies.pivot import placed
from tidelog.spark.strategies.search import reached
from tidelog.spark.strategies.slices import Facts, SliceReach, led_to, plain, reached_by

INSERTED, DELETED = "+", "-"  # before the names of relations, in blobs of the difference


@dataclass(frozen=True, slots=True)
class Renewed:
    """The state after a change, and the inserted and deleted facts."""

    state: dict[str, RelationBlobs]
    added: Facts
    removed: Facts


@dataclass(frozen=True, slots=True)
class Change:
    """What executors need to know of a change."""

    cargo: Cargo
    explicit: dict[str, list[bytes]]  # current facts of the stratum
    strategy: Strategy
    reach: SliceReach
    direct: Any


def renewed(
    strategy: Strategy,
    inputs: Inputs,
    deltas: Mapping[str, pa.Table],
    state: Mapping[str, RelationBlobs],
) -> Renewed | None:
    """The stratum after a change. `inputs` are those after it, and `deltas` has the inserted and
    deleted ones (see `slices.affected`); None if the rules do not say which slices are reached."""
    from pyspark.sql import functions as F

    from tidelog.spark.strategies.accumulator import ByPart

    stratum, relations, limits = inputs.stratum, inputs.relations, inputs.options.limits
    lower = {
        # Deleted facts lead to slices, too, joined with other deleted facts.
        name: pa.concat_tables([table, deltas[name]]) if name in deltas else table
        for name, table in inputs.options.tables.items()
    }
    reach = reached_by(strategy, stratum, relations, deltas, lower)
    if reach is None:
        return None
    context = inputs.spark.sparkContext
    blobs = next(iter(state.values())).blobs
    parts = blobs.rdd.getNumPartitions()
    change = _change(strategy, inputs, reach, parts)
    tally = context.accumulator({}, ByPart())
    sent = context.broadcast(change)
    with inputs.described("slices derived anew"):
        fresh = blobs.mapInArrow(_renewer(sent, tally), BLOBS).localCheckpoint()
    counts = check(tally.value, parts, limits, stratum)
    with inputs.described("what has changed"):
        rows = fresh.where(~F.col("name").isin(*stratum.relations)).collect()
    sent.destroy()
    kept = fresh.where(F.col("name").isin(*stratum.relations))
    made = frames(kept, counts, stratum.relations, relations)
    return Renewed(
        made, *(facts(sign, rows, stratum.relations, relations) for sign in (INSERTED, DELETED))
    )


def facts(
    sign: str, rows: Sequence[Any], names: Iterable[str], relations: Mapping[str, Relation]
) -> Facts:
    """Facts of these relations in blobs, with this sign before the relation's name."""
    mine: dict[str, list[pa.Table]] = {name: [] for name in names}
    for row in rows:
        if row.name[0] == sign:
            mine[row.name[1:]].append(plain(from_bytes(row.blob)))
    found = {}
    for name, tables in mine.items():
        schema = spark_columns.arrow_schema(relations[name])
        found[name] = pa.concat_tables([schema.empty_table(), *(t.cast(schema) for t in tables)])
    return found


def _change(strategy: Strategy, inputs: Inputs, reach: SliceReach, parts: int) -> Change:
    stratum, relations = inputs.stratum, inputs.relations
    lower = {n for rule in stratum.rules for n, _ in rule.reads()} - {*stratum.relations}
    names = [*sorted(lower), *stratum.relations]
    facts = inputs.collected(names)
    explicit = {name: facts.pop(name) for name in stratum.relations}
    whole = frozenset(names) if strategy.closure is not None else frozenset(lower)
    cargo = Cargo(
        uuid.uuid4().hex,
        stratum,
        {name: relations[name] for name in names},
        placed(strategy, stratum, whole),
        parts,
        facts,
        inputs.options.limits,
        strategy.closure,
    )
    return Change(cargo, explicit, strategy, reach, reach.known(strategy, relations))


# Inside executors.


def _renewer(sent: Any, tally: Any) -> Any:
    def renew(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        part, report = context.partitionId(), TaskReport()
        held = [row for rows in batches for row in rows.to_pylist()]
        try:
            for name, size, blob in renewal(sent.value, part, held):
                if not name.startswith((INSERTED, DELETED)):
                    report.facts[name] = report.facts.get(name, 0) + size
                yield batch(part, name, size, blob)
        except TidelogError as error:
            report.fault = TaskFault.of(error)
        tally.add({part: report})

    return renew


def renewal(
    change: Change, part: int, held: list[dict[str, Any]]
) -> Iterator[tuple[str, int, bytes]]:
    """The blobs of a part after the change, and those of the difference."""
    tables = [(row, plain(from_bytes(row["blob"]))) for row in held]
    pivots = change.strategy.pivots
    found = [change.direct]
    for row, table in tables:
        found += led_to(change.reach.scans, {row["name"]: table}, change.strategy)
    wanted = pa.concat_arrays(found).unique()
    old: dict[str, list[pa.Table]] = {}
    small: dict[str, list[pa.Table]] = {}
    for row, table in tables:
        name = row["name"]
        mask = pc.is_in(table.column(pivots[name]), value_set=wanted)
        slices, rest = table.filter(mask), table.filter(pc.invert(mask))
        old.setdefault(name, []).append(slices)
        if rest.num_rows <= SMALL:
            small.setdefault(name, []).append(rest)
        elif slices.num_rows:
            yield name, rest.num_rows, to_bytes(rest)
        else:
            yield name, row["size"], row["blob"]
    yield from _compared(change, _anew(change, part, wanted), old, small)


def _anew(change: Change, part: int, wanted: Any) -> Share:
    """The current slices."""
    cargo = change.cargo
    share = Share(cargo, part)
    share.only = wanted
    explicit = gathered(
        cargo, ((n, blob) for n, blobs in change.explicit.items() for blob in blobs)
    )
    if cargo.closure is None:
        at_home = cargo.partitioning.routes
        mine = {}
        for name, (table,) in explicit.items():
            table = select(table, at_home[name][0].homes(table, cargo.parts) == part)
            mine[name] = [select(table, share.matters(name, table))]
        share.begin(mine)
        return share
    relation = cargo.closure.relation
    found = list(reached(share, cargo.closure, explicit))
    share.engine.all.clear()
    share.engine.store.clear(share.engine.numbers[relation])
    share.load({relation: found})
    return share


def _compared(
    change: Change, share: Share, old: dict[str, list[pa.Table]], small: dict[str, list[pa.Table]]
) -> Iterator[tuple[str, int, bytes]]:
    """The slices, and their difference from before."""
    engine, relations = share.engine, change.cargo.relations
    O = engine.none()
    for name, tables in old.items():
        for table in tables:
            engine.load(name, spark_columns.from_arrow(relations[name], table), (O,))
    for name in change.cargo.stratum.relations:
        for piece in chunks(_with(relations[name], engine.table(name), small.get(name, []))):
            yield name, piece.size, pack(relations[name], piece)
        for sign, view in ((INSERTED, engine.all - O), (DELETED, O - engine.all)):
            facts = engine.collect(view, (name,))
            table = engine.table(name, facts.rows(engine.numbers[name]))
            for piece in chunks(table):
                yield sign + name, piece.size, pack(relations[name], piece)


def _with(relation: Relation, table: Table, small: list[pa.Table]) -> Table:
    """The slices, and facts left over in small blobs."""
    return concat(relation, [table, *(spark_columns.from_arrow(relation, one) for one in small)])
