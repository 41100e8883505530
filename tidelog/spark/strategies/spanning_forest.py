"""Spanning forests of the edges of a symmetric-transitive closure.

Each part unites what its share of the edges connects, and keeps the edges that united two classes:
fewer than nodes. The driver handles its own edges itself, without a job.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tidelog.formats import spark_columns
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Literal, Rule, Stratum
from tidelog.program.syntax import Variable
from tidelog.spark.packed_frames import union
from tidelog.spark.strategies import graph_loops
from tidelog.spark.strategies.blobs import from_bytes, to_bytes, unpack_arrow
from tidelog.spark.strategies.executor_errors import TaskFault
from tidelog.spark.strategies.partition_engine import Cargo, Share
from tidelog.spark.strategies.partition_state import Inputs
from tidelog.spark.strategies.partitioning import Partitioning
from tidelog.spark.strategies.route import by_number

FOREST = "kind string, blob binary"  # of a fault its kind and message; of a forest no kind
_SCHEMA = pa.schema([("kind", pa.string()), ("blob", pa.binary())])


def forests(inputs: Inputs) -> pa.Table:
    """Edges that connect what all edges connect, in the driver."""
    stratum, relations, options = inputs.stratum, inputs.relations, inputs.options
    far, near = divided(stratum)
    # Rules that join usually read little here: the driver evaluates them.
    whole = {name: None for rule in near for name, _ in rule.reads()}
    blobs = inputs.collected(whole, "facts of rules that join")
    shared = {name: None for rule in far for name, _ in rule.reads()}
    names = inputs.filled((*shared, *stratum.relations))
    mine: dict[str, list[pa.Table]] = {
        name: [options.tables[name]] for name in names if name in options.tables
    }
    for name, each in blobs.items():
        mine[name] = [unpack_arrow(relations[name], blob) for blob in each]
    used = {name: relations[name] for name in (*whole, *shared, *stratum.relations)}

    def cargo(rules: Sequence[Rule]) -> Cargo:
        partitioning = Partitioning((), tuple(rules), {}, frozenset(), {})
        return Cargo(uuid.uuid4().hex, stratum, used, partitioning, 1, limits=options.limits)

    found = [spanning(edges(cargo([*far, *near]), mine))]
    others = [name for name in names if name not in options.tables]
    if others:
        run = _forest(inputs.spark.sparkContext.broadcast(cargo(far)), others)
        frames = inputs.by_signature(others)
        tasks = [frame.coalesce(inputs.parts).mapInArrow(run, FOREST) for frame in frames]
        with inputs.described("forests"):
            rows = union(tasks).collect()
        found += [_opened(row.kind, row.blob) for row in rows]
    return pa.concat_tables(found)


def _opened(kind: str | None, blob: bytes) -> pa.Table:
    if kind is not None:
        raise TaskFault(kind, blob.decode()).error()
    return from_bytes(blob)


def divided(stratum: Stratum) -> tuple[list[Rule], list[Rule]]:
    """Rules that can be given any share of their only atom's facts, and all others; none of the
    former reads what one of the latter needs in full."""
    alone = [rule for rule in stratum.nonrecursive if _has_one_atom(rule)]
    near = [rule for rule in stratum.nonrecursive if not _has_one_atom(rule)]
    whole = {name for rule in near for name, _ in rule.reads()}
    near += [rule for rule in alone if any(name in whole for name, _ in rule.reads())]
    return [rule for rule in alone if all(rule is not other for other in near)], near


def _has_one_atom(rule: Rule) -> bool:
    return [complete for _, complete in rule.reads()] == [False]


def _forest(sent: Any, names: list[str]) -> Any:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables: dict[str, list[pa.Table]] = {}
        for batch in batches:
            for i, table in by_number(batch):
                tables.setdefault(names[i], []).append(table)
        try:
            yield _row(None, to_bytes(spanning(edges(sent.value, tables))))
        except TidelogError as error:
            fault = TaskFault.of(error)
            yield _row(fault.kind, fault.message.encode())

    return run


def _row(kind: str | None, blob: bytes) -> pa.RecordBatch:
    arrays = [pa.array([kind], type=pa.string()), pa.array([blob], type=pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)


def edges(cargo: Cargo, tables: Mapping[str, list[pa.Table]]) -> pa.Table:
    """The edges that the facts are or yield, perhaps repeatedly."""
    (name,) = cargo.stratum.relations
    relation = cargo.relations[name]
    schema = spark_columns.arrow_schema(relation)
    found = [schema.empty_table(), *(table.cast(schema) for table in tables.get(name, ()))]
    rest = []
    for rule in cargo.partitioning.rules:
        ends = _copied(rule)
        if ends is None:
            rest.append(rule)
            continue
        for table in tables.get(next(rule.literals()).relation, ()):
            found.append(pa.table([table.column(end) for end in ends], schema=schema))
    if rest:
        share = Share(cargo, 0)
        for each, facts in tables.items():
            known = cargo.relations[each]
            share.load({each: [spark_columns.from_arrow(known, table) for table in facts]})
        X = share.engine.apply(rest, within=share.engine.all)
        rows = X.rows(share.engine.numbers[name])
        found.append(spark_columns.to_arrow(relation, share.engine.table(name, rows)))
    return pa.concat_tables(found)


def _copied(rule: Rule) -> tuple[int, int] | None:
    """The columns that the rule copies, if it does nothing else."""
    if len(rule.body) != 1 or not isinstance(rule.body[0], Literal):
        return None
    terms = rule.body[0].terms
    names = [term.name for term in terms if isinstance(term, Variable)]
    plain = all(not hasattr(term, "value") for term in terms) and len(set(names)) == len(names)
    ends = [terms.index(end) for end in rule.head.terms if end in terms]
    return (ends[0], ends[1]) if plain and len(ends) == 2 else None


def spanning(table: pa.Table) -> pa.Table:
    """The edges that a forest needs. A node with an edge to itself alone is a tree."""
    nodes, pairs = numbered(table)
    parent = np.arange(len(nodes), dtype=np.int64)
    kept = np.empty(len(pairs), dtype=np.int64)
    count = graph_loops.unite(parent, pairs, kept)
    own = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    return table.take(pa.array(np.concatenate([kept[:count], own])))


def numbered(table: pa.Table) -> tuple[Any, NDArray[np.int64]]:
    """The nodes of edges, and the edges by number of node."""
    ends = [chunk for column in table.columns for chunk in column.chunks]
    coded = pa.chunked_array(ends, type=table.schema[0].type).combine_chunks().dictionary_encode()
    numbers = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return coded.dictionary, np.ascontiguousarray(numbers.reshape(2, -1).T)
