"""A short notation for triples: `x p y. c owl:unionOf (d e). x p "5"^^xsd:int.`

Names without a prefix are IRIs of an example namespace; lists in parentheses become cells. Unlike
in RDF, literals may be subjects, because derived triples may have them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from tidelog.rdf.profiles import iri

Triple = tuple[str, str, str]

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"(?:\^\^[\w:]+|@[\w-]+)?|_:\w+|\w+:\w+|\w+|[().])')


def term(word: str) -> str:
    if word.startswith('"'):
        text, mark, datatype = word.rpartition("^^")
        return f"{text}^^{term(datatype)}" if mark else word
    if word.startswith("_:"):
        return word
    return iri(word) if ":" in word else f"<http://example.org/{word}>"


def triples(text: str) -> list[Triple]:
    """
    >>> triples("x p y.")
    [('<http://example.org/x>', '<http://example.org/p>', '<http://example.org/y>')]
    """
    tokens = iter(_TOKEN.findall(text))
    numbers = count(1)
    found: list[Triple] = []
    for word in tokens:
        words = [_one(word, tokens, numbers, found)]
        words += [_one(next(tokens), tokens, numbers, found) for _ in range(2)]
        assert next(tokens) == ".", text
        found.append((words[0], words[1], words[2]))
    return found


def _one(word: str, tokens: Iterator[str], numbers: Iterator[int], found: list[Triple]) -> str:
    if word != "(":
        return term(word)
    members = []
    while (word := next(tokens)) != ")":
        members.append(_one(word, tokens, numbers, found))
    nodes = [f"_:cell{next(numbers)}" for _ in members] + [iri("rdf:nil")]
    for node, member, rest in zip(nodes, members, nodes[1:], strict=False):
        found += [(node, iri("rdf:first"), member), (node, iri("rdf:rest"), rest)]
    return nodes[0]
