"""Where compiled kernels of closures are kept between runs."""

from __future__ import annotations

from pathlib import Path

from tidelog.closure.kernels import (
    asking,
    chains,
    classes,
    cutting,
    emission,
    joining,
    lists,
    nodes,
    order,
    rows,
    strong,
)
from tidelog.compiled import is_cached, kernels_of, load_quickly, load_safely

MODULES = (
    *(asking, chains, classes, cutting, emission, joining),
    *(lists, nodes, order, rows, strong),
)
KERNELS = kernels_of(MODULES)


def is_warm() -> bool:
    """Will most kernels be loaded rather than compiled?"""
    return is_cached(emission.changed_pairs)


# Kernels know the bundles that they get by the order of their arrays: all files count.
load_safely(KERNELS, Path(__file__).parent.rglob("*.py"))
load_quickly(KERNELS)
