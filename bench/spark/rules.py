"""RDFS and Claros' 1,337 rules over millions of facts: materialise, then delete one per cent and
insert it again, with nothing placed in the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from bench import data
from bench.data import Facts
from bench.plain import parse_plain
from bench.spark.deletion import made
from bench.spark.figures import Row, Rows, Say
from bench.spark.measure import keep, on_spark, repeated
from bench.updates.changes import Change, share
from bench.workloads import recorded, text
from tidelog import Database

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MATERIALISE, DELETE, INSERT = "materialise", "delete 1 %", "insert it again"
SPARK, ANEW, LOCAL = "Spark", "Spark, recompute", "one process"
OPTIONS: dict[str, dict[str, str]] = {SPARK: {}, ANEW: {"algorithm": "recompute"}, LOCAL: {}}
RDFS, CLAROS = "RDFS", "Claros"
SIZES = {False: (1_000_000, 2_000_000, 5_000_000), True: (4_000, 12_000)}
LIMIT = {False: 900.0, True: 300.0}
DEPARTMENTS = {False: 15, True: 1}  # of a university


def university(size: int, departments: int) -> Facts:
    """Copies of a university side by side, with one ontology. The words of the ontology, and of
    other universities, are the same in all copies."""
    graph = data.lubm_like(departments, seed=5)
    rows = graph.rows()
    own = np.array(["University0/" in word for word in graph.numbers])
    copies = max(1, round(size / len(rows)))
    shifts = len(graph.numbers) * np.arange(copies, dtype=np.int64)
    moved = rows[None, :, :] + own[rows][None, :, :] * shifts[:, None, None]
    return {"triple": data.distinct_sorted(moved.reshape(-1, 3))}


def collections(size: int) -> Facts:
    """Facts for all relations of Claros, in copies side by side that share no constants."""
    rng = np.random.default_rng(15)
    arities = parse_plain(recorded("claros")).arities
    each, constants = 20, 5_000
    worlds = max(1, round(size / (each * len(arities))))
    shift = constants * np.repeat(np.arange(worlds, dtype=np.int64), each)[:, None]
    return {
        name: data.distinct_sorted(rng.integers(constants, size=(worlds * each, arity)) + shift)
        for name, arity in arities.items()
    }


def cases(quick: bool) -> dict[str, tuple[str, Callable[[int], Facts]]]:
    departments = DEPARTMENTS[quick]
    return {
        RDFS: (text("rdfs_triples"), lambda size: university(size, departments)),
        CLAROS: (recorded("claros"), collections),
    }


def measured(spark: SparkSession, quick: bool, say: Say) -> Rows:
    rows: Rows = []
    for name, (program, facts) in cases(quick).items():
        played(spark, name, program, facts(SIZES[True][0]), LIMIT[quick], SPARK)
        for size in SIZES[quick]:
            given = facts(size)
            for system in OPTIONS:
                if name == CLAROS and system == ANEW:
                    continue  # Spark takes long to plan a thousand joins, stratum by stratum
                case = f"{name}, {size:,}"
                found = played(spark, case, program, given, LIMIT[quick], system)
                for row in found:
                    say(row)
                rows += found
    return rows


def played(
    spark: SparkSession,
    case: str,
    program: str,
    facts: Facts,
    limit: float,
    system: str,
) -> Rows:
    given = sum(map(len, facts.values()))
    rows = [Row(case, step, system, given) for step in (MATERIALISE, DELETE, INSERT)]
    session = None if system == LOCAL else spark

    def opened() -> Database:
        if session is None:
            return Database(program, facts=facts)
        return on_spark(session, program, facts, driver_facts=0, **OPTIONS[system])

    database = repeated(rows[0], session, opened, 1, limit)
    if database is None:
        return rows[:1]
    keep(rows[0], database)
    change: Change = share(facts, 0.01, seed=12)
    done = 1
    for row, now in zip(rows[1:], (change, change.back()), strict=True):
        done += 1
        tx = repeated(row, session, made(database, now), 1, limit)
        if tx is None:
            break
        row.detail = ", ".join(dict.fromkeys(w.place for w in tx.report.works if w.place))
        row.more["changed"] = float(sum(map(sum, tx.delta.counts.values())))
        keep(row, database)
    return rows[:done]
