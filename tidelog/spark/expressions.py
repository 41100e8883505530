"""Expressions of rules as Spark columns, with the language's own arithmetic.

Integers wrap around at 64 bits, an unsigned is stored by its bits, and there is one NaN and no
-0.0, whether the session is in ANSI mode or not. A failing expression (a division by zero, a string
that is not a number) is null, with a message beside it: failures are data, not exceptions in an
executor. Where Spark differs from the language (`match`, `^`, `to_string` of a float), executors
run a Python function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from tidelog.program.diagnostics import EvaluationError, TidelogError
from tidelog.program.formula_walk import everything, terms_of
from tidelog.program.functors import calls
from tidelog.program.rules import Constraint, Expression, Relation, Rule
from tidelog.program.syntax import Call, Cast, Constant, Kind, Variable

if TYPE_CHECKING:
    from pyspark.sql import Column

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


def refuse_numbers(rules: Iterable[Rule]) -> None:
    """Refuse numbers of symbols: each executor and each run would assign others."""
    for rule in rules:
        for part in rule.body:
            for term in everything(*terms_of(part)):
                if isinstance(term, Cast) or (isinstance(term, Call) and term.functor == "ord"):
                    inside = term.term if isinstance(term, Cast) else term.args[0]
                    if inside.kind != term.kind and "symbol" in (inside.kind, term.kind):
                        raise _no_numbers(term)


def refuse_functors(rules: Iterable[Rule]) -> None:
    """Refuse functions whose results must be remembered: executors share no memory."""
    for rule in rules:
        for call in calls(rule):
            at = call.at
            where = f"{at.file}:{at.line}:{at.column}: " if at.line else ""
            raise TidelogError(
                f"{where}error: {call.functor} is not called on Spark\n"
                "    functors in Python and autoinc() need the local engine"
            )


def refuse_thinned(relations: Iterable[Relation]) -> None:
    """Refuse what depends on rounds: each placement has rounds of its own."""
    for relation in relations:
        if relation.thinned:
            at = relation.at
            where = f"{at.file}:{at.line}:{at.column}: " if at.line else ""
            raise TidelogError(
                f"{where}error: {relation.name} has a subsumption or a choice-domain\n"
                "    these need the local engine"
            )


def _no_numbers(term: Cast | Call) -> TidelogError:
    at = term.at
    where = f"{at.file}:{at.line}:{at.column}: " if at.line else ""
    return TidelogError(
        f"{where}error: symbols have no numbers on Spark\n"
        "    ord and as of symbols need the local engine"
    )


@dataclass(slots=True)
class Maker:
    """Builds columns from expressions, and collects possible failures."""

    columns: Mapping[str, str]  # variables to names of columns
    faults: list[Column]  # messages, null if nothing failed

    def value(self, term: Expression) -> Column:
        from pyspark.sql import functions as F

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
        from pyspark.sql import functions as F

        if old == new or {old, new} == {"number", "unsigned"}:
            return value
        if "symbol" in (old, new):
            raise _no_numbers(term)
        if new == "float":
            return _python(_float_of_bits, "double")(value) + F.lit(0.0)
        return _python(_bits_of_float, "bigint")(value)

    def _call(self, functor: str, args: list[Column], kind: Kind, result: Kind) -> Column:
        from pyspark.sql import functions as F

        if functor in ("min", "max"):
            return extreme(functor, args, kind)
        if functor in STRINGS:
            made: Column = STRINGS[functor](*args)
            return made
        if functor in CONVERSIONS:
            return self._convert(args[0], kind, result)
        if functor in FUNCTORS:  # Java's mathematics would differ from C's in the last bit
            made = _python(_local, TYPES[result])(F.lit(functor), *args)
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
            return _python(_power if kind == "number" else _power_unsigned, "bigint")(a, b)
        found: Column = INTEGERS[functor](kind, *args)
        return found

    def _float(self, functor: str, args: list[Column]) -> Column:
        from pyspark.sql import functions as F

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
        return _python(_float_power if functor == "^" else _float_rest, "double")(*args) + zero

    def _convert(self, value: Column, kind: Kind, result: Kind) -> Column:
        from pyspark.sql import functions as F

        if result == "symbol":
            return to_text(value, kind)
        if kind == "symbol":
            found = _python(_PARSERS[result], TYPES[result])(value)
            self._fault(found.isNull(), _python(_REASONS[result], "string")(value))
            return found
        if kind == "float" and result != "float":
            found = _python(_whole if result == "number" else _whole_unsigned, "bigint")(value)
            self._fault(found.isNull(), F.lit(FLOAT_TOO_LARGE))
            return found
        if result == "float" and kind != "float":
            wide = value.cast("double") if kind == "number" else unsigned(value).cast("double")
            return wide + F.lit(0.0)
        return value  # numbers and unsigned share their bits

    def _fault(self, wrong: Column, message: Column) -> None:
        from pyspark.sql import functions as F

        self.faults.append(F.when(wrong, message))

    def test(self, constraint: Constraint) -> Column:
        from pyspark.sql import functions as F

        op, kind = constraint.op, constraint.left.kind
        a, b = self.value(constraint.left), self.value(constraint.right)
        match op:
            case "contains":
                return F.contains(b, a)
            case "!contains":
                return ~F.contains(b, a)
            case "match" | "!match":
                found = _python(_matches, "int")(a, b)
                self._fault(found.isNull(), _python(_no_pattern, "string")(a))
                return found == (1 if op == "match" else 0)
            case "=":
                return a == b
            case "!=":
                return a != b
        if kind == "unsigned":
            return _ordered(op, flipped(a), flipped(b))
        return _ordered(op, a, b)


def literal(kind: Kind, value: Any) -> Column:
    from pyspark.sql import functions as F

    return F.lit(inner(kind, value)).cast(TYPES[kind])


def _ordered(op: str, a: Column, b: Column) -> Column:
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]


def flipped(value: Column) -> Column:
    """Bits of unsigned numbers, mapped so that they compare as unsigned."""
    from pyspark.sql import functions as F

    return value.bitwiseXOR(F.lit(-(1 << 63)).cast("bigint"))


def unsigned(value: Column) -> Column:
    """The decimal that an unsigned's bits stand for."""
    from pyspark.sql import functions as F

    wide = value.cast("decimal(20,0)")
    return F.when(value < 0, wide + F.lit(TOP).cast("decimal(20,0)")).otherwise(wide)


def wrapped(value: Column) -> Column:
    """A decimal(38,0) as a bigint, modulo 2^64."""
    from pyspark.sql import functions as F

    half, top = F.lit(HALF).cast("decimal(38,0)"), F.lit(TOP).cast("decimal(38,0)")
    rest = F.pmod(value, top)
    return F.when(rest >= half, rest - top).otherwise(rest).cast("bigint")


def to_text(value: Column, kind: Kind | None) -> Column:
    if kind == "float":
        return _python(_float_text, "string")(value)
    return (unsigned(value) if kind == "unsigned" else value).cast("string")


def extreme(op: str, args: Sequence[Column], kind: Kind) -> Column:
    from pyspark.sql import functions as F

    pick = F.least if op == "min" else F.greatest
    if kind == "unsigned":
        return flipped(pick(*map(flipped, args)))
    return pick(*args)  # Spark orders floats as the language does: NaN comes last


def _exact(quick: Callable[[Column, Column], Column], op: str) -> Callable[..., Column]:
    """Spark's own sum if it fits, and a slower exact one otherwise."""

    def made(kind: Kind, a: Column, b: Column) -> Column:
        from pyspark.sql import functions as F

        x, y = a.cast("decimal(19,0)"), b.cast("decimal(19,0)")
        wide = x + y if op == "+" else x - y if op == "-" else x * y
        return F.coalesce(quick(a, b), wrapped(wide.cast("decimal(38,0)")))

    return made


def _subtract(kind: Kind, a: Column, b: Column | None = None) -> Column:
    from pyspark.sql import functions as F

    if b is None:
        a, b = F.lit(0).cast("bigint"), a
    return _exact(F.try_subtract, "-")(kind, a, b)


def _add(kind: Kind, a: Column, b: Column) -> Column:
    from pyspark.sql import functions as F

    return _exact(F.try_add, "+")(kind, a, b)


def _multiply(kind: Kind, a: Column, b: Column) -> Column:
    from pyspark.sql import functions as F

    return _exact(F.try_multiply, "*")(kind, a, b)


def _divided(functor: str, a: Column, b: Column, kind: Kind) -> Column:
    """Rounded towards zero; null where b is null."""
    from pyspark.sql import functions as F

    if kind == "unsigned":
        return _python(_unsigned_part if functor == "/" else _unsigned_rest, "bigint")(a, b)
    if functor == "%":
        return F.when(b == -1, F.lit(0).cast("bigint")).otherwise(a % b)
    return F.when(b == -1, _subtract(kind, a)).otherwise(F.call_function("div", a, b))


def _shift(functor: str) -> Callable[..., Column]:
    def made(kind: Kind, a: Column, b: Column) -> Column:
        from pyspark.sql import functions as F

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


def _complement(kind: Kind, a: Column) -> Column:
    from pyspark.sql import functions as F

    return F.bitwise_not(a)


INTEGERS: dict[str, Callable[..., Any]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "band": lambda kind, a, b: a.bitwiseAND(b),
    "bor": lambda kind, a, b: a.bitwiseOR(b),
    "bxor": lambda kind, a, b: a.bitwiseXOR(b),
    "bnot": _complement,
    "bshl": _shift("bshl"),
    "bshr": _shift("bshr"),
    "bshru": _shift("bshru"),
    "land": _truth(lambda a, b: a & b),
    "lor": _truth(lambda a, b: a | b),
    "lxor": _truth(lambda a, b: a != b),
    "lnot": _truth(lambda a: ~a),
}


def _concatenated(*args: Column) -> Column:
    from pyspark.sql import functions as F

    return F.concat(*args)


def _length(text: Column) -> Column:
    from pyspark.sql import functions as F

    return F.char_length(text).cast("bigint")


def _substring(text: Column, start: Column, count: Column) -> Column:
    from pyspark.sql import functions as F

    size = F.char_length(text).cast("bigint")
    inside = (start >= 0) & (start <= size)
    wanted = F.when(count < 0, size).otherwise(F.least(count, size)).cast("int")
    found = F.substring(text, F.when(inside, start + 1).otherwise(F.lit(1)).cast("int"), wanted)
    return F.when(inside, found).otherwise(F.lit(""))


STRINGS: dict[str, Callable[..., Any]] = {
    "cat": _concatenated,
    "strlen": _length,
    "substr": _substring,
}


# Python functions for executors: plain functions of this module, so that they are pickled by name.


def _python(function: Callable[..., Any], kind: str) -> Callable[..., Column]:
    from pyspark.sql import functions as F

    return F.udf(function, kind, useArrow=False)


def _signed(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _power(a: int, b: int) -> int | None:
    if b >= 0:
        return _signed(pow(a, b, 1 << 64))
    if a == 0:
        return None
    return a ** (b % 2) if a in (1, -1) else 0


def _power_unsigned(a: int, b: int) -> int:
    return _signed(pow(a % (1 << 64), b % (1 << 64), 1 << 64))


def _float_power(a: float, b: float) -> float:
    import numpy as np

    with np.errstate(all="ignore"):
        return float(np.float64(a) ** np.float64(b))


def _float_rest(a: float, b: float) -> float:
    import numpy as np

    with np.errstate(all="ignore"):
        return float(np.fmod(a, b))


def _local(functor: str, *args: Any) -> Any:
    """The result of the local engine's functor, in Spark's representation."""
    found = FUNCTORS[functor](*args)
    return _signed(found) if isinstance(found, int) else found


def _float_text(value: float) -> str:
    return f"{value:f}"


def _bits_of_float(value: float) -> int:
    import struct

    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def _float_of_bits(value: int) -> float:
    import struct

    return float(struct.unpack("<d", struct.pack("<q", value))[0])


def _whole(value: float) -> int | None:
    if not math.isfinite(value) or not -(1 << 63) <= math.trunc(value) < 1 << 63:
        return None
    return math.trunc(value)


def _whole_unsigned(value: float) -> int | None:
    if not math.isfinite(value) or not 0 <= math.trunc(value) < 1 << 64:
        return None
    return _signed(math.trunc(value))


def _unsigned_part(a: int, b: int | None) -> int | None:
    return None if b is None else _signed(a % (1 << 64) // (b % (1 << 64)))


def _unsigned_rest(a: int, b: int | None) -> int | None:
    return None if b is None else _signed(a % (1 << 64) % (b % (1 << 64)))


def _computed(functor: str, kinds: tuple[Kind, ...], *args: Any) -> Any:
    """The result of the local engine's functor, or why it has none."""
    from tidelog.local.string_functors import compute

    try:
        return compute(functor, kinds, [[arg] for arg in args])[0]
    except EvaluationError as error:
        return error


def _read_number(text: str) -> int | None:
    found = _computed("to_number", ("symbol", "number"), text)
    return None if isinstance(found, Exception) else found


def _read_unsigned(text: str) -> int | None:
    found = _computed("to_unsigned", ("symbol", "unsigned"), text)
    return None if isinstance(found, Exception) else _signed(found)


def _read_float(text: str) -> float | None:
    found = _computed("to_float", ("symbol", "float"), text)
    return None if isinstance(found, Exception) else found


def _no_number(text: str) -> str:
    return str(_computed("to_number", ("symbol", "number"), text))


def _no_unsigned(text: str) -> str:
    return str(_computed("to_unsigned", ("symbol", "unsigned"), text))


def _no_float(text: str) -> str:
    return str(_computed("to_float", ("symbol", "float"), text))


_PARSERS: dict[Kind, Callable[[str], Any]] = {
    "number": _read_number,
    "unsigned": _read_unsigned,
    "float": _read_float,
}
_REASONS: dict[Kind, Callable[[str], str]] = {
    "number": _no_number,
    "unsigned": _no_unsigned,
    "float": _no_float,
}


def _matches(pattern: str, text: str) -> int | None:
    found = _computed("match", ("symbol", "symbol", "number"), pattern, text)
    return None if isinstance(found, Exception) else int(found)


def _no_pattern(pattern: str) -> str:
    return str(_computed("match", ("symbol", "symbol", "number"), pattern, ""))
