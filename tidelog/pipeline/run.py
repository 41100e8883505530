"""One run of a pipeline: open the state, read the sources, and turn every batch into a version.

A batch takes five steps: read its changes; apply those that take effect to the materialisation;
stage files of the state and the sinks; commit the version; publish it in the sinks. After a crash
before the commit, the previous version is current, and Spark repeats the batch. After a crash past
the commit, the next run publishes the version, and recognises the repeated batch by its number.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidelog.formats.directives import inputs, read_inputs
from tidelog.formats.frames import to_arrow
from tidelog.pipeline import crash_points
from tidelog.pipeline.batches import Ledger, fold, insertions, of_facts, signed
from tidelog.pipeline.materialisation import AppliedBatch, Materialisation, bare
from tidelog.pipeline.settings import Settings
from tidelog.pipeline.sinks import Sinks
from tidelog.pipeline.spark_sources import SourceBatch, SourceReader
from tidelog.pipeline.versions import SourceOffset, VersionDraft, VersionRecord, VersionStore
from tidelog.plan.accept import Accepted
from tidelog.program.diagnostics import TidelogError, plural
from tidelog.program.rules import Relation
from tidelog.program.table import Table
from tidelog.session.stated_facts import stated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


TABLE = "table"  # the query of sources that are read once


@dataclass(frozen=True, slots=True)
class Done:
    """What a new version changed."""

    version: int
    cause: str  # the source, or another reason
    batch: int | None
    changes: int  # of explicit facts that took effect
    facts: Mapping[str, tuple[int, int]]  # inserted and deleted, by relation
    seconds: float

    def __str__(self) -> str:
        """
        >>> str(Done(7, "roads", 3, 12, {"reach": (30, 10)}, 0.214))
        'version 7: roads, batch 3, 12 changes in, 40 facts changed, 0.21 s'
        """
        batch = f", batch {self.batch}" if self.batch is not None else ""
        facts = sum(map(sum, self.facts.values()))
        return (
            f"version {self.version}: {self.cause}{batch}, {plural(self.changes, 'change')} in, "
            f"{plural(facts, 'fact')} changed, {self.seconds:.2f} s"
        )


@dataclass(slots=True)
class EffectiveChanges:
    """Changes of explicit facts that take effect, and their delta unless all facts are new."""

    facts: dict[str, pa.Table]
    applied: AppliedBatch | None = None
    changes: int = field(init=False)

    def __post_init__(self) -> None:
        self.changes = sum(table.num_rows for table in self.facts.values())


class Run:
    """The state, the materialisation and the sinks while a pipeline runs."""

    def __init__(
        self,
        pipeline: Settings,
        accepted: Accepted,
        store: VersionStore,
        spark: SparkSession,
        show: Callable[[Done], None],
    ) -> None:
        self._pipeline = pipeline
        self._accepted = stated(accepted)
        self._store = store
        self._spark = spark
        self._show = show
        self._lock = threading.Lock()
        self.stopping = threading.Event()
        self.failure: BaseException | None = None
        self._text = bare(accepted)
        self._base = blake2b(self._text.encode(), digest_size=16).hexdigest()
        self._sinks = Sinks(pipeline.sinks, pipeline.folder, store, spark)
        late = {m.relation: s.late for s in pipeline.sources for m in s.maps if s.late is not None}
        self._ledger = Ledger(late)
        self._log = StreamLog(spark)
        self._readers = {s.name: SourceReader(spark, s, pipeline.folder) for s in pipeline.sources}

    def open(self) -> None:
        """Restore the last version, or create the first one."""
        last = self._store.last
        if last is None:
            self._sinks.open({})
            self._first()
            return
        self._check_base(last)
        self._restore()
        empty = self._sinks.open(last.sinks)
        if empty:
            self._catch_up(last, empty)
        else:
            self._store.clean(self._pipeline.keep)  # in case a crash prevented it
            self._tidy_up(last)
        for source in self._pipeline.sources:
            if not source.stream and source.name not in last.sources:
                reader = self._readers[source.name]
                frame = reader.frame()
                reader.check(frame, self._materialisation.schema)
                self.take(reader, frame, TABLE, 0)

    def _first(self) -> None:
        """Create the first version: facts of the program, of its files, and of the tables."""
        began = time.perf_counter()
        schema = self._accepted.checked.relations
        tables: dict[str, list[pa.Table]] = {}
        for name, table in self._initial_facts():
            tables.setdefault(name, []).append(_changes_of(schema[name], table))
        offsets = {}
        for source in self._pipeline.sources:
            if not source.stream:
                reader = self._readers[source.name]
                frame = reader.frame()
                for name, more in self._facts(reader, frame, schema).items():
                    tables.setdefault(name, []).extend(more)
                offsets[source.name] = SourceOffset(TABLE, 0)
        facts = {
            name: self._ledger.effective(name, pa.concat_tables(parts))
            for name, parts in tables.items()
        }
        crash_points.point("after-read")
        self._materialisation = self._materialise(self._text, facts)
        self._commit(EffectiveChanges(facts), offsets, "the first facts", None, began)

    def _facts(
        self, reader: SourceReader, frame: DataFrame, schema: Mapping[str, Relation]
    ) -> dict[str, list[pa.Table]]:
        """The facts of a table, which cannot hold other changes."""
        reader.check(frame, schema)
        batch = reader.batch(frame, schema)
        if batch.texts or batch.rules:
            raise TidelogError(
                f"error: source {reader.name}: a table can only hold facts\n"
                '    read rules, and changes as text, from a source of kind = "stream"'
            )
        return batch.facts

    def _initial_facts(self) -> Iterable[tuple[str, Table]]:
        """The facts of the program, and those of its `.input` files."""
        checked = self._accepted.checked
        for name, rows in checked.facts.items():
            yield name, Table.from_rows(checked.relations[name].kinds, rows)
        if self._pipeline.facts is not None:
            sources = self._accepted.sources
            files = inputs(checked, self._pipeline.facts, sources=sources)
            yield from read_inputs(files, sources=sources)

    def _check_base(self, last: VersionRecord) -> None:
        if last.base != self._base:
            raise TidelogError(
                f"error: the rules of {self._pipeline.program} have changed since the state in "
                f"{self._store.folder} was created\n"
                "    change rules through a source of rules, or start with a new state folder "
                "and new sinks"
            )

    def _restore(self) -> None:
        changes = self._store.changes()
        for name, table in changes.items():
            self._ledger.load(name, table)
        self._materialisation = self._materialise(self._store.program, changes)

    def _materialise(self, text: str, facts: Mapping[str, pa.Table]) -> Materialisation:
        pipeline = self._pipeline
        return Materialisation(
            text,
            facts,
            engine=pipeline.engine,
            algorithm=pipeline.algorithm,
            limits=pipeline.limits,
            spark=self._spark,
        )

    def close(self) -> None:
        self._log.restore()

    def stream(self, name: str) -> Any:
        """The writer of a source's stream, ready to start."""
        reader = self._readers[name]
        frame = reader.frame()
        reader.check(frame, self._materialisation.schema)
        checkpoint = self._store.folder / "checkpoint" / reader.name
        writer: Any = frame.writeStream.foreachBatch(partial(self._on_batch, reader))
        return (
            writer.queryName(f"tidelog {reader.name}")
            .option("checkpointLocation", checkpoint.absolute().as_uri())
            .trigger(**self._pipeline.trigger.options())
        )

    def settle(self) -> None:
        """Wait for the current batch; while `stopping` is set, no other begins."""
        with self._lock:
            pass

    def _on_batch(self, reader: SourceReader, frame: DataFrame, batch: int) -> None:
        """Called by Spark in its own thread, for each batch of a source."""
        context = frame.sparkSession.sparkContext
        query = context.getLocalProperty("sql.streaming.queryId")
        context.setJobDescription(f"tidelog: batch {batch} of {reader.name}")
        try:
            self.take(reader, frame, str(query), batch)
        except BaseException as error:
            if self.failure is None and not isinstance(error, Stopped):
                self.failure = error
            self.stopping.set()
            self._log.silence()
            raise

    def take(self, reader: SourceReader, frame: DataFrame, query: str, batch: int) -> None:
        """Create a version from a batch, unless the batch already has one."""
        with self._lock:
            if self.stopping.is_set():
                raise Stopped
            if self._is_done(reader.name, query, batch):
                return
            began = time.perf_counter()
            found = reader.batch(frame, self._materialisation.schema)
            crash_points.point("after-read")
            effective = self._apply(found)
            assert self._store.last is not None
            offsets = {**self._store.last.sources, reader.name: SourceOffset(query, batch)}
            self._commit(effective, offsets, reader.name, batch, began)

    def _is_done(self, name: str, query: str, batch: int) -> bool:
        """Whether the state has this batch; raises an error if it is not the next one either."""
        assert self._store.last is not None
        before = self._store.last.sources.get(name)
        if before is not None and before.query != query:
            if name not in self._pipeline.adopt:
                raise self._other_checkpoint(name, before, query)
            before = None
        expected = 0 if before is None else before.batch + 1
        if batch > expected:
            raise TidelogError(
                f"error: source {name}: received batch {batch}, but the state has "
                f"{'no batch' if before is None else f'batches up to {before.batch}'}\n"
                f"    the state in {self._store.folder} is older than the source's checkpoint, "
                "and lacks the changes in between\n"
                "    restore the state, or remove the state folder and the sinks to start over"
            )
        return batch < expected

    def _other_checkpoint(self, name: str, before: SourceOffset, query: str) -> TidelogError:
        return TidelogError(
            f"error: source {name}: the checkpoint does not belong to the state\n"
            f"    the state has batches up to {before.batch} of query {before.query}; the "
            f"checkpoint is of query {query}\n"
            f"    restore {self._store.folder / 'checkpoint' / name}, or run once with "
            f"--adopt {name} to read the source from the beginning"
        )

    def _apply(self, batch: SourceBatch) -> EffectiveChanges:
        facts = {
            name: self._ledger.effective(name, pa.concat_tables(tables))
            for name, tables in batch.facts.items()
        }
        applied = self._materialisation.apply(facts, batch.rules, batch.texts)
        for name, listed in applied.said.items():
            relation = self._materialisation.schema[name]
            facts[name] = self._ledger.effective(name, of_facts(relation, listed))
        return EffectiveChanges(facts, applied)

    def _commit(
        self,
        effective: EffectiveChanges,
        offsets: Mapping[str, SourceOffset],
        cause: str,
        batch: int | None,
        began: float,
    ) -> None:
        store, draft = self._store, self._store.draft()
        for name, table in effective.facts.items():
            if table.num_rows:
                store.add(draft, name, table)
        program = store.last.program if store.last else ""
        if not program or (effective.applied is not None and effective.applied.rules):
            program = store.add_program(draft, self._materialisation.text)
        sinks = self._stage(draft, effective.applied)
        counts = self._counts(effective.applied)
        commit = VersionRecord(0, self._base, program, offsets, sinks, {}, 0, cause, counts)
        commit = store.commit(draft, commit)
        self._sinks.publish(commit.sinks)
        self._tidy_up(commit)
        seconds = time.perf_counter() - began
        self._show(Done(commit.version, cause, batch, effective.changes, counts, seconds))

    def _counts(self, applied: AppliedBatch | None) -> dict[str, tuple[int, int]]:
        if applied is not None:
            return dict(applied.delta.counts)
        return {name: (size, 0) for name, size in self._materialisation.sizes().items() if size}

    def _stage(self, draft: VersionDraft, applied: AppliedBatch | None) -> dict[str, Any]:
        """Stage the version in all sinks."""
        last, now = self._store.last, self._materialisation
        before = last.sinks if last is not None else {}
        names = {sink.relation for sink in self._pipeline.sinks}
        deltas = {n: now.changed(applied, n) for n in names} if applied is not None else {}
        return self._sinks.stage(draft.version, now.schema, before, deltas, now.whole)

    def _tidy_up(self, commit: VersionRecord) -> None:
        store, keep = self._store, self._pipeline.keep
        due = store.wants_snapshot
        if due:
            store.snapshot(self._ledger.to_snapshot)
            self._ledger.prune()
        if due or commit.version % 8 == 0:
            store.clean(keep)
        self._sinks.clean(commit.sinks, keep)

    def _catch_up(self, last: VersionRecord, empty: set[str]) -> None:
        """Create a version for sinks that are new, or that a user has deleted."""
        began = time.perf_counter()
        kept = {name: state for name, state in last.sinks.items() if name not in empty}
        self._store.last = replace(last, sinks=kept)
        nothing = EffectiveChanges({}, self._materialisation.apply({}))
        self._commit(nothing, last.sources, f"sink {', '.join(sorted(empty))}", None, began)


class Stopped(Exception):
    """The pipeline stops; the next run repeats this batch."""


def _changes_of(relation: Relation, table: Table) -> pa.Table:
    if not relation.arity:
        return signed(relation, [], pa.array([1] * table.size, pa.int8()))
    return fold([insertions(relation, to_arrow(relation, table))])


class StreamLog:
    """Spark's log of streams, silenced when an error stops a stream, since the run reports it."""

    NAME = "org.apache.spark.sql.execution.streaming"

    def __init__(self, spark: Any) -> None:
        self._log4j = spark.sparkContext._jvm.org.apache.logging.log4j
        self._before = self._log4j.LogManager.getLogger(self.NAME).getLevel()

    def silence(self) -> None:
        logging.getLogger("py4j.clientserver").disabled = True
        self._log4j.core.config.Configurator.setLevel(self.NAME, self._log4j.Level.OFF)

    def restore(self) -> None:
        logging.getLogger("py4j.clientserver").disabled = False
        self._log4j.core.config.Configurator.setLevel(self.NAME, self._before)
