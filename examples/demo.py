"""A program, its consequences, and what changes of its facts and rules do to them.

make demo
"""

from __future__ import annotations

import json
import sys
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

    title("What follows: the materialisation")
    announce_compilation()
    began = time.perf_counter()
    db = tl.Database(HERE / "roads.dl", facts={"road": ROADS})
    took = time.perf_counter() - began
    for name in ("reachable_towns", "no_way_back"):
        for row in db[name]:
            print(fact(name, row))
    print(f"and {db.size('reach')} facts of reach; {took:.2f} s, kernels loaded included")

    title('A question: where can one go from Brig?   reach("Brig", town)')
    for (town,) in db.query('reach("Brig", town)'):
        print(town)

    title("Facts change, and the consequences with them")
    with db.transaction() as tx:
        tx.delete("road", CLOSED)
        tx.insert("road", OPENED)
    show(tx)

    title("What would it mean to go one step only? A rule's removal, tried out")
    with db.transaction(dry_run=True) as tx:
        tx.remove_rule(STEPS)
    counts = {name: f"{came} come, {went} go" for name, (came, went) in tx.delta.counts.items()}
    print("\n".join(f"{name}: {text}" for name, text in counts.items()))

    title(f"A rule goes: -{STEPS}")
    with db.transaction() as tx:
        tx.remove_rule(STEPS)
    show(tx)


def show(tx: tl.Transaction) -> None:
    """A transaction's delta, in the notation of changes: `-` what went, `+` what came."""
    print(tx.delta)
    print(f"{len(tx.delta)} changes in {tx.seconds * 1000:.1f} ms\n")
    print(tx.report.table())


def fact(name: str, row: Row) -> str:
    """A fact as programs write it.

    >>> fact("reachable_towns", ("Bern", 4))
    'reachable_towns("Bern", 4).'
    """
    return f"{name}({', '.join(json.dumps(value, ensure_ascii=False) for value in row)})."


def announce_compilation() -> None:
    from tidelog.engines.local import cache

    if sys.stderr.isatty() and not cache.is_warm():
        print("compiling kernels, once: about 20 seconds ...", file=sys.stderr, flush=True)


def title(text: str) -> None:
    print(f"\n== {text}\n", flush=True)


if __name__ == "__main__":
    main()
