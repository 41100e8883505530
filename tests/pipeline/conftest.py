"""A shared Spark session, and small pipelines in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet
import pytest

from tests.spark import conftest as shared
from tidelog import Database
from tidelog.pipeline import Map, Pipeline, Sink, Source
from tidelog.pipeline.pipeline import Summary

REACH = """\
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
"""
PATHS = Sink(name="paths", relation="path", path="out/paths")
NEWS = Sink(name="news", relation="path", kind="changes", format="changes", path="out/news")
Row = tuple[Any, ...]
spark = shared.spark


class Folder:
    """A folder with a program, a pipeline, and files that arrive one after the other."""

    def __init__(self, path: Path, spark: Any) -> None:
        self.path = path
        self._spark = spark
        self._arrived = 0
        (path / "changes").mkdir()
        (path / "reach.dl").write_text(REACH)

    def arrive(self, text: str, folder: str = "changes", ending: str = "csv") -> Path:
        """Add a file atomically, with a later time than the previous one."""
        self._arrived += 1
        home = self.path / folder
        home.mkdir(exist_ok=True)
        hidden = home / f".{self._arrived:04d}.{ending}"
        hidden.write_text(text)
        os.utime(hidden, (1_700_000_000 + self._arrived,) * 2)
        return hidden.rename(home / f"{self._arrived:04d}.{ending}")

    def pipeline(
        self, *sources: Source, sinks: tuple[Sink, ...] = (PATHS, NEWS), **options: Any
    ) -> Pipeline:
        return Pipeline("reach.dl", "state", sources, sinks, folder=self.path, **options)

    def run(self, *sources: Source, adopt: tuple[str, ...] = (), **options: Any) -> Summary:
        return self.pipeline(*sources, **options).run(self._spark, adopt=adopt)

    def rows(self, sink: str = "paths") -> set[Row]:
        return table(self.path / "out" / sink)

    def replayed(self, sink: str = "news") -> set[Row]:
        return replayed(self.path / "out" / sink)


def replayed(path: Path) -> set[Row]:
    """The facts of a feed, replayed in strict mode from its beginning."""
    database = Database(".decl path(x: number, y: number)", strict=True)
    for file in sorted(path.glob("*.changes")):
        assert len(database.apply(file.read_text())) == 1
    return set(database.relation("path"))


def table(path: Path) -> set[Row]:
    found = parquet.read_table(path / "current")
    rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
    assert len(rows) == len(set(rows))
    return set(rows)


def closure(edges: Iterable[Row]) -> set[Row]:
    """The paths, computed in one batch."""
    return set(Database(REACH, facts={"edge": list(edges)}).relation("path"))


@pytest.fixture
def folder(tmp_path: Path, spark: Any) -> Folder:
    return Folder(tmp_path, spark)


def edges(**settings: Any) -> Source:
    """A stream of CSV files with changes of `edge`."""
    usual: Mapping[str, Any] = {
        "name": "edges",
        "format": "csv",
        "path": "changes",
        "schema": "op string, seq long, x long, y long",
        "mode": "signed",
        "maps": (Map("edge"),),
    }
    return Source(**{**usual, **settings})
