"""Where compiled kernels of closures are kept between runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tidelog.closure.kernels import (
    asking,
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
from tidelog.compiled import kernels_of, load_quickly, load_safely

MODULES = (asking, classes, cutting, emission, joining, lists, nodes, order, rows, strong)
KERNELS = kernels_of(MODULES)


def is_warm() -> bool:
    """Will most kernels be loaded rather than compiled?"""
    try:
        # The public side of the cache tells of hits only after the fact.
        kernel: Any = emission.changed_pairs
        return bool(kernel._cache._cache_file._load_index())
    except Exception:  # unreadable, or laid out otherwise by another version of Numba
        return False


# Kernels know the bundles that they get by the order of their arrays: all files count.
load_safely(KERNELS, Path(__file__).parent.rglob("*.py"))
load_quickly(KERNELS)
