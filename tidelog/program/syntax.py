"""A program as it was written: frozen values, one class per construct.

Every term carries the `kind` of its value once `plan.types` has run; the parser
leaves it None (a literal such as `1` may turn out number, unsigned or float).
Positions take no part in equality, so that two spellings of one rule are equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from tidelog.program.terms import TermKind

Primitive = Literal["number", "unsigned", "float", "symbol"]
Kind = Primitive | TermKind
KINDS: tuple[Primitive, ...] = ("number", "unsigned", "float", "symbol")
Action = Literal["input", "output", "printsize", "limitsize"]  # of a directive
Structured = Any  # a record (a tuple), nil (None), or a `Branch`: see `terms`
Value = int | float | str | Structured


class Span(NamedTuple):
    """Where something stands: lines and columns count from 1, width in characters."""

    file: str
    line: int
    column: int
    width: int = 1


class Inside(Span):
    """A place in a component, read for one of its instances; equal to the place itself."""

    instance = ""

    @classmethod
    def of(cls, at: Span, instance: str) -> Inside:
        """
        >>> Inside.of(Span("a.dl", 1, 2), "outer.inner").instance
        'outer.inner'
        """
        place = cls(*at)
        place.instance = instance
        return place


NOWHERE = Span("<program>", 0, 0, 0)
UNDER = "%under:"  # before a relation's name: pairs of its facts, of which the second dominates


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    at: Span = field(default=NOWHERE, compare=False, repr=False)
    kind: Kind | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`_`: some value, a different one each time."""

    at: Span = field(default=NOWHERE, compare=False, repr=False)
    kind: Kind | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal. `kind` is fixed by its spelling (`"a"`, `1u`, `1.0`) or by the types pass."""

    value: Value
    kind: Kind | None = None
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """An intrinsic functor by its spelling: `+`, `-` (with one or two arguments), `cat`, …
    One of the program's own has an `@` before its name.

    `[]` makes a record, `$A` a branch, and `nil` is one too: in a body these are patterns.
    `kind` is the kind of the result; the operands' kind is that of the arguments.
    """

    functor: str
    args: tuple[Term, ...]
    at: Span = field(default=NOWHERE, compare=False, repr=False)
    kind: Kind | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cast:
    """`as(term, type)`: the same word read as another type."""

    term: Term
    type_name: str
    at: Span = field(default=NOWHERE, compare=False, repr=False)
    kind: Kind | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`sum target : { body }`; `count` has no target."""

    op: str
    target: Term | None
    body: Formula
    at: Span = field(default=NOWHERE, compare=False, repr=False)
    kind: Kind | None = field(default=None, compare=False, repr=False)


Term = Variable | Wildcard | Constant | Call | Cast | Aggregate


@dataclass(frozen=True, slots=True)
class Atom:
    relation: str
    terms: tuple[Term, ...]
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`=`, `!=`, `<`, `<=`, `>`, `>=`; on strings `match`, and `contains` (left in right)."""

    op: str
    left: Term
    right: Term
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Truth:
    value: bool
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Not:
    part: Formula
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Formula, ...]
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Formula, ...]
    at: Span = field(default=NOWHERE, compare=False, repr=False)


Formula = Atom | Comparison | Truth | Not | And | Or


@dataclass(frozen=True, slots=True)
class Clause:
    """`heads :- body.`; a clause without a body has `And(())`."""

    heads: tuple[Atom, ...]
    body: Formula
    at: Span = field(default=NOWHERE, compare=False, repr=False)


class Fact(NamedTuple):
    """A clause of literals alone, kept flat because programs may hold millions of them.

    An int may be a number, unsigned or float until the types pass has
    converted it to what the relation declares.
    """

    relation: str
    values: tuple[Value, ...]
    at: Span


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    type_name: str
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BranchDecl:
    """A constructor of a type: `C {x: B}`, or a record under the name `[]`."""

    name: str
    fields: tuple[Attribute, ...]
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RelationDecl:
    name: str
    attributes: tuple[Attribute, ...]
    qualifiers: frozenset[str] = frozenset()
    at: Span = field(default=NOWHERE, compare=False, repr=False)
    inferred: bool = False  # no `.decl` was written; types come from use
    choices: tuple[tuple[str, ...], ...] = ()  # attributes that determine the others


@dataclass(frozen=True, slots=True)
class TypeDecl:
    """`.type A <: B` (subtype), `.type A = B` (alias), `.type A = B | C` (union); without `of`,
    `.type A = [x: B]` (record) and `.type A = C {x: B} | D {}` (algebraic), by their branches."""

    name: str
    form: Literal["subtype", "alias", "union", "record", "algebraic"]
    of: tuple[str, ...]
    at: Span = field(default=NOWHERE, compare=False, repr=False)
    branches: tuple[BranchDecl, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctorDecl:
    """`.functor name(x: number): number`, a function that the program calls as `@name(x)`.

    One that is `stateful` may give another value the next time.
    """

    name: str
    parameters: tuple[str, ...]  # types
    result: str
    stateful: bool = False
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Directive:
    """`.input`, `.output`, `.printsize` or `.limitsize` of one relation, parameters in the order
    written."""

    action: Action
    relation: str
    parameters: tuple[tuple[str, str], ...] = ()
    at: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Program:
    types: tuple[TypeDecl, ...] = ()
    relations: tuple[RelationDecl, ...] = ()
    clauses: tuple[Clause, ...] = ()
    facts: tuple[Fact, ...] = ()
    directives: tuple[Directive, ...] = ()
    pragmas: tuple[tuple[str, str], ...] = ()
    # Names in statements that could not be read, or "*" if a whole file could not be: nobody
    # should complain that these are unknown.
    lost: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    functors: tuple[FunctorDecl, ...] = ()
    # `r(x, a) <= r(x, b) :- body.` as a clause `%under:r(x, a, x, b) :- r(x, a), r(x, b), body.`
    subsumptions: tuple[Clause, ...] = ()
    # Rules of inline relations that stand where these are used (`plan.inline`), for rules to come.
    inlined: tuple[Clause, ...] = field(default=(), compare=False, repr=False)
