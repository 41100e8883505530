"""A change that a benchmark makes in one transaction, and the change that undoes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bench.data import Facts, Rows

if TYPE_CHECKING:  # interpreters of other systems read changes, too
    from tidelog.transaction.transaction import Transaction

LINE = re.compile(r'^([+-])(\w+)\(((?:"(?:[^"\\]|\\.)*"|[^"()])*)\)\.$')
CELL = re.compile(r'"((?:[^"\\]|\\.)*)"|(-?\d+)')


@dataclass(frozen=True)
class Change:
    """Deleted and inserted facts, removed and added rules. Rules are texts."""

    gone: Mapping[str, Rows] = field(default_factory=dict)
    come: Mapping[str, Rows] = field(default_factory=dict)
    rules_gone: tuple[str, ...] = ()
    rules_come: tuple[str, ...] = ()

    def back(self) -> Change:
        return Change(self.come, self.gone, self.rules_come, self.rules_gone)

    def make(self, tx: Transaction) -> None:
        for name, rows in self.gone.items():
            tx.delete(name, rows)
        for name, rows in self.come.items():
            tx.insert(name, rows)
        for rule in self.rules_gone:
            tx.remove_rule(rule)
        for rule in self.rules_come:
            tx.add_rule(rule)


def one_by_one(facts: Facts, count: int, seed: int) -> tuple[Change, ...]:
    """Deletions of one fact each: different facts, all equally likely."""
    return tuple(Change(gone=part) for part in _drawn(facts, count, seed, 1))


def share(facts: Facts, part: float, seed: int) -> Change:
    """The deletion of a part of the facts, each equally likely."""
    total = sum(len(rows) for rows in facts.values())
    (gone,) = _drawn(facts, 1, seed, max(1, round(part * total)))
    return Change(gone=gone)


def _drawn(facts: Facts, count: int, seed: int, size: int) -> Iterable[Facts]:
    ends = np.cumsum([len(rows) for rows in facts.values()])
    picked = np.random.default_rng(seed).choice(ends[-1], count * size, replace=False)
    for numbers in picked.reshape(count, size):
        owners = np.searchsorted(ends, numbers, side="right")
        yield {
            name: rows[numbers[owners == place] - (ends[place] - len(rows))]
            for place, (name, rows) in enumerate(facts.items())
            if (owners == place).any()
        }


def commits(lines: Iterable[str]) -> tuple[Change, ...]:
    """The commits of a recorded stream; symbols are numbered in the order of their first use.

    >>> first, second = commits(['+p("a", 7).', "commit.", '-p("a", 7).', '+q("b").', "commit."])
    >>> {name: rows.tolist() for name, rows in first.come.items()}
    {'p': [[0, 7]]}
    >>> {name: rows.tolist() for name, rows in {**second.gone, **second.come}.items()}
    {'p': [[0, 7]], 'q': [[1]]}
    """
    numbers: dict[str, int] = {}
    found: list[Change] = []
    rows: dict[tuple[str, str], dict[tuple[int, ...], None]] = {}
    for line in lines:
        change = LINE.match(line)
        if change is not None:
            sign, name, cells = change.groups()
            row = tuple(
                int(number) if number else numbers.setdefault(word, len(numbers))
                for word, number in CELL.findall(cells)
            )
            # Of several changes of one fact the last counts, as in a transaction.
            rows.setdefault(("-" if sign == "+" else "+", name), {}).pop(row, None)
            rows.setdefault((sign, name), {})[row] = None
        elif line.startswith("commit"):
            found.append(Change(gone=_signed(rows, "-"), come=_signed(rows, "+")))
            rows = {}
        elif line.strip():
            raise ValueError(f"a stream has changes of facts and commits, and not {line!r}")
    return tuple(found)


def _signed(rows: dict[tuple[str, str], dict[tuple[int, ...], None]], sign: str) -> Facts:
    return {
        name: np.array(list(some), dtype=np.int64)
        for (op, name), some in rows.items()
        if op == sign and some
    }
