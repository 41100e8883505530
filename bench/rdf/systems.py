"""The measured systems, each with the same steps: read files, derive all consequences."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from bench.rdf.lubm import UB
from tidelog.rdf import RDFS, Graph, Triple
from tidelog.rdf.vocabulary import is_schema

PROFILE = "owl2rl"
TRIPLES, COMPILED = "tidelog", "tidelog, compiled"
OURS = (TRIPLES, COMPILED)
PEERS = ("reasonable", "owlrl")
# The degrees of all graduates and teachers depend on it, and who is an alumnus.
AXIOM: Triple = (UB.undergraduateDegreeFrom, RDFS.subPropertyOf, UB.degreeFrom)


class System(Protocol):
    """The interface of a measured reasoner."""

    def load(self, ontology: Path, data: Path) -> None: ...
    def reason(self) -> int: ...


class Ours:
    """Tidelog, in one of its two ways to reason."""

    def __init__(self, compiled: bool) -> None:
        self.graph = Graph(PROFILE, compiled=compiled)
        self._columns: Any = None

    def load(self, ontology: Path, data: Path) -> None:
        with self.graph.reading() as reader:
            reader.read_all([ontology, data])
            self._columns = reader.columns()

    def reason(self) -> int:
        self.graph.reasoner.replace(self._columns)
        self._columns = None
        return len(self.graph)

    def changes(self, quick: bool) -> Iterator[tuple[str, list[Triple]]]:
        """What is removed and added again, by the name of its row."""
        data = sorted(t for t in self.graph.reasoner.explicit() if not is_schema(t))
        chosen = random.Random(8)
        for _ in range(3 if quick else 20):
            yield "1 triple", chosen.sample(data, 1)
        for _ in range(1 if quick else 5):
            yield "100 triples", chosen.sample(data, 100)
        for _ in range(1 if quick else 3):
            yield "1 % of the triples", chosen.sample(data, len(data) // 100)
        for _ in range(2 if quick else 4):
            yield "1 axiom", [AXIOM]


class Reasonable:
    """Its own loader and fixpoint; the answer is a list of rdflib's terms."""

    def __init__(self) -> None:
        import reasonable

        self._reasoner = reasonable.PyReasoner()

    def load(self, ontology: Path, data: Path) -> None:
        self._reasoner.load_file(str(ontology))
        self._reasoner.load_file(str(data))

    def reason(self) -> int:
        return len(self._reasoner.reason())


class Owlrl:
    """A graph of rdflib, expanded in place."""

    def __init__(self) -> None:
        import rdflib

        self._graph = rdflib.Graph()

    def load(self, ontology: Path, data: Path) -> None:
        self._graph.parse(ontology, format="turtle")
        self._graph.parse(data, format="nt")

    def reason(self) -> int:
        import owlrl

        owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(self._graph)
        return len(self._graph)


def system_named(name: str) -> System:
    if name in OURS:
        return Ours(name == COMPILED)
    return Reasonable() if name == "reasonable" else Owlrl()
