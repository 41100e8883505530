"""`tidelog pipeline`: keep tables and feeds up to date while sources change."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli import arguments
from tidelog.cli.open_database import warn
from tidelog.cli.standard_streams import Interrupted, out, say
from tidelog.control.terminal import is_terminal
from tidelog.formats.atomic_files import Staged, check_target
from tidelog.pipeline.pipeline import Pipeline
from tidelog.pipeline.settings import TRIGGERS, Trigger
from tidelog.program.diagnostics import TidelogError

if TYPE_CHECKING:
    from tidelog.pipeline.pipeline import Summary
    from tidelog.pipeline.run import Done

DESCRIPTION = """\
Keep tables up to date while sources change, on Spark: read changes from files, sockets, Kafka or
any other source that Spark can stream, map them to relations of a program, maintain its
consequences, and write them as tables and as feeds of changes. Every batch is a version: a crash
loses and repeats nothing. Ctrl-C ends a run between two batches. Exit codes: 0 fine, 2 bad
input, 130 interrupted."""
EXAMPLE = """\
example:
  $ cat pipeline.toml
  program = "reach.dl"
  state = "state"

  [source.edges]
  format = "csv"
  path = "changes"
  schema = "op string, x long, y long"
  mode = "signed"
  relation = "edge"

  [sink.paths]
  relation = "path"
  path = "out/path"
  $ tidelog pipeline check pipeline.toml     look for mistakes, without Spark
  $ tidelog pipeline run pipeline.toml       process all available changes
  $ tidelog pipeline status pipeline.toml    the last version, its sources and sinks"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        metavar="ACTION",
        choices=tuple(_ACTIONS),
        help="run (process changes and write sinks), check (look for mistakes, without Spark) or "
        "status (show the last version)",
    )
    parser.add_argument("pipeline", metavar="PIPELINE.toml", help="the description of the pipeline")
    parser.add_argument(
        "--trigger",
        choices=TRIGGERS,
        help="process all available changes and end (available-now), the same in one batch "
        "(once), or run until Ctrl-C (continuous); overrides the file",
    )
    parser.add_argument(
        "--adopt",
        metavar="SOURCE",
        action="append",
        default=[],
        help="accept that SOURCE has a new checkpoint, and read it from its beginning; may be "
        "given more than once",
    )
    parser.add_argument(
        "--stats",
        metavar="FILE.json",
        help="write statistics of each version: batch, changes, facts, seconds",
    )
    arguments.add_no_warnings(parser)


def main(options: argparse.Namespace) -> int:
    pipeline = Pipeline.load(options.pipeline)
    if options.action != "run":
        for name in ("trigger", "adopt", "stats"):
            if getattr(options, name):
                options.parser.error(f"argument --{name}: only with run")
    return _ACTIONS[options.action](pipeline, options)


def _run(pipeline: Pipeline, options: argparse.Namespace) -> int:
    if options.trigger is not None:
        pipeline.trigger = Trigger(options.trigger, pipeline.trigger.interval)
    known = {source.name for source in pipeline.sources}
    for name in options.adopt:
        if name not in known:
            raise TidelogError(f"error: argument --adopt: unknown source {name}")
    if options.stats is not None:
        check_target(options.stats)
    if not options.no_warnings:
        warn(pipeline.accept())
    made: list[Done] = []
    shown = is_terminal(sys.stderr)

    def show(done: Done) -> None:
        made.append(done)
        if shown:
            say(str(done))

    try:
        summary = pipeline.run(adopt=options.adopt, show=show)
    except KeyboardInterrupt:
        raise Interrupted("the version before is complete") from None
    finally:
        _save(options.stats, made)
    return _ended(summary)


def _ended(summary: Summary) -> int:
    if summary.interrupted:
        raise Interrupted(f"version {summary.version} is complete")
    return 0


def _save(path: str | None, made: list[Done]) -> None:
    if path is not None:
        with Staged() as staged:
            text = json.dumps({"versions": [asdict(done) for done in made]}, indent=2)
            staged.write(path, [text.encode(), b"\n"], compress=False)
            staged.commit()


def _check(pipeline: Pipeline, options: argparse.Namespace) -> int:
    accepted = pipeline.check()
    if not options.no_warnings:
        warn(accepted)
    return 0


def _status(pipeline: Pipeline, options: argparse.Namespace) -> int:
    last = pipeline.status()
    if last is None:
        out(f"no version yet in {pipeline.state}")
        return 0
    out(f"version {last.version}: {last.cause}")
    for source in pipeline.sources:
        taken = last.sources.get(source.name)
        what = f"batches up to {taken.batch}" if taken is not None else "no batch yet"
        out(f"source {source.name}: {what if source.stream else 'read'}")
    for sink in pipeline.sinks:
        held = last.sinks.get(sink.name)
        since = f"version {held['version']}" if held is not None else "nothing yet"
        where = f" in {Path(sink.path)}" if sink.path is not None else ""
        out(f"sink {sink.name}: {since} of {sink.relation}{where}")
    return 0


_ACTIONS = {"run": _run, "check": _check, "status": _status}
