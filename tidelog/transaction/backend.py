"""What a database asks of the engine that holds its facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, BinaryIO, Protocol

from tidelog.control.limits import Limits, LimitWatch
from tidelog.engine import Store
from tidelog.formats.directives import Input, Output
from tidelog.maintain.memory import Memory
from tidelog.maintain.report import Report
from tidelog.maintain.update import Algorithm, Update, WholeAlgorithm
from tidelog.program.diagnostics import Diagnostic, Sources
from tidelog.program.rules import Rule, Stratum
from tidelog.program.table import Table


class Relations(Protocol):
    """The facts of relations, sorted."""

    def size(self, name: str) -> int: ...

    def table(self, name: str) -> Table: ...


class Backend(Protocol):
    """An engine, how facts get into it, and how algorithms run on it."""

    @property
    def store(self) -> Store: ...

    @property
    def name(self) -> str:
        """As messages have it: `… is not available on Spark`."""

    @property
    def own_formats(self) -> bool:
        """May directives name formats of the backend's own?"""

    @property
    def shows_rounds(self) -> bool:
        """Do rounds take so long that progress should show them?"""

    @property
    def places(self) -> Mapping[tuple[str, ...], str] | None:
        """By stratum, where it was worked on and why, if there is a choice."""

    # Algorithms.

    def check_algorithm(self, name: str) -> None:
        """TidelogError if it does not run here."""

    def check_rules(self, rules: Iterable[Rule]) -> None:
        """ProgramError if the engine cannot evaluate them."""

    def algorithm(self, name: str) -> Algorithm | WholeAlgorithm: ...

    def finished(self, u: Update) -> None:
        """Called after each phase of a transaction."""

    def warm(self) -> None:
        """Load what evaluation needs; this may take long, and Ctrl-C ends it at once."""

    def materialise(self, strata: Sequence[Stratum], watch: LimitWatch, memory: Memory) -> None:
        """Derive all that follows from the explicit facts."""

    # Files and frames.

    def read_inputs(
        self,
        wanted: Iterable[Input],
        stdin: BinaryIO | None = None,
        *,
        sources: Sources | None = None,
        max_facts: int | None = None,
    ) -> Iterator[tuple[str, Any]]:
        """What `.input` directives ask for, in the form that `load` takes."""

    def load(self, tables: Iterable[tuple[str, Any]], limits: Limits) -> float:
        """Make facts explicit; returns the seconds spent reading them."""

    def write_outputs(
        self,
        relations: Relations,
        wanted: Sequence[Output],
        stdout: BinaryIO,
        *,
        sources: Sources | None = None,
    ) -> tuple[Diagnostic, ...]:
        """Write what `.output` directives ask for; returns warnings."""

    # Blocks.

    def errors(self) -> AbstractContextManager[None]:
        """In the block, the backend's own errors become Tidelog's."""

    def committing(self, report: Report) -> AbstractContextManager[None]:
        """The same during a commit; the report records what the backend did."""
