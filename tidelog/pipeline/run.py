"""One run of a pipeline: the state is opened, sources are read, and every batch is a version.

A batch is taken in five steps: its changes are read; those that count go into the
materialisation; files of the state and the sinks are written where nobody looks; the commit
makes the version exist; the sinks show it. A crash before the commit leaves the version before,
and Spark gives the batch again. One after it leaves the new version, which the next run shows
in the sinks; when Spark gives the batch again, it is known by its number.
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

from tidelog.accept import Accepted
from tidelog.io.directives import inputs, read_inputs
from tidelog.io.frames import to_arrow
from tidelog.pipeline import crash
from tidelog.pipeline.changes import Ledger, fold, insertions, of_facts, signed
from tidelog.pipeline.materialisation import Applied, Materialisation, bare
from tidelog.pipeline.sinks import Sinks
from tidelog.pipeline.sources import Batch, Reader
from tidelog.pipeline.store import Commit, Draft, Store, Taken
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Relation
from tidelog.program.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidelog.pipeline.pipeline import Pipeline

TABLE = "table"  # stands for the query of a source that is read once


@dataclass(frozen=True, slots=True)
class Done:
    """A version that has been made."""

    version: int
    cause: str  # the source, or what else brought it
    batch: int | None
    changes: int  # that came in and counted
    facts: Mapping[str, tuple[int, int]]  # that came and went, by relation
    seconds: float

    def __str__(self) -> str:
        """
        >>> str(Done(7, "roads", 3, 12, {"reach": (30, 10)}, 0.214))
        'version 7: roads, batch 3, 12 changes in, 40 facts changed, 0.21 s'
        """
        batch = f", batch {self.batch}" if self.batch is not None else ""
        facts = sum(map(sum, self.facts.values()))
        return (
            f"version {self.version}: {self.cause}{batch}, {self.changes:,} changes in, "
            f"{facts:,} facts changed, {self.seconds:.2f} s"
        )


@dataclass(slots=True)
class Counted:
    """Changes of explicit facts that count, and what they did; no delta where all is new."""

    facts: dict[str, pa.Table]
    applied: Applied | None = None
    changes: int = field(init=False)

    def __post_init__(self) -> None:
        self.changes = sum(table.num_rows for table in self.facts.values())


class Run:
    """The state, the materialisation and the sinks while a pipeline runs."""

    def __init__(
        self,
        pipeline: Pipeline,
        accepted: Accepted,
        store: Store,
        spark: SparkSession,
        show: Callable[[Done], None],
    ) -> None:
        self._pipeline = pipeline
        self._accepted = accepted
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
        self._readers = {s.name: Reader(spark, s, pipeline.folder) for s in pipeline.sources}

    # The beginning.

    def open(self) -> None:
        """Bring the materialisation to the last version, or make the first one."""
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
            self._store.clean(self._pipeline.keep)  # a crash may have kept the last run from it
            self._tidy_up(last)
        for source in self._pipeline.sources:
            if not source.stream and source.name not in last.sources:
                reader = self._readers[source.name]
                frame = reader.frame()
                reader.check(frame, self._materialisation.schema)
                self.take(reader, frame, TABLE, 0)

    def _first(self) -> None:
        """The first version: facts of the program, of its files, and of the tables."""
        began = time.perf_counter()
        schema = self._accepted.checked.relations
        said: dict[str, list[pa.Table]] = {}
        for name, table in self._given():
            said.setdefault(name, []).append(_changes_of(schema[name], table))
        taken = {}
        for source in self._pipeline.sources:
            if not source.stream:
                reader = self._readers[source.name]
                frame = reader.frame()
                for name, tables in self._facts(reader, frame, schema).items():
                    said.setdefault(name, []).extend(tables)
                taken[source.name] = Taken(TABLE, 0)
        facts = {
            name: self._ledger.counting(name, pa.concat_tables(tables))
            for name, tables in said.items()
        }
        crash.point("after-read")
        self._materialisation = self._opened(self._text, facts)
        self._commit(Counted(facts), taken, "the first facts", None, began)

    def _facts(
        self, reader: Reader, frame: DataFrame, schema: Mapping[str, Relation]
    ) -> dict[str, list[pa.Table]]:
        """What a table holds: facts alone, since there is nothing yet that could change."""
        reader.check(frame, schema)
        batch = reader.batch(frame, schema)
        if batch.texts or batch.rules:
            raise TidelogError(
                f"error: source {reader.name}: a table holds facts alone\n"
                '    rules, and changes as text, come from a source of kind = "stream"'
            )
        return batch.facts

    def _given(self) -> Iterable[tuple[str, Table]]:
        """Facts that the program holds, and those of its `.input` files."""
        checked = self._accepted.checked
        for name, rows in checked.facts.items():
            yield name, Table.from_rows(checked.relations[name].kinds, rows)
        if self._pipeline.facts is not None:
            sources = self._accepted.sources
            asked = inputs(checked, self._pipeline.facts, sources=sources)
            yield from read_inputs(asked, sources=sources)

    def _check_base(self, last: Commit) -> None:
        if last.base != self._base:
            raise TidelogError(
                f"error: the rules of {self._pipeline.program} have changed since the state in "
                f"{self._store.folder} was made\n"
                "    let rules come and go through a source of rules, or begin with another "
                "state folder and other sinks"
            )

    def _restore(self) -> None:
        changes = self._store.changes()
        for name, table in changes.items():
            self._ledger.load(name, table)
        self._materialisation = self._opened(self._store.program, changes)

    def _opened(self, text: str, facts: Mapping[str, pa.Table]) -> Materialisation:
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

    # Batches.

    def stream(self, name: str) -> Any:
        """A source's stream, ready to be started."""
        reader = self._readers[name]
        frame = reader.frame()
        reader.check(frame, self._materialisation.schema)
        checkpoint = self._store.folder / "checkpoint" / reader.name
        writer: Any = frame.writeStream.foreachBatch(partial(self._arrived, reader))
        return (
            writer.queryName(f"tidelog {reader.name}")
            .option("checkpointLocation", checkpoint.absolute().as_uri())
            .trigger(**self._pipeline.trigger.options())
        )

    def settle(self) -> None:
        """Wait for the batch that is under way; while `stopping` is set, none begins."""
        with self._lock:
            pass

    def _arrived(self, reader: Reader, frame: DataFrame, batch: int) -> None:
        """Spark calls it in a thread of its own, once for each batch of a source."""
        context = frame.sparkSession.sparkContext
        query = context.getLocalProperty("sql.streaming.queryId")
        context.setJobDescription(f"tidelog: batch {batch} of {reader.name}")
        try:
            self.take(reader, frame, str(query), batch)
        except BaseException as error:
            if self.failure is None and not isinstance(error, Stopped):
                self.failure = error
            self.stopping.set()
            self._log.hush()
            raise

    def take(self, reader: Reader, frame: DataFrame, query: str, batch: int) -> None:
        """Make a version of a batch, unless there is one."""
        with self._lock:
            if self.stopping.is_set():
                raise Stopped
            if self._known(reader.name, query, batch):
                return
            began = time.perf_counter()
            found = reader.batch(frame, self._materialisation.schema)
            crash.point("after-read")
            counted = self._apply(found)
            assert self._store.last is not None
            taken = {**self._store.last.sources, reader.name: Taken(query, batch)}
            self._commit(counted, taken, reader.name, batch, began)

    def _known(self, name: str, query: str, batch: int) -> bool:
        """Has this batch been taken? One that cannot be the next is refused."""
        assert self._store.last is not None
        before = self._store.last.sources.get(name)
        if before is not None and before.query != query:
            if name not in self._pipeline.adopt:
                raise self._other_checkpoint(name, before, query)
            before = None
        expected = 0 if before is None else before.batch + 1
        if batch > expected:
            raise TidelogError(
                f"error: source {name}: batch {batch} arrives, and the state has taken "
                f"{'none' if before is None else f'those up to {before.batch}'}\n"
                f"    the state in {self._store.folder} is older than the source's checkpoint: "
                "changes between them are lost\n"
                "    put the state back as it was, or remove state and sinks and start anew"
            )
        return batch < expected

    def _other_checkpoint(self, name: str, before: Taken, query: str) -> TidelogError:
        return TidelogError(
            f"error: source {name}: its checkpoint is not the one that the state was made with\n"
            f"    the state has batches up to {before.batch} of query {before.query}; this is "
            f"query {query}\n"
            f"    put {self._store.folder / 'checkpoint' / name} back; or, if it may be read from "
            f"the beginning again, run once with --adopt {name}"
        )

    def _apply(self, batch: Batch) -> Counted:
        facts = {
            name: self._ledger.counting(name, pa.concat_tables(tables))
            for name, tables in batch.facts.items()
        }
        applied = self._materialisation.apply(facts, batch.rules, batch.texts)
        for name, listed in applied.said.items():
            relation = self._materialisation.schema[name]
            facts[name] = self._ledger.counting(name, of_facts(relation, listed))
        return Counted(facts, applied)

    # Versions.

    def _commit(
        self,
        counted: Counted,
        taken: Mapping[str, Taken],
        cause: str,
        batch: int | None,
        began: float,
    ) -> None:
        store, draft = self._store, self._store.draft()
        for name, table in counted.facts.items():
            if table.num_rows:
                store.add(draft, name, table)
        program = store.last.program if store.last else ""
        if not program or (counted.applied is not None and counted.applied.rules):
            program = store.add_program(draft, self._materialisation.text)
        held = self._stage(draft, counted.applied)
        counts = self._counts(counted.applied)
        made = Commit(0, self._base, program, taken, held, {}, 0, cause, counts)
        made = store.commit(draft, made)
        self._sinks.publish(made.sinks)
        self._tidy_up(made)
        seconds = time.perf_counter() - began
        self._show(Done(made.version, cause, batch, counted.changes, counts, seconds))

    def _counts(self, applied: Applied | None) -> dict[str, tuple[int, int]]:
        if applied is not None:
            return dict(applied.delta.counts)
        return {name: (size, 0) for name, size in self._materialisation.sizes().items() if size}

    def _stage(self, draft: Draft, applied: Applied | None) -> dict[str, Any]:
        """Let the sinks write what they will show."""
        last, now = self._store.last, self._materialisation
        before = last.sinks if last is not None else {}
        names = {sink.relation for sink in self._pipeline.sinks}
        deltas = {n: now.changed(applied, n) for n in names} if applied is not None else {}
        return self._sinks.stage(draft.version, now.schema, before, deltas, now.whole)

    def _tidy_up(self, commit: Commit) -> None:
        store, keep = self._store, self._pipeline.keep
        due = store.wants_snapshot
        if due:
            store.snapshot(self._ledger.worth_keeping)
            self._ledger.prune()
        if due or commit.version % 8 == 0:
            store.clean(keep)
        self._sinks.clean(commit.sinks, keep)

    def _catch_up(self, last: Commit, empty: set[str]) -> None:
        """A version for sinks that are new, or that someone has removed."""
        began = time.perf_counter()
        kept = {name: held for name, held in last.sinks.items() if name not in empty}
        self._store.last = replace(last, sinks=kept)
        nothing = Counted({}, self._materialisation.apply({}))
        self._commit(nothing, last.sources, f"sink {', '.join(sorted(empty))}", None, began)


class Stopped(Exception):
    """The pipeline stops: this batch is left to the next run."""


def _changes_of(relation: Relation, table: Table) -> pa.Table:
    if not relation.arity:
        return signed(relation, [], pa.array([1] * table.size, pa.int8()))
    return fold([insertions(relation, to_arrow(relation, table))])


class StreamLog:
    """What Spark logs of streams. It is silent while an error stops one, which is told once."""

    NAME = "org.apache.spark.sql.execution.streaming"

    def __init__(self, spark: Any) -> None:
        self._log4j = spark.sparkContext._jvm.org.apache.logging.log4j
        self._before = self._log4j.LogManager.getLogger(self.NAME).getLevel()

    def hush(self) -> None:
        logging.getLogger("py4j.clientserver").disabled = True
        self._log4j.core.config.Configurator.setLevel(self.NAME, self._log4j.Level.OFF)

    def restore(self) -> None:
        logging.getLogger("py4j.clientserver").disabled = False
        self._log4j.core.config.Configurator.setLevel(self.NAME, self._before)
