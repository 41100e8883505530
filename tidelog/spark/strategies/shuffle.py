"""Shuffle: parts that exchange facts, round by round.

Facts have several homes, so that each rule instance is found in some part (see `partitioning`). A
round is one job: every part takes its messages in, derives its own fixpoint, and sends new facts to
their other homes. Parts run ahead of each other, so rounds are few. When nothing is sent any more,
the facts that the parts own are the result.

Messages of all rounds are kept in shuffle files, which Spark recomputes if they are lost. A part
reads all of them in every round, because its worker may be another than before (see `exchange`).
Because `partitionBy` always uses the same function, a union puts all messages to a part side by
side, whatever their round, without sending them again.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from tidelog.spark.packed_frames import union
from tidelog.spark.strategies.choose import Strategy
from tidelog.spark.strategies.exchange import Piece, Sent, result, step
from tidelog.spark.strategies.executor_errors import TaskReport
from tidelog.spark.strategies.input_sizes import measured
from tidelog.spark.strategies.partition_engine import Cargo
from tidelog.spark.strategies.partition_state import (
    BLOBS,
    Inputs,
    RelationBlobs,
    Round,
    check,
    check_time,
    frames,
    title,
)
from tidelog.spark.strategies.partitioning import place
from tidelog.spark.strategies.route import divide
from tidelog.spark.strategies.workers import by_own_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LONG = 16  # rounds after which their blobs are merged


def materialise(strategy: Strategy, inputs: Inputs) -> dict[str, RelationBlobs]:
    from tidelog.spark.strategies.accumulator import ByPart

    cargo, stratum, spark = _cargo(inputs), inputs.stratum, inputs.spark
    context = spark.sparkContext
    sent = context.broadcast(cargo)
    divided = inputs.filled(name for name in cargo.partitioning.routes if name in inputs.relations)
    with inputs.described("round 1"):
        pieces = divide(inputs, divided, cargo.partitioning, cargo.parts)
        first = pieces.rdd.mapPartitions(_messages).partitionBy(cargo.parts, _part)
    inboxes, counts, last = _rounds(inputs, sent, first)
    tally = context.accumulator({}, ByPart())

    def owned(inbox: Any, first: int) -> DataFrame:
        found = inbox.mapPartitionsWithIndex(_result(sent, tally, last, first))
        return spark.createDataFrame(found, BLOBS, verifySchema=False)

    with inputs.described("result"):
        blobs = union(by_own_workers(context.union(inboxes), owned)).localCheckpoint()
    check(tally.value, cargo.parts, inputs.options.limits, stratum)
    sent.unpersist()
    return frames(blobs, counts, stratum.relations, inputs.relations)


def _cargo(inputs: Inputs) -> Cargo:
    with inputs.described("sizes"):
        sizes = measured(inputs)
    partitioning = place(inputs.stratum, inputs.relations, sizes.small, sizes.few)
    used = inputs.used()
    return Cargo(
        uuid.uuid4().hex,
        inputs.stratum,
        used,
        partitioning,
        inputs.parts,
        inputs.collected(sorted(partitioning.broadcast & used.keys())),
        inputs.options.limits,
    )


def _rounds(inputs: Inputs, sent: Any, first: Any) -> tuple[list[Any], dict[str, int], int]:
    """Rounds until nothing is sent: all messages, the number of facts, and the last round."""
    from tidelog.spark.strategies.accumulator import ByPart

    stratum, options = inputs.stratum, inputs.options
    context, parts = inputs.spark.sparkContext, first.getNumPartitions()
    known: list[Any] = [first]  # messages to the parts
    counts: dict[str, int] = {}
    started = time.perf_counter()
    N, number = 1, 0
    while N:
        number += 1
        began = time.perf_counter()
        check_time(began - started, options.limits, stratum, number)
        tally = context.accumulator({}, ByPart())
        send = partial(_outbox, sent, tally, number - 1, parts)
        with inputs.described(f"round {number}"):
            inbox = context.union(by_own_workers(context.union(known), send))
            inbox._jrdd.count()  # by Java: to count them here, Python would read them all
        new = check(tally.value, parts, options.limits, stratum, sum(counts.values()))
        for name, count in new.items():
            counts[name] = counts.get(name, 0) + count
        N = sum(report.sent for report in tally.value.values())
        if options.show is not None:
            seconds = time.perf_counter() - began
            options.show(Round(title(stratum), number, sum(new.values()), seconds))
        known.append(inbox)
        if len(known) >= LONG:
            known = [context.union(known)]
            known[0].localCheckpoint()
    return known, counts, number - 1


def _outbox(sent: Any, tally: Any, number: int, parts: int, inbox: Any, first: int) -> Any:
    """Messages of a round, by receiving part."""
    run = _round(sent, tally, number, first)
    return inbox.mapPartitionsWithIndex(run).partitionBy(parts, _part)


def _part(part: int) -> int:
    return part


def _messages(rows: Iterable[Any]) -> Iterator[Sent]:
    for row in rows:
        if row.name:
            yield row.part, Piece(0, row.name, bytes(row.blob))


def _round(sent: Any, tally: Any, number: int, first: int) -> Any:
    def run(place: int, pieces: Iterable[Sent]) -> Iterator[Sent]:
        part, report = first + place, TaskReport()
        yield from step(sent.value, part, number, (piece for _, piece in pieces), report)
        tally.add({part: report})

    return run


def _result(sent: Any, tally: Any, last: int, first: int) -> Any:
    def run(place: int, pieces: Iterable[Sent]) -> Iterator[tuple[int, str, int, bytearray]]:
        part, report = first + place, TaskReport()
        mine = (piece for _, piece in pieces)
        for name, size, blob in result(sent.value, part, last, mine, report):
            yield part, name, size, bytearray(blob)
        tally.add({part: report})

    return run
