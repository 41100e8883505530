"""Searches inside an executor."""

from __future__ import annotations

import numpy as np

from tidelog.spark.strategies.blobs import CHUNK
from tidelog.spark.strategies.search import searched


def test_sources_share_pieces_however_many_nodes_there_are() -> None:
    """A piece for each source would be a blob for each: ten thousands of them, for a few facts."""
    edges = np.arange(2 * CHUNK + 20, dtype=np.uint32).reshape(-1, 2)  # pairs that nothing connects
    pieces = list(searched(edges, edges))
    assert [len(piece) for piece in pieces] == [CHUNK, 10]
    assert np.array_equal(np.concatenate(pieces), edges)
