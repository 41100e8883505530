"""Measures the Spark engine: closures, components, updates, pipelines, memory, scale.

    python -m bench.spark.run [--quick] [--only PART ...] [--update] [--json FILE]

A full run writes `bench/results/spark.json`, its parts of `docs/figures/spark.md` and
`docs/figures/scale.md`, and the pictures there. `--quick` and `--only` print the same and leave
the pages alone; with `--update`, the parts that were measured take the place of those in the
results, and the pages are written from all of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.report import write_part
from bench.run import version
from bench.spark import (
    batches,
    closure,
    components,
    deletion,
    memory,
    page,
    picture,
    rules,
    scale,
    tables,
)
from bench.spark.figures import Row, Rows, Say, differing, saved
from bench.updates.run import machine
from tidelog.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent.parent
FIGURES = ROOT / "docs" / "figures"
PAGE, SCALE = FIGURES / "spark.md", FIGURES / "scale.md"
RESULTS = ROOT / "bench" / "results" / "spark.json"
PICTURES = {"systems": "spark-systems.svg", "model": "spark-model.svg"}
MEMORY = {"spark.driver.memory": "6g"}  # of the session that most parts share

# Parts that start sessions of their own come first, because they must not share the machine.
APART: dict[str, Callable[[bool, Say], Rows]] = {
    "scale": scale.measured,
    "memory": memory.measured,
}
SHARED: dict[str, Callable[[SparkSession, bool, Say], Rows]] = {
    "closure": closure.measured,
    "components": components.measured,
    "deletion": deletion.measured,
    "batches": batches.measured,
    "rules": rules.measured,
}
PARTS = (*APART, *SHARED)


def main(arguments: list[str] | None = None, spark: SparkSession | None = None) -> int:
    options = parsed(arguments)
    found: dict[str, Rows] = {}
    where = machine()
    for part in PARTS:
        if part in (options.only or PARTS):
            found[part] = measured(part, options.quick, spark)
            if options.json:
                save(options.json, where, found)
    where = f"{where[:-1]}, {version('pyspark')}."
    shown = [page.figures(where, found, {}), page.scales(where, found, {})]
    print("\n" + "\n\n".join(text for text in shown if text))
    if options.quick:
        print("\nThe targets apply to the full workloads; these were smaller ones.")
    if options.json:
        save(options.json, where, found)
    if not options.quick and (options.update or not options.only):
        write(where, {**(kept() if options.update else {}), **found})
    return 0 if right(found) else 1


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="bench.spark.run", description=about)
    parser.add_argument("--quick", action="store_true", help="small workloads of the same shape")
    parser.add_argument("--only", action="append", choices=PARTS, help="only these parts")
    parser.add_argument(
        "--update", action="store_true", help="with --only: keep the results of all other parts"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there, too")
    return parser.parse_args(arguments)


def measured(part: str, quick: bool, spark: SparkSession | None) -> Rows:
    def say(row: Row) -> None:
        many = f" × {len(row.samples)}" if len(row.samples) > 1 else ""
        jobs = f", {row.jobs} jobs" if row.samples and row.jobs else ""
        told = f": {row.detail}" if row.detail else ""
        time = f"{tables.time_of(row)} s{many}" if row.status != "failed" else "failed"
        print(f"{part:11} {row.case}, {row.step}, {row.system}: {time}{jobs}{told}", flush=True)

    if part in APART:
        return APART[part](quick, say)
    return SHARED[part](spark or session(name="tidelog bench", options=MEMORY), quick, say)


def right(found: dict[str, Rows]) -> bool:
    """Whether all systems have the same facts, and none of ours failed."""
    every = [row for rows in found.values() for row in rows]
    foreign = (closure.SQL, components.GRAPHFRAMES)
    failed = [r for r in every if r.status == "failed" and not r.system.startswith(foreign)]
    return not differing(every) and not failed


def write(where: str, found: dict[str, Rows]) -> None:
    save(RESULTS, where, found)
    drawn = draw(found)
    write_part(PAGE, page.figures(where, found, drawn))
    if text := page.scales(where, found, drawn):
        write_part(SCALE, text)


def draw(found: dict[str, Rows]) -> dict[str, str]:
    """Write the pictures beside the pages; return the names of those written."""
    model = page.model_of(found)
    texts = {
        "systems": picture.systems(found.get("closure", [])),
        "model": None if model is None else picture.model(found["scale"], model),
    }
    drawn = {name: text for name, text in texts.items() if text is not None}
    for name, text in drawn.items():
        (PAGE.parent / PICTURES[name]).write_text(text, encoding="utf-8")
    return {name: PICTURES[name] for name in drawn}


def save(path: Path, where: str, found: dict[str, Rows]) -> None:
    everything: dict[str, Any] = {
        "machine": where,
        "targets": [asdict(target) for target in page.checked(found)],
        "parts": {name: saved(rows) for name, rows in found.items()},
    }
    path.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")


def kept(path: Path = RESULTS) -> dict[str, Rows]:
    """The parts of an earlier run."""
    if not path.exists():
        return {}
    parts: dict[str, Sequence[dict[str, Any]]] = json.loads(path.read_text())["parts"]
    return {name: [Row.of(row) for row in rows] for name, rows in parts.items()}


if __name__ == "__main__":
    sys.exit(main())
