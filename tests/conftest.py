"""What holds for all tests."""

from __future__ import annotations

import os
import signal
import sys
import zlib
from collections.abc import Container, Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.clock import Clock
from tests.spark import quick

# How long an example takes says more of what else the machine does than of the code.
settings.register_profile("tidelog", deadline=None)
settings.load_profile("tidelog")
os.environ.update(quick.environment())
# A shell ignores Ctrl-C for what it runs in the background, and all processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


# Parts of a test's name, and what all tests with it share.
SHARED = {"cluster": "cluster", "spark": "spark", "tests/pipeline/": "spark"}
FIRST = ("spark", "cluster")


def shared(nodeid: str) -> str:
    """What a test shares with others that the same process should run: Spark, or its file, whose
    fixtures and caches are then made once. Names tell which they are: the marks for groups that
    the plugin offers have no effect with this version of pytest."""
    return next((to for part, to in SHARED.items() if part in nodeid), nodeid.partition("::")[0])


@pytest.hookimpl(tryfirst=True)  # before slow tests are deselected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In several processes, what takes longest is begun first, so that none is waited for."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) or item.path.name == "test_spark.py":
            item.add_marker("spark")
    _leave_samples(items)
    if hasattr(config, "workerinput"):
        long = {shared(item.nodeid) for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: _rank(shared(item.nodeid), long))


def _leave_samples(items: list[pytest.Item]) -> None:
    """Of the cases of a test that is marked `sampled(n)`, all but `n` are slow."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for found in cases.values():
        (count,) = found[0].get_closest_marker("sampled").args  # type: ignore[union-attr]
        found.sort(key=lambda item: zlib.crc32(f"sample {item.nodeid}".encode()))
        for item in found[count:]:
            item.add_marker("slow")


def _rank(group: str, long: Container[str]) -> int:
    return FIRST.index(group) if group in FIRST else len(FIRST) + (group not in long)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Kernels are compiled before several processes want them, or each would compile them all."""
    if getattr(session.config.option, "numprocesses", None):
        from tests.warm import warm

        warm()


@pytest.fixture(scope="session", autouse=True)
def warm_kernels_are_all() -> Iterator[None]:
    """No test of this process needs a kernel that `tidelog warm` does not compile."""
    yield
    if "tidelog.local.kernel_group" in sys.modules:
        from tests.warm import unexpected

        assert unexpected() == []


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files go to whichever process is free, but all that use Spark to the same one, so that one
    session is enough, and all that use a cluster to the same."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return shared(nodeid)

    config.option.loadscopereorder = False  # the number of tests does not tell how long they take
    return Scheduling(config, log)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Time for limits, and the memory that they see."""
    return Clock(monkeypatch)


@pytest.fixture(autouse=True)
def dirty_rows_of_small_relations(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In half of the tests, relations are never too small for their dirty rows to be noted; and in
    half of these, there are soon too many."""
    number = zlib.crc32(request.node.nodeid.encode()) % 8
    if number % 2:
        import tidelog.local.engine as engine
        import tidelog.local.row_store as row_store

        monkeypatch.setattr(engine, "FEW_ROWS", 0)
        monkeypatch.setattr(engine, "FEW_INSTANCES", 0)
        if number > 3:
            monkeypatch.setattr(row_store, "MOST_DIRTY", 12)


@pytest.fixture(autouse=True)
def closures_that_take_no_time(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In half of the tests that tell nobody what was done, no closure takes too little time for a
    module, and no chain of facts is too short for one."""
    name: str = request.node.nodeid
    quiet = name.startswith(("tests/law", "tests/maintain", "tests/conformance"))
    if quiet and zlib.crc32(name.encode()) % 4 < 2:
        from tidelog.maintain import closure_seeds, materialise

        monkeypatch.setattr(materialise, "LONG", 0)
        monkeypatch.setattr(closure_seeds, "FEW", 0)
