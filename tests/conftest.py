"""What holds for all tests."""

from __future__ import annotations

import zlib

import pytest


def pytest_sessionstart(session: pytest.Session) -> None:
    """Kernels are compiled before several processes want them, or each would compile them all."""
    if getattr(session.config.option, "numprocesses", None):
        from tests.warm import warm

        warm()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a Spark session, or a cluster, run in one process, so that there is one."""
    for item in items:
        for shared in {"spark", "cluster"} & {*getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.xdist_group(shared))


def _name(request: pytest.FixtureRequest) -> str:
    """The test's name, whether it runs in a group or by itself."""
    name: str = request.node.nodeid
    return name.removesuffix("@spark").removesuffix("@cluster")


@pytest.fixture(autouse=True)
def odd_rows_of_small_relations(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In half of the tests, relations are never too small for their odd rows to be noted."""
    if zlib.crc32(_name(request).encode()) % 2:
        import tidelog.engines.local.engine as engine

        monkeypatch.setattr(engine, "FEW_ROWS", 0)
        monkeypatch.setattr(engine, "FEW_INSTANCES", 0)


@pytest.fixture(autouse=True)
def closures_that_take_no_time(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In half of the tests that tell nobody what was done, no closure takes too little time for a
    module."""
    name = _name(request)
    quiet = name.startswith(("tests/law", "tests/maintain", "tests/conformance"))
    if quiet and zlib.crc32(name.encode()) % 4 < 2:
        import tidelog.maintain.materialise as materialise

        monkeypatch.setattr(materialise, "LONG", 0)
