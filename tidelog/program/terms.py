"""Records and algebraic types: their kinds, and their values as Python has them.

A record is a tuple of its fields, and `nil` is None. A value of an algebraic type is a
`Branch`. The kind of such a value is the name of its type; it knows what values are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

RECORD = "[]"  # the functor of a record, and the name of its only constructor
NIL = "nil"
MOST_DEEP = 300  # levels of a value outside of engines: Python compares and writes by recursion


@dataclass(frozen=True, slots=True, order=True)
class Branch:
    """A value of an algebraic type.

    >>> Branch("Node", (Branch("Leaf"), 3))
    Branch('Node', (Branch('Leaf'), 3))
    """

    name: str
    values: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Branch({self.name!r}, {self.values!r})" if self.values else f"Branch({self.name!r})"
        )


class Field(NamedTuple):
    name: str
    kind: Any  # of its values: a Kind


class TermKind(str):
    """The kind of a record or algebraic type: its name, equal to any string that is the same.

    `constructors` are the names that make its values, with their fields; a record has one. They
    are filled in when all types are known, because types may hold themselves. `bit` is its own
    among sets of kinds.
    """

    __slots__ = ("bit", "constructors", "record")

    constructors: dict[str, tuple[Field, ...]]
    record: bool
    bit: int

    @classmethod
    def named(cls, name: str, record: bool, bit: int) -> TermKind:
        kind = cls(name)
        kind.record, kind.bit, kind.constructors = record, bit, {}
        return kind

    def taken_apart(self, value: Any) -> tuple[str, tuple[Any, ...]] | None:
        """The constructor and the fields of a value of this kind; None for nil."""
        if value is None:
            return None
        return (RECORD, value) if self.record else (value.name, value.values)

    def made(self, constructor: str, values: tuple[Any, ...]) -> Any:
        return values if self.record else Branch(constructor, values)

    def example(self) -> str:
        """How a value is written, for messages."""
        shapes = []
        for constructor, fields in self.constructors.items():
            inside = ", ".join(field.name for field in fields)
            shapes.append(
                f"[{inside}]"
                if self.record
                else f"${constructor}({inside})"
                if fields
                else f"${constructor}"
            )
        return " or ".join([*shapes, *([NIL] if self.record else [])])


def is_constructor(functor: str) -> bool:
    """Does a call of this functor make a record or a branch?"""
    return functor.startswith((RECORD, "$"))


def constructor_of(functor: str) -> str:
    """The constructor that a call of this functor names: a branch's name, or `[]`.

    In the core form a functor names its type as well: two records of the same fields are not
    the same if they are of different types.

    >>> constructor_of("[]Pair"), constructor_of("$Node:Tree"), constructor_of("$Node")
    ('[]', 'Node', 'Node')
    """
    return RECORD if functor.startswith(RECORD) else functor[1:].partition(":")[0]


class Misfit(Exception):
    """A value that is not of its kind, and why."""


def fit(kind: TermKind, value: Any, leaf: Callable[[Any, Any], Any]) -> Any:
    """The value with tuples for lists and branches for objects such as `{"A": [1]}`.

    `leaf` does the same for fields of other kinds, and raises `Misfit` too.
    """
    done: list[Any] = []
    work: list[tuple[Any, Any, bool]] = [(kind, value, False)]
    depth = 0
    while work:
        kind, value, complete = work.pop()
        if complete:
            depth -= 1
            constructor, many = value
            values = tuple(done[len(done) - many :])
            del done[len(done) - many :]
            done.append(kind.made(constructor, values))
        elif not isinstance(kind, TermKind):
            done.append(leaf(kind, value))
        elif kind.record and value is None:
            done.append(None)
        else:
            constructor, values = _taken_apart(kind, value)
            depth += 1
            if depth > MOST_DEEP:
                raise Misfit(f"nested more than {MOST_DEEP:,} levels deep")
            fields = kind.constructors[constructor]
            work.append((kind, (constructor, len(fields)), True))
            pairs = zip(reversed(fields), reversed(values), strict=True)
            work += [(field.kind, part, False) for field, part in pairs]
    return done[0]


def _taken_apart(kind: TermKind, value: Any) -> tuple[str, tuple[Any, ...]]:
    if kind.record:
        constructor, values = RECORD, value
        if not isinstance(value, tuple | list):
            raise Misfit(f"expected a {kind}, that is {kind.example()}; got {value!r}")
    else:
        if isinstance(value, Branch):
            constructor, values = value.name, value.values
        elif isinstance(value, dict) and len(value) == 1:
            constructor, values = next(iter(value.items()))
        else:
            raise Misfit(f"expected a {kind}, that is {kind.example()}; got {value!r}")
        if constructor not in kind.constructors:
            raise Misfit(f"{kind} has no branch {constructor}: {kind.example()}")
        if not isinstance(values, tuple | list):
            raise Misfit(f"expected a list of fields for {constructor}, got {values!r}")
    fields = kind.constructors[constructor]
    if len(values) != len(fields):
        what = f"{kind} has" if kind.record else f"branch {constructor} has"
        given = "1 is" if len(values) == 1 else f"{len(values)} are"
        raise Misfit(f"{what} {_fields(len(fields))}, but {given} given")
    return constructor, tuple(values)


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


def written(kind: Any, value: Any, leaf: Callable[[Any, Any], str]) -> str:
    """A value in Soufflé's notation; `leaf` gives the text of what has no parts.

    Without its kind, that of its parts is not known either.

    >>> pair = TermKind.named("Pair", True, 16)
    >>> pair.constructors[RECORD] = (Field("a", "number"), Field("b", pair))
    >>> written(pair, (1, (2, None)), lambda kind, value: str(value))
    '[1, [2, nil]]'
    """
    return "".join(_pieces(kind, value, leaf))


def _pieces(kind: Any, value: Any, leaf: Callable[[Any, Any], str]) -> Iterator[str]:
    work: list[tuple[Any, Any, bool]] = [(kind, value, False)]
    while work:
        kind, value, is_text = work.pop()
        if is_text:
            yield value
            continue
        if value is None:
            yield NIL
            continue
        constructor, values = RECORD, value
        if isinstance(value, Branch):
            constructor, values = value.name, value.values
        elif not isinstance(value, tuple):
            yield leaf(kind, value)
            continue
        if not values and constructor != RECORD:
            yield f"${constructor}"
            continue
        yield "[" if constructor == RECORD else f"${constructor}("
        work.append((None, "]" if constructor == RECORD else ")", True))
        fields = kind.constructors[constructor] if isinstance(kind, TermKind) else ()
        for i in range(len(values) - 1, -1, -1):
            work.append((fields[i].kind if fields else None, values[i], False))
            if i:
                work.append((None, ", ", True))


def leaves(values: tuple[Any, ...]) -> Iterator[Any]:
    """All that has no parts in these values."""
    work = [values]
    while work:
        for value in work.pop():
            if isinstance(value, tuple):
                work.append(value)
            elif isinstance(value, Branch):
                work.append(value.values)
            else:
                yield value


def order_key(value: Any) -> tuple[Any, ...]:
    """What values of one kind, or rows of one relation, are sorted by: nil first, then field by
    field; branches by name.

    Parts stand in one row, each behind what it is in: where all before are equal, the next are
    of one sort.

    >>> sorted([((2, None), 1), ((1, (3, None)), 2), (None, 3), ((1, None), 4)], key=order_key)
    [(None, 3), ((1, None), 4), ((1, (3, None)), 2), ((2, None), 1)]
    """
    key: list[Any] = []
    work = [value]
    while work:
        value = work.pop()
        if value is None:
            key.append("")
        elif isinstance(value, tuple):
            key.append(RECORD)
            work += reversed(value)
        elif isinstance(value, Branch):
            key.append(value.name)
            work += reversed(value.values)
        elif isinstance(value, float):
            key.append((value != value, value if value == value else 0.0))  # NaN comes last
        else:
            key.append(value)
    return tuple(key)
