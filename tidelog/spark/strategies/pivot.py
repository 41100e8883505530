"""Pivot: parts of a stratum that never meet, each closed by a local engine.

Every recursive rule keeps an argument, so the consequences of a fact have the same home. Facts are
divided by that argument once, lower relations without it are broadcast, and one job does the rest.
Facts stay in the part where they were derived; `slices` handles updates.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Rule, Stratum
from tidelog.program.table import Table
from tidelog.spark.strategies.blobs import chunks
from tidelog.spark.strategies.choose import Strategy, apart, whole
from tidelog.spark.strategies.executor_errors import TaskFault, TaskReport
from tidelog.spark.strategies.partition_engine import Cargo, Share, Tables, gathered
from tidelog.spark.strategies.partition_state import (
    BLOBS,
    Inputs,
    RelationBlobs,
    blob_row,
    check,
    frames,
)
from tidelog.spark.strategies.partitioning import Partitioning, Route
from tidelog.spark.strategies.route import arrivals, at_home, divide
from tidelog.spark.strategies.search import reached


def materialise(strategy: Strategy, inputs: Inputs) -> dict[str, RelationBlobs]:
    from tidelog.spark.strategies.accumulator import ByPart

    cargo, stratum = _cargo(strategy, inputs), inputs.stratum
    context = inputs.spark.sparkContext
    tally = context.accumulator({}, ByPart())
    sent = context.broadcast(cargo)
    divided = [name for name in inputs.filled(cargo.partitioning.routes) if name not in cargo.whole]
    with inputs.described("fixpoint by pivot"):
        pieces = at_home(divide(inputs, divided, cargo.partitioning, cargo.parts), cargo.parts)
        blobs = pieces.mapInArrow(_fixpoint(sent, tally), BLOBS).localCheckpoint()
    counts = check(tally.value, cargo.parts, inputs.options.limits, stratum)
    sent.destroy()
    return frames(blobs, counts, stratum.relations, inputs.relations)


def _cargo(strategy: Strategy, inputs: Inputs) -> Cargo:
    stratum = inputs.stratum
    names = whole(stratum, strategy)
    if strategy.closure is not None and strategy.closure.kind == "transitive":
        names += stratum.relations  # every part continues with the same facts
    return Cargo(
        uuid.uuid4().hex,
        stratum,
        inputs.used(),
        placed(strategy, stratum, frozenset(names)),
        inputs.parts,
        inputs.collected(names),
        inputs.options.limits,
        strategy.closure,
    )


def placed(strategy: Strategy, stratum: Stratum, broadcast: frozenset[str]) -> Partitioning:
    """Facts by their pivot."""
    routes: dict[str, tuple[Route, ...]]
    routes = {name: (Route(column),) for name, column in strategy.pivots.items()}
    routes |= {name: (Route(column),) for name, column in apart(stratum, strategy).items()}
    near: list[Rule] = []
    far: list[Rule] = []
    for rule in stratum.rules:
        atoms = [a.relation for a in rule.literals() if not a.negated]
        (near if broadcast.issuperset(atoms) else far).append(rule)
    return Partitioning(tuple(near), tuple(far), {}, broadcast, routes)


# The job.


def _fixpoint(sent: Any, tally: Any) -> Any:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cargo: Cargo = sent.value
        for part, pieces in arrivals(batches).items():
            report = TaskReport()
            try:
                for name, table in derived(cargo, part, gathered(cargo, pieces)):
                    report.facts[name] = report.facts.get(name, 0) + table.size
                    for piece in chunks(table):
                        yield blob_row(part, cargo.relations[name], piece)
            except TidelogError as error:
                report.fault = TaskFault.of(error)
            tally.add({part: report})

    return run


def derived(cargo: Cargo, part: int, arrived: Tables) -> Iterator[tuple[str, Table]]:
    """All facts of the stratum at home in a part, by relation, in pieces."""
    share = Share(cargo, part)
    if cargo.closure is not None:
        for table in reached(share, cargo.closure, arrived):
            yield cargo.closure.relation, table
        return
    share.begin(arrived)
    for name in cargo.stratum.relations:
        yield name, share.engine.table(name)
