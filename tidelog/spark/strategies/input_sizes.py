"""The number of input facts: small relations go to every part.

For an atom with constants, such as `triple(c, 1, d)`, the facts that match it count. What rules
will add is unknown: a wrong guess costs time and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.formats import spark_columns
from tidelog.program.rules import Literal, Relation, Rule, Stratum
from tidelog.program.syntax import Constant, Variable
from tidelog.spark.strategies.partition_state import Inputs
from tidelog.spark.strategies.partitioning import Route, Where, where

Pattern = tuple[str, Where]
TOGETHER = 10  # how many times that many facts all small relations together may have


@dataclass(slots=True)
class Sizes:
    small: frozenset[str]  # lower relations
    counts: dict[Pattern, int]
    stratum: Stratum
    most: int

    def few(self, atom: Literal) -> bool:
        """Whether few facts match the atom; without constants, rules may derive any number."""
        pattern = where(atom)
        return bool(pattern) and self._count((atom.relation, pattern)) <= self.most

    def _count(self, pattern: Pattern) -> int:
        """Facts that match: explicit ones, and those that rules copy from lower relations."""
        name, constants = pattern
        found = self.counts.get(pattern, 0)
        for rule in self.stratum.nonrecursive:
            if rule.head.relation == name:
                below = matched(rule, constants)
                found += 0 if below is None else self.counts.get(below, self.most + 1)
        return found


def matched(rule: Rule, constants: Where) -> Pattern | None:
    """The pattern, in a rule's first atom, of facts that yield such heads; None if none can."""
    bound: dict[str, Any] = {}
    for column, value in constants:
        term = rule.head.terms[column]
        if isinstance(term, Constant) and term.value != value:
            return None
        if isinstance(term, Variable):
            bound[term.name] = value
    atoms = [atom for atom in rule.literals() if not atom.negated]
    if len(atoms) != 1:
        return ("", ())  # unknown
    found = []
    for column, other in enumerate(atoms[0].terms):
        if isinstance(other, Constant):
            found.append((column, other.value))
        elif isinstance(other, Variable) and other.name in bound:
            found.append((column, bound[other.name]))
    return atoms[0].relation, tuple(found)


def measured(inputs: Inputs) -> Sizes:
    """The number of facts of each relation, and of those that match atoms with constants. No job
    runs if the sizes are known and there are no such atoms."""
    stratum, small = inputs.stratum, inputs.options.small
    patterns = _patterns(stratum)
    inside = frozenset(stratum.relations)
    lower = {n for rule in stratum.rules for n, _ in rule.reads()} - inside
    wanted = {*patterns, *((name, ()) for name in lower)}
    counts: dict[Pattern, int] = {}
    asked = []
    for pattern in sorted(wanted, key=repr):
        size = _known(pattern, inputs)
        if size is None:
            asked.append(pattern)
        else:
            counts[pattern] = size
    counts |= _counted(asked, inputs)
    sizes = {name: counts[name, ()] for name in lower}
    return Sizes(_together(sizes, small), counts, stratum, small)


def _together(sizes: Mapping[str, int], small: int) -> frozenset[str]:
    """Relations that are small, and small together: many small ones are large.

    >>> sorted(_together({"a": 7, "b": 90, "c": 50, "d": 101}, small=100))
    ['a', 'b', 'c']
    >>> len(_together({f"r{i}": 90 for i in range(30)}, small=100))
    11
    """
    found, total = set(), 0
    for name in sorted(sizes, key=lambda name: (sizes[name], name)):
        total += sizes[name]
        if sizes[name] <= small and total <= TOGETHER * small:
            found.add(name)
    return frozenset(found)


def _known(pattern: Pattern, inputs: Inputs) -> int | None:
    """The count, if the driver knows it."""
    name, constants = pattern
    size = inputs.options.size(name)
    if not constants or size == 0:
        return size
    held = inputs.options.tables.get(name)
    if held is None:
        return None
    table = spark_columns.from_arrow(inputs.relations[name], held)
    return int(Route(None, constants).meets(table).sum())


def _patterns(stratum: Stratum) -> set[Pattern]:
    """The patterns of atoms that are joined with others, and of facts that rules copy to them."""
    atoms = {
        (atom.relation, where(atom))
        for rule in stratum.rules
        if sum(1 for other in rule.literals() if not other.negated) > 1
        for atom in rule.literals()
        if not atom.negated and where(atom)
    }
    copied = {
        below
        for name, constants in atoms
        for rule in stratum.nonrecursive
        if rule.head.relation == name and (below := matched(rule, constants)) and below[0]
    }
    return atoms | copied


def _counted(patterns: list[Pattern], inputs: Inputs) -> dict[Pattern, int]:
    from pyspark.sql import functions as F

    relations = inputs.relations
    names = list(dict.fromkeys(name for name, _ in patterns))
    numbers = {name: i for i, name in enumerate(names)}
    found: dict[Pattern, int] = {}
    for frame in inputs.by_signature(names):
        kinds = tuple(frame.dtypes[1:])
        here = [pattern for pattern in patterns if _columns(relations[pattern[0]]) == kinds]
        sums = [
            F.sum(_matches(relations[name], numbers[name], constants).cast("bigint"))
            for name, constants in here
        ]
        row = frame.agg(*sums).first()
        for pattern, count in zip(here, row or (), strict=True):
            found[pattern] = count or 0
    return found


def _columns(relation: Relation) -> tuple[tuple[str, str], ...]:
    return tuple(zip(spark_columns.names(relation), spark_columns.types(relation), strict=True))


def _matches(relation: Relation, number: int, constants: Where) -> Any:
    from pyspark.sql import functions as F

    found = F.col("r") == number
    for column, value in constants:
        found &= F.col(f"c{column}") == F.lit(spark_columns.inner(relation.kinds[column], value))
    return found
