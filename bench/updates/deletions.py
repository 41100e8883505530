"""Deletions of more and more facts, by DRed and B/F, up to where recomputing is quicker.

    python -m bench.updates.deletions [--quick] [--only NAME ...]

Table 2 of Motik, Nenov, Piro and Horrocks (2015): the paper's columns for a series of sets of
deleted facts, each within the next, and the equilibrium at which B/F takes as long as evaluation
from scratch. Then the same deletions stratum by stratum, and what `auto` makes of them. A full run
writes its part of `docs/figures/deletions.md`; one with any option only prints it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import exp, log
from pathlib import Path

import numpy as np

from bench import data
from bench.data import Facts
from bench.modules import workloads as closures
from bench.report import table, write_part
from bench.updates.run import machine
from bench.updates.scenes import claros_facts, cliques
from bench.workloads import declared, recorded
from tidelog import Database, LimitError, Limits

Row = tuple[int, ...]
PAGE = Path(__file__).parent.parent.parent / "docs" / "figures" / "deletions.md"
SHARES = (0.25, 0.5, 0.75, 1.0)  # of the equilibrium, as in the paper
FEW = (100, 5_000)  # the paper's small sets
GRID = (0.001, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7)  # of the explicit facts, for `auto`
CLOSE = 1.15  # the equilibrium is found up to this factor
# Runs of which the quickest counts: more while they take so few seconds.
TIMES, MORE, BRIEFLY = 2, 6, 0.3
LEARNS = 4  # runs of `auto`, which remembers costs; the last two count
DRED = ("|D|", "DR2", "DR4", "DR5")
POINTS = (("bf", "seconds"), ("bf", "instances"), ("dred", "seconds"))  # equilibria, and by what
# The paper's equilibria, and its explicit facts, in millions: LUBM-1k-L, UOBM-1k-Uo, Claros-L and
# Claros-LE.
PAPER = {
    "lubm": (10.0, 133.6),
    "uobm": (68.0, 254.8),
    "claros": (2.3, 18.8),
    "places": (0.01, 18.8),
}
BF = ("|C|", "backward", "saturate", "del prop")


@dataclass(frozen=True)
class Dataset:
    """A program with its explicit facts, in a random order in which they are deleted."""

    name: str
    title: str
    program: str
    facts: Facts

    @property
    def given(self) -> int:
        return sum(map(len, self.facts.values()))

    def some(self, count: int) -> Facts:
        """The first facts of the order, by relation."""
        names = list(self.facts)
        sizes = [len(self.facts[name]) for name in names]
        of = np.repeat(np.arange(len(names)), sizes)
        at = np.concatenate([np.arange(size) for size in sizes])
        first = np.random.default_rng(20).permutation(len(of))[:count]
        return {
            name: self.facts[name][np.sort(at[first[of[first] == i]])]
            for i, name in enumerate(names)
            if (of[first] == i).any()
        }

    def opened(self, one_stratum: bool, modules: bool = False) -> Database:
        return Database(self.program, self.facts, one_stratum=one_stratum, modules=modules)


@dataclass(frozen=True)
class Sample:
    """What a deletion took, and the papers' numbers; `seconds` are infinite if it was stopped."""

    seconds: float = float("inf")
    deleted: int = 0
    numbers: dict[str, int] = field(default_factory=dict)
    instances: float = float("inf")
    strata: int = 0
    recomputed: int = 0  # of the strata


class Runs:
    """Deletions from one database, which are taken back."""

    def __init__(self, dataset: Dataset, db: Database) -> None:
        self.dataset, self.db = dataset, db
        self._known: dict[tuple[str, int], Sample] = {}
        self._deleted: dict[int, int] = {}
        # What takes many times as long as evaluation from scratch is stopped.
        self.limit = 10 + 6 * self("recompute", 1).seconds

    def __call__(self, algorithm: str, count: int) -> Sample:
        key = algorithm, count
        if key not in self._known:
            rows = {
                name: [tuple(row) for row in rows.tolist()]
                for name, rows in self.dataset.some(count).items()
            }
            runs = list(self.learnt(rows) if algorithm == "auto" else self.tried(algorithm, rows))
            best = self._known[key] = min(runs, key=lambda run: run.seconds)
            if best.seconds < float("inf"):
                known = self._deleted.setdefault(count, best.deleted)
                if best.deleted != known:
                    raise AssertionError(f"{key}: deleted {best.deleted} facts and not {known}")
        return self._known[key]

    def tried(self, algorithm: str, rows: Mapping[str, list[Row]]) -> Iterator[Sample]:
        """Dry runs."""
        spent = 0.0
        for done in range(MORE):
            if done < TIMES or spent < BRIEFLY:
                sample = self.run(algorithm, rows)
                spent += sample.seconds
                yield sample
            if spent == float("inf"):
                break

    def learnt(self, rows: Mapping[str, list[Row]]) -> Iterator[Sample]:
        """By `auto`, which remembers counters and costs from one update to the next."""
        for done in range(LEARNS):
            sample = self.run("auto", rows, dry_run=False)
            with self.db.transaction(algorithm="auto") as tx:
                for name, some in rows.items():
                    tx.insert(name, some)
            if done >= LEARNS - 2:
                yield sample

    def run(self, algorithm: str, rows: Mapping[str, list[Row]], dry_run: bool = True) -> Sample:
        """The smaller of wall and CPU time counts: processes wait on a busy machine."""
        limits = Limits() if algorithm == "recompute" else Limits(max_seconds=self.limit)
        try:
            with self.db.transaction(algorithm=algorithm, dry_run=dry_run, limits=limits) as tx:
                for name, some in rows.items():
                    tx.delete(name, some)
                tx.flush()
                began = time.process_time()
        except LimitError:
            return Sample()
        spent, report = time.process_time() - began, tx.report
        works = [work for work in report.works if work.algorithm != "input"]
        recomputed = sum(work.algorithm == "recompute" for work in works)
        deleted = sum(work.deleted for work in report.works)
        return Sample(
            max(min(report.seconds, spent), 1e-9),  # a clock may stand still
            deleted,
            dict(report.numbers),
            report.instances,
            len(works),
            recomputed,
        )


def equilibrium(is_worse: Callable[[int], bool], most: int) -> int | None:
    """The number of facts at which following their deletion takes as long as recomputing; `most`
    if it never does, None if it always does.

    >>> [equilibrium(lambda n: n > limit, 10_000) for limit in (0, 400, 20_000)]
    [None, 398, 10000]
    """
    if is_worse(1):
        return None
    if not is_worse(most):
        return most
    low, high = 1, most
    while high > CLOSE * low and high - low > 1:
        middle = min(max(round(exp((log(low) + log(high)) / 2)), low + 1), high - 1)
        low, high = (low, middle) if is_worse(middle) else (middle, high)
    return round(exp((log(low) + log(high)) / 2))


@dataclass(frozen=True)
class Found:
    """The equilibria of a dataset, for B/F and for DRed, by time and by rule instances."""

    dataset: Dataset
    derived: int
    seconds: float
    instances: int
    points: dict[tuple[str, str], int | None]
    rows: dict[int, dict[str, Sample]]


def in_one_stratum(dataset: Dataset) -> Found:
    db = dataset.opened(one_stratum=True)
    runs = Runs(dataset, db)

    def is_worse(algorithm: str, by: str, count: int) -> bool:
        ours, scratch = runs(algorithm, count), runs("recompute", count)
        return bool(getattr(ours, by) > getattr(scratch, by))

    points = {
        (algorithm, by): equilibrium(partial(is_worse, algorithm, by), dataset.given)
        for algorithm, by in POINTS
    }
    limit = points["bf", "seconds"] or dataset.given
    few = [count for count in FEW if count < SHARES[0] * limit]
    counts = sorted({*few, *(max(1, round(share * limit)) for share in SHARES)})
    rows = {
        count: {name: runs(name, count) for name in ("recompute", "dred", "bf")} for count in counts
    }
    stats = db.stats
    return Found(dataset, stats.facts, stats.evaluate_seconds, stats.instances, points, rows)


@dataclass(frozen=True)
class Chosen:
    """What a share of the facts took, stratum by stratum, and what `auto` made of it."""

    dataset: Dataset
    share: float
    samples: dict[str, Sample]

    @property
    def best(self) -> float:
        return min(each.seconds for name, each in self.samples.items() if name != "auto")

    @property
    def followed(self) -> float:
        """The least seconds of those that follow the change."""
        return min(self.samples[name].seconds for name in FOLLOW)


FOLLOW = ("dred", "bf")


def by_strata(dataset: Dataset, grid: Sequence[float] = GRID) -> list[Chosen]:
    runs = Runs(dataset, dataset.opened(one_stratum=False))
    auto = Runs(dataset, dataset.opened(one_stratum=False, modules=True))
    found = []
    for share in grid:
        count = max(1, round(share * dataset.given))
        samples = {name: runs(name, count) for name in ("recompute", *FOLLOW)}
        found.append(Chosen(dataset, share, {**samples, "auto": auto("auto", count)}))
    return found


# The datasets.


CLIQUES = ("a1_colleagues", "a1_connectedCourses")


def lubm(departments: int, *, with_cliques: bool) -> Dataset:
    """LUBM's rules, with the relations whose facts are cliques or without them. With them, facts
    have as many derivations as UOBM's home towns give them."""
    facts = data.lubm_relations(data.lubm_like(departments, seed=5))
    program = recorded("lubm")
    if not with_cliques:
        lines = program.split("\n")
        program = "\n".join(line for line in lines if not any(name in line for name in CLIQUES))
    known = f"LUBM's rules, {departments} departments"
    title = f"{known}, with cliques" if with_cliques else known
    return Dataset("uobm" if with_cliques else "lubm", title, program, declared(program, facts))


def claros(quick: bool) -> Dataset:
    title = "Claros' 1,337 rules on generated facts"
    return Dataset("claros", title, recorded("claros"), claros_facts(quick))


def places(*size: Sequence[int] | int) -> Dataset:
    large, small = size
    assert isinstance(large, Sequence)
    assert isinstance(small, int)
    case = closures.cliques(large, small, seed=1)
    return Dataset("places", f"Claros-LE's places, {case.title}", case.program, case.facts)


def clique(quick: bool, density: str) -> Dataset:
    (scene,) = cliques(quick, density=density)
    return Dataset(f"clique-{density}", scene.title, scene.program, scene.facts)


def datasets(quick: bool) -> dict[str, Callable[[], Dataset]]:
    departments = 1 if quick else 12
    sizes = ((12, 9), 40) if quick else ((60, 50, 40), 1500)
    return {
        "lubm": partial(lubm, departments, with_cliques=False),
        "uobm": partial(lubm, 1 if quick else 3, with_cliques=True),
        "claros": partial(claros, quick),
        "places": partial(places, *sizes),
        "clique-dense": partial(clique, quick, "dense"),
        "clique-split": partial(clique, quick, "split"),
    }


# The tables.


def seconds(value: float) -> str:
    return "stopped" if value == float("inf") else f"{value:.4f}" if value < 1 else f"{value:.2f}"


def number(sample: Sample, name: str) -> str:
    return "–" if sample.seconds == float("inf") else f"{sample.numbers.get(name, 0):,}"


def papers_table(found: Iterable[Found]) -> str:
    header = ["dataset", "deleted", "of E", "lost from I", "scratch s", "scratch instances"]
    header += ["DRed s", *DRED, "B/F s", *BF, "scratch : B/F"]
    lines = []
    for each in found:
        for count, row in each.rows.items():
            scratch, dred, bf = row["recompute"], row["dred"], row["bf"]
            lines.append(
                [
                    each.dataset.title,
                    f"{count:,}",
                    f"{count / each.dataset.given:.1%}",
                    f"{scratch.deleted:,}",
                    seconds(scratch.seconds),
                    f"{scratch.instances:,}",
                    seconds(dred.seconds),
                    *(number(dred, name) for name in DRED),
                    seconds(bf.seconds),
                    *(number(bf, name) for name in BF),
                    f"{scratch.seconds / bf.seconds:.1f}×",
                ]
            )
    return table([name.replace("|", "\\|") for name in header], lines)


def points_table(found: Iterable[Found]) -> str:
    header = ["dataset", "E", "I", "evaluation s", "instances", "B/F by time", "B/F by instances"]
    lines = []
    for each in found:
        given = each.dataset.given
        cells = [each.dataset.title, f"{given:,}", f"{each.derived:,}", seconds(each.seconds)]
        cells.append(f"{each.instances:,}")
        for key in POINTS:
            at = each.points[key]
            share = f"{at:,} ({at / given:.1%})" if at is not None else "below 1 fact"
            cells.append(f"all {given:,}" if at == given else share)
        deleted, explicit = PAPER.get(each.dataset.name, (0, 1))
        cells.append(f"{deleted / explicit:.2%}" if deleted else "–")
        lines.append(cells)
    return table([*header, "DRed by time", "paper, B/F by time"], lines)


def auto_table(chosen: Iterable[Chosen]) -> str:
    header = ["dataset", "deleted", "scratch s", *(f"{name} s" for name in FOLLOW), "auto s"]
    lines = [
        [each.dataset.title, f"{each.share:.1%}"]
        + [seconds(each.samples[name].seconds) for name in ("recompute", *FOLLOW, "auto")]
        + [f"{each.samples['auto'].seconds / each.best:.2f}"]
        + [f"{each.samples['auto'].recomputed} of {each.samples['auto'].strata}"]
        for each in chosen
    ]
    return table([*header, "auto : best", "strata recomputed"], lines)


def switches(chosen: Sequence[Chosen]) -> list[str]:
    """For each dataset, from which share recomputing is quickest, and from which `auto` recomputes
    most strata."""
    found = []
    for title in dict.fromkeys(each.dataset.title for each in chosen):
        mine = [each for each in chosen if each.dataset.title == title]
        quicker = [e.share for e in mine if e.samples["recompute"].seconds < e.followed]
        auto = [e.samples["auto"] for e in mine]
        taken = [e.share for e, a in zip(mine, auto, strict=True) if 2 * a.recomputed > a.strata]
        worst = max(e.samples["auto"].seconds / e.best for e in mine)
        first, mostly = (f"{min(some):.1%}" if some else "nowhere" for some in (quicker, taken))
        found.append(
            f"- {title}: recomputing is quickest from {first} on; `auto` recomputes most strata "
            f"from {mostly} on, and takes at most {worst:.2f} times the best."
        )
    return found


def main(arguments: list[str] | None = None) -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="bench.updates.deletions", description=about)
    parser.add_argument("--quick", action="store_true", help="small datasets")
    parser.add_argument("--only", action="append", metavar="NAME", help="only these datasets")
    options = parser.parse_args(arguments)
    every = datasets(options.quick)
    names = options.only or list(every)
    if unknown := [name for name in names if name not in every]:
        parser.error(f"unknown dataset {', '.join(unknown)}; expected one of {', '.join(every)}")
    where = machine()
    found, chosen = [], []
    for name in names:
        dataset = every[name]()
        print(f"{name}: {dataset.title}, {dataset.given:,} facts", flush=True)
        found.append(in_one_stratum(dataset))
        chosen += by_strata(dataset)
    text = page(where, found, chosen)
    print("\n" + text)
    if not (options.quick or options.only):
        write_part(PAGE, text)
    return 0


def page(where: str, found: Sequence[Found], chosen: Sequence[Chosen]) -> str:
    parts = [where, "### The equilibrium", points_table(found)]
    parts += ["### The paper's columns", papers_table(found)]
    parts += ["### What auto makes of it", "\n".join(switches(chosen)), auto_table(chosen)]
    return "\n\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
