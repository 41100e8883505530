"""A database from the command line: its program, its facts, and what is said on the way."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from tidelog.accept import Accepted
from tidelog.cli import arguments
from tidelog.cli.files import Files
from tidelog.cli.functors import functors_of
from tidelog.cli.terminal import close_ears, say, stdin
from tidelog.io.directives import read_inputs, write_outputs
from tidelog.plan.closures import modules
from tidelog.program.diagnostics import Diagnostic, ProgramError, render
from tidelog.progress import Progress, Rounds, is_terminal

if TYPE_CHECKING:
    from tidelog.api import Database, Place


def place_of(files: Files, options: argparse.Namespace) -> Place | None:
    """Where the work is done; for Spark a session, which can write what is asked for."""
    place = arguments.place(options)
    if place is not None and place.spark is not None:
        from tidelog.spark.outputs import require_lasting

        require_lasting(place.spark, files.outputs)
    return place


def facts_of(accepted: Accepted, files: Files, place: Place | None) -> Any:
    """What .input asks for, as a database takes it: tables, or a function of Spark's engine."""
    if place is None:
        return read_inputs(files.inputs, stdin(), sources=accepted.sources)
    from tidelog.spark import inputs

    return partial(inputs.read_inputs, wanted=files.inputs, stdin=stdin(), sources=accepted.sources)


def progress_of(options: argparse.Namespace) -> Progress:
    return Rounds() if options.engine == "spark" else Progress()


def open_database(accepted: Accepted, files: Files, options: argparse.Namespace) -> Database:
    """The program with its facts, evaluated, under the limits that the options set."""
    from tidelog.api import Database

    functors = functors_of(accepted, options)
    announce(accepted, options)
    place = place_of(files, options)
    with progress_of(options) as progress:
        return Database.of(
            accepted,
            facts_of(accepted, files, place),
            algorithm=options.algorithm,
            modules=not options.no_modules,
            strict=options.strict,
            limits=arguments.limits(options),
            progress=progress if progress.on else None,
            place=place,
            functors=functors,
        )


def write_all(
    database: Database, accepted: Accepted, files: Files, printed: BinaryIO
) -> tuple[Diagnostic, ...]:
    """Write what .output asks for; the warnings are about what was written."""
    if database._spark is not None:
        from tidelog.spark import outputs

        warnings = outputs.write_outputs(
            database._spark, database, files.outputs, printed, sources=accepted.sources
        )
    else:
        tables = {each.relation.name: database.table(each.relation.name) for each in files.outputs}
        warnings = write_outputs(files.outputs, tables, printed, sources=accepted.sources)
    close_ears()
    return warnings


def announce(accepted: Accepted, options: argparse.Namespace) -> None:
    """Say on a terminal what the first run, or the first large closure, will wait for."""
    from tidelog.engines.local import cache

    if not is_terminal(sys.stderr):
        return
    if not cache.is_warm():
        say("compiling kernels, once: about 20 seconds")
    if options.engine == "spark":
        say("starting Spark")
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
        if each.stdin:
            message = f"{why}, so no facts can be read from it"
            found = Diagnostic(message, each.at, "put the facts into a file")
            raise ProgramError([found], accepted.sources)
