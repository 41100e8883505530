"""Measures what constructs of the language cost or save, compared with programs without them.

    python -m bench.language.run [--quick] [--only NAME ...]

A full run writes `bench/results/language.json` and its part of `docs/figures/language.md`; one
with any option prints the same and leaves the page alone.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from bench.language import axioms, extremes, goal, points_to
from bench.language.cases import Case, Figures
from bench.report import write_part
from bench.updates.run import machine

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "figures" / "language.md"
RESULTS = ROOT / "bench" / "results" / "language.json"
CASES = (Case("points-to", points_to.measure), *goal.CASES, *extremes.CASES, *axioms.CASES)


def main(arguments: list[str] | None = None) -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="bench.language.run", description=about)
    parser.add_argument("--quick", action="store_true", help="small workloads of the same shape")
    parser.add_argument("--only", action="append", metavar="NAME", help="only these cases")
    options = parser.parse_args(arguments)
    names = [case.name for case in CASES]
    if unknown := [name for name in options.only or () if name not in names]:
        parser.error(f"unknown case {', '.join(unknown)}; expected one of {', '.join(names)}")
    chosen = [case for case in CASES if not options.only or case.name in options.only]
    found = [case.measure(options.quick) for case in chosen]
    where = machine()
    print(page(where, found))
    if options.quick:
        print("\nThe targets apply to the full workloads; these were smaller ones.")
    if not (options.quick or options.only):
        rows = [asdict(each) for each in found]
        text = json.dumps({"machine": where, "cases": rows}, indent=1)
        RESULTS.write_text(text + "\n", encoding="utf-8")
        write_part(PAGE, page(where, found))
    return 0


def page(where: str, found: list[Figures]) -> str:
    """The text of a run's page, in Markdown."""
    lines = [where, "", *(f"- {each.target}" for each in found), ""]
    lines += [
        "| case | facts | derived | form | seconds | beside |",
        "| --- | --: | --: | --- | --: | --- |",
    ]
    for each in found:
        (one, other), (mine, beside) = each.names, each.seconds
        lines.append(
            f"| {each.case} | {each.given:,} | {each.derived:,} | {one} | {mine:.3f} "
            f"| {other}: {beside:.3f} s |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
