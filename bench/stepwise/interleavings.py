"""Explores every interleaving of the examples and of generated cases, and counts them.

    python -m bench.stepwise.interleavings [--cases N] [--first SEED]

`text` returns the table for a page. Exits with 1 if a run ends wrong or never.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bench.report import table
from bench.stepwise.dynamic import Case
from bench.stepwise.dynamic_bf import BackwardForward
from bench.stepwise.dynamic_counting import Counting
from bench.stepwise.dynamic_dred import DRed
from bench.stepwise.examples import CLOSURE, EXAMPLES, generated, graph
from bench.stepwise.explore import Found, Version, explore

VERSIONS: dict[str, Version] = {"DRed": DRed, "counting": Counting, "B/F": BackwardForward}
CASES = 400
CLOSURES = 5  # graphs of three nodes


class Line(NamedTuple):
    title: str
    version: str
    found: tuple[Found, ...]

    def wrong(self) -> int:
        return sum(bool(found.wrong) for found in self.found)


def main(arguments: list[str] | None = None) -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="bench.stepwise.interleavings", description=about)
    parser.add_argument("--cases", type=int, default=CASES, help="how many to generate")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="of the first")
    options = parser.parse_args(arguments)
    lines = explored(range(options.first, options.first + options.cases))
    print(text(lines))
    for line in lines:
        for found in line.found:
            if found.wrong:
                print(f"\n{line.title}, {line.version}: {found.wrong[0]}")
    return 1 if any(line.wrong() for line in lines) else 0


def explored(seeds: Iterable[int]) -> list[Line]:
    seeds = list(seeds)
    sets: dict[str, list[Case]] = {f"Example {name}": [case] for name, case in EXAMPLES.items()}
    closures = [graph(seed, CLOSURE, nodes=3, count=2, most=1) for seed in range(CLOSURES)]
    sets[f"closures of {CLOSURES} graphs"] = closures
    if seeds:
        sets[f"{len(seeds):,} generated cases"] = [generated(seed) for seed in seeds]
    return [
        Line(title, name, tuple(explore(version, case) for case in cases))
        for title, cases in sets.items()
        for name, version in VERSIONS.items()
    ]


def text(lines: Sequence[Line]) -> str:
    """States and runs by case and version, in Markdown."""
    rows = [
        [
            line.title,
            line.version,
            f"{sum(found.states for found in line.found):,}",
            many(sum(found.paths for found in line.found)),
            str(line.wrong()),
            "yes" if all(found.complete for found in line.found) else "no",
        ]
        for line in lines
    ]
    return table(["case", "version", "states", "runs", "wrong cases", "complete"], rows)


def many(number: int) -> str:
    """
    >>> many(1234), many(12_345_678_901)
    ('1,234', '1.2e+10')
    """
    return f"{number:,}" if number < 10**9 else f"{number:.1e}"


if __name__ == "__main__":
    sys.exit(main())
