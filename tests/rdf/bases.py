"""Databases of the rule tables, with the facts about literals that a graph would insert."""

from __future__ import annotations

from collections.abc import Iterable

import tidelog as tl
from tests.rdf.notation import Triple
from tidelog.rdf import literals, profiles
from tidelog.rdf.profiles import iri


def facts_of(triples: Iterable[Triple]) -> dict[str, list[tuple[str, ...]]]:
    """Triples and facts about their literals, by relation."""
    found: dict[str, dict[tuple[str, ...], None]] = {"triple": {}}
    for triple in triples:
        found["triple"][triple] = None
        for relation, row in literals.facts(triple[2]):
            found.setdefault(relation, {})[row] = None
    return {relation: list(rows) for relation, rows in found.items()}


def may_equal(triples: Iterable[Triple]) -> bool:
    """Whether triples could make terms equal, by owl:sameAs or by a literal of another's value."""
    return any(
        p == iri("owl:sameAs") or literals.may_equal(literals.facts(o)) for _, p, o in triples
    )


def base(
    profile: str, triples: Iterable[Triple], *, trivial: bool = False, axioms: bool = False
) -> tl.Database:
    text = profiles.program(profile, trivial=trivial, axioms=axioms)
    return tl.Database(text, facts=facts_of(triples))
