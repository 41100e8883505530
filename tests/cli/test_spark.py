"""Command lines with --engine spark. They take the session that is there; one starts its own."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from tests.cli.conftest import COMMAND, Cli, names
from tests.spark import conftest as shared
from tidelog.cli import arguments
from tidelog.spark.placement import STRATEGIES

spark = shared.spark
PATHS = "1\t2\n1\t3\n2\t3\n"


def test_run(spark: SparkSession, cli: Cli, folder: Path) -> None:
    assert cli("run", "reach.dl", "--engine", "spark", "--check") == (
        0,
        "",
        "checked: 5 facts, the same by naive evaluation\n",
    )
    assert (folder / "path.csv").read_text() == PATHS
    parquet.write_table(pa.table({"y": [2, 3], "x": [1, 2]}), folder / "edge.parquet")
    text = (folder / "reach.dl").read_text().replace(".input edge", ".input edge(IO=parquet)")
    (folder / "table.dl").write_text(text.replace(".output path", ".output path(IO=json)"))
    assert cli("run", "table.dl", "--engine", "spark", "-D", "out") == (0, "", "")
    assert names(folder / "out") == {"path.jsonl"}
    assert (folder / "out" / "path.jsonl").read_text().startswith('{"x": 1, "y": 2}\n')
    printed = cli("run", "table.dl", "--engine", "spark", "-D", "-").out
    assert printed == f"---------------\npath\nx\ty\n===============\n{PATHS}===============\n"
    done = cli("run", "table.dl")
    assert done.code == 2
    assert "error: unknown format `IO=parquet`" in done.err
    assert "need --engine spark" in done.err


def test_apply(spark: SparkSession, cli: Cli, folder: Path) -> None:
    (folder / "c.changes").write_text("+edge(3, 4). commit. -edge(1, 2). commit. +edge(1, 0). x")
    begin = ("apply", "reach.dl", "c.changes", "--engine", "spark")
    done = cli(*begin, "--deltas", "-", "--stats", "s.json", "--strategy", "shuffle")
    assert done.code == 2
    assert "note: 2 updates were applied before; no outputs were written" in done.err
    assert done.out == (
        "+path(1, 4).\n+path(2, 4).\n+path(3, 4).\ncommit.\n"
        "-path(1, 2).\n-path(1, 3).\n-path(1, 4).\ncommit.\n"
    )
    told = json.loads((folder / "s.json").read_text())["commits"]
    for commit in told:
        assert commit["spark"]["jobs"] >= 1
        assert set(commit["spark"]) == {"jobs", "stages", "tasks", "shuffled"}
        assert commit["strata"][-1]["place"]
    (folder / "c.changes").write_text("+edge(3, 4). commit.")
    assert cli(*begin, "--stats", "s.json").code == 0
    told = json.loads((folder / "s.json").read_text())["commits"]
    assert told[0]["strata"][-1]["place"] == "driver"
    assert told[0]["spark"]["jobs"] == 0
    assert cli(*begin, "--algorithm", "aged").err == (
        "error: the algorithm 'aged' is not available on Spark\n"
        "    expected one of auto, recompute, counting, dred, dredc, bf, bfc, dredc-mod, bfc-mod\n"
    )


def test_repl_and_plan(spark: SparkSession, cli: Cli) -> None:
    asked = cli(
        "repl", "reach.dl", "--engine", "spark", stdin="+edge(3, 4).\ncommit.\n?path(3, x)."
    )
    assert asked.code == 0
    assert "+path(1, 4)." in asked.out
    planned = cli("plan", "reach.dl", "--engine", "spark", "-F", ".", "--driver-facts", "0")
    assert planned.code == 0
    assert "stratum 2, recursive: path (3 facts)\n" in planned.out
    assert "  on Spark: pivot: all recursive rules keep path.x\n" in planned.out
    planned = cli("plan", "reach.dl", "--engine", "spark", "-F", ".")
    assert "  on Spark: driver: it reads 2 facts\n" in planned.out


def test_errors_of_spark_are_a_line(spark: SparkSession, cli: Cli, folder: Path) -> None:
    text = (folder / "reach.dl").read_text()
    (folder / "d.dl").write_text(text.replace(".input edge", '.input edge(IO=delta, path="d")'))
    (folder / "d").mkdir()
    done = cli("run", "d.dl", "--engine", "spark")
    assert done.code == 2
    assert done.err.startswith(
        "d.dl:2:8: error: no facts for `edge`: Failed to find the data source: delta."
    )
    assert len(done.err.splitlines()) == 3
    assert "--conf spark.jars.packages=" in done.err
    assert not (folder / "path.csv").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("run reach.dl --master local", "argument --master: only with --engine spark"),
        ("run reach.dl --conf spark.x=1", "argument --conf: only with --engine spark"),
        ("plan reach.dl --strategy auto", "argument --strategy: only with --engine spark"),
        ("repl reach.dl --driver-facts 0", "argument --driver-facts: only with --engine spark"),
        (
            "run reach.dl --engine spark --driver-facts -1",
            "argument --driver-facts: '-1' is not a whole number, 0 or above",
        ),
        (
            "run reach.dl --engine spark --profile",
            "argument --profile: only with --engine local",
        ),
        (
            "apply reach.dl c --engine spark --policy marking",
            "argument --policy: with --engine spark only sequential",
        ),
        (
            "run reach.dl --engine spark --conf memory=4g",
            "argument --conf: 'memory=4g' is not a Spark setting; "
            "write it as spark.driver.memory=4g",
        ),
    ],
)
def test_options_that_do_not_go_together(cli: Cli, line: str, message: str) -> None:
    done = cli(*line.split())
    assert done.code == 2
    assert done.err.splitlines()[-1].endswith(f"error: {message}")


def test_strategies_have_one_list() -> None:
    assert arguments.STRATEGIES == STRATEGIES


def test_where_spark_runs_unless_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SPARK_MASTER", "MASTER", "SPARK_HOME", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert arguments.usual_master() is None
    (tmp_path / "spark-defaults.conf").write_text("# x\nspark.master   spark://host:7077 \n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert arguments.usual_master() == "spark://host:7077"
    monkeypatch.setenv("SPARK_MASTER", "local[3]")
    assert arguments.usual_master() == "local[3]"


def test_a_plan_without_facts_needs_no_spark(folder: Path) -> None:
    code = (
        "import sys; from tidelog.cli import main\n"
        "assert main(['plan', 'reach.dl', '--engine', 'spark']) == 0\n"
        "assert not any(name.startswith('pyspark') for name in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        "  on Spark: driver up to 2,000,000 facts; "
        "beyond, pivot: all recursive rules keep path.x\n" in done.stdout
    )


def test_a_session_of_its_own_with_rounds_on_a_terminal(folder: Path) -> None:
    ours, theirs = pty.openpty()
    line = "run reach.dl --engine spark --strategy frames -D - --conf spark.ui.enabled=false"
    told = {**os.environ, "SPARK_MASTER": "local[1]"}
    with subprocess.Popen(
        [*COMMAND, *line.split()], env=told, stdout=subprocess.PIPE, stderr=theirs
    ) as running:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # the other end is closed
            pass
        assert running.stdout is not None
        assert PATHS.encode() in running.stdout.read()
    os.close(ours)
    assert running.returncode == 0
    lines = shown.decode().replace("\x1b[K", "").replace("\r", "\n").split("\n")
    assert "starting Spark" in lines
    assert any(
        re.fullmatch(r"path, round 3: [45] facts, [12] new, \d+\.\d s", each) for each in lines
    )
    assert not any("WARN" in each for each in lines)
