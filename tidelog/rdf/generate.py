"""Sample data: universities, cliques of equal terms, hierarchies of concepts.

The same arguments produce the same triples on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.resources import files
from random import Random

from tidelog.rdf.lubm import lubm
from tidelog.rdf.rdf_terms import OWL, RDF, SKOS, Namespace, Triple

__all__ = ["cliques", "facts", "lubm", "ontology", "skos"]

EX = Namespace("http://example.org/")


def ontology(name: str) -> str:
    """The Turtle text of a bundled ontology: univ-bench or skos."""
    return (files("tidelog.rdf") / "ontologies" / f"{name}.ttl").read_text("utf-8")


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
