"""A checksum of a set of rows that does not depend on their order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bench.data import Rows


class Checksum(NamedTuple):
    """Two sets of rows that agree in all three are taken as equal."""

    size: int
    total: int  # sum of the rows' hashes, modulo 2**64
    parity: int  # exclusive or of the rows' hashes


def checksum(rows: Rows) -> Checksum:
    """Of distinct rows; a row that occurs twice changes the result.

    >>> rows = np.array([[1, 2], [3, 4]], dtype=np.int64)
    >>> checksum(rows) == checksum(rows[::-1]) != checksum(rows[:, ::-1])
    True
    """
    mixed = np.full(len(rows), 0x243F6A8885A308D3, dtype=np.uint64)
    for column in range(rows.shape[1]):
        mixed = mix(mixed ^ np.ascontiguousarray(rows[:, column]).view(np.uint64))
    total = int(mixed.sum(dtype=np.uint64))
    return Checksum(len(rows), total, int(np.bitwise_xor.reduce(mixed, initial=np.uint64(0))))


def mix(words: np.typing.NDArray[np.uint64]) -> np.typing.NDArray[np.uint64]:
    """A bijection of 64-bit words in which every input bit moves every output bit (splitmix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
