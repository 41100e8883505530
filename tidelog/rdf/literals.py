"""Facts about literals: whether their text is valid, and which value it denotes.

A literal with a datatype of OWL 2 RL has the facts `literal(term, datatype, value)` and
`value_space(term, space)`. The value is a canonical term, so literals of equal value share it. The
space is a part of a value space that each datatype contains wholly or not at all (`space_has`). A
literal with invalid text is `ill_typed(term, datatype)` instead. Strings without a datatype and
strings with a language have no facts: they are always valid and denote themselves.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta
from functools import lru_cache, partial
from xml.parsers import expat

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"

Fact = tuple[str, tuple[str, ...]]
Facts = dict[str, list[tuple[str, ...]]]  # rows by relation
Value = tuple[str, str]  # the value as a term, and its space
Parser = Callable[[str], Value | None]  # None: the text is invalid

_TYPED = re.compile(r'"((?:[^"\\]|\\.)*)"\^\^<([^<>]*)>', re.DOTALL)
_ESCAPE = re.compile(r'\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([tbnrf"\'\\]))')
_PLAIN_ESCAPES = dict(zip("tbnrf\"'\\", "\t\b\n\r\f\"'\\", strict=True))

STRING, LANGUAGE, UNKNOWN = "string", "language", "unknown"

# The least and greatest value of each integer datatype.
_INTEGERS: dict[str, tuple[int | None, int | None]] = {
    "integer": (None, None),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-(2**7), 2**7 - 1),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 2**8 - 1),
}
# The bounds of the spaces of integers: no datatype begins or ends between two neighbours.
_CUTS = sorted(
    {low for low, _ in _INTEGERS.values() if low is not None}
    | {high + 1 for _, high in _INTEGERS.values() if high is not None}
)

_NAME_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME_REST = _NAME_START + "0-9.\u00b7\u0300-\u036f\u203f-\u2040-"
# The texts that string datatypes allow.
_STRINGS = {
    "string": r"[^\x00]*",
    "normalizedString": r"[^\x00\t\n\r]*",
    "token": r"(?:[^\x00\t\n\r ]+(?: [^\x00\t\n\r ]+)*)?",
    "language": r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*",
    "Name": f"[:{_NAME_START}][:{_NAME_REST}]*",
    "NCName": f"[{_NAME_START}][{_NAME_REST}]*",
    "NMTOKEN": f"[:{_NAME_REST}]+",
}

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_SPECIAL = {"INF": "INF", "+INF": "INF", "-INF": "-INF", "NaN": "NaN"}
_TIME = re.compile(
    r"(-?(?:[1-9][0-9]{3,}|0[0-9]{3}))-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?"
    r"(Z|[+-]\d\d:\d\d)?",
    re.ASCII,
)


def facts(term: str) -> list[Fact]:
    """The facts about a term; only literals with a datatype have any.

    >>> facts('"05"^^<http://www.w3.org/2001/XMLSchema#integer>')[0][1][2]
    '"5"^^<http://www.w3.org/2001/XMLSchema#integer>'
    >>> facts('"x"^^<http://www.w3.org/2001/XMLSchema#integer>')[0][0]
    'ill_typed'
    >>> facts('"five"')
    []
    """
    if term[:1] != '"' or term[-1] != ">":
        return []
    found = _TYPED.fullmatch(term)
    if found is None:
        return []
    return list(_facts(term, found[1], found[2]))


def facts_about(terms: Iterable[str]) -> Facts:
    """The facts about several terms."""
    found: Facts = {}
    for term in terms:
        for relation, row in facts(term):
            found.setdefault(relation, []).append(row)
    return found


def may_equal(known: list[Fact]) -> bool:
    """Whether another literal may have the same value: the one with these facts is not canonical.

    >>> may_equal(facts('"05"^^<http://www.w3.org/2001/XMLSchema#integer>'))
    True
    >>> may_equal(facts('"5"^^<http://www.w3.org/2001/XMLSchema#integer>'))
    False
    """
    return any(relation == "literal" and row[0] != row[2] for relation, row in known)


@lru_cache(maxsize=4096)
def _facts(term: str, text: str, datatype: str) -> tuple[Fact, ...]:
    read = _READERS.get(datatype)
    if read is None:
        return (("value_space", (term, UNKNOWN)),)
    value = read(_unescaped(text))
    if value is None:
        return (("ill_typed", (term, f"<{datatype}>")),)
    canonical, space = value
    return (
        ("literal", (term, f"<{datatype}>", canonical or term)),
        ("value_space", (term, space)),
    )


def spaces() -> Iterator[tuple[str, str]]:
    """Rows of `space_has`: each space with the datatypes that contain it."""
    every = [f"<{RDFS}Literal>"]
    for name in (*_STRINGS,):
        yield STRING, f"<{XSD}{name}>"
    for space in (STRING, LANGUAGE):
        yield space, f"<{RDF}PlainLiteral>"
    yield LANGUAGE, f"<{RDF}langString>"
    for low in (None, *_CUTS):
        for name, (least, most) in _INTEGERS.items():
            if _within(low, least, most):
                yield _integers(low), f"<{XSD}{name}>"
        yield _integers(low), f"<{XSD}decimal>"
    for name in _ALONE:
        yield name, f"<{RDF if name == 'XMLLiteral' else XSD}{name}>"
    yield "dateTimeStamp", f"<{XSD}dateTime>"
    named = (STRING, LANGUAGE, *map(_integers, (None, *_CUTS)), *_ALONE)
    yield from ((space, datatype) for space in named for datatype in every)


def _within(low: int | None, least: int | None, most: int | None) -> bool:
    """Whether the space of integers that begins at `low` is inside the bounds."""
    if low is None:
        return least is None and (most is None or most >= _CUTS[0])
    return (least is None or least <= low) and (most is None or low <= most)


def _integers(low: int | None) -> str:
    return "integer" if low is None else f"integer from {low}"


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    if found[3]:
        return _PLAIN_ESCAPES[found[3]]
    code = int(found[1] or found[2], 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else found[0]


def _escaped(text: str) -> str:
    for character in ("\\", '"', "\n", "\r", "\t", "\b", "\f"):
        short = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}.get(character, character)
        text = text.replace(character, "\\" + short)
    return text


def _typed(text: str, datatype: str) -> str:
    return f'"{text}"^^<{XSD}{datatype}>'


# One parser per kind of datatype.


def _integer(name: str, text: str) -> Value | None:
    if not _INTEGER.fullmatch(text):
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > 4000:  # int() rejects such numbers; any number outside the bounds will do
        value = 10**40 if not text.startswith("-") else -(10**40)
    else:
        value = -int(digits) if text.startswith("-") else int(digits)
    least, most = _INTEGERS[name]
    if (least is not None and value < least) or (most is not None and value > most):
        return None
    sign = "-" if value < 0 else ""
    return _typed(sign + digits, "integer"), _space_of(value)


def _space_of(value: int) -> str:
    place = bisect_right(_CUTS, value)
    return _integers(_CUTS[place - 1] if place else None)


def _decimal(text: str) -> Value | None:
    if not _DECIMAL.fullmatch(text):
        return None
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    if not fraction:
        return _integer("integer", whole if whole.strip("+-") else whole + "0")
    sign = "-" if whole.startswith("-") else ""
    return _typed(f"{sign}{whole.lstrip('+-').lstrip('0') or '0'}.{fraction}", "decimal"), "decimal"


def _floating(name: str, text: str) -> Value | None:
    if text in _SPECIAL:
        return _typed(_SPECIAL[text], name), name
    if not _FLOAT.fullmatch(text):
        return None
    value = float(text)
    if name == "float":
        try:
            value = struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            value = float("-inf" if value < 0 else "inf")
    written = repr(value).replace("inf", "INF").replace("e+", "E").replace("e", "E")
    return _typed(written, name), name


def _boolean(text: str) -> Value | None:
    value = {"true": "true", "1": "true", "false": "false", "0": "false"}.get(text)
    return (_typed(value, "boolean"), "boolean") if value else None


def _string(pattern: re.Pattern[str], text: str) -> Value | None:
    return (f'"{_escaped(text)}"', STRING) if pattern.fullmatch(text) else None


def _plain(text: str) -> Value | None:
    """`text@tag`: a string with a language, or a plain string if the tag is empty."""
    words, at, tag = text.rpartition("@")
    if not at:
        return None
    if not tag:
        return f'"{_escaped(words)}"', STRING
    if not re.fullmatch(_STRINGS["language"], tag):
        return None
    return f'"{_escaped(words)}"@{tag.lower()}', LANGUAGE


def _hex(text: str) -> Value | None:
    if not re.fullmatch(r"(?:[0-9A-Fa-f]{2})*", text):
        return None
    return _typed(text.upper(), "hexBinary"), "hexBinary"


def _base64(text: str) -> Value | None:
    packed = text.replace(" ", "")
    try:
        value = base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError):
        return None
    return _typed(base64.b64encode(value).decode(), "base64Binary"), "base64Binary"


def _any_uri(text: str) -> Value | None:
    return "", "anyURI"


def _xml(text: str) -> Value | None:
    """Well-formed XML content, which denotes its own text."""
    parser = expat.ParserCreate()
    try:
        parser.Parse(f"<x>{text}</x>".encode(), True)
    except (expat.ExpatError, UnicodeEncodeError):
        return None
    return "", "XMLLiteral"


def _time(name: str, text: str) -> Value | None:
    """A point in time. As in OWL 2, times in different zones are different values."""
    found = _TIME.fullmatch(text)
    if found is None or (name == "dateTimeStamp" and not found[8]):
        return None
    year = int(found[1]) if len(found[1]) < 20 else None
    month, day, hour, minute, second = (int(found[i]) for i in range(2, 7))
    fraction = (found[7] or "").rstrip("0")
    zone = _zone(found[8])
    midnight = (hour, minute, second, fraction) == (24, 0, 0, "")
    if year is None or zone is None or minute > 59 or second > 59 or (hour > 23 and not midnight):
        return None
    moved = _day(year, month, day, 1 if midnight else 0)
    if moved is None:
        return None
    written = f"{moved}T{0 if midnight else hour:02}:{minute:02}:{second:02}"
    value = written + (f".{fraction}" if fraction else "") + zone
    return _typed(value, "dateTime"), "dateTimeStamp" if zone else "dateTime"


def _zone(text: str | None) -> str | None:
    if not text or text in ("Z", "+00:00", "-00:00"):
        return "Z" if text else ""
    hours, minutes = int(text[1:3]), int(text[4:])
    return text if (hours <= 13 and minutes <= 59) or (hours, minutes) == (14, 0) else None


def _day(year: int, month: int, day: int, later: int) -> str | None:
    """A day as text. `date` supports years 1 to 9999, so shift by the calendar's 400-year cycle."""
    cycles = (year - 2000) // 400
    try:
        moved = date(year - 400 * cycles, month, day) + timedelta(days=later)
    except ValueError:
        return None
    real = moved.year + 400 * cycles
    return f"{'-' if real < 0 else ''}{abs(real):04}-{moved.month:02}-{moved.day:02}"


# Datatypes with a value space of their own, except that dateTimeStamp is part of dateTime.
_ALONE = (
    *("decimal", "float", "double", "boolean", "hexBinary", "base64Binary", "anyURI"),
    *("dateTime", "dateTimeStamp", "XMLLiteral"),
)
_READERS: dict[str, Parser] = {
    **{XSD + name: partial(_integer, name) for name in _INTEGERS},
    **{XSD + name: partial(_floating, name) for name in ("float", "double")},
    **{XSD + name: partial(_string, re.compile(text)) for name, text in _STRINGS.items()},
    **{XSD + name: partial(_time, name) for name in ("dateTime", "dateTimeStamp")},
    XSD + "decimal": _decimal,
    XSD + "boolean": _boolean,
    XSD + "hexBinary": _hex,
    XSD + "base64Binary": _base64,
    XSD + "anyURI": _any_uri,
    RDF + "PlainLiteral": _plain,
    RDF + "XMLLiteral": _xml,
}
SUPPORTED = tuple(_READERS)
