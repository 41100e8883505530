"""Sets of facts on Spark: a large part in a frame, small changes to it in the driver.

A `Lay` holds the facts of one relation: `base` without `minus`, and `plus`. A small set is all
`plus`; the materialisation of a large relation is a base with the changes of later updates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Self

from tidelog.engine import FactSet, Taken, View
from tidelog.formats.spark_columns import Row

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from tidelog.spark.algebra import Algebra


class Lay:
    """Facts of one relation: base - minus - plus, and plus.

    A base that the driver can build from its rows is built on demand.
    """

    __slots__ = (
        "_base",
        "_make",
        "done",
        "held",
        "known_count",
        "known_frame",
        "minus",
        "plus",
        "size",
    )

    def __init__(
        self,
        plus: Iterable[Row] = (),
        base: DataFrame | None = None,
        size: int = 0,
        done: bool = True,
        make: Callable[[], DataFrame] | None = None,
        held: pa.Table | None = None,
    ) -> None:
        self._base = base
        self._make = make
        self.held = held  # the base's rows in the driver, if it has them
        self.size = size  # of base, at most
        self.done = done  # whether the base is computed, and its size exact
        self.plus: set[Row] = set(plus)
        self.minus: set[Row] = set()
        self.known_frame: DataFrame | None = None
        self.known_count: int | None = None

    def copy(self) -> Lay:
        made = Lay(self.plus, self._base, self.size, self.done, self._make, self.held)
        made.minus = set(self.minus)
        made.known_frame, made.known_count = self.known_frame, self.known_count
        return made

    @property
    def base(self) -> DataFrame | None:
        if self._base is None and self._make is not None:
            self._base = self._make()
        return self._base

    def shares(self, other: Lay) -> bool:
        """Whether both have the same base."""
        if self._make is not None or other._make is not None:
            return self._make is other._make
        return self._base is other._base

    @property
    def small(self) -> bool:
        return self._base is None and self._make is None

    @property
    def empty(self) -> bool:
        """Certainly nothing."""
        return self.small and not self.plus

    @property
    def most(self) -> int:
        return self.size + len(self.plus)

    @property
    def over(self) -> set[Row]:
        """Rows that are not deleted from the base."""
        return self.plus | self.minus

    def add(self, rows: Iterable[Row]) -> None:
        self._changed()
        rows = rows if isinstance(rows, set) else set(rows)
        self.plus |= rows
        self.minus -= rows

    def remove(self, rows: Iterable[Row]) -> None:
        self._changed()
        rows = rows if isinstance(rows, set) else set(rows)
        self.plus -= rows
        if not self.small:
            self.minus |= rows

    def _changed(self) -> None:
        self.known_frame = self.known_count = None


class SparkSet(FactSet):
    """Lays by relation."""

    __slots__ = ("engine", "frozen", "lays")

    def __init__(self, engine: Algebra) -> None:
        self.engine = engine
        self.lays: dict[str, Lay] = {}
        self.frozen: set[str] = set()  # relations whose lays are shared with another set

    def of(self, name: str) -> Lay:
        """The facts of a relation, for reading."""
        lay = self.lays.get(name)
        return Lay() if lay is None else lay

    def own(self, name: str) -> Lay:
        """The facts of a relation, for changing."""
        lay = self.lays.get(name)
        if lay is None:
            lay = self.lays[name] = Lay()
        elif name in self.frozen:
            lay = self.lays[name] = lay.copy()
        self.frozen.discard(name)
        return lay

    def put(self, name: str, lay: Lay) -> None:
        """Replace the facts of a relation."""
        self.lays[name] = lay
        self.frozen.discard(name)

    def names(self) -> list[str]:
        """Relations that may have facts."""
        return [name for name, lay in self.lays.items() if not lay.empty]

    def __ior__(self, other: View) -> Self:
        self.engine.add(self, other)
        return self

    def __isub__(self, other: View) -> Self:
        self.engine.subtract(self, other)
        return self

    def __len__(self) -> int:
        return sum(self.engine.count(name, lay) for name, lay in self.lays.items())

    def __bool__(self) -> bool:
        known = [lay for lay in self.lays.values() if not lay.empty]
        if any(lay.plus or (lay.done and lay.size > len(lay.minus)) for lay in known):
            return True
        return bool(known) and len(self) > 0


class SparkTaken(Taken):
    """Facts of relations that were set aside."""

    __slots__ = ("lays",)

    def __init__(self, lays: dict[str, Lay]) -> None:
        self.lays = lays
