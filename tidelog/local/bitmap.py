"""A Bloom filter of rows: it takes only a few of those that were not noted for noted ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FEW, MOST = 20, 22  # bits, as a power of two
SPARSE = 8  # times as many bits as rows, where there may be so many


class Bitmap:
    """A word that says how far to shift a hash for its bit, and the bits.

    >>> Bitmap().bits == 1 << FEW, Bitmap(rows=1 << 18).bits == 1 << 21
    (True, True)
    """

    def __init__(self, rows: int = 0) -> None:
        """For about so many rows."""
        power = _power(rows)
        self._words: NDArray[np.uint64] = np.zeros(1 + (1 << (power - 6)), dtype=np.uint64)
        self._words[0] = 64 - power

    @property
    def address(self) -> int:
        return self._words.ctypes.data

    @property
    def bits(self) -> int:
        return 64 * (len(self._words) - 1)

    def suits(self, rows: int) -> bool:
        """Does it have the right number of bits for this many rows?"""
        return self.bits == 1 << _power(rows)

    def clear(self) -> None:
        self._words[1:] = 0


def _power(rows: int) -> int:
    return max(FEW, min(MOST, (SPARSE * rows - 1).bit_length()))
