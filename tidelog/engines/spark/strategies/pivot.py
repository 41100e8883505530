"""Pivot: parts of a stratum that never meet, each taken to its fixpoint by a local engine.

Every recursive rule keeps an argument, so what follows from a fact is at home where the fact is.
Facts are divided by that argument once, lower relations that do not have it are broadcast, and one
job does the rest. Facts stay in the part where they were derived: see `slices` for updates.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.engines.spark import values
from tidelog.engines.spark.strategies.choose import Strategy, apart, whole
from tidelog.engines.spark.strategies.faults import Fault, Told
from tidelog.engines.spark.strategies.kernel import Cargo, Share, Tables, gathered
from tidelog.engines.spark.strategies.made import (
    BLOBS,
    Made,
    Options,
    Read,
    blob_row,
    by_signature,
    check,
    collected,
    described,
    frames,
    parts_of,
    title,
)
from tidelog.engines.spark.strategies.placing import Placing, Route, targets
from tidelog.engines.spark.strategies.reaching import reached
from tidelog.engines.spark.strategies.wire import CHUNK, chunks, concat, keys, pack, select
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Relation, Rule, Stratum
from tidelog.program.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROUTED = "key int, part int, name string, blob binary"
_ROUTED = pa.schema(
    [("key", pa.int32()), ("part", pa.int32()), ("name", pa.string()), ("blob", pa.binary())]
)


def materialise(
    strategy: Strategy,
    spark: SparkSession,
    stratum: Stratum,
    relations: Mapping[str, Relation],
    read: Read,
    options: Options,
) -> dict[str, Made]:
    from tidelog.engines.spark.strategies.tally import ByPart

    cargo = _cargo(strategy, spark, stratum, relations, read, options)
    context = spark.sparkContext
    tally = context.accumulator({}, ByPart())
    sent = context.broadcast(cargo)
    divided = [n for n in cargo.placing.routes if options.sizes.get(n) != 0]
    divided = [name for name in divided if name not in cargo.whole]
    with described(spark, f"{title(stratum)}: fixpoint by pivot"):
        inputs = divide(spark, divided, relations, read, cargo.placing, cargo.parts)
        blobs = inputs.mapInArrow(_fixpoint(sent, tally), BLOBS).localCheckpoint()
    told = tally.value
    counts = check(told.values(), options.limits, stratum)
    sent.destroy()
    return frames(blobs, counts, stratum.relations, relations)


def _cargo(
    strategy: Strategy,
    spark: SparkSession,
    stratum: Stratum,
    relations: Mapping[str, Relation],
    read: Read,
    options: Options,
) -> Cargo:
    names = whole(stratum, strategy)
    if strategy.closure is not None and strategy.closure.kind == "transitive":
        names += stratum.relations  # every part goes on by the same facts
    with described(spark, f"{title(stratum)}: facts for every part"):
        broadcast = collected(spark, names, relations, read, options)
    used = {name for rule in stratum.rules for name, _ in rule.reads()} | {*stratum.relations}
    return Cargo(
        uuid.uuid4().hex,
        stratum,
        {name: relations[name] for name in relations if name in used},
        placed(strategy, stratum, frozenset(names)),
        parts_of(spark, options),
        broadcast,
        options.limits,
        strategy.closure,
    )


def placed(strategy: Strategy, stratum: Stratum, broadcast: frozenset[str]) -> Placing:
    """Facts by their pivot."""
    routes: dict[str, tuple[Route, ...]]
    routes = {name: (Route(column),) for name, column in strategy.pivots.items()}
    routes |= {name: (Route(column),) for name, column in apart(stratum, strategy).items()}
    near: list[Rule] = []
    far: list[Rule] = []
    for rule in stratum.rules:
        atoms = [a.relation for a in rule.literals() if not a.negated]
        (near if broadcast.issuperset(atoms) else far).append(rule)
    return Placing(tuple(near), tuple(far), {}, broadcast, routes)


# Facts to the parts where they are at home.


def divide(
    spark: SparkSession,
    names: list[str],
    relations: Mapping[str, Relation],
    read: Read,
    placing: Placing,
    parts: int,
    place: bool = True,
) -> DataFrame:
    """Blobs for each part, sent there if asked. Each part has a row, though it may be empty."""
    from pyspark.sql import functions as F

    known = [relations[name] for name in names]
    routes = [placing.routes[name] for name in names]
    numbers = keys(parts)
    empty = spark.range(0, parts, 1, parts).select(
        F.lit(0).alias("key"),
        F.col("id").cast("int").alias("part"),
        F.lit(None).cast("string").alias("name"),
        F.lit(None).cast("binary").alias("blob"),
    )
    if not names:
        return empty
    routed = [
        frame.coalesce(parts).mapInArrow(_router(known, routes, numbers), ROUTED)
        for frame in by_signature(names, relations, read)
    ]
    found = routed[0]
    for frame in routed[1:]:
        found = found.unionAll(frame)
    mine = F.element_at(F.array(*(F.lit(n) for n in numbers)), F.col("part") + 1).alias("key")
    found = found.unionAll(empty.coalesce(1).select(mine, "part", "name", "blob"))
    return found.repartition(parts, "key") if place else found


def _router(known: list[Relation], routes: list[tuple[Route, ...]], numbers: list[int]) -> Any:
    def route(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: dict[int, list[Table]] = {}
        for batch in batches:
            table = pa.Table.from_batches([batch])
            numbered = table.column("r")
            for i in numbered.unique().to_pylist():
                mine = table.filter(pc.equal(numbered, i)).drop_columns("r")
                each = waiting.setdefault(i, [])
                each.append(values.from_arrow(known[i], mine))
                if sum(one.size for one in each) >= CHUNK:
                    yield from send(i, waiting.pop(i))
        for i, each in waiting.items():
            yield from send(i, each)

    def send(i: int, each: list[Table]) -> Iterator[pa.RecordBatch]:
        table = concat(known[i], each)
        rows, to = targets(routes[i], table, len(numbers))
        for part in sorted(set(to.tolist())):
            blob = pack(known[i], select(table, rows[to == part]))
            columns = [[numbers[part]], [part], [known[i].name], [blob]]
            arrays = [pa.array(c, type=f.type) for c, f in zip(columns, _ROUTED, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=_ROUTED)

    return route


def arrivals(batches: Iterator[pa.RecordBatch]) -> dict[int, list[tuple[str, bytes]]]:
    """Blobs by part: most often there is one part."""
    found: dict[int, list[tuple[str, bytes]]] = {}
    for batch in batches:
        parts, names = batch.column("part").to_pylist(), batch.column("name").to_pylist()
        for part, name, blob in zip(parts, names, batch.column("blob"), strict=True):
            mine = found.setdefault(part, [])
            if name is not None:
                mine.append((name, blob.as_py()))
    return found


# The job.


def _fixpoint(sent: Any, tally: Any) -> Any:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cargo: Cargo = sent.value
        for part, pieces in arrivals(batches).items():
            told = Told()
            try:
                for name, table in derived(cargo, part, gathered(cargo, pieces)):
                    told.facts[name] = told.facts.get(name, 0) + table.size
                    for piece in chunks(table):
                        yield blob_row(part, cargo.relations[name], piece)
            except TidelogError as error:
                told.fault = Fault.of(error)
            tally.add({part: told})

    return run


def derived(cargo: Cargo, part: int, arrived: Tables) -> Iterator[tuple[str, Table]]:
    """All facts of the stratum that are at home in a part, by relation, in pieces."""
    share = Share(cargo, part)
    if cargo.closure is not None:
        for table in reached(share, cargo.closure, arrived):
            yield cargo.closure.relation, table
        return
    share.begin(arrived)
    for name in cargo.stratum.relations:
        yield name, share.engine.table(name)
