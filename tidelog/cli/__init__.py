"""The command line: `tidelog run`, `apply`, `repl`, `why`, `why-not`, `check`, `fmt`, `pipeline`,
`rdf`, `lsp`, `plan`, `warm` and `doctor`.

Exit codes: 0 fine, 1 a check failed or the reader of deltas left, 2 bad input, 130
interrupted. Commands import heavy modules themselves, so that the others start at once.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext

from tidelog import __version__
from tidelog.cli.standard_streams import (
    Interrupted,
    Unread,
    drop_stdout,
    fault,
    flush_stdout,
    open_ears,
    say,
)
from tidelog.control import interrupts
from tidelog.program.diagnostics import Doubt, TidelogError

__all__ = ["main"]

COMMANDS = {
    "run": "evaluate a program and write its outputs",
    "apply": "evaluate a program, then change its facts and rules, update by update",
    "repl": "change and ask a program at a prompt",
    "why": "explain why a fact holds, by a proof",
    "why-not": "explain why a fact does not hold, and what would repair it",
    "check": "look for errors and likely mistakes, without evaluating",
    "fmt": "write programs in one layout",
    "pipeline": "keep tables and feeds up to date while sources change, on Spark",
    "rdf": "keep the consequences of ontologies: RDF in, RDFS or OWL 2 RL, RDF out",
    "lsp": "serve an editor: errors, types, definitions, renaming",
    "plan": "show strata, join orders and closures, as text or as a picture",
    "warm": "compile all kernels now, so that no run waits for them",
    "doctor": "show versions, the kernel cache, Java and Spark",
}

_ABOUT = "Keep the consequences of Datalog rules correct while facts and rules change."
_EXAMPLE = """\
example:
  $ cat reach.dl
  path(x, y) :- edge(x, y).
  path(x, z) :- path(x, y), edge(y, z).
  edge(1, 2). edge(2, 3).
  .output path
  $ tidelog run reach.dl -D -        evaluate, and print the outputs
  $ tidelog check reach.dl           only look for mistakes
  $ tidelog plan reach.dl            show how it would be evaluated

Programs are written in Soufflé's dialect. `tidelog COMMAND --help` explains a command."""


def parser(chosen: str | None) -> argparse.ArgumentParser:
    """The parser of all commands; only the chosen one loads its options."""
    top = argparse.ArgumentParser(
        prog="tidelog",
        description=_ABOUT,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"tidelog {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True)
    for name, about in COMMANDS.items():
        if name != chosen:
            commands.add_parser(name, help=about)
            continue
        command = importlib.import_module(f"tidelog.cli.{name.replace('-', '_')}")
        made = commands.add_parser(
            name,
            help=about,
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
    before = gc.get_threshold()
    # Loading the compiler makes many objects that stay: collecting garbage among them repeatedly
    # would take a tenth of the start.
    gc.set_threshold(200_000, 50, 50)
    try:
        with (
            nullcontext() if argv is None else open_ears(),  # otherwise the process ends afterwards
            warnings.catch_warnings(),
        ):
            warnings.showwarning = _show_warning
            return _guarded(argv)
    finally:
        gc.set_threshold(*before)


def _show_warning(message: Warning | str, *_place: object, **_more: object) -> None:
    """Print a warning without the line of our code that Python would show."""
    say(str(message) if isinstance(message, Doubt) else f"warning: {message}")


def _guarded(argv: Sequence[str] | None) -> int:
    """Run, and turn every error into a message and an exit code."""
    try:
        code = _main(argv)
        flush_stdout()
        return code
    except SystemExit as leave:  # after --help, --version or a message about the options
        return leave.code if isinstance(leave.code, int) else 2
    except KeyboardInterrupt as stop:
        note = f": {stop}" if isinstance(stop, Interrupted) else ""
        say(f"interrupted{note}")
        return 130
    except BrokenPipeError:
        # The reader of our output has seen enough (`| head`).
        drop_stdout()
        return 0
    except Unread as error:
        say(str(error))
        return 1
    except TidelogError as error:
        say(fault(str(error)))
    except MemoryError:
        say("error: out of memory\n    --max-memory stops a run earlier")
    except OSError as error:
        # Files have errors of their own, so it is the standard output that failed.
        drop_stdout()
        where = error.filename or "the standard output"
        say(f"error: {where}: {error.strerror or error}")
    except Exception as error:
        if interrupts.causes(error):
            say("interrupted")
            return 130
        if os.environ.get("TIDELOG_TRACEBACK"):
            raise
        say(
            _of_spark(error)
            or f"error: internal error in Tidelog: {type(error).__name__}: {error}\n"
            "    please report it, with the program and the traceback that\n"
            "    TIDELOG_TRACEBACK=1 in the environment prints"
        )
    return 2


def _of_spark(error: Exception) -> str:
    """The message for an unexpected error of Spark."""
    if "pyspark" not in sys.modules:
        return ""
    from tidelog.spark import errors

    return fault(str(errors.explained(error))) if errors.is_spark(error) else ""


def _main(argv: Sequence[str] | None) -> int:
    arguments = sys.argv[1:] if argv is None else list(argv)
    chosen = next((each for each in arguments if not each.startswith("-")), None)
    options, unknown = parser(chosen).parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if interrupts.dropped():  # while modules were loaded
        raise KeyboardInterrupt
    code: int = options.command(options)
    return code
