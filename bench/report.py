"""From measurements to tables, and to targets that are reached or missed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.checksum import Checksum
from bench.measure import Measurement
from bench.workloads import Kind

OURS = "tidelog"
PEERS = ("duckdb", "nemo", "clingo", "egglog")


@dataclass
class Row:
    """One workload: the best run of every system, with those of DuckDB's thread counts as one."""

    name: str
    title: str
    kind: Kind
    given: int
    best: dict[str, Measurement] = field(default_factory=dict)
    answers: list[dict[str, Checksum]] = field(default_factory=list)
    two_cores: float | None = None  # elapsed seconds when DuckDB uses two threads

    def take(self, found: Measurement) -> None:
        """Keep the answer, and the faster of the known run and `found`."""
        if found.outputs:
            self.answers.append(found.outputs)
        if found.system == "duckdb-2" and found.status == "ok":
            self.two_cores = min(self.two_cores or found.evaluate_seconds, found.evaluate_seconds)
        system = found.system.split("-")[0]
        known = self.best.get(system)
        if known is None or rank(found) < rank(known):
            self.best[system] = found

    def ours(self) -> Measurement | None:
        found = self.best.get(OURS)
        return found if found is not None and found.status == "ok" else None

    def equal(self) -> bool:
        """Whether all answers, of all systems and runs, have the same checksums."""
        return all(answer == self.answers[0] for answer in self.answers)

    def facts(self) -> int:
        return sum(output.size for output in self.answers[0].values()) if self.answers else 0

    def ratio(self, peer: str, *, load: bool = False) -> tuple[float, bool] | None:
        """The peer's time as a multiple of ours, and whether that is only a lower bound."""
        ours, other = self.ours(), self.best.get(peer)
        if ours is None or other is None:
            return None
        mine = ours.seconds + (ours.load_seconds if load else 0.0)
        if other.status == "timeout":
            return other.seconds / mine, True
        if other.status != "ok":
            return None
        return (other.seconds + (other.load_seconds if load else 0.0)) / mine, False


def rank(found: Measurement) -> tuple[bool, float]:
    return found.status != "ok", found.seconds


@dataclass(frozen=True)
class Target:
    text: str
    reached: bool | None  # None: not measured
    figure: str

    def __str__(self) -> str:
        word = {True: "reached", False: "not reached", None: "not measured"}[self.reached]
        return f"target: {self.text}: {word} ({self.figure})" if self.figure else self.text


def seconds(value: float) -> str:
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def shown(found: Measurement | None, value: Callable[[Measurement], str]) -> str:
    if found is None or found.status == "absent":
        return "–"
    if found.status == "timeout":
        return f"> {found.seconds:.0f}"
    if found.status == "memory":
        return "out of memory"
    return value(found) if found.status == "ok" else "failed"


def times(row: Row) -> list[str]:
    ours = row.ours()
    cells = [
        row.title,
        f"{row.given:,}",
        f"{row.facts():,}",
        shown(row.best.get(OURS), lambda m: seconds(m.seconds)),
        f"{ours.instances / ours.seconds / 1e6:.1f}" if ours and ours.instances else "–",
    ]
    for peer in PEERS:
        cell = shown(row.best.get(peer), lambda m: seconds(m.seconds))
        ratio = row.ratio(peer)
        cells.append(f"{cell} ({ratio[0]:.1f}×)" if ratio else cell)
    both = "–"
    if row.two_cores is not None and ours:
        both = f"{seconds(row.two_cores)} ({row.two_cores / ours.seconds:.1f}×)"
    return [*cells, both, "yes" if row.equal() else "NO"]


def costs(row: Row) -> list[str]:
    def cell(found: Measurement) -> str:
        times = (found.evaluate_seconds, found.cpu_seconds, found.load_seconds)
        return " / ".join([*map(seconds, times), f"{found.peak_bytes / 2**20:.0f}"])

    cells = [shown(row.best.get(name), cell) for name in (OURS, *PEERS)]
    duckdb = row.best.get("duckdb")
    return [row.title, *cells, (duckdb.how if duckdb else "") or "–"]


def table(header: list[str], rows: list[list[str]]) -> str:
    marks = ["---", *["--:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, marks, *rows])


def at_least(
    text: str, rows: list[Row], peers: tuple[str, ...], factor: float, load: bool = False
) -> Target:
    """The smallest ratio over some rows and peers, against a factor.

    A peer without a figure leaves the target open, unless it ran out of memory.
    """
    found, missing, is_open = [], [], False
    for row in rows:
        for peer in peers:
            ratio = row.ratio(peer, load=load)
            if ratio is not None:
                found.append((*ratio, row.name, peer))
                continue
            other = row.best.get(peer)
            beaten = row.ours() is not None and other is not None and other.status == "memory"
            is_open = is_open or not beaten
            missing.append(f"{row.name}, {peer} {'out of memory' if beaten else 'missing'}")
    if not found:
        return Target(text, None, "no figures")
    least, bound, name, peer = min(found)
    figure = f"at least {'more than ' if bound else ''}{least:.2f}×: {name}, {peer}"
    reached = False if least < factor and not bound else None if is_open else least >= factor
    return Target(text, reached, "; ".join([figure, *missing]))


def targets(rows: list[Row], startup: float | None, weight: float | None) -> list[Target]:
    """The project's targets for speed, checked against one run."""
    of = {kind: [row for row in rows if row.kind == kind] for kind in Kind.__args__}  # type: ignore[attr-defined]
    compared = [row for row in rows if row.ours() and len(row.best) > 1]
    rates = [
        (ours.instances / ours.seconds / 1e6, row.name)
        for row in of["non-linear"]
        if (ours := row.ours())
    ]
    rate = min(rates, default=None)
    return [
        Target(
            "outputs equal in all systems",
            all(row.equal() for row in compared) if compared else None,
            ", ".join(row.name for row in compared if not row.equal())
            or f"{len(compared)} workloads",
        ),
        at_least("linear closure twice as fast as DuckDB", of["linear"], ("duckdb",), 2),
        at_least(
            "linear closure ten times as fast as nemo, clingo and egglog",
            of["linear"],
            ("nemo", "clingo", "egglog"),
            10,
        ),
        at_least(
            "points-to three times as fast as egglog and DuckDB",
            of["points-to"],
            ("egglog", "duckdb"),
            3,
        ),
        at_least(
            "RDFS no slower than DuckDB, load included", of["rdfs"], ("duckdb",), 1, load=True
        ),
        Target(
            "non-linear closure at 25 million instances a second",
            rate[0] >= 25 if rate else None,
            f"{rate[0]:.1f} million: {rate[1]}" if rate else "no figures",
        ),
        at_least("non-linear closure faster than every peer", of["non-linear"], PEERS, 1),
        Target(
            "`tidelog run` on ten facts under one second",
            startup < 1.0 if startup else None,
            f"{startup:.2f} s" if startup else "no figures",
        ),
        Target(
            "at most 64 bytes per binary fact with one index",
            weight <= 64 if weight else None,
            f"{weight:.1f} bytes" if weight else "no figures",
        ),
    ]


def tables(rows: list[Row]) -> str:
    header = ["workload", "facts in", "facts out", "Tidelog", "M instances/s"]
    names = ["DuckDB", "nemo", "clingo", "egglog"]
    both = "DuckDB, wall, two cores"
    first = table([*header, *names, both, "equal"], [times(row) for row in rows])
    second = table(["workload", "Tidelog", *names, "DuckDB by"], [costs(row) for row in rows])
    return (
        "Seconds of evaluation on one core, without start and load; in parentheses, how many "
        "times Tidelog's time that is. DuckDB can use both cores: a column of its own has the "
        f"elapsed seconds.\n\n{first}\n\n"
        "Wall seconds of the evaluation / its CPU seconds (all threads) / wall seconds to load / "
        f"peak memory in MiB of the whole process.\n\n{second}"
    )


BY = "make bench"
MEASURED = re.compile(r"^Measured with Tidelog (\S+)\.$", re.MULTILINE)


def write_part(path: Path, text: str, by: str = BY) -> None:
    """Replace what stands between the writer's marks, or append it to a page without them.

    The line "Measured with Tidelog …" of a page has the version of its main part.
    """
    begin, end = (f"<!-- written by {by}: {place} -->" for place in ("begin", "end"))
    part = f"{begin}\n\n{text}\n\n{end}"
    page = path.read_text(encoding="utf-8") if path.exists() else "# Benchmarks\n"
    marked = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    page = marked.sub(lambda _: part, page) if marked.search(page) else f"{page}\n{part}\n"
    if by == BY and (found := re.search(r"\btidelog (\d[\w.]*\w)", text)):
        page = MEASURED.sub(f"Measured with Tidelog {found[1]}.", page)
    path.parent.mkdir(exist_ok=True)
    path.write_text(page, encoding="utf-8")


def measured(path: Path) -> str | None:
    """The version of Tidelog that a page's figures were measured with."""
    found = MEASURED.search(path.read_text(encoding="utf-8"))
    return found and found[1]
