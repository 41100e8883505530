"""Constructs of Soufflé that this version does not support, and what to do instead.

A construct that becomes supported leaves this table and gets its own case in the parser.
"""

from __future__ import annotations

from tidelog.program.syntax import Span
from tidelog.text.lexer import Fault

_CONSTRUCTS: dict[str, tuple[str, str]] = {
    "counter": ("`$` is not supported", "write `autoinc()`"),
    ".lattice": ("lattices (`.lattice`) are not supported yet", "use `min` or `max` aggregates"),
    "lattice attribute": (
        "lattice attributes (`<>`) are not supported yet",
        "use `min` or `max` aggregates",
    ),
    "debug_delta": ("`debug_delta` is not supported", "remove this declaration"),
    "__FILE__": ("`__FILE__` is not supported", "write the string itself"),
    "__LINE__": ("`__LINE__` is not supported", "write the number itself"),
    "__INCL__": ("`__INCL__` is not supported", "write the string itself"),
    "__ITERATION__": ("`__ITERATION__` is not supported", "count rounds in a column of your own"),
    "user aggregate": (
        "user-defined aggregates (`@@`) are not supported yet",
        "use count, sum, min, max or mean",
    ),
}


def refused(construct: str, at: Span, resume: int | None = None) -> Fault:
    message, advice = _CONSTRUCTS[construct]
    return Fault(message, at, advice, resume)
