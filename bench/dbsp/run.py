"""Measures the circuit: its index, updates, memory, single facts and rules, in one run.

    python -m bench.dbsp.run [--quick] [--only NAME ...] [--limit SECONDS] [--pydbsp PYTHON]

A full run writes `bench/results/dbsp.json`, its part of `docs/figures/dbsp.md` and the pictures
there; one with any option but `--json` and `--pydbsp` prints the same and leaves the page alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from bench.dbsp import apart, cases, figures, picture, souffle, tables
from bench.dbsp.apart import Run
from bench.dbsp.cases import Case, Step, updating
from bench.dbsp.figures import Row
from bench.dbsp.found import CIRCUIT, PLAIN, Found, Systems
from bench.dbsp.page import page
from bench.dbsp.play import PEER, Play
from bench.report import write_part
from bench.updates.run import machine
from tidelog.maintain.driver.algorithms import ALGORITHMS

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "figures" / "dbsp.md"
RESULTS = ROOT / "bench" / "results" / "dbsp.json"
PICTURES = {"index": "dbsp-index.svg", "updates": "dbsp-updates.svg", "memory": "dbsp-memory.svg"}
PARTS = ("index", "updates", "single", "rules")
LIMIT = {False: 60.0, True: 20.0}  # seconds for a step
MEMORY = 8 << 30  # bytes of a process
PERCENTS = {False: (25, 50, 75, 100), True: (50, 100)}
FIRST = (99, 50)
SINGLE = {False: (20, 4), True: (3, 1)}  # facts of the data, and of the ontology
PEER_FACTS = 2  # each takes the peer as long as materialising
TIMES = {False: 5, True: 2}  # times that a rule is removed and added again
Steps = Callable[[Case], list[Step]]


def main(arguments: list[str] | None = None) -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="bench.dbsp.run", description=about)
    parser.add_argument("--quick", action="store_true", help="small workloads of the same shape")
    parser.add_argument("--only", action="append", choices=PARTS, help="only these parts")
    parser.add_argument("--limit", type=float, help="seconds for one step, 60 by default")
    parser.add_argument("--circuit", default=CIRCUIT, help="the algorithm; default: %(default)s")
    parser.add_argument("--no-index", default=PLAIN, help="without the index; default: %(default)s")
    parser.add_argument(
        "--pydbsp",
        default=sys.executable,
        metavar="PYTHON",
        help="an interpreter that has pydbsp 2 and NumPy; by default the one that runs this",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there, too")
    options = parser.parse_args(arguments)
    names = (options.circuit, options.no_index)
    if missing := [name for name in names if name not in ALGORITHMS]:
        parser.error(
            f"unknown algorithm {', '.join(missing)}; expected one of {', '.join(ALGORITHMS)}"
        )
    bench = Bench(options.quick, options.limit or LIMIT[options.quick], options.pydbsp)

    found = Found(Systems(*names, apart.peer(options.pydbsp), souffle.version()))
    for part in options.only or PARTS:
        MEASURE[part](found, bench)
    where = machine()
    print("\n" + page(where, found, bench.limit, {}))
    if options.quick:
        print("\nThe targets apply to the full workloads; these were smaller ones.")
    if options.json:
        save(options.json, where, found, bench)
    usual = names == (CIRCUIT, PLAIN) and not options.limit
    if usual and not (options.quick or options.only):
        save(RESULTS, where, found, bench)
        write_part(PAGE, page(where, found, bench.limit, draw(found)))
    return 0 if found.right() else 1


@dataclass(frozen=True)
class Bench:
    """The options of a run."""

    quick: bool
    limit: float
    python: str  # the peer's

    def cases(self) -> dict[str, Callable[[], Case]]:
        return cases.cases(self.quick)

    def rows(
        self, case: Case, percent: int, steps: Steps, systems: Sequence[str], plain: str = ""
    ) -> list[Row]:
        """Every system plays the same, and the rows are printed at once. `plain` is the circuit
        without its index. It would take very long: its limit follows from one run of the first of
        the systems, which is the circuit with the index."""
        limits = dict.fromkeys(systems, self.limit)
        if plain:
            (first,) = self.play(case, steps, {systems[0]: self.limit}, 1)[systems[0]]
            limits[plain] = max(apart.LEAST, apart.PATIENCE * first.seconds)
        runs = self.play(case, steps, limits, 1 if self.quick else apart.RUNS)
        return shown(figures.rows(case, percent, steps(case), runs), systems)

    def play(
        self, case: Case, steps: Steps, limits: dict[str, float], runs: int
    ) -> dict[str, list[Run]]:
        """Systems take turns, each with its own limit for a step."""
        whole, small = steps(case), case.small()
        # One per cent of a small case may not reach every kernel; half of it does.
        warm = [*steps(small), *updating(small, 50)]
        plays = []
        for name, limit in limits.items():
            # The peer makes only the first of the changes.
            mine = whole[: 1 + 2 * PEER_FACTS] if name == PEER else whole
            plays.append(Play(name, case.program, mine, warm, limit, MEMORY))
        return apart.in_turns(plays, runs, self.python)


def shown(rows: list[Row], systems: Sequence[str]) -> list[Row]:
    for row in rows:
        cells = "  ".join(f"{name} {tables.time_of(row, name)}" for name in systems)
        print(f"{row.name:46} {row.facts():>9,} facts:  {cells}")
    for name in rows[0].differing():
        print(f"    {name} DIFFERS")
    for name, detail in rows[0].failed().items():
        print(f"    {name} FAILED: {detail}")
    sys.stdout.flush()
    return rows


def measure_index(found: Found, bench: Bench) -> None:
    for make in bench.cases().values():
        case = make()
        for percent in PERCENTS[bench.quick]:
            steps = partial(cases.materialising, percent=percent)
            systems, plain = found.systems.indexed, found.systems.plain
            found.index += bench.rows(case, percent, steps, systems, plain)


def measure_updates(found: Found, bench: Bench) -> None:
    for make in bench.cases().values():
        case = make()
        for percent in FIRST:
            steps = partial(cases.updating, percent=percent)
            found.updates += bench.rows(case, percent, steps, found.systems.updating)


def measure_single(found: Found, bench: Bench) -> None:
    count, words = SINGLE[bench.quick]
    steps = partial(cases.single, count=count, words=words)
    found.single += bench.rows(bench.cases()["rdfs"](), 100, steps, found.systems.single)


def measure_rules(found: Found, bench: Bench) -> None:
    steps = partial(cases.ruling, times=TIMES[bench.quick])
    for name in ("rdfs", "owl"):
        found.rules += bench.rows(bench.cases()[name](), 100, steps, found.systems.updating)


MEASURE: dict[str, Callable[[Found, Bench], None]] = {
    "index": measure_index,
    "updates": measure_updates,
    "single": measure_single,
    "rules": measure_rules,
}


def draw(found: Found) -> dict[str, str]:
    """Write the pictures beside the page; return the names of those written."""
    texts = {
        "index": picture.materialisations(found.index, found.systems.indexed),
        "updates": picture.steps(found.updates, found.systems.updating),
        "memory": picture.memory(found.index, found.systems.indexed),
    }
    drawn = {name: text for name, text in texts.items() if text is not None}
    for name, text in drawn.items():
        (PAGE.parent / PICTURES[name]).write_text(text, encoding="utf-8")
    return {name: PICTURES[name] for name in drawn}


def save(path: Path, where: str, found: Found, bench: Bench) -> None:
    everything = {
        "machine": where,
        "limit_seconds": bench.limit,
        "pydbsp": found.systems.peer,
        "souffle": found.systems.souffle,
        "targets": [asdict(target) for target in found.targets()],
        **{name: [row_of(row) for row in rows] for name, rows in found.parts().items()},
    }
    path.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")


def row_of(row: Row) -> dict[str, object]:
    """A row without its states, which agree or are reported."""
    return {
        **{name: getattr(row, name) for name in ("case", "title", "percent", "step", "given")},
        "facts": row.facts(),
        "differing": row.differing(),
        "systems": {
            name: {
                "status": row.status(name),
                "details": [run.detail for run in runs if run.detail],
                "loaded": row.loaded(name),
                "samples": [
                    {key: getattr(done, key) for key in ("seconds", "cpu", "peak")}
                    for done in row.done(name)
                ],
            }
            for name, runs in row.runs.items()
        },
    }


if __name__ == "__main__":
    sys.exit(main())
