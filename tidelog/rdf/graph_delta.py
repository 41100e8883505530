"""What a change of a graph changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import merge

from tidelog.program.changes import Op
from tidelog.program.diagnostics import plural
from tidelog.rdf.rdf_terms import Triple
from tidelog.rdf.triple_columns import Columns


@dataclass(frozen=True)
class GraphDelta:
    """The triples that a transaction inserted and deleted, derived ones included.

    Printed, it is in signed N-Triples, which can be read as changes.
    """

    inserted: Callable[[], Columns]
    deleted: Callable[[], Columns]

    @cached_property
    def added(self) -> list[Triple]:
        return list(self.inserted().proper().sorted())

    @cached_property
    def removed(self) -> list[Triple]:
        return list(self.deleted().proper().sorted())

    def __iter__(self) -> Iterator[tuple[Op, Triple]]:
        """Signed triples, in the order of the triples."""
        sides: tuple[tuple[Op, list[Triple]], ...] = (("-", self.removed), ("+", self.added))
        for triple, op in merge(*([(t, op) for t in triples] for op, triples in sides)):
            yield op, triple

    def __len__(self) -> int:
        return len(self.added) + len(self.removed)

    def __str__(self) -> str:
        return "\n".join(f"{op} {' '.join(triple)} ." for op, triple in self)

    def __repr__(self) -> str:
        inserted, deleted = plural(len(self.added), "triple"), len(self.removed)
        return f"<GraphDelta: {inserted} inserted, {deleted:,} deleted>"
