"""The one place that knows the database: a program with facts, changed batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.changes.apply import Given, MadeChange, apply, changes_in, make
from tidelog.control.limits import Limits
from tidelog.formats.frames import to_arrow
from tidelog.pipeline.batches import deleted, frame, inserted, names, nothing, signed
from tidelog.plan.accept import Accepted, accept
from tidelog.plan.rulebook import Rulebook
from tidelog.program.changes import Commit, FactChange, Op
from tidelog.program.rules import Relation
from tidelog.program.table import Table
from tidelog.session.database import Database
from tidelog.text import parse, to_text
from tidelog.transaction.delta import Delta
from tidelog.transaction.transaction import Transaction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(slots=True)
class AppliedBatch:
    """What a batch did: `said` are the changes of explicit facts that texts held."""

    delta: Delta
    said: dict[str, list[FactChange]] = field(default_factory=dict)
    rules: bool = False  # they have changed


class Materialisation:
    """The consequences of a program, on the engine that the pipeline asks for."""

    def __init__(
        self,
        text: str,
        facts: Mapping[str, pa.Table],
        *,
        engine: str = "local",
        algorithm: str = "auto",
        limits: Limits | None = None,
        spark: SparkSession | None = None,
    ) -> None:
        self._declared = parse(text).program
        on: dict[str, Any] = {} if engine == "local" else {"engine": engine, "spark": spark}
        schema = _schema(text)
        given = {name: frame(schema[name], inserted(table)) for name, table in facts.items()}
        self._database = Database(text, given, algorithm=algorithm, limits=limits, **on)

    @property
    def schema(self) -> Mapping[str, Relation]:
        return self._database.schema

    @property
    def text(self) -> str:
        """The current program, without facts: a database opens it unchanged."""
        declared = {decl.name for decl in self._declared.relations}
        brought = [r for name, r in self.schema.items() if name not in declared]
        head = to_text(replace(self._declared, clauses=(), facts=(), directives=()))
        rules = self._database.rules.values()
        return head + "".join(f"{line}\n" for line in (*map(to_text, brought), *rules))

    def apply(
        self,
        facts: Mapping[str, pa.Table],
        rules: Sequence[tuple[Op, str]] = (),
        texts: Sequence[tuple[str, str]] = (),
    ) -> AppliedBatch:
        """Apply a batch as one transaction: all of it, or nothing and an error."""
        said: dict[str, list[FactChange]] = {}

        def noted(changes: Iterable[Given]) -> Iterator[MadeChange]:
            for change, sources in changes:
                if isinstance(change, FactChange):
                    said.setdefault(change.relation, []).append(change)
                if not isinstance(change, Commit):  # the batch is the update
                    yield change, sources

        def batch(tx: Transaction) -> None:
            for op, rule in rules:
                if op == "+":
                    tx.add_rule(rule)
                else:
                    tx.remove_rule(rule)
            for file, text in texts:
                make(tx, noted(changes_in(text, file, lambda: tx.schema)))
            for name, changes in facts.items():
                relation = tx.schema[name]
                tx.delete(name, frame(relation, deleted(changes)))
                tx.insert(name, frame(relation, inserted(changes)))

        before = self._database.rules
        (done,) = apply([batch], self._database.transaction)
        return AppliedBatch(done.delta, said, before != self._database.rules)

    def sizes(self) -> dict[str, int]:
        """How many facts each relation has."""
        return {name: self._database.size(name) for name in self.schema}

    def whole(self, name: str) -> pa.Table:
        """All facts of a relation, as insertions."""
        return _signed(self.schema[name], self._database.table(name), 1)

    def changed(self, applied: AppliedBatch, name: str) -> pa.Table:
        """The delta of a relation, sorted."""
        relation = self.schema[name]
        if name not in applied.delta.counts:
            return nothing(relation)
        signs: dict[Op, int] = {"-": -1, "+": 1}
        tables = ((applied.delta.table(name, op), sign) for op, sign in signs.items())
        both = pa.concat_tables([_signed(relation, table, sign) for table, sign in tables])
        keys = [(each, "ascending") for each in (*names(relation.arity), "sign")]
        return both.take(pc.sort_indices(both, sort_keys=keys))


def _signed(relation: Relation, table: Table, sign: int) -> pa.Table:
    signs = pa.array(np.full(table.size, sign, np.int8))
    return signed(relation, to_arrow(relation, table).columns, signs)


def _schema(text: str) -> Mapping[str, Relation]:
    return accept(parse(text)).checked.relations


def bare(accepted: Accepted) -> str:
    """The program as text without facts, which the state has, and without directives."""
    rules = Rulebook.of(accepted.typed, accepted.checked).clauses.values()
    return to_text(replace(accepted.typed, clauses=tuple(rules), facts=(), directives=()))
