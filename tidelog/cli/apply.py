"""`tidelog apply`: evaluate a program, then change its facts and rules, update by update."""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidelog.changes import NAMES
from tidelog.cli import arguments
from tidelog.cli.open_database import files_of, open_database, refuse_stdin, warn, write_all
from tidelog.cli.run_files import Files, output_folder
from tidelog.cli.standard_streams import Interrupted, Unread, fault, say, stdin, stdout
from tidelog.cli.stream_status import Live
from tidelog.cli.update_reports import EXPLAINED, Reports
from tidelog.control.limits import Interrupts
from tidelog.formats.change_files import FORMATS, Place, place_of
from tidelog.formats.directives import require_writable
from tidelog.plan.accept import Accepted, accept, read_program
from tidelog.program.diagnostics import Diagnostic, TidelogError, render

if TYPE_CHECKING:
    from tidelog.changes.stream import Stream
    from tidelog.session.database import Database

DESCRIPTION = """\
Keep the outputs of a program correct while its facts and rules change: evaluate it as
`tidelog run` does, apply updates, and write its .output relations. Changes come from files, or
live from the standard input, a pipe or a connection; an update takes effect as soon as the line
of its `commit.` is read. An update that fails is rolled back, and ends the run. Exit codes:
0 fine, 1 the reader of printed deltas left before files were complete, 2 bad input,
130 interrupted."""
EXAMPLE = """\
example:
  $ cat edges.changes
  +edge(3, 4). -edge(1, 2).
  commit.
  +path(y, x) :- path(x, y).
  commit.
  $ tidelog apply reach.dl edges.changes -F facts --deltas -
  $ follow-a-log | tidelog apply reach.dl - -F facts --deltas -

File names give the format: .changes or .dl (the notation), .jsonl or .ndjson, and tables with a
column `op`: .csv, .tsv or .parquet. A table holds changes of the relation that it is named after
(edge.csv) or that RELATION=FILE gives. Text may be compressed (.gz)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_program(parser)
    parser.add_argument(
        "changes",
        metavar="CHANGES",
        nargs="+",
        help="files of changes, applied in this order; - for the standard input, tcp://HOST:PORT "
        "for a connection, RELATION=FILE for a table",
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="the format of CHANGES, if file names do not give it"
    )
    arguments.add_facts(parser, ".")
    arguments.add_output(parser)
    arguments.add_maintenance(parser)
    parser.add_argument(
        "--policy",
        choices=NAMES,
        default="sequential",
        help="how updates are applied: one after the other (sequential, unless given), with a look "
        "at the next one (marking), or overlapping (fully-dynamic)",
    )
    parser.add_argument(
        "--deltas",
        metavar="FILE",
        action="append",
        default=[],
        help="write what each update inserted and deleted, in the format that the name gives, as "
        "for CHANGES; - prints each delta as soon as its update is applied; may be given more "
        "than once",
    )
    parser.add_argument(
        "--stats",
        metavar="FILE.json",
        help="write statistics of each update: algorithms and why they were chosen, times, sizes; "
        "- prints them as tables in the end",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="print with --deltas -, behind each update, the changes that caused those of its "
        f"delta, as comments; of the first {EXPLAINED} of each update",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print what the changes would do; write no outputs and no files of deltas",
    )
    arguments.add_evaluation(parser)


def main(options: argparse.Namespace) -> int:
    arguments.settle_engine(options)
    _settle_policy(options)
    if options.explain:
        _settle_explain(options)
    if options.dry_run:
        _settle_dry_run(options)
    places = [place_of(name, options.format) for name in options.changes]
    _refuse_two_readers(options, places)
    accepted = accept(read_program(options.program, stdin(), **arguments.reading(options)))
    read = [place.path for place in places if not place.live]
    files = files_of(accepted, options, options.facts, options.output, read)
    if any(place.live for place in places):
        refuse_stdin(accepted, files, "the standard input holds changes")
    reports = Reports(options, places, accepted, files)
    if not options.no_warnings:
        _warn(options, accepted, files)
    printed = stdout() if files.printed and not options.dry_run else io.BytesIO()
    with output_folder(options.output if files.written else "-"):
        require_writable(files.outputs, sources=accepted.sources)
        database = _opened(accepted, files, options)
        with (
            Live(arguments.traits(options).progress) as live,
            _streamed(database, places, options, live) as stream,
            _reporting(stream, reports, files),
        ):
            if live.on:
                stream.on_idle = lambda: live.report(stream, now=True)
            for done in stream:
                if live.on:
                    live.hide()
                reports.add(done)
                live.report(stream)
        if options.dry_run:
            return 0
        warnings = write_all(database, accepted, files, printed)
        if not options.no_warnings:
            for warning in warnings:
                say(render(warning, accepted.sources))
    return 0


def _opened(accepted: Accepted, files: Files, options: argparse.Namespace) -> Database:
    try:
        return open_database(accepted, files, options)
    except KeyboardInterrupt:
        raise Interrupted("nothing was written") from None


def _streamed(
    database: Database, places: list[Place], options: argparse.Namespace, live: Live
) -> Stream:
    from tidelog.changes.arrivals import Arrivals

    return database.stream(
        Arrivals(places, database.core.state, stdin()),
        options.policy,
        dry_run=options.dry_run,
        progress=live if live.on else None,
    )


@contextmanager
def _reporting(stream: Stream, reports: Reports, files: Files) -> Iterator[None]:
    """Report what has taken effect, however the block ends; an error also gets a note. Ctrl-C is
    held back except where the stream checks for it: otherwise an update could take effect and not
    be reported."""
    with Interrupts(whole=True) as interrupts:
        try:
            interrupts.check()
            yield
            reports.save(stream)
            interrupts.check()
        except KeyboardInterrupt:
            reports.end(stream)
            raise Interrupted(_applied(reports.updates, " before")) from None
        except BrokenPipeError:
            reports.end(stream)
            if not files.written and not reports.filed:
                raise  # `| head` has read enough
            note = _applied(reports.updates)
            raise Unread(
                f"error: the reader of the deltas has closed its input\n    note: {note}"
            ) from None
        except TidelogError as error:
            stream.close()
            note = _applied(reports.updates, " before")
            raise TidelogError(f"{fault(str(error))}\n    note: {note}") from None
        finally:
            reports.save(stream)


def _applied(done: int, when: str = "") -> str:
    """
    >>> _applied(2, " before")
    '2 updates were applied before; no outputs were written'
    """
    applied = (
        "no update was" if not done else "1 update was" if done == 1 else f"{done:,} updates were"
    )
    return f"{applied} applied{when}; no outputs were written"


def _warn(options: argparse.Namespace, accepted: Accepted, files: Files) -> None:
    warn(accepted)
    if not files.outputs and not options.deltas:
        advice = "add `.output RELATION` to the program, or --deltas to the command"
        say(render(Diagnostic("nothing is written", None, advice, "warning"), {}))


def _settle_policy(options: argparse.Namespace) -> None:
    if options.engine == "spark" and options.policy != "sequential":
        options.parser.error("argument --policy: with --engine spark only sequential")
    for name in ("dry_run", "strict"):
        if getattr(options, name) and options.policy != "sequential":
            option = f"--{name.replace('_', '-')}"
            options.parser.error(f"argument {option}: only with --policy sequential")


def _settle_explain(options: argparse.Namespace) -> None:
    if options.engine == "spark":
        options.parser.error("argument --explain: only with --engine local")
    if options.policy != "sequential":
        options.parser.error("argument --explain: only with --policy sequential")
    if options.dry_run or "-" not in options.deltas:
        options.parser.error("argument --explain: only with --deltas -, and without --dry-run")


def _settle_dry_run(options: argparse.Namespace) -> None:
    options.output = "-"
    options.deltas = options.deltas or ["-"]
    if options.deltas != ["-"]:
        options.parser.error("argument --dry-run: writes no files, so --deltas can only be -")


def _refuse_two_readers(options: argparse.Namespace, places: list[Place]) -> None:
    if sum(place.live for place in places) + (options.program == "-") > 1:
        raise TidelogError("error: the standard input can be read only once")
