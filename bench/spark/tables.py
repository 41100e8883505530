"""Rows as tables."""

from __future__ import annotations

from collections.abc import Sequence

from bench.report import seconds, table
from bench.spark import batches, scale
from bench.spark.figures import Row, cases, faster, find
from bench.spark.model import BYTE, JOB, START, Model, point
from bench.updates.tables import factor

MEBI = 2**20


def time_of(row: Row) -> str:
    if row.done:
        return seconds(row.seconds)
    return f"> {row.limit:.0f}" if row.status == "seconds" else "failed"


def ratio_of(mine: Row | None, theirs: Row) -> str:
    found = faster(mine, theirs)
    return "–" if found is None else f"{'> ' * found[1]}{factor(found[0])}"


def size_of(count: float) -> str:
    """
    >>> size_of(512), size_of(5 * 2**20), size_of(3 * 2**40)
    ('512 B', '5.0 MiB', '3.0 TiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def plain(detail: str) -> str:
    """A bar would end the cell."""
    return detail.replace("|", "\\|")


def cells(row: Row) -> list[str]:
    some = row.samples and row.status == "ok"
    return [
        f"{row.given:,}" if row.given else "–",
        f"{row.facts:,}" if row.facts else "–",
        time_of(row),
        f"{row.jobs:,}" if some else "–",
        size_of(row.shuffled) if some else "–",
    ]


FIGURES = ["given", "all facts", "seconds", "jobs", "shuffled"]


def systems(rows: Sequence[Row], first: str) -> str:
    """Every system compared with ours."""
    lines = []
    for case, some in cases(rows):
        for row in some:
            mine = find(rows, first, case, row.step)
            ratio = "" if row is mine else ratio_of(mine, row)
            lines.append([case, row.step, row.system, *cells(row), ratio, plain(row.detail)])
    return table(["data", "step", "system", *FIGURES, f"against {first}", "remarks"], lines)


def pipelines(rows: Sequence[Row]) -> str:
    lines = [
        [
            row.case,
            row.system,
            row.step,
            f"{row.more['batches']:.0f}",
            f"{row.seconds:.2f}",
            f"{max(sample.seconds for sample in row.samples):.2f}",
            f"{row.more['jobs a batch']:.1f}" if row.step == batches.WHOLE else "",
        ]
        for row in rows
        if row.samples
    ]
    header = ["state", "engine", "time", "batches", "median, s", "at most, s", "jobs a batch"]
    return table(header, lines)


def growth(rows: Sequence[Row]) -> str:
    lines = [
        [
            *(row.case, row.step, row.system, *cells(row)),
            f"{row.more.get('changed', 0):,.0f}",
            plain(row.detail),
        ]
        for row in rows
    ]
    return table(["rules", "step", "engine", *FIGURES, "outputs changed", "where"], lines)


def heap(rows: Sequence[Row]) -> str:
    lines = [
        [
            row.case,
            f"{row.facts:,}",
            *(size_of(row.more.get(f"{kind} bytes", 0.0)) for kind in ("java", "workers")),
            size_of(row.more.get("python bytes", 0.0)),
            size_of(row.more["bytes of facts"]),
            time_of(row),
        ]
        for row in rows
    ]
    header = ["closure of", "facts", "Java", "workers", "driver's Python", "facts are", "seconds"]
    return table(header, lines)


def runs(rows: Sequence[Row], model: Model) -> str:
    lines = []
    for row in rows:
        if row.done:
            at = point(row)
            figures = [f"{row.more['cores']:.0f}", f"{row.facts:,}", f"{row.jobs}"]
            figures += [size_of(row.shuffled), seconds(row.seconds), seconds(model.seconds(at))]
            lines.append([row.system, *figures, f"{100 * model.error(at):+.0f} %"])
    header = ["strategy", "cores", "facts", "jobs", "shuffled", "seconds", "model", "off by"]
    return table(header, lines)


def coefficients(model: Model) -> str:
    """In units that are easy to remember."""
    names = {
        START: ("start", "ms", 1e3),
        JOB: ("each job", "ms", 1e3),
        BYTE: ("a shuffled byte, per core", "ns", 1e9),
    }
    lines = []
    for name, cost in model.costs.items():
        what, unit, times = names.get(name, (f"a {name}, per core", "ns", 1e9))
        lines.append([what, f"{cost * times:,.1f} {unit}"])
    return table(["what", "costs"], lines)


def predicted(rows: Sequence[Row], model: Model) -> str:
    lines = []
    for found in scale.predictions(rows, model):
        cluster = found.cluster
        lines.append(
            [
                f"{cluster.facts:,.0f}",
                f"{cluster.executors} × {cluster.cores} cores",
                found.at.system,
                f"{found.at.jobs:,.0f}",
                size_of(found.at.shuffled),
                "not known" if found.seconds is None else f"{found.seconds:,.0f} s",
                f"{found.network:,.1f} s",
                size_of(found.broadcast) if found.broadcast else "–",
                size_of(found.held),
            ]
        )
    header = ["facts", "executors", "strategy", "jobs", "shuffled", "time", "network"]
    return table([*header, "broadcast", "facts of an executor"], lines)
