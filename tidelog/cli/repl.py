"""`tidelog repl`: change facts and rules at a prompt, see deltas, and query."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidelog.cli import arguments, completion
from tidelog.cli.open_database import files_of, open_database, refuse_stdin, warn
from tidelog.cli.standard_streams import Interrupted, say, stdin
from tidelog.control.terminal import is_terminal
from tidelog.formats.byte_source import pieces_of, whole_lines
from tidelog.plan.accept import accept, read_program
from tidelog.program.diagnostics import TidelogError, plural

if TYPE_CHECKING:
    from tidelog.cli.prompt import Session

DESCRIPTION = """\
Explore a program at a prompt: evaluate it, then take changes and queries line by line. Changes
are pending until `commit.` applies them and prints the delta; a query sees what is committed.
An error does not end the session. No files are written. From a pipe there is no prompt, and the
exit code is 2 after an error."""
EXAMPLE = """\
example:
  $ tidelog repl reach.dl -F facts
  > +edge(3, 4).
  > commit.
  +path(3, 4).
  …
  > ?path(1, x).
  > :help"""
PROMPT, GOES_ON = "> ", "  "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_program(parser)
    arguments.add_facts(parser, ".")
    arguments.add_maintenance(parser)
    parser.add_argument(
        "--history", metavar="FILE", help="keep typed lines in FILE for later sessions"
    )
    arguments.add_evaluation(parser)


def main(options: argparse.Namespace) -> int:
    arguments.settle_engine(options)
    if options.program == "-":
        raise TidelogError("error: the session uses the standard input\n    name a program file")
    accepted = accept(read_program(options.program, None, **arguments.reading(options)))
    files = files_of(accepted, options, options.facts)
    refuse_stdin(accepted, files, "the session uses the standard input")
    if not options.no_warnings:
        warn(accepted)
    database = open_database(accepted, files, options)

    from tidelog.cli.prompt import SHOWN, Session

    terminal = is_terminal(sys.stdin) and is_terminal(sys.stdout)
    session = Session(database, SHOWN if terminal else None)
    if terminal:
        say(f"{options.program}: {database!r}; :help shows what to type")
        _converse(session, options.history)
    else:
        _obey(session)
    if session.pending.changes:
        say(f"{plural(len(session.pending.changes), 'change')} not committed")
    return 2 if session.failed and not terminal else 0


def _obey(session: Session) -> None:
    """Take lines as they arrive."""
    source = stdin()
    if source is None:
        return
    for block in whole_lines(pieces_of(source), "<stdin>"):
        for line in block.removesuffix("\n").split("\n"):
            if not session.take(line.removesuffix("\r")):
                return
    session.end()


def _converse(session: Session, history: str | None) -> None:
    """Take lines from a terminal."""
    completion.install(_offer(session))
    with _remembered(history):
        while True:
            try:
                if not session.take(input(GOES_ON if session.open else PROMPT)):
                    return
            except EOFError:
                say("")
                session.end()
                return
            except KeyboardInterrupt as stop:
                note = f": {stop}" if isinstance(stop, Interrupted) else ""
                say(f"\ninterrupted{note}")
                session.drop()


def _offer(session: Session) -> completion.Offer:
    from tidelog.cli.prompt import COMMANDS
    from tidelog.maintain.driver.algorithms import ALGORITHMS

    def offer(line: str, word: str) -> list[str]:
        database = session.database
        names = session.pending.relations()
        return completion.offers(line, word, COMMANDS, names, database.rules, ALGORITHMS)

    return offer


@contextlib.contextmanager
def _remembered(history: str | None) -> Iterator[None]:
    """Load the lines of earlier sessions from the file, and save those of this one."""
    try:
        import readline
    except ImportError:
        yield
        return
    readline.set_auto_history(True)
    if history is None:
        yield
        return
    try:
        readline.read_history_file(history)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise TidelogError(f"error: {history} cannot be read: {error.strerror}") from None
    try:
        yield
    finally:
        try:
            readline.write_history_file(history)
        except OSError as error:
            say(f"warning: {history} cannot be written: {error.strerror}")
