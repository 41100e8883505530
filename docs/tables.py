"""Tables and lists of the documents that are generated from registries in the code.

`<!-- table: NAME -->` in a document is followed by the table of that name and
`<!-- end of table -->`; `docs/generate.py` puts the current table between them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from tidelog.formats.fact_formats import IO, PARAMETERS, Io
from tidelog.maintain.driver.algorithms import REGISTRY
from tidelog.program.builtin_functors import GROUPS, Builtin
from tidelog.program.kind_masks import BITS, NUMERIC, SYMBOL
from tidelog.program.qualifiers import QUALIFIERS
from tidelog.text.operator_table import RESERVED

PLACE = re.compile(r"(<!-- table: (.*?) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def filled(text: str) -> str:
    """The document with the current tables of the registries."""
    return PLACE.sub(lambda place: f"{place[1]}\n{TABLES[place[2]]()}\n{place[3]}", text)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |") for line in lines)


def _kinds(mask: int | None) -> str:
    if mask is None:
        return "the same type"
    if mask == NUMERIC | SYMBOL:
        return "any type"
    return " or ".join(kind for kind, bit in BITS.items() if mask & bit)


def _functor(functor: Builtin) -> list[str]:
    signature = functor.signature
    takes = ", ".join(map(_kinds, signature.operands)) or "nothing"
    return [f"`{functor.call}`", takes, _kinds(signature.gives), functor.result, functor.error]


def _functors() -> str:
    header = ("functor", "takes", "gives", "value", "error")
    return _table(header, (_functor(each) for group in GROUPS.values() for each in group))


def _strings() -> str:
    rows = ([f"`{functor.call}`", functor.result] for functor in GROUPS["strings"])
    return _table(("functor", "value"), rows)


def _algorithms() -> str:
    rows = (
        (f"`{name}`", algorithm.summary, "yes" if algorithm.on_spark else "no")
        for name, algorithm in REGISTRY.items()
    )
    return _table(("name", "how it works", "on Spark"), rows)


def _qualifiers() -> str:
    alike: dict[str, list[str]] = {}
    for name, qualifier in QUALIFIERS.items():
        alike.setdefault(qualifier.meaning, []).append(f"`{name}`")
    rows = ((", ".join(names), meaning) for meaning, names in alike.items())
    return _table(("qualifier", "meaning"), rows)


def _reserved() -> str:
    return ", ".join(f"`{word}`" for word in sorted(RESERVED)) + "\n"


def _format(name: str, io: Io) -> list[str]:
    inputs, outputs = (f"`NAME{ending}`" for ending in io.ending or ("", ""))
    directives = ", ".join(f"`.{action}`" for action in io.actions)
    names = inputs if inputs == outputs else f"{inputs}; for outputs {outputs}"
    return [f"`{name}`", directives, io.summary, names if io.ending and not io.or_file else ""]


def _formats() -> str:
    header = ("`IO`", "for", "what is read or written", "default file name")
    return _table(header, (_format(name, io) for name, io in IO.items()))


def _parameters() -> str:
    rows = ([f"`{name}`", each.values, each.default] for name, each in PARAMETERS.items())
    return _table(("parameter", "values", "default"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "functors": _functors,
    "string functors": _strings,
    "algorithms": _algorithms,
    "qualifiers": _qualifiers,
    "formats": _formats,
    "parameters of directives": _parameters,
    "reserved words": _reserved,
}
