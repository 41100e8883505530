"""Rules as joins of frames.

A body is joined literal by literal: small ones and those that share a variable first, tests as soon
as their variables are bound, and what can fail last. The rows of the joined frame are the rule's
instances, so a bag of heads counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import count
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tidelog.formats.spark_columns import TYPES
from tidelog.program.formula_walk import names_of, variables
from tidelog.program.rules import (
    BodyLiteral,
    Constraint,
    Expression,
    Group,
    Literal,
    Range,
    Rule,
    Simple,
)
from tidelog.program.syntax import Constant, Kind, Variable, Wildcard
from tidelog.spark import scalar_functions as scalar
from tidelog.spark.column_expressions import (
    Maker,
    can_fail,
    flipped,
    in_python,
    literal,
    unsigned,
    wrapped,
)

FEW = 100_000  # rows of a frame that may be broadcast


@dataclass(frozen=True, slots=True)
class LiteralFacts:
    """The facts that a literal reads, and an upper bound of their number."""

    frame: DataFrame
    size: int

    @property
    def shared(self) -> DataFrame:
        """The frame, marked for broadcast where it is small enough."""
        return F.broadcast(self.frame) if self.size <= FEW else self.frame


@dataclass(frozen=True, slots=True)
class Reads:
    """The inputs of a rule's body."""

    literals: Mapping[int, LiteralFacts]  # by position in the body
    # changes that groups and negated literals must not meet, either
    spared: Mapping[int, LiteralFacts] = field(default_factory=dict)
    head: LiteralFacts | None = None  # facts to which heads are restricted


@dataclass(frozen=True, slots=True)
class Joined:
    """A body's instances; `faults` are error messages."""

    frame: DataFrame
    columns: dict[str, str]
    faults: tuple[DataFrame, ...]

    def terms(self, terms: Sequence[Simple]) -> list[Column]:
        """A head, or a body literal, of each instance: columns c0, c1, …"""
        if not terms:
            return [F.lit(0).cast("bigint").alias("c0")]
        return [self._term(term).alias(f"c{i}") for i, term in enumerate(terms)]

    def _term(self, term: Simple) -> Column:
        if isinstance(term, Constant):
            assert term.kind is not None
            return literal(term.kind, term.value)
        assert isinstance(term, Variable)
        return F.col(self.columns[term.name])


def named(rule: Rule) -> Rule:
    """The rule with variables for `_` in positive literals, because their values are needed."""
    fresh = count()

    def term(simple: Simple) -> Simple:
        if isinstance(simple, Wildcard):
            return Variable(f"_{next(fresh)}", kind=simple.kind)
        return simple

    body = tuple(
        replace(part, terms=tuple(map(term, part.terms)))
        if isinstance(part, Literal) and not part.negated
        else part
        for part in rule.body
    )
    return replace(rule, body=body)


def join(rule: Rule, reads: Reads) -> Joined:
    return _Join(rule, reads).run()


class _Join:
    def __init__(self, rule: Rule, reads: Reads) -> None:
        self.rule = rule
        self.reads = reads
        self.frame: DataFrame | None = None
        self.columns: dict[str, str] = {}
        self.faults: list[DataFrame] = []
        self.small = True  # an estimate for the joined frame

    def run(self) -> Joined:
        if self.reads.head is not None:
            self._match(self.rule.head.terms, self.reads.head)
        waiting = dict(enumerate(self.rule.body))
        while waiting:
            place = self._next(waiting)
            self._take(place, waiting.pop(place))
        if self.frame is None:  # a body that reads nothing
            self.frame = _one_row()
        return Joined(self.frame, self.columns, tuple(self.faults))

    def _next(self, waiting: Mapping[int, BodyLiteral]) -> int:
        ready = [place for place, part in waiting.items() if self._is_ready(place, part)]
        return min(ready, key=lambda place: self._rank(place, waiting[place]))

    def _is_ready(self, place: int, part: BodyLiteral) -> bool:
        match part:
            case Literal():
                return not part.negated or self._has(part.terms)
            case Constraint():
                if part.op == "=":
                    left, right = self._has((part.left,)), self._has((part.right,))
                    return (left and (right or isinstance(part.right, Variable))) or (
                        right and isinstance(part.left, Variable)
                    )
                return self._has((part.left, part.right))
            case Range():
                terms = [part.start, part.stop, *([part.step] if part.step is not None else [])]
                return self._has(terms)
            case Group():
                return all(v.name in self.columns for v in group_keys(self.rule, part))

    def _has(self, terms: Iterable[Any]) -> bool:
        return all(v.name in self.columns for term in terms for v in variables(term))

    def _rank(self, place: int, part: BodyLiteral) -> tuple[int, float]:
        """Tests first, then facts, small ones and those that share a variable before others."""
        if can_fail(part) or (isinstance(part, Range) and _range_can_fail(part)):
            return 5, 0
        if isinstance(part, Literal) and not part.negated:
            source = self.reads.literals[place]
            shares = self.frame is None or any(
                isinstance(t, Constant) or (isinstance(t, Variable) and t.name in self.columns)
                for t in part.terms
            )
            return (2 if shares else 3), source.size
        if isinstance(part, Range):
            return 4, 0
        return (1, 0) if isinstance(part, Literal | Group) else (0, 0)

    def _take(self, place: int, part: BodyLiteral) -> None:
        match part:
            case Literal() if part.negated:
                self._negate(place, part)
            case Literal():
                self._match(part.terms, self.reads.literals[place])
            case Constraint():
                self._test(part)
            case Range():
                self._range(part)
            case Group():
                self._group(place, part)

    # Literals.

    def _name(self, variable: str) -> str:
        return self.columns.setdefault(variable, f"x{len(self.columns)}")

    def _pattern(self, terms: Sequence[Simple], frame: DataFrame, more: bool = False) -> DataFrame:
        """Facts that match the terms; columns of variables, and with `more` also those of the
        facts."""
        tests: list[Column] = []
        first: dict[str, str] = {}
        for c, term in enumerate(terms):
            if isinstance(term, Constant):
                assert term.kind is not None
                tests.append(F.col(f"c{c}") == literal(term.kind, term.value))
            elif isinstance(term, Variable):
                if term.name in first:
                    tests.append(F.col(f"c{c}") == F.col(first[term.name]))
                else:
                    first[term.name] = f"c{c}"
        if tests:
            frame = frame.filter(reduce(lambda a, b: a & b, tests))
        chosen = [F.col(c).alias(self._name(name)) for name, c in first.items()]
        if more or not chosen:
            chosen += [F.col(c) for c in frame.columns]
        return frame.select(*chosen)

    def _match(self, terms: Sequence[Simple], source: LiteralFacts) -> None:
        before = set(self.columns)
        found = self._pattern(terms, source.frame)
        mine = dict.fromkeys(t.name for t in terms if isinstance(t, Variable))
        if not mine:  # a test for existence gives one instance each
            found = found.select(*[found[c].alias(f"_{c}") for c in found.columns])
        if self.frame is None:
            self.frame = found
        else:
            found = LiteralFacts(found, source.size).shared
            shared = [self.columns[name] for name in mine if name in before]
            self.frame = (
                self.frame.join(found, on=shared) if shared else self.frame.crossJoin(found)
            )
        if not mine:
            self.frame = self.frame.drop(*[c for c in self.frame.columns if c.startswith("_")])
            if not self.frame.columns:
                self.frame = self.frame.select(F.lit(0).alias("one"))

    def _so_far(self) -> DataFrame:
        return self.frame if self.frame is not None else _one_row()

    def _meets_none(self, terms: Sequence[Simple], source: LiteralFacts) -> None:
        """Instances whose variables match no fact of the source."""
        frame = self._so_far()
        known = set(self.columns)
        found = self._pattern(terms, source.frame)
        shared = list(
            dict.fromkeys(
                self.columns[t.name] for t in terms if isinstance(t, Variable) and t.name in known
            )
        )
        self.columns = {name: c for name, c in self.columns.items() if name in known}
        if shared:
            found = LiteralFacts(found.select(*shared).distinct(), source.size).shared
            self.frame = frame.join(found, on=shared, how="left_anti")
        else:
            found = found.select(F.lit(1).alias("any")).limit(1)
            self.frame = frame.join(F.broadcast(found), on=F.lit(True), how="left_anti")

    def _negate(self, place: int, part: Literal) -> None:
        self._meets_none(part.terms, self.reads.literals[place])
        if place in self.reads.spared:
            self._meets_none(part.terms, self.reads.spared[place])

    # Tests and values.

    def _maker(self) -> Maker:
        return Maker(self.columns, [])

    def _note_faults(self, made: Maker) -> None:
        """Record failures, which give no instance."""
        if made.faults:
            message = F.coalesce(*made.faults).alias("message")
            self.faults.append(self._so_far().select(message).filter("message is not null"))

    def _test(self, part: Constraint) -> None:
        made = self._maker()
        if part.op == "=":
            for term, other in ((part.left, part.right), (part.right, part.left)):
                if isinstance(term, Variable) and term.name not in self.columns:
                    value = made.value(other)
                    self._note_faults(made)
                    self.frame = self._so_far().withColumn(self._name(term.name), value)
                    if made.faults:
                        self.frame = self.frame.filter(f"{self.columns[term.name]} is not null")
                    return
        test = made.test(part)
        self._note_faults(made)
        self.frame = self._so_far().filter(test)

    def _range(self, part: Range) -> None:
        made = self._maker()
        terms: list[Expression] = [part.start, part.stop]
        if part.step is not None:
            terms.append(part.step)
        values = [made.value(term) for term in terms]
        self._note_faults(made)
        kind = part.start.kind
        assert kind is not None
        each = in_python(scalar.RANGES[kind], f"array<{TYPES[kind]}>")
        name = part.variable.name
        if name in self.columns:
            fresh = "_r"
            self.frame = self._so_far().withColumn(fresh, F.explode(each(*values)))
            self.frame = self.frame.filter(F.col(fresh) == F.col(self.columns[name])).drop(fresh)
        else:
            frame = self._so_far()
            self.frame = frame.withColumn(self._name(name), F.explode(each(*values)))

    # Aggregates.

    def _group(self, place: int, part: Group) -> None:
        source = self.reads.literals[place]
        if place in self.reads.spared:
            self._meets_none(part.terms, self.reads.spared[place])
        frame = self._so_far()
        known = dict(self.columns)
        facts = self._pattern(part.terms, source.frame)
        inside, self.columns = self.columns, known
        keys = [inside[v.name] for v in group_keys(self.rule, part)]
        value = F.lit(1) if part.value is None else F.col(inside[part.value.name])
        kind = part.result.kind if part.value is None else part.value.kind
        assert kind is not None
        if keys:
            wanted = frame.select(*keys).distinct()
            facts = facts.join(wanted, on=keys, how="left_semi")
        found = facts.groupBy(*keys).agg(aggregate(part.op, value, kind).alias("_v"))
        if keys:
            frame = frame.join(found, on=keys, how="left")
        else:
            frame = frame.crossJoin(F.broadcast(found))
        result = F.col("_v")
        if part.op in ("count", "sum"):
            nothing = F.lit(0.0) if part.result.kind == "float" else F.lit(0).cast("bigint")
            result = F.coalesce(result, nothing)
        else:
            frame = frame.filter("_v is not null")
        name = part.result.name
        if name in self.columns:
            frame = frame.filter(result == F.col(self.columns[name]))
        else:
            frame = frame.withColumn(self._name(name), result)
        self.frame = frame.drop("_v")


def group_keys(rule: Rule, group: Group) -> list[Variable]:
    """The distinct variables of the group's literal that occur elsewhere in the rule."""
    others = {v.name for term in rule.head.terms for v in variables(term)}
    for part in rule.body:
        if part is not group:
            others |= names_of(part)
    others.add(group.result.name)
    found = {
        term.name: term
        for term in group.terms
        if isinstance(term, Variable) and term.name in others
    }
    return list(found.values())


def _one_row() -> DataFrame:
    spark = SparkSession.getActiveSession()
    assert spark is not None
    return spark.range(1).select("id")


def _range_can_fail(part: Range) -> bool:
    return any(can_fail(term) for term in (part.start, part.stop, part.step))


def aggregate(op: str, value: Column, kind: Kind) -> Column:
    """Null of nothing."""
    if op == "count":
        return F.count(F.lit(1))
    if op in ("sum", "mean") and (op == "mean" or kind == "float"):
        if kind == "unsigned":
            value = unsigned(value)
        folded = in_python(scalar.total_of if op == "sum" else scalar.mean_of, "double")
        return folded(F.collect_list(value.cast("double")))
    if op == "sum":
        return wrapped(F.sum(value.cast("decimal(19,0)")).cast("decimal(38,0)"))
    pick: Callable[..., Column] = F.min if op == "min" else F.max
    if kind == "unsigned":
        return flipped(pick(flipped(value)))
    return pick(value)
