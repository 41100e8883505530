"""Reading: one relation, an answer, and a database whose updates may overlap."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, Self

from tidelog.changes.stream import Stream
from tidelog.formats.frames import to_arrow, to_pandas, to_polars
from tidelog.formats.term_cells import answer_text
from tidelog.program.diagnostics import TidelogError, plural
from tidelog.program.rules import Relation
from tidelog.program.syntax import Value
from tidelog.program.table import Table
from tidelog.transaction.state import State

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[Value, ...]
Streaming = Callable[[], Stream | None]  # the stream that is open now
SHOWN = 20  # rows of a relation in a notebook


class Readable(Protocol):
    """What has the facts of a relation."""

    def table(self, name: str) -> Table: ...
    def size(self, name: str) -> int: ...
    def _frame(self, name: str) -> Any: ...
    def _holds(self, relation: Relation, row: Row) -> bool: ...


class ReadableDatabase(Readable, Protocol):
    """What has all relations, such as a `Database`."""

    @property
    def schema(self) -> Mapping[str, Relation]: ...
    def query(self, question: str) -> Answer: ...
    def _named(self, name: str) -> Relation: ...


class Answer(list[Row]):
    """Rows of a query, with the variables' names in `columns`."""

    def __init__(self, columns: Sequence[str], rows: Iterable[Row]) -> None:
        super().__init__(rows)
        self.columns = tuple(columns)

    def _repr_html_(self) -> str:
        return _html_table(self.columns, self, len(self))


class RelationView:
    """One relation of a database: rows in sorted order, or a frame."""

    def __init__(self, database: Readable, relation: Relation) -> None:
        self._database = database
        self._relation = relation

    @property
    def name(self) -> str:
        return self._relation.name

    @property
    def columns(self) -> tuple[str, ...]:
        return self._relation.attributes

    def rows(self) -> list[Row]:
        return self._database.table(self.name).rows()

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows())

    def __len__(self) -> int:
        return self._database.size(self.name)

    def __contains__(self, row: object) -> bool:
        """Is this fact in the relation? One probe, whatever the relation's size."""
        return isinstance(row, tuple) and self._database._holds(self._relation, row)

    def to_arrow(self) -> pyarrow.Table:
        return to_arrow(self._relation, self._database.table(self.name))

    def to_pandas(self) -> pandas.DataFrame:
        return to_pandas(self._relation, self._database.table(self.name))

    def to_polars(self) -> polars.DataFrame:
        return to_polars(self._relation, self._database.table(self.name))

    def to_spark(self, spark: SparkSession | None = None) -> DataFrame:
        """A frame of Spark, in this session or the one that is active."""
        from tidelog.formats.spark_frames import relation_frame

        return relation_frame(self._relation, self._database._frame(self.name), spark)

    def __repr__(self) -> str:
        kinds = zip(self.columns, self._relation.kinds, strict=True)
        columns = ", ".join(f"{name}: {kind}" for name, kind in kinds)
        return f"<{self.name}({columns}): {plural(len(self), 'fact')}>"

    def _repr_html_(self) -> str:
        return _html_table(self.columns, self.rows()[:SHOWN], len(self))


class _Reading(ABC):
    """A database, asked through this at a moment of its stream."""

    def __init__(self, database: ReadableDatabase, state: State, streaming: Streaming) -> None:
        self.updates = 0
        self.under_way: tuple[int, ...] = ()
        self._database = database
        self._state = state
        self._streaming = streaming
        self._stream = streaming()  # what it has done counts, even if it ends while this waits
        self._holder: int | None = None  # the thread that keeps the stream still for this

    @property
    def settled(self) -> bool:
        """Is this what the first `updates` updates of the stream lead to, and nothing else?"""
        return not self.under_way

    @abstractmethod
    def _reading(self) -> AbstractContextManager[ReadableDatabase]:
        """The database, to be asked in the block."""

    def _note(self) -> None:
        """What the stream says; nothing changes meanwhile. One may have begun while others were
        waited for, so it is looked for again."""
        self._stream = self._streaming() or self._stream
        if self._stream is not None:
            self.updates = self._stream.finished
            self.under_way = self._stream.under_way

    def _hold(self) -> None:
        self._holder = self._state.hold()
        self._note()

    def close(self) -> None:
        """Let the stream go on."""
        holder, self._holder = self._holder, None
        if holder is not None:
            self._state.release(holder)

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    # What a database can be asked for.

    @property
    def relations(self) -> tuple[str, ...]:
        """Names of the program's relations, in the order of their strata."""
        return tuple(self.schema)

    @property
    def schema(self) -> Mapping[str, Relation]:
        """The relations by name, with their attributes and kinds."""
        with self._reading() as database:
            return database.schema

    def relation(self, name: str) -> RelationView:
        """The facts of one relation, to iterate over or to take as a frame."""
        with self._reading() as database:
            return RelationView(self, database._named(name))

    __getitem__ = relation

    def table(self, name: str) -> Table:
        """A relation's facts as sorted columns."""
        with self._reading() as database:
            return database.table(name)

    def size(self, name: str) -> int:
        """How many facts a relation has."""
        with self._reading() as database:
            return database.size(name)

    def _frame(self, name: str) -> Any:
        with self._reading() as database:
            return database._frame(name)

    def query(self, question: str) -> Answer:
        """The values of a question's variables; see `Database.query`."""
        with self._reading() as database:
            return database.query(question)

    def _holds(self, relation: Relation, row: Row) -> bool:
        with self._reading() as database:
            return database._holds(relation, row)

    def __repr__(self) -> str:
        what = "settled" if self.settled else f"{len(self.under_way)} under way"
        return f"<{type(self).__name__}: {plural(self.updates, 'update')}, {what}>"


class Snapshot(_Reading):
    """What a whole prefix of a stream leads to: its first `updates` updates.

    Made by `Database.snapshot`. Updates that were under way have been finished for it, and
    nothing changes until it is closed, at the end of its `with` block.
    """

    def __init__(self, database: ReadableDatabase, state: State, streaming: Streaming) -> None:
        super().__init__(database, state, streaming)
        self._take()
        while not self.settled:  # a stream has begun while others were waited for
            self.close()
            self._take()

    def _take(self) -> None:
        stream = self._streaming()
        with nullcontext() if stream is None else stream.drained():
            self._hold()

    @contextmanager
    def _reading(self) -> Iterator[ReadableDatabase]:
        with self._state.lock:
            if self._holder is None:
                raise TidelogError("error: the snapshot is closed\n    take another one")
            yield self._database

    def __enter__(self) -> Self:
        return self


class Latest(_Reading):
    """What is there now, with updates half done if there are any under way.

    Made by `Database.latest`. `settled`, `updates` and `under_way` are those of the last
    reading, and of the beginning if there was none. In a `with` block the stream stands still,
    and several readings are of one moment.
    """

    def __init__(self, database: ReadableDatabase, state: State, streaming: Streaming) -> None:
        super().__init__(database, state, streaming)
        with self._reading():
            pass

    @contextmanager
    def _reading(self) -> Iterator[ReadableDatabase]:
        with self._state.lock:
            self._note()
            yield self._database

    def __enter__(self) -> Self:
        self._hold()
        return self


def _html_table(columns: Sequence[str], rows: Sequence[Row], size: int) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(answer_text(v))}</td>" for v in row) + "</tr>"
        for row in rows
    )
    more = f"<p>{plural(size, 'row')}, {len(rows)} shown</p>" if size > len(rows) else ""
    return f"<table><tr>{head}</tr>{body}</table>{more}"
