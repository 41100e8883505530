"""The registry of RDF's formats, by the names that options and messages use."""

from __future__ import annotations

from typing import NamedTuple


class RdfFormat(NamedTuple):
    """A format that pyoxigraph parses, under this name."""

    parser: str
    endings: tuple[str, ...]
    graphs: bool = False  # may it have named graphs?
    written: bool = False  # do we write it, too?


FORMATS = {
    "ntriples": RdfFormat("N_TRIPLES", (".nt",), written=True),
    "turtle": RdfFormat("TURTLE", (".ttl",), written=True),
    "nquads": RdfFormat("N_QUADS", (".nq",), graphs=True),
    "trig": RdfFormat("TRIG", (".trig",), graphs=True),
    "rdfxml": RdfFormat("RDF_XML", (".rdf", ".owl", ".xml")),
    "jsonld": RdfFormat("JSON_LD", (".jsonld", ".json"), graphs=True),
}
ENDINGS = {ending: name for name, each in FORMATS.items() for ending in each.endings}
WRITTEN = {ending: name for ending, name in ENDINGS.items() if FORMATS[name].written}
WRITTEN[".parquet"] = "parquet"
