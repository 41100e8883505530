"""Inconsistencies, and the triples that cause them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tidelog.rdf.profiles import iri
from tidelog.rdf.rdf_terms import Triple

Pattern = tuple[str | None, str | None, str | None]
Find = Callable[[Pattern], Sequence[Triple]]


class Inconsistency(NamedTuple):
    """A contradiction: the W3C's name of the rule that detects it, and the terms involved."""

    rule: str
    terms: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.rule}: {' '.join(self.terms)}"


# Premises by rule: a, b and c are the terms of the inconsistency, other letters are variables.
PREMISES = {
    "eq-diff1": "a owl:differentFrom b, a owl:sameAs b",
    "eq-diff2": "a rdf:type owl:AllDifferent, a owl:members l, b owl:sameAs c",
    "eq-diff3": "a rdf:type owl:AllDifferent, a owl:distinctMembers l, b owl:sameAs c",
    "prp-irp": "a rdf:type owl:IrreflexiveProperty, b a b",
    "prp-asyp": "a rdf:type owl:AsymmetricProperty, b a c, c a b",
    "prp-pdw": "a owl:propertyDisjointWith b, c a y, c b y",
    "prp-adp": "c a y, c b y",
    "prp-npa1": "a owl:sourceIndividual b, a owl:assertionProperty p, a owl:targetIndividual c, "
    "b p c",
    "prp-npa2": "a owl:sourceIndividual b, a owl:assertionProperty p, a owl:targetValue c, b p c",
    "cls-nothing2": "a rdf:type owl:Nothing",
    "cls-com": "a owl:complementOf b, c rdf:type a, c rdf:type b",
    "cls-maxc1": "a owl:maxCardinality n, a owl:onProperty p, b rdf:type a, b p c",
    "cls-maxqc1": "a owl:maxQualifiedCardinality n, a owl:onProperty p, a owl:onClass k, "
    "b rdf:type a, b p c, c rdf:type k",
    "cls-maxqc2": "a owl:maxQualifiedCardinality n, a owl:onProperty p, a owl:onClass owl:Thing, "
    "b rdf:type a, b p c",
    "cax-dw": "a owl:disjointWith b, c rdf:type a, c rdf:type b",
    "cax-adc": "c rdf:type a, c rdf:type b",
    "dt-diff": "x p a, x p b",
    "dt-not-type": "x p a",
}


def causes(wrong: Inconsistency, find: Find) -> list[Triple]:
    """The triples that contradict each other; the first such set if there are several.

    `find` returns the triples that match a pattern. Premises without a matching triple are
    omitted, for example that a term is the same as itself.
    """
    names = dict(zip("abc", wrong.terms, strict=False))
    atoms = [tuple(atom.split()) for atom in PREMISES.get(wrong.rule, "").split(", ") if atom]
    held = [atom for atom in atoms if find(_pattern(atom, names))]
    return next(_solutions(held, names, find), [])


def _solutions(
    atoms: Sequence[tuple[str, ...]], names: Mapping[str, str], find: Find
) -> Iterator[list[Triple]]:
    """The sets of triples that satisfy all premises."""
    if not atoms:
        yield []
        return
    for triple in find(_pattern(atoms[0], names)):
        free = {word: term for word, term in zip(atoms[0], triple, strict=True) if len(word) == 1}
        if all(names.get(word, term) == term for word, term in free.items()):
            for rest in _solutions(atoms[1:], {**names, **free}, find):
                yield [triple, *rest]


def _pattern(atom: Sequence[str], names: Mapping[str, str]) -> Pattern:
    s, p, o = (names.get(word) if len(word) == 1 else iri(word) for word in atom)
    return s, p, o
