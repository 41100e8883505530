"""Databases of the rule tables, with the facts about literals that a graph would add."""

from __future__ import annotations

from collections.abc import Iterable

import tidelog as tl
from tests.rdf.notation import Triple
from tidelog.rdf import literals, profiles


def facts_of(triples: Iterable[Triple]) -> dict[str, list[tuple[str, ...]]]:
    """Triples and what is known of their literals, by relation."""
    found: dict[str, dict[tuple[str, ...], None]] = {"triple": {}}
    for triple in triples:
        found["triple"][triple] = None
        for relation, row in literals.facts(triple[2]):
            found.setdefault(relation, {})[row] = None
    return {relation: list(rows) for relation, rows in found.items()}


def base(
    profile: str, triples: Iterable[Triple], *, trivial: bool = False, axioms: bool = False
) -> tl.Database:
    text = profiles.program(profile, trivial=trivial, axioms=axioms)
    return tl.Database(text, facts=facts_of(triples))
