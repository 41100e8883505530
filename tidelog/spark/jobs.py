"""What Spark did during a block: jobs, stages, tasks, and shuffled bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Jobs:
    """Counts the work of a session, of all its threads, while a block runs.

        with Jobs(spark) as ran:
            frame.count()
        print(ran.jobs, ran.shuffled)

    Spark's own store of what it did is read at the end, which takes some milliseconds and needs no
    user interface. The store keeps the last `spark.ui.retainedJobs`; older jobs are counted, but
    not their stages and tasks.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._context: Any = spark.sparkContext._jsc.sc()
        self._first = 0
        self.jobs = 0
        self.stages = 0  # those that ran: Spark skips a stage whose output still exists
        self.tasks = 0
        self.shuffled = 0  # bytes written for other tasks to read

    def record(self) -> dict[str, int]:
        """All counts, for statistics."""
        return {
            "jobs": self.jobs,
            "stages": self.stages,
            "tasks": self.tasks,
            "shuffled": self.shuffled,
        }

    def __enter__(self) -> Self:
        self._first = self._next_job()
        return self

    def __exit__(self, *error: object) -> None:
        last = self._next_job()
        self.jobs = last - self._first
        if not self.jobs:
            return
        self._context.listenerBus().waitUntilEmpty()  # the store records a job a moment later
        store = self._context.statusStore()
        for number in range(self._first, last):
            self._add(store, number)

    def _next_job(self) -> int:
        return int(self._context.dagScheduler().numTotalJobs())

    def _add(self, store: Any, number: int) -> None:
        from py4j.protocol import Py4JJavaError

        try:
            job = store.job(number)
        except Py4JJavaError:  # no longer in the store
            return
        self.stages += job.numCompletedStages()
        self.tasks += job.numCompletedTasks()
        stages = job.stageIds().mkString(",")
        for stage in stages.split(",") if stages else ():
            self.shuffled += store.lastStageAttempt(int(stage)).shuffleWriteBytes()
