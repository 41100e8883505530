"""Where each stratum runs: in the driver, inside partitions, or as frames.

- *driver*: the stratum and what it reads are small; a local engine holds them.
- *pivot*, *components*, *shuffle*: recursion inside partitions, by the local engine's kernels
  (`strategies`). A small change of a pivot stratum also runs in the driver: one job fetches the
  slices that it can reach.
- *frames*: everything else; rules are joins, with one job per round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tidelog.control.limits import LimitWatch
from tidelog.formats import spark_columns
from tidelog.maintain import bf, dred, recompute
from tidelog.maintain.driver import auto
from tidelog.maintain.driver.update_loop import update
from tidelog.maintain.materialise import evaluate
from tidelog.maintain.memory import Memory, ModuleKinds
from tidelog.maintain.report import Work
from tidelog.maintain.seminaive import Watch
from tidelog.maintain.update import Algorithm, Update, refuses_pruning
from tidelog.program.diagnostics import TidelogError, plural
from tidelog.program.rules import Rule, Stratum
from tidelog.program.suggestions import suggestion
from tidelog.spark.driver import Driver, reads
from tidelog.spark.sets import Extent, SparkSet

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from tidelog.spark.frame_engine import FrameEngine
    from tidelog.spark.strategies import Inputs, RelationBlobs, Strategy
    from tidelog.spark.strategies.partition_state import Round
    from tidelog.spark.strategies.slices import Overlay

DRIVER_FACTS = 2_000_000  # of a stratum and what it reads (docs/decisions/018-the-spark-engine.md)
STRATEGIES = ("auto", "driver", "pivot", "components", "shuffle", "frames")
MANY_RULES = 40  # of a stratum: too many plans for Spark's own planner
MANY_STRATA = 8  # too many to be maintained one by one
SMALL_PART = 0.01  # of a huge stratum: a larger change makes it derive anew
HUGE = 50_000_000  # facts: deriving them anew takes longer than the dozens of jobs of DRed


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """The user's options for the Spark engine."""

    strategy: str = "auto"
    driver_facts: int = DRIVER_FACTS

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise TidelogError(
                f"error: unknown strategy {self.strategy!r}\n"
                f"    {suggestion(str(self.strategy), STRATEGIES)}"
            )
        if not isinstance(self.driver_facts, int) or self.driver_facts < 0:
            raise TidelogError(
                f"error: expected a number of facts for driver_facts, got {self.driver_facts!r}"
            )


@dataclass(slots=True)
class DerivedStratum:
    """A stratum derived by a strategy: blobs, from which slices can be fetched."""

    strategy: Strategy
    results: Mapping[str, RelationBlobs]
    extents: Mapping[str, Extent]  # the same, as the engine has it

    def is_state(self, name: str, extent: Extent) -> bool:
        """Whether these facts are the blobs, apart from overlaid changes."""
        return extent.shares(self.extents[name])


class Placement:
    """Chooses the placement of each stratum of one database."""

    def __init__(self, engine: FrameEngine, options: SparkOptions, modules: ModuleKinds) -> None:
        self.engine = engine
        self.options = options
        most = options.driver_facts if options.strategy in ("auto", "driver") else 0
        self.driver = Driver(engine, most, modules)
        self.places: dict[tuple[str, ...], str] = {}  # the choice for each stratum, and the reason
        self._kept: dict[tuple[str, ...], DerivedStratum] = {}
        self._of: dict[str, DerivedStratum] = {}  # by relation: the part that holds its facts

    # From scratch.

    def materialise(self, strata: Sequence[Stratum], watch: Watch, memory: Memory) -> None:
        """Derive all strata from the explicit facts of the materialisation."""
        from tidelog.spark.strategies.fuse import fuse

        waiting: list[Stratum] = []
        unknown: set[str] = set()  # relations of the strata that wait
        for stratum in strata:
            if stratum.rules:
                known = unknown.isdisjoint(reads(stratum))
                if known and self._by_driver(stratum, watch, self.driver.evaluate):
                    continue
                waiting.append(stratum)
                unknown.update(stratum.relations)
        together = len(waiting) > MANY_STRATA and self.options.strategy != "frames"
        for stratum in fuse(waiting) if together else waiting:
            watch.stratum(stratum)
            evaluate(self.engine, stratum, self.engine.all, watch, memory, self.engine.explicit)

    def _by_driver(
        self, stratum: Stratum, watch: Watch, derive: Callable[[Stratum, Watch], bool]
    ) -> bool:
        if not self._in_driver(stratum):
            return False
        facts = sum(self.engine.all.of(name).most for name in reads(stratum))
        watch.stratum(stratum)
        done = derive(stratum, watch)
        if done:
            self._note(stratum, f"driver: it reads {plural(facts, 'fact')}")
        return done

    def evaluate(self, stratum: Stratum, watch: Watch) -> bool:
        """Derive a stratum from scratch by a strategy; False if frames must do it."""
        if self._by_driver(stratum, watch, self.driver.renew):
            return True
        if not stratum.recursive or self.options.strategy == "frames":
            self._note(stratum, "frames: " + ("asked for" if stratum.recursive else "no recursion"))
            return False
        self._by_strategy(stratum, watch)
        return True

    def _by_strategy(self, stratum: Stratum, watch: Watch) -> None:
        from tidelog.spark import strategies

        engine, forced = self.engine, self.options.strategy
        wanted = None if forced in ("auto", "driver") else forced
        sizes = self._sizes(stratum)
        if wanted is not None and wanted != "shuffle" and not _fits(stratum, engine, wanted):
            wanted = None  # a requested strategy applies to the strata that it fits
        chosen = strategies.choose(stratum, engine.kinds, wanted, sizes=sizes)
        results = strategies.materialise(chosen, self._inputs(stratum, watch))
        if isinstance(watch, LimitWatch):
            watch.outside = 0
        self._put(stratum, chosen, results)
        self._note(stratum, f"{chosen.name}: {chosen.why}")

    def _input(self, stratum: Stratum, name: str) -> Extent:
        inside = name in stratum.relations
        return (self.engine.explicit if inside else self.engine.all).of(name)

    def _sizes(self, stratum: Stratum) -> dict[str, int]:
        return {name: self._input(stratum, name).most for name in reads(stratum)}

    def _inputs(self, stratum: Stratum, watch: Watch) -> Inputs:
        from tidelog.spark import strategies

        tables, blobs = {}, {}  # what the driver has anyway, and the results of strategies
        for name in reads(stratum):
            extent = self._input(stratum, name)
            if extent.small:
                tables[name] = spark_columns.as_arrow(self.engine.kinds[name], extent.plus)
            elif extent.held is not None and not extent.over:
                tables[name] = extent.held
            elif _is_blobs(self._of, name, extent):
                blobs[name] = self._of[name].results[name].blobs
        options = strategies.StrategyOptions(sizes=self._sizes(stratum), tables=tables, blobs=blobs)
        if isinstance(watch, LimitWatch):
            clock = watch

            def show(done: Round) -> None:
                clock.outside += done.facts
                clock.round()

            options = replace(options, limits=clock.limits, show=show)
        engine = self.engine

        def read(name: str) -> DataFrame:
            return engine.frame(name, self._input(stratum, name))

        return strategies.Inputs(engine.spark, stratum, engine.kinds, read, options)

    def _put(
        self, stratum: Stratum, strategy: Strategy, results: Mapping[str, RelationBlobs]
    ) -> None:
        """Make these the stratum's facts."""
        # With many relations, a frame for each would take longer than deriving their facts.
        extents = {
            name: Extent(size=found.count, make=partial(getattr, found, "frame"))
            if found.count
            else Extent()
            for name, found in results.items()
        }
        for name, extent in extents.items():
            self.engine.all.put(name, extent.copy())
        kept = DerivedStratum(strategy, results, extents)
        self._kept[stratum.relations] = kept
        self._of.update(dict.fromkeys(extents, kept))

    def _note(self, stratum: Stratum, what: str) -> None:
        self.places[stratum.relations] = what

    def _in_driver(self, stratum: Stratum, rules: Sequence[Rule] = ()) -> bool:
        return self.driver.most > 0 and self.driver.fits(stratum, rules)

    # Updates.

    def placed(self, algorithm: Algorithm) -> Algorithm:
        """The algorithm, wrapped so that it runs where it should."""

        def maintain(
            u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]
        ) -> None:
            if self._in_driver(stratum, removed):
                self.driver.maintain(algorithm, u, stratum, removed, added)
                return
            if not removed and not added and self._by_slices(algorithm, u, stratum):
                return
            u.work.place = "frames"
            (self._auto if algorithm is auto.maintain else algorithm)(u, stratum, removed, added)
            if u.work.algorithm == "recompute":
                place = self.places.get(stratum.relations, "frames")
                u.work.place = place.partition(":")[0]

        return maintain

    def _by_slices(self, algorithm: Algorithm, u: Update, stratum: Stratum) -> bool:
        """Maintain just the slices of a pivot stratum that the change can reach: in the driver if
        they are few, in the executors otherwise."""
        kept = self._kept.get(stratum.relations)
        if kept is None or kept.strategy.name != "pivot":
            return False
        deltas, overlays = self._deltas(u, stratum), self._overlays(stratum, kept)
        if deltas is None or overlays is None:
            return False
        return self._by_few_slices(
            algorithm, u, stratum, kept, deltas, overlays
        ) or self._by_many_slices(u, stratum, kept, deltas, overlays)

    def _by_few_slices(
        self,
        algorithm: Algorithm,
        u: Update,
        stratum: Stratum,
        kept: DerivedStratum,
        deltas: Mapping[str, pa.Table],
        overlays: Mapping[str, Overlay],
    ) -> bool:
        from tidelog.spark.strategies import slices

        engine = self.engine
        lower = reads(stratum) - set(stratum.relations)
        room = self.options.driver_facts - sum(engine.all.of(name).most for name in lower)
        if room <= 0:
            return False
        if slices.is_square(kept.strategy) and any(
            engine.explicit.of(name).most for name in stratum.relations
        ):
            return False  # its linear form has no step over an explicit fact
        tables = slices.affected(
            *(kept.strategy, engine.spark, stratum, engine.kinds, deltas, kept.results),
            overlays=overlays,
            most=room,
        )
        if tables is None:
            return False
        form, closure = stratum, kept.strategy.closure
        if closure is not None and closure.kind == "transitive":
            form = slices.linear_form(stratum, closure, engine.kinds[closure.relation].kinds[0])
        return self.driver.maintain_slices(algorithm, u, stratum, form, tables)

    def _by_many_slices(
        self,
        u: Update,
        stratum: Stratum,
        kept: DerivedStratum,
        deltas: Mapping[str, pa.Table],
        overlays: Mapping[str, Overlay],
    ) -> bool:
        from tidelog.spark.strategies.blob_changes import patched
        from tidelog.spark.strategies.rederive import renewed

        engine = self.engine
        closure = kept.strategy.closure
        if closure is not None and closure.kind == "transitive":
            return False
        state = kept.results
        if overlays:
            state = patched(
                kept.strategy, engine.spark, stratum, engine.kinds, kept.results, overlays
            )
        found = renewed(kept.strategy, self._inputs(stratum, u.watch), deltas, state)
        if found is None:
            return False
        D, A = engine.none(), engine.none()
        for name in stratum.relations:
            for facts, tables in ((D, found.removed), (A, found.added)):
                table = spark_columns.from_arrow(engine.kinds[name], tables[name])
                facts.put(name, engine.hand_over(engine.kinds[name], table, True))
        self._put(stratum, kept.strategy, found.state)
        u.memory.keep(stratum)
        u.work.algorithm, u.work.why = "recompute", "slices that the change reaches"
        u.work.place = "pivot, by slices"
        u.net(D, A)
        return True

    def _deltas(self, u: Update, stratum: Stratum) -> dict[str, pa.Table] | None:
        """The change of the stratum's inputs, if the driver has it."""
        found: dict[str, pa.Table] = {}
        inside = set(stratum.relations)
        for name in reads(stratum):
            rows: set[spark_columns.Row] = set()
            for facts in (u.X,) if name in inside else (u.D, u.A):
                extent = _extent(facts, name)
                if not extent.small:
                    return None
                rows |= extent.plus
            if rows:
                found[name] = spark_columns.as_arrow(self.engine.kinds[name], rows)
        return found

    def _overlays(self, stratum: Stratum, kept: DerivedStratum) -> dict[str, Overlay] | None:
        """Changes since the blobs were written; None if the blobs are of another state."""
        from tidelog.spark.strategies import slices

        found = {}
        for name in stratum.relations:
            extent, relation = self.engine.all.of(name), self.engine.kinds[name]
            if not kept.is_state(name, extent):
                return None
            if not self.engine.explicit.of(name).small:
                return None
            if extent.plus or extent.minus:
                removed, added = (
                    spark_columns.as_arrow(relation, rows) for rows in (extent.minus, extent.plus)
                )
                found[name] = slices.Overlay(removed, added)
        return found

    def anew(self, u: Update, strata: Sequence[Stratum]) -> tuple[SparkSet, SparkSet]:
        """Derive these strata from scratch, fused into as few as possible; returns what was deleted
        and inserted."""
        from tidelog.spark.strategies.compare import difference

        engine = self.engine
        names = [name for stratum in strata for name in stratum.relations]
        before, blobs_before = {name: engine.all.of(name) for name in names}, dict(self._of)
        taken = engine.take(names)
        self.driver.forget()
        self.materialise(strata, u.watch, u.memory)
        kept = [
            name
            for name in names
            if _is_blobs(blobs_before, name, before[name])
            and _is_blobs(self._of, name, engine.all.of(name))
        ]
        for name in kept:
            del taken.extents[name]
        D, A = engine.compare(taken)
        if kept:
            old, new = _blobs(blobs_before, kept), _blobs(self._of, kept)
            removed, inserted = difference(engine.spark, old, new, kept, engine.kinds)
            for facts, tables in ((D, removed), (A, inserted)):
                for name, table in tables.items():
                    found = spark_columns.from_arrow(engine.kinds[name], table)
                    facts.put(name, engine.hand_over(engine.kinds[name], found, True))
            both = engine.collect(D & A)
            D -= both
            A -= both
        return D, A

    def _auto(
        self, u: Update, stratum: Stratum, removed: Sequence[Rule], added: Sequence[Rule]
    ) -> None:
        """Prefer few jobs to few instances: one step without recursion, DRed for a tiny change of
        much data under few rules, and the stratum anew otherwise."""
        if not stratum.recursive:
            bf.maintain(u, stratum, removed, added)
            u.work.why = "no recursion"
            return
        size = sum(self.engine.all.of(name).most for name in reads(stratum))
        change = sum(_extent(facts, n).most for facts in (u.X, u.D, u.A) for n in _names(facts))
        kept = self._kept.get(stratum.relations)
        outgrown = self.options.strategy != "frames" and kept is None
        few_rules = len(stratum.rules) <= MANY_RULES
        forced = self.options.strategy == "frames"
        followed = change <= SMALL_PART * size and (forced or size > HUGE)
        if few_rules and followed and not outgrown:
            dred.maintain(u, stratum, removed, added)
            u.work.why = "little changes"
        else:
            recompute.maintain(u, stratum, removed, added)
            u.work.why = "fewer jobs than by following the change" if few_rules else "many rules"
            if outgrown:
                u.work.why = "it has outgrown the driver"


@dataclass(frozen=True, slots=True)
class Everything:
    """`auto` for all strata at once: where many of them are too large for the driver, derive them
    anew, fused into as few strata as possible."""

    placement: Placement
    name: str = "auto"

    def refusal(self, strata: Sequence[Stratum], removed: Sequence[Rule]) -> str:
        return refuses_pruning(strata)

    def maintain(
        self, u: Update, strata: Sequence[Stratum], removed: Sequence[Rule], added: Sequence[Rule]
    ) -> None:
        stratum_of = {name: i for i, s in enumerate(strata) for name in s.relations}
        readers: dict[str, set[str]] = {}
        for stratum in strata:
            for rule in stratum.rules:
                for name, _ in rule.reads():
                    readers.setdefault(name, set()).add(rule.head.relation)
        changed = [rule.head.relation for rule in (*removed, *added)]
        reached = _reached([*_names(u.X), *changed], readers)
        mine = [s for s in strata if not reached.isdisjoint(s.relations)]
        outside = [s for s in mine if s.rules and not self.placement._in_driver(s)]
        if len(outside) <= MANY_STRATA or self.placement.options.strategy == "frames":
            placed = self.placement.placed(auto.maintain)
            update(u, strata, stratum_of, readers, removed, added, placed)
        else:
            self._anew(u, mine)

    def _anew(self, u: Update, strata: Sequence[Stratum]) -> None:
        names = tuple(name for stratum in strata for name in stratum.relations)
        u.begin(Work(names, "recompute", "many strata, too large for the driver"))
        u.net(*self.placement.anew(u, strata))
        u.work.place = "shuffle"
        u.report.works.append(u.work)


def _reached(names: Sequence[str], readers: Mapping[str, set[str]]) -> set[str]:
    """Relations that a change of these can reach."""
    found, waiting = set(names), list(names)
    while waiting:
        for head in readers.get(waiting.pop(), ()):
            if head not in found:
                found.add(head)
                waiting.append(head)
    return found


def _is_blobs(of: Mapping[str, DerivedStratum], name: str, extent: Extent) -> bool:
    """Whether these facts are blobs and nothing else."""
    kept = of.get(name)
    return (
        kept is not None
        and not extent.small
        and kept.is_state(name, extent)
        and not extent.plus
        and not extent.minus
    )


def _blobs(of: Mapping[str, DerivedStratum], names: Sequence[str]) -> list[DataFrame]:
    """The distinct frames of blobs that contain facts of these relations."""
    found = {id(of[name]): of[name].results[name].blobs for name in names}
    return list(found.values())


def _fits(stratum: Stratum, engine: FrameEngine, strategy: str) -> bool:
    from tidelog.spark.strategies import choose

    try:
        choose(stratum, engine.kinds, strategy)
    except TidelogError:
        return False
    return True


def _extent(facts: object, name: str) -> Extent:
    assert isinstance(facts, SparkSet)
    return facts.of(name)


def _names(facts: object) -> list[str]:
    assert isinstance(facts, SparkSet)
    return facts.names()
