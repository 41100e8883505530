"""`tidelog why-not`: explain why a fact does not hold."""

from __future__ import annotations

import argparse

from tidelog.cli import arguments
from tidelog.cli.standard_streams import out
from tidelog.cli.why import add_fact, add_search, opened

DESCRIPTION = """\
Evaluate a program, and explain why a fact does not hold: for each rule that could derive it, what
holds and what fails; and repairs, sets of insertions and deletions after which it holds. Repairs
are tried, and rolled back. Nothing is written. Exit codes: 0 explained, 2 bad input, or the fact
holds."""
EXAMPLE = """\
example:
  $ tidelog why-not reach.dl 'path(3, 1)' -F facts
  path(3, 1) does not hold
    path(x, y) :- edge(x, y).  reach.dl:3  x = 3, y = 1
      fails: edge(3, 1)
    path(x, z) :- path(x, y), edge(y, z).  reach.dl:4  x = 3, z = 1
      fails: path(3, y)
      fails: edge(y, 1)
    repair: +edge(3, 1)."""
FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_fact(parser, "a fact")
    parser.add_argument(
        "--format", choices=FORMATS, default="text", help="text (unless given) or json"
    )
    parser.add_argument(
        "--repairs",
        metavar="N",
        type=arguments.none_or_some,
        default=3,
        help="look for N repairs, 3 unless given",
    )
    add_search(parser)


def main(options: argparse.Namespace) -> int:
    database = opened(options)
    found = database.why_not(options.fact, repairs=options.repairs, seconds=options.seconds)
    out(found.to_json() if options.format == "json" else str(found))
    return 0
