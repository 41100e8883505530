"""Kill a real process at every crash point: no change is lost or applied twice.

The killed process writes all files of the state and the sinks itself. The processes share one Java
gateway, which takes seconds to start; `test_example` starts its own.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.java_gateway import launch_gateway

from tests.pipeline.conftest import REACH, Row, closure, replayed, table
from tidelog.pipeline import crash_points
from tidelog.spark.java import find, home

ROOT = Path(__file__).parent.parent.parent
PIPELINE = """\
program = "reach.dl"
state = "state"
keep = 2
master = "local[1]"

[spark]  # fastest start
"spark.sql.codegen.wholeStage" = false
"spark.sql.codegen.factoryMode" = "NO_CODEGEN"

[source.edges]
format = "csv"
path = "changes"
schema = "kind string, seq long, x long, y long"
mode = "cdc"
op = "kind"
order = "seq"
relation = "edge"

[sink.paths]
relation = "path"
path = "out/paths"

[sink.news]
kind = "changes"
relation = "path"
format = "changes"
path = "out/news"
"""
# Where each run is killed. The state's files precede those of the sinks: `in-write:3` hits a sink.
POINTS = (
    "before-commit",  # of the first version
    "after-read",
    "in-write:3",
    "before-rename:4",
    "after-commit",
    "in-publish",
    "in-snapshot",
    "in-cleanup",
)


class Changes:
    """Change data capture of edges in many small clusters, file by file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rng = random.Random(7)
        self._seq = 0
        self.now: set[Row] = set()
        folder.mkdir()

    def arrive(self) -> None:
        """Add a file with some hundred changes in random order."""
        lines = []
        for _ in range(500):
            self._seq += 1
            block = 5 * self._rng.randrange(60)
            edge = (block + self._rng.randrange(5), block + self._rng.randrange(5))
            if self.now and self._rng.random() < 0.4:
                old = self._rng.choice(sorted(self.now))
                lines += [f"update_preimage,{self._seq},{old[0]},{old[1]}"]
                lines += [f"update_postimage,{self._seq},{edge[0]},{edge[1]}"]
                self.now = (self.now - {old}) | {edge}
            else:
                lines += [f"insert,{self._seq},{edge[0]},{edge[1]}"]
                self.now |= {edge}
        self._rng.shuffle(lines)
        hidden = self._folder / f".{self._seq:06d}"
        hidden.write_text("".join(f"{line}\n" for line in lines))
        hidden.rename(self._folder / f"{self._seq:06d}.csv")


class Java:
    """A Java gateway that several processes use, one after the other."""

    def __init__(self) -> None:
        self._gateway: Any = launch_gateway(popen_kwargs={"stderr": subprocess.DEVNULL})
        parameters = self._gateway.java_parameters
        self._found = {
            "PYSPARK_GATEWAY_PORT": str(parameters.port),
            "PYSPARK_GATEWAY_SECRET": parameters.auth_token,
        }

    def run(self, folder: Path, crash_at: str | None) -> subprocess.CompletedProcess[str]:
        around = {**os.environ, "PYTHONPATH": str(ROOT), **self._found}
        if crash_at is not None:
            around["TIDELOG_CRASH_AT"] = crash_at
        done = subprocess.run(
            [sys.executable, "-m", "tidelog", "pipeline", "run", str(folder / "pipeline.toml")],
            env=around,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        # A killed process does not stop its session.
        self._gateway.jvm.org.apache.spark.SparkContext.getOrCreate().stop()
        return done

    def end(self) -> None:
        self._gateway.shutdown()
        self._gateway.proc.stdin.close()
        self._gateway.proc.wait()


@pytest.fixture
def java(monkeypatch: pytest.MonkeyPatch) -> Iterator[Java]:
    monkeypatch.setenv("JAVA_HOME", str(home(find())))
    started = Java()
    yield started
    started.end()


@pytest.mark.slow
def test_killed_at_every_point(tmp_path: Path, java: Java) -> None:
    (tmp_path / "reach.dl").write_text(REACH)
    (tmp_path / "pipeline.toml").write_text(PIPELINE)
    assert {point.partition(":")[0] for point in POINTS} == set(crash_points.POINTS)
    changes = Changes(tmp_path / "changes")
    seen = [closure(())]
    for point in POINTS:
        changes.arrive()
        assert java.run(tmp_path, point).returncode == -signal.SIGKILL, point
        seen.append(closure(changes.now))
        if (tmp_path / "out" / "paths" / "current").exists():
            # After a crash readers find a complete version.
            assert table(tmp_path / "out" / "paths") in seen, point
    done = java.run(tmp_path, None)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert table(tmp_path / "out" / "paths") == closure(changes.now)
    assert replayed(tmp_path / "out" / "news") == closure(changes.now)
    assert not list(tmp_path.glob("state/*/.*.tmp"))
    assert not list(tmp_path.glob("out/**/.*.tmp"))
    assert len(list(tmp_path.glob("out/paths/versions/*"))) == 2
