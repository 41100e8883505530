"""Arrays that grow. Running out of memory is a LimitError."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tidelog.program.diagnostics import LimitError

Pairs = NDArray[np.uint32]  # of shape (k, 2)
NO_PAIRS: Pairs = np.empty((0, 2), dtype=np.uint32)


def new(shape: int | tuple[int, int], kind: type[np.generic], clear: bool = True) -> NDArray[Any]:
    """Zeros, or uninitialised memory where every cell is written before it is read."""
    try:
        return np.zeros(shape, dtype=kind) if clear else np.empty(shape, dtype=kind)
    except MemoryError:
        needed = np.prod(shape, dtype=np.int64) * np.dtype(kind).itemsize / 2**20
        raise LimitError(f"error: no memory for a table of {needed:,.0f} MiB") from None


def grown(array: NDArray[Any], size: int, clear: bool = True) -> NDArray[Any]:
    """The array with more room; zeros, or anything, after what it has."""
    larger = new(size, array.dtype.type, clear)
    larger[: len(array)] = array
    return larger


def as_pairs(edges: ArrayLike) -> Pairs:
    """A copy of the edges, so that kernels see one kind of array only.

    >>> as_pairs([]).shape
    (0, 2)
    """
    given = np.asarray(edges)
    if given.size == 0:
        return NO_PAIRS
    if given.ndim != 2 or given.shape[1] != 2:
        raise ValueError(f"edges have the shape (k, 2), not {given.shape}")
    pairs: Pairs = np.array(given, dtype=np.uint32, order="C")
    if given.dtype != np.uint32 and (pairs != given).any():
        raise ValueError("ids are whole numbers from 0 to 2**32 - 1")
    return pairs
