"""What a session is given: an engine with facts that are loaded, changed together, and read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tidelog.engine.abilities import JoinOrders, PartialCommits, Profiles, TemporaryRelations
from tidelog.engine.engine import Engine, OverlapEngine
from tidelog.engine.sets import FactSet, Saved, View
from tidelog.program.changes import Op
from tidelog.program.functors import Functor
from tidelog.program.rules import Relation, Rule, Stratum
from tidelog.program.syntax import Value
from tidelog.program.table import Table


@dataclass(frozen=True, slots=True)
class RelationDelta:
    """The change of one relation; its facts are decoded on demand."""

    relation: Relation
    sizes: Mapping[Op, int]
    decode: Callable[[Op], Table]
    frame: Callable[[Op], Any] | None = None  # the facts as a Spark frame, if Spark holds them


class OverlapStore(OverlapEngine, PartialCommits, Protocol):
    """An engine on which updates may overlap, in a transaction that goes on."""


class Store(Engine, Protocol):
    """An engine with transactions. It has two sets that stay: the explicit facts, and all facts."""

    @property
    def explicit(self) -> FactSet: ...

    @property
    def all(self) -> FactSet: ...

    # What only some engines can do.

    @property
    def overlapping(self) -> OverlapStore | None: ...

    @property
    def profiles(self) -> Profiles | None: ...

    @property
    def join_orders(self) -> JoinOrders | None: ...

    @property
    def scratch(self) -> TemporaryRelations | None: ...

    # Work.

    def watch(self, tick: Callable[[Rule | None], None] | None) -> None:
        """Call `tick` regularly during work; it may raise an error to stop it."""

    def call(self, functions: Mapping[str, Functor]) -> None:
        """From now on, rules call these functions, by name."""

    def facts(self) -> int:
        """About how many facts there are, for limits."""

    # Facts in and out.

    def reads(self, data: object) -> bool:
        """Can it load such a frame directly? It can always load tables."""

    def load(self, name: str, data: Any, into: Sequence[FactSet]) -> None:
        """Add a relation's facts, a table or a frame that it reads, to these sets."""

    def table(self, name: str, facts: View | None = None) -> Table:
        """A relation's facts in the materialisation, or in a view."""

    def native(self, name: str) -> Any:
        """A relation's facts as the engine holds them: a table or a Spark frame."""

    def holds(self, relation: Relation, row: Sequence[Value]) -> bool:
        """Is this fact in the materialisation?"""

    def is_explicit(self, relation: Relation, row: Sequence[Value]) -> bool: ...

    def find(self, name: str, table: Table) -> FactSet:
        """The facts of a table as a set, whether they are in the materialisation or not."""

    def ask(
        self, strata: Sequence[Stratum], relation: Relation, parts: Sequence[Relation]
    ) -> Table:
        """Evaluate rules over relations of their own, `parts` among them, and forget all but the
        answer."""

    # Transactions.

    def begin(self) -> None:
        """Begin to record changes, so that they can be rolled back."""

    def change_explicit(
        self,
        op: Op,
        name: str,
        data: Any,
        changed: FactSet,
        check: Callable[[tuple[Value, ...]], None] | None = None,
    ) -> bool:
        """Make facts explicit, or no longer explicit; False if that changes nothing.

        Those that change join `changed`, or leave it if they change back. `check` is called with
        each row before, and may raise.
        """

    def delta(
        self, phases: Sequence[tuple[Saved, Saved]], relations: Mapping[str, Relation]
    ) -> dict[str, RelationDelta]:
        """The delta of these relations over phases, each given as deleted and inserted facts."""

    def commit(self) -> None:
        """Keep the changes. Releases all sets but the two that stay."""

    def rollback(self) -> None:
        """Undo all changes since `begin`, including those of explicit facts."""

    def undeclare(self, name: str) -> None:
        """Forget a relation, which has no facts."""

    def forget(self, rules: Collection[Rule]) -> None:
        """Forget rules that were removed for good, with their plans."""
