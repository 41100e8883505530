"""Sinks in other formats, through Spark's writer: Delta, Iceberg, JDBC and whatever it knows.

They are written after the commit, and what has been written is noted after that. A crash in
between writes a version once more: a table is overwritten, which changes nothing, and a feed
has the version's rows twice, all with its number. What a reader sees meanwhile is up to the
format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidelog.pipeline import files
from tidelog.pipeline.changes import from_bytes, names, to_bytes
from tidelog.pipeline.feeds import feed_table
from tidelog.program.rules import Relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Held = dict[str, Any]


class OutsideSink:
    """Hands a relation, or its changes, to Spark's writer; `folder` is its own in the state."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        format: str,
        target: str | None,
        options: Mapping[str, str],
        append: bool,
    ) -> None:
        self._spark = spark
        self._folder = folder
        self._format = format
        self._target = target
        self._options = options
        self._append = append

    def stage(
        self,
        version: int,
        relation: Relation,
        before: Held | None,
        delta: pa.Table | None,
        whole: Callable[[], pa.Table],
    ) -> Held:
        """Keep in the state what is to be written, since a restart may have to write it."""
        if before is not None and delta is not None and not delta.num_rows:
            return before
        if self._append and before is not None and delta is not None:
            table = feed_table(version, relation, delta)
        elif self._append:
            table = feed_table(version, relation, whole())
        else:
            rows = whole()
            table = rows.select(names(relation.arity)).rename_columns(list(relation.attributes))
        self._folder.mkdir(parents=True, exist_ok=True)
        stamp = files.write(self._waiting(version), to_bytes(table))
        return {"version": version, "stamp": stamp}

    def publish(self, held: Held) -> None:
        waiting, done = self._waiting(held["version"]), self._folder / "written"
        if not waiting.exists():
            return
        table = from_bytes(files.read(waiting, held["stamp"], "put it back from a backup"))
        if not done.exists() or int(done.read_text()) < held["version"]:
            self._write(table)
            files.write(done, str(held["version"]).encode())
        files.remove(waiting)

    def _write(self, table: pa.Table) -> None:
        frame = self._spark.createDataFrame(table)
        mode = "append" if self._append else "overwrite"
        writer = frame.write.format(self._format).mode(mode).options(**self._options)
        if self._target is None:
            writer.save()
        else:
            writer.save(self._target)

    def missing(self, held: Held) -> bool:
        return False

    def clean(self, held: Held, keep: int) -> None:
        """Nothing of ours is left by then."""

    def tidy(self, held: Held | None) -> None:
        """Remove what waits for a version that has no commit."""
        last = held["version"] if held else 0
        for path in self._folder.glob("[0-9]*.parquet"):
            if int(path.stem) > last:
                files.remove(path)

    def _waiting(self, version: int) -> Path:
        return self._folder / f"{version:08d}.parquet"
