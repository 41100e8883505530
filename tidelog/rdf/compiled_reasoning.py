"""The compiled reasoner: axioms are rules, and a triple is a fact of its class or property.

Triples that describe classes and properties form the ontology; all others are data. A change of
the ontology recompiles it; one transaction removes and adds the rules that differ and changes the
data. The relation `other` holds triples of classes and properties that no axiom mentions. They
move to a relation of their own once an axiom does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.program.changes import Op
from tidelog.program.diagnostics import DataError
from tidelog.program.table import Table
from tidelog.rdf.graph_delta import GraphDelta
from tidelog.rdf.literals import Facts, facts_about
from tidelog.rdf.ontology_rules import OTHER, Compiled, Ontology
from tidelog.rdf.rdf_terms import Triple
from tidelog.rdf.reasoning import (
    Committed,
    Pattern,
    Reasoner,
    Runs,
    accepted,
    arguments,
    fill,
    insert,
)
from tidelog.rdf.same_as import LiteralValues, NetChange, SameAsIndex
from tidelog.rdf.triple_columns import Codes, Columns, Gathered, coded, codes_in, groups
from tidelog.rdf.vocabulary import CLASSES, PREDICATES, SAME, TYPE
from tidelog.session.database import Database
from tidelog.transaction.delta import Delta
from tidelog.transaction.transaction import Transaction

_STATE = ("ontology", "axioms", "equal", "values", "compiled")  # replaced by open_database


@dataclass(frozen=True, slots=True)
class _OntologyChange:
    """What a transaction changes in the ontology."""

    axioms: NetChange
    equal: NetChange  # explicit owl:sameAs triples
    relevant: NetChange  # those of them that the ontology needs
    before: tuple[dict[Triple, None], frozenset[str]]


class CompiledReasoner(Reasoner):
    """Rules over one relation per class and property."""

    ontology: Ontology
    axioms: dict[Triple, None]
    equal: SameAsIndex
    values: LiteralValues
    compiled: Compiled

    def open_database(self, triples: Columns) -> Database:
        before = {name: getattr(self, name, None) for name in _STATE}
        try:
            return self._opened(triples)
        except BaseException:
            for name, value in before.items():
                setattr(self, name, value)
            raise

    def _opened(self, triples: Columns) -> Database:
        schema = schema_mask(triples)
        self.ontology = Ontology(self.profile, self.prefixes)
        self.axioms = dict.fromkeys(triples.where(schema))
        data = triples.where(~schema)
        self.equal, self.values = SameAsIndex(self._same(data), self.axioms), LiteralValues()
        new = self.new_literals(triples.words)
        facts = facts_about(new)
        self.compiled = self.ontology.change(
            [*self.axioms, *self.equal.relevant], equality=self._may_equal([data], new, facts)
        )
        self.described.update(new)
        rules = accepted(self.compiled.program, self.profile)
        tables = self._tables(data, facts, rules.checked.relations)
        return Database.of(rules, tables, **self.options)

    def _tables(self, data: Columns, facts: Facts, relations: Any) -> Iterator[tuple[str, Table]]:
        yield from self.rows_by_relation(data).items()
        for name, rows in facts.items():
            yield name, Table.from_rows(relations[name].kinds, rows)

    def _same(self, data: Columns) -> list[Triple]:
        """The owl:sameAs triples; in RDFS they have no meaning."""
        if self.profile != "owl2rl" or SAME not in data.words:
            return []
        return list(data.where(data.p == data.words.index(SAME)))

    def _may_equal(self, data: Iterable[Columns], new: list[str], facts: Facts) -> bool:
        """Whether data could make terms equal, by owl:sameAs or by two literals of one value."""
        if self.profile != "owl2rl":
            return False
        collision = self.values.add(new, facts, self.described)
        return collision or any(SAME in columns.words for columns in data)

    def relation_of(self, predicate: str, object_: str) -> str:
        """The relation of triples with this predicate and, for rdf:type, this object."""
        if predicate == TYPE:
            return self.compiled.unary.get(object_, OTHER)
        return self.compiled.binary.get(predicate, OTHER)

    def rows_by_relation(self, data: Columns) -> dict[str, Table]:
        """Triples as facts, by relation."""
        found: dict[str, Table] = {}
        rest: list[NDArray[np.int64]] = []
        for predicate, rows in groups(data.p):
            word = data.words[predicate]
            for object_, some in groups(data.o[rows]) if word == TYPE else [(0, slice(None))]:
                chosen = rows[some]
                relation = self.relation_of(word, data.words[object_])
                if relation == OTHER:
                    rest.append(chosen)
                elif word == TYPE:
                    found[relation] = data.table_of(data.s[chosen])
                else:
                    found[relation] = data.table_of(data.s[chosen], data.o[chosen])
        if rest:
            found[OTHER] = data.where(np.concatenate(rest)).table()
        return found

    def change(self, runs: Runs, options: dict[str, Any]) -> Committed:
        axioms = self._axioms(runs, options.get("strict", self.options["strict"]))
        data = [(op, columns.where(~schema_mask(columns))) for op, columns in runs]
        inserted = [columns for op, columns in data if op == "+"]
        words = dict.fromkeys(word for columns in inserted for word in columns.words)
        new = self.new_literals(words)
        facts = facts_about(new)
        before = self.compiled
        step = self._change_ontology(axioms, data)
        equality = self._may_equal(inserted, new, facts) and not before.equality

        def update(tx: Transaction) -> None:
            if axioms or step.relevant or equality:
                self._compile(tx, step, equality)
            insert(tx, facts)
            for op, columns in data:
                self._write(tx, op, columns)

        try:
            done = self.apply(update, new, options)
        except BaseException:
            self._undo(before, step)
            raise
        delta = self._delta(done.delta, before, axioms)
        if options.get("dry_run"):
            self._undo(before, step)
        return Committed(delta, done.report, done.seconds)

    def _axioms(self, runs: Runs, strict: bool) -> NetChange:
        changes = [
            (op, triple) for op, columns in runs for triple in columns.where(schema_mask(columns))
        ]
        if strict:
            _check_strict(self.axioms, changes)
        return NetChange.of(self.axioms, changes)

    def _change_ontology(self, axioms: NetChange, data: Runs) -> _OntologyChange:
        """Record what changes in the ontology; `_undo` reverts it."""
        equal = NetChange.of(
            self.equal, ((op, t) for op, columns in data for t in self._same(columns))
        )
        before = self.equal.relevant, self.equal.schema_terms
        axioms.apply(self.axioms)
        self.equal.change(equal)
        if not axioms and not self.equal.affects(equal):
            return _OntologyChange(axioms, equal, NetChange(), before)
        now, self.equal.schema_terms = self.equal.select_relevant(self.axioms)
        self.equal.relevant = now
        relevant = NetChange(
            [t for t in now if t not in before[0]], [t for t in before[0] if t not in now]
        )
        return _OntologyChange(axioms, equal, relevant, before)

    def _compile(self, tx: Transaction, step: _OntologyChange, equality: bool) -> None:
        """Replace the rules that differ, and move triples to the new relations."""
        before = self.compiled
        axioms, relevant = step.axioms, step.relevant
        self.compiled = self.ontology.change(
            [*axioms.inserted, *relevant.inserted],
            [*axioms.deleted, *relevant.deleted],
            equality=equality,
        )
        removed, added = self.compiled.rule_changes(before)
        for text in removed:
            tx.remove_rule(text)
        for text in added:
            tx.add_rule(text)
        moved = self._to_move(before)
        if len(moved):
            tx.delete(OTHER, moved.table())
            self._write(tx, "+", moved)

    def _undo(self, before: Compiled, step: _OntologyChange) -> None:
        """Revert the ontology after a failure or a dry run."""
        axioms, relevant = step.axioms, step.relevant
        if self.compiled is not before:
            self.ontology.change(
                [*axioms.deleted, *relevant.deleted],
                [*axioms.inserted, *relevant.inserted],
                equality=before.equality,
            )
            self.compiled = before
        axioms.inverse.apply(self.axioms)
        self.equal.change(step.equal.inverse)
        self.equal.relevant, self.equal.schema_terms = step.before

    def _write(self, tx: Transaction, op: Op, data: Columns) -> None:
        for relation, table in self.rows_by_relation(data).items():
            if op == "+":
                tx.insert(relation, table)
            else:
                tx.delete(relation, table)

    def _to_move(self, before: Compiled) -> Columns:
        """Explicit triples in `other` whose class or property has a relation since this change."""
        store = self.database.core.store
        data = store.ids(store.explicit, OTHER)

        def has(column: int, terms: Iterable[str]) -> NDArray[np.bool_]:
            return np.isin(data[:, column], store.identify("symbol", list(terms)))

        now = self.compiled
        chosen = has(1, now.binary.keys() - before.binary.keys())
        chosen |= has(1, [TYPE]) & has(2, now.unary.keys() - before.unary.keys())
        return Columns.of_table(store.table(OTHER, store.pick(OTHER, data[chosen])))

    def _delta(self, delta: Delta, before: Compiled, axioms: NetChange) -> GraphDelta:
        now, others = self.compiled, self.database[OTHER]
        new = now.classes.keys() - before.classes.keys()
        new |= now.properties.keys() - before.properties.keys()
        entered, left = set(delta.added(OTHER)), set(delta.removed(OTHER))

        def was_other(triple: Triple) -> bool:
            return triple in left or (triple in others and triple not in entered)

        def inserted() -> Columns:
            found = Gathered()
            found.add(axioms.inserted)
            for relation in delta.counts:
                if relation in new:
                    rows: list[Any] = delta.added(relation)
                    triples = (now.triple_of(relation, row) for row in rows)
                    found.add([t for t in triples if t is not None and not was_other(t)])
                else:
                    found.pieces.append(
                        self._codes(found.ids, relation, delta.table(relation, "+"))
                    )
            return found.columns()

        def deleted() -> Columns:
            found = Gathered()
            found.add(axioms.deleted)
            for relation in delta.counts:
                table = delta.table(relation, "-")
                found.pieces.append(self._codes(found.ids, relation, table))
            found.add(self._lost_in_move(delta, before))
            return found.columns()

        # Read before a later transaction changes the database.
        columns = inserted(), deleted()
        return GraphDelta(lambda: columns[0], lambda: columns[1])

    def _lost_in_move(self, delta: Delta, before: Compiled) -> list[Triple]:
        """Triples that left `other` and did not reach their new relation."""
        if OTHER not in delta.counts:
            return []
        found: list[Triple] = []
        added: dict[str, set[Any]] = {}
        for s, p, o in delta.removed(OTHER):
            triple = str(s), str(p), str(o)
            relation = self.relation_of(triple[1], triple[2])
            if relation == OTHER or before.route(triple)[0] != OTHER:
                continue
            if relation not in added:
                rows = delta.added(relation) if relation in delta.counts else []
                added[relation] = set(rows)
            if self.compiled.route(triple)[1] not in added[relation]:
                found.append(triple)
        return found

    def _codes(self, ids: dict[str, int], relation: str, table: Table) -> Codes:
        """The triples of facts, as rows of codes of a shared dictionary; those of `other` only if
        no other relation holds them too."""

        def constant(word: str) -> Codes:
            return np.full(table.size, ids.setdefault(word, len(ids)), dtype=np.int64)

        compiled = self.compiled
        if relation == OTHER:
            others = Columns.of_table(table)
            return coded(ids, others.where(self._only_in_other(others)))
        if relation in compiled.classes:
            (s,) = (codes_in(ids, column) for column in table.columns)
            return np.column_stack([s, constant(TYPE), constant(compiled.classes[relation])])
        if relation in compiled.properties:
            s, o = (codes_in(ids, column) for column in table.columns)
            return np.column_stack([s, constant(compiled.properties[relation]), o])
        return np.empty((0, 3), dtype=np.int64)  # its facts are not triples

    def columns(self) -> Columns:
        return self._all_columns(self.table)

    def explicit(self) -> Columns:
        return self._all_columns(self.explicit_table)

    @property
    def empty(self) -> bool:
        names = (*self.compiled.classes, *self.compiled.properties, OTHER)
        return not self.axioms and not any(map(self.has_explicit, names))

    def _all_columns(self, table: Callable[[str], Table]) -> Columns:
        """The facts of all relations as triples, and the axioms."""
        found = Gathered()
        found.add(self.axioms)
        for relation in (*self.compiled.classes, *self.compiled.properties, OTHER):
            if relation in self.database.schema:
                found.pieces.append(self._codes(found.ids, relation, table(relation)))
        return found.columns()

    def _only_in_other(self, others: Columns) -> NDArray[np.bool_]:
        """Which rows no other relation holds; equal classes and properties have some in both."""
        if not len(others):
            return np.zeros(0, dtype=np.bool_)
        words, compiled = others.words, self.compiled
        unary = np.array([word in compiled.unary for word in words], dtype=np.bool_)
        binary = np.array([word in compiled.binary for word in words], dtype=np.bool_)
        type_ = np.array([word == TYPE for word in words], dtype=np.bool_)
        found: NDArray[np.bool_] = binary[others.p] | (type_[others.p] & unary[others.o])
        return ~found

    def matching(self, pattern: Pattern) -> Iterable[Triple]:
        s, p, o = pattern
        if p is None or (p == TYPE and o is None):
            return [t for t in self.columns() if _matches(t, pattern)]
        relation = self.relation_of(p, o or "")
        found = [t for t in self.axioms if _matches(t, pattern)]
        if relation in self.database.schema:
            places: Pattern | tuple[str | None, ...]
            places = pattern if relation == OTHER else (s,) if p == TYPE else (s, o)
            found += [
                fill(pattern, row)
                for row in self.database.query(f"{relation}({arguments(places)})")
            ]
        return found


def _matches(triple: Triple, pattern: Pattern) -> bool:
    return all(wanted in (None, term) for wanted, term in zip(pattern, triple, strict=True))


def schema_mask(columns: Columns) -> NDArray[np.bool_]:
    """Which triples belong to the ontology."""
    if not len(columns):
        return np.zeros(0, dtype=np.bool_)
    axiom = np.array([word in PREDICATES for word in columns.words], dtype=np.bool_)
    kind = np.array([word in CLASSES for word in columns.words], dtype=np.bool_)
    type_ = np.array([word == TYPE for word in columns.words], dtype=np.bool_)
    found: NDArray[np.bool_] = axiom[columns.p] | (type_[columns.p] & kind[columns.o])
    return found


def _check_strict(axioms: Mapping[Triple, None], changes: Iterable[tuple[Op, Triple]]) -> None:
    """Reject changes that have no effect."""
    present: dict[Triple, bool] = {}
    for op, triple in changes:
        if present.get(triple, triple in axioms) == (op == "+"):
            why = "the axiom already exists" if op == "+" else "no such axiom"
            raise DataError(f"error: {why}: {op} {' '.join(triple)} .")
        present[triple] = op == "+"
