"""Subsumption and choice, for naive evaluation alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tidelog.program.syntax import UNDER, Program, Value
from tidelog.program.terms import order_key

Row = tuple[Value, ...]
Read = tuple[str, str, bool]  # head, relation that it reads, whether that must be complete


class Thinned(NamedTuple):
    """What leaves facts of a relation out: columns by which one is chosen, and an order."""

    domains: tuple[tuple[int, ...], ...]
    ordered: bool


def thinned(typed: Program) -> dict[str, Thinned]:
    ordered = {clause.heads[0].relation.removeprefix(UNDER) for clause in typed.subsumptions}
    found = {}
    for decl in typed.relations:
        names = [attribute.name for attribute in decl.attributes]
        domains = tuple(tuple(map(names.index, each)) for each in decl.choices)
        if domains or decl.name in ordered:
            found[decl.name] = Thinned(domains, decl.name in ordered)
    return found


def chosen(rows: set[Row], candidates: Iterable[Row], domains: Iterable[Iterable[int]]) -> set[Row]:
    """The rows, with those candidates that share a key of a domain with none before them."""
    found = set(rows)
    for row in sorted(candidates, key=order_key):
        keys = [[row[c] for c in domain] for domain in domains]
        others = ([[other[c] for c in domain] for domain in domains] for other in found)
        if not any(one == two for them in others for one, two in zip(keys, them, strict=True)):
            found.add(row)
    return found


def undominated(rows: set[Row], pairs: set[Row]) -> set[Row]:
    """The rows that stand first in no pair, unless the pair is there the other way round, too,
    and they come before the other."""
    gone = set()
    for pair in pairs:
        half = len(pair) // 2
        a, b = pair[:half], pair[half:]
        if a != b and (b + a not in pairs or order_key(b) < order_key(a)):
            gone.add(a)
    return rows - gone


def completed(reads: set[Read], relations: Mapping[str, Thinned]) -> set[Read]:
    """What these relations, and those on a cycle with them, read from others is complete before,
    because their rounds decide what is left out; and they are complete before others read them."""
    reaches: dict[str, set[str]] = {}
    for head, read, _ in reads:
        reaches.setdefault(head, set()).add(read)
    before = None
    while reaches != before:
        before = {name: set(found) for name, found in reaches.items()}
        for found in reaches.values():
            found.update(*(before.get(name, ()) for name in list(found)))

    def on_cycle(one: str, other: str) -> bool:
        return one == other or (other in reaches.get(one, ()) and one in reaches.get(other, ()))

    names = {*relations, *(name for head, read, _ in reads for name in (head, read))}
    around = {name for name in names for other in relations if on_cycle(name, other)}
    return {
        (head, read, strict or (not {head, read}.isdisjoint(around) and not on_cycle(head, read)))
        for head, read, strict in reads
    }
