"""Measures closures with and without modules, on materialisation and updates, in one run.

    python -m bench.modules.run [--quick] [--only NAME ...] [--limit SECONDS]

A full run writes `bench/results/modules.json`, its part of `docs/figures/modules.md` and the
picture there; one with any option but `--json` prints the same and leaves the page alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from bench import report
from bench.modules import picture, tables
from bench.modules.play import ALGORITHMS, Row, play_apart
from bench.modules.targets import targets
from bench.modules.workloads import cases
from bench.report import Target, write_part
from bench.run import compare, version
from bench.updates.figures import BASE
from bench.updates.run import machine, row_of
from bench.updates.tables import time_of
from bench.workloads import workloads

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "figures" / "modules.md"
RESULTS = ROOT / "bench" / "results" / "modules.json"
PICTURE = "modules.svg"
PEERS = "peers"  # the comparison with other systems, among the names of cases
SYSTEMS = ("tidelog-modules", "duckdb-1", "duckdb-2", "nemo", "clingo", "egglog")
LIMIT = 40.0  # seconds for one step
PEER_LIMIT = 30.0  # the same for other systems
PEAKS = "Peak resident MiB of the process, with all facts materialised."


def main(arguments: list[str] | None = None) -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="bench.modules.run", description=about)
    parser.add_argument("--quick", action="store_true", help="small workloads of the same shape")
    parser.add_argument("--only", action="append", metavar="NAME", help="only these workloads")
    parser.add_argument("--limit", type=float, help=f"seconds for one step, {LIMIT:.0f} by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there, too")
    options = parser.parse_args(arguments)
    limit = options.limit or (10.0 if options.quick else LIMIT)

    every = [*cases(options.quick), PEERS]
    only = options.only or []
    chosen = [name for name in every if any(name.startswith(part) for part in only)]
    if not only:
        # Other systems take minutes even on small workloads.
        chosen = [name for name in every if name != PEERS or not options.quick]
    if unknown := [part for part in only if not any(name.startswith(part) for name in every)]:
        parser.error(f"unknown workload {', '.join(unknown)}; expected one of {', '.join(every)}")

    rows: list[Row] = []
    for name in chosen:
        if name != PEERS:
            rows += shown(play_apart(name, options.quick, limit))
    peers = beside_peers(options.quick) if PEERS in chosen else []
    checked = targets(rows, peers)
    where = machine()
    print("\n" + page(where, rows, peers, checked, None))
    if options.quick:
        print("\nThe targets apply to the full workloads; these were smaller ones.")
    if options.json:
        save(options.json, where, rows, peers, checked, limit)
    if not (options.quick or only or options.limit):
        save(RESULTS, where, rows, peers, checked, limit)
        write_part(PAGE, page(where, rows, peers, checked, draw(rows)))
    wrong = any(row.differing() or row.failed() for row in rows)
    return 1 if wrong or not all(row.equal() for row in peers) else 0


def shown(rows: list[Row]) -> list[Row]:
    """Print the rows of a case at once."""
    for row in rows:
        cells = "  ".join(f"{name} {time_of(row, name)}" for name in ALGORITHMS)
        print(f"{row.name:38} {row.changed():>10,.0f} change:  {cells}  {tables.ours(row)}")
        for name in row.differing():
            print(f"    {name} DIFFERS from {BASE}")
        for name in row.failed():
            print(f"    {name} FAILED: {row.series[name].detail}")
    sys.stdout.flush()
    return rows


def beside_peers(quick: bool) -> list[report.Row]:
    """Non-linear closure in the other systems, and in Tidelog with modules."""
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for workload in workloads(quick):
            if workload.kind == "non-linear":
                folder = Path(scratch) / workload.name
                rows.append(compare(workload, folder, SYSTEMS, PEER_LIMIT)[0])
    return rows


def draw(rows: list[Row]) -> str | None:
    """Write the picture beside the page; return its name if it was written."""
    text = picture.drawn(rows)
    if text is None:
        return None
    (PAGE.parent / PICTURE).write_text(text, encoding="utf-8")
    return PICTURE


def page(
    where: str,
    rows: list[Row],
    peers: list[report.Row],
    checked: list[Target],
    drawn: str | None,
) -> str:
    """The text of a run's page, in Markdown."""
    parts = [where, "\n".join(f"- {target}" for target in checked)]
    if drawn is not None:
        parts += [f"![How many times as fast modules make each step]({drawn})"]
    if rows:
        parts += ["### Times", "Milliseconds.", tables.times(rows)]
        parts += ["### Memory", PEAKS, tables.memory(rows)]
    if peers:
        packages = ", ".join(map(version, ("duckdb", "nemo-python", "clingo", "egglog")))
        parts += ["### Beside other systems", f"Seconds on one core; {packages}."]
        parts += [tables.peers(peers)]
    return "\n\n".join(parts)


def save(
    path: Path,
    where: str,
    rows: list[Row],
    peers: list[report.Row],
    checked: list[Target],
    limit: float,
) -> None:
    everything = {
        "machine": where,
        "limit_seconds": limit,
        "targets": [asdict(target) for target in checked],
        "rows": [row_of(row) for row in rows],
        "peers": [
            {
                "name": row.name,
                "title": row.title,
                "facts_in": row.given,
                "equal": row.equal(),
                "best": {name: asdict(found) for name, found in row.best.items()},
            }
            for row in peers
        ],
    }
    path.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
