"""Parts that stay with their Python workers from round to round.

A worker that has followed a part needs only what is new; another one has to derive everything
again. Spark gives a task to the worker that has waited longest, and so would swap the workers of
parts whenever one finishes before another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

    Parts = RDD[Any]

T = TypeVar("T")
WORKERS = "TIDELOG_WORKERS"
PINNED = 32  # parts: with more of them, stages of one task each would take longer than they save


def by_own_workers(parts: Parts, make: Callable[[Parts, int], T]) -> list[T]:
    """The result of each part, by a Python worker that has this part alone, or of all parts at once
    if they are many. `make` is given parts, and the number of the first."""
    context = parts.context
    count = parts.getNumPartitions()
    if count > PINNED:
        with _workers(context, "parts"):
            return [make(parts, 0)]
    made = []
    for part in range(count):
        with _workers(context, f"part {part}"):
            made.append(make(_alone(parts, part), part))
    return made


@contextmanager
def _workers(context: SparkContext, name: str) -> Iterator[None]:
    """Tasks created in the block run in Python workers of this name only."""
    context.environment[WORKERS] = name  # workers with another environment are others
    try:
        yield
    finally:
        del context.environment[WORKERS]


def _alone(parts: Parts, part: int) -> Parts:
    from pyspark import RDD

    context = parts.context
    java: Any = context._jvm
    only = java.PythonUtils.toSeq([part]).toSet()  # a Scala set is a function, too
    pruned = java.org.apache.spark.rdd.PartitionPruningRDD.create(parts._jrdd.rdd(), only)
    return RDD(pruned.toJavaRDD(), context, parts._jrdd_deserializer)
