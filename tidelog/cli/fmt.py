"""`tidelog fmt`: format programs; only blanks and line breaks change."""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path

from tidelog.cli.standard_streams import fault, out, say, stdin, stdout
from tidelog.formats.atomic_files import Staged
from tidelog.plan.accept import STDIN
from tidelog.program.diagnostics import Diagnostic, ProgramError, TidelogError
from tidelog.text import includes
from tidelog.text.formatter import format_text

DESCRIPTION = """\
Format programs in place. Only blanks and line breaks change; comments, the order of statements,
preprocessor lines and empty lines between groups stay. A program that cannot be parsed is not
changed. Exit codes: 0 fine, 1 --check found a program that would change, 2 bad input."""
EXAMPLE = """\
example:
  $ cat reach.dl
  path(x,y):-edge(x,y).
  path(x , z) :- path(x,y),   edge( y,z ) .
  $ tidelog fmt reach.dl
  $ cat reach.dl
  path(x, y) :- edge(x, y).
  path(x, z) :- path(x, y), edge(y, z)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "program",
        metavar="PROGRAM.dl",
        nargs="+",
        help="programs to format, or - to format the standard input and print it",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; print the names of programs that would change",
    )
    parser.add_argument(
        "--diff", action="store_true", help="write nothing; print what would change"
    )


def main(options: argparse.Namespace) -> int:
    if options.program.count("-") > 1:
        raise TidelogError("the standard input can be read only once")
    faulty, changed = False, 0
    for name in options.program:
        try:
            changed += _one(name, options)
        except TidelogError as error:
            say(fault(str(error)))
            faulty = True
    if faulty:
        return 2
    return 1 if options.check and changed else 0


def _one(name: str, options: argparse.Namespace) -> bool:
    """Format one program; returns whether that changes it."""
    text = _text(name)
    new = format_text(text, STDIN if name == "-" else name)
    changed = new != text
    if options.diff:
        shown = (STDIN if name == "-" else name,) * 2
        for line in difflib.unified_diff(text.splitlines(), new.splitlines(), *shown, lineterm=""):
            out(line)
    if options.check:
        if changed and not options.diff:
            out(f"{name}: would change")
    elif not options.diff and name == "-":
        stdout().write(new.encode())
    elif not options.diff and changed:
        with Staged() as staged:
            staged.write(name, [new.encode()], compress=False)
            staged.commit()
    return changed


def _text(name: str) -> str:
    shown = STDIN if name == "-" else name
    try:
        if name != "-":
            return includes.read(Path(name), name, special=True)
        source = stdin()
        return includes.decode(source.read() if source is not None else b"", shown)
    except includes.Unreadable as problem:
        raise ProgramError([Diagnostic(problem.message, None, problem.advice)], {}) from None
    except includes.BadEncoding as problem:
        found = Diagnostic(str(problem), problem.at, problem.advice)
        raise ProgramError([found], {shown: problem.text.split("\n")}) from None
