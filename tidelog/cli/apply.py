"""`tidelog apply`: evaluate a program, then change its facts and rules, update by update."""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidelog.accept import Accepted, accept, read_program
from tidelog.cli import arguments
from tidelog.cli.files import Files, decide, output_folder
from tidelog.cli.functors import add_functors
from tidelog.cli.live import Live
from tidelog.cli.opening import open_database, progress_of, refuse_stdin, warn, write_all
from tidelog.cli.reports import Reports
from tidelog.cli.terminal import Interrupted, Unread, fault, say, stdin, stdout
from tidelog.io.changes import FORMATS, Place, place_of
from tidelog.io.directives import require_writable
from tidelog.limits import Interrupts
from tidelog.program.diagnostics import Diagnostic, TidelogError, render
from tidelog.stream import NAMES

if TYPE_CHECKING:
    from tidelog.api import Database
    from tidelog.stream.processor import Stream

DESCRIPTION = """\
Evaluate a program as `tidelog run` does, apply changes of facts and rules, and write what
.output asks for. Changes are read from files, or live from the standard input, a pipe or a
connection: an update takes effect when the line of its `commit.` is read. One that fails is
rolled back, and nothing follows it. Exit codes: 0 fine, 1 the reader of printed deltas left
before files were complete, 2 bad input, 130 interrupted."""
EXAMPLE = """\
example:
  $ cat edges.changes
  +edge(3, 4). -edge(1, 2).
  commit.
  +path(y, x) :- path(x, y).
  commit.
  $ tidelog apply reach.dl edges.changes -F facts --deltas -
  $ follow-a-log | tidelog apply reach.dl - -F facts --deltas -

Names of files tell their format: .changes or .dl (the notation), .jsonl or .ndjson, and
tables with a column `op`, .csv, .tsv or .parquet, which are of the relation that they are
named after (edge.csv) or given as RELATION=FILE. Text may be compressed (.gz)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_program(parser)
    parser.add_argument(
        "changes",
        metavar="CHANGES",
        nargs="+",
        help="files of changes, in the order in which they are applied, - for the standard "
        "input, or tcp://HOST:PORT for a connection; a table may be given as RELATION=FILE",
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="the format of CHANGES, whatever their names say"
    )
    arguments.add_facts(parser, ".")
    parser.add_argument(
        "-D",
        "--output",
        metavar="FOLDER",
        default=".",
        help="where .output files go at the end, the current folder unless given; the last "
        "folder of the path is created if it is missing; - prints every output",
    )
    parser.add_argument(
        "--algorithm",
        metavar="NAME",
        default="auto",
        help="how consequences are maintained: auto (unless given), recompute, counting, dred, "
        "dredc, bf, bfc, aged, dredc-mod, bfc-mod, dbsp or dbsp-no-index",
    )
    parser.add_argument(
        "--policy",
        choices=NAMES,
        default="sequential",
        help="how updates that arrive are worked off: one after the other (sequential, unless "
        "given), with a look at the next one (marking), or overlapping (fully-dynamic)",
    )
    parser.add_argument(
        "--deltas",
        metavar="FILE",
        action="append",
        default=[],
        help="write what each update changed, in a format that the name tells as for CHANGES; "
        "- prints each delta when its update is done; may be given more than once",
    )
    parser.add_argument(
        "--stats",
        metavar="FILE.json",
        help="write what each update did and took: algorithms, reasons, numbers, sizes",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print what the changes would do, and write no outputs and no files of deltas",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="refuse changes that do nothing, such as deleting a fact that is not there",
    )
    arguments.add_reading(parser)
    add_functors(parser)
    arguments.add_limits(parser)
    arguments.add_modules(parser)
    arguments.add_engine(parser)
    parser.add_argument("--no-warnings", action="store_true", help="do not print warnings")


def main(options: argparse.Namespace) -> int:
    arguments.settle_engine(options)
    _settle_policy(options)
    if options.dry_run:
        _settle_dry_run(options)
    places = [place_of(name, options.format) for name in options.changes]
    _refuse_two_readers(options, places)
    accepted = accept(read_program(options.program, stdin(), **arguments.reading(options)))
    files = decide(
        accepted,
        options.facts,
        options.output,
        program=options.program,
        changes=[place.path for place in places if not place.live],
        allow_paths=options.allow_paths,
        spark=options.engine == "spark",
    )
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
            Live(type(progress_of(options))) as live,
            _streamed(database, places, options, live) as stream,
            _told(stream, reports, files),
        ):
            if live.on:
                stream.on_idle = lambda: live.tell(stream, now=True)
            for done in stream:
                live.hide()
                reports.add(done)
                live.tell(stream)
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
    from tidelog.stream.source import Arrivals

    return database.stream(
        Arrivals(places, lambda: database._state.book, stdin()),
        options.policy,
        dry_run=options.dry_run,
        progress=live if live.on else None,
    )


@contextmanager
def _told(stream: Stream, reports: Reports, files: Files) -> Iterator[None]:
    """However the block ends, what has taken effect in it is told of everywhere; and if it does
    not end well, in a message. Ctrl-C is looked at where the stream does, and held back else:
    between an update's taking effect and its being told, it would part the two."""
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
                raise  # `| head` has all that it wanted
            note = _applied(reports.updates)
            raise Unread(f"error: nobody reads the deltas any more\n    note: {note}") from None
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


def _settle_dry_run(options: argparse.Namespace) -> None:
    options.output = "-"
    options.deltas = options.deltas or ["-"]
    if options.deltas != ["-"]:
        options.parser.error("argument --dry-run: it writes no files, so --deltas can only be -")


def _refuse_two_readers(options: argparse.Namespace, places: list[Place]) -> None:
    if sum(place.live for place in places) + (options.program == "-") > 1:
        raise TidelogError("error: the standard input can be read only once")
