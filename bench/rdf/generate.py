"""Sample data: universities, cliques of equal terms, hierarchies of concepts.

    python -m bench.rdf.generate lubm [--universities N] [--seed N] OUTPUT
    python -m bench.rdf.generate cliques [--count N] [--size N] [--facts N] [--seed N] OUTPUT
    python -m bench.rdf.generate skos [--depth N] [--branches N] [--related N] [--seed N] OUTPUT

OUTPUT is a file (.nt, .nt.gz, .ttl, .ttl.gz or .parquet), a folder for facts, one relation per
class and property, or - to print N-Triples. The same arguments produce the same triples on every
machine.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

from bench.rdf.lubm import lubm
from tidelog.rdf import writers
from tidelog.rdf.rdf_terms import OWL, RDF, SKOS, Namespace, Triple
from tidelog.rdf.triple_columns import Columns

EX = Namespace("http://example.org/")


def ontology(name: str) -> str:
    """The Turtle text of a bundled ontology: univ-bench or skos."""
    return (Path(__file__).parent / "ontologies" / f"{name}.ttl").read_text("utf-8")


def cliques(count: int = 1, size: int = 100, facts: int = 3, seed: int = 0) -> Iterator[Triple]:
    """Cliques of equal terms: a random tree of owl:sameAs, and triples about each term.

    A clique of n terms has n - 1 explicit links, from which n² equalities follow.

    >>> len(list(cliques(count=2, size=5, facts=1)))
    18
    """
    random = Random(f"{seed}/cliques")
    for clique in range(count):
        terms = [EX[f"c{clique}/t{number}"] for number in range(size)]
        for number in range(1, size):
            yield terms[random.randrange(number)], OWL.sameAs, terms[number]
        for term in terms:
            for number in range(facts):
                yield term, EX[f"p{number}"], EX[f"v{random.randrange(10 * size)}"]


def skos(depth: int = 6, branches: int = 4, related: int = 0, seed: int = 0) -> Iterator[Triple]:
    """A concept scheme: a tree of this depth, with this many narrower concepts per concept.

    >>> sum(p == SKOS.broader for s, p, o in skos(depth=2, branches=3))
    12
    """
    random = Random(f"{seed}/skos")
    scheme, top = EX.scheme, EX.k
    yield scheme, RDF.type, SKOS.ConceptScheme
    yield from _concept(top, scheme)
    yield top, SKOS.topConceptOf, scheme
    concepts, level = [top], [top]
    for _ in range(depth):
        below = []
        for broader in level:
            for number in range(branches):
                concept = f"{broader[:-1]}.{number}>"
                below.append(concept)
                yield from _concept(concept, scheme)
                yield concept, SKOS.broader, broader
        concepts += below
        level = below
    for _ in range(related):
        yield random.choice(concepts), SKOS.related, random.choice(concepts)


def _concept(concept: str, scheme: str) -> Iterator[Triple]:
    yield concept, RDF.type, SKOS.Concept
    yield concept, SKOS.inScheme, scheme
    yield concept, SKOS.prefLabel, f'"{concept.rpartition("/")[2][:-1]}"@en'


def facts(triples: Iterable[Triple]) -> dict[str, list[tuple[str, ...]]]:
    """Triples as facts of one relation per class and property, named by the end of the IRI.

    >>> facts([("<a:x>", RDF.type, "<http://e/Cat>"), ("<a:x>", "<http://e/likes>", "<a:y>")])
    {'Cat': [('<a:x>',)], 'likes': [('<a:x>', '<a:y>')]}
    """
    found: dict[str, list[tuple[str, ...]]] = {}
    for s, p, o in triples:
        if p == RDF.type:
            found.setdefault(_last(o), []).append((s,))
        else:
            found.setdefault(_last(p), []).append((s, o))
    return found


def _last(iri: str) -> str:
    return iri[1:-1].replace("#", "/").rpartition("/")[2]


KINDS: dict[str, Callable[..., Iterator[Triple]]] = {
    "lubm": lubm,
    "cliques": cliques,
    "skos": skos,
}


def write(triples: Iterable[Triple], output: str) -> None:
    if output == "-":
        sys.stdout.buffer.writelines(writers.pieces(Columns.of(triples), "ntriples"))
    elif Path(output).is_dir():
        for name, rows in facts(triples).items():
            text = "".join("\t".join(row) + "\n" for row in rows)
            (Path(output) / f"{name}.facts").write_text(text, encoding="utf-8")
    else:
        writers.check(output)
        writers.write(output, Columns.of(triples))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = parser.add_subparsers(dest="kind", required=True)
    for name, generate in KINDS.items():
        kind = kinds.add_parser(name)
        for option in inspect.signature(generate).parameters.values():
            kind.add_argument(f"--{option.name}", type=int, default=option.default)
        kind.add_argument("output")
    options = vars(parser.parse_args(arguments))
    generate, output = KINDS[options.pop("kind")], options.pop("output")
    write(generate(**options), output)


if __name__ == "__main__":
    main()
