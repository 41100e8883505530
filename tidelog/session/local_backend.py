"""The local engine as a database's backend."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import BinaryIO

from tidelog.control.limits import Limits, LimitWatch, guarded
from tidelog.engine import Store
from tidelog.formats import directives
from tidelog.formats.directives import Input, Output
from tidelog.local import kernel_group
from tidelog.local.engine import LocalEngine
from tidelog.maintain.driver.algorithms import ALGORITHMS
from tidelog.maintain.materialise import materialise
from tidelog.maintain.memory import Memory
from tidelog.maintain.report import Report
from tidelog.maintain.update import Algorithm, Update, WholeAlgorithm
from tidelog.program.diagnostics import Diagnostic, Sources, during
from tidelog.program.rules import Rule, Stratum
from tidelog.program.table import Table
from tidelog.transaction.backend import Relations
from tidelog.transaction.transaction import check_algorithm


class LocalBackend:
    name = "local"
    own_formats = False
    shows_rounds = False
    places: Mapping[tuple[str, ...], str] | None = None

    def __init__(self) -> None:
        self._engine = LocalEngine()

    @property
    def store(self) -> Store:
        return self._engine

    def check_algorithm(self, name: str) -> None:
        check_algorithm(name)

    def check_rules(self, rules: Iterable[Rule]) -> None:
        """The engine evaluates all of them."""

    def algorithm(self, name: str) -> Algorithm | WholeAlgorithm:
        return ALGORITHMS[name]

    def finished(self, u: Update) -> None: ...

    def warm(self) -> None:
        kernel_group.compile_largest()

    def materialise(self, strata: Sequence[Stratum], watch: LimitWatch, memory: Memory) -> None:
        engine = self._engine
        materialise(engine, strata, engine.all, watch, memory, engine.explicit)
        if any(stratum.pruned for stratum in strata):
            engine.sweep(0 * engine.sizes())  # what was derived and left out

    def read_inputs(
        self,
        wanted: Iterable[Input],
        stdin: BinaryIO | None = None,
        *,
        sources: Sources | None = None,
        max_facts: int | None = None,
    ) -> Iterator[tuple[str, Table]]:
        return directives.read_inputs(wanted, stdin, sources=sources, max_facts=max_facts)

    def load(self, tables: Iterable[tuple[str, Table]], limits: Limits) -> float:
        engine = self._engine
        watch, reading = LimitWatch(limits, engine.facts), iter(tables)
        while True:
            with guarded(watch.check):
                found = next(reading, None)
            if found is None:
                return time.perf_counter() - watch.began
            name, table = found
            began = time.perf_counter()
            engine.load(name, table, (engine.explicit, engine.all))
            watch.began += time.perf_counter() - began  # kernels may have been compiled
            with guarded(watch.check), during(f"the facts of `{name}` were loaded"):
                watch.check()

    def write_outputs(
        self,
        relations: Relations,
        wanted: Sequence[Output],
        stdout: BinaryIO,
        *,
        sources: Sources | None = None,
    ) -> tuple[Diagnostic, ...]:
        tables = {each.relation.name: relations.table(each.relation.name) for each in wanted}
        return directives.write_outputs(wanted, tables, stdout, sources=sources)

    def errors(self) -> AbstractContextManager[None]:
        return nullcontext()

    def committing(self, report: Report) -> AbstractContextManager[None]:
        return nullcontext()
