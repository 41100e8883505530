"""What changes of an ontology: triples that come and go, and which of those that say that terms
are the same an ontology must know; and whether literals are the same.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass, field

from tidelog.program.changes import Op
from tidelog.rdf.literals import Facts
from tidelog.rdf.profiles import iri
from tidelog.rdf.vocabulary import CLASSES, DIFFERENT, PREDICATES, SAME, TYPE, Triple

Signed = Iterable[tuple[Op, Triple]]

# Their objects are things, of which rules over the data know what they are equal to.
_OF_THINGS = frozenset(
    iri(f"owl:{name}")
    for name in ("hasValue", "sourceIndividual", "targetIndividual", "targetValue")
)
_VOCABULARY = PREDICATES | CLASSES | {TYPE, SAME, DIFFERENT}


@dataclass(slots=True)
class Net:
    """Triples that are there after some changes and were not before, and the other way round."""

    come: list[Triple] = field(default_factory=list)
    gone: list[Triple] = field(default_factory=list)

    @classmethod
    def of(cls, before: Container[Triple], changes: Signed) -> Net:
        last: dict[Triple, bool] = {}
        for op, triple in changes:
            last[triple] = op == "+"
        come = [t for t, there in last.items() if there and t not in before]
        return cls(come, [t for t, there in last.items() if not there and t in before])

    def __bool__(self) -> bool:
        return bool(self.come or self.gone)

    @property
    def back(self) -> Net:
        """What undoes it."""
        return Net(self.gone, self.come)

    def apply(self, to: dict[Triple, None]) -> None:
        for triple in self.gone:
            to.pop(triple, None)
        to.update(dict.fromkeys(self.come))


class Equal:
    """Explicit triples that say which terms are the same, by their terms.

    An ontology must know those that say it of what its axioms are about, because one axiom may be
    written with several of these terms: they are `told`. So a change that reaches none of them
    costs what it changes, however many terms are equal.
    """

    def __init__(self, triples: Iterable[Triple] = (), axioms: Iterable[Triple] = ()) -> None:
        self._links: dict[str, dict[Triple, None]] = {}
        self.change(Net(list(triples)))
        self.concerned: frozenset[str] = frozenset()
        self.told: dict[Triple, None] = {}
        self.told, self.concerned = self.reached(axioms)

    def __contains__(self, triple: object) -> bool:
        return isinstance(triple, tuple) and triple in self._links.get(triple[0], ())

    def change(self, net: Net) -> None:
        for triple in net.gone:
            for term in {triple[0], triple[2]}:
                links = self._links[term]
                del links[triple]
                if not links:
                    del self._links[term]
        for triple in net.come:
            for term in {triple[0], triple[2]}:
                self._links.setdefault(term, {})[triple] = None

    def reaches(self, net: Net) -> bool:
        """Does a change concern the ontology?"""
        return any(s in self.concerned or o in self.concerned for s, _, o in (*net.come, *net.gone))

    def reached(self, axioms: Iterable[Triple]) -> tuple[dict[Triple, None], frozenset[str]]:
        """What an ontology of these axioms must be told, and the terms that this is about."""
        seen = {*_VOCABULARY, *_subjects(axioms)}
        told: dict[Triple, None] = {}
        new = sorted(term for term in seen if term in self._links)
        while new:
            more = [t for term in new for t in self._links.get(term, ()) if t not in told]
            told.update(dict.fromkeys(more))
            new = [term for t in more for term in (t[0], t[2]) if term not in seen]
            seen.update(new)
        return told, frozenset(seen)


class Values:
    """Notices when two literals of one value have been seen. Most are written as their values
    are; only the others have to be kept here."""

    def __init__(self) -> None:
        self._others: dict[str, str] = {}  # one for each value

    def meet(self, new: Collection[str], facts: Facts, known: Container[str]) -> bool:
        """Has one of these literals, of which `facts` tell, the value of another one, or of one
        that is known already?"""
        found = any(word in self._others for word in new)
        here = {*new}
        for term, _, value in facts.get("literal", ()):
            if term != value:
                before = self._others.setdefault(value, term)
                found |= before != term or value in here or value in known
        return found


def _subjects(axioms: Iterable[Triple]) -> Iterator[str]:
    """Classes, properties, and nodes of lists and restrictions."""
    for s, p, o in axioms:
        yield s
        if p not in _OF_THINGS:
            yield o
