"""Parts that exchange facts within this process: what Spark would carry between them."""

from __future__ import annotations

import random
import uuid
from typing import Any

from tidelog.engines.spark.strategies import exchange
from tidelog.engines.spark.strategies.choose import Strategy, whole
from tidelog.engines.spark.strategies.exchange import MESSAGE, OWNED, Piece
from tidelog.engines.spark.strategies.faults import Told
from tidelog.engines.spark.strategies.kernel import Cargo
from tidelog.engines.spark.strategies.pivot import derived, placed
from tidelog.engines.spark.strategies.placing import Few, Placing, place, targets
from tidelog.engines.spark.strategies.wire import pack, select, unpack
from tidelog.program.rules import CheckedProgram, Stratum
from tidelog.program.table import Table

Known = dict[str, set[tuple[Any, ...]]]


def table(program: CheckedProgram, known: Known, name: str) -> Table:
    return Table.from_rows(program.relations[name].kinds, sorted(known[name], key=repr))


def cargo(
    program: CheckedProgram, stratum: Stratum, known: Known, placing: Placing, parts: int
) -> Cargo:
    used = {name for rule in stratum.rules for name, _ in rule.reads()} | {*stratum.relations}
    broadcast = {
        name: [pack(program.relations[name], table(program, known, name))]
        for name in placing.broadcast & used
    }
    relations = {name: program.relations[name] for name in used}
    return Cargo(uuid.uuid4().hex, stratum, relations, placing, parts, broadcast)


def at_home(
    program: CheckedProgram, known: Known, placing: Placing, parts: int
) -> list[dict[str, Table]]:
    """The facts that each part begins with."""
    found: list[dict[str, Table]] = [{} for _ in range(parts)]
    for name, routes in placing.routes.items():
        if name in program.relations and name not in placing.broadcast:
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
    forgetful: random.Random | None = None,
) -> Known:
    """The stratum's facts by rounds; engines are forgotten between rounds now and then."""
    placing = place(stratum, program.relations, small, few)
    sent = cargo(program, stratum, known, placing, parts)
    boxes: list[list[Piece]] = [
        [
            Piece(0, MESSAGE, name, facts.size, pack(program.relations[name], facts))
            for name, facts in mine.items()
        ]
        for mine in at_home(program, known, placing, parts)
    ]
    N, number = 1, 0
    while N:
        out: list[list[Piece]] = [[] for _ in range(parts)]
        told = [Told() for _ in range(parts)]
        for part in range(parts):
            if forgetful is not None and forgetful.random() < 0.5:
                exchange._kept.clear()
            for to, piece in exchange.step(sent, part, number, boxes[part], told[part]):
                out[to].append(piece)
            fault = told[part].fault
            if fault is not None:
                raise fault.error()
        boxes = out if number == 0 else [old + new for old, new in zip(boxes, out, strict=True)]
        number += 1
        N = sum(one.sent for one in told)
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in stratum.relations}
    for box in boxes:
        for piece in box:
            if piece.kind == OWNED and piece.name in rows:
                rows[piece.name] += unpack(program.relations[piece.name], piece.blob).rows()
    return _distinct(rows)


def by_pivot(
    program: CheckedProgram, stratum: Stratum, strategy: Strategy, known: Known, parts: int
) -> Known:
    names = whole(stratum, strategy)
    if strategy.closure is not None and strategy.closure.kind == "transitive":
        names += stratum.relations
    placing = placed(strategy, stratum, frozenset(names))
    sent = cargo(program, stratum, known, placing, parts)
    object.__setattr__(sent, "closure", strategy.closure)
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in stratum.relations}
    for part, mine in enumerate(at_home(program, known, placing, parts)):
        for name, facts in derived(sent, part, {name: [one] for name, one in mine.items()}):
            rows[name] += facts.rows()
    return _distinct(rows)


def _distinct(rows: dict[str, list[tuple[Any, ...]]]) -> Known:
    for name, each in rows.items():
        assert len(set(map(repr, each))) == len(each), f"{name} has facts twice"
    return {name: set(each) for name, each in rows.items()}
