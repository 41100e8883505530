"""`tidelog rdf`: keep what follows from triples by RDFS or OWL 2 RL."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidelog.cli import arguments
from tidelog.cli.terminal import Interrupted, Unread, fault, out, say, stdin, stdout
from tidelog.io.atomic import Staged, check_target
from tidelog.io.lines import pieces_of, whole_lines
from tidelog.program.diagnostics import TidelogError
from tidelog.progress import Progress, is_terminal
from tidelog.rdf import generate, writing
from tidelog.rdf.columns import Columns
from tidelog.rdf.patch import Form, PatchReader, form_of, text_of
from tidelog.rdf.profiles import PROFILES
from tidelog.rdf.reading import BLANK_NODES, FORMATS, found

if TYPE_CHECKING:
    from tidelog.rdf.changing import GraphDelta
    from tidelog.rdf.graph import Graph

DESCRIPTION = """\
Read RDF (N-Triples, Turtle, N-Quads, TriG, RDF/XML, JSON-LD), derive all that follows by RDFS or
OWL 2 RL, and write it (materialise); apply changes of data and ontology, and tell what they change
(apply); look for contradictions (check); or make data for tests (generate). Exit codes: 0 fine,
1 a check found contradictions, 2 bad input, 130 interrupted."""
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
  $ tidelog rdf generate lubm --universities 2 -o lubm.nt.gz

DATA are files, folders or globs, in a format that their names tell (.nt, .ttl, .nq, .trig, .rdf,
.owl, .jsonld; .gz), or - for the standard input. CHANGES are RDF Patch or signed N-Triples."""


EXPLAINED = 100  # contradictions that are told with their triples


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        metavar="ACTION",
        choices=tuple(_ACTIONS),
        help="materialise DATA…, apply DATA… CHANGES, check DATA…, or generate KIND, which is "
        "lubm, clique or skos",
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="DATA, CHANGES or KIND")
    _add_reasoning(parser)
    _add_reading(parser)
    _add_writing(parser)
    _add_generating(parser)
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
        help="the rules: none, rdfs (unless given) or owl2rl",
    )
    parser.add_argument(
        "--compiled",
        action="store_true",
        help="turn the ontology into rules over a relation for each class and property",
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
        help="the format of DATA, whatever their names say",
    )
    parser.add_argument("--base", metavar="IRI", help="what relative IRIs are relative to")
    parser.add_argument(
        "--graph",
        metavar="IRI",
        help="take the triples of this named graph of DATA only; otherwise all graphs are merged",
    )
    parser.add_argument(
        "--blank-nodes",
        choices=BLANK_NODES,
        default="apart",
        help="are those of different files different (apart, unless given), or does a label mean "
        "the same everywhere (keep)?",
    )


def _add_writing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where all triples go: .nt, .ttl or .parquet, also .nt.gz and .ttl.gz; - prints them "
        "as N-Triples; for generate also a folder, for facts",
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
        help="write how many triples there are, and what reading, reasoning and updates took",
    )


def _add_generating(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is generated")
    counts = {
        "universities": "of lubm: about 100,000 triples each (1 unless given)",
        "cliques": "of clique: how many (1 unless given)",
        "size": "of clique: terms in each (100 unless given)",
        "depth": "of skos: levels of concepts (6 unless given)",
        "branches": "of skos: narrower concepts of each (4 unless given)",
    }
    for name, about in counts.items():
        group.add_argument(f"--{name}", metavar="N", type=arguments.count, help=about)
    group.add_argument("--seed", metavar="N", type=int, help="other data (0 unless given)")


_ONLY = {
    "deltas": ("apply",),
    "strict": ("apply",),
    "output": ("materialise", "apply", "generate"),
    "stats": ("materialise", "apply"),
    **dict.fromkeys(("universities", "cliques", "size", "depth", "branches"), ("generate",)),
    "seed": ("generate",),
}


def main(options: argparse.Namespace) -> int:
    for name, actions in _ONLY.items():
        if getattr(options, name) not in (None, [], False) and options.action not in actions:
            options.parser.error(f"argument --{name}: only with {' and '.join(actions)}")
    try:
        return _ACTIONS[options.action](options)
    except KeyboardInterrupt as stop:
        told = stop if isinstance(stop, Interrupted) else Interrupted("nothing was written")
        raise told from None


def _materialise(options: argparse.Namespace) -> int:
    if options.output is None:
        options.parser.error("argument -o: it says where the triples go")
    _check_targets(options, options.files)
    stats = Stats()
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
    stats = Stats()
    graph = _opened(options, data, stats)
    source = _stdin() if changes == "-" else changes
    reader = PatchReader("<stdin>" if changes == "-" else changes)
    with _deltas(options.deltas) as tell, _told(stats, options.output is not None):
        for update in reader.updates(whole_lines(pieces_of(source), reader.file)):
            delta = graph.update(update, strict=options.strict)
            stats.add(delta, graph)
            tell(delta, reader.form or "patch")
    _warn(graph)
    if options.output is not None:
        _write(graph, options.output)
    elif not options.deltas:
        say("warning: nothing is written\n    -o writes all triples, --deltas what changes")
    stats.save(options.stats, graph)
    return 0


def _check(options: argparse.Namespace) -> int:
    graph = _opened(options, options.files, Stats())
    wrong = graph.inconsistencies()
    for number, each in enumerate(wrong):
        out(str(each))
        for triple in graph.causes(each) if number < EXPLAINED else ():
            out(f"    {' '.join(triple)} .")
    many = "1 contradiction" if len(wrong) == 1 else f"{len(wrong):,} contradictions"
    say(many if wrong else "consistent")
    return 1 if wrong else 0


def _generate(options: argparse.Namespace) -> int:
    if len(options.files) != 1 or options.files[0] not in _KINDS:
        options.parser.error(f"generate takes one of {', '.join(_KINDS)}")
    if options.output is None:
        options.parser.error("argument -o: it says where the triples go")
    make, wanted = _KINDS[options.files[0]]
    unused = {name for _, names in _KINDS.values() for name in names.values()}
    for name in sorted(unused - {*wanted.values()}):
        if getattr(options, name) is not None:
            options.parser.error(f"argument --{name}: not with {options.files[0]}")
    given = {key: getattr(options, name) for key, name in (*wanted.items(), ("seed", "seed"))}
    triples = make(**{key: value for key, value in given.items() if value is not None})
    if os.path.isdir(options.output):
        _write_facts(options.output, generate.facts(triples))
    elif options.output == "-":
        stdout().writelines(writing.pieces(Columns.of(triples), "ntriples"))
    else:
        writing.check(options.output)
        writing.write(options.output, Columns.of(triples))
    return 0


# What makes each kind, and the options that its arguments are called on the command line.
_KINDS: dict[str, tuple[Callable[..., Any], dict[str, str]]] = {
    "lubm": (generate.lubm, {"universities": "universities"}),
    "clique": (generate.cliques, {"count": "cliques", "size": "size"}),
    "skos": (generate.skos, {"depth": "depth", "branches": "branches"}),
}
_ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "materialise": _materialise,
    "apply": _apply,
    "check": _check,
    "generate": _generate,
}


def _write_facts(folder: str, facts: dict[str, list[tuple[str, ...]]]) -> None:
    """A file of facts for each class and property; terms have no tabs or line ends in them."""
    with Staged() as staged:
        for name, rows in facts.items():
            text = "".join("\t".join(row) + "\n" for row in rows)
            path = os.path.join(folder, f"{name}.facts")
            staged.write(path, [text.encode()], compress=False)
        staged.commit()


# Opening and writing.


@dataclass
class Stats:
    """What a command did and took, for --stats."""

    explicit: int = 0
    load_seconds: float = 0.0
    reason_seconds: float = 0.0
    updates: list[dict[str, Any]] = field(default_factory=list)

    def add(self, delta: GraphDelta, graph: Graph) -> None:
        came, went = len(delta.added), len(delta.removed)
        self.updates.append({"added": came, "removed": went, "seconds": graph.seconds})

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


def _opened(options: argparse.Namespace, data: list[str], stats: Stats) -> Graph:
    from tidelog.engines.local import cache
    from tidelog.rdf.graph import Graph

    if [*options.files, *options.ontology].count("-") > 1:
        raise TidelogError("error: the standard input can be read only once")
    if is_terminal(sys.stderr) and not cache.is_warm():
        say("compiling kernels, once: about 20 seconds")
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
    """Refuse at once what could not be written later, or would replace what is read."""
    names = [each for each in (*read, *options.ontology) if each != "-"]
    inputs = {os.path.realpath(os.fspath(each)) for each in found(names)}  # type: ignore[arg-type]
    for path in (options.output, *options.deltas, options.stats):
        if path is not None and path != "-":
            check_target(path)
            if os.path.realpath(path) in inputs:
                raise TidelogError(
                    f"error: {path} is read, and would be overwritten\n    choose another file name"
                )
    if options.output not in (None, "-"):
        writing.format_of(options.output)
    for path in options.deltas:
        if path != "-":
            form_of(path)


def _warn(graph: Graph) -> None:
    if wrong := len(graph.inconsistencies()):
        where = "one place" if wrong == 1 else f"{wrong:,} places"
        say(
            f"warning: the graph contradicts itself in {where}\n    `tidelog rdf check` tells where"
        )


def _write(graph: Graph, path: str) -> None:
    if path == "-":
        stdout().writelines(writing.pieces(graph.columns(), "ntriples"))
    else:
        graph.write(path)


@contextmanager
def _deltas(paths: list[str]) -> Iterator[Callable[[GraphDelta, Form], None]]:
    """What takes deltas: it prints them at once, and keeps them for files, which are written at
    the end, also if an update after them is at fault."""
    kept: dict[str, list[bytes]] = {path: [] for path in paths if path != "-"}

    def tell(delta: GraphDelta, form: Form) -> None:
        if "-" in paths:
            stdout().write(text_of(delta, form).encode())
            stdout().flush()
        for path, texts in kept.items():
            texts.append(text_of(delta, form_of(path)).encode())

    try:
        yield tell
    finally:
        with Staged() as staged:
            for path, texts in kept.items():
                staged.write(path, texts, compress=path.endswith(".gz"))
            staged.commit()


@contextmanager
def _told(stats: Stats, more: bool) -> Iterator[None]:
    """Ends with a word on what was applied, if it does not end well."""

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
            raise  # `| head` has all that it wanted
        text = "error: nobody reads the deltas any more"
        raise Unread(f"{text}\n    note: {applied()}") from None
    except TidelogError as error:
        raise TidelogError(f"{fault(str(error))}\n    note: {applied()}") from None
