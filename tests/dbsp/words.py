"""Facts and rules of numbers for the interpreter, without an engine: values are words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from tests.maintain.histories import checked
from tidelog.dbsp.grounding import GroupFold, Where
from tidelog.dbsp.interpreter import Interpreter
from tidelog.dbsp.trace import Batch, Words
from tidelog.program.rules import Rule
from tidelog.program.syntax import Constant

Row = tuple[int, ...]
Facts = dict[tuple[str, Row], int]


class Plain:
    """A host for programs without arithmetic and aggregates."""

    def __init__(self) -> None:
        self.told: list[dict[str, Batch]] = []
        self.ticks = 0
        self.stop_after: int | None = None

    def identify(self, constant: Constant) -> int:
        return int(constant.value)

    def where(self, where: Where, rule: Rule, rows: Words) -> tuple[Words, Words | None]:
        raise AssertionError(f"{where.part} is none of these programs'")

    def fold(self, fold: GroupFold, keys: Words | None) -> Words:
        raise AssertionError(f"{fold.group} is none of these programs'")

    def settled(self, changes: Mapping[str, Batch]) -> None:
        self.told.append(dict(changes))

    def tick(self, facts: int, rule: Rule) -> None:
        self.round(facts)

    def round(self, facts: int) -> None:
        self.ticks += 1
        if self.stop_after is not None and self.ticks > self.stop_after:
            raise TimeoutError


def batches(facts: Mapping[tuple[str, Row], int]) -> dict[str, Batch]:
    lines: dict[str, list[Row]] = {}
    for (name, row), weight in facts.items():
        lines.setdefault(name, []).append((*row, 0, weight))
    return {name: np.array(rows, dtype=np.int64) for name, rows in lines.items()}


def facts_of(changes: Mapping[str, Batch]) -> Facts:
    return {
        (name, tuple(line[:-2])): line[-1]
        for name, batch in changes.items()
        for line in batch.tolist()
    }


def step(
    circuit: Interpreter,
    facts: Mapping[tuple[str, Row], int],
    come: Iterable[Rule] = (),
    gone: Iterable[Rule] = (),
) -> Facts:
    changes = facts_of(circuit.step(batches(facts), come, gone))
    circuit.finish()
    return changes


def contents(circuit: Interpreter) -> Facts:
    """All facts, with their weights over all rounds."""
    found: Facts = {}
    for name, table in circuit.tables.items():
        for *row, _, weight in table.facts.batch().tolist():
            key = (name, tuple(row))
            found[key] = found.get(key, 0) + weight
    return {key: weight for key, weight in found.items() if weight}


def rules_of(text: str) -> tuple[Rule, ...]:
    return checked(text).rules
