"""`tidelog plan`: how a program would be evaluated."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidelog.accept import Accepted, accept, read_program
from tidelog.cli import arguments, goals
from tidelog.cli.files import decide
from tidelog.cli.functors import add_functors, functors_of
from tidelog.cli.opening import facts_of, progress_of
from tidelog.cli.terminal import out, stdin
from tidelog.io.atomic import Staged, check_target
from tidelog.plan.closures import paired
from tidelog.program.rules import CheckedProgram, Rule, Stratum

if TYPE_CHECKING:
    from tidelog.api import Database

DESCRIPTION = """\
Show the order in which relations are evaluated, their rules, and the order in which each
rule joins its atoms. With -F, facts are loaded and evaluated first and orders are those for
the sizes found; without, sizes are unknown, and atoms with more bound columns go first.
In a join order, `each r` reads all of r, `r[2]` looks r up by its second column, and
`has r` looks for one fact. A module is made of recursive rules that close a relation.
With --goal it shows the rules that answer a question: `path^bf` are facts of path for a bound
first column, and `need:path^bf` the values of that column that are asked for.
With --engine spark it tells where Spark would do the work of each stratum, and why."""
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
    parser.add_argument("--svg", metavar="FILE", help="write a picture that browsers show")
    parser.add_argument("--dot", metavar="FILE", help="write a picture in Graphviz's notation")
    goals.add_goal(parser, "show the rules that would answer a question, as `run --goal` does")
    arguments.add_reading(parser)
    add_functors(parser)
    arguments.add_limits(parser)
    arguments.add_engine(parser)


def main(options: argparse.Namespace) -> int:
    arguments.settle_engine(options)
    goals.settle_goal(options)
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
    for line in lines(accepted.checked, found):
        out(goals.readable(line) if options.goal else line)
    with Staged() as staged:
        for path, draw in pictures:
            staged.write(os.fspath(path), [draw(accepted.checked).encode()], compress=False)
        staged.commit()
    return 0


def _of_goals(accepted: Accepted, options: argparse.Namespace) -> Accepted:
    """The program that answers the questions."""
    files = decide(
        accepted,
        options.facts or ".",
        "-",
        program=options.program,
        allow_paths=options.allow_paths,
        spark=options.engine == "spark",
    )
    found, _ = goals.narrowed(accepted, files, goals.questions(accepted, options))
    read = tuple(d for d in accepted.checked.directives if d.relation in found.checked.relations)
    checked = replace(goals.spelled(found.checked), directives=read)
    return replace(found, checked=checked)


@dataclass(frozen=True, slots=True)
class Found:
    """Sizes of relations, if facts were given, the join order of each rule, and on Spark the place
    of each stratum."""

    size: Callable[[str], int] | None
    order: Callable[[Rule], str] | None = None
    place: Callable[[Stratum], str] | None = None


def _orders(accepted: Accepted, options: argparse.Namespace) -> Found:
    from tidelog.engines.local.engine import LocalEngine

    if options.facts is None:
        engine = LocalEngine()
        for relation in accepted.checked.relations.values():
            engine.declare(relation)
        return Found(None, lambda rule: engine.plan_of(rule).text)
    database = _evaluated(accepted, options)
    return Found(database.size, database.join_order)


def _on_spark(accepted: Accepted, options: argparse.Namespace) -> Found:
    """Nothing of Spark is started if there are no facts."""
    from tidelog.engines.spark.planned import options_of, planned, told_of

    if options.facts is not None:
        database = _evaluated(accepted, options)
        assert database._spark is not None
        told = database._spark.placing.told
        return Found(database.size, place=lambda stratum: told_of(told, stratum))
    asked = options_of(options.strategy, options.driver_facts)
    relations = accepted.checked.relations
    return Found(None, place=lambda stratum: planned(stratum, relations, asked))


def _evaluated(accepted: Accepted, options: argparse.Namespace) -> Database:
    from tidelog.api import Database

    files = decide(
        accepted,
        options.facts,
        "-",
        program=options.program,
        allow_paths=options.allow_paths,
        spark=options.engine == "spark",
    )
    place = arguments.place(options)
    with progress_of(options) as progress:
        return Database.of(
            accepted,
            facts_of(accepted, files, place),
            limits=arguments.limits(options),
            progress=progress if progress.on else None,
            place=place,
            functors=functors_of(accepted, options),
        )


def lines(checked: CheckedProgram, found: Found) -> Iterator[str]:
    """The plan as text: strata in order with their modules, rules and join orders or places, and
    what declarations close."""
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


def _stratum(number: int, stratum: Stratum, found: Found) -> Iterator[str]:
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
            names.append(f"{name} ({facts:,} {'fact' if facts == 1 else 'facts'})")
    kind = ", recursive" if stratum.recursive else "" if stratum.rules else ", given"
    yield f"stratum {number}{kind}: {', '.join(names)}"
    for closure in paired(stratum).own:
        texts = dict.fromkeys(rule.text for rule in closure.rules)
        yield f"  module: {closure}   ({' '.join(texts)})"
    for each in stratum.thinned:
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
