from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.engine.contract import Contract
from tidelog import Database
from tidelog.engine import Store
from tidelog.program.diagnostics import TidelogError
from tidelog.spark.engine import SparkEngine
from tidelog.spark.placement import SparkOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class TestSpark(Contract):
    session: SparkSession

    @pytest.fixture(autouse=True)
    def on(self, spark: SparkSession) -> None:
        self.session = spark

    def new(self) -> Store:
        return SparkEngine(self.session, SparkOptions(strategy="frames"))


def test_what_spark_cannot_do_is_said(spark: SparkSession) -> None:
    db = Database("p(x) :- q(x). q(1).", engine="spark", spark=spark)
    rule = next(iter(db._checked.rules))
    with pytest.raises(TidelogError, match="join order is not available on Spark"):
        db.join_order(rule)
    with pytest.raises(TidelogError, match="query by demand is not available on Spark"):
        db.query("p(x)", demand=True)
    with pytest.raises(TidelogError, match="the policy 'marking' is not available on Spark"):
        db.stream("+q(2).", "marking")
