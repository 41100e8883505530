"""`Graph`: RDF triples and everything that RDFS or OWL 2 RL derives from them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidelog.control.limits import Limits, LimitWatch, Show, guarded
from tidelog.formats.byte_source import Source, is_path
from tidelog.program.diagnostics import TidelogError, plural
from tidelog.program.suggestions import suggestion
from tidelog.rdf import writers
from tidelog.rdf.change_text import PatchReader, PatchUpdate
from tidelog.rdf.contradictions import Inconsistency, causes
from tidelog.rdf.graph_delta import GraphDelta
from tidelog.rdf.graph_transaction import GraphTransaction
from tidelog.rdf.profiles import check_profile
from tidelog.rdf.rdf_terms import Triple, is_triple, oxigraph, term_of, to_rdflib, triple_of
from tidelog.rdf.readers import Reader
from tidelog.rdf.reasoning import Reasoner, TripleReasoner
from tidelog.rdf.triple_columns import Columns
from tidelog.transaction.transaction import check_algorithm

if TYPE_CHECKING:
    import pyarrow
    import pyoxigraph
    import rdflib

    from tidelog.session.database import Database


class Graph:
    """A mutable RDF graph with its materialisation.

    `profile` is none, rdfs or owl2rl. `ontology` and `data` name files, folders or globs to load;
    `load`, `parse` and `add` insert more triples. `compiled` turns the ontology into rules over one
    relation per class and property. `algorithm` is the maintenance algorithm, as for a `Database`.

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
        self._limits = limits or Limits()
        self._reader = Reader()
        self._open: GraphTransaction | None = None
        self._delta: GraphDelta | None = None
        self.load_seconds = 0.0  # spent reading
        self.seconds = 0.0  # of the last transaction
        check_profile(profile)
        check_algorithm(algorithm)
        columns = self._read(_sources(data), reading, _sources(ontology))
        self.loaded = len(columns)  # triples read from sources
        self.reserve_labels(columns.words)
        self.reasoner: Reasoner = _reasoner(compiled)(profile, options, self.prefixes, columns)

    @property
    def database(self) -> Database:
        """The database behind the graph, for queries in Datalog."""
        return self.reasoner.database

    def transaction(self, **options: Any) -> GraphTransaction:
        """Begin a transaction; `options` are those of `Database.transaction`."""
        if self._open is not None:
            raise TidelogError(
                "error: a transaction is open\n    commit or roll it back before the next one"
            )
        self._open = GraphTransaction(self, options)
        return self._open

    def free(self, transaction: GraphTransaction) -> None:
        """Forget a transaction that has ended."""
        if self._open is transaction:
            self._open = None

    def add(self, *triples: Any) -> GraphDelta:
        """Insert explicit triples in one transaction, and return its delta."""
        with self.transaction() as tx:
            tx.add(*triples)
        return self._committed(tx)

    def remove(self, *triples: Any) -> GraphDelta:
        """Delete explicit triples in one transaction, and return its delta."""
        with self.transaction() as tx:
            tx.remove(*triples)
        return self._committed(tx)

    def apply(self, changes: str) -> list[GraphDelta]:
        """Apply changes in RDF Patch or signed N-Triples, and return one delta per commit.

        An error keeps the commits before it.
        """
        if not isinstance(changes, str):
            raise TidelogError(f"error: expected changes as str, got {type(changes).__name__}")
        return [self.update(update) for update in PatchReader("<changes>").updates([changes])]

    def update(self, update: PatchUpdate, **options: Any) -> GraphDelta:
        """Apply one update from a `PatchReader`."""
        with self.transaction(**options) as tx:
            for op, columns in update.runs:
                tx.columns(op, columns)
        return self._committed(tx)

    def load(self, *sources: Source, **options: Any) -> int:
        """Insert the triples of files, folders, globs or streams, and return how many were read.

        The options `format`, `base`, `graph` and `blank_nodes` are those of `tidelog.rdf.Reader`.
        """
        return self._insert(self._read(sources, options))

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
        """Insert the triples of a text, and return how many were read."""
        with self.reading(**options) as reader:
            reader.text(text, format)
            columns = reader.columns()
        return self._insert(columns)

    def _insert(self, columns: Columns) -> int:
        if self._open is None and self.reasoner.replaceable:
            self.reserve_labels(columns.words)
            self.reasoner.replace(columns)
            self._delta = None
        else:
            with self.transaction() as tx:
                tx.columns("+", columns)
            self._committed(tx)
        self.loaded += len(columns)
        return len(columns)

    def _committed(self, tx: GraphTransaction) -> GraphDelta:
        self._delta, self.seconds = tx.delta, tx.seconds
        return tx.delta

    @property
    def delta(self) -> GraphDelta:
        """The delta of the last `add`, `remove`, `load` or `parse`.

        Loading an empty graph has no delta, because it opens a new database.
        """
        if self._delta is None:
            raise TidelogError("error: the graph has not changed yet, so it has no delta")
        return self._delta

    @contextmanager
    def reading(self, **options: Any) -> Iterator[Reader]:
        """A reader whose blank nodes differ from those of all sources before it.

        The limits on seconds and memory hold while it is used.
        """
        known = ("format", "base", "graph", "blank_nodes")
        if unknown := [name for name in options if name not in known]:
            raise TidelogError(
                f"error: unknown option {unknown[0]!r}\n    {suggestion(unknown[0], known)}"
            )
        reader = Reader(**options, sources=self._reader.sources)
        with guarded(LimitWatch(self._limits, lambda: 0).look):
            yield reader
        self._reader.sources = max(self._reader.sources, reader.sources)
        self.prefixes.update(reader.prefixes)

    def reserve_labels(self, terms: Iterable[str]) -> None:
        """Keep later sources from assigning the labels of these blank nodes to their own."""
        self._reader.reserve_labels(term for term in terms if term.startswith("_:f"))

    def __len__(self) -> int:
        return self.reasoner.size()

    def __iter__(self) -> Iterator[Triple]:
        """All triples, sorted."""
        return iter(self.columns().sorted())

    def __contains__(self, triple: object) -> bool:
        return bool(self.reasoner.matching(triple_of(triple)))

    def triples(self, pattern: Iterable[Any] = (None, None, None)) -> list[Triple]:
        """The triples that match a pattern, sorted; None matches every term."""
        terms = tuple(None if term is None else term_of(term) for term in pattern)
        if len(terms) != 3:
            raise TidelogError(
                f"error: expected a pattern of three terms, got {len(terms)}\n"
                "    None matches every term"
            )
        return sorted(filter(is_triple, self.reasoner.matching((terms[0], terms[1], terms[2]))))

    def explicit(self) -> list[Triple]:
        """The explicit triples, sorted."""
        return list(self.reasoner.explicit().sorted())

    def inconsistencies(self) -> list[Inconsistency]:
        """All contradictions in the graph."""
        if "inconsistent" not in self.database:
            return []
        return [
            Inconsistency(str(rule), tuple(str(term) for term in terms if term))
            for rule, *terms in self.database["inconsistent"].rows()
        ]

    def causes(self, wrong: Inconsistency) -> list[Triple]:
        """The explicit and derived triples behind a contradiction."""
        return causes(wrong, self.triples)

    def columns(self) -> Columns:
        """All triples, as columns of terms."""
        return self.reasoner.columns().proper()

    def __repr__(self) -> str:
        return f"<Graph: {self.profile}, {plural(len(self), 'triple')}>"

    def write(self, path: str, derived: bool = True) -> None:
        """Write all triples, or without `derived` only the explicit ones.

        The ending selects N-Triples (`.nt`), Turtle (`.ttl`) or Parquet (`.parquet`); a further
        `.gz` compresses text formats.
        """
        columns = self.columns() if derived else self.reasoner.explicit()
        writers.write(str(path), columns, self.prefixes)

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table with the columns subject, predicate and object."""
        return writers.to_arrow(self.columns().sorted())

    def to_oxigraph(self) -> pyoxigraph.Store:
        """A pyoxigraph store with all triples, for SPARQL."""
        ox = oxigraph()
        store: pyoxigraph.Store = ox.Store()
        lines = b"".join(writers.ntriples(self.columns()))
        # Triple by triple, because loading a text relabels blank nodes.
        store.bulk_extend(ox.parse(lines, ox.RdfFormat.N_TRIPLES))
        return store

    def to_rdflib(self) -> rdflib.Graph:
        """An rdflib graph with all triples."""
        import rdflib

        graph = rdflib.Graph()
        columns = self.columns()
        terms = [to_rdflib(word) for word in columns.words]
        rows = zip(columns.s.tolist(), columns.p.tolist(), columns.o.tolist(), strict=True)
        graph.addN((terms[s], terms[p], terms[o], graph) for s, p, o in rows)
        for name, start in self.prefixes.items():
            graph.bind(name, start)
        return graph


def _sources(source: Source | Iterable[Source] | None) -> list[Source]:
    if source is None:
        return []
    one = is_path(source) or hasattr(source, "read") or isinstance(source, bytes)
    if one or not isinstance(source, Iterable):
        return [source]  # type: ignore[list-item]
    return list(source)  # type: ignore[arg-type]


def _reasoner(compiled: bool) -> type[Reasoner]:
    if not compiled:
        return TripleReasoner
    from tidelog.rdf.compiled_reasoning import CompiledReasoner

    return CompiledReasoner
