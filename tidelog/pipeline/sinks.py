"""The sinks of a pipeline: each stages a version before its commit, and publishes it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from tidelog.pipeline import crash_points, durable_files
from tidelog.pipeline.batches import RelationVersion
from tidelog.pipeline.feeds import FeedSink
from tidelog.pipeline.published_tables import TableSink
from tidelog.pipeline.settings import Sink
from tidelog.pipeline.spark_sinks import SparkSink
from tidelog.pipeline.spark_sources import to_uri
from tidelog.pipeline.versions import VersionStore
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SinkStates = Mapping[str, Any]  # by name of sink: what it needs to publish a version and continue


class SinkWriter(Protocol):
    """The interface of sinks; a sink's state is a JSON value in the commit."""

    def stage(self, version: RelationVersion, before: Any) -> Any: ...
    def publish(self, state: Any) -> None: ...
    def missing(self, state: Any) -> bool: ...
    def clean(self, state: Any, keep: int) -> None: ...
    def tidy(self, state: Any) -> None: ...


class Sinks:
    """The sinks by name."""

    def __init__(
        self, settings: Sequence[Sink], folder: Path, store: VersionStore, spark: SparkSession
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._store = store
        self._spark = spark
        self._sinks = {sink.name: self._writer(sink) for sink in settings}

    def _writer(self, sink: Sink) -> SinkWriter:
        if not sink.own:
            home = self._store.folder / "outside" / sink.name
            target = to_uri(sink.path, self._folder)
            append = sink.kind == "changes"
            return SparkSink(self._spark, home, sink.format, target, sink.options, append)
        kinds: dict[str, Callable[[Path, str], SinkWriter]] = {
            "table": TableSink,
            "changes": FeedSink,
        }
        return kinds[sink.kind](self._path(sink), sink.format)

    def _path(self, sink: Sink) -> Path:
        assert sink.path is not None
        return (self._folder / sink.path).absolute()

    def open(self, published: SinkStates) -> set[str]:
        """Claim the folders, publish what a crash left unpublished, and clean up.

        Returns the sinks that have no published version, or have lost it.
        """
        empty = {
            n for n, sink in self._sinks.items() if n not in published or sink.missing(published[n])
        }
        for sink in self._settings:
            if sink.own:
                owner = f"{self._store.id} {sink.name} {sink.kind} {sink.format} {sink.relation}"
                _claim(self._path(sink), owner, sink.name)
        for name in self._sinks.keys() - empty:
            self._sinks[name].publish(published[name])
        for name, writer in self._sinks.items():
            writer.tidy(published.get(name))
        return empty

    def stage(
        self,
        version: int,
        schema: Mapping[str, Relation],
        before: SinkStates,
        deltas: Mapping[str, pa.Table],
        whole: Callable[[str], pa.Table],
    ) -> dict[str, Any]:
        """Write a version's delta to each sink, or the whole relation to a new sink."""
        return {
            sink.name: self._sinks[sink.name].stage(
                RelationVersion(
                    version,
                    schema[sink.relation],
                    deltas.get(sink.relation),
                    partial(whole, sink.relation),
                ),
                before.get(sink.name),
            )
            for sink in self._settings
        }

    def publish(self, state: SinkStates) -> None:
        """Make the version visible to readers; after a crash, the next run does so."""
        for name, sink in self._sinks.items():
            sink.publish(state[name])
            crash_points.point("in-publish")

    def clean(self, state: SinkStates, keep: int) -> None:
        """Remove old versions."""
        for name, sink in self._sinks.items():
            sink.clean(state[name], keep)


def _claim(path: Path, owner: str, name: str) -> None:
    """Mark a folder as the sink's; reject folders with other contents."""
    mark = path / ".tidelog"
    path.mkdir(parents=True, exist_ok=True)
    if mark.exists():
        known = mark.read_text(encoding="utf-8")
        if known != owner and known != owner.rpartition(" ")[0]:  # 0.8.0 omitted the relation
            raise TidelogError(
                f"error: sink {name}: {path} belongs to another sink, or to another relation\n"
                "    choose another path, or remove the folder"
            )
        if known != owner:
            durable_files.write(mark, owner.encode())
        return
    if any(not each.name.startswith(".") for each in path.iterdir()):
        raise TidelogError(
            f"error: sink {name}: {path} has files that the pipeline did not write\n"
            "    choose another path, or an empty folder"
        )
    durable_files.write(mark, owner.encode())
