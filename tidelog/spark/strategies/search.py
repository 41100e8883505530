"""Linear closures inside an executor: a search from each source whose home is the part.

A join would look up every fact in a table of all of them; a search needs one mark per node and
hands out the facts of a source at once, so memory does not grow with the facts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from tidelog.engine import Ids
from tidelog.formats import spark_columns
from tidelog.plan.closures import Closure
from tidelog.program.rules import Relation
from tidelog.program.table import Table
from tidelog.spark.strategies import graph_loops
from tidelog.spark.strategies.blobs import CHUNK, home
from tidelog.spark.strategies.partition_engine import Share, Tables


def reached(share: Share, closure: Closure, arrived: Tables) -> Iterator[Table]:
    """The closure's facts whose pivot is at home here, in pieces."""
    share.load(arrived)
    seeds, steps = _graph(share, closure)
    turned = closure.kind == "right-linear"
    if turned:
        seeds, steps = seeds[:, ::-1], steps[:, ::-1]
    engine, relation = share.engine, share.engine.kinds[closure.relation]
    count = 0
    for pairs in searched(_at_home(share, closure, seeds), steps):
        count += len(pairs)
        share.watch.pairs(count)
        yield engine.decoded(relation, pairs[:, ::-1] if turned else pairs)


def _graph(share: Share, closure: Closure) -> tuple[Ids, Ids]:
    """The initial facts of the closure, and those of its steps."""
    engine = share.engine
    X = engine.apply(share.cargo.stratum.nonrecursive, within=engine.all)
    X |= engine.collect(engine.all, (closure.relation,))
    seeds = engine.ids(X, closure.relation)
    if closure.base is None:
        return seeds, seeds
    steps = engine.ids(engine.all, closure.base)
    return seeds, steps[:, ::-1] if closure.swapped else steps


def _at_home(share: Share, closure: Closure, seeds: Ids) -> Ids:
    relation = share.cargo.relations[closure.relation]
    kind = relation.kinds[1 if closure.kind == "right-linear" else 0]
    sources, which = np.unique(seeds[:, 0], return_inverse=True)
    column = share.engine.dictionary.decode(kind, sources)
    mine = home(column, share.cargo.parts) == share.part
    if share.only is not None:
        known = spark_columns.to_arrow(
            Relation("x", ("x",), (kind,)), Table((kind,), (column,), len(mine))
        )
        mine &= np.asarray(pc.is_in(known.column(0), value_set=share.only))
    return np.asarray(seeds[mine[which]])


def searched(seeds: Ids, steps: Ids) -> Iterator[Ids]:
    """Pairs of a source and a node that it reaches, at least a chunk at a time, except the last."""
    order = np.argsort(seeds[:, 0], kind="stable")
    sources, starts = np.unique(seeds[order, 0], return_index=True)
    starts = np.append(starts, len(seeds))
    nodes = np.unique(np.concatenate([seeds[:, 1], steps.ravel()]))
    first, ends = graph_loops.adjacency(_numbered(nodes, steps), len(nodes))
    begin = _numbered(nodes, seeds[order, 1])
    seen = np.full(len(nodes), -1, dtype=np.int64)
    queue = np.empty(len(nodes), dtype=np.int64)
    # Any source may reach all nodes: with room for no more than these, each would come alone.
    out = np.empty((CHUNK + len(nodes) - 1, 2), dtype=np.int64)
    source = 0
    while source < len(sources):
        source, count = graph_loops.reach(first, ends, starts, begin, source, seen, queue, out)
        yield np.stack([sources[out[:count, 0]], nodes[out[:count, 1]]], axis=1)


def _numbered(nodes: Ids, ids: Ids) -> NDArray[np.int64]:
    return np.searchsorted(nodes, ids).astype(np.int64)
