"""Tables 1 to 3 of Illich and Glimm (2025), B/F with marking, and the same for DRed.

    python -m bench.stepwise.tables [--quick] [--only TABLE ...] [--repeats N] [--json FILE]

Prints what was checked and the tables in Markdown; `text` returns the same for a page. A full
run writes `bench/results/stepwise.json`.

A mark saves an application, that is one iteration of the algorithm's loop, but no look: when
a deleted fact has its turn, all its instances are looked at, those with a head that is already
known to be affected too. The last columns count both. A look costs little here (`matching.Known`),
so that CPU time follows the applications, and what marks themselves take.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from bench.report import Target, seconds, table
from bench.stepwise import paper, streams
from bench.stepwise.bf_in_turn import InTurn, MarkedFirst
from bench.stepwise.bf_marking import BackwardForward
from bench.stepwise.dred_marking import DeleteRederive
from bench.stepwise.marking import Update
from bench.stepwise.play import Algorithm, Row, play
from bench.updates.run import machine

ROOT = Path(__file__).parent.parent.parent
RESULTS = ROOT / "bench" / "results" / "stepwise.json"
REPEATS = 2  # at least


class Plan(NamedTuple):
    """A table: the streams that make a row, and the paper's figures for it."""

    title: str
    program: str
    first: str  # what a row stands for
    labels: tuple[int, ...]
    seeds: tuple[int, ...]
    stream: Callable[[int, int], tuple[Update, ...]]
    algorithms: tuple[Algorithm, ...]
    printed: dict[int, paper.Printed]


PLANS = {
    "trans": Plan(
        "Table 1, trans: streams generated as the paper's, 50 updates on 20 nodes",
        "path",
        "size",
        streams.SIZES,
        streams.SEEDS,
        lambda size, seed: streams.generated(size, 20, seed),
        (BackwardForward, InTurn, MarkedFirst, DeleteRederive),
        paper.TRANS,
    ),
    "trans-recorded": Plan(
        "Table 1, trans: recorded streams, 20 updates on 108 nodes",
        "path",
        "size",
        streams.SIZES,
        streams.SEEDS,
        streams.recorded,
        (BackwardForward, DeleteRederive),
        {},
    ),
    "seq": Plan(
        "Table 2, seq: streams generated as the paper's, 50 updates on 100 nodes",
        "sequence",
        "size",
        streams.SIZES,
        streams.SEEDS,
        lambda size, seed: streams.generated(size, 100, seed),
        (BackwardForward, DeleteRederive),
        {},
    ),
    "seq-recorded": Plan(
        "Table 2, seq: recorded streams, 20 updates on 108 nodes",
        "sequence",
        "size",
        streams.SIZES,
        streams.SEEDS,
        streams.recorded,
        (BackwardForward, DeleteRederive),
        {},
    ),
    "ways": Plan(
        "Table 3, ways: the paper's three GPS tracks",
        "ways",
        "track",
        streams.TRACKS,
        (0,),
        lambda track, _: streams.track(track),
        (BackwardForward, InTurn, DeleteRederive),
        paper.WAYS,
    ),
}
QUICK = {"trans": (10, 80), "trans-recorded": (10, 80), "seq": (10, 80), "seq-recorded": (10, 80)}


def main(arguments: list[str] | None = None) -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="bench.stepwise.tables", description=about)
    parser.add_argument("--quick", action="store_true", help="few rows, one seed, played once")
    parser.add_argument("--only", action="append", choices=list(PLANS), help="only these tables")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="how often a stream is played")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there, too")
    options = parser.parse_args(arguments)
    rows = []
    for row in measured(options.only or list(PLANS), options.quick, options.repeats):
        saved = f"{row.reduction():5.1f} % of {seconds(row.old.seconds)} s"
        print(f"{row.table:15} {row.algorithm:16} {row.label:3} {saved}", file=sys.stderr)
        rows.append(row)
    print(text(rows, machine()))
    full = not (options.quick or options.only)
    for path in filter(None, (options.json, RESULTS if full else None)):
        path.write_text(json.dumps(figures(rows, machine()), indent=1) + "\n", encoding="utf-8")
    return 0 if all(row.right for row in rows) else 1


def measured(names: Sequence[str], quick: bool = False, repeats: int = REPEATS) -> Iterator[Row]:
    for name in names:
        plan = PLANS[name]
        labels = QUICK.get(name, plan.labels[-1:]) if quick else plan.labels
        seeds = plan.seeds[:1] if quick else plan.seeds
        for label in labels:
            some = [plan.stream(label, seed) for seed in seeds]
            for algorithm in plan.algorithms:
                known = streams.rules(plan.program)
                once = quick or algorithm is MarkedFirst  # which is measured only for its counts
                yield play(name, label, known, some, algorithm, 1 if once else repeats)


def text(rows: Sequence[Row], where: str = "") -> str:
    """The text of a run's page, in Markdown."""
    parts = [where] if where else []
    parts.append("\n".join(f"- {target}" for target in targets(rows)))
    for name, plan in PLANS.items():
        for algorithm in plan.algorithms:
            of = algorithm.__name__
            some = [row for row in rows if (row.table, row.algorithm) == (name, of)]
            if some:
                parts.append(f"### {plan.title}; {TITLES[of]}")
                dred = algorithm is DeleteRederive
                parts.append(dred_table(plan, some) if dred else bf_table(plan, some))
    return "\n\n".join(parts)


TITLES = {
    "BackwardForward": "B/F, blocks in the printed order",
    "InTurn": "B/F, each fact in turn",
    "MarkedFirst": "B/F, each fact in turn, delays after marked facts as in the authors' program",
    "DeleteRederive": "DRed",
}
BF_KINDS = ("deletions", "backward", "forward", "insertions")
LOOKED = ("instances looked at old", "new", "steps saved %")
DRED_KINDS = ("overdeletion", "rederivation", "insertion")


def bf_table(plan: Plan, rows: Sequence[Row]) -> str:
    header = [plan.first, "whose", "CPU s old", "new", "reduction %"]
    header += ["deletions old", "new", "backward old", "new", "forward old", "new"]
    header += ["insertions", "marks ex.", "im.", *LOOKED]
    lines = []
    for row in rows:
        new = row.new.counts
        pairs = (cell for kind in BF_KINDS[:3] for cell in _both(row, kind))
        marks = (_whole(new.get(kind, 0)) for kind in ("insertions", "explicit", "implicit"))
        looked = _looked(row)
        lines.append([str(row.label), "ours", *_times(row), *pairs, *marks, *looked])
        if row.label in plan.printed:
            lines.append([str(row.label), "paper", *_printed(plan.printed[row.label])])
    return table(header, lines)


def dred_table(plan: Plan, rows: Sequence[Row]) -> str:
    header = [plan.first, "CPU s old", "new", "reduction %"]
    header += ["overdeletion old", "new", "rederivation old", "new", "insertion old", "new"]
    header += ["negative marks ex.", "im.", "positive marks ex.", "im.", *LOOKED]
    lines = []
    for row in rows:
        pairs = (cell for kind in DRED_KINDS for cell in _both(row, kind))
        marks = (
            _whole(row.new.counts.get(f"{sign} {kind}", 0))
            for sign in ("negative", "positive")
            for kind in ("explicit", "implicit")
        )
        lines.append([str(row.label), *_times(row), *pairs, *marks, *_looked(row)])
    return table(header, lines)


def _times(row: Row) -> list[str]:
    return [seconds(row.old.seconds), seconds(row.new.seconds), f"{row.reduction():.1f}"]


def _both(row: Row, kind: str) -> tuple[str, str]:
    return _whole(row.old.counts.get(kind, 0)), _whole(row.new.counts.get(kind, 0))


def _looked(row: Row) -> list[str]:
    return [*_both(row, "instances"), f"{row.steps():.1f}"]


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _printed(row: paper.Printed) -> list[str]:
    times = [f"{value:.2f}" for value in row.seconds] if row.seconds else ["–", "–"]
    pairs = (f"{value:,}" for pair in (row.deletions, row.backward, row.forward) for value in pair)
    return [*times, f"{row.reduction:.1f}", *pairs, *["–"] * 6]


def targets(rows: Sequence[Row]) -> list[Target]:
    """The paper's statements about its tables, checked on these rows."""
    bf = [row for row in rows if row.algorithm != "DeleteRederive"]
    dred = [row for row in rows if row.algorithm == "DeleteRederive"]
    found = [
        Target(
            "every last materialisation is the closure",
            all(row.right for row in rows) if rows else None,
            f"{sum(row.right for row in rows)} of {len(rows)} rows, with and without marks",
        )
    ]
    for table_name, algorithm in dict.fromkeys((row.table, row.algorithm) for row in bf):
        some = [row for row in bf if (row.table, row.algorithm) == (table_name, algorithm)]
        found.append(_fewer(table_name, some))
        if algorithm != MarkedFirst.__name__:
            found += _sooner(table_name, some)
    for name in dict.fromkeys(row.table for row in dred):
        found += _sooner(name, [row for row in dred if row.table == name])
    seq = [row for row in bf if row.table.startswith("seq")]
    found.append(_equal("seq: deletions saved equal implicit marks", seq, "deletions", "implicit"))
    found.append(
        _equal(
            "DRed: overdeletions saved equal negative implicit marks",
            dred,
            "overdeletion",
            "negative implicit",
        )
    )
    found.append(
        _equal(
            "DRed: insertions saved equal positive implicit marks",
            dred,
            "insertion",
            "positive implicit",
        )
    )
    return [*found, _forward(bf)]


def _fewer(name: str, rows: Sequence[Row]) -> Target:
    what = f"{name}, {TITLES[rows[0].algorithm]}: fewer deletion applications in every row"
    shares = [100 * row.saved("deletions") / row.old.counts["deletions"] for row in rows]
    half = sum(share >= 50 for share in shares)
    told = f"{min(shares):.0f} to {max(shares):.0f} % fewer, half or more in {half} of {len(rows)}"
    return Target(what, min(shares) > 0, told)


def _sooner(name: str, rows: Sequence[Row]) -> Iterator[Target]:
    """Steps and CPU time saved by marks: means over the streams of the smaller half of the updates,
    and of the larger; CPU time with twice the standard error.

    That small updates gain most, the paper says of trans and of its authors' order.
    """
    of = rows[0].algorithm
    middle = len(rows) // 2
    halves = (rows[:middle], rows[middle:])
    if name == "ways" or not middle:
        saved = (f"{row.label}: {row.reduction():.1f} %, steps {row.steps():.1f} %" for row in rows)
        yield Target(f"{name}, {TITLES[of]}: CPU time saved: {'; '.join(saved)}", None, "")
        return
    small, large = (statistics.fmean(row.steps() for row in half) for half in halves)
    order = (name, of) == ("trans", InTurn.__name__)
    what = "steps saved, and most with small updates" if order else "steps saved"
    yield Target(
        f"{name}, {TITLES[of]}: {what}",
        small > (large if order else 0) and small > 0 and large > 0,
        f"{small:.1f} % with small updates, {large:.1f} % with large ones",
    )
    if middle * len(rows[0].reductions) > 1:
        told = [f"{mean:.1f} ± {by:.1f} %" for mean, by in map(_mean, halves)]
        text = f"CPU time saved: {told[0]} with small updates, {told[1]} with large ones"
        yield Target(f"{name}, {TITLES[of]}: {text}", None, "")


def _mean(rows: Sequence[Row]) -> tuple[float, float]:
    """CPU time saved, in per cent, with twice its standard error."""
    each = [one for row in rows for one in row.reductions]
    return statistics.fmean(each), 2 * statistics.stdev(each) / math.sqrt(len(each))


def _equal(what: str, rows: Sequence[Row], kind: str, marks: str) -> Target:
    if not rows:
        return Target(what, None, "no figures")
    # Stream by stream, because averages could agree by chance.
    each = [pair for row in rows for pair in row.each]
    right = sum(old.get(kind, 0) - new.get(kind, 0) == new.get(marks, 0) for old, new in each)
    return Target(what, right == len(each), f"{right} of {len(each)} streams")


def _forward(rows: Sequence[Row]) -> Target:
    what = "ways, the printed order: forward applications are the paper's, old and new"
    ways = [r for r in rows if r.table == "ways" and r.algorithm == "BackwardForward"]
    if not ways:
        return Target(what, None, "no figures")
    same = sum(
        (row.old.counts["forward"], row.new.counts["forward"]) == paper.WAYS[row.label].forward
        for row in ways
    )
    return Target(what, same == len(ways), f"{same} of {len(ways)} rows")


def figures(rows: Sequence[Row], where: str) -> dict[str, object]:
    return {
        "machine": where,
        "targets": [asdict(target) for target in targets(rows)],
        "rows": [{**asdict(row), "reduction_percent": row.reduction()} for row in rows],
        "paper": {
            name: {label: row._asdict() for label, row in printed.items()}
            for name, printed in (("trans", paper.TRANS), ("ways", paper.WAYS))
        },
    }


if __name__ == "__main__":
    sys.exit(main())
