"""`Graph`: triples, and all that follows from them by RDFS or OWL 2 RL, while both change."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidelog.io.source import Source, is_path
from tidelog.limits import Limits, Show
from tidelog.program.diagnostics import TidelogError
from tidelog.rdf import writing
from tidelog.rdf.changing import GraphDelta, GraphTransaction
from tidelog.rdf.columns import Columns
from tidelog.rdf.contradictions import Inconsistency, causes
from tidelog.rdf.patch import PatchReader, Update
from tidelog.rdf.profiles import check_profile
from tidelog.rdf.reading import Reader
from tidelog.rdf.terms import Triple, is_triple, oxigraph, term_of, to_rdflib, triple_of
from tidelog.rdf.ways import TriplesWay, Way
from tidelog.transactions import check_algorithm

if TYPE_CHECKING:
    import pyarrow
    import pyoxigraph
    import rdflib

    from tidelog.api import Database


class Graph:
    """Explicit triples with all that follows from them.

    `profile` is none, rdfs or owl2rl. `ontology` and `data` are what is there from the start:
    files, folders or globs; more comes by `load`, `parse` and `add`. With `compiled` the ontology
    becomes rules over one relation for each class and property. `algorithm` is how consequences
    are maintained, as for a `Database`.

    >>> g = Graph("rdfs")
    >>> g.parse('''@prefix : <http://example.org/> .
    ... @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    ... :Cat rdfs:subClassOf :Animal . :Tom a :Cat .''')
    2
    >>> for triple in g.triples((None, None, "<http://example.org/Animal>")):
    ...     print(*triple)
    <http://example.org/Cat> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://example.org/Animal>
    <http://example.org/Tom> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/Animal>
    """

    def __init__(
        self,
        profile: str = "rdfs",
        *,
        compiled: bool = False,
        ontology: Source | Iterable[Source] | None = None,
        data: Source | Iterable[Source] | None = None,
        algorithm: str = "auto",
        strict: bool = False,
        limits: Limits | None = None,
        progress: Show | None = None,
        **reading: Any,
    ) -> None:
        options = {
            "algorithm": algorithm,
            "strict": strict,
            "limits": limits,
            "progress": progress,
        }
        self.profile = profile
        self.compiled = compiled
        self.prefixes: dict[str, str] = {}
        self._reader = Reader()
        self._open: GraphTransaction | None = None
        self._delta: GraphDelta | None = None
        self.load_seconds = 0.0  # that reading took
        self.seconds = 0.0  # that the last change took
        check_profile(profile)
        check_algorithm(algorithm)
        columns = self._read(_sources(data), reading, _sources(ontology))
        self.loaded = len(columns)  # triples read from sources
        self.noted(columns.words)
        self.way: Way = _way(compiled)(profile, options, columns)

    @property
    def database(self) -> Database:
        """The database behind the graph, to ask questions in Datalog."""
        return self.way.database

    # Changing.

    def transaction(self, **options: Any) -> GraphTransaction:
        """Begin to change triples; `options` are those of `Database.transaction`."""
        if self._open is not None:
            raise TidelogError(
                "error: a transaction is open\n    commit it or roll it back before the next one"
            )
        self._open = GraphTransaction(self, options)
        return self._open

    def free(self, transaction: GraphTransaction) -> None:
        """The transaction has ended."""
        if self._open is transaction:
            self._open = None

    def add(self, *triples: Any) -> GraphDelta:
        """Make triples explicit, in a transaction of their own; returns what that changed."""
        with self.transaction() as tx:
            tx.add(*triples)
        return self._changed(tx)

    def remove(self, *triples: Any) -> GraphDelta:
        """Make triples explicit no more, in a transaction of their own."""
        with self.transaction() as tx:
            tx.remove(*triples)
        return self._changed(tx)

    def apply(self, changes: str) -> list[GraphDelta]:
        """Apply changes, given as RDF Patch or signed N-Triples; one delta for each commit.

        Where one of them is at fault, the commits before it stay.
        """
        if not isinstance(changes, str):
            raise TidelogError(f"error: changes are a str, and not {type(changes).__name__}")
        return [self.update(found) for found in PatchReader("<changes>").updates([changes])]

    def update(self, update: Update, **options: Any) -> GraphDelta:
        """Apply changes that were read."""
        with self.transaction(**options) as tx:
            for op, columns in update.runs:
                tx.columns(op, columns)
        return self._changed(tx)

    def load(self, *sources: Source, **options: Any) -> int:
        """Add the triples of files, folders, globs or streams; returns how many there are.

        `format`, `base`, `graph` and `blank_nodes` are as for `tidelog.rdf.Reader`.
        """
        return self._take(self._read(sources, options))

    def _read(
        self, sources: Iterable[Source], options: dict[str, Any], ontology: Iterable[Source] = ()
    ) -> Columns:
        began = time.perf_counter()
        with self.reading(**options) as reader:
            reader.read_all(ontology, whole=True)
            reader.read_all(sources)
            columns = reader.columns()
        self.load_seconds += time.perf_counter() - began
        return columns

    def parse(self, text: str | bytes, format: str = "turtle", **options: Any) -> int:
        """Add the triples of a text; returns how many there are."""
        with self.reading(**options) as reader:
            reader.text(text, format)
            columns = reader.columns()
        return self._take(columns)

    def _take(self, columns: Columns) -> int:
        if self._open is None and self.way.fresh:
            self.noted(columns.words)
            self.way.begin(columns)
            self._delta = None
        else:
            with self.transaction() as tx:
                tx.columns("+", columns)
            self._changed(tx)
        self.loaded += len(columns)
        return len(columns)

    def _changed(self, tx: GraphTransaction) -> GraphDelta:
        self._delta, self.seconds = tx.delta, tx.seconds
        return tx.delta

    @property
    def delta(self) -> GraphDelta:
        """What the last `add`, `remove`, `load` or `parse` changed.

        The first triples of an empty graph have none: they are all that there is."""
        if self._delta is None:
            raise TidelogError("error: nothing has changed yet: there is no delta")
        return self._delta

    @contextmanager
    def reading(self, **options: Any) -> Iterator[Reader]:
        """A reader whose blank nodes are those of no source before it."""
        try:
            reader = Reader(**options, sources=self._reader.sources)
        except TypeError:
            known = "format, base, graph, blank_nodes"
            raise TidelogError(f"error: reading takes {known}; not {', '.join(options)}") from None
        yield reader
        self._reader.sources = max(self._reader.sources, reader.sources)
        self.prefixes.update(reader.prefixes)

    def noted(self, terms: Iterable[str]) -> None:
        """These terms are in the graph: no source to come gives their labels to its own nodes."""
        self._reader.noted(term for term in terms if term.startswith("_:f"))

    # Reading.

    def __len__(self) -> int:
        return self.way.size()

    def __iter__(self) -> Iterator[Triple]:
        """All triples that hold, sorted."""
        return iter(self.columns().sorted())

    def __contains__(self, triple: object) -> bool:
        return bool(self.way.matching(triple_of(triple)))

    def triples(self, pattern: Iterable[Any] = (None, None, None)) -> list[Triple]:
        """The triples that hold and match, sorted; None matches every term."""
        terms = tuple(None if term is None else term_of(term) for term in pattern)
        if len(terms) != 3:
            raise TidelogError("error: a pattern has three places; None matches every term")
        return sorted(filter(is_triple, self.way.matching((terms[0], terms[1], terms[2]))))

    def explicit(self) -> list[Triple]:
        """The triples that were given, sorted."""
        return list(self.way.explicit().sorted())

    def inconsistencies(self) -> list[Inconsistency]:
        """All that contradicts itself."""
        if "inconsistent" not in self.database:
            return []
        return [
            Inconsistency(str(rule), tuple(str(term) for term in terms if term))
            for rule, *terms in self.database["inconsistent"].rows()
        ]

    def causes(self, wrong: Inconsistency) -> list[Triple]:
        """The triples that contradict each other, given or derived."""
        return causes(wrong, self.triples)

    def columns(self) -> Columns:
        """All triples that hold, as columns of terms."""
        return self.way.columns().proper()

    def __repr__(self) -> str:
        return f"<Graph: {self.profile}, {len(self):,} triples>"

    # Elsewhere.

    def write(self, path: str, derived: bool = True) -> None:
        """Write all triples that hold, or only those that were given, as N-Triples (`.nt`),
        Turtle (`.ttl`) or Parquet (`.parquet`); texts compressed if `.gz` follows."""
        writing.write(str(path), self.columns() if derived else self.way.explicit(), self.prefixes)

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table with the columns subject, predicate and object."""
        return writing.to_arrow(self.columns().sorted())

    def to_oxigraph(self) -> pyoxigraph.Store:
        """A store of pyoxigraph with all triples that hold, for SPARQL."""
        ox = oxigraph()
        store: pyoxigraph.Store = ox.Store()
        lines = b"".join(writing.ntriples(self.columns()))
        # Triple by triple, because loading a text gives other names to blank nodes.
        store.bulk_extend(ox.parse(lines, ox.RdfFormat.N_TRIPLES))
        return store

    def to_rdflib(self) -> rdflib.Graph:
        """A graph of rdflib with all triples that hold."""
        import rdflib

        graph = rdflib.Graph()
        columns = self.columns()
        terms = [to_rdflib(word) for word in columns.words]
        rows = zip(columns.s.tolist(), columns.p.tolist(), columns.o.tolist(), strict=True)
        graph.addN((terms[s], terms[p], terms[o], graph) for s, p, o in rows)
        for name, start in self.prefixes.items():
            graph.bind(name, start)
        return graph


def _sources(given: Source | Iterable[Source] | None) -> list[Source]:
    if given is None:
        return []
    one = is_path(given) or hasattr(given, "read") or isinstance(given, bytes)
    if one or not isinstance(given, Iterable):
        return [given]  # type: ignore[list-item]
    return list(given)  # type: ignore[arg-type]


def _way(compiled: bool) -> type[Way]:
    if not compiled:
        return TriplesWay
    from tidelog.rdf.routed import CompiledWay

    return CompiledWay
