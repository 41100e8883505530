"""Streams and their operators, as DBSP defines them (sections 2, 3 and 5 of Budiu et al. 2023).

This is the specification: values of a stream are computed when they are asked for, from whole
values, by the definitions. `operators` and `circuit` compute the same from changes alone.

    s ∈ S_A   s[t] ∈ A, for t = 0, 1, …; A a group, and so is S_A
    ↑f        lift(f)          ↑f(s)[t] = f(s[t])
    z⁻¹       delay            z⁻¹(s)[0] = 0, z⁻¹(s)[t] = s[t-1]
    I         integrate        I(s)[t] = s[0] + … + s[t]
    D         differentiate    D(s) = s - z⁻¹(s), the inverse of I
    Q^Δ       incremental(Q)   D ∘ Q ∘ I
    fix α.T   fixpoint(T)      the stream with α = T(α), for T that looks at earlier times only
    δ₀        introduce        δ₀(a) = a, 0, 0, …
    ∫         eliminate        ∫(s) = s[0] + s[1] + …, for streams that become 0

Applied to a stream of streams, an operator works on the outer clock, and `lift` of it on the
inner one: `lift(delay)`, `lift(lift(f))`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from tidelog.program.diagnostics import LimitError

A = TypeVar("A")
B = TypeVar("B")

ROUNDS = 100_000  # after which a stream that was to become 0 is given up


class Group(Protocol[A]):
    """An abelian group: addition is associative and commutative, with a zero and inverses."""

    @property
    def zero(self) -> A: ...
    def add(self, a: A, b: A, /) -> A: ...
    def negate(self, a: A, /) -> A: ...


class Integers:
    """ℤ."""

    zero = 0

    def add(self, a: int, b: int) -> int:
        return a + b

    def negate(self, a: int) -> int:
        return -a


class Stream(Generic[A]):
    """A function of time with values in a group; a value is computed once, earlier ones first.

    >>> squares = Stream(Integers(), lambda t: t * t)
    >>> differentiate(squares).prefix(5)
    [0, 1, 3, 5, 7]
    """

    def __init__(self, group: Group[A], at: Callable[[int], A]) -> None:
        self.group = group
        self._at = at
        self._known: list[A] = []
        self._busy = False

    @classmethod
    def of(cls, group: Group[A], values: Iterable[A]) -> Stream[A]:
        """The values given, and zeros ever after."""
        known = list(values)
        return cls(group, lambda t: known[t] if t < len(known) else group.zero)

    def __getitem__(self, t: int) -> A:
        if t < 0:
            raise IndexError("time begins at 0")
        # In order of time, so that operators that look back need no deep recursion.
        while len(self._known) <= t:
            if self._busy:
                raise ValueError("the operator of a fixpoint looks at the present: it needs z⁻¹")
            self._busy = True
            try:
                self._known.append(self._at(len(self._known)))
            finally:
                self._busy = False
        return self._known[t]

    def prefix(self, times: int) -> list[A]:
        return [self[t] for t in range(times)]

    def __add__(self, other: Stream[A]) -> Stream[A]:
        return Stream(self.group, lambda t: self.group.add(self[t], other[t]))

    def __neg__(self) -> Stream[A]:
        return Stream(self.group, lambda t: self.group.negate(self[t]))

    def __sub__(self, other: Stream[A]) -> Stream[A]:
        return self + -other


class Streams(Generic[A]):
    """S_A as a group, so that there are streams of streams."""

    def __init__(self, group: Group[A]) -> None:
        self.zero: Stream[A] = Stream(group, lambda t: group.zero)

    def add(self, a: Stream[A], b: Stream[A]) -> Stream[A]:
        return a + b

    def negate(self, a: Stream[A]) -> Stream[A]:
        return -a


def lift(function: Callable[..., B], into: Group[B] | None = None) -> Callable[..., Stream[B]]:
    """↑f: a function of values, applied at every time.

    The result's values are in the group `into`, by default that of the first argument's.
    """

    def lifted(*streams: Stream[Any]) -> Stream[B]:
        group = streams[0].group if into is None else into
        return Stream(group, lambda t: function(*(s[t] for s in streams)))

    return lifted


def delay(s: Stream[A]) -> Stream[A]:
    """z⁻¹: what was there one step ago."""
    return Stream(s.group, lambda t: s[t - 1] if t else s.group.zero)


def integrate(s: Stream[A]) -> Stream[A]:
    """I(s) = fix α. s + z⁻¹(α): the sum of all so far."""
    return fixpoint(lambda α: s + delay(α), s.group)


def differentiate(s: Stream[A]) -> Stream[A]:
    """D(s) = s - z⁻¹(s): what has changed."""
    return s - delay(s)


def incremental(query: Callable[..., Stream[B]]) -> Callable[..., Stream[B]]:
    """Q^Δ = D ∘ Q ∘ I: from changes to changes."""
    return lambda *changes: differentiate(query(*map(integrate, changes)))


def fixpoint(operator: Callable[[Stream[A]], Stream[A]], group: Group[A]) -> Stream[A]:
    """fix α. T(α), which is unique for a strict T: one whose present depends on the past alone."""
    α: Stream[A] = Stream(group, lambda t: result[t])
    result = operator(α)
    return α


def introduce(a: A, group: Group[A]) -> Stream[A]:
    """δ₀(a) = a, 0, 0, …"""
    return Stream.of(group, [a])


def eliminate(s: Stream[A], times: int | None = None) -> A:
    """∫(s): the sum of a stream that becomes 0.

    Of the first `times` values if given. If not, of those before the first 0, which is all of it
    for the rounds of a fixpoint: where one changes nothing, none after it does.
    """
    found = s.group.zero
    if times is None and isinstance(s.group, Streams):
        raise ValueError("whether a stream of streams is 0 cannot be seen: say how many times")
    for t in range(ROUNDS if times is None else times):
        if times is None and s[t] == s.group.zero:
            return found
        found = s.group.add(found, s[t])
    if times is None:
        raise LimitError(f"error: after {ROUNDS} values, a stream has not become 0")
    return found


def recursive(query: Callable[[B, A], A], group: Group[A], inputs: Group[B]) -> Callable[[B], A]:
    """λi. ∫(D(fix α. ↑R(I(δ₀(i)), z⁻¹(α)))): apply R from 0 until nothing changes any more."""

    def solved(i: B) -> A:
        constant = integrate(introduce(i, inputs))
        rounds = fixpoint(lambda α: lift(query, group)(constant, delay(α)), group)
        return eliminate(differentiate(rounds))

    return solved
