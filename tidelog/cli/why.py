"""`tidelog why`: explain why facts hold."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tidelog.cli import arguments
from tidelog.cli.open_database import files_of, open_database, refuse_stdin, warn
from tidelog.cli.standard_streams import out, stdin
from tidelog.plan.accept import accept, read_program

if TYPE_CHECKING:
    from tidelog.session.database import Database

DESCRIPTION = """\
Evaluate a program, and explain why a fact holds: a proof by rule instances down to explicit
facts, of as few levels as possible. A query, such as 'path(1, x)', explains all its answers.
Nothing is written. Exit codes: 0 explained, 2 bad input, or the fact does not hold."""
EXAMPLE = """\
example:
  $ tidelog why reach.dl 'path(1, 3)' -F facts --no-modules
  path(1, 3)
    by path(x, z) :- path(x, y), edge(y, z).  reach.dl:4  x = 1, z = 3, y = 2
    path(1, 2)
      by path(x, y) :- edge(x, y).  reach.dl:3  x = 1, y = 2
      edge(1, 2)  explicit
    edge(2, 3)  explicit
  $ tidelog why reach.dl 'path(1, 3)' -F facts --format html > proof.html"""
FORMATS = ("text", "json", "dot", "html")  # `explain.proof.FORMATS` has them


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_fact(parser, "a fact, or a query")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="text",
        help="text (unless given), json, dot for Graphviz, or html, a page of its own",
    )
    parser.add_argument(
        "-n", metavar="N", type=arguments.count, default=1, help="show N proofs of a fact"
    )
    parser.add_argument(
        "--depth", metavar="N", type=arguments.count, default=1000, help="show N levels"
    )
    parser.add_argument(
        "--nodes", metavar="N", type=arguments.count, default=1000, help="show N facts"
    )
    add_search(parser)


def add_fact(parser: argparse.ArgumentParser, what: str) -> None:
    arguments.add_program(parser)
    parser.add_argument("fact", metavar="FACT", help=what)
    arguments.add_facts(parser, ".")


def add_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seconds",
        metavar="S",
        type=arguments.seconds,
        default=10.0,
        help="search for S seconds at most, 10 unless given",
    )
    arguments.add_maintenance(parser)
    arguments.add_evaluation(parser)


def opened(options: argparse.Namespace) -> Database:
    """The database of the program and its facts."""
    arguments.settle_engine(options)
    accepted = accept(read_program(options.program, stdin(), **arguments.reading(options)))
    files = files_of(accepted, options, options.facts)
    if options.program == "-":
        refuse_stdin(accepted, files, "the program is read from the standard input")
    if not options.no_warnings:
        warn(accepted)
    return open_database(accepted, files, options)


def main(options: argparse.Namespace) -> int:
    database = opened(options)

    from tidelog.explain.proof import FORMATS as WRITERS

    proof = database.why(
        options.fact,
        n=options.n,
        depth=options.depth,
        nodes=options.nodes,
        seconds=options.seconds,
    )
    out(WRITERS[options.format](proof).removesuffix("\n"))
    return 0
