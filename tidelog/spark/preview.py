"""What the Spark engine would do with a stratum, before facts are loaded."""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.program.diagnostics import TidelogError, plural
from tidelog.program.rules import Relation, Stratum
from tidelog.spark.placement import DRIVER_FACTS, SparkOptions
from tidelog.spark.strategies import Strategy, choose


def planned(stratum: Stratum, relations: Mapping[str, Relation], options: SparkOptions) -> str:
    """Where the stratum would run, and why."""
    driver = options.driver_facts if options.strategy in ("auto", "driver") else 0
    beyond = _beyond(stratum, relations, options)
    return f"driver up to {plural(driver, 'fact')}; beyond, {beyond}" if driver else beyond


def _beyond(stratum: Stratum, relations: Mapping[str, Relation], options: SparkOptions) -> str:
    if not stratum.recursive:
        return "frames: no recursion"
    if options.strategy == "frames":
        return "frames: requested"
    forced = None if options.strategy in ("auto", "driver") else options.strategy
    chosen = _chosen(stratum, relations, forced)
    return f"{chosen.name}: {chosen.why}"


def _chosen(stratum: Stratum, relations: Mapping[str, Relation], forced: str | None) -> Strategy:
    try:
        return choose(stratum, relations, forced)
    except TidelogError:  # a requested strategy applies to the strata that it fits
        return choose(stratum, relations)


def placement_of(places: Mapping[tuple[str, ...], str], stratum: Stratum) -> str:
    """The reported placement of a stratum, which may have been fused with others."""
    mine = set(stratum.relations)
    return next((what for names, what in places.items() if mine <= set(names)), "nothing to do")


def options_of(strategy: str | None, driver_facts: int | None) -> SparkOptions:
    most = DRIVER_FACTS if driver_facts is None else driver_facts
    return SparkOptions(strategy or "auto", most)
