"""Where compiled kernels of circuits are kept between runs."""

from __future__ import annotations

from pathlib import Path

from tidelog import prefetching
from tidelog.compiled import is_cached, kernels_of, load_quickly, load_safely
from tidelog.dbsp.kernels import cells, hashing, joining

KERNELS = kernels_of((cells, hashing, joining))


def is_warm() -> bool:
    """Will kernels be loaded rather than compiled?"""
    return is_cached(joining.join)


SOURCES = (*Path(__file__).parent.glob("kernels/*.py"), Path(prefetching.__file__))
load_safely(KERNELS, SOURCES)
load_quickly(KERNELS)
