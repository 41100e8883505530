"""The Spark engine as a database's backend."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

from tidelog.control.limits import Limits, LimitWatch
from tidelog.engine import Store
from tidelog.formats.directives import Input, Output
from tidelog.local import kernel_group
from tidelog.maintain.driver.algorithms import BY_STRATUM
from tidelog.maintain.memory import Memory, ModuleKinds
from tidelog.maintain.report import Report
from tidelog.maintain.update import Algorithm, Update, WholeAlgorithm
from tidelog.plan.accept import Accepted
from tidelog.program.diagnostics import Diagnostic, Sources, TidelogError
from tidelog.program.rules import Rule, Stratum
from tidelog.spark import errors, inputs, outputs
from tidelog.spark.engine import SparkEngine
from tidelog.spark.jobs import Jobs
from tidelog.spark.placement import DRIVER_FACTS, Everything, SparkOptions
from tidelog.spark.session import session
from tidelog.spark.sets import Extent
from tidelog.spark.unsupported import (
    check_algorithm,
    check_program,
    refuse_functors,
    refuse_numbers,
)
from tidelog.transaction.backend import Relations
from tidelog.transaction.refusals import ends_early

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkBackend:
    name = "Spark"
    own_formats = True
    shows_rounds = True

    def __init__(
        self,
        accepted: Accepted,
        algorithm: str,
        modules: ModuleKinds,
        spark: SparkSession | None,
        strategy: str,
        driver_facts: int | None,
    ) -> None:
        limits = accepted.checked.limits
        if limits:
            raise TidelogError(f"error: {ends_early(limits)} which Spark does not support")
        check_algorithm(algorithm)
        check_program(accepted.typed.types, accepted.checked, accepted.sources)
        spark = spark or session()
        most = DRIVER_FACTS if driver_facts is None else driver_facts
        self._engine = SparkEngine(spark, SparkOptions(strategy, most), modules)

    @property
    def store(self) -> Store:
        return self._engine

    @property
    def places(self) -> Mapping[tuple[str, ...], str]:
        return self._engine.placement.places

    def check_algorithm(self, name: str) -> None:
        check_algorithm(name)

    def check_rules(self, rules: Iterable[Rule]) -> None:
        rules = tuple(rules)
        refuse_numbers(rules)
        refuse_functors(rules)

    def algorithm(self, name: str) -> Algorithm | WholeAlgorithm:
        placement = self._engine.placement
        if name == "auto":
            return Everything(placement)
        return placement.placed(BY_STRATUM[name])

    def finished(self, u: Update) -> None:
        self._engine.placement.driver.follow(u)

    def warm(self) -> None:
        kernel_group.compile_largest()

    def materialise(self, strata: Sequence[Stratum], watch: LimitWatch, memory: Memory) -> None:
        self._engine.placement.materialise(strata, watch, memory)

    def read_inputs(
        self,
        wanted: Iterable[Input],
        stdin: BinaryIO | None = None,
        *,
        sources: Sources | None = None,
        max_facts: int | None = None,
    ) -> Iterator[tuple[str, Extent]]:
        return inputs.read_inputs(self._engine, wanted, stdin, sources=sources)

    def load(self, tables: Iterable[tuple[str, Any]], limits: Limits) -> float:
        engine = self._engine
        for name, data in tables:
            engine.load(name, data, (engine.explicit, engine.all))
        return 0.0  # Spark's jobs read later, and elsewhere

    def write_outputs(
        self,
        relations: Relations,
        wanted: Sequence[Output],
        stdout: BinaryIO,
        *,
        sources: Sources | None = None,
    ) -> tuple[Diagnostic, ...]:
        return outputs.write_outputs(self._engine, relations, wanted, stdout, sources=sources)

    def errors(self) -> AbstractContextManager[None]:
        return errors.translated()

    @contextmanager
    def committing(self, report: Report) -> Iterator[None]:
        self._engine.describe("update")
        with errors.translated(), Jobs(self._engine.spark) as ran:
            yield
        report.engine = ran.record()
