"""Ontologies: RDF in and out, and its consequences kept while triples and axioms change."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.rdf.changing import GraphDelta, GraphTransaction
    from tidelog.rdf.contradictions import Inconsistency
    from tidelog.rdf.graph import Graph
    from tidelog.rdf.reading import Reader
    from tidelog.rdf.terms import OWL, RDF, RDFS, SKOS, XSD, Namespace, Triple, blank, iri, literal

__all__ = [
    "OWL",
    "RDF",
    "RDFS",
    "SKOS",
    "XSD",
    "Graph",
    "GraphDelta",
    "GraphTransaction",
    "Inconsistency",
    "Namespace",
    "Reader",
    "Triple",
    "blank",
    "iri",
    "literal",
]

# Imported on first use: what generates data, or looks at options, needs no compiler.
_HOMES = {
    "tidelog.rdf.changing": ("GraphDelta", "GraphTransaction"),
    "tidelog.rdf.contradictions": ("Inconsistency",),
    "tidelog.rdf.graph": ("Graph",),
    "tidelog.rdf.reading": ("Reader",),
    "tidelog.rdf.terms": (
        *("OWL", "RDF", "RDFS", "SKOS", "XSD"),
        *("Namespace", "Triple", "blank", "iri", "literal"),
    ),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(importlib.import_module(home), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
