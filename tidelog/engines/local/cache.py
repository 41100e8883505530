"""Where compiled kernels are kept between runs."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

from numba.core.types import int64

from tidelog import prefetching
from tidelog.compiled import is_cached, kernels_of, load_quickly, load_safely
from tidelog.engines.local.kernels import bits, hashing, index, join, removal, words

KERNELS = kernels_of((bits, hashing, index, join, removal, words))
_LARGEST: Any = join.run


def compile_largest() -> None:
    """Load the largest kernel, or compile it: its arguments are all addresses and numbers."""
    if not _LARGEST.signatures:
        count = len(inspect.signature(_LARGEST.py_func).parameters)
        _LARGEST.compile((int64,) * count)


def folder() -> Path | None:
    """The cache's folder; None if there is no place where one could be."""
    path = getattr(_LARGEST.stats, "cache_path", None)
    return Path(path) if path else None


def is_warm() -> bool:
    """Will the largest kernel be loaded rather than compiled?"""
    return bool(_LARGEST.signatures) or is_cached(_LARGEST)


def is_writable() -> bool:
    path = folder()
    while path is not None and not path.exists() and path != path.parent:
        path = path.parent
    return path is not None and os.access(path, os.W_OK | os.X_OK)


def is_beside_the_package() -> bool:
    path = folder()
    return path is not None and path.is_relative_to(Path(__file__).parent)


_SOURCES = (Path(__file__).parent / "kernels").glob("*.py")
load_safely(KERNELS, (*_SOURCES, Path(prefetching.__file__)))
load_quickly(KERNELS)
