"""`tidelog check`: errors and likely mistakes in programs."""

from __future__ import annotations

import argparse

from tidelog.cli import arguments
from tidelog.cli.standard_streams import out, say, stdin
from tidelog.plan.accept import read_program
from tidelog.program.diagnostics import Diagnostic, ProgramError, Sources, TidelogError, render
from tidelog.program.garbage import uncollected
from tidelog.text.argument_places import pointed

DESCRIPTION = """\
Look for errors and likely mistakes in programs without evaluating them: print all errors and
warnings, and their numbers. Reads no facts. Exit codes: 0 no errors, 2 errors."""
EXAMPLE = """\
example:
  $ cat food.dl
  .decl person(x: symbol)
  .decl likes(x: symbol, y: symbol)
  likes(x, y) :- person(x).
  $ tidelog check food.dl
  food.dl:3:10: error: variable y is in the head but in no positive body atom
    3 | likes(x, y) :- person(x).
      |          ^ bind y in the body, or replace it by a constant
  food.dl: 1 error, 0 warnings"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_program(parser, many=True)
    arguments.add_reading(parser)


def main(options: argparse.Namespace) -> int:
    if options.program.count("-") > 1:
        raise TidelogError("the standard input can be read only once")
    faulty = False
    for name in options.program:
        found, sources = findings(name, arguments.reading(options))
        for each in found:
            say(render(each, sources))
        errors = sum(each.severity == "error" for each in found)
        counted = _counted(errors, "error"), _counted(len(found) - errors, "warning")
        out(f"{name}: {', '.join(counted)}")
        faulty = faulty or errors > 0
    return 2 if faulty else 0


def findings(name: str, reading: arguments.ReadingOptions) -> tuple[list[Diagnostic], Sources]:
    """All errors and warnings of one program, in the order of its text."""
    with uncollected():
        return _findings(name, reading)


def _findings(name: str, reading: arguments.ReadingOptions) -> tuple[list[Diagnostic], Sources]:
    from tidelog.plan import analyse
    from tidelog.plan.accept import Accepted

    parsed = read_program(name, stdin(), **reading)
    analysis = analyse(parsed.program)
    pointing = pointed(analysis.diagnostics, parsed.sources)
    found = list(dict.fromkeys((*parsed.diagnostics, *pointing)))
    if analysis.typed is not None and analysis.checked is not None:
        from tidelog.cli.run_files import decide

        accepted = Accepted(analysis.typed, analysis.checked, (), parsed.sources)
        try:
            decide(accepted, allow_paths=reading["allow_paths"])
        except ProgramError as error:
            found += error.diagnostics
    order = {file: i for i, file in enumerate(parsed.sources)}
    found.sort(key=lambda each: (order.get(each.at.file, -1), each.at[1:]) if each.at else (-1, ()))
    return found, parsed.sources


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
