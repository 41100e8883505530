"""The two ways to reason share this: what a graph asks of the database behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field
from functools import lru_cache
from typing import Any, cast

import numpy as np

from tidelog.accept import Accepted, accept
from tidelog.api import Database
from tidelog.deltas import Delta
from tidelog.maintain.report import Report
from tidelog.program.changes import Op
from tidelog.program.table import SymbolColumn, Table
from tidelog.rdf.changing import GraphDelta
from tidelog.rdf.columns import Columns
from tidelog.rdf.literals import Facts, facts_about
from tidelog.rdf.profiles import program
from tidelog.rdf.terms import Triple
from tidelog.text import parse
from tidelog.text.write import value_text
from tidelog.transactions import Transaction

Runs = Sequence[tuple[Op, Columns]]
Pattern = tuple[str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Done:
    """A transaction that has taken effect."""

    delta: GraphDelta
    report: Report
    seconds: float


@dataclass
class Way(ABC):
    """A database that holds a graph, under the rules of a profile."""

    profile: str
    options: dict[str, Any]
    first: InitVar[Columns]  # explicit triples to begin with
    described: set[str] = field(default_factory=set)  # literals whose facts the rules have

    def __post_init__(self, first: Columns) -> None:
        self._use(self.opened(first))

    def _use(self, database: Database) -> None:
        self.database = database
        self._begun_with = database._state.book

    @abstractmethod
    def opened(self, triples: Columns) -> Database:
        """A database with these explicit triples and nothing else, evaluated from scratch."""

    @abstractmethod
    def change(self, runs: Runs, options: dict[str, Any]) -> Done:
        """Carry out a transaction."""

    @abstractmethod
    def columns(self) -> Columns:
        """All triples that hold."""

    @abstractmethod
    def matching(self, pattern: Pattern) -> Iterable[Triple]:
        """The triples that hold and match, where None matches all terms."""

    @abstractmethod
    def explicit(self) -> Columns:
        """The triples that were given."""

    @property
    @abstractmethod
    def empty(self) -> bool:
        """Is no triple given?"""

    @property
    def fresh(self) -> bool:
        """Could another database take the place of this one? Not if it was given more rules."""
        return self.empty and self.database._state.book is self._begun_with

    def size(self) -> int:
        """How many triples hold, of those that RDF can write."""
        return len(self.columns().proper())

    def begin(self, triples: Columns) -> None:
        """Take the place of an empty graph: cheaper than changing it, triple by triple."""
        before, self.described = self.described, set()
        try:
            self._use(self.opened(triples))
        except BaseException:
            self.described = before
            raise

    def new_literals(self, words: Iterable[str]) -> list[str]:
        """Those that the rules know nothing of yet, if there are rules."""
        if self.profile == "none":
            return []
        return [word for word in words if word[0] == '"' and word not in self.described]

    @contextmanager
    def describing(
        self, tx: Transaction, new: Collection[str], facts: Facts, options: Mapping[str, Any]
    ) -> Iterator[None]:
        """Insert facts about new literals; they are known if the transaction takes effect."""
        for name, rows in facts.items():
            tx.insert(name, rows)
        yield
        tx.commit()
        if not options.get("dry_run"):
            self.described.update(new)


@lru_cache(maxsize=8)
def accepted(text: str, profile: str) -> Accepted:
    """A program of ours, read and analysed once: a graph begins empty, and is opened again when
    its first triples come."""
    return accept(parse(text, f"<{profile}>"))


class TriplesWay(Way):
    """The rule tables over one relation, `triple(s, p, o)`."""

    def opened(self, triples: Columns) -> Database:
        rules = accepted(program(self.profile), self.profile)
        tables = self._tables(triples, rules.checked.relations)
        return Database.of(rules, tables, **self.options)

    def _tables(self, triples: Columns, relations: Any) -> Iterator[tuple[str, Table]]:
        yield "triple", triples.table()
        new = self.new_literals(triples.words)
        self.described.update(new)
        for name, rows in facts_about(new).items():
            yield name, Table.from_rows(relations[name].kinds, rows)

    def change(self, runs: Runs, options: dict[str, Any]) -> Done:
        words = {word for op, columns in runs if op == "+" for word in columns.words}
        new = self.new_literals(words)
        with (
            self.database.transaction(**options) as tx,
            self.describing(tx, new, facts_about(new), options),
        ):
            for op, columns in runs:
                if op == "+":
                    tx.insert("triple", columns.table())
                else:
                    tx.delete("triple", columns.table())
        return Done(_triples_of(tx.delta), tx.report, tx.seconds)

    def columns(self) -> Columns:
        return Columns.of_table(self.database._frame("triple"))

    def explicit(self) -> Columns:
        engine = self.database._engine
        rows = engine.explicit.rows(engine.numbers["triple"])
        return Columns.of_table(engine.table("triple", rows))

    @property
    def empty(self) -> bool:
        engine = self.database._engine
        return not engine.explicit.count(engine.numbers["triple"])

    def size(self) -> int:
        """Counted without a look at objects, which may be anything."""
        engine = self.database._engine
        r = engine.numbers["triple"]
        data = engine.store.rows(r)[engine.all.rows(r)]
        fine = np.ones(len(data), dtype=np.bool_)
        for column, first in ((0, "<_"), (1, "<")):
            terms = cast("SymbolColumn", engine.dictionary.decode("symbol", data[:, column]))
            known = np.array([word[:1] in first for word in terms.words], dtype=np.bool_)
            fine &= known[terms.codes] if len(known) else fine
        return int(fine.sum())

    def matching(self, pattern: Pattern) -> Iterable[Triple]:
        if None not in pattern:
            return [pattern] if pattern in self.database["triple"] else []  # type: ignore[list-item]
        if pattern == (None, None, None):
            return self.columns()
        asked = ", ".join(_asked(name, term) for name, term in zip("spo", pattern, strict=True))
        answer = self.database.query(f"triple({asked})")
        return [filled(pattern, row) for row in answer]


def _asked(name: str, term: str | None) -> str:
    return name if term is None else value_text(term, "symbol")


def filled(pattern: Pattern, row: Sequence[Any]) -> Triple:
    values = iter(row)
    s, p, o = (next(values) if term is None else term for term in pattern)
    return s, p, o


def _triples_of(delta: Delta) -> GraphDelta:
    def side(op: Op) -> Callable[[], Columns]:
        def rows() -> Columns:
            found = delta.added("triple") if op == "+" else delta.removed("triple")
            return Columns.of(cast("list[Triple]", found))

        return rows

    return GraphDelta(side("+"), side("-"))
