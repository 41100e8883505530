"""The engines that can hold a database's facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.maintain.memory import ModuleKinds
from tidelog.plan.accept import Accepted
from tidelog.program.diagnostics import TidelogError
from tidelog.program.suggestions import suggestion
from tidelog.transaction.backend import Backend

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """Which engine has the facts, and how it works."""

    engine: str = "local"
    spark: SparkSession | None = None
    strategy: str = "auto"
    driver_facts: int | None = None

    def open(self, accepted: Accepted, algorithm: str, modules: ModuleKinds) -> Backend:
        """The engine, for a program, without facts."""
        backend = BACKENDS.get(self.engine)
        if backend is None:
            advice = suggestion(str(self.engine), BACKENDS)
            raise TidelogError(f"error: unknown engine {self.engine!r}\n    {advice}")
        return backend(self, accepted, algorithm, modules)


def _local(
    place: EngineChoice, accepted: Accepted, algorithm: str, modules: ModuleKinds
) -> Backend:
    from tidelog.session.local_backend import LocalBackend

    return LocalBackend()


def _spark(
    place: EngineChoice, accepted: Accepted, algorithm: str, modules: ModuleKinds
) -> Backend:
    from tidelog.spark.session import require_pyspark

    require_pyspark()
    from tidelog.spark.backend import SparkBackend

    spark, strategy, driver_facts = place.spark, place.strategy, place.driver_facts
    return SparkBackend(accepted, algorithm, modules, spark, strategy, driver_facts)


Opener = Callable[[EngineChoice, Accepted, str, ModuleKinds], Backend]
BACKENDS: dict[str, Opener] = {"local": _local, "spark": _spark}
