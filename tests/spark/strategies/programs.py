"""Materialise programs stratum by stratum through strategies, and locally, to compare them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog import Database
from tidelog.formats import spark_columns
from tidelog.plan import analyse
from tidelog.program.rules import CheckedProgram, Stratum
from tidelog.program.table import Table
from tidelog.spark.strategies import Inputs, RelationBlobs, StrategyOptions, choose, materialise
from tidelog.text import parse

Rows = Iterable[tuple[Any, ...]]


def checked(text: str) -> CheckedProgram:
    found = analyse(parse(text).program, states=False)
    assert found.checked is not None, found.diagnostics
    return found.checked


def together(program: CheckedProgram) -> Stratum:
    """All rules as one stratum, which is right where none needs another's relation complete."""
    heads = {rule.head.relation for rule in program.rules}
    reads = [(rule, {name for name, _ in rule.reads()} & heads) for rule in program.rules]
    return Stratum(
        tuple(sorted(heads)),
        tuple(rule for rule, found in reads if not found),
        tuple(rule for rule, found in reads if found),
    )


def run(
    spark: Any,
    text: str,
    facts: Mapping[str, Rows],
    forced: str | None = None,
    options: StrategyOptions | None = None,
    strata: Iterable[Stratum] | None = None,
) -> tuple[dict[str, set[tuple[Any, ...]]], list[str]]:
    """Facts of all derived relations, and the strategies that were taken. Strata before the first
    recursive one are computed locally."""
    program = checked(text)
    known: dict[str, Any] = {}
    for name, relation in program.relations.items():
        rows = [*program.facts.get(name, ()), *facts.get(name, ())]
        rows = [tuple(v + 0.0 if isinstance(v, float) else v for v in row) for row in rows]
        table = spark_columns.to_arrow(
            relation, Table.from_rows(relation.kinds, dict.fromkeys(rows))
        )
        known[name] = spark_columns.to_frame(spark, relation, table)
    taken, found = [], {}
    for stratum in program.strata if strata is None else strata:
        if not stratum.rules:
            continue
        name = forced if stratum.recursive else "shuffle"
        strategy = choose(stratum, program.relations, name)
        taken.append(strategy.name)
        made = materialise(
            strategy,
            Inputs(
                spark, stratum, program.relations, known.__getitem__, options or StrategyOptions()
            ),
        )
        for name, one in made.items():
            known[name] = one.frame
            found[name] = rows_of(program, name, one)
    return found, taken


def rows_of(program: CheckedProgram, name: str, made: RelationBlobs) -> set[tuple[Any, ...]]:
    relation = program.relations[name]
    rows = spark_columns.from_arrow(relation, made.frame.toArrow()).rows()
    assert made.count == len(rows)
    assert len(set(rows)) == len(rows)
    return set(rows)


def local(text: str, facts: Mapping[str, Rows]) -> dict[str, set[tuple[Any, ...]]]:
    db = Database(text, facts={name: list(rows) for name, rows in facts.items()})
    return {name: set(db.relation(name)) for name in db.relations}


def same(
    spark: Any, text: str, facts: Mapping[str, Rows], forced: str | None = None, **more: Any
) -> list[str]:
    """Assert that both ways give the same facts; returns the strategies."""
    found, taken = run(spark, text, facts, forced, **more)
    expected = local(text, facts)
    for name, rows in found.items():
        if name in expected:
            assert rows == expected[name], name
    return taken
