"""Measures ontologies: universities materialised, then changed, beside other reasoners.

    python -m bench.rdf.run [--quick] [--only SYSTEM ...] [--universities N ...] [--limit SECONDS]

A run of all systems writes `bench/results/rdf.json` and its part of `docs/figures/rdf.md`; one with
`--quick`, `--only` or `--limit` prints the same and leaves the page alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from bench.rdf.apart import Run, played
from bench.rdf.generate import lubm, ontology
from bench.rdf.page import page
from bench.rdf.systems import OURS, PEERS
from bench.rdf.targets import targets
from bench.report import write_part
from bench.updates.run import machine
from tidelog.rdf import Triple

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "figures" / "rdf.md"
RESULTS = ROOT / "bench" / "results" / "rdf.json"
SIZES = {False: (1, 10, 50), True: (1,)}
LIMIT = {False: 300.0, True: 60.0}  # seconds for a step
MEMORY = 12 << 30  # bytes of a process
# A peer that took this long on fewer universities is not given more.
PATIENCE = 300.0
DEPARTMENT, FEW = 7000, 20  # triples


def main(arguments: list[str] | None = None) -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="bench.rdf.run", description=about)
    parser.add_argument("--quick", action="store_true", help="one university, few changes")
    parser.add_argument("--only", action="append", choices=(*OURS, *PEERS), help="these systems")
    parser.add_argument("--universities", action="append", type=int, help="1, 10 and 50 by default")
    parser.add_argument("--limit", type=float, help="seconds for one step, 300 by default")
    parser.add_argument("--memory", type=float, help="GB of a process, 12 by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there, too")
    options = parser.parse_args(arguments)
    usual = not (options.quick or options.only or options.limit)
    sizes = options.universities or SIZES[options.quick]
    limit = options.limit or LIMIT[options.quick]
    memory = int((options.memory or MEMORY / (1 << 30)) * (1 << 30))
    runs: list[Run] = []
    with tempfile.TemporaryDirectory() as folder:
        for universities in sizes:
            given = written(Path(folder), universities)
            for system in options.only or (*OURS, *PEERS):
                if not too_slow(runs, system):
                    run = Run(system, universities, given)
                    files = files_for(system, Path(folder))
                    runs.append(played(run, files, limit, memory, options.quick))
                    shown(runs[-1])
    where = machine()
    print("\n" + page(where, runs))
    if options.json:
        save(options.json, where, runs)
    if usual:
        save(RESULTS, where, runs)
        write_part(PAGE, page(where, runs))
    return 0 if all(run.status != "failed" for run in runs) else 1


def written(folder: Path, universities: int) -> int:
    """Write the ontology, the universities and the warm-up data; return how many triples the
    universities have."""
    (folder / "ontology.ttl").write_text(ontology("univ-bench"), encoding="utf-8")
    write_lines(folder / "department.ttl", islice(lubm(1), DEPARTMENT))
    write_lines(folder / "few.ttl", islice(lubm(1), FEW))
    return write_lines(folder / "data.ttl", lubm(universities))


def files_for(system: str, folder: Path) -> list[Path]:
    """Ours warms up kernels and plans with a department; peers only have to be imported."""
    warm = "department.ttl" if system in OURS else "few.ttl"
    return [folder / name for name in ("ontology.ttl", "data.ttl", warm)]


def write_lines(path: Path, triples: Iterable[Triple]) -> int:
    """N-Triples, which are Turtle, too: not every peer reads files that end in `.nt`."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for triple in triples:
            file.write(f"{' '.join(triple)} .\n")
            count += 1
    return count


def too_slow(runs: list[Run], system: str) -> bool:
    mine = [run for run in runs if run.system == system]
    if not mine or system in OURS:
        return any(run.status == "memory" for run in mine)
    return mine[-1].status != "ok" or (mine[-1].total or 0) > PATIENCE


def shown(run: Run) -> None:
    total = "" if run.total is None else f"{run.total:.2f} s"
    print(f"LUBM-{run.universities} {run.system:20} {run.status:8} {total} {run.detail}")
    sys.stdout.flush()


def save(path: Path, where: str, runs: list[Run]) -> None:
    everything = {
        "machine": where,
        "targets": [asdict(target) for target in targets(runs)],
        "runs": [asdict(run) for run in runs],
    }
    path.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
