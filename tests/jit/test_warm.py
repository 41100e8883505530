"""`tidelog warm` compiles all that is used, and the first use of a cold kernel is announced."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tidelog as tl
from tests.warm import unexpected
from tidelog.control import terminal
from tidelog.jit.groups import AGAIN, NOTE
from tidelog.maintain import closure_seeds, materialise
from tidelog.maintain.driver.algorithms import ALGORITHMS

ROOT = Path(__file__).parents[2]
PROGRAM = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.decl same(x: number, y: number)
.decl alone(x: number)
.decl most(n: number)
.type Pair = [x: number, y: number]
.decl pair(p: Pair)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
same(x, y) :- edge(x, y), x > 20.
same(x, y) :- same(y, x).
same(x, z) :- same(x, y), same(y, z).
alone(x) :- edge(x, _), !path(x, x).
most(n) :- n = count : { path(_, _) }.
pair([x, y]) :- edge(x, y), x < 3.
"""


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_updates_use_no_other_kernels(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(materialise, "LONG", 0)
    monkeypatch.setattr(closure_seeds, "FEW", 0)
    changed = [(29, 25), (25, 4), (2_000_000_000, -2_000_000_000)]
    db = tl.Database(PROGRAM, facts={"edge": pa.table({"x": range(29), "y": range(1, 30)})})
    before = {name: set(db[name]) for name in ("path", "same", "alone", "most")}
    with db.transaction(algorithm=algorithm) as tx:
        tx.insert("edge", changed)
    with db.transaction(algorithm=algorithm) as tx:
        tx.delete("edge", changed)
    assert {name: set(db[name]) for name in before} == before
    assert db.size("pair") == 3
    assert unexpected() == []


def test_strategies_of_spark_use_no_other_kernels() -> None:
    from tidelog.spark.strategies import search, spanning_forest
    from tidelog.spark.strategies.connected_components import SortedComponents
    from tidelog.spark.strategies.graph_loops import pairs

    table = pa.table({"x": [1, 2, 5], "y": [2, 1, 6]})
    assert spanning_forest.spanning(table).num_rows == 2
    classes = SortedComponents.of(table)
    assert classes.pairs == 8
    assert pairs(classes.bounds[:4], 0, np.empty((8, 2), dtype=np.int64)) == (4, 8)
    ids = np.array([[1, 2], [2, 3]], dtype=np.uint32)
    assert [found.tolist() for found in search.searched(ids[:1], ids)] == [[[1, 2], [1, 3]]]
    assert unexpected() == []


def run(program: str, cache: Path) -> tuple[str, str]:
    """What a process with this cache of kernels prints, and what it shows on its standard error."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout, done.stderr


WARM = """
import tidelog.cli.kernel_groups
from tidelog.cli import main
from tidelog.spark.strategies.kernel_group import KERNELS  # few and small
tidelog.cli.kernel_groups.GROUPS = (KERNELS,)
main(["warm"])
"""
USE = """
import sys, types
import numpy as np
if {notebook}:
    sys.modules["IPython"] = types.SimpleNamespace(get_ipython=lambda: object())
from tidelog.spark.strategies import graph_loops, kernel_group
parent = np.arange(2)
graph_loops.unite(parent, np.array([[0, 1]]), np.empty(1, dtype=np.int64))
graph_loops.label(parent)
print(parent.tolist())
"""


@pytest.mark.slow
def test_warm_compiles_once(tmp_path: Path) -> None:
    assert run(WARM, tmp_path) == ("Spark: 4 kernels compiled\n", "")
    assert run(WARM, tmp_path) == ("Spark: 4 kernels already in the cache\n", "")
    assert run(USE.format(notebook=True), tmp_path) == ("[0, 0]\n", "")


def test_a_notebook_is_told_that_kernels_compile(tmp_path: Path) -> None:
    assert NOTE == (
        "compiling kernels on first use, for up to a minute; "
        "`tidelog warm` compiles all of them in advance"
    )
    assert run(USE.format(notebook=False), tmp_path / "a") == ("[0, 0]\n", "")
    assert run(USE.format(notebook=True), tmp_path / "b") == ("[0, 0]\n", f"{NOTE}\n")
    assert run(USE.format(notebook=True), tmp_path / "b") == ("[0, 0]\n", "")


AGAIN_AND_AGAIN = """
import sys, types
from types import SimpleNamespace
import numpy as np
if {notebook}:
    sys.modules["IPython"] = SimpleNamespace(get_ipython=lambda: object())
from numba import njit
from tidelog.spark.strategies import graph_loops, kernel_group
from tidelog.jit import groups
groups.monotonic = lambda: now
now = 0.0
njit(lambda x: x)(1)  # of the user's own: no note
parent = np.arange(2)
graph_loops.unite(parent, np.array([[0, 1]]), np.empty(1, dtype=np.int64))
print("one", file=sys.stderr)
now += {pause}
graph_loops.label(parent)
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("pause", "second"), [(0, ""), (1.1, f"{AGAIN}\n")])
def test_compilation_after_a_pause_is_announced_again(
    pause: float, second: str, tmp_path: Path
) -> None:
    program = AGAIN_AND_AGAIN.format(notebook=True, pause=pause)
    assert run(program, tmp_path) == ("", f"{NOTE}\none\n{second}")
    assert run(program, tmp_path) == ("", "one\n")


@pytest.mark.slow
def test_compilation_is_not_announced_where_nobody_waits(tmp_path: Path) -> None:
    program = AGAIN_AND_AGAIN.format(notebook=False, pause=1.1)
    assert run(program, tmp_path) == ("", "one\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_note_on_a_terminal_replaces_the_progress_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    terminal.note("a note")
    assert sys.stderr.getvalue() == "\r\x1b[Ka note\n"
