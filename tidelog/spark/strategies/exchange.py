"""One round of one part: take messages in, derive, and send to others what they need.

Only messages travel, and only new facts: nothing is sent twice, and what a part has derived stays
in its worker until all are done. A worker that has not followed a part catches up from the messages
of all rounds: deriving facts again takes less time than sending them along in every round in case a
worker needs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tidelog.program.diagnostics import TidelogError
from tidelog.spark.strategies.blobs import chunks, pack
from tidelog.spark.strategies.executor_errors import TaskFault, TaskReport
from tidelog.spark.strategies.partition_engine import Cargo, Share, Tables, gathered, relation_of

ENGINES = 4  # that a worker keeps


class Piece(NamedTuple):
    """Facts of one relation that a part takes in in a round; the first round is 0."""

    round: int
    name: str
    blob: bytes


Sent = tuple[int, Piece]  # with the part that it is sent to


class KeptShare(NamedTuple):
    round: int
    share: Share


_kept: dict[tuple[str, int], KeptShare] = {}  # by run and part: this worker's engines


def step(
    cargo: Cargo, part: int, number: int, pieces: Iterable[Piece], report: TaskReport
) -> Iterator[Sent]:
    """The messages of a part in a round; `pieces` are all messages sent to it so far."""
    try:
        share = _followed(cargo, part, number, pieces, new=True)
        yield from _leave(cargo, share, number, report)
        _keep(cargo, part, number, share)
    except TidelogError as error:
        report.fault = TaskFault.of(error)


def result(
    cargo: Cargo, part: int, last: int, pieces: Iterable[Piece], report: TaskReport
) -> Iterator[tuple[str, int, bytes]]:
    """The stratum's facts that a part owns after the last round, as blobs with their sizes."""
    try:
        share = _followed(cargo, part, last, pieces, new=False)
        for name, table in share.owned():
            for piece in chunks(table):
                yield name, piece.size, pack(relation_of(cargo, name), piece)
    except TidelogError as error:
        report.fault = TaskFault.of(error)
    forget()


def _followed(cargo: Cargo, part: int, number: int, pieces: Iterable[Piece], new: bool) -> Share:
    """The part's engine at its fixpoint in a round; `new` if it must report its new facts."""
    kept = _kept.pop((cargo.run, part), None)
    if kept is not None and kept.round > number - new:
        kept = None
    done = -1 if kept is None else kept.round
    mine = [piece for piece in pieces if piece.round > done]
    if kept is None:
        kept, done = KeptShare(0, Share(cargo, part)), 0
        kept.share.begin(_sent(cargo, mine, range(1)))
    for rounds in (range(done + 1, number), range(max(number, done + 1), number + 1)):
        if rounds:
            kept.share.go_on(_sent(cargo, mine, rounds))
    return kept.share


def _sent(cargo: Cargo, pieces: Sequence[Piece], rounds: range) -> Tables:
    return gathered(cargo, ((p.name, p.blob) for p in pieces if p.round in rounds))


def _leave(cargo: Cargo, share: Share, number: int, report: TaskReport) -> Iterator[Sent]:
    """The new facts that other parts need."""
    for name, owned, outward in share.news():
        if name in cargo.stratum.relations:
            report.facts[name] = owned
        for part, table in outward:
            report.sent += table.size
            for piece in chunks(table):
                yield part, Piece(number + 1, name, pack(relation_of(cargo, name), piece))


def forget() -> None:
    """Drop what this worker has kept; the rounds can continue without it."""
    _kept.clear()


def _keep(cargo: Cargo, part: int, number: int, share: Share) -> None:
    """Keep the engine, in case this worker gets the next round; drop engines of other runs."""
    for key in [key for key in _kept if key[0] != cargo.run]:
        del _kept[key]
    while len(_kept) >= ENGINES:
        del _kept[next(iter(_kept))]
    _kept[cargo.run, part] = KeptShare(number, share)
