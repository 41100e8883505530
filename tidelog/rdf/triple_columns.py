"""Triples as columns: three arrays of codes into one list of distinct terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from tidelog.program.syntax import Kind
from tidelog.program.table import Column, SymbolColumn, Table
from tidelog.rdf.rdf_terms import Triple

Codes = NDArray[np.int64]
KINDS: tuple[Kind, ...] = ("symbol", "symbol", "symbol")
_BATCH = 1 << 16  # triples


@dataclass(frozen=True, slots=True)
class Columns:
    """Triple i is `words[s[i]], words[p[i]], words[o[i]]`. Words are distinct.

    >>> Columns.of([("<a:s>", "<a:p>", "<a:s>")]).words
    ['<a:s>', '<a:p>']
    """

    s: Codes
    p: Codes
    o: Codes
    words: Sequence[str]

    @staticmethod
    def of(triples: Iterable[Triple]) -> Columns:
        """Encode triples in batches, so that only distinct terms stay in memory."""
        gathered, rest = Gathered(), iter(triples)
        while gathered.add(islice(rest, _BATCH)):
            pass
        return gathered.columns()

    @staticmethod
    def of_table(table: Table) -> Columns:
        """Merge the dictionaries of a table's three symbol columns."""
        ids: dict[str, int] = {}
        s, p, o = (codes_in(ids, column) for column in table.columns)
        return Columns(s, p, o, list(ids))

    def __len__(self) -> int:
        return len(self.s)

    def __iter__(self) -> Iterator[Triple]:
        words = self.words
        for s, p, o in zip(self.s.tolist(), self.p.tolist(), self.o.tolist(), strict=True):
            yield words[s], words[p], words[o]

    def table(self) -> Table:
        """The triples as facts for an engine."""
        return self.table_of(self.s, self.p, self.o)

    def table_of(self, *columns: Codes) -> Table:
        """Facts from columns of codes."""
        parts = tuple(map(self.symbols, columns))
        return Table(KINDS[: len(parts)], parts, len(columns[0]))

    def symbols(self, codes: Codes) -> SymbolColumn:
        """A column with only the words that it uses, since an engine looks up every word."""
        used = np.zeros(len(self.words), dtype=np.bool_)
        used[codes] = True
        numbers = np.cumsum(used) - 1
        words = self.words
        return SymbolColumn(numbers[codes], [words[i] for i in np.flatnonzero(used).tolist()])

    def where(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Columns:
        return Columns(self.s[rows], self.p[rows], self.o[rows], self.words)

    def of_kinds(self, first: str, column: Codes) -> NDArray[np.bool_]:
        """Which rows have a term in this column that begins with one of these characters."""
        known = np.array([word[:1] in first for word in self.words], dtype=np.bool_)
        return known[column] if len(known) else np.zeros(0, dtype=np.bool_)

    def proper(self) -> Columns:
        """The triples that RDF can express; rules may derive literals as subjects."""
        return self.where(self.of_kinds("<_", self.s) & self.of_kinds("<", self.p))

    def sorted(self) -> Columns:
        """Sorted by subject, predicate and object, as texts."""
        order = sorted(range(len(self.words)), key=self.words.__getitem__)
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        s, p, o = ranks[self.s], ranks[self.p], ranks[self.o]
        rows = np.lexsort((o, p, s))
        return Columns(s[rows], p[rows], o[rows], [self.words[i] for i in order])


@dataclass(slots=True)
class Gathered:
    """Growing columns: chunks of codes, and the code of each distinct term."""

    ids: dict[str, int] = field(default_factory=dict)
    pieces: list[Codes] = field(default_factory=list)

    def add(
        self, triples: Iterable[Sequence[str]], rename: Callable[[str], str] | None = None
    ) -> int:
        """Add triples and return how many; `rename` maps each term."""
        ids = self.ids
        flat = [term for triple in triples for term in triple]
        if rename is None:
            codes = [ids.setdefault(term, len(ids)) for term in flat]
        else:
            codes = [ids.setdefault(rename(term), len(ids)) for term in flat]
        self.pieces.append(np.array(codes, dtype=np.int64).reshape(-1, 3))
        return len(codes) // 3

    def __len__(self) -> int:
        return sum(map(len, self.pieces))

    def columns(self) -> Columns:
        rows = np.concatenate(self.pieces) if self.pieces else np.empty((0, 3), dtype=np.int64)
        s, p, o = (np.ascontiguousarray(rows[:, c]) for c in range(3))
        return Columns(s, p, o, list(self.ids))


def groups(codes: Codes) -> Iterator[tuple[int, Codes]]:
    """Each distinct code with its rows."""
    order = np.argsort(codes, kind="stable")
    found, starts = np.unique(codes[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, starts[1:]), strict=False)


def codes_in(ids: dict[str, int], column: Column) -> Codes:
    """A symbol column's values as codes of a shared dictionary."""
    assert isinstance(column, SymbolColumn)
    codes = np.array([ids.setdefault(word, len(ids)) for word in column.words], dtype=np.int64)
    return codes[column.codes] if len(codes) else np.zeros(0, dtype=np.int64)


def coded(ids: dict[str, int], columns: Columns) -> Codes:
    """Triples as rows of codes of a shared dictionary."""
    parts = (SymbolColumn(codes, columns.words) for codes in (columns.s, columns.p, columns.o))
    return np.column_stack([codes_in(ids, part) for part in parts])
