"""Changes of facts as Arrow tables, and which of several changes of one fact counts.

A table has a column for each attribute (`c0`, `c1`, …), `sign` (1 comes, -1 goes) and `seq`,
the sequence number that the source gave it, or null.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    """No change."""
    return schema_of(relation.kinds).empty_table()


def arity_of(changes: pa.Table) -> int:
    return int(changes.num_columns) - 2


def insertions(relation: Relation, frame: pa.Table) -> pa.Table:
    """The rows of a frame of the relation's columns, all of them to come."""
    return signed(relation, [*frame.columns], pa.array(np.ones(frame.num_rows, np.int8)))


def signed(relation: Relation, columns: Sequence[Any], signs: Any, seqs: Any = None) -> pa.Table:
    """Changes out of columns that Arrow can bring to the relation's kinds."""
    own = [
        _cast(relation, name, kind, column)
        for name, kind, column in zip(relation.attributes, relation.kinds, columns, strict=True)
    ]
    seqs = pa.nulls(len(signs), pa.int64()) if seqs is None else seqs
    return pa.table([*own, signs.cast(pa.int8()), seqs], schema=schema_of(relation.kinds))


def _cast(relation: Relation, name: str, kind: Kind, column: Any) -> Any:
    """A column of the kind: numbers may be narrower or wider, and must fit."""
    if column.null_count:
        raise DataError(f"error: {relation.name}: column {name} has empty cells (nulls)")
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    texts = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    if texts != (kind == "symbol") or not (texts or any(is_(column.type) for is_ in numbers)):
        what = f"column {name} is a {kind}; the source has {column.type}"
        raise DataError(f"error: {relation.name}: {what}\n    convert it in `columns`: cast(…)")
    try:
        column = column.cast(TYPES[kind])
    except pa.ArrowInvalid as error:
        what = f"column {name} is a {kind}: {str(error).splitlines()[0]}"
        raise DataError(f"error: {relation.name}: {what}") from None
    if kind == "float":
        column = pc.add(column, 0.0)  # -0.0 is 0.0, as in the engine
        if pc.any(pc.is_nan(column)).as_py():
            what = f"column {name} has a NaN, which equals nothing"
            raise DataError(f"error: {relation.name}: {what}")
    return column


def of_facts(relation: Relation, changes: Iterable[FactChange]) -> pa.Table:
    """Changes that were read from text, in their order."""
    listed = list(changes)
    kinds: tuple[Kind, ...] = (*relation.kinds, "number")
    signs = {"+": 1, "-": -1}
    table = Table.from_rows(kinds, [(*each.row, signs[each.op]) for each in listed])
    columns = [_array(column.tolist(), kind) for column, kind in _paired(table)]
    return signed(relation, columns[:-1], columns[-1])


def _paired(table: Table) -> Iterable[tuple[Any, Kind]]:
    return zip(table.columns, table.kinds, strict=True)


def _array(values: list[Any], kind: Kind) -> Any:
    return pa.array(values, TYPES[kind])


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


def came(changes: pa.Table) -> pa.Table:
    return changes.filter(pc.greater(changes.column("sign"), 0))


def went(changes: pa.Table) -> pa.Table:
    return changes.filter(pc.less(changes.column("sign"), 0))


def frame(relation: Relation, changes: pa.Table) -> Any:
    """The rows without signs, in a form that a database takes."""
    if not relation.arity:
        return [()] * changes.num_rows
    return changes.select(names(relation.arity)).rename_columns(list(relation.attributes))


def to_bytes(table: pa.Table) -> bytes:
    written = io.BytesIO()
    parquet.write_table(table, written)
    return written.getvalue()


def from_bytes(data: bytes) -> pa.Table:
    return parquet.read_table(io.BytesIO(data))


@dataclass(slots=True)
class Ledger:
    """The sequence number of every fact's last change, of sources that have an order.

    A change counts only if its number is higher; of two with the same number the insertion
    does, since the two sides of an update have one number. Facts that went are remembered, so
    that a change that comes late does not bring them back. With `late`, changes that lie further
    back than that are dropped, and nothing older is remembered.
    """

    late: Mapping[str, int] = field(default_factory=dict)  # by relation
    known: dict[str, dict[Row, tuple[int, int]]] = field(default_factory=dict)
    highest: dict[str, int] = field(default_factory=dict)
    dropped: int = 0

    def load(self, relation: str, changes: pa.Table) -> None:
        """Remember what a state has."""
        numbered = changes.filter(pc.is_valid(changes.column("seq")))
        self._note(relation, numbered)

    def counting(self, relation: str, changes: pa.Table) -> pa.Table:
        """The changes that count, one a fact, in the order of their sequence numbers if they
        have some and otherwise in their own."""
        seqs = changes.column("seq")
        if 0 < seqs.null_count < changes.num_rows:
            # What has no number, as facts of the program have none, was there before.
            plain = self.counting(relation, changes.filter(pc.is_null(seqs)))
            return fold([plain, self.counting(relation, changes.filter(pc.is_valid(seqs)))])
        if not changes.num_rows or seqs.null_count:
            found = fold([changes])
            self._forget(relation, found)
            return found
        keys = [("seq", "ascending"), ("sign", "ascending")]
        found = fold([changes.take(pc.sort_indices(changes, sort_keys=keys))])
        found = self._newer(relation, self._in_time(relation, found))
        self._note(relation, found)
        return found

    def _in_time(self, relation: str, changes: pa.Table) -> pa.Table:
        late, top = self.late.get(relation), self.highest.get(relation)
        if late is None or top is None:
            return changes
        kept = changes.filter(pc.greater_equal(changes.column("seq"), top - late))
        self.dropped += changes.num_rows - kept.num_rows
        return kept

    def _newer(self, relation: str, changes: pa.Table) -> pa.Table:
        known = self.known.get(relation)
        if not known:
            return changes
        never = (-(1 << 63), -2)
        newer = [date > known.get(row, never) for row, date in _dated(changes)]
        return changes.filter(pa.array(newer, pa.bool_()))

    def _note(self, relation: str, changes: pa.Table) -> None:
        if not changes.num_rows:
            return
        top: int = pc.max(changes.column("seq")).as_py()
        self.highest[relation] = max(top, self.highest.get(relation, top))
        self.known.setdefault(relation, {}).update(_dated(changes))

    def _forget(self, relation: str, changes: pa.Table) -> None:
        known = self.known.get(relation)
        if known:
            for row in rows_of(changes):
                known.pop(row, None)

    def worth_keeping(self, relation: str, changes: pa.Table) -> pa.Table:
        """What a snapshot needs of folded changes: facts, and numbers of facts that went."""
        sign, seq = changes.column("sign"), changes.column("seq")
        late, top = self.late.get(relation), self.highest.get(relation)
        young = pc.is_valid(seq)
        if late is not None and top is not None:
            young = pc.and_(young, pc.greater_equal(pc.fill_null(seq, 0), top - late))
        return changes.filter(pc.or_(pc.greater(sign, 0), young))

    def prune(self) -> None:
        """Forget facts that went longer ago than a change may be late."""
        for relation, late in self.late.items():
            known = self.known.get(relation, {})
            oldest = self.highest.get(relation, 0) - late
            gone = [row for row, (seq, sign) in known.items() if sign < 0 and seq < oldest]
            for row in gone:
                del known[row]


def _dated(changes: pa.Table) -> Iterator[tuple[Row, tuple[int, int]]]:
    """Facts with the number and the sign of their changes."""
    columns = (changes.column(name).to_pylist() for name in ("seq", "sign"))
    return zip(rows_of(changes), zip(*columns, strict=True), strict=True)
