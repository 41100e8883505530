"""Transactions on a graph: triples change together, or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self

from tidelog.formats.byte_source import Source
from tidelog.program.changes import Op
from tidelog.program.diagnostics import TidelogError
from tidelog.rdf.graph_delta import GraphDelta
from tidelog.rdf.rdf_terms import triple_of
from tidelog.rdf.readers import Reader
from tidelog.rdf.reasoning import Reasoner
from tidelog.rdf.triple_columns import Columns, Gathered

if TYPE_CHECKING:
    from tidelog.maintain.report import Report


@dataclass
class _Pending:
    """Changes in order; consecutive ones of the same sign are kept together."""

    runs: list[tuple[Op, Gathered]] = field(default_factory=list)

    def of(self, op: Op) -> Gathered:
        if not self.runs or self.runs[-1][0] != op:
            self.runs.append((op, Gathered()))
        return self.runs[-1][1]


class ChangedGraph(Protocol):
    """What a transaction asks of its graph."""

    @property
    def reasoner(self) -> Reasoner: ...

    def reading(self, **options: Any) -> AbstractContextManager[Reader]: ...

    def reserve_labels(self, terms: Iterable[str]) -> None: ...

    def free(self, transaction: GraphTransaction) -> None: ...


class GraphTransaction:
    """Changes of explicit triples that take effect together; made by `Graph.transaction`.

    Leaving the `with` block commits, and `delta` has what changed; an exception in it, or in the
    commit, leaves everything as it was. The last of several changes of a triple counts.
    """

    def __init__(self, graph: ChangedGraph, options: dict[str, Any]) -> None:
        self._graph = graph
        self._options = options
        self._pending = _Pending()
        self._delta: GraphDelta | None = None
        self._ended = False
        self.report: Report | None = None
        self.seconds = 0.0

    def add(self, *triples: Any) -> None:
        """Make triples explicit: three terms each, or triples of pyoxigraph."""
        self._change("+", [triple_of(each) for each in triples])

    def remove(self, *triples: Any) -> None:
        """Make triples no longer explicit. One that rules derive stays true."""
        self._change("-", [triple_of(each) for each in triples])

    def load(self, *sources: Source, **options: Any) -> int:
        """Add the triples of files, folders, globs or streams; returns their number."""
        self._check_open()
        with self._graph.reading(**options) as reader:
            reader.read_all(sources)
            columns = reader.columns()
        self.columns("+", columns)
        return len(columns)

    def parse(self, text: str | bytes, format: str = "turtle", **options: Any) -> int:
        """Add the triples of a text."""
        self._check_open()
        with self._graph.reading(**options) as reader:
            reader.text(text, format)
            columns = reader.columns()
        self.columns("+", columns)
        return len(columns)

    def columns(self, op: Op, columns: Columns) -> None:
        """Change many triples at once."""
        self._change(op, columns)

    def _change(self, op: Op, triples: Any) -> None:
        self._check_open()
        self._pending.of(op).add(triples)

    @property
    def delta(self) -> GraphDelta:
        """What the transaction changed; available once it is committed."""
        if self._delta is None:
            raise TidelogError("error: the transaction is not committed: it has no delta yet")
        return self._delta

    def commit(self) -> GraphDelta:
        """Apply the changes; returns what they changed."""
        self._check_open()
        self._ended = True
        try:
            runs = [(op, gathered.columns()) for op, gathered in self._pending.runs]
            for op, columns in runs:
                if op == "+":
                    self._graph.reserve_labels(columns.words)
            done = self._graph.reasoner.change(runs, self._options)
        finally:
            self._graph.free(self)
        self._delta, self.report, self.seconds = done.delta, done.report, done.seconds
        return self._delta

    def rollback(self) -> None:
        """Discard the changes."""
        self._check_open()
        self._ended = True
        self._graph.free(self)

    def _check_open(self) -> None:
        if self._ended:
            raise TidelogError("error: the transaction has ended: begin another one")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._ended:
            return
        if kind is None:
            self.commit()
        else:
            self.rollback()
