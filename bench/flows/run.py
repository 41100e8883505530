"""Measures streams of updates: marking, fully dynamic updates, and long streams, in one run.

    python -m bench.flows.run [--quick] [--only NAME ...] [--json FILE]

A full run writes `bench/results/streams.json`, its part of `docs/figures/streams.md` and the
pictures there; one with any option but `--json` prints the same and leaves the page alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.flows import bursts, effects, endless, marks, picture, tables, targets
from bench.report import Target, write_part
from bench.stepwise import play as stepwise
from bench.stepwise import tables as stepwise_tables
from bench.updates.run import machine
from bench.updates.tables import factor, milliseconds

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "figures" / "streams.md"
RESULTS = ROOT / "bench" / "results" / "streams.json"
PICTURES = {"bursts": "streams-bursts.svg", "effects": "streams-effects.svg"}
PARTS = ("marks", "stepwise", "bursts", "effects", "endless")
QUICK_TABLES = ("trans-recorded", "seq-recorded")  # the others take long in any case


@dataclass
class Found:
    """The rows of a run."""

    marks: list[marks.Row] = field(default_factory=list)
    stepwise: list[stepwise.Row] = field(default_factory=list)
    bursts: list[bursts.Row] = field(default_factory=list)
    effects: list[effects.Row] = field(default_factory=list)
    endless: list[endless.Row] = field(default_factory=list)

    def right(self) -> bool:
        equal = [row.equal for row in self.marks] + [row.equal for row in self.bursts]
        equal += [row.equal for row in self.endless]
        return all(equal) and all(row.right for row in self.stepwise)

    def targets(self) -> list[Target]:
        checked: list[Target] = []
        if self.marks:
            checked += targets.of_marks(self.marks)
        if self.bursts:
            checked += targets.of_bursts(self.bursts)
        if self.effects:
            checked += targets.of_effects(self.effects)
        if self.endless:
            checked += targets.of_long_streams(self.endless)
        return checked


def main(arguments: list[str] | None = None) -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="bench.flows.run", description=about)
    parser.add_argument("--quick", action="store_true", help="small workloads of the same shape")
    parser.add_argument("--only", action="append", choices=PARTS, help="only these parts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there, too")
    options = parser.parse_args(arguments)

    found = Found()
    for part in options.only or PARTS:
        MEASURE[part](found, options.quick)
    where = machine()
    print("\n" + page(where, found, {}))
    if options.quick:
        print("\nThe targets apply to the full workloads; these were smaller ones.")
    if options.json:
        save(options.json, where, found)
    if not (options.quick or options.only):
        save(RESULTS, where, found)
        write_part(PAGE, page(where, found, draw(found)))
    return 0 if found.right() else 1


def say(line: str) -> None:
    print(line, flush=True)


def measure_marks(found: Found, quick: bool) -> None:
    for row in marks.measured(quick):
        found.marks.append(row)
        say(
            f"marks     {row.name}: {row.fewer():.0f} % fewer instances, "
            f"{milliseconds(row.marking.seconds)} ms, "
            f"sequential {milliseconds(row.sequential.seconds)} ms"
        )


def measure_stepwise(found: Found, quick: bool) -> None:
    names = QUICK_TABLES if quick else tuple(stepwise_tables.PLANS)
    for row in stepwise_tables.measured(names, quick):
        found.stepwise.append(row)
        say(f"stepwise  {row.table} {row.label}, {row.algorithm}: {row.reduction():.1f} % less CPU")


def measure_bursts(found: Found, quick: bool) -> None:
    for row in bursts.measured(quick):
        found.bursts.append(row)
        plain, dynamic = (milliseconds(row.sides[name].seconds) for name in bursts.POLICIES)
        say(
            f"bursts    {row.name}: {row.updates} updates, sequential {plain} ms, fully dynamic "
            f"{dynamic} ms, {factor(row.factor())}"
        )


def measure_effects(found: Found, quick: bool) -> None:
    for row in effects.measured(quick):
        found.effects.append(row)
        median, most = (milliseconds(row.percentile(percent)) for percent in (50, 100))
        say(
            f"effects   {row.policy}, {row.size:,} facts in flight for {milliseconds(row.flight)} "
            f"ms: first effect after {median} ms, at most {most} ms"
        )


def measure_endless(found: Found, quick: bool) -> None:
    for row in endless.measured(quick):
        found.endless.append(row)
        say(
            f"endless   {row.policy}: {row.updates:,} updates, {row.per_second:,.0f}/s, memory "
            f"grows by {row.growth() / tables.MEBI:.1f} MiB"
        )


MEASURE: dict[str, Callable[[Found, bool], None]] = {
    "marks": measure_marks,
    "stepwise": measure_stepwise,
    "bursts": measure_bursts,
    "effects": measure_effects,
    "endless": measure_endless,
}


def draw(found: Found) -> dict[str, str]:
    """Write the pictures beside the page; return the names of those written."""
    texts = {
        "bursts": picture.factors(found.bursts),
        "effects": picture.first_effects(found.effects),
    }
    drawn = {name: text for name, text in texts.items() if text is not None}
    for name, text in drawn.items():
        (PAGE.parent / PICTURES[name]).write_text(text, encoding="utf-8")
    return {name: PICTURES[name] for name in drawn}


def page(where: str, found: Found, drawn: dict[str, str]) -> str:
    """The text of a run's page, in Markdown."""
    parts = [where]
    if checked := found.targets():
        parts.append("\n".join(f"- {target}" for target in checked))
    if found.bursts:
        parts += ["### Updates that undo others", tables.undoing(found.bursts)]
        if "bursts" in drawn:
            parts.append(f"![Sequential against fully dynamic]({drawn['bursts']})")
    if found.effects:
        parts += ["### First effects", tables.first_effects(found.effects)]
        if "effects" in drawn:
            parts.append(f"![First effect against the update in flight]({drawn['effects']})")
    if found.endless:
        parts += ["### Many small updates", tables.long_streams(found.endless)]
    if found.marks:
        parts += ["### Marking in the engine", tables.marking(found.marks)]
    if found.stepwise:
        parts += ["### Marking, one rule application at a time"]
        parts += [stepwise_tables.text(found.stepwise)]
    return "\n\n".join(parts)


def save(path: Path, where: str, found: Found) -> None:
    everything = {
        "machine": where,
        "targets": [asdict(target) for target in found.targets()],
        **{name: [asdict(row) for row in rows] for name, rows in vars(found).items()},
        "stepwise": stepwise_tables.figures(found.stepwise, where),
    }
    path.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
