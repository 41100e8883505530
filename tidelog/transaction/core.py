"""What a database shares with the layers around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tidelog.control.limits import Limits, Show
from tidelog.engine import Store
from tidelog.program.changes import FactChange
from tidelog.transaction.backend import Backend
from tidelog.transaction.delta import Origin
from tidelog.transaction.state import State


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a transaction."""

    algorithm: str = "auto"
    strict: bool = False  # refuse changes that change nothing
    dry_run: bool = False  # find out what would change, and change nothing
    limits: Limits = field(default_factory=Limits)
    progress: Show | None = None
    everything: bool = False  # the delta covers all relations, not only the outputs


class Core(Protocol):
    """What transactions, streams, graphs and the command line use of a database.

    `Database.core` has it. It is internal: users of the package should not rely on it.
    """

    @property
    def backend(self) -> Backend:
        """The backend with the materialisation."""

    @property
    def store(self) -> Store:
        """The backend's engine."""

    @property
    def state(self) -> State: ...

    @property
    def options(self) -> Options:
        """Those of a transaction that has none of its own."""

    @property
    def explain(self) -> Callable[[Origin, FactChange], Any] | None:
        """What explains a change of a commit; None if the engine cannot."""
