"""The same closure by other reasoners, as engine terms."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import owlrl
import rdflib
import reasonable

from tests.rdf.notation import Triple

_LITERAL = re.compile(r'"(.*)"(?:\^\^<(.*)>|@(.*))?')


def to_rdflib(triples: Iterable[Triple]) -> rdflib.Graph:
    graph = rdflib.Graph()
    for triple in triples:
        graph.add(tuple(map(_node, triple)))
    return graph


def _node(term: str) -> Any:
    if term.startswith("<"):
        return rdflib.URIRef(term[1:-1])
    if term.startswith("_:"):
        return rdflib.BNode(term[2:])
    found = _LITERAL.fullmatch(term)
    assert found
    datatype = rdflib.URIRef(found[2]) if found[2] else None
    return rdflib.Literal(found[1], datatype=datatype, lang=found[3], normalize=False)


def _term(node: Any) -> str:
    if isinstance(node, rdflib.URIRef):
        return f"<{node}>"
    if isinstance(node, rdflib.BNode):
        return f"_:{node}"
    if node.language:
        return f'"{node}"@{node.language.lower()}'
    plain = node.datatype is None or node.datatype == rdflib.XSD.string
    return f'"{node}"' if plain else f'"{node}"^^<{node.datatype}>'


def by_owlrl(profile: str, triples: Iterable[Triple], *, axioms: bool = False) -> set[Triple]:
    graph = to_rdflib(triples)
    kinds = {"rdfs": owlrl.RDFS_Semantics, "owl2rl": owlrl.OWLRL_Semantics}
    owlrl.DeductiveClosure(kinds[profile], axiomatic_triples=axioms).expand(graph)
    return {(_term(s), _term(p), _term(o)) for s, p, o in graph}


def by_reasonable(triples: Iterable[Triple]) -> set[Triple]:
    reasoner = reasonable.PyReasoner()
    reasoner.from_graph(to_rdflib(triples))
    return {(_term(s), _term(p), _term(o)) for s, p, o in reasoner.reason()}
