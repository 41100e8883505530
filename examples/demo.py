"""Materialise a program, change its facts and rules, and print the deltas.

make demo
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import tidelog as tl

HERE = Path(__file__).parent / "roads"
Row = tuple[object, ...]
ROADS: list[Row] = [
    tuple(line.split("\t")) for line in (HERE / "facts" / "road.facts").read_text().splitlines()
]
CLOSED: list[Row] = [("Spiez", "Thun")]
OPENED: list[Row] = [("Domodossola", "Brig"), ("Brig", "Spiez")]
STEPS = "reach(x, z) :- reach(x, y), road(y, z)."


def main() -> None:
    title("The program: examples/roads/roads.dl")
    print((HERE / "roads.dl").read_text().strip())

    title("The facts")
    for row in ROADS:
        print(fact("road", row))

    title("The materialisation")
    began = time.perf_counter()
    db = tl.Database(HERE / "roads.dl", facts={"road": ROADS})
    took = time.perf_counter() - began
    for name in ("reachable_towns", "no_way_back"):
        for row in db[name]:
            print(fact(name, row))
    print(f"and {db.size('reach')} facts of reach; {took:.2f} s, kernels loaded included")

    title('A query: which towns can be reached from Brig?   reach("Brig", town)')
    for (town,) in db.query('reach("Brig", town)'):
        print(town)

    title("Changes of facts, and the resulting delta")
    with db.transaction() as tx:
        tx.delete("road", CLOSED)
        tx.insert("road", OPENED)
    show(tx)

    title("A dry run: the delta of removing a rule")
    with db.transaction(dry_run=True) as tx:
        tx.remove_rule(STEPS)
    for name, (inserted, deleted) in tx.delta.counts.items():
        print(f"{name}: {inserted} inserted, {deleted} deleted")

    title(f"A rule is removed: -{STEPS}")
    with db.transaction() as tx:
        tx.remove_rule(STEPS)
    show(tx)


def show(tx: tl.Transaction) -> None:
    """Print a transaction's delta in the change notation."""
    print(tx.delta)
    print(f"{len(tx.delta)} changes in {tx.seconds * 1000:.1f} ms\n")
    print(tx.report.table())


def fact(name: str, row: Row) -> str:
    """A fact in the syntax of programs.

    >>> fact("reachable_towns", ("Bern", 4))
    'reachable_towns("Bern", 4).'
    """
    return f"{name}({', '.join(json.dumps(value, ensure_ascii=False) for value in row)})."


def title(text: str) -> None:
    print(f"\n== {text}\n", flush=True)


if __name__ == "__main__":
    main()
