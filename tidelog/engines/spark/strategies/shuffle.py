"""Shuffle: parts that exchange facts, round by round.

Facts are at home in several parts, so that each rule instance is found in one (see `placing`).
A round is one job: every part takes in what was sent to it, goes on to its own fixpoint, and sends
what it has derived to the other parts where that is at home. Parts run ahead of each other, so
rounds are few. When nothing is sent any more, the facts that each part owns are the result.

What a part knows goes to itself with the messages: as blobs in shuffle files, which Spark reads
again in later rounds and makes again should they be lost. A worker that still has the part's engine
need not open them. `partitionBy` with one and the same function lets a union put the blobs of a
part side by side, whatever round they are of, without sending them again.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tidelog.engines.spark.strategies.choose import Strategy
from tidelog.engines.spark.strategies.faults import Fault, Told
from tidelog.engines.spark.strategies.kernel import Cargo, Share, gathered, relation_of
from tidelog.engines.spark.strategies.made import (
    BLOBS,
    Made,
    Options,
    Read,
    Round,
    check,
    collected,
    described,
    frames,
    parts_of,
    title,
)
from tidelog.engines.spark.strategies.pivot import divide
from tidelog.engines.spark.strategies.placing import place
from tidelog.engines.spark.strategies.sizes import measured
from tidelog.engines.spark.strategies.wire import chunks, pack, select
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Relation, Stratum

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MESSAGE, OWNED, COPY = 0, 1, 2  # facts for another part; facts of the part itself
LONG = 16  # rounds after which their blobs are put together
ENGINES = 4  # that a worker keeps

Piece = tuple[int, tuple[int, int, str, int, bytes]]  # part; round, kind, relation, size, blob


class _Kept(NamedTuple):
    round: int
    share: Share


_kept: dict[tuple[str, int], _Kept] = {}  # by run and part, in a worker


def materialise(
    strategy: Strategy,
    spark: SparkSession,
    stratum: Stratum,
    relations: Mapping[str, Relation],
    read: Read,
    options: Options,
) -> dict[str, Made]:
    cargo = _cargo(spark, stratum, relations, read, options)
    context = spark.sparkContext
    sent = context.broadcast(cargo)
    divided = [n for n in cargo.placing.routes if n in relations and options.sizes.get(n) != 0]
    with described(spark, f"{title(stratum)}: round 1"):
        inputs = divide(spark, divided, relations, read, cargo.placing, cargo.parts, False)
        first = inputs.rdd.mapPartitions(_messages).partitionBy(cargo.parts, _part)
    inboxes, counts = _rounds(spark, sent, first, stratum, options)
    with described(spark, f"{title(stratum)}: result"):
        pieces = context.union(inboxes).mapPartitions(_owned)
        blobs = spark.createDataFrame(pieces, BLOBS, verifySchema=False).localCheckpoint()
    sent.unpersist()
    return frames(blobs, counts, stratum.relations, relations)


def _cargo(
    spark: SparkSession,
    stratum: Stratum,
    relations: Mapping[str, Relation],
    read: Read,
    options: Options,
) -> Cargo:
    with described(spark, f"{title(stratum)}: sizes"):
        sizes = measured(stratum, relations, read, options)
    placing = place(stratum, relations, sizes.small, sizes.few)
    used = {name for rule in stratum.rules for name, _ in rule.reads()} | {*stratum.relations}
    with described(spark, f"{title(stratum)}: facts for every part"):
        whole = collected(spark, sorted(placing.broadcast & used), relations, read, options)
    return Cargo(
        uuid.uuid4().hex,
        stratum,
        {name: relations[name] for name in relations if name in used},
        placing,
        parts_of(spark, options),
        whole,
        options.limits,
    )


def _rounds(
    spark: SparkSession, sent: Any, first: Any, stratum: Stratum, options: Options
) -> tuple[list[Any], dict[str, int]]:
    """Rounds until nothing is sent; the inboxes that hold what parts know, and the facts' number."""
    from tidelog.engines.spark.strategies.tally import ByPart

    context, parts = spark.sparkContext, first.getNumPartitions()
    inboxes, known = [first], []
    counts: dict[str, int] = {}
    N, number = 1, 0
    while N:
        number += 1
        began = time.perf_counter()
        tally = context.accumulator({}, ByPart())
        with described(spark, f"{title(stratum)}: round {number}"):
            step = context.union([*known, *inboxes]) if known else inboxes[0]
            step = step.mapPartitionsWithIndex(_round(sent, tally, number - 1))
            inboxes = [step.partitionBy(parts, _part)]
            inboxes[0].count()
        told = tally.value.values()
        new = check(told, options.limits, stratum, sum(counts.values()))
        for name, count in new.items():
            counts[name] = counts.get(name, 0) + count
        N = sum(one.sent for one in told)
        if options.show is not None:
            seconds = time.perf_counter() - began
            options.show(Round(title(stratum), number, sum(new.values()), seconds))
        known += inboxes
        inboxes = []
        if len(known) >= LONG:
            known = [context.union(known)]
            known[0].localCheckpoint()
    return known, counts


def _part(part: int) -> int:
    return part


def _messages(rows: Iterable[Any]) -> Iterator[Piece]:
    for row in rows:
        if row.name is not None:
            yield row.part, (0, MESSAGE, row.name, 0, bytes(row.blob))


def _owned(pieces: Iterable[Piece]) -> Iterator[tuple[int, str, int, bytearray]]:
    for part, (_, kind, name, size, blob) in pieces:
        if kind == OWNED and not name.startswith("%part:"):
            yield part, name, size, bytearray(blob)


# Inside executors.


def _round(sent: Any, tally: Any, number: int) -> Any:
    def run(part: int, pieces: Iterable[Piece]) -> Iterator[Piece]:
        cargo: Cargo = sent.value
        told = Told()
        try:
            share = _arrive(cargo, part, number, [piece for _, piece in pieces])
            yield from _leave(cargo, share, number, told)
            _keep(cargo, part, number, share)
        except TidelogError as error:
            told.fault = Fault.of(error)
        tally.add({part: told})

    return run


def _arrive(
    cargo: Cargo, part: int, number: int, pieces: list[tuple[int, int, str, int, bytes]]
) -> Share:
    """The part's engine at its fixpoint, with what was sent to it for this round."""
    came = gathered(cargo, ((p[2], p[4]) for p in pieces if p[0] == number and p[1] == MESSAGE))
    kept = _kept.pop((cargo.run, part), None)
    if number and kept is not None and kept.round == number - 1:
        share = kept.share
    else:
        share = Share(cargo, part)
    if not number:
        share.begin(came)
        return share
    if kept is None or kept.share is not share:
        share.load(gathered(cargo, ((p[2], p[4]) for p in pieces if p[1] != MESSAGE)))
    share.go_on(came)
    return share


def _leave(cargo: Cargo, share: Share, number: int, told: Told) -> Iterator[Piece]:
    """What is new here for the part itself, and what others need of it."""
    after = number + 1
    for name, table, owned in share.fresh():
        relation = relation_of(cargo, name)
        for kind, mask in ((OWNED, owned), (COPY, ~owned)):
            for piece in chunks(select(table, mask)):
                yield share.part, (after, kind, name, piece.size, pack(relation, piece))
        if name in cargo.stratum.relations:
            told.facts[name] = int(owned.sum())
    for part, name, table in share.outward():
        told.sent += table.size
        for piece in chunks(table):
            yield part, (after, MESSAGE, name, piece.size, pack(relation_of(cargo, name), piece))


def _keep(cargo: Cargo, part: int, number: int, share: Share) -> None:
    """For the next round, should it come to this worker; engines of other runs are let go."""
    for key in [key for key in _kept if key[0] != cargo.run]:
        del _kept[key]
    while len(_kept) >= ENGINES:
        del _kept[next(iter(_kept))]
    _kept[cargo.run, part] = _Kept(number, share)
