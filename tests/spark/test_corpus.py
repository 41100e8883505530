"""The corpus of the local engine's tests, on Spark: programs, kept histories, recorded streams."""

from __future__ import annotations

import io
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conformance.test_conformance import CASES, _files, _rows
from tests.law.histories import from_json
from tests.law.replay import always, replay
from tests.law.test_histories import KEPT
from tests.law.test_streams import RECORDED, _id, _updates, program
from tidelog import Database
from tidelog.cli import main
from tidelog.maintain.driver.algorithms import ON_SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FRAMES = 14  # every so many programs run by frames alone, too
COMMITS = 6  # of each recorded stream
REFUSED = {
    "symbols have no numbers on Spark": "ord and as of symbols",
    "is not called on Spark": "functors in Python, and autoinc",
    "has a subsumption or a choice-domain": "facts that are left out",
    "has records or branches": "records and branches",
}


def run(case: Path, tmp_path: Path, *more: str) -> int:
    facts = case / "facts" if (case / "facts").exists() else tmp_path
    where = ["-F", str(facts), "-D", str(tmp_path / "out")]
    given = case / "arguments"
    own = given.read_text().split() if given.exists() else []
    return main(["run", str(case / "program.dl"), *where, "--engine", "spark", *more, *own])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_outputs_are_those_worked_out_by_hand(
    case: Path,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ways = [[]] if CASES.index(case) % FRAMES else [[], ["--strategy", "frames"]]
    for way in ways:
        (tmp_path / "out").mkdir(exist_ok=True)
        if (case / "stdin").exists():
            data = io.BytesIO((case / "stdin").read_bytes())
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data, encoding="utf-8"))
        code = run(case, tmp_path, *way)
        captured = capsys.readouterr()
        refused = [why for what, why in REFUSED.items() if what in captured.err]
        if code == 2 and refused:
            pytest.xfail(refused[0])
        assert code == 0, captured.err
        expected = _files(case / "expected")
        stdout = expected.pop("stdout", "")
        assert {name: _rows(text) for name, text in _files(tmp_path / "out").items()} == {
            name: _rows(text) for name, text in expected.items()
        }
        assert sorted(captured.out.splitlines()) == sorted(stdout.splitlines())


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_kept_history(spark: SparkSession, kept: Path) -> None:
    algorithm = ON_SPARK[KEPT.index(kept) % len(ON_SPARK)]
    told = from_json(kept.read_text(encoding="utf-8"))
    replay(told, {algorithm: always(algorithm)}, partial(Database, engine="spark", spark=spark))


@pytest.mark.parametrize("stream", RECORDED, ids=_id)
def test_recorded_stream(spark: SparkSession, stream: Path) -> None:
    """Local equals Spark at every commit, as far as the prefix goes."""
    mine = Database(program(stream), engine="spark", spark=spark)
    local = Database(program(stream))
    for update in _updates(stream)[:COMMITS]:
        (found,), (right,) = mine.apply(update), local.apply(update)
        assert list(found) == list(right)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["path", "lubm"])
def test_recorded_stream_in_partitions(spark: SparkSession, name: str) -> None:
    """The same where nothing may be kept in the driver."""
    stream = next(path for path in RECORDED if path.parent.name == name)
    mine = Database(program(stream), engine="spark", spark=spark, driver_facts=0)
    local = Database(program(stream))
    for update in _updates(stream)[:2]:
        (found,), (right,) = mine.apply(update), local.apply(update)
        assert list(found) == list(right)
