"""A change of a pivot stratum: the slices that it reaches, and changes written into blobs."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest

from tests.spark.strategies.programs import Rows, checked, local
from tidelog.formats import spark_columns
from tidelog.program.rules import CheckedProgram
from tidelog.spark.strategies import Inputs, RelationBlobs, StrategyOptions, choose, materialise
from tidelog.spark.strategies.blob_changes import patched
from tidelog.spark.strategies.rederive import Renewed, renewed
from tidelog.spark.strategies.slices import Overlay, affected

Facts = dict[str, set[tuple[Any, ...]]]

LINEAR = """
.decl edge(x: number, y: number) .decl shut(x: number) .decl path(x: number, y: number)
path(x, y) :- edge(x, y), !shut(x).
path(x, z) :- path(x, y), edge(y, z), !shut(z).
"""
SQUARE = """
.decl edge(x: symbol, y: symbol) .decl path(x: symbol, y: symbol)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), path(y, z).
"""


class Stored:
    """A pivot stratum that is the last of its program, on Spark."""

    def __init__(self, spark: Any, text: str, facts: Facts) -> None:
        self.spark, self.text, self.program = spark, text, checked(text)
        self.stratum = self.program.strata[-1]
        self.strategy = choose(self.stratum, self.program.relations)
        assert self.strategy.name == "pivot"
        tables = {name: self.arrow(name, facts.get(name, ())) for name in self.program.relations}
        self.state = materialise(self.strategy, self.inputs(tables))

    def inputs(self, tables: dict[str, Any]) -> Inputs:
        def read(name: str) -> Any:
            pytest.fail(f"{name} was read")

        names = self.program.relations
        return Inputs(self.spark, self.stratum, names, read, StrategyOptions(tables=tables))

    def arrow(self, name: str, rows: Rows) -> Any:
        return spark_columns.as_arrow(self.program.relations[name], rows)

    def renewed(self, deltas: Facts, facts: Facts) -> Renewed | None:
        names = self.program.relations
        return renewed(
            self.strategy,
            self.inputs({name: self.arrow(name, facts.get(name, ())) for name in names}),
            {name: self.arrow(name, rows) for name, rows in deltas.items()},
            self.state,
        )

    def affected(self, deltas: Facts, **more: Any) -> Facts | None:
        tables = {name: self.arrow(name, rows) for name, rows in deltas.items()}
        found = affected(
            self.strategy,
            self.spark,
            self.stratum,
            self.program.relations,
            tables,
            self.state,
            **more,
        )
        if found is None:
            return None
        return {
            name: set(spark_columns.rows_of(self.program.relations[name], t))
            for name, t in found.items()
        }


def check_slices(before: set[Any], after: set[Any], found: set[Any]) -> None:
    """Slices are whole and as they were, and all that change are there."""
    pivots = {x for x, _ in found}
    assert found == {fact for fact in before if fact[0] in pivots}
    known = {x for x, _ in before}
    assert {x for x, _ in before ^ after} & known <= pivots


def changed(rows: set[Any], random: Random, fresh: set[Any]) -> tuple[set[Any], set[Any]]:
    removed = set(random.sample(sorted(rows), 2))
    return (rows - removed) | fresh, removed | (fresh - rows)


@pytest.mark.parametrize("seed", range(3))
def test_slices_of_a_change(spark: Any, seed: int) -> None:
    random = Random(seed)
    edges = {(random.randrange(60), random.randrange(60)) for _ in range(70)}
    facts: Facts = {"edge": edges, "shut": {(3,), (4,)}, "path": {(1, 2), (70, 71)}}
    stored = Stored(spark, LINEAR, facts)
    later, delta = changed(edges, random, {(5, 6)})
    before = local(LINEAR, facts)["path"]
    after = local(LINEAR, {**facts, "edge": later, "shut": {(3,)}, "path": {(1, 2)}})["path"]
    deltas = {"edge": delta, "shut": {(4,)}, "path": {(70, 71)}}
    assert stored.affected(deltas) is None  # between the path and what is shut there is an edge
    found = stored.affected(deltas, lower={"edge": stored.arrow("edge", edges | later)})
    assert found is not None
    check_slices(before, after, found["path"])
    assert len(found["path"]) < len(before)


def test_slices_of_a_square_closure(spark: Any) -> None:
    random = Random(5)
    edges = {(f"n{random.randrange(60)}", f"n{random.randrange(60)}") for _ in range(60)}
    stored = Stored(spark, SQUARE, {"edge": edges})
    later, delta = changed(edges, random, {("n1", "new")})
    before, after = (local(SQUARE, {"edge": some})["path"] for some in (edges, later))
    found = stored.affected({"edge": delta})
    assert found is not None
    check_slices(before, after, found["path"])
    assert stored.affected({"path": {("n1", "n2")}}) is None


def test_nothing_and_too_much(spark: Any) -> None:
    edges = {(i, i + 1) for i in range(20)}
    stored = Stored(spark, LINEAR, {"edge": edges})
    assert stored.affected({"edge": set()}) == {"path": set()}
    assert stored.affected({"edge": {(19, 5)}}, most=100) is None
    assert len((stored.affected({"edge": {(19, 5)}}, most=300) or {})["path"]) == 210


def rows(program: CheckedProgram, made: RelationBlobs) -> set[Any]:
    found = spark_columns.rows_of(made.relation, made.frame.toArrow())
    assert len(found) == made.count == len(set(found))
    return set(found)


def test_changes_are_laid_over_and_written(spark: Any) -> None:
    edges = {(i, i + 1) for i in range(12)}
    stored = Stored(spark, LINEAR, {"edge": edges})
    before = local(LINEAR, {"edge": edges})["path"]
    later = (edges - {(5, 6)}) | {(40, 2)}
    after = local(LINEAR, {"edge": later})["path"]
    overlay = Overlay(stored.arrow("path", before - after), stored.arrow("path", after - before))
    found = stored.affected({"edge": {(3, 4)}}, overlays={"path": overlay})
    assert found is not None
    check_slices(after, local(LINEAR, {"edge": later - {(3, 4)}})["path"], found["path"])

    arguments = (stored.strategy, spark, stored.stratum, stored.program.relations)
    made = patched(*arguments, stored.state, {"path": overlay})
    assert rows(stored.program, made["path"]) == after
    back = patched(*arguments, made, {"path": Overlay(overlay.added, overlay.removed)})
    assert rows(stored.program, back["path"]) == before


MUTUAL = """
.decl edge(x: symbol, y: symbol) .decl shut(x: symbol)
.decl odd(x: symbol, y: symbol) .decl even(y: symbol, x: symbol)
odd(x, y) :- edge(x, y), !shut(x).
even(z, x) :- odd(x, y), edge(y, z).
odd(x, z) :- even(y, x), edge(y, z), x != z.
"""


def history(random: Random, kind: type) -> list[tuple[Facts, Facts]]:
    """States of the facts, each with what came and went since the one before."""

    def some(count: int, width: int) -> set[Any]:
        return {tuple(kind(random.randrange(40)) for _ in range(width)) for _ in range(count)}

    states: list[tuple[Facts, Facts]] = []
    facts: Facts = {"edge": some(45, 2), "shut": some(3, 1), "path": set()}
    for _ in range(3):
        states.append((facts, {}))
        deltas = {name: some(2, 1 if name == "shut" else 2) for name in facts}
        deltas["edge"] |= set(random.sample(sorted(facts["edge"]), 2))
        facts = {name: rows ^ deltas[name] for name, rows in facts.items()}
        states[-1] = (states[-1][0], deltas)
    return [*states, (facts, {})]


@pytest.mark.parametrize(
    ("text", "kind"),
    [(LINEAR, int), (SQUARE, str), (MUTUAL, str)],
    ids=["linear", "square", "mutual"],
)
def test_slices_are_derived_anew(spark: Any, text: str, kind: type) -> None:
    def own(facts: Facts) -> Facts:
        return {name: rows for name, rows in facts.items() if f"{name}(" in text}

    past = [(own(facts), own(deltas)) for facts, deltas in history(Random(3), kind)]
    stored = Stored(spark, text, past[0][0])
    for (facts, deltas), (later, _) in pairwise(past):
        before, after = local(text, facts), local(text, later)
        found = stored.renewed(deltas, later)
        assert found is not None
        for name in stored.stratum.relations:
            relation = stored.program.relations[name]
            assert rows(stored.program, found.state[name]) == after[name]
            assert (
                set(spark_columns.rows_of(relation, found.added[name]))
                == after[name] - before[name]
            )
            assert (
                set(spark_columns.rows_of(relation, found.removed[name]))
                == before[name] - after[name]
            )
        stored.state = found.state
