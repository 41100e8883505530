"""Changes of facts as Arrow tables, and a ledger that resolves several changes of one fact.

A table has a column per attribute (`c0`, `c1`, …), `sign` (1 inserts, -1 deletes) and `seq`, the
source's sequence number or null.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from tidelog.program.changes import FactChange
from tidelog.program.diagnostics import DataError
from tidelog.program.rules import Relation
from tidelog.program.syntax import Kind, Value
from tidelog.program.table import Table

Row = tuple[Value, ...]
TYPES: dict[Kind, pa.DataType] = {
    "number": pa.int64(),
    "unsigned": pa.uint64(),
    "float": pa.float64(),
    "symbol": pa.string(),
}


def names(arity: int) -> list[str]:
    return [f"c{i}" for i in range(arity)]


def schema_of(kinds: Sequence[Kind]) -> pa.Schema:
    own = [(name, TYPES[kind]) for name, kind in zip(names(len(kinds)), kinds, strict=True)]
    return pa.schema([*own, ("sign", pa.int8()), ("seq", pa.int64())])


def nothing(relation: Relation) -> pa.Table:
    """An empty table of changes."""
    return schema_of(relation.kinds).empty_table()


def arity_of(changes: pa.Table) -> int:
    return int(changes.num_columns) - 2


def insertions(relation: Relation, frame: pa.Table) -> pa.Table:
    """Insertions of all rows of a frame with the relation's columns."""
    return signed(relation, [*frame.columns], pa.array(np.ones(frame.num_rows, np.int8)))


def signed(relation: Relation, columns: Sequence[Any], signs: Any, seqs: Any = None) -> pa.Table:
    """Changes from columns that Arrow can cast to the relation's types."""
    own = [
        _cast(relation, name, kind, column)
        for name, kind, column in zip(relation.attributes, relation.kinds, columns, strict=True)
    ]
    seqs = pa.nulls(len(signs), pa.int64()) if seqs is None else seqs
    return pa.table([*own, signs.cast(pa.int8()), seqs], schema=schema_of(relation.kinds))


def _cast(relation: Relation, name: str, kind: Kind, column: Any) -> Any:
    """Cast a column to a type; numbers of other widths must fit."""
    if column.null_count:
        raise DataError(f"error: {relation.name}: column {name} contains nulls")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    texts = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    if texts != (kind == "symbol") or not (texts or any(is_(column.type) for is_ in numbers)):
        what = f"column {name} has type {kind}, but the source has {column.type}"
        raise DataError(f"error: {relation.name}: {what}\n    convert it in `columns`: cast(…)")
    try:
        column = column.cast(TYPES[kind])
    except pa.ArrowInvalid as error:
        what = f"column {name} has type {kind}: {str(error).splitlines()[0]}"
        raise DataError(f"error: {relation.name}: {what}") from None
    if kind == "float":
        column = pc.add(column, 0.0)  # turns -0.0 into 0.0, as the engine does
        if pc.any(pc.is_nan(column)).as_py():
            what = f"column {name} contains NaN, which facts cannot hold"
            raise DataError(f"error: {relation.name}: {what}")
    return column


def of_facts(relation: Relation, changes: Iterable[FactChange]) -> pa.Table:
    """Changes in the change notation, in order."""
    kinds: tuple[Kind, ...] = (*relation.kinds, "number")
    signs = {"+": 1, "-": -1}
    table = Table.from_rows(kinds, [(*each.row, signs[each.op]) for each in changes])
    pairs = zip(table.columns, table.kinds, strict=True)
    columns = [pa.array(column.tolist(), TYPES[kind]) for column, kind in pairs]
    return signed(relation, columns[:-1], columns[-1])


def rows_of(changes: pa.Table) -> list[Row]:
    arity = arity_of(changes)
    if not arity:
        return [()] * changes.num_rows
    return list(zip(*(changes.column(i).to_pylist() for i in range(arity)), strict=True))


def fold(tables: Sequence[pa.Table]) -> pa.Table:
    """The last change of each fact.

    >>> p = Relation("p", ("x",), ("number",))
    >>> older = insertions(p, pa.table({"x": [1, 2]}))
    >>> newer = signed(p, [pa.array([2])], pa.array([-1]))
    >>> fold([older, newer]).select(["c0", "sign"]).to_pylist()
    [{'c0': 1, 'sign': 1}, {'c0': 2, 'sign': -1}]
    """
    whole = pa.concat_tables(tables).combine_chunks()
    keys = names(arity_of(whole))
    if not keys:
        return whole.slice(max(whole.num_rows - 1, 0))
    place = pa.array(np.arange(whole.num_rows))
    last = whole.select(keys).append_column("at", place).group_by(keys).aggregate([("at", "max")])
    return whole.take(pa.array(np.sort(last.column("at_max").to_numpy())))


def inserted(changes: pa.Table) -> pa.Table:
    return changes.filter(pc.greater(changes.column("sign"), 0))


def deleted(changes: pa.Table) -> pa.Table:
    return changes.filter(pc.less(changes.column("sign"), 0))


def frame(relation: Relation, changes: pa.Table) -> Any:
    """The rows without signs, as facts for a database."""
    if not relation.arity:
        return [()] * changes.num_rows
    return with_names(relation, changes)


def with_names(relation: Relation, changes: pa.Table) -> pa.Table:
    """The facts under the relation's attribute names, without signs and sequence numbers."""
    return changes.select(names(relation.arity)).rename_columns(list(relation.attributes))


def to_bytes(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()


def from_bytes(data: bytes) -> pa.Table:
    return parquet.read_table(io.BytesIO(data))


@dataclass(frozen=True, slots=True)
class RelationVersion:
    """A relation in a new version, for a sink."""

    number: int
    relation: Relation
    delta: pa.Table | None  # None in the first version
    whole: Callable[[], pa.Table]


@dataclass(slots=True)
class Ledger:
    """The sequence number of the last change of each fact, for sources with an order.

    A change takes effect only if its number is higher. At equal numbers the insertion wins,
    because both sides of an update have the same number. Deleted facts stay in the ledger, so that
    a late insertion does not restore them. `late` bounds how far back changes may arrive: older
    ones are dropped, and the ledger forgets older deletions.
    """

    late: Mapping[str, int] = field(default_factory=dict)  # by relation
    known: dict[str, dict[Row, tuple[int, int]]] = field(default_factory=dict)
    highest: dict[str, int] = field(default_factory=dict)
    dropped: int = 0

    def load(self, relation: str, changes: pa.Table) -> None:
        """Record the changes of a restored state."""
        self._record(relation, changes.filter(pc.is_valid(changes.column("seq"))))

    def effective(self, relation: str, changes: pa.Table) -> pa.Table:
        """The changes that take effect, at most one per fact.

        Sequence numbers decide the order; without them, the order of the rows does.
        """
        seqs = changes.column("seq")
        if 0 < seqs.null_count < changes.num_rows:
            # Changes without a number, such as facts of the program, precede all others.
            plain = self.effective(relation, changes.filter(pc.is_null(seqs)))
            return fold([plain, self.effective(relation, changes.filter(pc.is_valid(seqs)))])
        if not changes.num_rows or seqs.null_count:
            found = fold([changes])
            self._forget(relation, found)
            return found
        keys = [("seq", "ascending"), ("sign", "ascending")]
        found = fold([changes.take(pc.sort_indices(changes, sort_keys=keys))])
        found = self._unseen(relation, self._not_late(relation, found))
        self._record(relation, found)
        return found

    def _not_late(self, relation: str, changes: pa.Table) -> pa.Table:
        late, top = self.late.get(relation), self.highest.get(relation)
        if late is None or top is None:
            return changes
        kept = changes.filter(pc.greater_equal(changes.column("seq"), top - late))
        self.dropped += changes.num_rows - kept.num_rows
        return kept

    def _unseen(self, relation: str, changes: pa.Table) -> pa.Table:
        known = self.known.get(relation)
        if not known:
            return changes
        never = (-(1 << 63), -2)
        newer = [date > known.get(row, never) for row, date in _seqs_and_signs(changes)]
        return changes.filter(pa.array(newer, pa.bool_()))

    def _record(self, relation: str, changes: pa.Table) -> None:
        if not changes.num_rows:
            return
        top: int = pc.max(changes.column("seq")).as_py()
        self.highest[relation] = max(top, self.highest.get(relation, top))
        self.known.setdefault(relation, {}).update(_seqs_and_signs(changes))

    def _forget(self, relation: str, changes: pa.Table) -> None:
        known = self.known.get(relation)
        if known:
            for row in rows_of(changes):
                known.pop(row, None)

    def to_snapshot(self, relation: str, changes: pa.Table) -> pa.Table:
        """The folded changes that a snapshot needs: insertions, and deletions that may matter."""
        sign, seq = changes.column("sign"), changes.column("seq")
        late, top = self.late.get(relation), self.highest.get(relation)
        recent = pc.is_valid(seq)
        if late is not None and top is not None:
            recent = pc.and_(recent, pc.greater_equal(pc.fill_null(seq, 0), top - late))
        return changes.filter(pc.or_(pc.greater(sign, 0), recent))

    def prune(self) -> None:
        """Forget deletions older than the allowed lateness."""
        for relation, late in self.late.items():
            known = self.known.get(relation, {})
            oldest = self.highest.get(relation, 0) - late
            old = [row for row, (seq, sign) in known.items() if sign < 0 and seq < oldest]
            for row in old:
                del known[row]


def _seqs_and_signs(changes: pa.Table) -> Iterator[tuple[Row, tuple[int, int]]]:
    """Facts with the sequence number and sign of their changes."""
    columns = (changes.column(name).to_pylist() for name in ("seq", "sign"))
    return zip(rows_of(changes), zip(*columns, strict=True), strict=True)
