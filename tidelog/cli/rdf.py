"""`tidelog rdf`: derive and maintain the consequences of RDF by RDFS or OWL 2 RL."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from tidelog.cli import arguments
from tidelog.cli.standard_streams import Interrupted, Unread, fault, out, say, stdin, stdout
from tidelog.control.limits import Limits, LimitWatch, guarded
from tidelog.control.progress import Progress
from tidelog.formats.atomic_files import Staged, check_target
from tidelog.formats.byte_source import pieces_of, whole_lines
from tidelog.program.diagnostics import TidelogError, during, plural
from tidelog.rdf import writers
from tidelog.rdf.change_text import Form, PatchReader, PatchUpdate, form_of, text_of
from tidelog.rdf.formats import FORMATS
from tidelog.rdf.profiles import PROFILES, short
from tidelog.rdf.readers import BLANK_NODES, expand

if TYPE_CHECKING:
    from tidelog.rdf.graph import Graph
    from tidelog.rdf.graph_delta import GraphDelta

DESCRIPTION = """\
Derive the consequences of RDF by RDFS or OWL 2 RL and write them (materialise); apply changes of
data and ontology, and show what they change (apply); or look for contradictions (check). Reads
N-Triples, Turtle, N-Quads, TriG, RDF/XML and JSON-LD. Exit codes: 0 fine, 1 a check found
contradictions, 2 bad input, 130 interrupted."""
EXAMPLE = """\
example:
  $ tidelog rdf materialise people.ttl more/ --ontology family.ttl --profile owl2rl -o all.nt
  $ cat today.rdfp
  TX .
  A <http://example.org/Ann> <http://example.org/parentOf> <http://example.org/Bob> .
  TC .
  $ tidelog rdf apply people.ttl today.rdfp --ontology family.ttl --deltas -
  $ follow-a-log | tidelog rdf apply people.ttl - --ontology family.ttl --deltas -
  $ tidelog rdf check people.ttl --ontology family.ttl --profile owl2rl

DATA are files, folders or globs, or - for the standard input. File names give the format: .nt,
.ttl, .nq, .trig, .rdf, .owl or .jsonld, also with .gz. CHANGES are RDF Patch or signed
N-Triples."""


EXPLAINED = 100  # contradictions that are shown with their triples


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        metavar="ACTION",
        choices=tuple(_ACTIONS),
        help="materialise DATA…, apply DATA… CHANGES, or check DATA…",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="DATA or CHANGES")
    _add_reasoning(parser)
    _add_reading(parser)
    _add_writing(parser)
    arguments.add_limits(parser)


def _add_reasoning(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ontology",
        metavar="FILE",
        action="append",
        default=[],
        help="axioms, in a file like DATA; may be given more than once",
    )
    parser.add_argument(
        "--profile",
        choices=PROFILES,
        default="rdfs",
        help=f"the rules: {', '.join(PROFILES)}; rdfs unless given",
    )
    parser.add_argument(
        "--compiled",
        action="store_true",
        help="compile the ontology into rules over one relation for each class and property",
    )
    parser.add_argument(
        "--algorithm",
        metavar="NAME",
        default="auto",
        help="how consequences are maintained, as for `tidelog apply`",
    )


def _add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=tuple(FORMATS),
        help="the format of DATA, if file names do not give it",
    )
    parser.add_argument("--base", metavar="IRI", help="resolve relative IRIs against this one")
    parser.add_argument(
        "--graph",
        metavar="IRI",
        help="read only this named graph of DATA; otherwise all graphs are merged",
    )
    parser.add_argument(
        "--blank-nodes",
        choices=BLANK_NODES,
        default="apart",
        help="treat blank nodes of different files as different (apart, unless given), or as the "
        "same if they have the same label (keep)",
    )


def _add_writing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write all triples to FILE (.nt, .nt.gz, .ttl, .ttl.gz or .parquet); - prints them as "
        "N-Triples",
    )
    parser.add_argument(
        "--deltas",
        metavar="FILE",
        action="append",
        default=[],
        help="write what each update changed, as RDF Patch (.rdfp) or signed N-Triples "
        "(.changes); - prints it in the form of CHANGES; may be given more than once",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="refuse changes that do nothing, such as removing a triple that is not there",
    )
    parser.add_argument(
        "--stats",
        metavar="FILE.json",
        help="write the number of triples, and the time for reading, reasoning and updates",
    )


_ONLY = {
    "deltas": ("apply",),
    "strict": ("apply",),
    "output": ("materialise", "apply"),
    "stats": ("materialise", "apply"),
}


def main(options: argparse.Namespace) -> int:
    for name, actions in _ONLY.items():
        if getattr(options, name) not in (None, [], False) and options.action not in actions:
            options.parser.error(f"argument --{name}: only with {' and '.join(actions)}")
    try:
        return _ACTIONS[options.action](options)
    except KeyboardInterrupt as stop:
        shown = stop if isinstance(stop, Interrupted) else Interrupted("nothing was written")
        raise shown from None


def _materialise(options: argparse.Namespace) -> int:
    if options.output is None:
        options.parser.error(f"{options.action} requires -o FILE")
    _check_targets(options, options.files)
    stats = RdfStats()
    graph = _opened(options, options.files, stats)
    _warn(graph)
    _write(graph, options.output)
    stats.save(options.stats, graph)
    return 0


def _apply(options: argparse.Namespace) -> int:
    *data, changes = options.files
    if not data:
        options.parser.error("apply takes DATA and, last, CHANGES")
    _check_targets(options, options.files)
    stats = RdfStats()
    graph = _opened(options, data, stats)
    source = _stdin() if changes == "-" else changes
    reader = PatchReader("<stdin>" if changes == "-" else changes)
    with _deltas(options.deltas) as report, _noting_updates(stats, options.output is not None):
        updates = reader.updates(whole_lines(pieces_of(source), reader.file))
        while (update := _next(updates, reader.file, options)) is not None:
            delta = graph.update(update, strict=options.strict)
            stats.add(delta, graph)
            report(delta, reader.form or "patch")
    _warn(graph)
    if options.output is not None:
        _write(graph, options.output)
    elif not options.deltas:
        say("warning: nothing is written\n    -o writes all triples, --deltas writes what changes")
    stats.save(options.stats, graph)
    return 0


def _next(
    updates: Iterator[PatchUpdate], file: str, options: argparse.Namespace
) -> PatchUpdate | None:
    """The next update, if any; waiting for it does not count towards its limit on seconds."""
    memory = Limits(max_memory=arguments.limits(options).max_memory)
    with guarded(LimitWatch(memory, lambda: 0).look), during(f"changes were read from {file}"):
        return next(updates, None)


def _check(options: argparse.Namespace) -> int:
    graph = _opened(options, options.files, RdfStats())
    wrong = graph.inconsistencies()
    named = partial(short, prefixes=graph.prefixes)
    for number, each in enumerate(wrong):
        out(f"{each.rule}: {' '.join(map(named, each.terms))}")
        for triple in graph.causes(each) if number < EXPLAINED else ():
            out(f"    {' '.join(map(named, triple))} .")
    say(plural(len(wrong), "contradiction") if wrong else "consistent")
    return 1 if wrong else 0


_ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "materialise": _materialise,
    "apply": _apply,
    "check": _check,
}


# Opening and writing.


@dataclass
class RdfStats:
    """Counts and times of a command, for --stats."""

    explicit: int = 0
    load_seconds: float = 0.0
    reason_seconds: float = 0.0
    updates: list[dict[str, Any]] = field(default_factory=list)

    def add(self, delta: GraphDelta, graph: Graph) -> None:
        inserted, deleted = len(delta.added), len(delta.removed)
        self.updates.append({"added": inserted, "removed": deleted, "seconds": graph.seconds})

    def save(self, path: str | None, graph: Graph) -> None:
        if path is None:
            return
        text = json.dumps(
            {
                "explicit": self.explicit,
                "triples": len(graph),
                "load_seconds": self.load_seconds,
                "reason_seconds": self.reason_seconds,
                "inconsistencies": len(graph.inconsistencies()),
                "updates": self.updates,
            },
            indent=2,
        )
        with Staged() as staged:
            staged.write(path, [text.encode(), b"\n"], compress=False)
            staged.commit()


def _opened(options: argparse.Namespace, data: list[str], stats: RdfStats) -> Graph:
    from tidelog.rdf.graph import Graph

    if [*options.files, *options.ontology].count("-") > 1:
        raise TidelogError("error: the standard input can be read only once")
    with Progress() as progress:
        graph = Graph(
            options.profile,
            compiled=options.compiled,
            ontology=[_source(name) for name in options.ontology],
            data=[_source(name) for name in data],
            algorithm=options.algorithm,
            limits=arguments.limits(options),
            progress=progress if progress.on else None,
            format=options.format,
            base=options.base,
            graph=options.graph,
            blank_nodes=options.blank_nodes,
        )
    stats.explicit = graph.loaded
    stats.load_seconds = graph.load_seconds
    stats.reason_seconds = graph.database.stats.evaluate_seconds
    return graph


def _source(name: str) -> Any:
    return _stdin() if name == "-" else name


def _stdin() -> Any:
    stream = stdin()
    if stream is None:
        raise TidelogError("error: the standard input is closed")
    return stream


def _check_targets(options: argparse.Namespace, read: list[str]) -> None:
    """Refuse targets that are not writable, or that would overwrite an input."""
    names = [each for each in (*read, *options.ontology) if each != "-"]
    inputs = {os.path.realpath(os.fspath(each)) for each in expand(names)}  # type: ignore[arg-type]
    for path in (options.output, *options.deltas, options.stats):
        if path is not None and path != "-":
            check_target(path)
            if os.path.realpath(path) in inputs:
                raise TidelogError(
                    f"error: {path} is an input and would be overwritten\n"
                    "    choose another file name"
                )
    if options.output not in (None, "-"):
        writers.format_of(options.output)
    for path in options.deltas:
        if path != "-":
            form_of(path)


def _warn(graph: Graph) -> None:
    if wrong := len(graph.inconsistencies()):
        where = "one place" if wrong == 1 else f"{wrong:,} places"
        say(
            f"warning: the graph contradicts itself in {where}\n    `tidelog rdf check` shows where"
        )


def _write(graph: Graph, path: str) -> None:
    if path == "-":
        stdout().writelines(writers.pieces(graph.columns(), "ntriples"))
    else:
        graph.write(path)


@contextmanager
def _deltas(paths: list[str]) -> Iterator[Callable[[GraphDelta, Form], None]]:
    """A function that prints deltas at once, and keeps them for files, which are written at the
    end, also if a later update fails."""
    kept: dict[str, list[bytes]] = {path: [] for path in paths if path != "-"}

    def report(delta: GraphDelta, form: Form) -> None:
        if "-" in paths:
            stdout().write(text_of(delta, form).encode())
            stdout().flush()
        for path, texts in kept.items():
            texts.append(text_of(delta, form_of(path)).encode())

    try:
        yield report
    finally:
        with Staged() as staged:
            for path, texts in kept.items():
                staged.write(path, texts, compress=path.endswith(".gz"))
            staged.commit()


@contextmanager
def _noting_updates(stats: RdfStats, more: bool) -> Iterator[None]:
    """Add to errors how many updates were applied before."""

    def applied() -> str:
        done = len(stats.updates)
        many = "no update was" if not done else "1 update was" if done == 1 else f"{done:,} were"
        return f"{many} applied before; no triples were written"

    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(applied()) from None
    except BrokenPipeError:
        if not more:
            raise  # `| head` has read enough
        text = "error: the reader of the deltas has closed its input"
        raise Unread(f"{text}\n    note: {applied()}") from None
    except TidelogError as error:
        raise TidelogError(f"{fault(str(error))}\n    note: {applied()}") from None
