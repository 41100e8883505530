"""The registry of maintenance algorithms: help, errors and the table in the docs derive from it."""

from __future__ import annotations

from typing import NamedTuple

from tidelog.maintain import aged, bf, bfc, counting, dred, dredc, modular, recompute
from tidelog.maintain.dbsp import DbspAlgorithm
from tidelog.maintain.driver import auto
from tidelog.maintain.dyre import DyreAlgorithm
from tidelog.maintain.update import Algorithm, WholeAlgorithm


class ByStratum(NamedTuple):
    """An algorithm that maintains one stratum at a time.

    `on_spark` says whether it needs nothing that only one process has, such as ages of facts.
    """

    maintain: Algorithm
    summary: str
    on_spark: bool = True


class Whole(NamedTuple):
    """An algorithm that maintains all strata at once."""

    maintain: WholeAlgorithm
    summary: str
    on_spark: bool = False


REGISTRY: dict[str, ByStratum | Whole] = {
    "auto": ByStratum(
        auto.maintain,
        "chooses one of the others for each stratum and update, by sizes and measured cost",
    ),
    "recompute": ByStratum(recompute.maintain, "derives the affected relations from scratch"),
    "counting": ByStratum(
        counting.maintain,
        "keeps the number of derivations of every fact; in recursive relations, by rounds",
    ),
    "dred": ByStratum(
        dred.maintain,
        "overdeletes what may depend on deleted facts, rederives what still holds, then inserts",
    ),
    "dredc": ByStratum(
        dredc.maintain, "DRed with counters of nonrecursive and recursive derivations"
    ),
    "bf": ByStratum(bf.maintain, "Backward/Forward: looks for other proofs before it deletes"),
    "bfc": ByStratum(bfc.maintain, "Backward/Forward with counters of nonrecursive derivations"),
    "aged": ByStratum(
        aged.maintain,
        "DRed that stops at facts with a derivation from older ones, and so overdeletes hardly "
        "anything where facts have many derivations",
        on_spark=False,
    ),
    "dredc-mod": ByStratum(
        modular.maintain,
        "DRed with counters and [modules](modules.md) for closures: a stratum that is a closure "
        "overdeletes nothing",
    ),
    "bfc-mod": ByStratum(
        modular.maintain_bf, "Backward/Forward with counters and modules for closures"
    ),
    "dbsp": Whole(
        DbspAlgorithm("dbsp"),
        "interprets the program [incrementally, with rules as data](dbsp.md), in both clocks of "
        "nested streams",
    ),
    "dbsp-no-index": Whole(
        DbspAlgorithm("dbsp-no-index", indexed=False), "`dbsp` without join orders, for comparison"
    ),
    "dyre": Whole(
        DyreAlgorithm(),
        "the [circuit of the DYRE paper](dbsp.md#the-papers-circuit), of DBSP operators, for small "
        "data; programs that are not positive are evaluated from scratch",
    ),
}
BY_STRATUM = {name: each.maintain for name, each in REGISTRY.items() if isinstance(each, ByStratum)}
WHOLE = {name: each.maintain for name, each in REGISTRY.items() if isinstance(each, Whole)}
ALGORITHMS: dict[str, Algorithm | WholeAlgorithm] = {**BY_STRATUM, **WHOLE}
ON_SPARK = tuple(name for name, each in REGISTRY.items() if each.on_spark)
