"""The rule tables of RDFS and OWL 2 RL as programs.

The tables in `rules/` are Datalog with short names: `"rdf:type"` stands for the symbol
`"<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"`. Comments give the W3C's names of the rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from tidelog.program.diagnostics import TidelogError
from tidelog.program.suggestions import suggestion
from tidelog.rdf.literals import spaces

PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
PROFILES = ("none", "rdfs", "owl2rl")

_SHORT = re.compile(r'("|\^\^)(rdfs?|owl|xsd):(\w+)"')
_NAMED = re.compile(r"// ((?:(?:eq|prp|cls|cax|dt|scm)-[\w-]+|rdfs\d+[ab]?|rdfD\d)[\w, -]*)")
_NAME = re.compile(r"[\w-]+")
_LOCAL = re.compile(r"\w(?:[\w-]*\w)?")  # local names that need no escapes

_PLAIN = """\
.decl triple(s: symbol, p: symbol, o: symbol)
.decl literal(term: symbol, datatype: symbol, value: symbol)
.decl ill_typed(term: symbol, datatype: symbol)
.decl value_space(term: symbol, space: symbol)
.decl space_has(space: symbol, datatype: symbol)
.decl inconsistent(rule: symbol, a: symbol, b: symbol, c: symbol)
"""


def check_profile(profile: str) -> None:
    if profile not in PROFILES:
        raise TidelogError(
            f"error: unknown profile {profile!r}\n    {suggestion(str(profile), PROFILES)}"
        )


def iri(short: str) -> str:
    """The IRI of a short name.

    >>> iri("rdf:type")
    '<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>'
    """
    prefix, _, name = short.partition(":")
    return f"<{PREFIXES[prefix]}{name}>"


def short(term: str, prefixes: Mapping[str, str] = PREFIXES) -> str:
    """The short name of a term with a known prefix; other terms unchanged.

    >>> short("<http://www.w3.org/2002/07/owl#Class>"), short("<http://a/b>")
    ('owl:Class', '<http://a/b>')
    """
    address = term[1:-1]
    fitting = [
        (len(start), prefix)
        for prefix, start in {**PREFIXES, **prefixes}.items()
        if term[0] == "<" and address.startswith(start) and _LOCAL.fullmatch(address, len(start))
    ]
    if not fitting:
        return term
    size, prefix = max(fitting)
    return f"{prefix}:{address[size:]}"


def program(profile: str, *, trivial: bool = False, axioms: bool = False) -> str:
    """The rules of a profile as a program over `triple(s, p, o)`.

    `trivial` includes rules with uninformative conclusions, such as that every term is the same as
    itself; `axioms` includes the triples that always hold.
    """
    check_profile(profile)
    if profile == "none":
        return _PLAIN
    texts = [_expanded(name) for name in _texts(profile, trivial, axioms)]
    return "\n".join([*texts, spaces_text()] if profile == "owl2rl" else texts)


@cache
def spaces_text() -> str:
    """The facts of `space_has`."""
    return "\n".join(f'space_has("{space}", "{datatype}").' for space, datatype in spaces())


def _texts(profile: str, trivial: bool, axioms: bool) -> Iterator[str]:
    yield profile
    if trivial:
        yield f"{profile}-trivial"
    if axioms:
        yield f"{profile}-axioms"


@cache
def _expanded(name: str) -> str:
    return expand(_text(name))


def expand(text: str) -> str:
    """Rules with short names replaced by full terms."""
    return _SHORT.sub(_write_out, text)


def _write_out(found: re.Match[str]) -> str:
    return f'{found[1]}<{PREFIXES[found[2]]}{found[3]}>"'


@cache
def _text(name: str) -> str:
    return files("tidelog.rdf").joinpath("rules", f"{name}.dl").read_text(encoding="utf-8")


def named(profile: str) -> dict[str, tuple[str, ...]]:
    """The clauses of a profile's tables by the W3C's names of the rules, trivial ones included.

    A clause that implements two rules appears under both names.

    >>> named("rdfs")["rdfs9"]
    ('triple(x, "rdf:type", d) :- sub_class(c, d), c != d, triple(x, "rdf:type", c).',)
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in _texts(profile, True, True):
        names: list[str] = []
        before = ""
        for line in _text(text).splitlines():
            if line.startswith("//"):
                names = names if before.startswith("//") else _names(line)
            elif line and not line.startswith(".decl"):
                for name in names:
                    found[name] = (*found.get(name, ()), line)
            before = line
    return found


def _names(comment: str) -> list[str]:
    match = _NAMED.match(comment)
    return _NAME.findall(match[1]) if match else []
