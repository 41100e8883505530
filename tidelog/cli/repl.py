"""`tidelog repl`: change facts and rules at a prompt, see what follows, and ask."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidelog.accept import accept, read_program
from tidelog.cli import arguments, completion
from tidelog.cli.files import decide
from tidelog.cli.functors import add_functors
from tidelog.cli.opening import open_database, refuse_stdin, warn
from tidelog.cli.terminal import Interrupted, say, stdin
from tidelog.io.lines import pieces_of, whole_lines
from tidelog.program.diagnostics import TidelogError
from tidelog.progress import is_terminal

if TYPE_CHECKING:
    from tidelog.cli.session import Session

DESCRIPTION = """\
Evaluate a program, then take changes and questions line by line. Changes wait for `commit.`,
which shows what they changed; a question is about what is committed. Errors do not end the
session. Nothing is written. From a pipe there is no prompt, and the exit code is 2 if there
was an error."""
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
    parser.add_argument(
        "--algorithm",
        metavar="NAME",
        default="auto",
        help="how consequences are maintained: auto (unless given), recompute, counting, dred, "
        "dredc, bf, bfc, aged, dredc-mod, bfc-mod, dbsp or dbsp-no-index",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="refuse changes that do nothing, such as deleting a fact that is not there",
    )
    parser.add_argument(
        "--history", metavar="FILE", help="keep the lines that are typed in FILE, for the next time"
    )
    arguments.add_reading(parser)
    add_functors(parser)
    arguments.add_limits(parser)
    arguments.add_modules(parser)
    arguments.add_engine(parser)
    parser.add_argument("--no-warnings", action="store_true", help="do not print warnings")


def main(options: argparse.Namespace) -> int:
    arguments.settle_engine(options)
    if options.program == "-":
        raise TidelogError("error: the standard input is for the session\n    name a program file")
    accepted = accept(read_program(options.program, None, **arguments.reading(options)))
    on_spark = options.engine == "spark"
    files = decide(accepted, options.facts, "-", allow_paths=options.allow_paths, spark=on_spark)
    refuse_stdin(accepted, files, "the standard input is for the session")
    if not options.no_warnings:
        warn(accepted)
    database = open_database(accepted, files, options)

    from tidelog.cli.session import SHOWN, Session, counted

    terminal = is_terminal(sys.stdin) and is_terminal(sys.stdout)
    session = Session(database, SHOWN if terminal else None)
    if terminal:
        say(f"{options.program}: {database!r}; :help tells what can be written")
        _converse(session, options.history)
    else:
        _obey(session)
    if session.updates.pending:
        say(f"{counted(session.updates.pending)} not committed")
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


def _converse(session: Session, history: str | None) -> None:
    """Take lines from a person."""
    completion.install(_offer(session))
    with _remembered(history):
        while True:
            try:
                if not session.take(input(GOES_ON if session.open else PROMPT)):
                    return
            except EOFError:
                say("")
                return
            except KeyboardInterrupt as stop:
                told = f": {stop}" if isinstance(stop, Interrupted) else ""
                say(f"\ninterrupted{told}")
                session.drop()


def _offer(session: Session) -> completion.Offer:
    from tidelog.cli.session import COMMANDS
    from tidelog.maintain.algorithms import ALGORITHMS

    def offer(line: str, word: str) -> list[str]:
        database = session.database
        names = (name for name in session.updates.relations() if not name.startswith("%"))
        return completion.offers(line, word, COMMANDS, names, database.rules, ALGORITHMS)

    return offer


@contextlib.contextmanager
def _remembered(history: str | None) -> Iterator[None]:
    """Lines of earlier sessions at hand, and those of this one kept, in a file if there is one."""
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
