"""On a cluster: code is shipped, and nothing of the driver is assumed where it runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.spark.cluster import Cluster

pytestmark = pytest.mark.slow

# Every partition holds some roots of a forest of chains, and tells what it can reach from them.
CLOSURE = """
import json, os, tempfile
from tidelog.spark.jobs import Jobs

chains = spark.range(40, numPartitions=2)

def reached(batches):
    import os
    import time
    import pyarrow as pa
    from tidelog import Database
    from pyspark import TaskContext
    partition = TaskContext.get().partitionId()
    open(os.path.join(meeting, str(partition)), "w").close()
    while len(os.listdir(meeting)) < 2:  # an executor takes one partition at a time
        time.sleep(0.05)
    db = Database('''
        .decl edge(x: number, y: number)
        .decl path(x: number, y: number)
        path(x, y) :- edge(x, y).
        path(x, z) :- path(x, y), edge(y, z).
    ''')
    roots = [10 * root for batch in batches for root in batch.column(0).to_pylist()]
    with db.transaction() as tx:
        tx.insert("edge", [(root + i, root + i + 1) for root in roots for i in range(5)])
    rows = list(db["path"])
    yield pa.RecordBatch.from_pydict({
        "x": [x for x, _ in rows],
        "y": [y for _, y in rows],
        "partition": [partition] * len(rows),
        "worker": [os.getpid()] * len(rows),
        "executor": [os.getppid()] * len(rows),
    })

shape = "x long, y long, partition long, worker long, executor long"
with tempfile.TemporaryDirectory() as meeting, Jobs(spark) as ran:
    rows = chains.mapInArrow(reached, shape).collect()
print(json.dumps({
    "driver": os.getpid(),
    "java": spark.sparkContext._gateway.proc.pid,
    "paths": [[row.x, row.y] for row in rows],
    "workers": sorted({(row.partition, row.worker, row.executor) for row in rows}),
    "ran": [ran.jobs, ran.stages, ran.tasks],
}))
"""


def test_two_executors_materialise(cluster: Cluster) -> None:
    told = json.loads(cluster.run(CLOSURE))
    chains = [10 * n for n in range(40)]
    expected = {(r + i, r + j) for r in chains for i in range(6) for j in range(i + 1, 6)}
    assert sorted(map(tuple, told["paths"])) == sorted(expected)
    (first, worker, daemon), (second, other_worker, other_daemon) = told["workers"]
    assert (first, second) == (0, 1)
    # A Python worker's parent is the daemon of its executor: two of them are two executors.
    processes = {worker, other_worker, daemon, other_daemon, told["driver"], told["java"]}
    assert len(processes) == 6
    assert told["ran"] == [1, 1, 2]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux for processes")
def test_a_cluster_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """Even if that is killed."""
    program = (
        "import sys, time; from pathlib import Path; from tests.spark.cluster import Cluster\n"
        "with Cluster(Path(sys.argv[1]), workers=1) as running:\n"
        "    print(*[each.pid for each in running._services], flush=True)\n"
        "    time.sleep(600)\n"
    )
    root = Path(__file__).parent.parent.parent
    owner = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
    )
    assert owner.stdout is not None
    keepers = [int(pid) for pid in owner.stdout.readline().split()]
    assert len(keepers) == 2
    owner.kill()
    owner.wait()
    end = time.monotonic() + 30
    while time.monotonic() < end and not all(map(members_ended, keepers)):
        time.sleep(0.1)
    assert all(map(members_ended, keepers))
    owner.stdout.close()


def members_ended(group: int) -> bool:
    """Has every process of the group ended?"""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            return False
    return True
