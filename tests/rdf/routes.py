"""A compiled ontology as a database, and back to triples."""

from __future__ import annotations

from collections.abc import Iterable

import tidelog as tl
from tests.rdf.bases import facts_of
from tests.rdf.notation import Triple
from tidelog.rdf.ontology_rules import Compiled
from tidelog.rdf.vocabulary import is_schema


def rows_by_relation(
    compiled: Compiled, data: Iterable[Triple], axioms: Iterable[Triple] = ()
) -> dict[str, list[tuple[str, ...]]]:
    """Data as facts, with facts about all literals, those of axioms included."""
    data = [*data]
    facts = facts_of([*data, *axioms])
    del facts["triple"]
    for triple in dict.fromkeys(data):
        relation, row = compiled.route((triple[0], triple[1], triple[2]))
        facts.setdefault(relation, []).append(row)
    return facts


def open_compiled(
    compiled: Compiled, data: Iterable[Triple], axioms: Iterable[Triple] = ()
) -> tl.Database:
    return tl.Database(
        compiled.program, facts=rows_by_relation(compiled, [*data, *compiled.data], axioms)
    )


def things(db: tl.Database, compiled: Compiled) -> set[Triple]:
    """The triples of a compiled ontology's database."""
    found = (compiled.triple_of(name, row) for name in db.relations for row in db[name])
    return {triple for triple in found if triple is not None}


def about_things(closed: Iterable[Triple]) -> set[Triple]:
    return {triple for triple in closed if not is_schema(triple)}
