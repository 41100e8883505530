"""A closure whose facts are more than the heap: it completes, and how much memory it takes."""

from __future__ import annotations

from bench.spark import apart
from bench.spark.figures import Row, Rows, Say

HEAP = "512m"
WORD = 8  # bytes of a column of a fact
STEP = "materialise"
NODES = {False: 8_300, True: 300}


def measured(quick: bool, say: Say) -> Rows:
    nodes = NODES[quick]
    asked = {"system": "pivot", "nodes": nodes, "summed": True}
    rows, peaks, wrong = apart.ask("local[2]", {"spark.driver.memory": HEAP}, [asked])
    row = rows[0] if rows else Row(f"{nodes:,} nodes", STEP, "pivot", status="failed")
    if wrong:
        row.status, row.detail = "failed", wrong
    row.step = STEP
    row.more = {f"{kind} bytes": float(size) for kind, size in peaks.items()}
    row.more["bytes of facts"] = float(2 * WORD * row.facts)
    row.more["all pairs"] = float(row.sums.get("path", [0])[0] == nodes**2)
    say(row)
    return [row]
