"""Sets of facts on Spark: a large part in a frame, small changes to it in the driver.

A `Extent` holds the facts of one relation: `base` without `minus`, and `plus`. A small set is all
`plus`; the materialisation of a large relation is a base with the changes of later updates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol, Self

from tidelog.engine import FactSet, Taken, View
from tidelog.formats.spark_columns import Row

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


class Extent:
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

    def copy(self) -> Extent:
        made = Extent(self.plus, self._base, self.size, self.done, self._make, self.held)
        made.minus = set(self.minus)
        made.known_frame, made.known_count = self.known_frame, self.known_count
        return made

    @property
    def base(self) -> DataFrame | None:
        if self._base is None and self._make is not None:
            self._base = self._make()
        return self._base

    def shares(self, other: Extent) -> bool:
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


class SetOperations(Protocol):
    """What sets ask of the engine that holds them."""

    def add(self, facts: SparkSet, view: View) -> None: ...

    def subtract(self, facts: SparkSet, view: View) -> None: ...

    def count(self, name: str, extent: Extent) -> int: ...


class SparkSet(FactSet):
    """Extents by relation."""

    __slots__ = ("engine", "extents", "frozen")

    def __init__(self, engine: SetOperations) -> None:
        self.engine = engine
        self.extents: dict[str, Extent] = {}
        self.frozen: set[str] = set()  # relations whose extents are shared with another set

    def of(self, name: str) -> Extent:
        """The facts of a relation, for reading."""
        extent = self.extents.get(name)
        return Extent() if extent is None else extent

    def own(self, name: str) -> Extent:
        """The facts of a relation, for changing."""
        extent = self.extents.get(name)
        if extent is None:
            extent = self.extents[name] = Extent()
        elif name in self.frozen:
            extent = self.extents[name] = extent.copy()
        self.frozen.discard(name)
        return extent

    def put(self, name: str, extent: Extent) -> None:
        """Replace the facts of a relation."""
        self.extents[name] = extent
        self.frozen.discard(name)

    def names(self) -> list[str]:
        """Relations that may have facts."""
        return [name for name, extent in self.extents.items() if not extent.empty]

    def __ior__(self, other: View) -> Self:
        self.engine.add(self, other)
        return self

    def __isub__(self, other: View) -> Self:
        self.engine.subtract(self, other)
        return self

    def __len__(self) -> int:
        return sum(self.engine.count(name, extent) for name, extent in self.extents.items())

    def __bool__(self) -> bool:
        known = [extent for extent in self.extents.values() if not extent.empty]
        if any(
            extent.plus or (extent.done and extent.size > len(extent.minus)) for extent in known
        ):
            return True
        return bool(known) and len(self) > 0


class SparkTaken(Taken):
    """Facts of relations that were set aside."""

    __slots__ = ("extents",)

    def __init__(self, extents: dict[str, Extent]) -> None:
        self.extents = extents
