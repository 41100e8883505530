"""`tidelog plan`: how a program would be evaluated."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator

from tidelog.accept import Accepted, accept, read_program
from tidelog.cli import arguments
from tidelog.cli.files import decide
from tidelog.cli.terminal import out, stdin
from tidelog.io.atomic import Staged, check_target
from tidelog.io.directives import read_inputs
from tidelog.plan.closures import modules
from tidelog.program.rules import CheckedProgram, Rule, Stratum
from tidelog.progress import Progress

DESCRIPTION = """\
Show the order in which relations are evaluated, their rules, and the order in which each
rule joins its atoms. With -F, facts are loaded and evaluated first and orders are those for
the sizes found; without, sizes are unknown, and atoms with more bound columns go first.
In a join order, `each r` reads all of r, `r[2]` looks r up by its second column, and
`has r` looks for one fact. A module is made of recursive rules that close a relation."""
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
    arguments.add_allow_paths(parser)
    arguments.add_limits(parser)


def main(options: argparse.Namespace) -> int:
    accepted = accept(read_program(options.program, stdin(), allow_paths=options.allow_paths))
    from tidelog.report.picture import plan_dot, plan_svg

    pictures = [
        (path, draw)
        for path, draw in ((options.svg, plan_svg), (options.dot, plan_dot))
        if path is not None
    ]
    for path, _ in pictures:
        check_target(path)
    sizes, order = _orders(accepted, options)
    for line in lines(accepted.checked, sizes, order):
        out(line)
    with Staged() as staged:
        for path, draw in pictures:
            staged.write(os.fspath(path), [draw(accepted.checked).encode()], compress=False)
        staged.commit()
    return 0


def _orders(
    accepted: Accepted, options: argparse.Namespace
) -> tuple[Callable[[str], int] | None, Callable[[Rule], str]]:
    """Sizes of relations, if facts were given, and the join order of each rule."""
    from tidelog.api import Database
    from tidelog.engines.local.engine import LocalEngine

    if options.facts is None:
        engine = LocalEngine()
        for relation in accepted.checked.relations.values():
            engine.declare(relation)
        return None, lambda rule: engine.plan_of(rule).text
    files = decide(
        accepted,
        options.facts,
        "-",
        program=options.program,
        allow_paths=options.allow_paths,
    )
    tables = read_inputs(files.inputs, stdin(), sources=accepted.sources)
    with Progress() as progress:
        database = Database.of(
            accepted,
            tables,
            limits=arguments.limits(options),
            progress=progress if progress.on else None,
        )
    return database.size, database.join_order


def lines(
    checked: CheckedProgram, sizes: Callable[[str], int] | None, order: Callable[[Rule], str]
) -> Iterator[str]:
    """The plan as text: strata in order with their modules, rules and join orders, and what
    declarations close."""
    if not checked.strata:
        yield "the program has no relations"
        return
    for number, stratum in enumerate(checked.strata, 1):
        yield from _stratum(number, stratum, sizes, order)
    for relation in checked.relations.values():
        if "eqrel" in relation.qualifiers:
            yield f"closure: {relation.name} is an equivalence (eqrel)"
        elif "transitive" in relation.qualifiers:
            yield f"closure: {relation.name} is transitive"


def _stratum(
    number: int,
    stratum: Stratum,
    sizes: Callable[[str], int] | None,
    order: Callable[[Rule], str],
) -> Iterator[str]:
    names = []
    for name in stratum.relations:
        if name.startswith("%"):
            names.append(f"{name} (a part of rules)")
        elif sizes is None:
            names.append(name)
        else:
            facts = sizes(name)
            names.append(f"{name} ({facts:,} {'fact' if facts == 1 else 'facts'})")
    kind = ", recursive" if stratum.recursive else "" if stratum.rules else ", given"
    yield f"stratum {number}{kind}: {', '.join(names)}"
    for closure in modules(stratum).own:
        texts = dict.fromkeys(rule.text for rule in closure.rules)
        yield f"  module: {closure}   ({' '.join(texts)})"
    for rule in stratum.rules:
        yield f"    {rule.text}"
        yield f"        join order: {order(rule)}"
