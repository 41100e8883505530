"""Changes of an ontology, its owl:sameAs triples, and literals of equal value."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass, field

from tidelog.program.changes import Op
from tidelog.rdf.literals import Facts
from tidelog.rdf.profiles import iri
from tidelog.rdf.vocabulary import CLASSES, DIFFERENT, PREDICATES, SAME, TYPE, Triple

Signed = Iterable[tuple[Op, Triple]]

# Their objects are individuals; rules over the data handle equality of those.
_INDIVIDUAL_OBJECTS = frozenset(
    iri(f"owl:{name}")
    for name in ("hasValue", "sourceIndividual", "targetIndividual", "targetValue")
)
_VOCABULARY = PREDICATES | CLASSES | {TYPE, SAME, DIFFERENT}


@dataclass(slots=True)
class NetChange:
    """The net effect of a sequence of changes: triples inserted and triples deleted."""

    inserted: list[Triple] = field(default_factory=list)
    deleted: list[Triple] = field(default_factory=list)

    @classmethod
    def of(cls, before: Container[Triple], changes: Signed) -> NetChange:
        last = {triple: op == "+" for op, triple in changes}
        inserted = [t for t, present in last.items() if present and t not in before]
        return cls(inserted, [t for t, present in last.items() if not present and t in before])

    def __bool__(self) -> bool:
        return bool(self.inserted or self.deleted)

    @property
    def inverse(self) -> NetChange:
        """The change that undoes this one."""
        return NetChange(self.deleted, self.inserted)

    def apply(self, to: dict[Triple, None]) -> None:
        for triple in self.deleted:
            to.pop(triple, None)
        to.update(dict.fromkeys(self.inserted))


class SameAsIndex:
    """Explicit owl:sameAs triples, indexed by term.

    `relevant` triples equate terms of axioms: the ontology needs them, because several equal terms
    may spell one axiom. A change of other triples costs time proportional to the change, however
    many terms are equal.
    """

    def __init__(self, triples: Iterable[Triple] = (), axioms: Iterable[Triple] = ()) -> None:
        self._links: dict[str, dict[Triple, None]] = {}
        self.change(NetChange(list(triples)))
        self.schema_terms: frozenset[str] = frozenset()
        self.relevant: dict[Triple, None] = {}
        self.relevant, self.schema_terms = self.select_relevant(axioms)

    def __contains__(self, triple: object) -> bool:
        return isinstance(triple, tuple) and triple in self._links.get(triple[0], ())

    def change(self, net: NetChange) -> None:
        for triple in net.deleted:
            for term in {triple[0], triple[2]}:
                links = self._links[term]
                del links[triple]
                if not links:
                    del self._links[term]
        for triple in net.inserted:
            for term in {triple[0], triple[2]}:
                self._links.setdefault(term, {})[triple] = None

    def affects(self, net: NetChange) -> bool:
        """Whether a change touches a term of the ontology."""
        return any(
            s in self.schema_terms or o in self.schema_terms
            for s, _, o in (*net.inserted, *net.deleted)
        )

    def select_relevant(
        self, axioms: Iterable[Triple]
    ) -> tuple[dict[Triple, None], frozenset[str]]:
        """The triples relevant to these axioms, and the terms that axioms and triples mention."""
        seen = {*_VOCABULARY, *_subjects(axioms)}
        relevant: dict[Triple, None] = {}
        new = sorted(term for term in seen if term in self._links)
        while new:
            more = [t for term in new for t in self._links.get(term, ()) if t not in relevant]
            relevant.update(dict.fromkeys(more))
            new = [term for t in more for term in (t[0], t[2]) if term not in seen]
            seen.update(new)
        return relevant, frozenset(seen)


class LiteralValues:
    """Detects literals of equal value.

    Most literals are in canonical form and need no entry; only the others are stored.
    """

    def __init__(self) -> None:
        self._noncanonical: dict[str, str] = {}  # one term per value

    def add(self, new: Collection[str], facts: Facts, known: Container[str]) -> bool:
        """Add literals with their `facts`; whether one equals another new or known literal."""
        collision = any(word in self._noncanonical for word in new)
        added = {*new}
        for term, _, value in facts.get("literal", ()):
            if term != value:
                first = self._noncanonical.setdefault(value, term)
                collision |= first != term or value in added or value in known
        return collision


def _subjects(axioms: Iterable[Triple]) -> Iterator[str]:
    """Classes, properties, and nodes of lists and restrictions in axioms."""
    for s, p, o in axioms:
        yield s
        if p not in _INDIVIDUAL_OBJECTS:
            yield o
