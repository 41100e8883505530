"""Times work on a Spark session, stops it at a limit, and compares the results."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from bench.checksum import Checksum, checksum
from bench.spark.figures import Row, Sample, Sums
from bench.updates.play import of_relation
from tidelog import Database
from tidelog.program.diagnostics import TidelogError
from tidelog.program.table import Table
from tidelog.spark.jobs import Jobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
LONG = 90.0  # seconds: longer work is done once
COMPARED = 6  # relations whose facts are compared; of all others, only their number


class Late(Exception):
    """The limit was reached."""


def timed(spark: SparkSession | None, work: Callable[[], T]) -> tuple[T, Sample]:
    """The result of some work, and its cost; Spark's jobs are counted if there is a session."""
    tidy(spark)
    with Jobs(spark) if spark is not None else nullcontext() as ran:
        began = time.perf_counter()
        made = work()
        seconds = time.perf_counter() - began
    return made, Sample(seconds, **(ran.record() if ran is not None else {}))


def tidy(spark: SparkSession | None) -> None:
    """Collect garbage now, and not while something is timed."""
    gc.collect()
    if spark is not None:
        spark.sparkContext._jvm.System.gc()  # type: ignore[union-attr]


def repeated(
    row: Row,
    spark: SparkSession | None,
    work: Callable[[], T],
    times: int,
    limit: float | None = None,
) -> T | None:
    """Fill a row with samples; return the last result."""
    made = None
    for _ in range(times):
        made = None  # two would need twice the memory
        try:
            with patience(spark, limit):
                made, sample = timed(spark, work)
        except Late:
            row.status, row.limit = "seconds", limit or 0.0
            return None
        # Spark's errors, or ours: they are recorded, and the run continues
        except Exception as error:
            row.status, row.detail = "failed", first_line(error)
            return None
        row.samples.append(sample)
        if sample.seconds > LONG:
            break
    return made


def first_line(error: Exception) -> str:
    """The error in one line; of Java's errors, the root cause."""
    if isinstance(error, TidelogError):
        text = str(error)
    else:
        cause: Any = getattr(error, "java_exception", None)
        while cause is not None and cause.getCause() is not None:
            cause = cause.getCause()
        text = f"{type(error).__name__}: {error}" if cause is None else str(cause.getMessage())
    return text.strip().partition("\n")[0][:300]


@contextmanager
def patience(spark: SparkSession | None, limit: float | None) -> Iterator[None]:
    """In the block, jobs are cancelled when the limit is reached; then it raises `Late`."""
    if spark is None or limit is None:
        yield
        return
    over, late = threading.Event(), threading.Event()

    def watch() -> None:
        if not over.wait(limit):
            late.set()
            while not over.wait(0.5):  # a new job may begin between two checks
                spark.sparkContext.cancelAllJobs()

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    except Exception as error:
        if late.is_set():
            raise Late from error
        raise
    finally:
        over.set()
        watching.join()


def on_spark(spark: SparkSession, program: str, facts: Any, **options: Any) -> Database:
    return Database(program, facts=facts, engine="spark", spark=spark, **options)


def keep(row: Row, database: Database, relations: Sequence[str] | None = None) -> None:
    """Record a database's facts: how many, and checksums of the largest relations."""
    names = database.relations if relations is None else relations
    sizes = {name: database.size(name) for name in names}
    row.facts = sum(database.size(name) for name in database.relations)
    row.sums = {name: [size] for name, size in sizes.items()}
    largest = sorted(sizes, key=lambda name: (-sizes[name], name))[:COMPARED]
    row.sums |= {name: list(sum_of(database, name)) for name in largest if sizes[name]}


def sum_of(database: Database, name: str) -> Checksum:
    frame = database.core.store.native(name)
    return (
        of_relation(database, name)
        if isinstance(frame, Table)
        else of_frame(database.relation(name).to_spark(frame.sparkSession))
    )


def of_frame(frame: DataFrame) -> Checksum:
    """Computed where the rows are."""
    schema = "size bigint, total string, parity string"
    size = total = parity = 0
    for row in frame.mapInArrow(_sums, schema).collect():
        size += row.size
        total = (total + int(row.total)) % 2**64
        parity ^= int(row.parity)
    return Checksum(size, total, parity)


def _sums(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        found = checksum(np.column_stack(columns).astype(np.int64))
        cells = [[found.size], [str(found.total)], [str(found.parity)]]
        yield pa.RecordBatch.from_arrays(cells, names=["size", "total", "parity"])


def only_sum(name: str, found: Checksum) -> Sums:
    return {name: list(found)}
