"""`tidelog plan`: how a program would be evaluated."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidelog.cli import arguments, goal_queries
from tidelog.cli.functor_files import functors_of
from tidelog.cli.open_database import facts_of, files_of
from tidelog.cli.standard_streams import out, stdin
from tidelog.formats.atomic_files import Staged, check_target
from tidelog.plan.accept import Accepted, accept, read_program
from tidelog.plan.closures import paired
from tidelog.program.diagnostics import plural
from tidelog.program.rules import CheckedProgram, Rule, Stratum

if TYPE_CHECKING:
    from tidelog.session.database import Database

DESCRIPTION = """\
Show how a program would be evaluated: its strata in order, their rules, and the order in which
each rule joins its atoms. With -F, facts are loaded and evaluated first, and orders are for the
sizes found; without, sizes are unknown, and atoms with more bound columns go first.
In a join order, `each r` reads all of r, `r[2]` looks r up by its second column, and `has r`
looks for one fact. A module is a set of recursive rules that close a relation.
With --goal, shows the rules that answer a query: `path^bf` are facts of path for a bound first
column, and `need:path^bf` the values of that column that the query needs.
With --engine spark, shows where Spark would evaluate each stratum, and why."""
EXAMPLE = """\
example:
  $ cat reach.dl
  path(x, y) :- edge(x, y).
  path(x, z) :- path(x, y), edge(y, z).
  edge(1, 2). edge(2, 3).
  .output path
  $ tidelog plan reach.dl
  stratum 1, given: edge
  stratum 2, recursive: path
    module: left-linear path over edge   (path(x, z) :- path(x, y), edge(y, z).)
      path(x, y) :- edge(x, y).
          join order: each edge
      path(x, z) :- path(x, y), edge(y, z).
          join order: each path, edge[1]
  $ tidelog plan reach.dl -F . --svg reach.svg"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_program(parser)
    arguments.add_facts(parser, None)
    parser.add_argument("--svg", metavar="FILE", help="write the plan as an SVG picture")
    parser.add_argument("--dot", metavar="FILE", help="write the plan as a Graphviz graph")
    goal_queries.add_goal(parser, "show the rules that would answer a query, as `run --goal` does")
    arguments.add_reading(parser)
    arguments.add_functors(parser)
    arguments.add_limits(parser)
    arguments.add_engine(parser)


def main(options: argparse.Namespace) -> int:
    arguments.settle_engine(options)
    parsed = read_program(options.program, stdin(), **arguments.reading(options))
    accepted = accept(parsed, unfold=True)
    if options.goal:
        accepted = _of_goals(accepted, options)
    from tidelog.report.picture import plan_dot, plan_svg

    pictures = [
        (path, draw)
        for path, draw in ((options.svg, plan_svg), (options.dot, plan_dot))
        if path is not None
    ]
    for path, _ in pictures:
        check_target(path)
    found = (
        _on_spark(accepted, options) if options.engine == "spark" else _orders(accepted, options)
    )
    # Pictures first: a pipe may close before all lines are printed.
    with Staged() as staged:
        for path, draw in pictures:
            staged.write(os.fspath(path), [draw(accepted.checked).encode()], compress=False)
        staged.commit()
    for line in lines(accepted.checked, found):
        out(goal_queries.readable(line) if options.goal else line)
    return 0


def _of_goals(accepted: Accepted, options: argparse.Namespace) -> Accepted:
    """The program that answers the queries."""
    files = files_of(accepted, options, options.facts or ".")
    found, _ = goal_queries.narrowed(accepted, files, goal_queries.questions(accepted, options))
    read = tuple(d for d in accepted.checked.directives if d.relation in found.checked.relations)
    checked = replace(goal_queries.spelled(found.checked), directives=read)
    return replace(found, checked=checked)


@dataclass(frozen=True, slots=True)
class PlanDetails:
    """Sizes of relations if facts are loaded, the join order of each rule, and on Spark the
    placement of each stratum."""

    size: Callable[[str], int] | None
    order: Callable[[Rule], str] | None = None
    place: Callable[[Stratum], str] | None = None


def _orders(accepted: Accepted, options: argparse.Namespace) -> PlanDetails:
    from tidelog.session.backends import EngineChoice

    if options.facts is None:
        store = EngineChoice().open(accepted, "auto", modules=True).store
        for relation in accepted.checked.relations.values():
            store.declare(relation)
        orders = store.join_orders
        return PlanDetails(None, None if orders is None else orders.join_order)
    database = _evaluated(accepted, options)
    return PlanDetails(database.size, database.join_order)


def _on_spark(accepted: Accepted, options: argparse.Namespace) -> PlanDetails:
    """Placements; without facts, Spark is not started."""
    from tidelog.spark.preview import options_of, placement_of, planned

    if options.facts is not None:
        database = _evaluated(accepted, options)
        places = database.core.backend.places
        assert places is not None
        return PlanDetails(database.size, place=lambda stratum: placement_of(places, stratum))
    asked = options_of(options.strategy, options.driver_facts)
    relations = accepted.checked.relations
    return PlanDetails(None, place=lambda stratum: planned(stratum, relations, asked))


def _evaluated(accepted: Accepted, options: argparse.Namespace) -> Database:
    from tidelog.session.database import Database

    files = files_of(accepted, options, options.facts)
    place = arguments.place(options)
    with arguments.traits(options).progress() as progress:
        return Database.of(
            accepted,
            facts_of(accepted, files, options.max_facts),
            limits=arguments.limits(options),
            progress=progress if progress.on else None,
            place=place,
            functors=functors_of(accepted, options),
        )


def lines(checked: CheckedProgram, found: PlanDetails) -> Iterator[str]:
    """The plan as text: strata in order with their modules, rules, join orders or placements, and
    relations closed by declarations."""
    if not checked.strata:
        yield "the program has no relations"
        return
    for number, stratum in enumerate(checked.strata, 1):
        yield from _stratum(number, stratum, found)
    for relation in checked.relations.values():
        if "eqrel" in relation.qualifiers:
            yield f"closure: {relation.name} is an equivalence (eqrel)"
        elif "transitive" in relation.qualifiers:
            yield f"closure: {relation.name} is transitive"


def _stratum(number: int, stratum: Stratum, found: PlanDetails) -> Iterator[str]:
    names = []
    for name in stratum.relations:
        if name.startswith("%") and "^" in name:
            names.append(name)
        elif name.startswith("%"):
            names.append(f"{name} (a part of rules)")
        elif found.size is None:
            names.append(name)
        else:
            facts = found.size(name)
            names.append(f"{name} ({plural(facts, 'fact')})")
    kind = ", recursive" if stratum.recursive else "" if stratum.rules else ", given"
    yield f"stratum {number}{kind}: {', '.join(names)}"
    for closure in paired(stratum).own:
        texts = dict.fromkeys(rule.text for rule in closure.rules)
        yield f"  module: {closure}   ({' '.join(texts)})"
    for each in stratum.pruned:
        for rule in each.rules:
            yield f"  left out: {rule.text}"
        for columns in each.choices:
            shown = ", ".join(str(c + 1) for c in columns)
            yield f"  left out: facts of {each.relation} with the same values in columns {shown}"
    if found.place is not None and stratum.rules:
        yield f"  on Spark: {found.place(stratum)}"
    for rule in stratum.rules:
        yield f"    {rule.text}"
        if found.order is not None:
            yield f"        join order: {found.order(rule)}"
