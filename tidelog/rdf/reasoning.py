"""Reasoners: the database behind a graph, and the rules of its profile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np

from tidelog.changes.apply import Applied, Update, apply
from tidelog.maintain.report import Report
from tidelog.plan.accept import Accepted, accept
from tidelog.program.changes import Op
from tidelog.program.table import SymbolColumn, Table
from tidelog.rdf.graph_delta import GraphDelta
from tidelog.rdf.literals import Facts, facts_about
from tidelog.rdf.profiles import program
from tidelog.rdf.rdf_terms import Triple
from tidelog.rdf.triple_columns import Columns
from tidelog.session.database import Database
from tidelog.text import parse
from tidelog.text.writer import value_text
from tidelog.transaction.delta import Delta
from tidelog.transaction.transaction import Transaction

Runs = Sequence[tuple[Op, Columns]]
Pattern = tuple[str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Committed:
    """What a committed transaction did."""

    delta: GraphDelta
    report: Report
    seconds: float


@dataclass
class Reasoner(ABC):
    """A database that holds a graph and the rules of its profile."""

    profile: str
    options: dict[str, Any]
    prefixes: Mapping[str, str]  # for messages
    triples: InitVar[Columns]  # the first explicit triples
    described: set[str] = field(default_factory=set)  # literals with facts in the database

    def __post_init__(self, triples: Columns) -> None:
        self._use(self.open_database(triples))

    def _use(self, database: Database) -> None:
        self.database = database
        self._initial_rules = database.core.state.book

    @abstractmethod
    def open_database(self, triples: Columns) -> Database:
        """Evaluate these explicit triples from scratch, in a new database."""

    @abstractmethod
    def change(self, runs: Runs, options: dict[str, Any]) -> Committed:
        """Run a transaction."""

    @abstractmethod
    def columns(self) -> Columns:
        """All explicit and derived triples."""

    @abstractmethod
    def matching(self, pattern: Pattern) -> Iterable[Triple]:
        """The triples that match the pattern; None matches every term."""

    @abstractmethod
    def explicit(self) -> Columns:
        """The explicit triples."""

    @property
    @abstractmethod
    def empty(self) -> bool:
        """Whether the graph has no explicit triples."""

    @property
    def replaceable(self) -> bool:
        """Whether a new database may replace this one: it has no triples and no user rules."""
        return self.empty and self.database.core.state.book is self._initial_rules

    def size(self) -> int:
        """The number of triples that RDF can express."""
        return len(self.columns().proper())

    def replace(self, triples: Columns) -> None:
        """Fill an empty graph by opening a new database, which is faster than a transaction."""
        before, self.described = self.described, set()
        try:
            self._use(self.open_database(triples))
        except BaseException:
            self.described = before
            raise

    def new_literals(self, words: Iterable[str]) -> list[str]:
        """The literals among these terms that still lack facts for the rules."""
        if self.profile == "none":
            return []
        return [word for word in words if word[0] == '"' and word not in self.described]

    def table(self, relation: str) -> Table:
        """The facts of a relation, in no order."""
        core = self.database.core
        with core.state.lock:
            return core.store.table(relation)

    def explicit_table(self, relation: str) -> Table:
        """The explicit facts of a relation."""
        store = self.database.core.store
        return store.table(relation, store.explicit)

    def has_explicit(self, relation: str) -> bool:
        """Whether a relation exists and has explicit facts."""
        store = self.database.core.store
        return relation in store.relations(store.explicit)

    def apply(self, update: Update, new: Iterable[str], options: Mapping[str, Any]) -> Applied:
        """Apply an update with facts about new literals; they are known once it takes effect."""
        (done,) = apply([update], partial(self.database.transaction, **options))
        if not options.get("dry_run"):
            self.described.update(new)
        return done


def insert(tx: Transaction, facts: Facts) -> None:
    for name, rows in facts.items():
        tx.insert(name, rows)


@lru_cache(maxsize=8)
def accepted(text: str, profile: str) -> Accepted:
    """A built-in program, analysed once: a graph opens one database empty, one with triples."""
    return accept(parse(text, f"<{profile}>"))


class TripleReasoner(Reasoner):
    """The rule tables over one relation, `triple(s, p, o)`."""

    def open_database(self, triples: Columns) -> Database:
        rules = accepted(program(self.profile), self.profile)
        tables = self._tables(triples, rules.checked.relations)
        return Database.of(rules, tables, **self.options)

    def _tables(self, triples: Columns, relations: Any) -> Iterator[tuple[str, Table]]:
        yield "triple", triples.table()
        new = self.new_literals(triples.words)
        self.described.update(new)
        for name, rows in facts_about(new).items():
            yield name, Table.from_rows(relations[name].kinds, rows)

    def change(self, runs: Runs, options: dict[str, Any]) -> Committed:
        words = {word for op, columns in runs if op == "+" for word in columns.words}
        new = self.new_literals(words)

        def update(tx: Transaction) -> None:
            insert(tx, facts_about(new))
            for op, columns in runs:
                if op == "+":
                    tx.insert("triple", columns.table())
                else:
                    tx.delete("triple", columns.table())

        done = self.apply(update, new, options)
        return Committed(_graph_delta(done.delta), done.report, done.seconds)

    def columns(self) -> Columns:
        return Columns.of_table(self.table("triple"))

    def explicit(self) -> Columns:
        return Columns.of_table(self.explicit_table("triple"))

    @property
    def empty(self) -> bool:
        return not self.has_explicit("triple")

    def size(self) -> int:
        """Counts without decoding objects, because every term may be an object."""
        store = self.database.core.store
        data = store.ids(store.all, "triple")
        proper = np.ones(len(data), dtype=np.bool_)
        for column, first in ((0, "<_"), (1, "<")):
            terms = cast("SymbolColumn", store.values("symbol", data[:, column]))
            allowed = np.array([word[:1] in first for word in terms.words], dtype=np.bool_)
            proper &= allowed[terms.codes] if len(allowed) else proper
        return int(proper.sum())

    def matching(self, pattern: Pattern) -> Iterable[Triple]:
        if None not in pattern:
            return [pattern] if pattern in self.database["triple"] else []  # type: ignore[list-item]
        if pattern == (None, None, None):
            return self.columns()
        answer = self.database.query(f"triple({arguments(pattern)})")
        return [fill(pattern, row) for row in answer]


def arguments(terms: Iterable[str | None]) -> str:
    """Terms as arguments of a query, with a variable for each None."""
    named = zip("abc", terms, strict=False)
    return ", ".join(name if t is None else value_text(t, "symbol") for name, t in named)


def fill(pattern: Pattern, row: Sequence[Any]) -> Triple:
    """A triple: the pattern with an answer's values in place of None."""
    values = iter(row)
    s, p, o = (next(values) if term is None else term for term in pattern)
    return s, p, o


def _graph_delta(delta: Delta) -> GraphDelta:
    def side(op: Op) -> Callable[[], Columns]:
        return lambda: Columns.of_table(delta.table("triple", op))

    return GraphDelta(side("+"), side("-"))
