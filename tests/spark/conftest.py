"""One Spark session for all tests, and a cluster of real processes for those that need one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.spark.cluster import Cluster
from tidelog.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session on two cores of this machine."""
    made = session("local[2]", "tidelog tests")
    yield made
    made.stop()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers of one core each, as processes of their own."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running
