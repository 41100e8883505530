"""The dictionary of records and branches: values to numbers and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.engine import Ids
from tidelog.local.kernels import layout as at
from tidelog.local.kernels.term_table import find_one, make_all, rehash_terms
from tidelog.local.kernels.words import BIAS
from tidelog.program.diagnostics import EvaluationError
from tidelog.program.syntax import Kind
from tidelog.program.table import Table
from tidelog.program.terms import MOST_DEEP, TermKind

Words = NDArray[np.int64]
ABSENT = 0xFFFFFFFF  # an id that no value has
Known = dict[tuple[str, int], int]  # by kind and identity


class Terms:
    """Terms by number, in tables that kernels read and add to. `leaves` has all other values.

    A field is the id of a value: it says nothing of kinds, which its constructor has. A term's
    fields are there before it, so that their numbers are smaller.
    """

    def __init__(self, leaves: Any) -> None:
        self._leaves = leaves
        self._env: NDArray[np.int64] = leaves.env
        self._address: int = self._env.ctypes.data
        self._constructors: dict[tuple[str, str], int] = {}
        self._kinds: list[tuple[TermKind, str]] = []
        self._cells: Ids = np.zeros(0, dtype=np.uint32)
        self._starts: Words = np.zeros(2, dtype=np.int64)
        self._slots: NDArray[np.uint32] = np.zeros(0, dtype=np.uint32)
        self._env[at.E_NTERMS] = 1
        self.grow()

    def constructor(self, kind: TermKind, name: str) -> int:
        """The number of a constructor."""
        number = self._constructors.setdefault((kind, name), len(self._kinds))
        if number == len(self._kinds):
            self._kinds.append((kind, name))
        return number

    def grow(self) -> None:
        """Room for twice as many terms, and twice as many fields."""
        count = int(self._env[at.E_NTERMS])
        used = int(self._starts[count])
        room = max(256, 2 * int(self._env[at.E_CAPTERMS]))
        if count < self._env[at.E_CAPTERMS]:  # only fields were short
            room = int(self._env[at.E_CAPTERMS])
        starts = np.zeros(room + 1, dtype=np.int64)
        starts[: count + 1] = self._starts[: count + 1]
        cells = np.zeros(max(1024, 2 * len(self._cells)), dtype=np.uint32)
        cells[:used] = self._cells[:used]
        slots = np.zeros(2 * room, dtype=np.uint32)
        rehash_terms(cells, starts, count, slots)
        self._cells, self._starts, self._slots = cells, starts, slots
        self._env[at.E_CELLS], self._env[at.E_CAPCELLS] = cells.ctypes.data, len(cells)
        self._env[at.E_STARTS], self._env[at.E_CAPTERMS] = starts.ctypes.data, room
        self._env[at.E_THASH], self._env[at.E_THSIZE] = slots.ctypes.data, len(slots)

    # From values to numbers.

    def numbers(self, kind: TermKind, values: list[Any]) -> Words:
        """Numbers of values; new ones get one."""
        found = np.zeros(len(values), dtype=np.int64)
        if any(
            isinstance(f.kind, TermKind) for fields in kind.constructors.values() for f in fields
        ):
            known: Known = {}
            for i, value in enumerate(values):
                found[i] = self._nested(kind, value, known)
            return found
        places: dict[str, list[int]] = {}
        for i, value in enumerate(values):
            constructor = kind.taken_apart(value)
            if constructor is not None:
                places.setdefault(constructor[0], []).append(i)
        for name, which in places.items():
            parts = [kind.taken_apart(values[i])[1] for i in which]  # type: ignore[index]
            found[which] = self._flat(kind, name, parts)
        return found

    def _flat(self, kind: TermKind, name: str, parts: list[tuple[Any, ...]]) -> Words:
        """Of values that one constructor makes, with no terms in them."""
        fields = kind.constructors[name]
        rows = np.empty((len(parts), len(fields)), dtype=np.uint32)
        table = Table.from_rows(tuple(field.kind for field in fields), parts)
        for c, (field, column) in enumerate(zip(fields, table.columns, strict=True)):
            rows[:, c] = self._leaves.encode(field.kind, column)
        return self._make(self.constructor(kind, name), rows)

    def _make(self, constructor: int, rows: Ids) -> Words:
        numbers = np.empty(len(rows), dtype=np.int64)
        done = 0
        while (done := make_all(self._address, constructor, rows, numbers, done)) < len(rows):
            self.grow()
        return numbers

    def _nested(self, kind: TermKind, value: Any, known: Known, add: bool = True) -> int:
        """The number of a value with values in it, inner ones first; -1 if it is to be there and
        is not. `known` has those of objects that were met, which their owner keeps alive."""
        work: list[tuple[TermKind, Any, bool]] = [(kind, value, False)]
        while work:
            of, term, complete = work.pop()
            found = of.taken_apart(term)
            if found is None or (of, id(term)) in known:
                continue
            name, values = found
            fields = of.constructors[name]
            if not complete:
                work.append((of, term, True))
                for field, part in zip(fields, values, strict=True):
                    if isinstance(field.kind, TermKind):
                        work.append((field.kind, part, False))
                continue
            ids = [self._field(f.kind, v, known, add) for f, v in zip(fields, values, strict=True)]
            constructor = self.constructor(of, name)
            if ABSENT in ids:
                return -1
            if add:
                known[of, id(term)] = int(
                    self._make(constructor, np.array([ids], dtype=np.uint32))[0]
                )
            else:
                number = int(find_one(self._address, constructor, np.array(ids, dtype=np.int64)))
                if not number:
                    return -1
                known[of, id(term)] = number
        return 0 if value is None else known[kind, id(value)]

    def _field(self, kind: Kind, value: Any, known: Known, add: bool) -> int:
        if isinstance(kind, TermKind):
            return BIAS + (0 if value is None else known[kind, id(value)])
        found = self._leaves.id(kind, value) if add else self._leaves.known(kind, value)
        return int(found)

    def number(self, kind: TermKind, value: Any) -> int:
        return self._nested(kind, value, {})

    def known(self, kind: TermKind, value: Any) -> int:
        """The number of a value, or -1; nothing is added."""
        return self._nested(kind, value, {}, add=False)

    # From numbers to values.

    def values(self, numbers: Words) -> list[Any]:
        """The values of distinct numbers, all of one kind."""
        groups = self._below(numbers)
        values: dict[int, Any] = {0: None}
        depths: dict[int, int] = {0: 0}
        rows: dict[int, tuple[int, tuple[Any, ...]]] = {}
        nested: dict[int, list[int]] = {}
        for constructor, terms, ids in groups:
            kind, name = self._kinds[constructor]
            columns: list[list[Any]] = []
            inner = []
            for c, field in enumerate(kind.constructors[name]):
                if isinstance(field.kind, TermKind):
                    inner.append(c)
                    columns.append((ids[:, c].astype(np.int64) - BIAS).tolist())
                else:
                    columns.append(self._leaves.values(field.kind, ids[:, c]))
            nested[constructor] = inner
            parts = zip(*columns, strict=True) if columns else [()] * len(terms)
            for term, part in zip(terms.tolist(), parts, strict=True):
                rows[term] = constructor, tuple(part)
        for term in sorted(rows):  # what is in a term has a smaller number
            constructor, parts_of = rows[term]
            kind, name = self._kinds[constructor]
            if nested[constructor]:
                depth = 1 + max(depths[parts_of[c]] for c in nested[constructor])
                if depth > MOST_DEEP:
                    raise EvaluationError(
                        f"error: a {kind} is nested more than {MOST_DEEP} levels deep\n"
                        "    rules can use it, but it cannot be output"
                    )
                made = list(parts_of)
                for c in nested[constructor]:
                    made[c] = values[made[c]]
                values[term], depths[term] = kind.made(name, tuple(made)), depth
            else:
                values[term], depths[term] = kind.made(name, parts_of), 1
        return [values[term] for term in numbers.tolist()]

    def _below(self, numbers: Words) -> list[tuple[int, Words, Ids]]:
        """The terms and all that is in them, by their constructors, with the fields' ids."""
        groups: list[tuple[int, Words, Ids]] = []
        seen = np.zeros(int(self._env[at.E_NTERMS]), dtype=np.bool_)
        seen[0] = True
        N = np.unique(numbers)
        while len(N := N[~seen[N]]):
            seen[N] = True
            first = self._starts[N]
            made_by = self._cells[first]
            inside: list[Words] = [np.zeros(0, dtype=np.int64)]
            for constructor in np.unique(made_by).tolist():
                kind, name = self._kinds[constructor]
                fields = kind.constructors[name]
                mine = made_by == constructor
                ids = self._cells[first[mine][:, None] + 1 + np.arange(len(fields))]
                groups.append((constructor, N[mine], ids))
                for c, field in enumerate(fields):
                    if isinstance(field.kind, TermKind):
                        inside.append(ids[:, c].astype(np.int64) - BIAS)
            N = np.unique(np.concatenate(inside))
        return groups

    def memory(self) -> int:
        return self._cells.nbytes + self._starts.nbytes + self._slots.nbytes
