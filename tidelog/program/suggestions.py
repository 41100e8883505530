"""What an unknown name was probably meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST = 2_000  # names that are compared; with more, an error would take noticeably long


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name most like this one.

    >>> closest("egde", ["edge", "node"])
    'edge'
    >>> closest("EDGES", ["edge", "edges"])
    'edges'
    """
    alike = [other for other in known if abs(len(other) - len(name)) <= 4]
    close = [other for other in alike if other.lower() == name.lower()]
    close = close or difflib.get_close_matches(name, alike[:MOST], 1, cutoff)
    return close[0] if close else None


def did_you_mean(name: str, known: Iterable[str], otherwise: str, cutoff: float = 0.6) -> str:
    """
    >>> did_you_mean("egde", ["edge", "node"], "declare it")
    'did you mean edge?'
    >>> did_you_mean("colour", ["edge", "node"], "declare it")
    'declare it'
    """
    close = closest(name, known, cutoff)
    return f"did you mean {close}?" if close else otherwise


def suggestion(name: str, known: Iterable[str]) -> str:
    """Advice where few names are possible.

    >>> suggestion("dread", ["dred", "bf"]), suggestion("magic", ["dred", "bf"])
    ('did you mean dred?', 'expected one of dred, bf')
    """
    names = list(known)
    return did_you_mean(name, names, f"expected one of {', '.join(names)}")
