"""Where each stratum is worked on: in the driver, inside partitions, or by frames.

*driver*: the stratum and what it reads are small; a local engine has them.
*pivot*, *components*, *shuffle*: recursion inside partitions, where the local engine's kernels
run (`strategies`).
*frames*: rules as joins, a job a round: everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.engines.spark.driver import Driver
from tidelog.maintain import auto, bf, dred, recompute
from tidelog.maintain.seminaive import Watch
from tidelog.maintain.update import Algorithm, Update
from tidelog.program.diagnostics import TidelogError
from tidelog.program.rules import Rule, Stratum

if TYPE_CHECKING:
    from tidelog.engines.spark.engine import SparkEngine

DRIVER_FACTS = 2_000_000
STRATEGIES = ("auto", "driver", "pivot", "components", "shuffle", "frames")
MANY_RULES = 40  # of a stratum: too many plans for Spark's own planner
LARGE = 0.1  # part of a stratum from which on a change is a reason to begin anew


@dataclass(frozen=True, slots=True)
class Options:
    """How the Spark engine works, where a user wants to say so."""

    strategy: str = "auto"
    driver_facts: int = DRIVER_FACTS

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise TidelogError(
                f"error: there is no strategy {self.strategy!r}\n"
                f"    there are {', '.join(STRATEGIES)}"
            )
        if not isinstance(self.driver_facts, int) or self.driver_facts < 0:
            raise TidelogError(
                f"error: driver_facts is a number of facts; {self.driver_facts!r} is none"
            )


class Placing:
    """Decides for one database."""

    def __init__(self, engine: SparkEngine, options: Options, modules: bool) -> None:
        self.engine = engine
        self.options = options
        most = options.driver_facts if options.strategy in ("auto", "driver") else 0
        self.driver = Driver(engine, most, modules)
        self.told: dict[tuple[str, ...], str] = {}  # what was chosen for strata, and why

    def evaluate(self, stratum: Stratum, watch: Watch) -> bool:
        """Derive a stratum from scratch in a way of our own; False if frames are the way."""
        facts = sum(self.engine.all.of(name).most for name in _reads(stratum))
        if self._in_driver(stratum) and self.driver.evaluate(stratum, watch):
            self._tell(stratum, f"driver: it reads {facts:,} facts")
            return True
        if not stratum.recursive or self.options.strategy == "frames":
            self._tell(stratum, "frames: " + ("asked for" if stratum.recursive else "no recursion"))
            return False
        return self._by_strategy(stratum)

    def _by_strategy(self, stratum: Stratum) -> bool:
        from tidelog.engines.spark.sets import Lay
        from tidelog.engines.spark.strategies import choose, materialise

        engine, forced = self.engine, self.options.strategy
        wanted = None if forced in ("auto", "driver") else forced
        chosen = choose(stratum, engine.kinds, wanted)

        def read(name: str) -> object:
            inside = name in stratum.relations
            facts = engine.explicit if inside else engine.all
            return engine.frame(name, facts.of(name))

        made = materialise(chosen, engine.spark, stratum, engine.kinds, read)
        for name, found in made.items():
            engine.all.put(name, Lay((), found.frame, found.count) if found.count else Lay())
        self._tell(stratum, f"{chosen.name}: {chosen.why}")
        return True

    def _tell(self, stratum: Stratum, what: str) -> None:
        self.told[stratum.relations] = what

    def _in_driver(self, stratum: Stratum, rules: Sequence[Rule] = ()) -> bool:
        return self.driver.most > 0 and self.driver.fits(stratum, rules)

    def placed(self, algorithm: Algorithm) -> Algorithm:
        """The algorithm, where it should run."""

        def maintain(
            u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]
        ) -> None:
            if self._in_driver(stratum, gone):
                self.driver.maintain(algorithm, u, stratum, gone, come)
                return
            u.work.place = "frames"
            (self._auto if algorithm is auto.maintain else algorithm)(u, stratum, gone, come)
            if u.work.algorithm == "recompute":
                told = self.told.get(stratum.relations, "frames")
                u.work.place = told.partition(":")[0]

        return maintain

    def _auto(
        self, u: Update, stratum: Stratum, gone: Sequence[Rule], come: Sequence[Rule]
    ) -> None:
        """Few jobs matter more than few instances: one step where there is no recursion, the
        stratum anew where much changes or rules are many, and DRed otherwise."""
        if not stratum.recursive:
            bf.maintain(u, stratum, gone, come)
            u.work.why = "no recursion"
            return
        size = sum(self.engine.all.of(name).most for name in _reads(stratum))
        change = sum(lay.most for s in (u.X, u.D, u.A) for lay in s.lays.values())  # type: ignore[attr-defined]
        if len(stratum.rules) > MANY_RULES or change > LARGE * size:
            recompute.maintain(u, stratum, gone, come)
            u.work.why = "many rules" if change <= LARGE * size else "much changes"
        else:
            dred.maintain(u, stratum, gone, come)
            u.work.why = "little changes"


def _reads(stratum: Stratum) -> set[str]:
    found = set(stratum.relations)
    for rule in stratum.rules:
        found.update(name for name, _ in rule.reads())
    return found
