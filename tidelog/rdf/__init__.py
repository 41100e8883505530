"""Ontologies: RDF in and out, and its consequences kept while triples and axioms change."""

from tidelog.rdf.changing import GraphDelta, GraphTransaction
from tidelog.rdf.graph import Graph, Inconsistency
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
