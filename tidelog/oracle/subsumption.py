"""Subsumption and choice, for the naive evaluator only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tidelog.program.syntax import UNDER, Program, Value
from tidelog.program.terms import order_key

Row = tuple[Value, ...]
Read = tuple[str, str, bool]  # head, relation that it reads, and whether it must be complete


class Reduction(NamedTuple):
    """Why a relation drops facts: the columns of its choice domains, and a subsumption order."""

    domains: tuple[tuple[int, ...], ...]
    ordered: bool


def reductions(typed: Program) -> dict[str, Reduction]:
    ordered = {clause.heads[0].relation.removeprefix(UNDER) for clause in typed.subsumptions}
    found = {}
    for decl in typed.relations:
        names = [attribute.name for attribute in decl.attributes]
        domains = tuple(tuple(map(names.index, each)) for each in decl.choices)
        if domains or decl.name in ordered:
            found[decl.name] = Reduction(domains, decl.name in ordered)
    return found


def apply_choice(
    rows: set[Row], candidates: Iterable[Row], domains: Iterable[Iterable[int]]
) -> set[Row]:
    """The rows, and the candidates that share a key with no row or earlier candidate."""
    found = set(rows)
    for row in sorted(candidates, key=order_key):
        keys = [[row[c] for c in domain] for domain in domains]
        others = ([[other[c] for c in domain] for domain in domains] for other in found)
        if not any(one == two for them in others for one, two in zip(keys, them, strict=True)):
            found.add(row)
    return found


def apply_subsumption(rows: set[Row], pairs: set[Row]) -> set[Row]:
    """The rows without those that come first in a pair.

    If a pair exists in both directions, the smaller row stays.
    """
    dropped = set()
    for pair in pairs:
        half = len(pair) // 2
        a, b = pair[:half], pair[half:]
        if a != b and (b + a not in pairs or order_key(b) < order_key(a)):
            dropped.add(a)
    return rows - dropped


def require_complete(reads: set[Read], relations: Mapping[str, Reduction]) -> set[Read]:
    """Mark reads into and out of the cycles of reduced relations as requiring completeness.

    The rounds of such a cycle decide which facts are dropped, so no other relation may be
    evaluated with it.
    """
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
