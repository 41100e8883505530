"""What an update changed: facts that became true, and facts that stopped being true."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import merge
from typing import TYPE_CHECKING, Any

from tidelog.engine import RelationDelta, Saved
from tidelog.formats.frames import to_arrow, to_pandas, to_polars
from tidelog.program.changes import FactChange, Op
from tidelog.program.diagnostics import TidelogError, plural
from tidelog.program.rules import Relation
from tidelog.program.suggestions import suggestion
from tidelog.program.syntax import Clause, Value
from tidelog.program.table import Table, sorted_table
from tidelog.program.terms import order_key
from tidelog.text.change_notation import change_text, parsed_change

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[Value, ...]
OPS: tuple[Op, Op] = ("+", "-")


def _unchanged(relation: Relation) -> RelationDelta:
    return RelationDelta(relation, {"+": 0, "-": 0}, lambda op: Table.from_rows(relation.kinds, ()))


@dataclass(frozen=True, slots=True)
class Origin:
    """The commit that a delta is of, for explanations."""

    explain: Callable[[Origin, FactChange], Any]
    number: int  # of commits of the database, with this one
    explicit: Saved  # facts whose explicit state it changed
    added: tuple[str, ...]  # names of rules
    removed: tuple[Clause, ...]


class Delta:
    """The facts that an update changed, of the program's outputs or of all its relations.

    >>> from tidelog import Database
    >>> db = Database("path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).",
    ...               facts={"edge": [(1, 2), (2, 3)]})
    >>> with db.transaction() as tx:
    ...     tx.delete("edge", [(2, 3)])
    ...     tx.insert("edge", [(2, 4)])
    >>> print(tx.delta)
    -edge(2, 3).
    +edge(2, 4).
    -path(1, 3).
    +path(1, 4).
    -path(2, 3).
    +path(2, 4).
    >>> tx.delta.counts
    {'edge': (1, 1), 'path': (2, 2)}
    >>> tx.delta.added("path")
    [(1, 4), (2, 4)]
    """

    def __init__(
        self,
        parts: Mapping[str, RelationDelta],
        relations: Mapping[str, Relation],
        origin: Origin | None = None,
    ) -> None:
        self._parts = parts  # of relations that changed, in the order of strata
        self._relations = relations  # all that could have
        self._origin = origin

    def unchanged(self) -> Delta:
        """The delta of an update that changed nothing."""
        return Delta({}, self._relations)

    def __eq__(self, other: object) -> bool:
        """Are the same facts inserted and deleted? Facts are compared only if the counts agree."""
        if not isinstance(other, Delta):
            return NotImplemented
        return self is other or (self.counts == other.counts and list(self) == list(other))

    def __hash__(self) -> int:
        return hash(frozenset(self.counts.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        tables = {
            name: (part.relation, {op: part.decode(op) for op in part.sizes if part.sizes[op]})
            for name, part in self._parts.items()
        }
        return _unpickled, (tables, dict(self._relations))

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """For each relation that changed, how many facts were inserted and deleted."""
        sizes = ((name, part.sizes["+"], part.sizes["-"]) for name, part in self._parts.items())
        return {name: (added, removed) for name, added, removed in sizes if added or removed}

    def added(self, relation: str) -> list[Row]:
        """The facts of a relation that became true, sorted."""
        return self._rows(relation, "+")

    def removed(self, relation: str) -> list[Row]:
        """The facts of a relation that stopped being true, sorted."""
        return self._rows(relation, "-")

    def _rows(self, relation: str, op: Op) -> list[Row]:
        return sorted_table(self.table(relation, op)).rows()

    def table(self, relation: str, op: Op) -> Table:
        """The inserted (`+`) or deleted (`-`) facts of a relation as columns, unsorted."""
        part = self._part(relation)
        return part.decode(op) if part.sizes[op] else Table.from_rows(part.relation.kinds, ())

    def _part(self, relation: str) -> RelationDelta:
        part = self._parts.get(relation)
        if part is None:
            if relation not in self._relations:
                advice = suggestion(relation, self._relations)
                raise TidelogError(f"error: unknown relation {relation} of a delta\n    {advice}")
            part = _unchanged(self._relations[relation])
        return part

    def changes(self, relation: str) -> Iterator[FactChange]:
        """One relation's changes, in the order of the facts."""
        sides = (
            [(row, op) for row in self._rows(relation, op)] for op in self._part(relation).sizes
        )
        plain = {"number", "unsigned", "symbol"}.issuperset(self._part(relation).relation.kinds)
        key = None if plain else lambda side: order_key(side[0])
        return (FactChange(op, relation, row) for row, op in merge(*sides, key=key))

    def why(self, change: str) -> Any:
        """Why the delta has a change, such as `+path(1, 4)`: a `Cause`, with a smallest set of the
        commit's changes without which it would not be there. To be asked before the next commit.

        >>> from tidelog import Database
        >>> db = Database("path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z).",
        ...               facts={"edge": [(1, 2), (2, 3)]})
        >>> (delta,) = db.apply("+edge(3, 4). +edge(7, 8). -edge(1, 2).")
        >>> print(delta.why("-path(1, 3)"))
        -path(1, 3).
          because of -edge(1, 2).
          path(x, y) :- edge(x, y).  <program>:1  x = 1, y = 3
            fails: edge(1, 3)
          path(x, z) :- path(x, y), edge(y, z).  <program>:1  x = 1, z = 3, y = 2
            holds: edge(2, 3)
            fails: path(1, 2)
        """
        if self._origin is None:
            raise TidelogError(
                "error: this delta cannot be explained\n"
                "    ask the delta of a transaction of its own, in the process that made it"
            )
        asked = parsed_change(change, self._relations)
        if asked not in self.changes(asked.relation):
            raise TidelogError(f"error: the delta does not have {change_text(asked)}")
        return self._origin.explain(self._origin, asked)

    def __iter__(self) -> Iterator[FactChange]:
        for name in self.counts:
            yield from self.changes(name)

    def __len__(self) -> int:
        return sum(part.sizes["+"] + part.sizes["-"] for part in self._parts.values())

    def __str__(self) -> str:
        return "\n".join(map(change_text, self))

    def __repr__(self) -> str:
        inserted = sum(part.sizes["+"] for part in self._parts.values())
        deleted = len(self) - inserted
        return f"<Delta: {plural(inserted, 'fact')} inserted, {deleted:,} deleted>"

    # Frames: one relation at a time, the sign in the column `op`.

    def to_arrow(self, relation: str) -> pyarrow.Table:
        """
        >>> from tidelog import Database
        >>> db = Database("p(1).")
        >>> with db.transaction() as tx:
        ...     tx.insert("p", [(2,)])
        >>> tx.delta.to_arrow("p").to_pylist()
        [{'op': '+', 'column1': 2}]
        """
        return to_arrow(*self._signed(relation))

    def to_pandas(self, relation: str) -> pandas.DataFrame:
        return to_pandas(*self._signed(relation))

    def to_polars(self, relation: str) -> polars.DataFrame:
        return to_polars(*self._signed(relation))

    def to_spark(self, relation: str, spark: SparkSession | None = None) -> DataFrame:
        """A frame of Spark, in this session or the one that is active."""
        from tidelog.formats.spark_frames import delta_frame

        part = self._part(relation)
        return delta_frame(part.relation, part.frame or part.decode, spark)

    def _signed(self, name: str) -> tuple[Relation, Table]:
        """A relation with one more column, and the rows of this delta."""
        relation = self._part(name).relation
        sign = "op" if "op" not in relation.attributes else "%op"
        signed = replace(
            relation,
            attributes=(sign, *relation.attributes),
            kinds=("symbol", *relation.kinds),
        )
        rows = ((change.op, *change.row) for change in self.changes(name))
        return signed, Table.from_rows(signed.kinds, rows)


def _unpickled(
    tables: Mapping[str, tuple[Relation, Mapping[Op, Table]]], relations: Mapping[str, Relation]
) -> Delta:
    parts = {
        name: RelationDelta(
            relation,
            {op: sides[op].size if op in sides else 0 for op in OPS},
            sides.__getitem__,
        )
        for name, (relation, sides) in tables.items()
    }
    return Delta(parts, relations)
