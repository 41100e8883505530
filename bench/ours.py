"""Tidelog as a measured system: the only file here that knows its interface."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bench.data import Rows
from bench.measure import ROOT, resident_bytes
from bench.workloads import Workload

WARM = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
TEN_FACTS = WARM + ".output path\n" + "".join(f"edge({n}, {n + 1}).\n" for n in range(10))
ONE_INDEX = """
.decl probe(x: number)
.decl edge(x: number, y: number)
.decl hit(x: number, y: number)
hit(x, y) :- probe(x), edge(x, y).
"""


class Ours:
    """Tidelog: closures are evaluated like other rules, or by modules of their own."""

    how = "one core"
    loading_within = 0.0
    instances = 0

    def __init__(self, modules: bool = False) -> None:
        self.modules = modules

    def prepare(self, workload: Workload, folder: Path) -> None:
        self.tidelog: Any = import_module("tidelog")
        # Kernels are loaded from the cache on first use: that is start-up, measured separately.
        edges = np.random.default_rng(0).integers(0, 200, (2000, 2), dtype=np.int64)
        self.tidelog.Database(WARM, facts={"edge": edges}, modules=self.modules)
        self.program = workload.program
        self.facts = workload.facts

    def load(self) -> None:
        """Loading happens inside `evaluate`; the database reports how long it took."""

    def evaluate(self) -> None:
        self.database = self.tidelog.Database(self.program, facts=self.facts, modules=self.modules)
        self.loading_within = self.database.stats.load_seconds
        self.instances = int(self.database.stats.instances)

    def rows(self, relation: str, arity: int) -> Rows:
        columns = self.database.table(relation).columns
        return np.column_stack([np.asarray(column, dtype=np.int64) for column in columns])


def startup_seconds(runs: int = 5) -> float:
    """The shortest `tidelog run` on a program of ten facts, with kernels in the cache.

    As everywhere here, the lesser of wall and CPU time counts.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "ten.dl"
        program.write_text(TEN_FACTS, encoding="utf-8")
        command = [sys.executable, "-m", "tidelog", "run", str(program), "-D", folder]
        seconds = []
        for _ in range(runs + 1):
            started, used = time.perf_counter(), children_cpu()
            subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
            seconds.append(min(time.perf_counter() - started, children_cpu() - used))
    return min(seconds[1:])  # the first run may have filled the cache


def children_cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


def bytes_per_fact(facts: int) -> float:
    """Memory that random binary facts with one index take, measured in a process of its own.

    The facts come from a file: generating them in the process would leave memory behind for reuse.
    """
    rng = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edge.npy"
        np.save(path, distinct_pairs(rng.integers(facts // 5, size=(facts, 2))))
        command = [sys.executable, "-m", "bench.ours", str(path)]
        answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return float(json.loads(answer.stdout.splitlines()[-1]))


def weigh(path: Path) -> float:
    """Growth of this process's resident memory per fact while a database loads the facts."""
    tidelog: Any = import_module("tidelog")
    tidelog.Database(ONE_INDEX, facts={"edge": [(1, 2)], "probe": [(1,)]})
    edges = np.load(path)
    gc.collect()
    before = resident_bytes(os.getpid())
    database = tidelog.Database(ONE_INDEX, facts={"edge": edges, "probe": [(n,) for n in range(9)]})
    gc.collect()
    after = resident_bytes(os.getpid())
    assert database.size("edge") == len(edges)
    assert database.size("hit") == np.count_nonzero(edges[:, 0] < 9)
    return (after - before) / len(edges)


def distinct_pairs(rows: Rows) -> Rows:
    """Like `distinct`, with less time and memory: a pair of small numbers fits into one word."""
    words = np.unique(rows[:, 0] << 32 | rows[:, 1])
    return np.column_stack([words >> 32, words & 0xFFFFFFFF])


if __name__ == "__main__":
    print(json.dumps(weigh(Path(sys.argv[1]))))
