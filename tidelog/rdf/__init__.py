"""RDF graphs with RDFS or OWL 2 RL entailment, maintained while triples and axioms change."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.rdf.contradictions import Inconsistency
    from tidelog.rdf.graph import Graph
    from tidelog.rdf.graph_delta import GraphDelta
    from tidelog.rdf.graph_transaction import GraphTransaction
    from tidelog.rdf.rdf_terms import (
        OWL,
        RDF,
        RDFS,
        SKOS,
        XSD,
        Namespace,
        Triple,
        blank,
        iri,
        literal,
    )
    from tidelog.rdf.readers import Reader

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

# Imported on first use, so that generating data does not load Numba.
_HOMES = {
    "tidelog.rdf.graph_delta": ("GraphDelta",),
    "tidelog.rdf.graph_transaction": ("GraphTransaction",),
    "tidelog.rdf.contradictions": ("Inconsistency",),
    "tidelog.rdf.graph": ("Graph",),
    "tidelog.rdf.readers": ("Reader",),
    "tidelog.rdf.rdf_terms": (
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
