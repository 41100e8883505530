"""What holds for all tests."""

from __future__ import annotations

import zlib

import pytest


@pytest.fixture(autouse=True)
def odd_rows_of_small_relations(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In half of the tests, relations are never too small for their odd rows to be noted."""
    if zlib.crc32(request.node.nodeid.encode()) % 2:
        import tidelog.engines.local.engine as engine

        monkeypatch.setattr(engine, "FEW_ROWS", 0)
        monkeypatch.setattr(engine, "FEW_INSTANCES", 0)
