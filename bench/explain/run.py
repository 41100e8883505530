"""Measures how long explanations take: proofs of random derived facts.

    python -m bench.explain.run [--quick] [--only NAME ...]

A full run writes its part of `docs/figures/explanations.md`; one with any option prints the same
and leaves the page alone.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import dataclass
from pathlib import Path

from bench.report import write_part
from bench.updates.run import machine
from bench.workloads import Workload, workloads
from tidelog import Database
from tidelog.text.writer import value_text

PAGE = Path(__file__).parent.parent.parent / "docs" / "figures" / "explanations.md"
FACTS, WARM = 100, 10  # facts explained, and facts explained before the clock starts
MEDIAN, HIGH = 20.0, 200.0  # milliseconds that half and 95 of 100 proofs should take at most


@dataclass(frozen=True)
class Figures:
    name: str
    facts: int
    median: float  # milliseconds
    high: float  # of which 95 of 100 take less
    sizes: float  # facts of a proof, on average
    minimal: int  # of 100 proofs, those that are known to be as low as possible
    complete: int  # and those that lead down to explicit facts


def measure(workload: Workload, name: str, modules: bool, count: int) -> Figures:
    db = Database(workload.program, facts=workload.facts, modules=modules)
    derived = [(name, row) for name in workload.outputs for row in sample(db, name, count + WARM)]
    chosen = random.Random(7).sample(derived, min(count + WARM, len(derived)))
    times, sizes, minimal, complete = [], 0, 0, 0
    for i, (relation, row) in enumerate(chosen):
        kinds = db.schema[relation].kinds
        text = f"{relation}({', '.join(map(value_text, row, kinds))})"
        began = time.perf_counter()
        proof = db.why(text)
        if i >= WARM:
            times.append(1000 * (time.perf_counter() - began))
            sizes += len(proof)
            minimal += proof.minimal
            complete += proof.complete
    times.sort()
    n = len(times)
    return Figures(
        name,
        sum(map(db.size, db.relations)),
        times[n // 2],
        times[n * 95 // 100],
        sizes / n,
        100 * minimal // n,
        100 * complete // n,
    )


def sample(db: Database, relation: str, count: int) -> list[tuple[object, ...]]:
    table = db.core.store.table(relation)
    picked = random.Random(11).sample(range(table.size), min(count, table.size))
    columns = [column.tolist() for column in table.columns]
    return [tuple(column[i] for column in columns) for i in picked]


def cases(quick: bool) -> list[tuple[str, Workload, bool]]:
    """Every workload with modules, and linear closures without them, too."""
    found = []
    for each in workloads(quick):
        found.append((each.name, each, True))
        if each.name.endswith("-linear"):
            found.append((f"{each.name}, no modules", each, False))
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.explain.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small workloads of the same shape")
    parser.add_argument("--only", action="append", metavar="NAME", help="only these cases")
    options = parser.parse_args(arguments)
    known = cases(options.quick)
    names = [name for name, _, _ in known]
    if unknown := [name for name in options.only or () if name not in names]:
        parser.error(f"unknown case {', '.join(unknown)}; expected one of {', '.join(names)}")
    found = []
    for name, workload, modules in known:
        if not options.only or name in options.only:
            found.append(measure(workload, name, modules, 20 if options.quick else FACTS))
            print(found[-1], flush=True)
    where = machine()
    print(page(where, found))
    if not (options.quick or options.only):
        write_part(PAGE, page(where, found))
    return 0


def page(where: str, found: list[Figures]) -> str:
    """The text of a run's page, in Markdown."""
    lines = [
        where,
        "",
        f"Targets: half of the proofs within {MEDIAN:g} ms, 95 of 100 within {HIGH:g} ms.",
        "",
        "| workload | facts | median | 95 of 100 | facts of a proof | minimal | complete |",
        "| --- | --: | --: | --: | --: | --: | --: |",
    ]
    lines += [
        f"| {f.name} | {f.facts:,} | {f.median:.1f} ms | {f.high:.1f} ms | {f.sizes:.1f} "
        f"| {f.minimal} % | {f.complete} % |"
        for f in found
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
