"""Text in rows: every text has a number of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.dbsp.zset import ZSet

FIRST = 1 << 62  # numbers from here on stand for texts
Value = str | int


class Symbols:
    """Texts by numbers that are larger than all others; numbers stand for themselves.

    >>> names = Symbols()
    >>> ages = names.zset({("Ada", 36): 1, ("Alan", 41): 1})
    >>> names.rows(ages.select(lambda name, age: age > 40))
    {('Alan', 41): 1}
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._texts: list[str] = []

    def __len__(self) -> int:
        return len(self._texts)

    def number(self, value: Value) -> int:
        """The number for a text, which is new if the text is; a number is its own."""
        if isinstance(value, str):
            number = self._numbers.setdefault(value, FIRST + len(self._texts))
            if number == FIRST + len(self._texts):
                self._texts.append(value)
            return number
        try:
            is_small = -FIRST <= value < FIRST
            number = value.__index__()
        except (AttributeError, TypeError):
            raise TypeError(f"{value!r} is neither a text nor an integer") from None
        if not is_small:
            raise OverflowError(f"{value} is too large: integers beside texts have 63 bits")
        return number

    def value(self, number: int) -> Value:
        if number < FIRST:
            return number
        try:
            return self._texts[number - FIRST]
        except IndexError:
            raise ValueError(f"{number} stands for no text") from None

    def zset(self, rows: Mapping[Any, int] | Iterable[Any], *, width: int | None = None) -> ZSet:
        """As `ZSet.of`, for rows of texts and numbers."""
        if isinstance(rows, Mapping):
            return ZSet.of({self._row(row): weight for row, weight in rows.items()}, width=width)
        return ZSet.of([self._row(row) for row in rows], width=width)

    def rows(self, z: ZSet) -> dict[tuple[Value, ...], int]:
        """Rows as they are read, with their weights, in order of their texts' first use."""
        return {tuple(map(self.value, row)): weight for row, weight in z}

    def _row(self, row: Iterable[Value]) -> tuple[int, ...]:
        if isinstance(row, str):
            raise TypeError(f"a row is a tuple, such as ({row!r},)")
        return tuple(map(self.number, row))
