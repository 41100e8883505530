"""The recorded streams: all algorithms agree at every commit, and with naive evaluation.

The streams are of the evaluation of Backward/Forward with marking; see the NOTICE beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import pytest

from bench.data import STREAMS
from tests.algorithms import ALGORITHMS
from tests.law.adapters import oracle
from tests.law.histories import Fact, by_relation
from tidelog import Database
from tidelog.program.changes import Change, Commit, FactChange
from tidelog.text.change_notation import Changes

HERE = Path(__file__).parent.parent / "streams"
RECORDED = sorted((*HERE.glob("*/*.changes"), *STREAMS.glob("*/*.changes")))
NAIVE = 3  # commits of a stream that are evaluated naively, the last among them


def program(stream: Path) -> str:
    name = stream.parent.name
    return (STREAMS / name / f"{name}.dl").read_text(encoding="utf-8")


def updates(stream: Path) -> list[list[Change]]:
    """The stream's changes, commit by commit."""
    schema = Database(program(stream)).schema
    reader = Changes(stream.name, lambda: schema)
    reader.feed(stream.read_text(encoding="utf-8"))
    reader.end()
    found: list[list[Change]] = [[]]
    while (change := reader.next()) is not None:
        found[-1].append(change)
        if isinstance(change, Commit):
            found.append([])
    return [update for update in found if update]


def deltas(stream: Path, algorithm: str) -> Iterator[tuple[FactChange, ...]]:
    """What each commit changes. Deltas must add up to what the database holds."""
    db = Database(program(stream), algorithm=algorithm)
    state: set[Fact] = set()
    for update in _updates(stream):
        (delta,) = db.apply(update)
        for change in delta:
            fact = change.relation, change.row
            assert (fact in state) == (change.op == "-"), change
            (state.add if change.op == "+" else state.remove)(fact)
        yield tuple(delta)
    outputs = {name for name in db.relations if f".output {name}\n" in program(stream)}
    assert state == {(name, row) for name in outputs for row in db.relation(name)}


_updates = lru_cache(maxsize=16)(updates)


@lru_cache(maxsize=16)
def recomputed(stream: Path) -> Sequence[tuple[FactChange, ...]]:
    return list(deltas(stream, "recompute"))


def _id(stream: Path) -> str:
    return f"{stream.parent.name}/{stream.stem}"


@pytest.mark.sampled(11)
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "recompute"])
@pytest.mark.parametrize("stream", RECORDED, ids=_id)
def test_algorithms_agree_at_every_commit(stream: Path, algorithm: str) -> None:
    for i, delta in enumerate(deltas(stream, algorithm)):
        assert delta == recomputed(stream)[i], f"commit {i}"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stream", RECORDED, ids=_id)
def test_recomputing_equals_naive_evaluation(stream: Path) -> None:
    text, every = program(stream), _updates(stream)
    explicit: set[Fact] = set()
    state: set[Fact] = set()
    for i, (update, delta) in enumerate(zip(every, recomputed(stream), strict=True)):
        for changes, facts in ((update, explicit), (delta, state)):
            for change in changes:
                if isinstance(change, FactChange):
                    act = facts.add if change.op == "+" else facts.discard
                    act((change.relation, change.row))
        if (len(every) - 1 - i) % (len(every) // NAIVE + 1) == 0:
            answer = oracle(text, by_relation(explicit))
            outputs = {name for name in answer if f".output {name}\n" in text}
            assert state == {(name, row) for name in outputs for row in answer[name]}, i
