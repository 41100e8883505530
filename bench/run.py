"""Measures Tidelog and the other systems on every workload, in one run.

    python -m bench.run [--quick] [--only NAME ...] [--again NAME ...]

A full run writes `bench/results/latest.json` and its part of `docs/figures/benchmarks.md`; one with
`--quick` or `--only` prints the same and leaves the page alone. `--again` measures workloads
of the last full run once more, with all systems, and says so on the page.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

from bench import ours, report
from bench.checksum import Checksum
from bench.measure import Measurement, measure
from bench.report import OURS, Row
from bench.workloads import Workload, workloads

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "figures" / "benchmarks.md"
RUNNERS = (OURS, "duckdb-1", "duckdb-2", "nemo", "clingo", "egglog")
RUNS = 3
SHORT = 10.0  # seconds: longer evaluations are measured once


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.run", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller workloads, limit 20 s")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this workload")
    parser.add_argument("--again", action="append", metavar="NAME", help="measure this once more")
    parser.add_argument("--systems", default=",".join(RUNNERS), help="default: %(default)s")
    parser.add_argument("--limit", type=float, help="seconds per evaluation, 60 by default")
    options = parser.parse_args(arguments)
    limit = options.limit or (20.0 if options.quick else 60.0)
    systems = tuple(options.systems.split(","))

    every = workloads(options.quick)
    names = [workload.name for workload in every]
    again = options.again or []
    if unknown := {*(options.only or []), *again} - set(names):
        parser.error(
            f"unknown workload {', '.join(sorted(unknown))}; expected one of {', '.join(names)}"
        )
    chosen = [w for w in every if not (options.only or again) or w.name in (options.only or again)]

    rows, runs = [], []
    with tempfile.TemporaryDirectory() as scratch:
        warm(Path(scratch), systems)
        for workload in chosen:
            row, found = compare(workload, Path(scratch) / workload.name, systems, limit)
            rows.append(row)
            runs += found
    alone: dict[str, float | None] = {"startup": None, "weight": None}
    if OURS in systems and not options.only and not again:
        alone["startup"] = attempt(ours.startup_seconds)
        facts = 500_000 if options.quick else 5_000_000
        alone["weight"] = attempt(lambda: ours.bytes_per_fact(facts))

    where = machine()
    if again:
        where, rows, alone = merged(rows, every, again)
    checked = report.targets(rows, alone["startup"], alone["weight"])
    text = "\n\n".join([where, report.tables(rows), "\n".join(f"- {target}" for target in checked)])
    print(f"\n{text}")
    if options.quick:
        print("\nThe targets apply to the full workloads; these were smaller ones.")
    full = not options.quick and not options.only and systems == RUNNERS
    name = "latest" if full else "partial"
    save(where, rows, runs, checked, alone, limit, HERE / "results" / name)
    if full:
        report.write_part(PAGE, text)
    return 0 if all(row.equal() for row in rows) else 1


def warm(scratch: Path, systems: tuple[str, ...]) -> None:
    """Fill the kernel cache, so that no measured process compiles."""
    if OURS in systems:
        tiny = next(workload for workload in workloads(quick=True))
        tiny.save(scratch / "warm")
        measure(OURS, scratch / "warm", limit=600.0)


def compare(
    workload: Workload, folder: Path, systems: tuple[str, ...], limit: float
) -> tuple[Row, list[Measurement]]:
    """Systems take turns, so that a busy moment of the machine does not always hit the same one."""
    workload.save(folder)
    row = Row(workload.name, workload.title, workload.kind, workload.fact_count)
    runs = []
    left = list(systems)
    for turn in range(RUNS):
        for system in tuple(left):
            # A peer's answer is compared once, ours every time.
            found = measure(system, folder, limit=limit, answer=turn == 0 or system == OURS)
            row.take(found)
            runs.append(found)
            if turn == 0:
                say(found)
            if found.status != "ok" or found.seconds > SHORT:
                left.remove(system)
    if not row.equal():
        print(f"{workload.name}: OUTPUTS DIFFER", flush=True)
    return row, runs


def say(found: Measurement) -> None:
    figure = f"{found.seconds:.3f} s, {found.facts:,} facts, {found.how}"
    text = figure if found.status == "ok" else f"{found.status} {found.detail}"
    print(f"{found.workload:18}{found.system:16}{text}", flush=True)


def attempt(figure: Callable[[], float]) -> float | None:
    try:
        return figure()
    except subprocess.CalledProcessError as error:
        print(f"{error}\n{error.stderr}", file=sys.stderr)
        return None


def version(package: str) -> str:
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return f"{package} not installed"


def machine() -> str:
    """The machine, the date and the versions, without which figures mean little."""
    packages = ("tidelog", "numba", "duckdb", "nemo-python", "clingo", "egglog")
    model = platform.processor() or platform.machine()
    try:
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        model = info.split("model name")[1].split(":", 1)[1].splitlines()[0].strip()
    except (OSError, IndexError):
        pass
    load = os.getloadavg()[0]
    return (
        f"{datetime.date.today().isoformat()}, {os.cpu_count()} cores ({model}), "
        f"{platform.system()}, load average {load:.1f}, Python {platform.python_version()}, "
        + ", ".join(map(version, packages))
        + f". Best of {RUNS} runs in turns; what takes longer than {SHORT:.0f} s runs once."
    )


def merged(
    rows: list[Row], every: list[Workload], again: list[str]
) -> tuple[str, list[Row], dict[str, float | None]]:
    """The last full run, with these rows replacing its own."""
    last = json.loads((HERE / "results" / "latest.json").read_text(encoding="utf-8"))
    kept = {each["name"]: each["best"] for each in last["workloads"]}
    both = {each["name"]: each.get("duckdb_two_cores") for each in last["workloads"]}
    new = {row.name: row for row in rows}
    found = []
    for workload in every:
        row = Row(workload.name, workload.title, workload.kind, workload.fact_count)
        for measured in kept[workload.name].values():
            outputs = {name: Checksum(*value) for name, value in measured.pop("outputs").items()}
            row.take(Measurement(**measured, outputs=outputs))
        row.two_cores = both[workload.name]
        found.append(new.get(workload.name, row))
    alone = {"startup": last["startup_seconds"], "weight": last["bytes_per_binary_fact"]}
    where = last["machine"].split(" Measured again")[0]
    return f"{where} Measured again after it: {', '.join(again)}.", found, alone


def save(
    where: str,
    rows: list[Row],
    runs: list[Measurement],
    checked: list[report.Target],
    alone: dict[str, float | None],
    limit: float,
    path: Path,
) -> None:
    everything = {
        "machine": where,
        "limit_seconds": limit,
        "startup_seconds": alone["startup"],
        "bytes_per_binary_fact": alone["weight"],
        "targets": [asdict(target) for target in checked],
        "workloads": [
            {
                "name": row.name,
                "title": row.title,
                "facts_in": row.given,
                "equal": row.equal(),
                "duckdb_two_cores": row.two_cores,
                "best": {name: asdict(found) for name, found in row.best.items()},
            }
            for row in rows
        ],
        "runs": [asdict(found) for found in runs],
    }
    path.parent.mkdir(exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
