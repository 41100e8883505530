"""Rows as tables."""

from __future__ import annotations

from collections.abc import Sequence

from bench.flows import bursts, effects, endless, marks
from bench.report import table
from bench.updates.tables import factor, milliseconds

MEBI = 2**20
MARKS = ("explicit", "facts")


def whole(value: float) -> str:
    return f"{value:,.0f}"


def marking(rows: Sequence[marks.Row]) -> str:
    header = ["stream", "algorithm", "CPU ms sequential", "marking", "ratio"]
    header += ["instances sequential", "marking", "fewer %"]
    header += ["updates with marks", "marks explicit", "all"]
    lines = []
    for row in rows:
        line = [f"{row.program} {row.label}", row.algorithm]
        line += [milliseconds(side.seconds) for side in (row.sequential, row.marking)]
        line += [f"{row.ratio:.2f}"]
        line += [whole(side.counts["instances"]) for side in (row.sequential, row.marking)]
        line += [f"{row.fewer():.0f}"]
        line += [whole(row.marking.counts.get(kind, 0)) for kind in ("updates", *MARKS)]
        lines.append(line)
    return table(header, lines)


def undoing(rows: Sequence[bursts.Row]) -> str:
    header = ["workload", "facts", "algorithm", "arriving", "updates"]
    header += ["ms sequential", "fully dynamic", "factor"]
    header += ["latency, ms, sequential", "fully dynamic", "settled together"]
    lines = []
    for row in rows:
        plain, dynamic = (row.sides[policy] for policy in bursts.POLICIES)
        lines.append(
            [
                *(row.title, whole(row.facts), row.algorithm, row.arriving, str(row.updates)),
                *(milliseconds(plain.seconds), milliseconds(dynamic.seconds)),
                factor(row.factor()),
                *(milliseconds(plain.latency), milliseconds(dynamic.latency)),
                str(dynamic.together),
            ]
        )
    return table(header, lines)


def first_effects(rows: Sequence[effects.Row]) -> str:
    header = ["facts of the update in flight", "policy", "it takes, ms", "taking it, ms"]
    header += ["small updates", "first effect, ms, median", "p95", "max"]
    lines = []
    for row in sorted(rows, key=lambda row: row.size):
        found = ["–"] * 3
        if row.effects:
            found = [milliseconds(row.percentile(percent)) for percent in (50, 95, 100)]
        is_short = row.flight < effects.SHORT
        flight = f"< {milliseconds(effects.SHORT)}" if is_short else milliseconds(row.flight)
        lines.append(
            [
                *(whole(row.size), row.policy, flight, milliseconds(row.taking)),
                str(len(row.effects)),
                *found,
            ]
        )
    return table(header, lines)


def long_streams(rows: Sequence[endless.Row]) -> str:
    header = ["policy", "facts", "updates", "updates/s", "beside sequential"]
    header += ["latency, ms, p50", "p99", "first effect, ms, p50", "p99"]
    header += ["MiB after a tenth", "after all", "growth"]
    base = next((row.per_second for row in rows if row.policy == "sequential"), None)
    lines = [
        [
            *(row.policy, whole(row.facts), whole(row.updates), whole(row.per_second)),
            factor(row.per_second / base) if base else "–",
            *(milliseconds(row.latency[name]) for name in ("p50", "p99")),
            *(milliseconds(row.first_effect[name]) for name in ("p50", "p99")),
            *(f"{value / MEBI:.1f}" for value in (row.early, row.late, row.growth())),
        ]
        for row in rows
    ]
    return table(header, lines)
