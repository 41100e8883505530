"""The compiled way: the ontology is rules, and a triple is a fact of its class or property.

Triples that describe classes and properties are the ontology; all others are data. A change of the
ontology compiles it again, and the rules that differ come and go in the same transaction as the
data. Triples of classes and properties that no axiom mentions are in the relation `other`, from
where rules take them once an axiom does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.accept import accept
from tidelog.api import Database
from tidelog.deltas import Delta
from tidelog.program.changes import Op
from tidelog.program.diagnostics import DataError
from tidelog.program.table import SymbolColumn, Table
from tidelog.rdf.axioms import FIXED
from tidelog.rdf.changing import GraphDelta
from tidelog.rdf.columns import KINDS, Columns, Gathered
from tidelog.rdf.compiled import OTHER, Compiled, Ontology
from tidelog.rdf.terms import Triple
from tidelog.rdf.vocabulary import CLASSES, PREDICATES, SAME, TYPE, is_schema
from tidelog.rdf.ways import Done, Pattern, Runs, Way, facts_about, filled
from tidelog.text import parse
from tidelog.text.write import value_text
from tidelog.transactions import Transaction

Parts = dict[str, Table]  # rows by relation
_STATE = ("ontology", "axioms", "equal", "compiled")  # that opening a database makes anew


@dataclass(slots=True)
class Axioms:
    """The explicit triples of an ontology before and after a change."""

    before: dict[Triple, None]
    after: dict[Triple, None] = field(default_factory=dict)

    @property
    def come(self) -> list[Triple]:
        return [triple for triple in self.after if triple not in self.before]

    @property
    def gone(self) -> list[Triple]:
        return [triple for triple in self.before if triple not in self.after]


@dataclass(frozen=True, slots=True)
class Equal:
    """Explicit triples that say which terms are the same, and those that the ontology must know:
    they say it of classes and properties, or of what these are equal to."""

    all: dict[Triple, None] = field(default_factory=dict)
    told: dict[Triple, None] = field(default_factory=dict)
    concerned: frozenset[str] = frozenset()  # terms of axioms, and what is equal to them

    @classmethod
    def of(
        cls, triples: dict[Triple, None], axioms: Iterable[Triple], related: Iterable[str] = ()
    ) -> Equal:
        """`related` are terms that have relations, from axioms that there were."""
        concerned = {term for t in axioms if is_schema(t) for term in (t[0], t[2])}
        concerned.update(related)
        told: dict[Triple, None] = {}
        while more := [t for t in triples if t not in told and not concerned.isdisjoint(t[::2])]:
            told.update(dict.fromkeys(more))
            concerned.update(term for t in more for term in t[::2])
        return cls(triples, told, frozenset(concerned))

    def after(self, runs: Runs, axioms: Axioms, related: Iterable[str]) -> Equal:
        """What it is when these triples have come and gone."""
        now, reached = self.all, bool(axioms.come or axioms.gone)
        for op, data in runs:
            for triple in _equal(data):
                if now is self.all:
                    now = dict(now)
                now.pop(triple, None)
                if op == "+":
                    now[triple] = None
                reached |= not self.concerned.isdisjoint(triple[::2])
        if reached:
            return Equal.of(now, axioms.after, related)
        return Equal(now, self.told, self.concerned)


class CompiledWay(Way):
    """Rules over one relation for each class and property."""

    ontology: Ontology
    axioms: dict[Triple, None]
    equal: Equal
    compiled: Compiled

    def opened(self, triples: Columns) -> Database:
        before = {name: getattr(self, name, None) for name in _STATE}
        try:
            return self._opened(triples)
        except BaseException:
            for name, value in before.items():
                setattr(self, name, value)
            raise

    def _opened(self, triples: Columns) -> Database:
        mine = _is_schema(triples)
        self.ontology = Ontology(self.profile)
        self.axioms = dict.fromkeys(triples.where(mine))
        data = triples.where(~mine)
        self.equal = Equal.of(dict.fromkeys(_equal(data)), self.axioms)
        self.compiled = self.ontology.change(
            [*self.axioms, *self.equal.told], equality=_has_equal(data)
        )
        accepted = accept(parse(self.compiled.program, f"<{self.profile}>"))
        tables = self._tables(data, accepted.checked.relations)
        return Database.of(accepted, tables, **self.options)

    def _tables(self, data: Columns, relations: Any) -> Iterator[tuple[str, Table]]:
        yield from self.routed(data).items()
        new = self.new_literals(data.words)
        self.described.update(new)
        for name, rows in facts_about(new).items():
            yield name, Table.from_rows(relations[name].kinds, rows)

    def relation_of(self, predicate: str, object_: str) -> str:
        """Where triples with this predicate and, for a type, this object are."""
        if predicate == TYPE:
            return self.compiled.unary.get(object_, OTHER)
        if predicate in FIXED and self.profile != "owl2rl":
            return OTHER  # equality means nothing in RDFS
        return self.compiled.binary.get(predicate, OTHER)

    def routed(self, data: Columns) -> Parts:
        """Triples as facts, by relation."""
        found: Parts = {}
        rest: list[NDArray[np.int64]] = []
        for predicate, rows in _groups(data.p):
            word = data.words[predicate]
            for object_, some in _groups(data.o[rows]) if word == TYPE else [(0, slice(None))]:
                mine = rows[some]
                relation = self.relation_of(word, data.words[object_])
                if relation == OTHER:
                    rest.append(mine)
                elif word == TYPE:
                    found[relation] = _table(data, (data.s[mine],))
                else:
                    found[relation] = _table(data, (data.s[mine], data.o[mine]))
        if rest:
            found[OTHER] = data.where(np.concatenate(rest)).table()
        return found

    # Changing.

    def change(self, runs: Runs, options: dict[str, Any]) -> Done:
        axioms = self._axioms(runs, options.get("strict", self.options["strict"]))
        before = self.compiled
        data = [(op, columns.where(~_is_schema(columns))) for op, columns in runs]
        came = [columns for op, columns in data if op == "+"]
        words = {word for columns in came for word in columns.words}
        equal = self.equal.after(data, axioms, (*before.unary, *before.binary))
        told = Axioms(self.equal.told, equal.told)
        again = bool(axioms.come or axioms.gone or told.come or told.gone)
        again |= not before.equality and any(map(_has_equal, came))
        try:
            with self.database.transaction(**options) as tx:
                if again:
                    self._compile(tx, axioms, told, any(map(_has_equal, came)))
                with self.describing(tx, words, options):
                    for op, columns in data:
                        self._set(tx, op, columns)
        except BaseException:
            self._back(before, axioms, told)
            raise
        delta = self._delta(tx.delta, before, axioms)
        if options.get("dry_run"):
            self._back(before, axioms, told)
        else:
            self.axioms, self.equal = axioms.after, equal
        return Done(delta, tx.report, tx.seconds)

    def _axioms(self, runs: Runs, strict: bool) -> Axioms:
        found = Axioms(self.axioms, dict(self.axioms))
        for op, columns in runs:
            for triple in columns.where(_is_schema(columns)):
                if strict and (triple in found.after) == (op == "+"):
                    why = "the axiom is there already" if op == "+" else "there is no such axiom"
                    raise DataError(f"error: {why}: {op} {' '.join(triple)} .")
                if op == "+":
                    found.after[triple] = None
                else:
                    found.after.pop(triple, None)
        return found

    def _compile(self, tx: Transaction, axioms: Axioms, told: Axioms, equality: bool) -> None:
        """Rules that differ come and go."""
        before = self.compiled
        self.compiled = self.ontology.change(
            [*axioms.come, *told.come], [*axioms.gone, *told.gone], equality=equality
        )
        gone, come = self.compiled.since(before)
        for text in gone:
            tx.remove_rule(text)
        for text in come:
            tx.add_rule(text)

    def _back(self, before: Compiled, axioms: Axioms, told: Axioms) -> None:
        """Nothing has changed after all."""
        if self.compiled is not before:
            self.ontology.change(
                [*axioms.gone, *told.gone],
                [*axioms.come, *told.come],
                equality=before.equality,
            )
            self.compiled = before

    def _set(self, tx: Transaction, op: Op, data: Columns) -> None:
        for relation, table in self.routed(data).items():
            if op == "+":
                tx.insert(relation, table)
            else:
                tx.delete(relation, table)
        if op == "-" and (earlier := self._among_others(data)):
            tx.delete(OTHER, earlier)

    def _among_others(self, data: Columns) -> list[Triple]:
        """Explicit triples that came before their class or property was known."""
        engine = self.database._engine
        if not engine.explicit.count(engine.numbers[OTHER]):
            return []
        other = self.database.schema[OTHER]
        return [
            triple
            for triple in data
            if self.relation_of(triple[1], triple[2]) != OTHER and engine.is_explicit(other, triple)
        ]

    def _delta(self, delta: Delta, before: Compiled, axioms: Axioms) -> GraphDelta:
        def came() -> Columns:
            found = Gathered()
            found.add(axioms.come)
            others = dict.fromkeys(delta.added(OTHER))
            for relation in delta.counts:
                rows = delta.added(relation)
                triples = self._triples(relation, rows)
                if relation not in before.classes and relation not in before.properties:
                    # A class of before may have been among the others.
                    triples = [t for t in triples if t in others or not self._other(t)]
                found.add(triples)
            return found.columns()

        def went() -> Columns:
            found = Gathered()
            found.add(axioms.gone)
            for relation in delta.counts:
                found.add(self._triples(relation, delta.removed(relation)))
            found.add(self._left_others(delta, before))
            return found.columns()

        # Looked at now, while the database is as the transaction left it.
        columns = came(), went()
        return GraphDelta(lambda: columns[0], lambda: columns[1])

    def _left_others(self, delta: Delta, before: Compiled) -> list[Triple]:
        """Triples that were among the others, and are not in the relation that is theirs now."""
        if OTHER not in delta.counts:
            return []
        found: list[Triple] = []
        came: dict[str, set[Any]] = {}
        for s, p, o in delta.removed(OTHER):
            triple = str(s), str(p), str(o)
            relation = self.relation_of(triple[1], triple[2])
            if relation == OTHER or before.route(triple)[0] != OTHER:
                continue
            if relation not in came:
                rows = delta.added(relation) if relation in delta.counts else []
                came[relation] = set(rows)
            if self.compiled.route(triple)[1] not in came[relation]:
                found.append(triple)
        return found

    def _other(self, triple: Triple) -> bool:
        return self.relation_of(triple[1], triple[2]) != OTHER and triple in self.database[OTHER]

    def _triples(self, relation: str, rows: Iterable[Any]) -> list[Triple]:
        """The triples of facts; those of others only if no relation has them as well."""
        back = self.compiled.back
        found = [triple for row in rows if (triple := back(relation, row)) is not None]
        if relation == OTHER:
            return [t for t in found if self.relation_of(t[1], t[2]) == OTHER]
        return found

    # Reading.

    def columns(self) -> Columns:
        return self._gathered(lambda relation: self.database._frame(relation))

    def explicit(self) -> Columns:
        engine = self.database._engine

        def table(relation: str) -> Table:
            return engine.table(relation, engine.explicit.rows(engine.numbers[relation]))

        return self._gathered(table, explicit=True)

    @property
    def empty(self) -> bool:
        explicit, numbers = self.database._engine.explicit, self.database._engine.numbers
        names = (*self.compiled.classes, *self.compiled.properties, OTHER)
        held = any(explicit.count(numbers[name]) for name in names if name in numbers)
        return not held and not self.axioms

    def _gathered(self, table: Any, explicit: bool = False) -> Columns:
        """All relations' facts as triples, with the ontology's own."""
        ids: dict[str, int] = {}
        pieces = [_coded(ids, Columns.of(self.axioms))]
        compiled, schema = self.compiled, self.database.schema
        for relation, term in (*compiled.classes.items(), *compiled.properties.items()):
            if relation in schema:
                found = table(relation)
                columns = [_codes(ids, column) for column in found.columns]
                fixed = np.full(found.size, ids.setdefault(TYPE, len(ids)), dtype=np.int64)
                of = np.full(found.size, ids.setdefault(term, len(ids)), dtype=np.int64)
                if len(columns) == 1:
                    pieces.append(np.column_stack([columns[0], fixed, of]))
                else:
                    pieces.append(np.column_stack([columns[0], of, columns[1]]))
        others = Columns.of_table(table(OTHER))
        if not explicit:
            others = others.where(self._only_other(others))
        pieces.append(_coded(ids, others))
        rows = np.concatenate(pieces)
        s, p, o = (np.ascontiguousarray(rows[:, c]) for c in range(3))
        return Columns(s, p, o, list(ids))

    def _only_other(self, others: Columns) -> NDArray[np.bool_]:
        found = [self.relation_of(p, o) == OTHER for _, p, o in others]
        return np.array(found, dtype=np.bool_)

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
                filled(pattern, row) for row in self.database.query(f"{relation}({_asked(places)})")
            ]
        return found


def _asked(places: Iterable[str | None]) -> str:
    named = zip("abc", places, strict=False)
    return ", ".join(name if t is None else value_text(t, "symbol") for name, t in named)


def _matches(triple: Triple, pattern: Pattern) -> bool:
    return all(wanted in (None, term) for wanted, term in zip(pattern, triple, strict=True))


def _is_schema(columns: Columns) -> NDArray[np.bool_]:
    """Which triples belong to the ontology?"""
    if not len(columns):
        return np.zeros(0, dtype=np.bool_)
    axiom = np.array([word in PREDICATES for word in columns.words], dtype=np.bool_)
    kind = np.array([word in CLASSES for word in columns.words], dtype=np.bool_)
    type_ = np.array([word == TYPE for word in columns.words], dtype=np.bool_)
    found: NDArray[np.bool_] = axiom[columns.p] | (type_[columns.p] & kind[columns.o])
    return found


def _has_equal(data: Columns) -> bool:
    return len(data) > 0 and SAME in data.words


def _equal(data: Columns) -> list[Triple]:
    """What says that terms are the same."""
    if not _has_equal(data):
        return []
    return list(data.where(data.p == data.words.index(SAME)))


def _groups(codes: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Each code with the rows that have it."""
    order = np.argsort(codes, kind="stable")
    found, starts = np.unique(codes[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, starts[1:]), strict=False)


def _table(data: Columns, columns: Sequence[NDArray[np.int64]]) -> Table:
    parts = tuple(map(data.symbols, columns))
    return Table(KINDS[: len(parts)], parts, len(columns[0]))


def _codes(ids: dict[str, int], column: Any) -> NDArray[np.int64]:
    """A column's values as codes of a common list of words."""
    ours = np.array([ids.setdefault(word, len(ids)) for word in column.words], dtype=np.int64)
    return ours[column.codes] if len(ours) else np.zeros(0, dtype=np.int64)


def _coded(ids: dict[str, int], columns: Columns) -> NDArray[np.int64]:
    parts = (SymbolColumn(codes, columns.words) for codes in (columns.s, columns.p, columns.o))
    return np.column_stack([_codes(ids, part) for part in parts])
