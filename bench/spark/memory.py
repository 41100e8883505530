"""A closure with more facts than fit into the heap: that it completes, and its memory."""

from __future__ import annotations

import numpy as np

from bench import data
from bench.spark import apart
from bench.spark.figures import Row, Rows, Say

HEAP = "512m"
WORD = 8  # bytes of a column of a fact
STEP = "materialise"
NODES = {False: 8_300, True: 300}
EXPECTED = "expected paths"


def measured(quick: bool, say: Say) -> Rows:
    nodes = NODES[quick]
    asked = {"system": "pivot", "nodes": nodes, "copies": 1, "summed": True}
    rows, peaks, wrong = apart.ask("local[2]", {"spark.driver.memory": HEAP}, [asked])
    row = rows[0] if rows else Row(f"{nodes:,} nodes", STEP, "pivot", status="failed")
    if wrong:
        row.status, row.detail = "failed", wrong
    row.step = STEP
    row.more = {f"{kind} bytes": float(size) for kind, size in peaks.items()}
    row.more["bytes of facts"] = float(2 * WORD * row.facts)
    row.more[EXPECTED] = float(paths(apart.graph(nodes)))
    say(row)
    return [row]


def paths(edges: data.Rows) -> int:
    """How many pairs of nodes are connected by a path, computed without anything that is measured
    here: sets of nodes as bits, united along the edges until none grows.

    >>> paths(np.array([[0, 1], [1, 2], [2, 1]]))
    6
    """
    nodes = int(edges.max(initial=-1)) + 1
    reached = np.zeros((nodes, (nodes + 63) // 64), dtype=np.uint64)
    starts, ends = edges[:, 0], edges[:, 1]
    bits = np.uint64(1) << (ends % 64).astype(np.uint64)
    np.bitwise_or.at(reached, (starts, ends // 64), bits)
    successors = [ends[starts == node] for node in range(nodes)]
    before = -1
    while (count := int(np.bitwise_count(reached).sum())) > before:
        before = count
        for node, next_ones in enumerate(successors):
            reached[node] |= np.bitwise_or.reduce(reached[next_ones], axis=0)
    return count


def right(row: Row) -> bool:
    """Whether all paths were there when they were read again."""
    return row.done and float(row.sums.get("path", [0])[0]) == row.more.get(EXPECTED)
