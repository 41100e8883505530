"""Arrays that grow. What cannot be had is a limit that was met."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.program.diagnostics import LimitError

Pairs = NDArray[np.uint32]  # of shape (k, 2)


def new(shape: int | tuple[int, int], kind: type[np.generic], clear: bool = True) -> NDArray[Any]:
    """Zeros, or anything where nobody reads before writing."""
    try:
        return np.zeros(shape, dtype=kind) if clear else np.empty(shape, dtype=kind)
    except MemoryError:
        needed = np.prod(shape, dtype=np.int64) * np.dtype(kind).itemsize / 2**20
        raise LimitError(f"error: no memory for a table of {needed:,.0f} MiB") from None


def grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array with more room, zeros after what it has."""
    larger = new(size, array.dtype.type)
    larger[: len(array)] = array
    return larger


def as_pairs(edges: Any) -> Pairs:
    """A copy of the edges, so that the kernels see one kind of array only.

    >>> as_pairs([]).shape
    (0, 2)
    """
    pairs = np.array(edges, dtype=np.uint32, order="C")
    return pairs.reshape(-1, 2) if pairs.size == 0 else _checked(pairs)


def _checked(pairs: Pairs) -> Pairs:
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"edges have the shape (k, 2), not {pairs.shape}")
    return pairs
