"""The compiled way: the ontology is rules, and a triple is a fact of its class or property.

Triples that describe classes and properties are the ontology; all others are data. A change of the
ontology compiles it again, and the rules that differ come and go in the same transaction as the
data. Triples of classes and properties that no axiom mentions are in the relation `other`, from
where they move once an axiom does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.api import Database
from tidelog.deltas import Delta
from tidelog.program.changes import Op
from tidelog.program.diagnostics import DataError
from tidelog.program.table import Table
from tidelog.rdf.changing import GraphDelta
from tidelog.rdf.columns import Columns, Gathered, coded, codes_in, groups
from tidelog.rdf.compiled import OTHER, Compiled, Ontology
from tidelog.rdf.equal import Equal, Net, Values
from tidelog.rdf.literals import Facts, facts_about
from tidelog.rdf.terms import Triple
from tidelog.rdf.vocabulary import CLASSES, PREDICATES, SAME, TYPE
from tidelog.rdf.ways import Done, Pattern, Runs, Way, accepted, filled
from tidelog.text.write import value_text
from tidelog.transactions import Transaction

Parts = dict[str, Table]  # rows by relation
_STATE = ("ontology", "axioms", "equal", "values", "compiled")  # that opening a database makes anew


@dataclass(frozen=True, slots=True)
class _Step:
    """What a transaction changes of the ontology."""

    axioms: Net
    equal: Net  # explicit triples that say which terms are the same
    told: Net  # those of them that the ontology knows
    before: tuple[dict[Triple, None], frozenset[str]]


class CompiledWay(Way):
    """Rules over one relation for each class and property."""

    ontology: Ontology
    axioms: dict[Triple, None]
    equal: Equal
    values: Values
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
        mine = is_schema_in(triples)
        self.ontology = Ontology(self.profile)
        self.axioms = dict.fromkeys(triples.where(mine))
        data = triples.where(~mine)
        self.equal, self.values = Equal(self._same(data), self.axioms), Values()
        new = self.new_literals(triples.words)
        facts = facts_about(new)
        self.compiled = self.ontology.change(
            [*self.axioms, *self.equal.told], equality=self._may_equal([data], new, facts)
        )
        self.described.update(new)
        rules = accepted(self.compiled.program, self.profile)
        tables = self._tables(data, facts, rules.checked.relations)
        return Database.of(rules, tables, **self.options)

    def _tables(self, data: Columns, facts: Facts, relations: Any) -> Iterator[tuple[str, Table]]:
        yield from self.routed(data).items()
        for name, rows in facts.items():
            yield name, Table.from_rows(relations[name].kinds, rows)

    def _same(self, data: Columns) -> list[Triple]:
        """What says that terms are the same, which means nothing in RDFS."""
        if self.profile != "owl2rl" or SAME not in data.words:
            return []
        return list(data.where(data.p == data.words.index(SAME)))

    def _may_equal(self, data: Iterable[Columns], new: list[str], facts: Facts) -> bool:
        """Could data make terms equal, by saying so or by literals of one value?"""
        if self.profile != "owl2rl":
            return False
        met = self.values.meet(new, facts, self.described)
        return met or any(SAME in columns.words for columns in data)

    def relation_of(self, predicate: str, object_: str) -> str:
        """Where triples with this predicate and, for a type, this object are."""
        if predicate == TYPE:
            return self.compiled.unary.get(object_, OTHER)
        return self.compiled.binary.get(predicate, OTHER)

    def routed(self, data: Columns) -> Parts:
        """Triples as facts, by relation."""
        found: Parts = {}
        rest: list[NDArray[np.int64]] = []
        for predicate, rows in groups(data.p):
            word = data.words[predicate]
            for object_, some in groups(data.o[rows]) if word == TYPE else [(0, slice(None))]:
                mine = rows[some]
                relation = self.relation_of(word, data.words[object_])
                if relation == OTHER:
                    rest.append(mine)
                elif word == TYPE:
                    found[relation] = data.table_of(data.s[mine])
                else:
                    found[relation] = data.table_of(data.s[mine], data.o[mine])
        if rest:
            found[OTHER] = data.where(np.concatenate(rest)).table()
        return found

    # Changing.

    def change(self, runs: Runs, options: dict[str, Any]) -> Done:
        axioms = self._axioms(runs, options.get("strict", self.options["strict"]))
        data = [(op, columns.where(~is_schema_in(columns))) for op, columns in runs]
        came = [columns for op, columns in data if op == "+"]
        new = self.new_literals(dict.fromkeys(word for columns in came for word in columns.words))
        facts = facts_about(new)
        before = self.compiled
        step = self._begun(axioms, data)
        again = bool(axioms or step.told)
        equality = self._may_equal(came, new, facts) and not before.equality
        try:
            with self.database.transaction(**options) as tx:
                if again or equality:
                    self._compile(tx, step, equality)
                with self.describing(tx, new, facts, options):
                    for op, columns in data:
                        self._set(tx, op, columns)
        except BaseException:
            self._back(before, step)
            raise
        delta = self._delta(tx.delta, before, axioms)
        if options.get("dry_run"):
            self._back(before, step)
        return Done(delta, tx.report, tx.seconds)

    def _axioms(self, runs: Runs, strict: bool) -> Net:
        changes = [
            (op, triple) for op, columns in runs for triple in columns.where(is_schema_in(columns))
        ]
        if strict:
            _check_strict(self.axioms, changes)
        return Net.of(self.axioms, changes)

    def _begun(self, axioms: Net, data: Runs) -> _Step:
        """Note what changes of the ontology; `_back` undoes it."""
        equal = Net.of(self.equal, ((op, t) for op, columns in data for t in self._same(columns)))
        before = self.equal.told, self.equal.concerned
        axioms.apply(self.axioms)
        self.equal.change(equal)
        if not axioms and not self.equal.reaches(equal):
            return _Step(axioms, equal, Net(), before)
        now, self.equal.concerned = self.equal.reached(self.axioms)
        self.equal.told = now
        told = Net([t for t in now if t not in before[0]], [t for t in before[0] if t not in now])
        return _Step(axioms, equal, told, before)

    def _compile(self, tx: Transaction, step: _Step, equality: bool) -> None:
        """Rules that differ come and go, and triples move to the relations that are theirs now."""
        before = self.compiled
        axioms, told = step.axioms, step.told
        self.compiled = self.ontology.change(
            [*axioms.come, *told.come], [*axioms.gone, *told.gone], equality=equality
        )
        gone, come = self.compiled.since(before)
        for text in gone:
            tx.remove_rule(text)
        for text in come:
            tx.add_rule(text)
        moved = self._among_others(before)
        if len(moved):
            tx.delete(OTHER, moved.table())
            self._set(tx, "+", moved)

    def _back(self, before: Compiled, step: _Step) -> None:
        """Nothing has changed after all."""
        axioms, told = step.axioms, step.told
        if self.compiled is not before:
            self.ontology.change(
                [*axioms.gone, *told.gone],
                [*axioms.come, *told.come],
                equality=before.equality,
            )
            self.compiled = before
        axioms.back.apply(self.axioms)
        self.equal.change(step.equal.back)
        self.equal.told, self.equal.concerned = step.before

    def _set(self, tx: Transaction, op: Op, data: Columns) -> None:
        for relation, table in self.routed(data).items():
            if op == "+":
                tx.insert(relation, table)
            else:
                tx.delete(relation, table)

    def _among_others(self, before: Compiled) -> Columns:
        """Explicit triples that came before their class or property was known."""
        engine = self.database._engine
        r = engine.numbers[OTHER]
        rows = engine.explicit.rows(r)
        data = engine.store.rows(r)[rows]

        def has(column: int, terms: Iterable[str]) -> NDArray[np.bool_]:
            known = [engine.dictionary.known("symbol", term) for term in terms]
            return np.isin(data[:, column], np.array(known, dtype=np.int64))

        now = self.compiled
        mine = has(1, now.binary.keys() - before.binary.keys())
        mine |= has(1, [TYPE]) & has(2, now.unary.keys() - before.unary.keys())
        return Columns.of_table(engine.table(OTHER, rows[mine]))

    def _delta(self, delta: Delta, before: Compiled, axioms: Net) -> GraphDelta:
        now, others = self.compiled, self.database[OTHER]
        new = now.classes.keys() - before.classes.keys()
        new |= now.properties.keys() - before.properties.keys()
        joined, left = set(delta.added(OTHER)), set(delta.removed(OTHER))

        def was_other(triple: Triple) -> bool:
            return triple in left or (triple in others and triple not in joined)

        def came() -> Columns:
            found = Gathered()
            found.add(axioms.come)
            for relation in delta.counts:
                triples = self._triples(relation, delta.added(relation))
                found.add([t for t in triples if not was_other(t)] if relation in new else triples)
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

        return self._gathered(table)

    @property
    def empty(self) -> bool:
        explicit, numbers = self.database._engine.explicit, self.database._engine.numbers
        names = (*self.compiled.classes, *self.compiled.properties, OTHER)
        held = any(explicit.count(numbers[name]) for name in names if name in numbers)
        return not held and not self.axioms

    def _gathered(self, table: Any) -> Columns:
        """All relations' facts as triples, with the ontology's own."""
        ids: dict[str, int] = {}
        pieces = [coded(ids, Columns.of(self.axioms))]
        compiled, schema = self.compiled, self.database.schema
        for relation, term in (*compiled.classes.items(), *compiled.properties.items()):
            if relation in schema:
                found = table(relation)
                columns = [codes_in(ids, column) for column in found.columns]
                fixed = np.full(found.size, ids.setdefault(TYPE, len(ids)), dtype=np.int64)
                of = np.full(found.size, ids.setdefault(term, len(ids)), dtype=np.int64)
                if len(columns) == 1:
                    pieces.append(np.column_stack([columns[0], fixed, of]))
                else:
                    pieces.append(np.column_stack([columns[0], of, columns[1]]))
        others = Columns.of_table(table(OTHER))
        pieces.append(coded(ids, others.where(self._only_other(others))))
        rows = np.concatenate(pieces)
        s, p, o = (np.ascontiguousarray(rows[:, c]) for c in range(3))
        return Columns(s, p, o, list(ids))

    def _only_other(self, others: Columns) -> NDArray[np.bool_]:
        """Equal classes and properties have some of their triples there, too."""
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
                filled(pattern, row) for row in self.database.query(f"{relation}({_asked(places)})")
            ]
        return found


def _asked(places: Iterable[str | None]) -> str:
    named = zip("abc", places, strict=False)
    return ", ".join(name if t is None else value_text(t, "symbol") for name, t in named)


def _matches(triple: Triple, pattern: Pattern) -> bool:
    return all(wanted in (None, term) for wanted, term in zip(pattern, triple, strict=True))


def is_schema_in(columns: Columns) -> NDArray[np.bool_]:
    """Which triples belong to the ontology?"""
    if not len(columns):
        return np.zeros(0, dtype=np.bool_)
    axiom = np.array([word in PREDICATES for word in columns.words], dtype=np.bool_)
    kind = np.array([word in CLASSES for word in columns.words], dtype=np.bool_)
    type_ = np.array([word == TYPE for word in columns.words], dtype=np.bool_)
    found: NDArray[np.bool_] = axiom[columns.p] | (type_[columns.p] & kind[columns.o])
    return found


def _check_strict(axioms: Mapping[Triple, None], changes: Iterable[tuple[Op, Triple]]) -> None:
    """Refuse changes that do nothing."""
    there: dict[Triple, bool] = {}
    for op, triple in changes:
        if there.get(triple, triple in axioms) == (op == "+"):
            why = "the axiom is there already" if op == "+" else "there is no such axiom"
            raise DataError(f"error: {why}: {op} {' '.join(triple)} .")
        there[triple] = op == "+"
