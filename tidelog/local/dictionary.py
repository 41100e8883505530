"""The dictionary: values to ids and back, for whole columns and single values."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidelog.engine import Ids
from tidelog.local.kernels import layout as at
from tidelog.local.kernels.words import BIAS, decode_all, encode_all, lookup_all, rehash_words
from tidelog.local.term_dictionary import ABSENT, Terms, Words
from tidelog.program.diagnostics import EvaluationError
from tidelog.program.syntax import Kind, Value
from tidelog.program.table import Column, SymbolColumn, python_values
from tidelog.program.terms import Misfit, TermKind, fit, order_key


def fits(kind: Kind, value: object) -> bool:
    """Could a column of this kind hold the value?"""
    if isinstance(kind, TermKind):
        try:
            fit(kind, value, _fit_leaf)
        except Misfit:
            return False
        return True
    if kind == "symbol":
        return isinstance(value, str)
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    if kind == "float":
        return isinstance(value, float | np.floating) or abs(int(value)) < 1 << 1023
    low, high = (0, 1 << 64) if kind == "unsigned" else (-(1 << 63), 1 << 63)
    return isinstance(value, int | np.integer) and low <= int(value) < high


def _fit_leaf(kind: Kind, value: object) -> object:
    if not fits(kind, value):
        raise Misfit
    return value


class Dictionary:
    """Symbols and large words by number. `env` is the kernels' view of it."""

    def __init__(self) -> None:
        self.env: NDArray[np.int64] = np.zeros(at.E_WIDTH, dtype=np.int64)
        self._address: int = self.env.ctypes.data
        self.strings: list[str] = []
        self._symbols: dict[str, int] = {}
        self._words: Words = np.zeros(0, dtype=np.int64)
        self._slots: NDArray[np.uint32] = np.zeros(0, dtype=np.uint32)
        self._labels: Words = np.zeros(1, dtype=np.int64)
        self._sorted: list[str] = []
        self.grow()
        self.terms = Terms(self)

    def grow(self) -> None:
        """Room for twice as many large words."""
        count = int(self.env[at.E_NWORDS])
        capacity = max(256, 2 * len(self._words))
        words = np.zeros(capacity, dtype=np.int64)
        words[:count] = self._words[:count]
        slots = np.zeros(2 * capacity, dtype=np.uint32)
        rehash_words(words, count, slots)
        self._words, self._slots = words, slots
        self.env[at.E_WORDS] = words.ctypes.data
        self.env[at.E_CAPWORDS] = capacity
        self.env[at.E_WHASH] = slots.ctypes.data
        self.env[at.E_WHSIZE] = len(slots)

    def symbol(self, text: str) -> int:
        """The word of a symbol, a new one if need be."""
        number = self._symbols.setdefault(text, len(self.strings))
        if number == len(self.strings):
            self.strings.append(text)
        return number

    def _symbol_words(self, texts: list[str]) -> Words:
        symbol = self.symbol
        return np.fromiter((symbol(text) for text in texts), dtype=np.int64, count=len(texts))

    def words(self, kind: Kind, column: Column) -> Words:
        if isinstance(column, SymbolColumn):
            words = list(column.words)
            if isinstance(kind, TermKind):
                by_code = self.terms.numbers(kind, words)
            else:
                by_code = self._symbol_words(words)
            return by_code[column.codes] if len(by_code) else np.zeros(0, dtype=np.int64)
        if kind == "float":
            with np.errstate(invalid="ignore"):  # a signalling NaN is no reason to warn
                floats = np.asarray(column, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
            floats[np.isnan(floats)] = np.nan
            return floats.view(np.int64)
        if kind == "unsigned":
            return np.asarray(column, dtype=np.uint64).view(np.int64)
        return np.ascontiguousarray(column, dtype=np.int64)

    def encode(self, kind: Kind, column: Column) -> Ids:
        """Ids of a column's values; new values get one."""
        words = self.words(kind, column)
        if isinstance(column, SymbolColumn):
            return (words + BIAS).astype(np.uint32)
        return self._encoded(words)

    def _encoded(self, words: Words) -> Ids:
        ids = np.empty(len(words), dtype=np.uint32)
        done = 0
        while (done := encode_all(self._address, words, ids, done)) < len(words):
            self.grow()
        return ids

    def decode(self, kind: Kind, ids: Ids) -> Column:
        words = np.empty(len(ids), dtype=np.int64)
        decode_all(self._address, np.ascontiguousarray(ids), words)
        if isinstance(kind, TermKind):
            used, codes = np.unique(words, return_inverse=True)
            return SymbolColumn(codes.astype(np.int64), self.terms.values(used))
        if kind == "symbol":
            used, codes = np.unique(words, return_inverse=True)
            strings = self.strings
            if len(used) and not (used[0] >= 0 and used[-1] < len(strings)):
                number = int(used[-1] if used[0] >= 0 else used[0])
                raise EvaluationError(f"error: as(…, symbol): no symbol has the number {number}")
            return SymbolColumn(codes.astype(np.int64), [strings[i] for i in used.tolist()])
        if kind == "float":
            return words.view(np.float64)
        return words.view(np.uint64) if kind == "unsigned" else words

    def word(self, kind: Kind, value: Value) -> int:
        """One value as a signed 64-bit word."""
        if isinstance(kind, TermKind):
            return self.terms.number(kind, value)
        if kind == "symbol":
            return self.symbol(str(value))
        if kind == "float":
            return int(self.words(kind, np.array([value], dtype=np.float64))[0])
        number = int(value)
        return number - (1 << 64) if number >= 1 << 63 else number

    def id(self, kind: Kind, value: Value) -> int:
        word = self.word(kind, value)
        if -BIAS < word < BIAS:
            return word + BIAS
        return int(self._encoded(np.array([word], dtype=np.int64))[0])

    def known(self, kind: Kind, value: Value) -> int:
        """The id of a value, or ABSENT; nothing is added."""
        if isinstance(kind, TermKind):
            term = self.terms.known(kind, fit(kind, value, lambda _, part: part))
            return ABSENT if term < 0 else term + BIAS
        if kind == "symbol":
            number = self._symbols.get(str(value))
            return ABSENT if number is None else number + BIAS
        ids = np.empty(1, dtype=np.uint32)
        lookup_all(self._address, np.array([self.word(kind, value)], dtype=np.int64), ids)
        return int(ids[0])

    def values(self, kind: Kind, ids: Ids) -> list[Any]:
        return python_values(self.decode(kind, ids))

    def order_symbols(self) -> None:
        """Give every symbol a label, so that labels compare as the strings do.

        A new symbol takes a label between its neighbours': the cost follows what is new,
        and only where there is no number left between two labels are all given anew.
        """
        known, total = len(self._sorted), len(self.strings)
        if known < total:
            fresh = self.strings[known:]
            if len(fresh) > known // 8 or not self._insert_labels(fresh):
                self._sorted = sorted(self.strings)
                gap = (1 << 62) // (total + 1)
                labels = np.zeros(max(16, 2 * total), dtype=np.int64)
                numbers = [self._symbols[text] for text in self._sorted]
                labels[numbers] = np.arange(1, total + 1, dtype=np.int64) * gap
                self._labels = labels
        self.env[at.E_LABELS] = self._labels.ctypes.data
        self.env[at.E_NLABELS] = total

    def _insert_labels(self, fresh: list[str]) -> bool:
        if len(self.strings) > len(self._labels):
            self._labels = np.concatenate([self._labels, np.zeros_like(self._labels)])
        for text in fresh:
            place = bisect.bisect(self._sorted, text)
            low = int(self._labels[self._symbols[self._sorted[place - 1]]]) if place else 0
            high = 1 << 62
            if place < len(self._sorted):
                high = int(self._labels[self._symbols[self._sorted[place]]])
            if high - low < 2:
                return False
            self._sorted.insert(place, text)
            self._labels[self._symbols[text]] = (low + high) // 2
        return True

    def ordered(self, kinds: Sequence[Kind], ids: Ids) -> NDArray[np.int64]:
        """The places of rows in the order of their values, by the first column before others."""
        keys: list[NDArray[Any]] = []
        for c, kind in enumerate(kinds):
            column = self.decode(kind, np.ascontiguousarray(ids[:, c]))
            if isinstance(column, SymbolColumn):
                rank = np.empty(len(column.words), dtype=np.int64)
                words = column.words
                if isinstance(kind, TermKind):
                    words = [*map(order_key, words)]
                rank[sorted(range(len(rank)), key=words.__getitem__)] = np.arange(len(rank))
                keys.append(rank[column.codes])
            else:
                keys.append(column)
        if not keys:
            return np.arange(len(ids), dtype=np.int64)
        return np.lexsort(keys[::-1]).astype(np.int64)

    def memory(self) -> int:
        mine = self._words.nbytes + self._slots.nbytes + self._labels.nbytes
        return mine + self.terms.memory()
