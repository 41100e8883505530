"""Small changes of a pivot stratum: the slices that a change can reach, fetched by one job.

A slice is all facts with one value of the pivot; rules never lead from one slice to another. A
slice can change only if its explicit facts do, if a change of a lower relation derives one of its
facts, or if one of its facts joins the change. The slices found include all of these and perhaps
more; maintaining them shows what changes.

Facts inserted and deleted since the blobs were written may be laid over them, so that not every
update has to write them anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.formats import spark_columns
from tidelog.plan.closures import Closure
from tidelog.program.rules import Group, Literal, Relation, Rule, Stratum
from tidelog.program.syntax import Constant, Kind, Variable
from tidelog.spark.strategies.blobs import from_bytes, to_bytes
from tidelog.spark.strategies.choose import Strategy
from tidelog.spark.strategies.partition_state import BLOBS, RelationBlobs, batch, described, title
from tidelog.spark.strategies.partitioning import where

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Facts = dict[str, pa.Table]
Atom = Literal | Group


@dataclass(frozen=True, slots=True)
class Overlay:
    """Facts of a relation that were deleted and inserted since its blobs were written."""

    removed: pa.Table
    added: pa.Table


@dataclass(frozen=True, slots=True)
class Scan:
    """Facts of a relation of the stratum that a change joins: each column has one of its values."""

    relation: str
    columns: tuple[tuple[int, Any], ...]  # with Arrow arrays of values


@dataclass(slots=True)
class SliceReach:
    """Where a change can matter: values of the pivot, and facts that lead to more of them."""

    values: list[Any] = field(default_factory=list)  # Arrow arrays
    scans: list[Scan] = field(default_factory=list)

    def known(
        self, strategy: Strategy, relations: Mapping[str, Relation], more: Iterable[Any] = ()
    ) -> Any:
        """All distinct pivots that the driver knows."""
        none = pa.array([], type=spark_columns.ARROW[pivot_kind(strategy, relations)])
        return pa.concat_arrays([none, *self.values, *more]).unique()


def affected(
    strategy: Strategy,
    spark: SparkSession,
    stratum: Stratum,
    relations: Mapping[str, Relation],
    deltas: Mapping[str, pa.Table],
    state: Mapping[str, RelationBlobs],
    *,
    lower: Mapping[str, pa.Table] | None = None,
    overlays: Mapping[str, Overlay] | None = None,
    most: int = 1_000_000,
) -> Facts | None:
    """The facts, before the change, of every slice that it can reach.

    `deltas` has the facts that are inserted or deleted in lower relations, and explicitly in those
    of the stratum; `lower` has the driver's facts of lower relations, including inserted and
    deleted ones. None if there are more than `most` facts, or if a rule does not say which slices
    are reached because the driver lacks a lower atom in between. A transitive closure's slices are
    those of its linear form: maintain them by `linear_form`.
    """
    if is_square(strategy) and any(len(deltas.get(name, ())) for name in stratum.relations):
        return None
    reach = reached_by(strategy, stratum, relations, deltas, lower or {})
    if reach is None:
        return None
    over = overlays or {}
    added = {name: overlay.added for name, overlay in over.items()}
    direct = reach.known(strategy, relations, led_to(reach.scans, added, strategy))
    if not reach.scans and not len(direct):
        return {name: _none(relations[name]) for name in stratum.relations}
    blobs = next(iter(state.values())).blobs
    with described(spark, f"{title(stratum)}: slices that a change reaches"):
        rows = blobs.mapInArrow(_finder(strategy, reach, direct, most), BLOBS).collect()
    if sum(row.size for row in rows) > most or any(row.blob is None for row in rows):
        return None
    found = {name: [_none(relations[name])] for name in stratum.relations}
    for row in rows:
        schema = spark_columns.arrow_schema(relations[row.name])
        found[row.name].append(from_bytes(row.blob).cast(schema))
    tables = {name: pa.concat_tables(each) for name, each in found.items()}
    return _overlaid(strategy, relations, tables, over, direct)


def reached_by(
    strategy: Strategy,
    stratum: Stratum,
    relations: Mapping[str, Relation],
    deltas: Mapping[str, pa.Table],
    lower: Mapping[str, pa.Table],
) -> SliceReach | None:
    """Where the change can matter, as far as the driver can tell; None if anywhere."""
    found = SliceReach()
    for name in stratum.relations:
        if name in deltas:
            found.values.append(_column(deltas[name], strategy.pivots[name]))
            if is_square(strategy):
                found.scans.append(Scan(name, ((1, _column(deltas[name], 0)),)))
    if strategy.closure is not None and is_square(strategy):
        stratum = linear_form(stratum, strategy.closure, pivot_kind(strategy, relations))
    for rule in stratum.rules:
        lead = _Lead(strategy, rule, relations, lower, frozenset(stratum.relations), found)
        for part in rule.body:
            if isinstance(part, Literal | Group) and part.relation not in stratum.relations:
                table = deltas.get(part.relation)
                if table is not None and not lead.follow(part, table, (part,)):
                    return None
    return found


@dataclass(frozen=True, slots=True)
class _Lead:
    """From facts of a lower atom of a rule to the pivots of heads that they contribute to."""

    strategy: Strategy
    rule: Rule
    relations: Mapping[str, Relation]
    lower: Mapping[str, pa.Table]
    inside: frozenset[str]
    found: SliceReach

    def follow(self, part: Atom, table: pa.Table, behind: tuple[Atom, ...]) -> bool:
        """Note where these facts lead; False if that is unknown."""
        table = _matching(part, self.relations[part.relation], table)
        if not table.num_rows:
            return True
        kept = self.rule.head.terms[self.strategy.pivots[self.rule.head.relation]]
        if isinstance(kept, Constant):
            kind = kept.kind or "number"
            value = spark_columns.inner(kind, kept.value)
            self.found.values.append(pa.array([value], type=spark_columns.ARROW[kind]))
            return True
        if kept in part.terms:
            self.found.values.append(_column(table, part.terms.index(kept)))
            return True
        near = [(atom, both) for atom in self.rule.literals() if (both := _shared(atom, part))]
        own = [(atom, both) for atom, both in near if atom.relation in self.inside]
        if own:
            atom, both = max(own, key=lambda one: len(one[1]))
            columns = tuple((mine, _column(table, theirs)) for mine, theirs in both)
            self.found.scans.append(Scan(atom.relation, columns))
            return True
        return any(self._pass(atom, both, table, behind) for atom, both in near)

    def _pass(
        self, atom: Literal, both: list[tuple[int, int]], table: pa.Table, behind: tuple[Atom, ...]
    ) -> bool:
        """Continue with the driver's facts of another lower atom."""
        held = self.lower.get(atom.relation)
        if atom.negated or held is None or any(atom is one for one in behind):
            return False
        columns = tuple((mine, _column(table, theirs)) for mine, theirs in both)
        met = held.filter(_joined(Scan(atom.relation, columns), held))
        return self.follow(atom, met, (*behind, atom))


def _shared(atom: Literal, part: Atom) -> list[tuple[int, int]]:
    return [
        (mine, part.terms.index(term))
        for mine, term in enumerate(atom.terms)
        if isinstance(term, Variable) and term in part.terms
    ]


def _matching(part: Atom, relation: Relation, table: pa.Table) -> pa.Table:
    """Facts that match the constants of an atom."""
    for column, value in where(part):
        held = spark_columns.inner(relation.kinds[column], value)
        scalar = pa.scalar(held, type=spark_columns.ARROW[relation.kinds[column]])
        table = table.filter(
            pc.is_in(table.column(column), pa.array([scalar.as_py()], scalar.type))
        )
    return table


def _column(table: pa.Table, column: int) -> Any:
    return pa.chunked_array(table.column(column)).combine_chunks()


def led_to(scans: list[Scan], tables: Mapping[str, pa.Table], strategy: Strategy) -> Iterator[Any]:
    """Pivots of facts in these tables that the change joins."""
    for scan in scans:
        table = tables.get(scan.relation)
        if table is not None and table.num_rows:
            yield _column(table.filter(_joined(scan, table)), strategy.pivots[scan.relation])


def _joined(scan: Scan, table: pa.Table) -> Any:
    mask = None
    for column, among in scan.columns:
        one = pc.is_in(table.column(column), value_set=among)
        mask = one if mask is None else pc.and_(mask, one)
    return mask


def is_square(strategy: Strategy) -> bool:
    """Whether it is a transitive closure, which has a pivot only in its linear form."""
    return strategy.closure is not None and strategy.closure.kind == "transitive"


def pivot_kind(strategy: Strategy, relations: Mapping[str, Relation]) -> Kind:
    name, column = next(iter(strategy.pivots.items()))
    return relations[name].kinds[column]


def _none(relation: Relation) -> pa.Table:
    return spark_columns.arrow_schema(relation).empty_table()


# Inside executors.


def _finder(strategy: Strategy, reach: SliceReach, direct: Any, most: int) -> Any:
    def find(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = [row for rows in batches for row in rows.to_pylist()]
        tables = [(row["part"], row["name"], plain(from_bytes(row["blob"]))) for row in held]
        pivots = [direct]
        for _, name, table in tables:
            pivots += led_to(reach.scans, {name: table}, strategy)
        wanted = pa.concat_arrays(pivots).unique()
        count = 0
        for part, name, table in tables:
            mine = table.filter(pc.is_in(table.column(strategy.pivots[name]), value_set=wanted))
            count += mine.num_rows
            if count > most:
                yield batch(part, name, count, None)
                return
            if mine.num_rows:
                yield batch(part, name, mine.num_rows, to_bytes(mine))

    return find


def plain(table: pa.Table) -> pa.Table:
    """Strings as strings: Arrow compares them with others only in that form."""
    for i, column in enumerate(table.schema):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(i, column.name, table.column(i).cast(column.type.value_type))
    return table


# Overlays.


def _overlaid(
    strategy: Strategy,
    relations: Mapping[str, Relation],
    tables: Facts,
    overlays: Mapping[str, Overlay],
    direct: Any,
) -> Facts:
    """The current slices."""
    known = [_column(table, strategy.pivots[name]) for name, table in tables.items()]
    pivots = pa.concat_arrays([direct, *known]).unique()
    found = dict(tables)
    for name, overlay in overlays.items():
        column = overlay.added.column(strategy.pivots[name])
        added = overlay.added.filter(pc.is_in(column, value_set=pivots))
        found[name] = changed(relations[name], tables[name], overlay.removed, added)
    return found


def changed(relation: Relation, table: pa.Table, removed: pa.Table, added: pa.Table) -> pa.Table:
    """A table with some rows removed and others added, each once."""
    if "float" not in relation.kinds:  # Arrow does not find a NaN again
        columns = table.column_names
        over = pa.concat_tables([removed, added]).group_by(columns).aggregate([])
        rest = table.join(over, keys=columns, join_type="left anti")
        return pa.concat_tables([rest.select(columns), added])
    rows = set(spark_columns.rows_of(relation, table))
    rows.difference_update(spark_columns.rows_of(relation, removed))
    rows.update(spark_columns.rows_of(relation, added))
    return spark_columns.as_arrow(relation, rows)


# Transitive closures.


def linear_form(stratum: Stratum, closure: Closure, kind: Kind) -> Stratum:
    """The same closure, from the facts of nonrecursive rules only: `R(x, z) :- R(x, y), …` with the
    body of each such rule, which leads from y to z. `kind` is the type of the first column."""
    made = []
    fresh = Variable("%from", kind=kind)
    for rule in stratum.nonrecursive:
        first, second = rule.head.terms
        step = Literal(closure.relation, (fresh, first))
        head = replace(rule.head, terms=(fresh, second))
        made.append(replace(rule, head=head, body=(step, *rule.body)))
    return Stratum(stratum.relations, stratum.nonrecursive, tuple(made))
