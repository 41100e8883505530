"""Expressions of rules as Spark columns, with the language's own arithmetic.

Integers wrap around at 64 bits, an unsigned is stored by its bits, and there is one NaN and no
-0.0, whether the session is in ANSI mode or not. A failing expression (a division by zero, a string
that is not a number) is null, with a message beside it: failures are data, not exceptions in an
executor. Where Spark differs from the language (`match`, `^`, `to_string` of a float), executors
run a Python function.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from tidelog.formats.spark_columns import TYPES, inner
from tidelog.local.string_functors import FUNCTORS
from tidelog.program.builtin_functors import (
    CONVERSIONS,
    DIVISION_BY_ZERO,
    FLOAT_TOO_LARGE,
    PARTIAL,
    ZERO_TO_NEGATIVE,
    test_can_fail,
)
from tidelog.program.rules import Constraint, Expression
from tidelog.program.syntax import Call, Cast, Constant, Kind, Variable
from tidelog.spark import scalar_functions as scalar
from tidelog.spark.unsupported import no_numbers

HALF, TOP = "9223372036854775808", "18446744073709551616"


def can_fail(part: object) -> bool:
    """Whether the expression may fail."""
    match part:
        case Constraint(op, left, right):
            return test_can_fail(op) or can_fail(left) or can_fail(right)
        case Call(functor, args):
            return functor in PARTIAL or any(map(can_fail, args))
        case Cast(term):
            return can_fail(term)
    return False


@dataclass(slots=True)
class Maker:
    """Builds columns from expressions, and collects possible failures."""

    columns: Mapping[str, str]  # variables to names of columns
    faults: list[Column]  # messages, null if nothing failed

    def value(self, term: Expression) -> Column:
        match term:
            case Variable(name):
                return F.col(self.columns[name])
            case Constant(value, kind):
                assert kind is not None
                return literal(kind, value)
            case Cast(inside):
                return self._cast(term, self.value(inside), inside.kind, term.kind)  # type: ignore[arg-type]
            case Call("ord", (inside,)):
                return self._cast(term, self.value(inside), inside.kind, "number")  # type: ignore[arg-type]
            case Call(functor, args):
                values = [self.value(arg) for arg in args]  # type: ignore[arg-type]
                kind = args[0].kind
                assert kind is not None
                assert term.kind is not None
                return self._call(functor, values, kind, term.kind)
        raise TypeError(f"{term!r} has no value")

    def _cast(self, term: Cast | Call, value: Column, old: Kind, new: Kind) -> Column:
        """The same word as another kind."""
        if old == new or {old, new} == {"number", "unsigned"}:
            return value
        if "symbol" in (old, new):
            raise no_numbers(term)
        if new == "float":
            return in_python(scalar.float_of_bits, "double")(value) + F.lit(0.0)
        return in_python(scalar.bits_of_float, "bigint")(value)

    def _call(self, functor: str, args: list[Column], kind: Kind, result: Kind) -> Column:
        if functor in ("min", "max"):
            return extreme(functor, args, kind)
        if functor in STRINGS:
            made: Column = STRINGS[functor](*args)
            return made
        if functor in CONVERSIONS and (kind != "symbol" or result == "symbol"):
            return self._convert(args[0], kind, result)
        if functor in FUNCTORS:  # Java's mathematics would differ from C's in the last bit
            made = self._local(functor, args, result, functor in PARTIAL)
            return made + F.lit(0.0) if result == "float" else made
        if kind == "float":
            return self._float(functor, args)
        if functor in ("/", "%"):
            a, b = args
            self._fault(b == 0, F.lit(DIVISION_BY_ZERO))
            b = F.when(b != 0, b)
            return _divided(functor, a, b, kind)
        if functor == "^":
            a, b = args
            if kind == "number":
                self._fault((a == 0) & (b < 0), F.lit(ZERO_TO_NEGATIVE))
            power = scalar.power if kind == "number" else scalar.power_unsigned
            return in_python(power, "bigint")(a, b)
        found: Column = INTEGERS[functor](kind, *args)
        return found

    def _float(self, functor: str, args: list[Column]) -> Column:
        a, zero = args[0], F.lit(0.0)
        match functor, len(args):
            case "-", 1:
                return zero - a
            case (("+" | "-" | "*"), 2):
                b = args[1]
                found = a + b if functor == "+" else a - b if functor == "-" else a * b
                return found + zero
            case "/", 2:
                b = args[1]
                by_zero = (
                    F.when(F.isnan(a) | (a == zero), F.lit(math.nan))
                    .when(a > zero, F.lit(math.inf))
                    .otherwise(F.lit(-math.inf))
                )
                return F.when(b == zero, by_zero).otherwise(F.try_divide(a, b)) + zero
        made = scalar.float_power if functor == "^" else scalar.float_rest
        return in_python(made, "double")(*args) + zero

    def _convert(self, value: Column, kind: Kind, result: Kind) -> Column:
        if result == "symbol":
            return to_text(value, kind)
        if kind == "float" and result != "float":
            whole = scalar.whole if result == "number" else scalar.whole_unsigned
            found = in_python(whole, "bigint")(value)
            self._fault(found.isNull(), F.lit(FLOAT_TOO_LARGE))
            return found
        if result == "float" and kind != "float":
            wide = value.cast("double") if kind == "number" else unsigned(value).cast("double")
            return wide + F.lit(0.0)
        return value  # numbers and unsigned share their bits

    def _local(self, functor: str, args: list[Column], result: Kind, partial: bool) -> Column:
        """What the local engine's functor computes in executors."""
        found = in_python(scalar.local, TYPES[result])(F.lit(functor), *args)
        if partial:
            self._fault(found.isNull(), in_python(scalar.why_not, "string")(F.lit(functor), *args))
        return found

    def _fault(self, wrong: Column, message: Column) -> None:
        self.faults.append(F.when(wrong, message))

    def test(self, constraint: Constraint) -> Column:
        op, kind = constraint.op, constraint.left.kind
        a, b = self.value(constraint.left), self.value(constraint.right)
        match op:
            case "contains":
                return F.contains(b, a)
            case "!contains":
                return ~F.contains(b, a)
            case "match" | "!match":
                found = self._local("match", [a, b], "number", partial=True)
                return found == (1 if op == "match" else 0)
            case "=":
                return a == b
            case "!=":
                return a != b
        if kind == "unsigned":
            return _ordered(op, flipped(a), flipped(b))
        return _ordered(op, a, b)


def literal(kind: Kind, value: Any) -> Column:
    return F.lit(inner(kind, value)).cast(TYPES[kind])


def _ordered(op: str, a: Column, b: Column) -> Column:
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


def flipped(value: Column) -> Column:
    """Bits of unsigned numbers, mapped so that they compare as unsigned."""
    return value.bitwiseXOR(F.lit(-(1 << 63)).cast("bigint"))


def unsigned(value: Column) -> Column:
    """The decimal that an unsigned's bits stand for."""
    wide = value.cast("decimal(20,0)")
    return F.when(value < 0, wide + F.lit(TOP).cast("decimal(20,0)")).otherwise(wide)


def wrapped(value: Column) -> Column:
    """A decimal(38,0) as a bigint, modulo 2^64."""
    half, top = F.lit(HALF).cast("decimal(38,0)"), F.lit(TOP).cast("decimal(38,0)")
    rest = F.pmod(value, top)
    return F.when(rest >= half, rest - top).otherwise(rest).cast("bigint")


def to_text(value: Column, kind: Kind | None) -> Column:
    if kind == "float":
        return in_python("{:f}".format, "string")(value)
    return (unsigned(value) if kind == "unsigned" else value).cast("string")


def extreme(op: str, args: Sequence[Column], kind: Kind) -> Column:
    pick = F.least if op == "min" else F.greatest
    if kind == "unsigned":
        return flipped(pick(*map(flipped, args)))
    return pick(*args)  # Spark orders floats as the language does: NaN comes last


def _exact(
    quick: Callable[[Column, Column], Column], op: Callable[[Column, Column], Column]
) -> Callable[..., Column]:
    """Spark's own sum if it fits, and a slower exact one otherwise."""

    def made(kind: Kind, a: Column, b: Column) -> Column:
        wide = op(a.cast("decimal(19,0)"), b.cast("decimal(19,0)"))
        return F.coalesce(quick(a, b), wrapped(wide.cast("decimal(38,0)")))

    return made


_difference = _exact(F.try_subtract, operator.sub)


def _subtract(kind: Kind, a: Column, b: Column | None = None) -> Column:
    return _difference(kind, F.lit(0).cast("bigint"), a) if b is None else _difference(kind, a, b)


def _divided(functor: str, a: Column, b: Column, kind: Kind) -> Column:
    """Rounded towards zero; null where b is null."""
    if kind == "unsigned":
        part = scalar.unsigned_part if functor == "/" else scalar.unsigned_rest
        return in_python(part, "bigint")(a, b)
    if functor == "%":
        return F.when(b == -1, F.lit(0).cast("bigint")).otherwise(a % b)
    return F.when(b == -1, _subtract(kind, a)).otherwise(F.call_function("div", a, b))


def _shift(functor: str) -> Callable[..., Column]:
    def made(kind: Kind, a: Column, b: Column) -> Column:
        by = b.bitwiseAND(F.lit(63).cast("bigint")).cast("int")
        if functor == "bshl":
            return F.call_function("shiftleft", a, by)
        logical = functor == "bshru" or kind == "unsigned"
        return F.call_function("shiftrightunsigned" if logical else "shiftright", a, by)

    return made


def _truth(test: Callable[..., Column]) -> Callable[..., Column]:
    def made(kind: Kind, *args: Column) -> Column:
        return test(*(arg != 0 for arg in args)).cast("bigint")

    return made


INTEGERS: dict[str, Callable[..., Any]] = {
    "+": _exact(F.try_add, operator.add),
    "-": _subtract,
    "*": _exact(F.try_multiply, operator.mul),
    "band": lambda kind, a, b: a.bitwiseAND(b),
    "bor": lambda kind, a, b: a.bitwiseOR(b),
    "bxor": lambda kind, a, b: a.bitwiseXOR(b),
    "bnot": lambda kind, a: F.bitwise_not(a),
    "bshl": _shift("bshl"),
    "bshr": _shift("bshr"),
    "bshru": _shift("bshru"),
    "land": _truth(lambda a, b: a & b),
    "lor": _truth(lambda a, b: a | b),
    "lxor": _truth(lambda a, b: a != b),
    "lnot": _truth(lambda a: ~a),
}


def _substring(text: Column, start: Column, count: Column) -> Column:
    size = F.char_length(text).cast("bigint")
    inside = (start >= 0) & (start <= size)
    wanted = F.when(count < 0, size).otherwise(F.least(count, size)).cast("int")
    found = F.substring(text, F.when(inside, start + 1).otherwise(F.lit(1)).cast("int"), wanted)
    return F.when(inside, found).otherwise(F.lit(""))


STRINGS: dict[str, Callable[..., Any]] = {
    "cat": F.concat,
    "strlen": lambda text: F.char_length(text).cast("bigint"),
    "substr": _substring,
}


def in_python(function: Callable[..., Any], kind: str) -> Callable[..., Column]:
    return F.udf(scalar.OfValues(function), kind, useArrow=False)
