"""A database from the command line: its program, its facts, and what is said on the way."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tidelog.accept import Accepted
from tidelog.cli import arguments
from tidelog.cli.files import Files
from tidelog.cli.terminal import say, stdin
from tidelog.io.directives import read_inputs
from tidelog.plan.closures import modules
from tidelog.program.diagnostics import Diagnostic, ProgramError, render
from tidelog.progress import Progress, is_terminal

if TYPE_CHECKING:
    from tidelog.api import Database


def open_database(accepted: Accepted, files: Files, options: argparse.Namespace) -> Database:
    """The program with its facts, evaluated, under the limits that the options set."""
    from tidelog.api import Database

    announce(accepted, options)
    tables = read_inputs(files.inputs, stdin(), sources=accepted.sources)
    with Progress() as progress:
        return Database.of(
            accepted,
            tables,
            algorithm=options.algorithm,
            modules=not options.no_modules,
            strict=options.strict,
            limits=arguments.limits(options),
            progress=progress if progress.on else None,
        )


def announce(accepted: Accepted, options: argparse.Namespace) -> None:
    """Say on a terminal what the first run, or the first large closure, will wait for."""
    from tidelog.engines.local import cache

    if not is_terminal(sys.stderr):
        return
    if not cache.is_warm():
        say("compiling kernels, once: about 20 seconds")
    if not options.no_modules and any(modules(s).closures for s in accepted.checked.strata):
        from tidelog.closure import cache as closures

        if not closures.is_warm():
            say("a large closure compiles kernels of its own, once: about 30 seconds")
    if getattr(options, "algorithm", "").startswith("dbsp"):
        from tidelog.dbsp import cache as circuits

        if not circuits.is_warm():
            say("the circuit compiles kernels of its own, once: about 20 seconds")


def warn(accepted: Accepted) -> None:
    for warning in accepted.warnings:
        say(render(warning, accepted.sources))


def refuse_stdin(accepted: Accepted, files: Files, why: str) -> None:
    """No facts come from the standard input if it is for something else."""
    for each in files.inputs:
        if each.path is None:
            message = f"{why}, so no facts can be read from it"
            found = Diagnostic(message, each.at, "put the facts into a file")
            raise ProgramError([found], accepted.sources)
