"""All sinks of a pipeline: each writes a version where nobody looks, and shows it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from tidelog.pipeline import crash, files
from tidelog.pipeline.feeds import FeedSink
from tidelog.pipeline.outside import OutsideSink
from tidelog.pipeline.settings import Sink
from tidelog.pipeline.sources import located
from tidelog.pipeline.store import Store
from tidelog.pipeline.tables import TableSink
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Held = Mapping[str, Any]  # of each sink, by name: what it needs to show a version and to go on


class Writes(Protocol):
    """What all kinds of sinks do; what each holds is a JSON value in the commit."""

    def stage(
        self,
        version: int,
        relation: Relation,
        before: Any,
        delta: pa.Table | None,
        whole: Callable[[], pa.Table],
    ) -> Any: ...
    def publish(self, held: Any) -> None: ...
    def missing(self, held: Any) -> bool: ...
    def clean(self, held: Any, keep: int) -> None: ...
    def tidy(self, held: Any) -> None: ...


class Sinks:
    """The sinks, by their names."""

    def __init__(
        self, settings: Sequence[Sink], folder: Path, store: Store, spark: SparkSession
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._store = store
        self._spark = spark
        self._sinks = {sink.name: self._made(sink) for sink in settings}

    def _made(self, sink: Sink) -> Writes:
        if not sink.own:
            home = self._store.folder / "outside" / sink.name
            target = located(sink.path, self._folder)
            append = sink.kind == "changes"
            return OutsideSink(self._spark, home, sink.format, target, sink.options, append)
        kinds: dict[str, Callable[[Path, str], Writes]] = {"table": TableSink, "changes": FeedSink}
        return kinds[sink.kind](self._path(sink), sink.format)

    def _path(self, sink: Sink) -> Path:
        assert sink.path is not None
        return (self._folder / sink.path).absolute()

    def open(self, shown: Held) -> set[str]:
        """Make sure that folders are ours, show what a crash kept from being shown, and remove
        what else it left; returns the sinks that have nothing, or nothing any more."""
        empty = {n for n, sink in self._sinks.items() if n not in shown or sink.missing(shown[n])}
        for sink in self._settings:
            if sink.own:
                mine = f"{self._store.id} {sink.name} {sink.kind} {sink.format} {sink.relation}"
                _claim(self._path(sink), mine, sink.name)
        for name in self._sinks.keys() - empty:
            self._sinks[name].publish(shown[name])
        for name, writes in self._sinks.items():
            writes.tidy(shown.get(name))
        return empty

    def stage(
        self,
        version: int,
        schema: Mapping[str, Relation],
        before: Held,
        deltas: Mapping[str, pa.Table],
        whole: Callable[[str], pa.Table],
    ) -> dict[str, Any]:
        """Write what a version changed, or all of it where there was nothing before."""
        return {
            sink.name: self._sinks[sink.name].stage(
                version,
                schema[sink.relation],
                before.get(sink.name),
                deltas.get(sink.relation),
                partial(whole, sink.relation),
            )
            for sink in self._settings
        }

    def publish(self, held: Held) -> None:
        """Let readers see the version; after a crash, the next run does it."""
        for name, sink in self._sinks.items():
            sink.publish(held[name])
            crash.point("in-publish")

    def clean(self, held: Held, keep: int) -> None:
        """Remove versions that nobody reads any more."""
        for name, sink in self._sinks.items():
            sink.clean(held[name], keep)


def _claim(path: Path, mine: str, name: str) -> None:
    """Mark a sink's folder as ours; one with other things in it is refused."""
    mark = path / ".tidelog"
    path.mkdir(parents=True, exist_ok=True)
    if mark.exists():
        known = mark.read_text(encoding="utf-8")
        if known != mine and known != mine.rpartition(" ")[0]:  # until 0.8.0 without the relation
            raise TidelogError(
                f"error: sink {name}: {path} holds another sink, of this pipeline or another one, "
                "or another relation\n    choose another path, or remove the folder"
            )
        if known != mine:
            files.write(mark, mine.encode())
        return
    if any(not each.name.startswith(".") for each in path.iterdir()):
        raise TidelogError(
            f"error: sink {name}: {path} has files that are not the pipeline's\n"
            "    choose another path, or an empty folder"
        )
    files.write(mark, mine.encode())
