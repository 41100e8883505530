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


@pytest.fixture(autouse=True)
def closures_that_take_no_time(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In half of the tests that tell nobody what was done, no closure takes too little time for a
    module."""
    name: str = request.node.nodeid
    quiet = name.startswith(("tests/law", "tests/maintain", "tests/conformance"))
    if quiet and zlib.crc32(name.encode()) % 4 < 2:
        import tidelog.maintain.materialise as materialise

        monkeypatch.setattr(materialise, "LONG", 0)
