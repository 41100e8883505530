"""Triples as N-Triples, Turtle and Parquet."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tidelog.formats.atomic_files import Staged, check_target
from tidelog.formats.byte_source import FileFault
from tidelog.rdf.formats import WRITTEN
from tidelog.rdf.rdf_terms import OWL, RDF, RDFS, XSD, oxigraph
from tidelog.rdf.triple_columns import Columns

COLUMNS = ("subject", "predicate", "object")
USUAL = {"rdf": str(RDF), "rdfs": str(RDFS), "owl": str(OWL), "xsd": str(XSD)}
_BATCH = 1 << 16  # triples per piece


def format_of(path: str) -> str:
    """The format that a file name implies.

    >>> format_of("out/all.nt.gz")
    'ntriples'
    """
    known = WRITTEN.get(Path(path.removesuffix(".gz")).suffix.lower())
    if known is None or (known == "parquet" and path.endswith(".gz")):
        advice = f"use one of the endings {', '.join(WRITTEN)}; .gz compresses text formats"
        raise FileFault(f"cannot infer the format of {path} from its name", advice)
    return known


def check(path: str) -> None:
    """Reject a path that `write` could not write to."""
    format_of(path)
    check_target(path)


def write(path: str, triples: Columns, prefixes: Mapping[str, str] | None = None) -> None:
    """Write sorted triples to a file, atomically."""
    form = format_of(path)
    with Staged() as staged:
        staged.write(path, pieces(triples, form, prefixes), compress=path.endswith(".gz"))
        staged.commit()


def pieces(
    triples: Columns, form: str, prefixes: Mapping[str, str] | None = None
) -> Iterator[bytes]:
    """The bytes of sorted triples in a format."""
    triples = triples.sorted()
    if form == "parquet":
        return _parquet(triples)
    return _turtle(triples, prefixes) if form == "turtle" else ntriples(triples)


def ntriples(triples: Columns) -> Iterator[bytes]:
    """N-Triples in the order of the triples."""
    words = triples.words
    for start in range(0, len(triples), _BATCH):
        some = triples.where(np.arange(start, min(start + _BATCH, len(triples))))
        rows = zip(some.s.tolist(), some.p.tolist(), some.o.tolist(), strict=True)
        lines = [f"{words[s]} {words[p]} {words[o]} .\n" for s, p, o in rows]
        yield "".join(lines).encode()


def _turtle(triples: Columns, prefixes: Mapping[str, str] | None) -> Iterator[bytes]:
    """Turtle from pyoxigraph, which groups by subject."""
    ox = oxigraph()
    lines = b"".join(ntriples(triples))
    used = {**USUAL, **(prefixes or {})}
    known = {name: start for name, start in used.items() if f"<{start}".encode() in lines}
    quads = ox.parse(lines, ox.RdfFormat.N_TRIPLES)
    yield ox.serialize(quads, format=ox.RdfFormat.TURTLE, prefixes=known)


def to_arrow(triples: Columns) -> Any:
    """An Arrow table with the columns subject, predicate and object, dictionary-encoded."""
    import pyarrow as pa

    words = pa.array(list(triples.words), type=pa.string())
    parts = [
        pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), words)
        for codes in (triples.s, triples.p, triples.o)
    ]
    return pa.table(parts, names=list(COLUMNS))


def _parquet(triples: Columns) -> Iterator[bytes]:
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(to_arrow(triples), buffer, compression="zstd")
    yield buffer.getvalue()
