"""Micro-batches of ten changes through a pipeline: how long until each is committed."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from bench.checksum import checksum
from bench.data import Rows as Edges
from bench.flows.updates import chains
from bench.spark.figures import Row, Rows, Sample, Say
from bench.spark.measure import tidy
from bench.workloads import text
from tidelog import Database
from tidelog.pipeline import Map, Pipeline, Sink, Source
from tidelog.pipeline.run import Done
from tidelog.spark.jobs import Jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMMIT, WHOLE = "commit", "from one version to the next"
LOCAL, SPARK = "engine local", "engine spark"
CHANGES = 10
FACTS = {False: 1_000_000, True: 10_000}
BATCHES = {False: 30, True: 6}
BEFORE = 5  # batches until the state is steady
SINKS = (
    Sink(name="paths", relation="path", path="out/paths"),
    Sink(name="news", relation="path", kind="changes", format="changes", path="out/news"),
)


def measured(spark: SparkSession, quick: bool, say: Say) -> Rows:
    rows: Rows = []
    for system, engine in ((LOCAL, "local"), (SPARK, "spark")):
        with tempfile.TemporaryDirectory() as folder:
            found = run(spark, Path(folder), engine, system, FACTS[quick], BATCHES[quick])
        rows += found
        for row in found:
            say(row)
    return rows


def run(
    spark: SparkSession, folder: Path, engine: str, system: str, facts: int, count: int
) -> Rows:
    """All files are there; Spark takes them one by one."""
    edges = chains(facts)
    left = arrange(folder, edges, count)
    began: list[float] = []
    versions: list[Done] = []

    def show(done: Done) -> None:
        began.append(time.perf_counter())
        versions.append(done)

    tidy(spark)
    with Jobs(spark) as ran:
        pipeline(folder, engine).run(spark, show=show)
    rows = [Row(f"{facts:,} facts", step, system, len(edges)) for step in (COMMIT, WHOLE)]
    steady = range(min(BEFORE, count - 1) + 1, len(versions))  # the first version is the table's
    rows[0].samples = [Sample(versions[i].seconds) for i in steady]
    rows[1].samples = [Sample(began[i] - began[i - 1]) for i in steady]
    for row in rows:
        row.more = {"batches": float(count), "jobs a batch": ran.jobs / len(versions)}
        row.sums, row.facts = {"path": list(written(folder))}, facts
    wanted = Database(text("closure_linear"), facts={"edge": left}).table("path").columns
    if list(checksum(np.column_stack(wanted))) != rows[0].sums["path"]:
        for row in rows:
            row.status, row.detail = "failed", "the table differs from a batch run"
    return rows


def pipeline(folder: Path, engine: str) -> Pipeline:
    source = Source(
        name="edges",
        format="csv",
        path="changes",
        mode="signed",
        schema="op string, x long, y long",
        options={"maxFilesPerTrigger": "1"},
        maps=(Map("edge", ("x", "y")),),
    )
    first = Source(
        name="first",
        format="parquet",
        path="first.parquet",
        stream=False,
        maps=(Map("edge", ("x", "y")),),
    )
    return Pipeline("reach.dl", "state", (first, source), SINKS, engine=engine, folder=folder)


def arrange(folder: Path, edges: Edges, count: int) -> Edges:
    """The program, the table, and files of changes; returns the edges that remain."""
    program = text("closure_linear").replace(".input edge", "").replace(".output path", "")
    (folder / "reach.dl").write_text(program, encoding="utf-8")
    table = pa.table({"x": edges[:, 0], "y": edges[:, 1]})
    parquet.write_table(table, folder / "first.parquet")
    (folder / "changes").mkdir()
    gone: set[int] = set()
    for number, lines in enumerate(batches(edges, count, gone)):
        path = folder / "changes" / f"{number:04d}.csv"
        path.write_text("".join(lines), encoding="utf-8")
        os.utime(path, (1_700_000_000 + number,) * 2)
    return np.delete(edges, sorted(gone), axis=0)


def batches(edges: Edges, count: int, gone: set[int]) -> Iterator[list[str]]:
    """Delete five edges, and insert five of those deleted earlier, once there are some."""
    rng = np.random.default_rng(31)
    for _ in range(count):
        back = rng.choice(sorted(gone), CHANGES // 2, replace=False).tolist() if gone else []
        gone.difference_update(back)
        here = np.setdiff1d(rng.choice(len(edges), 4 * CHANGES, replace=False), sorted(gone) + back)
        some = rng.permutation(here)[: CHANGES - len(back)].tolist()
        gone.update(some)
        signed = [("-", i) for i in some] + [("+", i) for i in back]
        yield [f"{sign},{edges[i, 0]},{edges[i, 1]}\n" for sign, i in signed]


def written(folder: Path) -> tuple[int, int, int]:
    found = parquet.read_table(folder / "out" / "paths" / "current")
    return checksum(np.column_stack([column.to_numpy() for column in found.columns]))
