"""A round of one part: what was sent to it comes in, and what follows for it and others goes out.

A part sends what it knows to itself, too: a worker that has not kept the part's engine since the
last round begins with that. Only what is new is sent, so that nothing is sent twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tidelog.engines.spark.strategies.faults import Fault, Told
from tidelog.engines.spark.strategies.kernel import Cargo, Share, gathered, relation_of
from tidelog.engines.spark.strategies.wire import chunks, pack, select
from tidelog.program.diagnostics import TidelogError

MESSAGE, OWNED, COPY = 0, 1, 2  # facts for another part; facts of the part itself
ENGINES = 4  # that a worker keeps


class Piece(NamedTuple):
    """Facts of one relation, sent in the round before `round`."""

    round: int
    kind: int
    name: str
    size: int
    blob: bytes


Sent = tuple[int, Piece]  # with the part that it is sent to


class Kept(NamedTuple):
    round: int
    share: Share


_kept: dict[tuple[str, int], Kept] = {}  # by run and part: engines that this worker has


def step(
    cargo: Cargo, part: int, number: int, pieces: Sequence[Piece], told: Told
) -> Iterator[Sent]:
    """What a part sends in a round, the first of which is number 0."""
    try:
        share = _arrive(cargo, part, number, pieces)
        yield from _leave(cargo, share, number, told)
        _keep(cargo, part, number, share)
    except TidelogError as error:
        told.fault = Fault.of(error)


def _arrive(cargo: Cargo, part: int, number: int, pieces: Sequence[Piece]) -> Share:
    """The part's engine at its fixpoint, with what was sent to it for this round."""
    came = gathered(
        cargo, ((p.name, p.blob) for p in pieces if p.kind == MESSAGE and p.round == number)
    )
    kept = _kept.pop((cargo.run, part), None)
    if number == 0:
        share = Share(cargo, part)
        share.begin(came)
        return share
    if kept is not None and kept.round == number - 1:
        share = kept.share
    else:
        share = Share(cargo, part)
        share.load(gathered(cargo, ((p.name, p.blob) for p in pieces if p.kind != MESSAGE)))
    share.go_on(came)
    return share


def _leave(cargo: Cargo, share: Share, number: int, told: Told) -> Iterator[Sent]:
    """What is new here for the part itself, and what others need of it."""
    after = number + 1
    for name, table, owned in share.fresh():
        relation = relation_of(cargo, name)
        for kind, mask in ((OWNED, owned), (COPY, ~owned)):
            for piece in chunks(select(table, mask)):
                yield share.part, Piece(after, kind, name, piece.size, pack(relation, piece))
        if name in cargo.stratum.relations:
            told.facts[name] = int(owned.sum())
    for part, name, table in share.outward():
        told.sent += table.size
        for piece in chunks(table):
            blob = pack(relation_of(cargo, name), piece)
            yield part, Piece(after, MESSAGE, name, piece.size, blob)


def forget() -> None:
    """Let go of what this worker has kept; rounds go on without it."""
    _kept.clear()


def _keep(cargo: Cargo, part: int, number: int, share: Share) -> None:
    """For the next round, should it come to this worker; engines of other runs are let go."""
    for key in [key for key in _kept if key[0] != cargo.run]:
        del _kept[key]
    while len(_kept) >= ENGINES:
        del _kept[next(iter(_kept))]
    _kept[cargo.run, part] = Kept(number, share)
