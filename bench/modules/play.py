"""Plays a case with every algorithm, each in a process of its own.

An algorithm's process reads the facts, materialises them and then makes the changes. Only `dredc`
works without modules: they are off while it materialises, and it does not use them for changes.
Work between its measured changes may use them, or it would take very long.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from multiprocessing import get_context

import numpy as np

from bench.data import Facts
from bench.measure import peak_bytes
from bench.modules.paper import Kind
from bench.modules.workloads import Case, cases
from bench.updates import figures
from bench.updates.changes import Change, share
from bench.updates.figures import BASE, Sample, Series
from bench.updates.play import Player, state
from bench.updates.scenes import Scene
from tidelog import Database, LimitError, Limits
from tidelog.maintain import closure_seeds, materialise

PLAIN, MODULAR = "dredc", "dredc-mod"
ALGORITHMS = (PLAIN, MODULAR, "bfc-mod", "auto", BASE)
FEW, PART = 1000, 8  # a small change has a thousand facts, but at most an eighth of all
MANY = 0.25
TIMES, SHORT = 5, 10.0  # runs to materialise, and the seconds that end them earlier
COMPILING = 600.0  # seconds: the limit of what is not measured
KINDS: tuple[Kind, ...] = (
    "materialise",
    "delete few",
    "insert few",
    "delete many",
    "insert many",
)


@dataclass
class Row(figures.Row):
    """One step of a case, by every algorithm."""

    kind: Kind = "materialise"
    paper: str | None = None
    peaks: dict[str, int] = field(default_factory=dict)  # bytes, when everything was materialised

    def changed(self) -> float:
        """An algorithm that makes all changes, if any does: others may have been stopped before."""
        return self.series[BASE].changed() or super().changed()


@dataclass
class Played:
    """The results of one algorithm: a series for each kind of step."""

    series: list[Series] = field(default_factory=lambda: [Series() for _ in KINDS])
    facts: int = 0
    peak: int = 0


def play(case: Case, limit: float) -> list[Row]:
    """A row for each step, by all algorithms."""
    return rows(case, {name: play_one(case, name, limit) for name in ALGORITHMS}, limit)


def play_apart(name: str, quick: bool, limit: float) -> list[Row]:
    """A row for each step; an algorithm that fails, or kills its process, fails in all of them."""
    played = {}
    for algorithm in ALGORITHMS:
        # A fresh process each time, so that its resident memory is its own.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            try:
                future = pool.submit(play_named, name, quick, algorithm, limit)
                played[algorithm] = future.result()
            except Exception as error:
                failed = Series(detail=f"{type(error).__name__}: {error}"[:300])
                played[algorithm] = Played([failed for _ in KINDS])
    return rows(cases(quick)[name](), played, limit)


def play_named(name: str, quick: bool, algorithm: str, limit: float) -> Played:
    # Kernels are loaded from the cache on first use, or compiled.
    small = next(case for case in cases(quick=True) if case.split("-")[0] in name)
    with modules_at_once():
        play_one(cases(quick=True)[small](), algorithm, COMPILING)
    with modules_at_once() if quick else nullcontext():
        return play_one(cases(quick)[name](), algorithm, limit)


@contextmanager
def modules_at_once() -> Iterator[None]:
    """Make small closures modules, too, and skip the joins that feed them even for few facts."""
    long, materialise.LONG = materialise.LONG, 0
    few, closure_seeds.FEW = closure_seeds.FEW, 0
    try:
        yield
    finally:
        materialise.LONG, closure_seeds.FEW = long, few


def play_one(case: Case, algorithm: str, limit: float) -> Played:
    limit *= case.patience
    played = Played()
    database = materialised(case, algorithm != PLAIN, limit, played.series[0])
    played.peak = 0 if database is None else peak_bytes()
    if database is not None:
        played.series[0].states[0] = state(database)
    if database is None or algorithm == PLAIN:
        del database
        gc.collect()
        database = Database(case.program, facts=case.facts)
    played.facts = sum(map(database.size, database.relations))
    counted = True
    for number, scene in enumerate(scenes(case)):
        player = Player(scene, algorithm, limit, database)
        # An algorithm that cannot count derivations in time would fail in the next scene, too.
        counted = counted and player.keep_still()
        places = range(len(scene.changes))
        if counted:
            player.play(places, first=True)
            player.play_back(places[:2])
        else:
            player.series[0].stopped.add(0)
        player.look_back()
        played.series[1 + 2 * number : 3 + 2 * number] = player.series
    return played


def materialised(case: Case, modules: bool, limit: float, series: Series) -> Database | None:
    """The database, if it is ready in time; if that is short, the best of several times counts."""
    limits = Limits(max_seconds=limit)
    database, times = None, list[float]()
    while len(times) < TIMES and sum(times) < SHORT:
        del database
        gc.collect()  # two at once would take twice the memory, and new memory takes time
        cpu = time.process_time()
        try:
            database = Database(case.program, facts=case.facts, modules=modules, limits=limits)
        except LimitError:
            series.stopped.add(0)
            return None
        times.append(min(database.stats.evaluate_seconds, time.process_time() - cpu))
    assert database is not None
    series.samples = [Sample(0, min(times), (database.stats.facts - case.given, 0), {})]
    return database


def few(case: Case) -> int:
    return min(FEW, sum(map(len, case.among.values())) // PART)


def scenes(case: Case) -> tuple[Scene, Scene]:
    """Few facts of the case are deleted and inserted again, others each time; and a quarter of
    them."""
    total = sum(map(len, case.among.values()))
    small = tuple(share(case.among, few(case) / total, seed) for seed in range(4))
    large = 2 * (share(case.among, MANY, seed=9),)

    def scene(steps: tuple[str, str], changes: tuple[Change, ...], best: bool) -> Scene:
        return Scene(
            *(case.name, case.title, steps, case.program, case.facts, changes),
            best=best,
            still=untouched(case),
        )

    return (
        scene((f"delete {few(case):,} facts", "insert them again"), small, best=False),
        scene(("delete 25%", "insert it again"), large, best=True),
    )


def untouched(case: Case) -> Change:
    """A fact of new constants for each relation that changes."""
    fresh = 1 + max(int(rows.max()) for rows in case.facts.values())
    come: Facts = {
        name: fresh + np.arange(rows.shape[1], dtype=np.int64).reshape(1, -1)
        for name, rows in case.among.items()
    }
    return Change(come=come)


def rows(case: Case, played: dict[str, Played], limit: float) -> list[Row]:
    steps = ["materialise", *(step for scene in scenes(case) for step in scene.steps)]
    return [
        Row(
            scene=case.name,
            title=case.title,
            step=step,
            given=case.given,
            facts=max(each.facts for each in played.values()),
            case="other",
            best=kind in ("materialise", "delete many", "insert many"),
            limit=limit * case.patience,
            series={name: each.series[number] for name, each in played.items()},
            kind=kind,
            paper=case.paper,
            peaks={name: each.peak for name, each in played.items()},
        )
        for number, (kind, step) in enumerate(zip(KINDS, steps, strict=True))
    ]
