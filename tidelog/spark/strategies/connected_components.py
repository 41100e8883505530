"""Components: a symmetric-transitive closure by union-find.

Each part unites what its share of the edges connects, and keeps a spanning forest of it, with fewer
edges than nodes. The driver unites the forests and numbers the components, and the parts write
their pairs. Two jobs, however long the paths are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidelog.formats import spark_columns
from tidelog.program.rules import Relation
from tidelog.program.table import Column, SymbolColumn, Table
from tidelog.spark.strategies import graph_loops
from tidelog.spark.strategies.blobs import CHUNK, pack, unpack
from tidelog.spark.strategies.choose import Strategy
from tidelog.spark.strategies.executor_errors import TaskReport
from tidelog.spark.strategies.partition_state import (
    BLOBS,
    Inputs,
    RelationBlobs,
    blob_row,
    check,
    frames,
    too_many,
)
from tidelog.spark.strategies.spanning_forest import forests, numbered

Numbers = NDArray[np.int64]


def materialise(strategy: Strategy, inputs: Inputs) -> dict[str, RelationBlobs]:
    from tidelog.spark.strategies.accumulator import ByPart

    stratum, limits, parts = inputs.stratum, inputs.options.limits, inputs.parts
    relation = inputs.relations[stratum.relations[0]]
    classes = SortedComponents.of(forests(inputs))
    if limits.max_facts is not None and classes.pairs > limits.max_facts:
        raise too_many(limits.max_facts, stratum)
    context = inputs.spark.sparkContext
    tally = context.accumulator({}, ByPart())
    sent = context.broadcast((relation, pack_nodes(relation, classes), classes.bounds))
    with inputs.described("pairs of components"):
        tasks = inputs.spark.range(0, parts, 1, parts)
        blobs = tasks.mapInArrow(_pairs(sent, tally, classes.shares(parts)), BLOBS)
        blobs = blobs.localCheckpoint()
    counts = check(tally.value, parts, limits, stratum)
    sent.destroy()
    return frames(blobs, counts, stratum.relations, inputs.relations)


class SortedComponents:
    """Nodes ordered by component: each stands beside those that it is connected with."""

    def __init__(self, nodes: Any, bounds: Numbers) -> None:
        self.nodes = nodes  # Arrow
        self.bounds = bounds  # the range of each node's component
        self.sizes = bounds[:, 1] - bounds[:, 0]
        self.pairs = int(self.sizes.sum())  # each node with each of its component

    @classmethod
    def of(cls, edges: pa.Table) -> SortedComponents:
        nodes, pairs = numbered(edges)
        parent = np.arange(len(nodes), dtype=np.int64)
        graph_loops.unite(parent, pairs, np.empty(len(pairs), dtype=np.int64))
        graph_loops.label(parent)
        order = np.argsort(parent, kind="stable")
        _, begins, sizes = np.unique(parent[order], return_index=True, return_counts=True)
        first = np.repeat(begins, sizes)
        bounds = np.stack([first, first + np.repeat(sizes, sizes)], axis=1)
        return cls(nodes.take(pa.array(order)), bounds.astype(np.int64))

    def shares(self, parts: int) -> list[tuple[int, int]]:
        """Ranges of nodes with about as many pairs each."""
        sums = np.cumsum(self.sizes)
        cuts = np.searchsorted(sums, np.arange(1, parts) * (self.pairs / parts))
        ends = [0, *cuts.tolist(), len(sums)]
        return list(pairwise(ends))


# Pairs.


def pack_nodes(relation: Relation, classes: SortedComponents) -> bytes:
    one = Relation("nodes", ("x",), relation.kinds[:1])
    table = pa.table([classes.nodes], schema=spark_columns.arrow_schema(one))
    return pack(one, spark_columns.from_arrow(one, table))


def _pairs(sent: Any, tally: Any, shares: list[tuple[int, int]]) -> Any:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        relation, blob, bounds = sent.value
        column = unpack(Relation("nodes", ("x",), relation.kinds[:1]), blob).columns[0]
        for batch in batches:
            for part in batch.column(0).to_pylist():
                report = TaskReport()
                for table in _written(relation, column, bounds, *shares[part]):
                    report.facts[relation.name] = report.facts.get(relation.name, 0) + table.size
                    yield blob_row(part, relation, table)
                tally.add({part: report})

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
        row, count = graph_loops.pairs(bounds[:stop], row, out)
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
