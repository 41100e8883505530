"""Sinks in other formats, through Spark's writer: Delta, Iceberg, JDBC and so on.

They are written after the commit, and recorded as written after that. A crash in between writes a
version twice: a table is overwritten with the same rows, and a feed gets the version's rows twice,
with the same version number. What readers see during a write depends on the format.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidelog.pipeline import durable_files
from tidelog.pipeline.batches import RelationVersion, from_bytes, to_bytes, with_names
from tidelog.pipeline.feeds import feed_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SinkState = dict[str, Any]


class SparkSink:
    """Passes a relation, or its changes, to Spark's writer; `folder` is its part of the state."""

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

    def stage(self, version: RelationVersion, before: SinkState | None) -> SinkState:
        """Store the rows in the state, because a restart may have to write them."""
        number, relation = version.number, version.relation
        delta = None if before is None else version.delta
        if before is not None and delta is not None and not delta.num_rows:
            return before
        if self._append:
            table = feed_table(number, relation, version.whole() if delta is None else delta)
        else:
            table = with_names(relation, version.whole())
        self._folder.mkdir(parents=True, exist_ok=True)
        stamp = durable_files.write(self._pending(number), to_bytes(table))
        return {"version": number, "stamp": stamp}

    def publish(self, state: SinkState) -> None:
        pending, done = self._pending(state["version"]), self._folder / "written"
        if not pending.exists():
            return
        table = from_bytes(durable_files.read(pending, state["stamp"], "restore it from a backup"))
        if not done.exists() or int(done.read_text()) < state["version"]:
            self._write(table)
            durable_files.write(done, str(state["version"]).encode())
        durable_files.remove(pending)

    def _write(self, table: pa.Table) -> None:
        frame = self._spark.createDataFrame(table)
        mode = "append" if self._append else "overwrite"
        writer = frame.write.format(self._format).mode(mode).options(**self._options)
        if self._target is None:
            writer.save()
        else:
            writer.save(self._target)

    def missing(self, state: SinkState) -> bool:
        return False

    def clean(self, state: SinkState, keep: int) -> None:
        """`publish` leaves nothing to clean."""

    def tidy(self, state: SinkState | None) -> None:
        """Remove rows of versions without a commit."""
        last = state["version"] if state else 0
        for path in self._folder.glob("[0-9]*.parquet"):
            if int(path.stem) > last:
                durable_files.remove(path)

    def _pending(self, version: int) -> Path:
        return self._folder / f"{version:08d}.parquet"
