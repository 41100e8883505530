"""A Java that starts in half the time. It is slower later: right for tests, wrong for data.

Java reads and checks thousands of classes of Spark in each process. An archive has them as they
are in memory; it is made once, and lies in the environment whose Spark it is of.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# One of another Java, or of other classes, is not used; that need not be told.
USES = "-XX:SharedArchiveFile={} -Xlog:cds=off -Xlog:class+path=off"
MAKES = "-XX:ArchiveClassesAtExit={} -Xlog:disable"
ARCHIVE = Path(sys.prefix) / "tidelog-tests.jsa"

# What tests have Spark do, once.
WORK = """
import sys
from tidelog.spark.session import session

folder = sys.argv[1]
spark = session("local[2]")
edges = spark.createDataFrame([(1, "a"), (2, "b")], "x bigint, y string")
edges.createOrReplaceTempView("edge")
paths = spark.sql("select a.x, b.y from edge a join edge b on a.x = b.x").distinct()
paths.join(edges, ["x", "y"], "left_anti").union(edges).groupBy("y").agg({"x": "max"}).toArrow()
paths.repartition(2, "x").mapInArrow(lambda batches: batches, paths.schema).collect()
paths.write.csv(f"{folder}/changes")
paths.write.parquet(f"{folder}/table")
spark.read.parquet(f"{folder}/table").localCheckpoint().count()
(
    spark.readStream.schema("x bigint, y string").csv(f"{folder}/changes").writeStream
    .foreachBatch(lambda batch, n: batch.toArrow())
    .option("checkpointLocation", f"{folder}/checkpoint")
    .trigger(availableNow=True).start().awaitTermination()
)
gateway = spark.sparkContext._gateway
spark.stop()
gateway.proc.stdin.close()
gateway.proc.wait()
"""


def environment() -> dict[str, str]:
    """What Spark's own scripts give to each Java that they start."""
    known = [USES.format(ARCHIVE)] if ARCHIVE.exists() else []
    return {
        "SPARK_LAUNCHER_OPTS": OPTIONS,
        "SPARK_SUBMIT_OPTS": " ".join((OPTIONS, *known)),
    }


def archive() -> None:
    """Make the archive, unless it is there. Without one, Java starts as it always did."""
    if ARCHIVE.exists() or not os.access(ARCHIVE.parent, os.W_OK):
        return
    with tempfile.TemporaryDirectory(dir=ARCHIVE.parent) as folder:
        made = Path(folder) / ARCHIVE.name
        options = f"{OPTIONS} {MAKES.format(made)}"
        around = {**os.environ, **environment(), "SPARK_SUBMIT_OPTS": options}
        subprocess.run([sys.executable, "-c", WORK, folder], cwd=ROOT, env=around, check=False)
        if made.exists():
            made.rename(ARCHIVE)


if __name__ == "__main__":
    archive()
