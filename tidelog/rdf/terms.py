"""RDF terms as the engine holds them: one symbol each, in the notation of N-Triples.

The first character tells the kind: `<` an IRI, `_` a blank node, `"` a literal. The text is the
canonical one, as pyoxigraph writes it: no datatype where it is xsd:string, language tags in lower
case, and no escapes but those that are needed. So equal terms are equal symbols.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from tidelog.program.diagnostics import DataError

if TYPE_CHECKING:
    import pyoxigraph
    import rdflib.term

Triple = tuple[str, str, str]
Kind = Literal["iri", "blank", "literal"]

_ADDRESS = re.compile(r'[A-Za-z][\w+.-]*:[^\x00-\x20<>"{}|^`\\]*')
_PLACE = re.compile(r"Parser error (?:at|between) [^:]*: ")
_KINDS: dict[str, Kind] = {"<": "iri", "_": "blank", '"': "literal"}
_PLACES = ("subject", "predicate", "object")
_ALLOWED: dict[str, tuple[Kind, ...]] = {
    "subject": ("iri", "blank"),
    "predicate": ("iri",),
    "object": ("iri", "blank", "literal"),
}


def oxigraph() -> Any:
    """The library that reads and writes RDF, or what to do where it is not installed."""
    try:
        import pyoxigraph
    except ImportError:
        raise DataError(
            'error: RDF needs the package pyoxigraph\n    pip install "tidelog[rdf]"'
        ) from None
    return pyoxigraph


class Namespace:
    """IRIs that begin alike, by their last part.

    >>> EX = Namespace("http://example.org/")
    >>> EX.Ann, EX["is a"]
    ('<http://example.org/Ann>', '<http://example.org/is%20a>')
    """

    def __init__(self, start: str) -> None:
        if not _ADDRESS.fullmatch(start):  # asked without the library: constants below need none
            raise DataError(f"error: {start!r} is no beginning of an IRI")
        self._start = start

    def __getitem__(self, name: str) -> str:
        return iri(self._start + name.replace(" ", "%20"))

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):  # asked by copy, pickle and doctest, and no IRI of ours
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
        raise DataError(f"error: {address!r} is no IRI: {_reason(error)}") from None


def blank(label: str) -> str:
    """A blank node as a term; its label is that of the graph it is in.

    >>> blank("b1")
    '_:b1'
    """
    try:
        return str(oxigraph().BlankNode(label))
    except (ValueError, TypeError):
        raise DataError(f"error: {label!r} is no label of a blank node") from None


def literal(value: object, datatype: str | None = None, language: str | None = None) -> str:
    """A literal as a term: text, or a number, a truth value, a date, whose type is known.

    >>> literal("Bern"), literal("Berne", language="EN"), literal(5)
    ('"Bern"', '"Berne"@en', '"5"^^<http://www.w3.org/2001/XMLSchema#integer>')
    >>> literal("5", datatype="http://www.w3.org/2001/XMLSchema#byte")
    '"5"^^<http://www.w3.org/2001/XMLSchema#byte>'
    """
    ox = oxigraph()
    options: dict[str, Any] = {}
    if not isinstance(value, str):
        value, known = _written(value)
        datatype = known if datatype is None and language is None else datatype
    if datatype is not None:
        options["datatype"] = _datatype(datatype)
    if language is not None:
        options["language"] = language
    try:
        return str(ox.Literal(value, **options))
    except (ValueError, TypeError) as error:
        raise DataError(f"error: {value!r} is no literal: {_reason(error)}") from None


def _written(value: object) -> tuple[object, str | None]:
    """A value of Python's library as text with its datatype; those that the library knows as
    they are."""
    for kind, name, text in _VALUES:
        if isinstance(value, kind):
            return text(value), f"{XSD}{name}"
    return value, None


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise DataError(f"error: {value!r} is no literal: xsd:decimal has finite numbers only")
    return format(value, "f")


def _integer(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # the library would write that it cannot be printed
        raise DataError(
            f"error: an int of {value.bit_length():,} bits is no literal: it has too many digits\n"
            "    sys.set_int_max_str_digits() lets Python write more of them"
        ) from None


def _moment(value: datetime | time) -> str:
    offset = value.utcoffset()
    if offset is not None and offset.total_seconds() % 60:
        raise DataError(f"error: {value!r} is no literal: its time zone has seconds")
    return value.isoformat()


# A moment is a date, too, so it comes first; and a truth value is an integer.
_VALUES: tuple[tuple[type, str, Callable[[Any], str]], ...] = (
    (bool, "boolean", lambda value: str(value).lower()),
    (int, "integer", _integer),
    (datetime, "dateTime", _moment),
    (date, "date", date.isoformat),
    (time, "time", _moment),
    (Decimal, "decimal", _decimal),
)


def _datatype(given: object) -> Any:
    try:
        return oxigraph().NamedNode(str(given).removeprefix("<").removesuffix(">"))
    except ValueError as error:
        raise DataError(
            f"error: {given!r} is no datatype: {_reason(error)}\n"
            '    it is an IRI; a language is given by its name: language="en"'
        ) from None


def kind_of(term: str) -> Kind:
    """
    >>> kind_of("<http://example.org/Ann>"), kind_of("_:b1"), kind_of('"5"')
    ('iri', 'blank', 'literal')
    """
    return _KINDS[term[0]]


def is_triple(triple: Triple) -> bool:
    """Could it be written as RDF? Rules may also say something of literals, which RDF cannot."""
    return triple[0][:1] in ("<", "_") and triple[1][:1] == "<"


def term_of(given: object) -> str:
    """A term of any library, or a plain value, as the engine holds it.

    Text is in the notation of N-Triples; a string without brackets or quotes could mean an IRI or
    a literal, and is refused.

    >>> term_of('"a"^^<http://www.w3.org/2001/XMLSchema#string>'), term_of(True)
    ('"a"', '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>')
    """
    home = type(given).__module__.partition(".")[0]
    if home == "pyoxigraph":
        if type(given).__name__ not in ("NamedNode", "BlankNode", "Literal"):
            raise DataError(f"error: {given} is no term: triples about triples are not supported")
        return str(given)
    if home == "rdflib":
        return _of_rdflib(given)
    if isinstance(given, str):
        return _of_text(given)
    return literal(given)


def triple_of(given: object) -> Triple:
    """A triple of any library, or three terms.

    >>> triple_of(("<http://a>", "<http://b>", 1))
    ('<http://a>', '<http://b>', '"1"^^<http://www.w3.org/2001/XMLSchema#integer>')
    """
    if type(given).__name__ in ("Triple", "Quad") and hasattr(given, "predicate"):
        given = (given.subject, given.predicate, given.object)  # type: ignore[attr-defined]
    if not isinstance(given, tuple | list) or len(given) != 3:
        raise DataError(f"error: a triple has a subject, a predicate and an object; {given!r}")
    terms = tuple(map(term_of, given))
    for place, term in zip(_PLACES, terms, strict=True):
        if kind_of(term) not in _ALLOWED[place]:
            wanted = " or ".join(_NAMES[kind] for kind in _ALLOWED[place])
            raise DataError(f"error: the {place} of a triple is {wanted}; {term} is none")
    return terms[0], terms[1], terms[2]


_NAMES: dict[Kind, str] = {"iri": "an IRI", "blank": "a blank node", "literal": "a literal"}


def to_oxigraph(term: str) -> pyoxigraph.NamedNode | pyoxigraph.BlankNode | pyoxigraph.Literal:
    """A term as pyoxigraph has it."""
    import pyoxigraph as ox

    if term[0] == "<":
        return ox.NamedNode(term[1:-1])
    if term[0] == "_":
        return ox.BlankNode(term[2:])
    found: ox.Literal = _parsed(term)
    return found


def to_rdflib(term: str) -> rdflib.term.Identifier:
    """A term as rdflib has it."""
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
    # Two texts of one value are two terms.
    return rdflib.Literal(found.value, datatype=datatype, normalize=False)


def _of_rdflib(given: Any) -> str:
    ox = oxigraph()
    name = type(given).__name__
    if name == "Literal":
        if given.language:
            return literal(str(given), language=given.language)
        return literal(str(given), datatype=None if given.datatype is None else str(given.datatype))
    if name == "BNode":
        return str(ox.BlankNode(str(given)))
    return iri(str(given))


def _of_text(text: str) -> str:
    if text[:1] == "<" and text[:2] != "<<" and text[-1:] == ">":
        return iri(text[1:-1])
    if text[:2] == "_:":
        return blank(text[2:])
    if text[:1] == '"':
        return str(_parsed(text))
    raise DataError(
        f"error: {text!r} is no term in the notation of N-Triples\n"
        '    write <http://…> for an IRI, "…" for a literal, _:… for a blank node'
    )


def _parsed(text: str) -> Any:
    """A literal, read by the library."""
    ox = oxigraph()
    try:
        if "\n" in text:
            raise SyntaxError("a line end is written \\n")
        (quad,) = ox.parse(f"<a:> <a:> {text} .", ox.RdfFormat.N_TRIPLES)
    except (SyntaxError, ValueError) as error:
        raise DataError(f"error: {text!r} is no literal: {_reason(error)}") from None
    return quad.object


def told(error: Exception) -> str:
    """What a library says, without the place.

    >>> told(SyntaxError("Parser error at line 1 column 2: XML is no Turtle"))
    'XML is no Turtle'
    """
    text = _PLACE.sub("", str(getattr(error, "msg", "") or error))
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _reason(error: Exception) -> str:
    return told(error).rstrip(".")


RDF = Namespace("http://www.w3.org/1999/02/22-rdf-syntax-ns#")
RDFS = Namespace("http://www.w3.org/2000/01/rdf-schema#")
OWL = Namespace("http://www.w3.org/2002/07/owl#")
XSD = Namespace("http://www.w3.org/2001/XMLSchema#")
SKOS = Namespace("http://www.w3.org/2004/02/skos/core#")
