"""What can be wrong with a pipeline, found before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidelog.pipeline.sources import relation_of
from tidelog.pipeline.tables import refuse_nullary
from tidelog.program.rules import Relation
from tidelog.transactions import no_relation

if TYPE_CHECKING:
    from tidelog.pipeline.pipeline import Pipeline


def check(pipeline: Pipeline, relations: Mapping[str, Relation]) -> None:
    """Mappings and sinks fit the program."""
    shown = {name: relation for name, relation in relations.items() if not relation.hidden}
    for source in pipeline.sources:
        for map_ in source.maps:
            relation_of(source, map_, shown)
    for sink in pipeline.sinks:
        relation = shown.get(sink.relation)
        if relation is None:
            raise no_relation(sink.relation, list(shown))
        if sink.kind == "table":
            refuse_nullary(relation, f"sink {sink.name}")
