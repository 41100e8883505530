"""Work in a process of its own, with a session of its own: its results and its memory.

    python -m bench.spark.apart JSON

The argument has Spark's master, its options, and a list of closures to make; each is answered by
a line of JSON with the row's figures.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench import data
from bench.measure import ROOT, resident_bytes
from bench.spark.closure import EACH
from bench.spark.figures import Row, Rows, Sample
from bench.spark.measure import on_spark, sum_of, timed
from bench.workloads import text
from tidelog.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK = 0.1  # seconds between two samples of the memory
LIMIT = 3600.0  # seconds for all closures of a process


def ask(
    master: str, options: dict[str, str], closures: list[dict[str, Any]]
) -> tuple[Rows, dict[str, int], str]:
    """Rows of the closures, peak resident bytes by kind of process, and an error, if any."""
    order = json.dumps({"master": master, "options": options, "closures": closures})
    peaks: dict[str, int] = {}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        command = [sys.executable, "-m", "bench.spark.apart", order]
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=errors, text=True)
        began = time.monotonic()
        while process.poll() is None:
            look(process.pid, peaks)
            if time.monotonic() - began > LIMIT:
                process.kill()
            time.sleep(LOOK)
        for file in (out, errors):
            file.seek(0)
        rows = [Row.of(json.loads(line)) for line in out if line.startswith("{")]
        said = errors.read().strip().splitlines()
    wrong = "" if process.returncode == 0 else (said or [f"exit code {process.returncode}"])[-1]
    return rows, peaks, wrong[:300]


def look(root: int, peaks: dict[str, int]) -> None:
    """Java, the driver's Python, and all of Spark's Python workers together."""
    now = {"java": 0, "python": resident_bytes(root), "workers": 0}
    for process in below(root):
        kind = "java" if named(process) == "java" else "workers"
        now[kind] += resident_bytes(process)
    for kind, size in now.items():
        peaks[kind] = max(size, peaks.get(kind, 0))


def below(root: int) -> list[int]:
    """The descendants of a process."""
    found, waiting = [], [root]
    while waiting:
        try:
            path = Path(f"/proc/{waiting[0]}/task").glob("*/children")
            children = [int(word) for file in path for word in file.read_text().split()]
        except (OSError, ValueError):  # it has ended meanwhile
            children = []
        waiting = [*waiting[1:], *children]
        found += children
    return found


def named(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


# In the process itself.


def graph(nodes: int, copies: int = 1) -> data.Rows:
    """A random digraph, or copies of one that share no nodes."""
    edges = data.random_digraph(nodes, EACH / nodes, seed=1)
    shifts = nodes * np.arange(copies, dtype=np.int64)
    return (edges[None, :, :] + shifts[:, None, None]).reshape(-1, 2)


def closure(spark: SparkSession, system: str, nodes: int, copies: int, summed: bool) -> Row:
    """All facts of a closure; `summed` if they are read again, too."""
    edges = graph(nodes, copies)
    case = f"{nodes:,} nodes" if copies == 1 else f"{copies:,} × {nodes:,} nodes"
    row = Row(case, "closure", system, len(edges))
    program, facts = text("closure_linear"), {"edge": edges}
    database, sample = timed(
        spark, lambda: on_spark(spark, program, facts, strategy=system, driver_facts=0)
    )
    row.samples.append(Sample(**asdict(sample)))
    row.facts = database.size("path") + len(edges)
    row.sums = {"path": [database.size("path")]}
    if summed:
        row.sums = {"path": list(sum_of(database, "path"))}
    return row


def main() -> None:
    order = json.loads(sys.argv[1])
    spark = session(order["master"], "tidelog bench", order["options"])
    for system in dict.fromkeys(asked["system"] for asked in order["closures"]):
        closure(spark, system, 40, 1, False)  # kernels are loaded, and Java has compiled the code
    for asked in order["closures"]:
        print(json.dumps(asdict(closure(spark, **asked))), flush=True)


if __name__ == "__main__":
    main()
