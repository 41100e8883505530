"""Measures every maintenance algorithm on updates, beside recomputing, in one run.

    python -m bench.updates.run [--quick] [--only NAME ...] [--algorithms NAME,NAME]

A full run writes `bench/results/updates.json`, its part of `docs/figures/updates.md` and the plots
there; one with any option but `--json` prints the same and leaves the page alone.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path

from bench.report import Target, write_part
from bench.run import version
from bench.updates import tables
from bench.updates.figures import AUTO, BASE, Row
from bench.updates.play import play
from bench.updates.scenes import Scene, scenes
from bench.updates.targets import targets
from tidelog.maintain.driver.algorithms import ALGORITHMS

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "figures" / "updates.md"
RESULTS = ROOT / "bench" / "results" / "updates.json"
# Only auto uses closure modules here; `bench.modules` measures others that do, and `bench.dbsp`
# circuits.
PLAIN = tuple(
    name for name in ALGORITHMS if not name.endswith("-mod") and not name.startswith("dbsp")
)
PLOTS = {"scale": "updates-scale.svg", "rules": "updates-rules.svg"}


def main(arguments: list[str] | None = None) -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="bench.updates.run", description=about)
    parser.add_argument("--quick", action="store_true", help="small workloads, few changes")
    parser.add_argument("--only", action="append", metavar="NAME", help="only these workloads")
    parser.add_argument("--algorithms", help=f"of {','.join(PLAIN)}; {BASE} always runs")
    parser.add_argument("--limit", type=float, help="seconds for one update, 8 by default")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there, too")
    options = parser.parse_args(arguments)
    limit = options.limit or (5.0 if options.quick else 8.0)

    every = scenes(options.quick)
    only = options.only or []
    chosen = [name for name in every if not only or any(name.startswith(part) for part in only)]
    if unknown := [part for part in only if not any(name.startswith(part) for name in every)]:
        parser.error(f"unknown workload {', '.join(unknown)}; expected one of {', '.join(every)}")
    asked = options.algorithms.split(",") if options.algorithms else list(PLAIN)
    if missing := [name for name in asked if name not in PLAIN]:
        parser.error(f"unknown algorithm {', '.join(missing)}; expected one of {', '.join(PLAIN)}")
    algorithms = [name for name in PLAIN if name in asked or name == BASE]
    algorithms.sort(key=lambda name: (name != BASE, name == AUTO))

    rows: list[Row] = []
    for name in chosen:
        for scene in every[name]():
            rows += shown(scene, algorithms, limit)
    checked = targets(rows)
    where = machine()
    print("\n" + page(where, rows, algorithms, checked, {}))
    if options.quick:
        print("\nThe targets apply to the full workloads; these were smaller ones.")
    if options.json:
        save(options.json, where, rows, checked, limit)
    if not (options.quick or only or options.algorithms or options.limit):
        save(RESULTS, where, rows, checked, limit)
        write_part(PAGE, page(where, rows, algorithms, checked, draw(rows, algorithms)))
    return 1 if any(row.differing() or row.failed() for row in rows) else 0


def shown(scene: Scene, algorithms: list[str], limit: float) -> list[Row]:
    """Plays a scene, and prints its rows at once."""
    rows = play(scene, algorithms, limit)
    for row in rows:
        cells = "  ".join(f"{name} {tables.cell(row, name)}" for name in algorithms)
        print(f"{row.name:38} {row.facts:>9,} facts, {row.changed():>7,.0f} change:  {cells}")
        for name in row.differing():
            print(f"    {name} DIFFERS from {BASE}")
        for name in row.failed():
            print(f"    {name} FAILED: {row.series[name].detail}")
    sys.stdout.flush()
    return rows


def machine() -> str:
    """The machine, the date and the versions, without which figures mean little."""
    return (
        f"{datetime.date.today().isoformat()}, {os.cpu_count()} cores ({processor()}), "
        f"{platform.system()}, load average {os.getloadavg()[0]:.1f}, "
        f"Python {platform.python_version()}, {version('tidelog')}, {version('numba')}, "
        f"{version('numpy')}."
    )


def processor() -> str:
    try:
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        return info.split("model name")[1].split(":", 1)[1].splitlines()[0].strip()
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def draw(rows: list[Row], algorithms: list[str]) -> dict[str, str]:
    """Write the plots beside the page; return the names of those written."""
    texts = {"scale": tables.scale_plot(rows, algorithms), "rules": tables.rule_plot(rows)}
    drawn = {name: text for name, text in texts.items() if text is not None}
    for name, text in drawn.items():
        (PAGE.parent / PLOTS[name]).write_text(text, encoding="utf-8")
    return {name: PLOTS[name] for name in drawn}


def page(
    where: str,
    rows: list[Row],
    algorithms: list[str],
    checked: list[Target],
    plots: dict[str, str],
) -> str:
    """The text of a run's page, in Markdown."""
    parts = [where, "\n".join(f"- {target}" for target in checked)]
    parts += ["### Times", tables.times(rows, algorithms)]
    if first := tables.first_times(rows, algorithms):
        parts += ["### The first time", first]
    if "scale" in plots:
        parts += ["### Cost follows the change", f"![Time against size]({plots['scale']})"]
    if rules := tables.rule_changes(rows):
        parts += ["### Adding and removing rules", rules]
    if "rules" in plots:
        parts += [f"![Time against facts that change]({plots['rules']})"]
    parts += ["### The papers' numbers", tables.numbers(rows)]
    if choices := tables.choices(rows):
        parts += ["### What auto chose", choices]
    return "\n\n".join(parts)


def save(path: Path, where: str, rows: list[Row], checked: list[Target], limit: float) -> None:
    everything = {
        "machine": where,
        "limit_seconds": limit,
        "targets": [asdict(target) for target in checked],
        "rows": [row_of(row) for row in rows],
    }
    path.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")


def row_of(row: Row) -> dict[str, object]:
    """A row without its states, which agree or are reported."""
    return {
        **{name: value for name, value in vars(row).items() if name != "series"},
        "differing": row.differing(),
        "series": {
            name: {
                "status": row.status(name),
                "detail": series.detail,
                "stopped": sorted(series.stopped),
                "seconds": row.seconds(name),
                "samples": [asdict(sample) for sample in series.samples],
            }
            for name, series in row.series.items()
        },
    }


if __name__ == "__main__":
    sys.exit(main())
