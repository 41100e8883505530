"""Hypothesis strategies for terms and triples: escapes, Unicode, languages, datatypes."""

from __future__ import annotations

from hypothesis import strategies as st

from tidelog.rdf.rdf_terms import Triple, blank, iri, literal

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_ODD = st.sampled_from(
    ["", " ", "\n", "\t", '"', "\\", "\\n", "\r", "é", "𝄞", "\u2028", "\x7f", "a .", "<<", "_:a"]
)
# Characters that an IRI may contain unescaped.
_PATH = st.text("abcXYZ019-._~!$&'()*+,;=:@/?é中", max_size=10)
IRIS = _PATH.map(lambda path: f"http://example.org/{path}")
_LANGUAGES = st.sampled_from(["en", "de-ch", "zh-hant-tw", "x-private"])
_DATATYPES = st.sampled_from(
    [
        "http://www.w3.org/2001/XMLSchema#integer",
        "http://www.w3.org/2001/XMLSchema#dateTime",
        "http://example.org/ownType",
    ]
)
_CONTENT = st.one_of(TEXTS, _ODD)
LITERALS = st.one_of(
    _CONTENT.map(literal),
    st.builds(lambda text, tag: literal(text, language=tag), _CONTENT, _LANGUAGES),
    st.builds(lambda text, kind: literal(text, datatype=kind), _CONTENT, _DATATYPES),
)
BLANKS = st.from_regex(r"[A-Za-z0-9_]{1,6}", fullmatch=True).map(blank)
NAMED = IRIS.map(iri)
TERMS = st.one_of(NAMED, BLANKS, LITERALS)
TRIPLES: st.SearchStrategy[Triple] = st.tuples(st.one_of(NAMED, BLANKS), NAMED, TERMS)
