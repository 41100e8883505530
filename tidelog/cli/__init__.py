"""The command line: `tidelog run`, `check`, `plan` and `doctor`.

Exit codes: 0 fine, 1 a check failed, 2 bad input, 130 interrupted. Heavy modules are
imported by the commands that need them, so that the others start at once.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from tidelog import __version__
from tidelog.cli import check, doctor, plan, run
from tidelog.cli.terminal import Interrupted, drop_stdout, fault, flush_stdout, say
from tidelog.program.diagnostics import TidelogError

__all__ = ["main"]

COMMANDS = (run, check, plan, doctor)

_ABOUT = "Keeps the consequences of Datalog rules; programs are written in Soufflé's dialect."
_EXAMPLE = """\
example:
  $ cat reach.dl
  path(x, y) :- edge(x, y).
  path(x, z) :- path(x, y), edge(y, z).
  edge(1, 2). edge(2, 3).
  .output path
  $ tidelog run reach.dl -D -        evaluate, and print what follows
  $ tidelog check reach.dl           only look for mistakes
  $ tidelog plan reach.dl            how it would be evaluated

`tidelog COMMAND --help` tells more about each command."""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="tidelog",
        description=_ABOUT,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"tidelog {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        name = command.__name__.rpartition(".")[2]
        made = commands.add_parser(
            name,
            help=command.ABOUT,
            description=command.DESCRIPTION,
            epilog=command.EXAMPLE,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.add_arguments(made)
        made.set_defaults(command=command.main, parser=made)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    try:
        code = _main(argv)
        flush_stdout()
        return code
    except BrokenPipeError:
        # Who read our output has seen enough (`| head`).
        drop_stdout()
        return 0
    except KeyboardInterrupt as stop:
        told = f": {stop}" if isinstance(stop, Interrupted) else ""
        say(f"interrupted{told}")
        return 130


def _main(argv: Sequence[str] | None) -> int:
    try:
        options = parser().parse_args(argv)
    except SystemExit as leave:  # after --help, --version or a message about the options
        return leave.code if isinstance(leave.code, int) else 2
    try:
        code: int = options.command(options)
        return code
    except TidelogError as error:
        say(fault(str(error)))
    except BrokenPipeError:
        raise
    except MemoryError:
        say("error: there is not enough memory\n    --max-memory stops a run earlier")
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        say(f"error: {where}{error.strerror or error}")
    except Exception as error:
        if os.environ.get("TIDELOG_TRACEBACK"):
            raise
        say(
            f"error: a fault in Tidelog itself: {type(error).__name__}: {error}\n"
            "    please report it, with the program and what TIDELOG_TRACEBACK=1 in the\n"
            "    environment shows"
        )
    return 2
