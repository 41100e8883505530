"""Opening a database from the command line, and writing its outputs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, BinaryIO

from tidelog.cli import arguments
from tidelog.cli.functor_files import functors_of
from tidelog.cli.run_files import Files, decide
from tidelog.cli.standard_streams import close_ears, say, stdin
from tidelog.control.terminal import is_terminal
from tidelog.plan.accept import Accepted
from tidelog.program.diagnostics import Diagnostic, ProgramError, render

if TYPE_CHECKING:
    from tidelog.session.backends import EngineChoice
    from tidelog.session.database import Database
    from tidelog.transaction.backend import Backend


def files_of(
    accepted: Accepted,
    options: argparse.Namespace,
    facts: str,
    output: str = "-",
    changes: Iterable[str] = (),
) -> Files:
    """The files that the program's directives name, with the engine that the options choose."""
    return decide(
        accepted,
        facts,
        output,
        program=options.program,
        changes=changes,
        allow_paths=options.allow_paths,
        spark=arguments.traits(options).own_formats,
    )


def place_of(files: Files, options: argparse.Namespace) -> EngineChoice | None:
    """The engine to use; checks that Spark can write the outputs."""
    if options.engine == "spark" and is_terminal(sys.stderr):
        say("starting Spark")  # which takes a while
    place = arguments.place(options)
    if place is not None and place.spark is not None:
        from tidelog.spark.outputs import require_lasting

        require_lasting(place.spark, files.outputs)
    return place


def facts_of(
    accepted: Accepted, files: Files, max_facts: int | None = None
) -> Callable[[Backend], Iterable[tuple[str, Any]]]:
    """The .input facts, as a database takes them."""
    return lambda backend: backend.read_inputs(
        files.inputs, stdin(), sources=accepted.sources, max_facts=max_facts
    )


def open_database(accepted: Accepted, files: Files, options: argparse.Namespace) -> Database:
    """Evaluate the program with its facts, within the limits that the options set."""
    from tidelog.session.database import Database

    functors = functors_of(accepted, options)
    place = place_of(files, options)
    with arguments.traits(options).progress() as progress:
        return Database.of(
            accepted,
            facts_of(accepted, files, options.max_facts),
            algorithm=options.algorithm,
            modules=not options.no_modules,
            strict=options.strict,
            limits=arguments.limits(options),
            progress=progress if progress.on else None,
            place=place,
            functors=functors,
            one_stratum=bool(options.one_stratum),
        )


def write_all(
    database: Database, accepted: Accepted, files: Files, printed: BinaryIO
) -> tuple[Diagnostic, ...]:
    """Write the .output relations; returns warnings about what was written."""
    warnings = database.core.backend.write_outputs(
        database, files.outputs, printed, sources=accepted.sources
    )
    close_ears()
    return warnings


def warn(accepted: Accepted) -> None:
    for warning in accepted.warnings:
        say(render(warning, accepted.sources))


def refuse_stdin(accepted: Accepted, files: Files, why: str) -> None:
    """Reject facts from the standard input if something else reads it."""
    for each in files.inputs:
        if each.stdin:
            message = f"{why}, so no facts can be read from it"
            found = Diagnostic(message, each.at, "put the facts into a file")
            raise ProgramError([found], accepted.sources)
