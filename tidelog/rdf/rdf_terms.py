"""RDF terms as engine symbols, in N-Triples notation.

The first character is the kind: `<` an IRI, `_` a blank node, `"` a literal. The text is canonical,
as pyoxigraph writes it: no xsd:string datatype, language tags in lower case, and only required
escapes. Equal terms are therefore equal symbols.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from tidelog.program.diagnostics import DataError

if TYPE_CHECKING:
    import rdflib.term

Triple = tuple[str, str, str]
Kind = Literal["iri", "blank", "literal"]

_ADDRESS = re.compile(r'[A-Za-z][\w+.-]*:[^\x00-\x20<>"{}|^`\\]*')
_POSITION = re.compile(r"Parser error (?:at|between) [^:]*: ")
_KINDS: dict[str, Kind] = {"<": "iri", "_": "blank", '"': "literal"}
_PLACES = ("subject", "predicate", "object")
_ALLOWED: dict[str, tuple[Kind, ...]] = {
    "subject": ("iri", "blank"),
    "predicate": ("iri",),
    "object": ("iri", "blank", "literal"),
}


def oxigraph() -> Any:
    """The module pyoxigraph, or an error that says how to install it."""
    try:
        import pyoxigraph
    except ImportError:
        raise DataError(
            'error: RDF needs the package pyoxigraph\n    pip install "tidelog[rdf]"'
        ) from None
    return pyoxigraph


class Namespace:
    """IRIs with a common prefix; attributes and items append to it.

    >>> EX = Namespace("http://example.org/")
    >>> EX.Ann, EX["is a"]
    ('<http://example.org/Ann>', '<http://example.org/is%20a>')
    """

    def __init__(self, start: str) -> None:
        if not _ADDRESS.fullmatch(start):  # no pyoxigraph, so that importing this does not need it
            raise DataError(f"error: expected the start of an IRI, got {start!r}")
        self._start = start

    def __getitem__(self, name: str) -> str:
        return iri(self._start + name.replace(" ", "%20"))

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):  # looked up by copy, pickle and doctest
            raise AttributeError(name)
        return f"<{self._start}{name}>"

    def __repr__(self) -> str:
        return f"Namespace({self._start!r})"

    def __str__(self) -> str:
        return self._start


def iri(address: str) -> str:
    """An IRI as a term.

    >>> iri("http://example.org/Ann")
    '<http://example.org/Ann>'
    """
    try:
        return str(oxigraph().NamedNode(address))
    except (ValueError, TypeError) as error:
        raise DataError(f"error: invalid IRI {address!r}: {_reason(error)}") from None


def blank(label: str) -> str:
    """A blank node as a term; its label is local to a graph.

    >>> blank("b1")
    '_:b1'
    """
    try:
        return str(oxigraph().BlankNode(label))
    except (ValueError, TypeError):
        raise DataError(f"error: invalid blank node label {label!r}") from None


def literal(value: object, datatype: str | None = None, language: str | None = None) -> str:
    """A literal as a term. Numbers, booleans, dates and times bring their datatype.

    >>> literal("Bern"), literal("Berne", language="EN"), literal(5)
    ('"Bern"', '"Berne"@en', '"5"^^<http://www.w3.org/2001/XMLSchema#integer>')
    >>> literal("5", datatype="http://www.w3.org/2001/XMLSchema#byte")
    '"5"^^<http://www.w3.org/2001/XMLSchema#byte>'
    """
    ox = oxigraph()
    options: dict[str, Any] = {}
    if not isinstance(value, str):
        value, known = _lexical(value)
        datatype = known if datatype is None and language is None else datatype
    if datatype is not None:
        options["datatype"] = _datatype(datatype)
    if language is not None:
        options["language"] = language
    try:
        return str(ox.Literal(value, **options))
    except (ValueError, TypeError) as error:
        raise DataError(f"error: invalid literal {value!r}: {_reason(error)}") from None


def _lexical(value: object) -> tuple[object, str | None]:
    """The text and datatype of a Python value; pyoxigraph converts other values itself."""
    for kind, name, text in _VALUES:
        if isinstance(value, kind):
            return text(value), f"{XSD}{name}"
    return value, None


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise DataError(f"error: invalid literal {value!r}: xsd:decimal must be finite")
    return format(value, "f")


def _integer(value: int) -> str:
    try:
        return str(value)
    except ValueError:
        raise DataError(
            f"error: an int of {value.bit_length():,} bits has too many digits for a literal\n"
            "    raise the limit with sys.set_int_max_str_digits()"
        ) from None


def _moment(value: datetime | time) -> str:
    offset = value.utcoffset()
    if offset is not None and offset.total_seconds() % 60:
        raise DataError(f"error: invalid literal {value!r}: its UTC offset has seconds")
    return value.isoformat()


# bool is a subclass of int, and datetime of date, so they come first.
_VALUES: tuple[tuple[type, str, Callable[[Any], str]], ...] = (
    (bool, "boolean", lambda value: str(value).lower()),
    (int, "integer", _integer),
    (datetime, "dateTime", _moment),
    (date, "date", date.isoformat),
    (time, "time", _moment),
    (Decimal, "decimal", _decimal),
)


def _datatype(value: object) -> Any:
    try:
        return oxigraph().NamedNode(str(value).removeprefix("<").removesuffix(">"))
    except ValueError as error:
        raise DataError(
            f"error: invalid datatype {value!r}: {_reason(error)}\n"
            '    pass an IRI, or a language by keyword: language="en"'
        ) from None


def kind_of(term: str) -> Kind:
    """The kind of a term.

    >>> kind_of("<http://example.org/Ann>"), kind_of("_:b1"), kind_of('"5"')
    ('iri', 'blank', 'literal')
    """
    return _KINDS[term[0]]


def is_triple(triple: Triple) -> bool:
    """Whether RDF can express a triple; rules may derive triples with literals as subjects."""
    return triple[0][:1] in ("<", "_") and triple[1][:1] == "<"


def term_of(value: object) -> str:
    """A term of pyoxigraph or rdflib, a Python value or text, as an engine symbol.

    Text must be in N-Triples notation, because a bare string could mean an IRI or a literal.

    >>> term_of('"a"^^<http://www.w3.org/2001/XMLSchema#string>'), term_of(True)
    ('"a"', '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>')
    """
    home = type(value).__module__.partition(".")[0]
    if home == "pyoxigraph":
        if type(value).__name__ not in ("NamedNode", "BlankNode", "Literal"):
            raise DataError(
                f"error: expected a term, got {value}: triples about triples are not supported"
            )
        return str(value)
    if home == "rdflib":
        return _of_rdflib(value)
    if isinstance(value, str):
        return _of_text(value)
    return literal(value)


def triple_of(value: object) -> Triple:
    """A triple of pyoxigraph, or three terms, as engine symbols.

    >>> triple_of(("<http://a>", "<http://b>", 1))
    ('<http://a>', '<http://b>', '"1"^^<http://www.w3.org/2001/XMLSchema#integer>')
    """
    if type(value).__name__ in ("Triple", "Quad") and hasattr(value, "predicate"):
        value = (value.subject, value.predicate, value.object)  # type: ignore[attr-defined]
    if not isinstance(value, tuple | list) or len(value) != 3:
        raise DataError(f"error: expected a triple (subject, predicate, object), got {value!r}")
    terms = tuple(map(term_of, value))
    for place, term in zip(_PLACES, terms, strict=True):
        if kind_of(term) not in _ALLOWED[place]:
            expected = " or ".join(_KIND_NAMES[kind] for kind in _ALLOWED[place])
            raise DataError(f"error: expected {expected} as the {place} of a triple, got {term}")
    return terms[0], terms[1], terms[2]


_KIND_NAMES: dict[Kind, str] = {"iri": "an IRI", "blank": "a blank node", "literal": "a literal"}


def to_rdflib(term: str) -> rdflib.term.Identifier:
    """A term as an rdflib object."""
    import rdflib

    if term[0] == "<":
        return rdflib.URIRef(term[1:-1])
    if term[0] == "_":
        return rdflib.BNode(term[2:])
    found = _parsed(term)
    if found.language is not None:
        return rdflib.Literal(found.value, lang=found.language)
    if term[-1] == '"':
        return rdflib.Literal(found.value)
    datatype = rdflib.URIRef(found.datatype.value)
    # Without normalisation two texts of one value stay two terms.
    return rdflib.Literal(found.value, datatype=datatype, normalize=False)


def _of_rdflib(value: Any) -> str:
    ox = oxigraph()
    name = type(value).__name__
    if name == "Literal":
        if value.language:
            return literal(str(value), language=value.language)
        return literal(str(value), datatype=None if value.datatype is None else str(value.datatype))
    if name == "BNode":
        return str(ox.BlankNode(str(value)))
    return iri(str(value))


def _of_text(text: str) -> str:
    if text[:1] == "<" and text[:2] != "<<" and text[-1:] == ">":
        return iri(text[1:-1])
    if text[:2] == "_:":
        return blank(text[2:])
    if text[:1] == '"':
        return str(_parsed(text))
    raise DataError(
        f"error: expected a term in N-Triples notation, got {text!r}\n"
        '    write <http://…> for an IRI, "…" for a literal, _:… for a blank node'
    )


def _parsed(text: str) -> Any:
    """A literal, parsed by pyoxigraph."""
    ox = oxigraph()
    try:
        if "\n" in text:
            raise SyntaxError("write a line end as \\n")
        (quad,) = ox.parse(f"<a:> <a:> {text} .", ox.RdfFormat.N_TRIPLES)
    except (SyntaxError, ValueError) as error:
        raise DataError(f"error: invalid literal {text!r}: {_reason(error)}") from None
    return quad.object


def library_message(error: Exception) -> str:
    """The message of a pyoxigraph error without its position.

    >>> library_message(SyntaxError("Parser error at line 1 column 2: IRI expected"))
    'IRI expected'
    """
    text = _POSITION.sub("", str(getattr(error, "msg", "") or error))
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _reason(error: Exception) -> str:
    return library_message(error).rstrip(".")


RDF = Namespace("http://www.w3.org/1999/02/22-rdf-syntax-ns#")
RDFS = Namespace("http://www.w3.org/2000/01/rdf-schema#")
OWL = Namespace("http://www.w3.org/2002/07/owl#")
XSD = Namespace("http://www.w3.org/2001/XMLSchema#")
SKOS = Namespace("http://www.w3.org/2004/02/skos/core#")
