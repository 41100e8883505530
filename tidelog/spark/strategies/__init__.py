"""Strategies for recursive strata; `choose` lists them."""

from __future__ import annotations

from tidelog.spark.strategies.choose import NAMES, Strategy, choose
from tidelog.spark.strategies.partition_state import Inputs, RelationBlobs, Round, StrategyOptions

__all__ = [
    "NAMES",
    "Inputs",
    "RelationBlobs",
    "Round",
    "Strategy",
    "StrategyOptions",
    "choose",
    "materialise",
]


def materialise(strategy: Strategy, inputs: Inputs) -> dict[str, RelationBlobs]:
    """All facts of a stratum's relations."""
    from tidelog.spark.strategies import connected_components, pivot, shuffle

    runs = {
        "pivot": pivot.materialise,
        "components": connected_components.materialise,
        "shuffle": shuffle.materialise,
    }
    return runs[strategy.name](strategy, inputs)
