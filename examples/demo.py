"""A program, its consequences, and what a change of its facts does to them.

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


def main() -> None:
    title("The program: examples/roads/roads.dl")
    print((HERE / "roads.dl").read_text().strip())

    title("The facts")
    for row in ROADS:
        print(fact("road", row))

    title("What follows: the materialisation")
    announce_compilation()
    began = time.perf_counter()
    before = tl.Database(HERE / "roads.dl", facts={"road": ROADS})
    took = time.perf_counter() - began
    for name in ("reachable_towns", "no_way_back"):
        for row in before[name]:
            print(fact(name, row))
    print(f"and {before.size('reach')} facts of reach; {took:.2f} s, kernels loaded included")

    title('A question: where can one go from Brig?   reach("Brig", town)')
    for (town,) in before.query('reach("Brig", town)'):
        print(town)

    title("The facts change")
    for row in CLOSED:
        print("-" + fact("road", row))
    for row in OPENED:
        print("+" + fact("road", row))

    title("What the change does to the consequences")
    began = time.perf_counter()
    roads = [row for row in ROADS if row not in CLOSED] + OPENED
    after = tl.Database(HERE / "roads.dl", facts={"road": roads})
    changes = [line for name in after for line in difference(name, before, after)]
    took = time.perf_counter() - began
    print("\n".join(changes))
    print(f"{len(changes)} changes; evaluated again in {took:.2f} s: this version computes the new")
    print("consequences from all facts and compares; later versions maintain them instead,")
    print("at a cost that follows the size of the change.")


def difference(name: str, before: tl.Database, after: tl.Database) -> list[str]:
    """How one relation changed, in the notation of changes: `-` what went, `+` what came."""
    if name == "road":
        return []
    old, new = set(before[name]), set(after[name])
    gone = ["-" + fact(name, row) for row in sorted(old - new)]
    return gone + ["+" + fact(name, row) for row in sorted(new - old)]


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
