"""Components: a symmetric-transitive closure by union-find.

Each part unites what its share of the edges connects, and keeps a spanning forest of it: no more
edges than nodes. The driver unites the forests and numbers the components, and the parts write
their pairs out. Two jobs, however long the ways are.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidelog.engines.spark import values
from tidelog.engines.spark.strategies import loops
from tidelog.engines.spark.strategies.choose import Strategy
from tidelog.engines.spark.strategies.dividing import by_number
from tidelog.engines.spark.strategies.faults import Fault, Told
from tidelog.engines.spark.strategies.kernel import Cargo, Share
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
    too_many,
    union,
)
from tidelog.engines.spark.strategies.placing import Placing
from tidelog.engines.spark.strategies.wire import CHUNK, pack, unpack, unpack_arrow
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Relation, Rule, Stratum
from tidelog.program.table import Column, SymbolColumn, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Numbers = NDArray[np.int64]


def materialise(
    strategy: Strategy,
    spark: SparkSession,
    stratum: Stratum,
    relations: Mapping[str, Relation],
    read: Read,
    options: Options,
) -> dict[str, Made]:
    from tidelog.engines.spark.strategies.tally import ByPart

    relation = relations[stratum.relations[0]]
    classes = Classes.of(_forests(spark, stratum, relations, read, options), relation)
    most = options.limits.max_facts
    if most is not None and classes.pairs > most:
        raise too_many(most, stratum)
    context, parts = spark.sparkContext, parts_of(spark, options)
    tally = context.accumulator({}, ByPart())
    sent = context.broadcast((relation, pack_nodes(relation, classes), classes.bounds))
    with described(spark, f"{title(stratum)}: pairs of components"):
        tasks = spark.range(0, parts, 1, parts)
        blobs = tasks.mapInArrow(_pairs(sent, tally, classes.shares(parts)), BLOBS)
        blobs = blobs.localCheckpoint()
    counts = check(tally.value, parts, options.limits, stratum)
    sent.destroy()
    return frames(blobs, counts, stratum.relations, relations)


def labels(
    spark: SparkSession,
    stratum: Stratum,
    relations: Mapping[str, Relation],
    read: Read,
    options: Options | None = None,
) -> DataFrame:
    """Each node (c0) and one of its component that stands for it (c1), instead of all pairs."""
    relation = relations[stratum.relations[0]]
    edges = _forests(spark, stratum, relations, read, options or Options())
    classes = Classes.of(edges, relation)
    first = classes.bounds[:, 0]
    found = pa.table(
        [classes.nodes, classes.nodes.take(pa.array(first))],
        schema=values.arrow_schema(relation),
    )
    return values.to_frame(spark, relation, found)


class Classes:
    """Nodes, component by component: each stands beside those that it is connected with."""

    def __init__(self, nodes: Any, bounds: Numbers) -> None:
        self.nodes = nodes  # Arrow
        self.bounds = bounds  # of each node, where its component begins and ends
        self.sizes = bounds[:, 1] - bounds[:, 0]
        self.pairs = int(self.sizes.sum())  # each node with each of its component

    @classmethod
    def of(cls, edges: pa.Table, relation: Relation) -> Classes:
        ends = pa.concat_tables([edges.select([c]).rename_columns(["x"]) for c in (0, 1)])
        coded = ends.column("x").combine_chunks().dictionary_encode()
        numbers = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        parent = np.arange(len(coded.dictionary), dtype=np.int64)
        pairs = np.ascontiguousarray(numbers.reshape(2, -1).T)
        loops.unite(parent, pairs, np.empty(len(pairs), dtype=np.int64))
        loops.label(parent)
        order = np.argsort(parent, kind="stable")
        _, begins, sizes = np.unique(parent[order], return_index=True, return_counts=True)
        first = np.repeat(begins, sizes)
        bounds = np.stack([first, first + np.repeat(sizes, sizes)], axis=1)
        return cls(coded.dictionary.take(pa.array(order)), bounds.astype(np.int64))

    def shares(self, parts: int) -> list[tuple[int, int]]:
        """Ranges of nodes with about as many pairs each."""
        sums = np.cumsum(self.sizes)
        cuts = np.searchsorted(sums, np.arange(1, parts) * (self.pairs / parts))
        ends = [0, *cuts.tolist(), len(sums)]
        return list(pairwise(ends))


# Forests.

_FOREST = pa.schema([("kind", pa.string()), ("blob", pa.binary())])


def _forests(
    spark: SparkSession,
    stratum: Stratum,
    relations: Mapping[str, Relation],
    read: Read,
    options: Options,
) -> pa.Table:
    """Edges that connect what all edges connect, in the driver."""
    far, near = _divided(stratum)
    broadcast = sorted({name for rule in near for name, _ in rule.reads()})
    with described(spark, f"{title(stratum)}: facts for every part"):
        whole = collected(spark, broadcast, relations, read, options)
    read_by = {name: None for rule in far for name, _ in rule.reads()}
    names = [n for n in (*read_by, *stratum.relations) if options.size(n) != 0]
    parts = parts_of(spark, options)

    def sent(rules: list[Rule], blobs: Mapping[str, list[bytes]]) -> Any:
        used = {name for rule in rules for name, _ in rule.reads()} | {*stratum.relations, *names}
        known = {name: relations[name] for name in used}
        placing = Placing(tuple(rules), (), {}, frozenset(), {})
        cargo = Cargo(uuid.uuid4().hex, stratum, known, placing, parts, blobs, options.limits)
        return spark.sparkContext.broadcast(cargo)

    schema = "kind string, blob binary"
    tasks = []
    if names:
        run = _forest(sent(far, {}), names)
        shares = by_signature(names, relations, _reader(spark, relations, read, options))
        tasks += [share.coalesce(parts).mapInArrow(run, schema) for share in shares]
    if near:
        # Rules that join are few here as a rule: one task does them.
        tasks.append(spark.range(1).mapInArrow(_forest(sent(near, whole), []), schema))
    with described(spark, f"{title(stratum)}: forests"):
        return _united(tasks, relations[stratum.relations[0]])


def _united(tasks: list[DataFrame], relation: Relation) -> pa.Table:
    edges = [pa.table([[], []], schema=values.arrow_schema(relation))]
    if tasks:
        for kind, blob in union(tasks).collect():
            if kind is not None:
                raise Fault(kind, blob.decode()).error()
            edges.append(unpack_arrow(relation, blob))
    return pa.concat_tables(edges)


def _reader(
    spark: SparkSession, relations: Mapping[str, Relation], read: Read, options: Options
) -> Read:
    """Frames of facts, of those that the driver has, too."""

    def found(name: str) -> DataFrame:
        held = options.tables.get(name)
        return read(name) if held is None else values.to_frame(spark, relations[name], held)

    return found


def _divided(stratum: Stratum) -> tuple[list[Rule], list[Rule]]:
    """Rules that any share of their only atom's facts can be given to, and all others; none of
    the former reads what one of the latter needs whole."""
    far = [rule for rule in stratum.nonrecursive if _is_copy(rule)]
    near = [rule for rule in stratum.nonrecursive if not _is_copy(rule)]
    whole = {name for rule in near for name, _ in rule.reads()}
    moved = [rule for rule in far if any(name in whole for name, _ in rule.reads())]
    return [rule for rule in far if rule not in moved], near + moved


def _is_copy(rule: Rule) -> bool:
    return [complete for _, complete in rule.reads()] == [False]


def _forest(sent: Any, names: list[str]) -> Any:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cargo: Cargo = sent.value
        relation = cargo.relations[cargo.stratum.relations[0]]
        share = Share(cargo, 0)
        try:
            for batch in batches:
                for i, table in by_number(batch) if names else ():
                    known = cargo.relations[names[i]]
                    share.load({known.name: [values.from_arrow(known, table)]})
            blob = pack(relation, _spanning(share, relation))
            yield _row(None, blob)
        except TidelogError as error:
            fault = Fault.of(error)
            yield _row(fault.kind, fault.message.encode())

    return run


def _row(kind: str | None, blob: bytes) -> pa.RecordBatch:
    arrays = [pa.array([kind], type=pa.string()), pa.array([blob], type=pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, schema=_FOREST)


def _spanning(share: Share, relation: Relation) -> Table:
    """Of the edges that the share's facts are or give, those that a forest needs."""
    engine, rules = share.engine, share.cargo.placing.seeds
    X = engine.apply(rules, within=engine.all)
    X |= engine.collect(engine.all, (relation.name,))
    ids = engine.ids(X, relation.name)
    nodes = np.unique(ids)
    parent = np.arange(len(nodes), dtype=np.int64)
    edges = np.searchsorted(nodes, ids).astype(np.int64)
    # A node with an edge to itself alone is a component, too.
    alone = np.flatnonzero(edges[:, 0] == edges[:, 1])
    kept = np.empty(len(edges), dtype=np.int64)
    count = loops.unite(parent, edges, kept)
    return engine.decoded(relation, ids[np.concatenate([kept[:count], alone])])


# Pairs.


def pack_nodes(relation: Relation, classes: Classes) -> bytes:
    one = Relation("nodes", ("x",), relation.kinds[:1])
    table = pa.table([classes.nodes], schema=values.arrow_schema(one))
    return pack(one, values.from_arrow(one, table))


def _pairs(sent: Any, tally: Any, shares: list[tuple[int, int]]) -> Any:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        relation, blob, bounds = sent.value
        column = unpack(Relation("nodes", ("x",), relation.kinds[:1]), blob).columns[0]
        for batch in batches:
            for part in batch.column(0).to_pylist():
                told = Told()
                for table in _written(relation, column, bounds, *shares[part]):
                    told.facts[relation.name] = told.facts.get(relation.name, 0) + table.size
                    yield blob_row(part, relation, table)
                tally.add({part: told})

    return run


def _written(
    relation: Relation, column: Column, bounds: Numbers, start: int, stop: int
) -> Iterator[Table]:
    """Pairs of the nodes in a range, each with all of its component."""
    largest = int((bounds[start:stop, 1] - bounds[start:stop, 0]).max(initial=0))
    out = np.empty((max(CHUNK, largest), 2), dtype=np.int64)
    row = start
    while row < stop:
        begin = int(bounds[row, 0])
        row, count = loops.pairs(bounds[:stop], row, out)
        near = _between(column, begin, int(bounds[row - 1, 1]))
        columns = tuple(_taken(near, out[:count, c] - begin) for c in (0, 1))
        yield Table(relation.kinds, columns, count)


def _between(column: Column, begin: int, end: int) -> Column:
    if isinstance(column, SymbolColumn):
        codes = column.codes[begin:end]
        return SymbolColumn(np.arange(len(codes)), [column.words[i] for i in codes.tolist()])
    return column[begin:end]


def _taken(column: Column, rows: Numbers) -> Column:
    if isinstance(column, SymbolColumn):
        return SymbolColumn(column.codes[rows], column.words)
    return column[rows]
