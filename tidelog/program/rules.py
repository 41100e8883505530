"""A program in its core form: what engines run and maintenance algorithms maintain.

`plan.desugar` brings every clause here. A rule has one head of variables and
constants; its body is a conjunction of
  - literals over relations, positive or negated (a negated one has no wildcard),
  - constraints over expressions, where `=` with one unbound variable binds it,
  - `Range`, which binds a variable to each of several values,
  - `Group`, an aggregate over one relation.
Every term has its kind. Relations that desugaring invents have names that start
with `%`, which no program can spell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tidelog.program.syntax import (
    NOWHERE,
    Call,
    Cast,
    Constant,
    Directive,
    Kind,
    Span,
    Value,
    Variable,
    Wildcard,
)

Expression = Variable | Constant | Call | Cast
Simple = Variable | Constant | Wildcard


@dataclass(frozen=True, slots=True)
class Literal:
    relation: str
    terms: tuple[Simple, ...]
    negated: bool = False
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Constraint:
    """`left op right`, both of one kind; op as in `syntax.Comparison`, or `!match`, `!contains`."""

    op: str
    left: Expression
    right: Expression
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Range:
    """`variable = range(start, stop, step)`: start included, stop not."""

    variable: Variable
    start: Expression
    stop: Expression
    step: Expression | None
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Group:
    """`result = op value : { relation(terms) }`.

    Variables of `terms` that occur elsewhere in the rule are the group's key and are
    bound before it; the others are local to it. `value` is one of the local variables
    (None for count). Every matching fact counts once. `count` and `sum` of nothing
    are 0; `min`, `max` and `mean` of nothing fail.
    """

    op: str
    result: Variable
    value: Variable | None
    relation: str
    terms: tuple[Simple, ...]
    at: Span = field(default=NOWHERE, compare=False, repr=False)


BodyLiteral = Literal | Constraint | Range | Group


@dataclass(frozen=True, slots=True)
class Rule:
    head: Literal
    body: tuple[BodyLiteral, ...]
    text: str = field(default="", compare=False)  # the clause as a person would write it
    at: Span = field(default=NOWHERE, compare=False, repr=False)

    def literals(self) -> Iterator[Literal]:
        return (part for part in self.body if isinstance(part, Literal))

    def reads(self) -> Iterator[tuple[str, bool]]:
        """Relations in the body, each with True where the rule needs it complete first."""
        for part in self.body:
            if isinstance(part, Literal):
                yield part.relation, part.negated
            elif isinstance(part, Group):
                yield part.relation, True


@dataclass(frozen=True, slots=True)
class Relation:
    name: str
    attributes: tuple[str, ...]
    kinds: tuple[Kind, ...]
    qualifiers: frozenset[str] = frozenset()
    at: Span = field(default=NOWHERE, compare=False, repr=False)
    choices: tuple[tuple[int, ...], ...] = ()  # columns that determine the others
    pruned: bool = False  # subsumption or choice may drop facts, explicit ones too

    @property
    def arity(self) -> int:
        return len(self.kinds)

    @property
    def hidden(self) -> bool:
        return self.name.startswith("%")


@dataclass(frozen=True, slots=True)
class Pruning:
    """Subsumption and choice of one relation: which of its facts are left out.

    `rules` derive pairs of its facts (see `syntax.UNDER`): the first goes where the second is.
    `choices` are columns of which no two facts have the same values.
    """

    relation: str
    rules: tuple[Rule, ...] = ()
    choices: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Stratum:
    """Relations that depend on each other, with the rules that derive them.

    A rule is recursive if its body reads a relation of the stratum.
    """

    relations: tuple[str, ...]
    nonrecursive: tuple[Rule, ...]
    recursive: tuple[Rule, ...]
    pruned: tuple[Pruning, ...] = ()
    rules: tuple[Rule, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # The same tuple each time: engines cache sequences of rules by identity.
        object.__setattr__(self, "rules", self.nonrecursive + self.recursive)

    @property
    def given(self) -> bool:
        """Are all its facts explicit?"""
        return not self.rules and not self.pruned


@dataclass(frozen=True, slots=True)
class CheckedProgram:
    """A program without errors: typed, safe, stratified and in core form.

    `own` has, for each clause, the rules that it became; those of hidden relations, which
    several clauses may share, are not among them. `computed` has, for each fact that is stated
    by expressions, such as `p(1 + 1).`, the rule that gives it; it belongs to no stratum.
    """

    relations: dict[str, Relation]
    rules: tuple[Rule, ...]
    strata: tuple[Stratum, ...]
    facts: dict[str, list[tuple[Value, ...]]]
    directives: tuple[Directive, ...] = ()
    own: tuple[tuple[Rule, ...], ...] = ()
    numbered: tuple[Span, ...] = ()  # where `autoinc()` stands
    computed: tuple[Rule, ...] = ()

    @property
    def limits(self) -> dict[str, int]:
        """The number of facts at which a relation's recursion ends, by relation: `.limitsize`."""
        found: dict[str, int] = {}
        for each in self.directives:
            if each.action == "limitsize":
                most = int(dict(each.parameters)["n"])
                found[each.relation] = min(most, found.get(each.relation, most))
        return found
