"""Parts that exchange facts within this process: what Spark would carry between them."""

from __future__ import annotations

import random
import uuid
from typing import Any

from tidelog.program.rules import CheckedProgram, Stratum
from tidelog.program.table import Table
from tidelog.spark.strategies import exchange
from tidelog.spark.strategies.blobs import pack, select, unpack
from tidelog.spark.strategies.choose import Strategy, whole
from tidelog.spark.strategies.exchange import Piece
from tidelog.spark.strategies.executor_errors import TaskReport
from tidelog.spark.strategies.partition_engine import Cargo
from tidelog.spark.strategies.partitioning import Few, Partitioning, place, targets
from tidelog.spark.strategies.pivot import derived, placed

Known = dict[str, set[tuple[Any, ...]]]


def table(program: CheckedProgram, known: Known, name: str) -> Table:
    return Table.from_rows(program.relations[name].kinds, sorted(known[name], key=repr))


def cargo(
    program: CheckedProgram, stratum: Stratum, known: Known, partitioning: Partitioning, parts: int
) -> Cargo:
    used = {name for rule in stratum.rules for name, _ in rule.reads()} | {*stratum.relations}
    broadcast = {
        name: [pack(program.relations[name], table(program, known, name))]
        for name in partitioning.broadcast & used
    }
    relations = {name: program.relations[name] for name in used}
    return Cargo(uuid.uuid4().hex, stratum, relations, partitioning, parts, broadcast)


def at_home(
    program: CheckedProgram, known: Known, partitioning: Partitioning, parts: int
) -> list[dict[str, Table]]:
    """The facts that each part begins with."""
    found: list[dict[str, Table]] = [{} for _ in range(parts)]
    for name, routes in partitioning.routes.items():
        if name in program.relations and name not in partitioning.broadcast:
            facts = table(program, known, name)
            rows, to = targets(routes, facts, parts)
            for part in range(parts):
                found[part][name] = select(facts, rows[to == part])
    return found


def by_exchange(
    program: CheckedProgram,
    stratum: Stratum,
    known: Known,
    parts: int,
    small: frozenset[str] = frozenset(),
    few: Few = lambda atom: False,
    chance: random.Random | None = None,
) -> Known:
    """The stratum's facts by rounds; by `chance`, parts come to other workers than before."""
    partitioning = place(stratum, program.relations, small, few)
    sent = cargo(program, stratum, known, partitioning, parts)
    boxes: list[list[Piece]] = [
        [Piece(0, name, pack(program.relations[name], facts)) for name, facts in mine.items()]
        for mine in at_home(program, known, partitioning, parts)
    ]
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in stratum.relations}
    workers: list[dict[Any, Any]] = [{}, {}]
    N, number = 1, 0
    while N:
        told = [TaskReport() for _ in range(parts)]
        out: list[list[Piece]] = [[] for _ in range(parts)]
        for part in range(parts):
            _some_worker(workers, chance)
            for to, piece in exchange.step(sent, part, number, boxes[part], told[part]):
                out[to].append(piece)
            _refuse(told[part])
        boxes = [old + new for old, new in zip(boxes, out, strict=True)]
        number += 1
        N = sum(one.sent for one in told)
    for part in range(parts):
        _some_worker(workers, chance)
        told_last = TaskReport()
        for name, size, blob in exchange.result(sent, part, number - 1, boxes[part], told_last):
            found = unpack(program.relations[name], blob).rows()
            assert len(found) == size
            rows[name] += found
        _refuse(told_last)
    return _distinct(rows)


def _some_worker(workers: list[dict[Any, Any]], chance: random.Random | None) -> None:
    """The part comes to a worker that has followed it so far, or some rounds, or not at all."""
    if chance is None:
        return
    exchange._kept = chance.choice(workers)
    if chance.random() < 0.2:
        exchange.forget()


def _refuse(told: TaskReport) -> None:
    if told.fault is not None:
        raise told.fault.error()


def by_pivot(
    program: CheckedProgram, stratum: Stratum, strategy: Strategy, known: Known, parts: int
) -> Known:
    names = whole(stratum, strategy)
    if strategy.closure is not None and strategy.closure.kind == "transitive":
        names += stratum.relations
    partitioning = placed(strategy, stratum, frozenset(names))
    sent = cargo(program, stratum, known, partitioning, parts)
    object.__setattr__(sent, "closure", strategy.closure)
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in stratum.relations}
    for part, mine in enumerate(at_home(program, known, partitioning, parts)):
        for name, facts in derived(sent, part, {name: [one] for name, one in mine.items()}):
            rows[name] += facts.rows()
    return _distinct(rows)


def _distinct(rows: dict[str, list[tuple[Any, ...]]]) -> Known:
    for name, each in rows.items():
        assert len(set(map(repr, each))) == len(each), f"{name} has facts twice"
    return {name: set(each) for name, each in rows.items()}
