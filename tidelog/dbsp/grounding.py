"""The grounding kit of a rule: rules as data for the circuit that interprets them.

de Lima, Kramer, Apinis and Micinski: Incremental Evaluation of Dynamic Datalog Programs as a
Higher-order DBSP Program (2024), section 4.2 and 4.3. A rule's body is a path of stages. What a
stage finds is a set of rewrites: here a row with a word for each variable that something later
still needs. `directions` is the paper's dir, from each stage to the next; `signal` its sig, what
becomes of the rewrites at the end; `orders` its jorder, by which columns facts are looked up.

Departures. The expected provenance of an atom is a number for the path up to it, where the paper
adds up hashes: those of different paths could be the same. Rewrites are projected on the variables
that are still needed, so that those which only differ in others become one with a larger weight.
Stages are ordered: atoms with constants first, then those that share most variables with what is
bound. Negated literals, comparisons, arithmetic, ranges and aggregates are stages too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tidelog.program.builtin_functors import can_fail, test_can_fail
from tidelog.program.formula_walk import all_names, everything, names_of, terms_of, variables
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
from tidelog.program.syntax import Call, Constant, Variable
from tidelog.program.terms import is_constructor

# Where a word is from: the rewrite that comes to a stage, a constant, or what the stage finds.
HELD, FIXED, FOUND = 0, 2, 1
Word = tuple[int, int]
ANY: Word = (-1, 0)  # in a pattern: whatever is there

Identify = Callable[[Constant], int]


@dataclass(frozen=True, slots=True)
class Product:
    """Facts of a relation that unify: words of the pattern that are FOUND are numbered."""

    relation: str
    pattern: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """No fact of a relation unifies."""

    relation: str
    pattern: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Where:
    """A comparison holds, or an expression has a value, or several. `columns` are those of the
    rewrite that have the variables."""

    part: Constraint | Range
    inputs: tuple[Variable, ...]
    columns: tuple[int, ...]
    results: tuple[Variable, ...]  # what it binds: one variable, or fields of a record


@dataclass(frozen=True, slots=True)
class GroupFold:
    """An aggregate, as a table of its groups: their keys and values."""

    group: Group
    keys: tuple[Variable, ...]

    @property
    def has_default(self) -> bool:
        """Has a group without facts a value?"""
        return self.group.op in ("count", "sum")


@dataclass(frozen=True, slots=True)
class Folded:
    """The value of a rewrite's group; the pattern is for keys and value."""

    fold: GroupFold
    pattern: tuple[Word, ...]
    default: int  # the word of a sum over nothing


Step = Product | Without | Where | Folded


@dataclass(frozen=True, slots=True)
class Stage:
    """A step, and what of the rewrite and of what it found goes on."""

    step: Step
    result: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Signal:
    """What becomes of complete rewrites: a fact."""

    relation: str
    words: tuple[Word, ...]

    def is_rewrite(self, width: int) -> bool:
        """Is the fact the rewrite, word for word?"""
        return self.words == tuple((HELD, c) for c in range(width))


@dataclass(frozen=True, slots=True)
class GroundingKit:
    directions: tuple[Stage, ...]
    signal: Signal

    @property
    def orders(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Relations with the columns that facts are looked up by."""
        for stage in self.directions:
            if isinstance(stage.step, Product | Without):
                yield stage.step.relation, key_of(stage.step.pattern)


def key_of(pattern: Sequence[Word]) -> tuple[int, ...]:
    """Columns that are known before a fact is."""
    return tuple(c for c, (source, _) in enumerate(pattern) if source in (HELD, FIXED))


def grounding_kit(rule: Rule, identify: Identify) -> GroundingKit:
    parts = ordered(rule)
    wanted = {term.name for term in rule.head.terms if isinstance(term, Variable)}
    needed = [wanted]  # after each part, from the last one on
    for part in reversed(parts):
        needed.append(needed[-1] | names_of(part))
    needed.reverse()
    held: list[str] = []
    stages = []
    for part, later in zip(parts, needed[1:], strict=True):
        step, found = _step(part, held, identify, rule)
        result: list[Word] = [(HELD, c) for c, name in enumerate(held) if name in later]
        result += [(FOUND, k) for k, name in enumerate(found) if name in later]
        stages.append(Stage(step, tuple(result)))
        held = [name for name in (*held, *found) if name in later]
    words = tuple(_word(term, held, {}, identify) for term in rule.head.terms)
    return GroundingKit(tuple(stages), Signal(rule.head.relation, words))


def _step(
    part: BodyLiteral, held: Sequence[str], identify: Identify, rule: Rule
) -> tuple[Step, list[str]]:
    """What the part is for rewrites with these variables, and the variables that it finds."""
    found: dict[str, int] = {}
    if isinstance(part, Literal):
        pattern = tuple(_word(term, held, found, identify) for term in part.terms)
        step = Without if part.negated else Product
        return step(part.relation, pattern), list(found)
    if isinstance(part, Group):
        fold = GroupFold(part, _keys(part, rule))
        terms = (*fold.keys, part.result)
        pattern = tuple(_word(term, held, found, identify) for term in terms)
        default = identify(Constant(0, part.result.kind)) if fold.has_default else 0
        return Folded(fold, pattern, default), list(found)
    free = _binds(part, set(held))
    inputs = tuple({v.name: v for v in variables(*terms_of(part)) if v.name in held}.values())
    columns = tuple(held.index(v.name) for v in inputs)
    return Where(part, inputs, columns, free), [variable.name for variable in free]


def _word(term: Simple, held: Sequence[str], found: dict[str, int], identify: Identify) -> Word:
    if isinstance(term, Constant):
        return FIXED, identify(term)
    if not isinstance(term, Variable):
        return ANY
    if term.name in held:
        return HELD, held.index(term.name)
    return FOUND, found.setdefault(term.name, len(found))


def ordered(rule: Rule) -> list[BodyLiteral]:
    left, bound, order = list(rule.body), set[str](), list[BodyLiteral]()
    while left:
        ready = next((p for p in left if _is_ready(p, bound, rule) and not _may_fail(p)), None)
        if ready is None:
            atoms = [p for p in left if isinstance(p, Literal) and not p.negated]
            if atoms:
                ready = max(atoms, key=lambda atom: _closeness(atom, bound))
            else:
                ready = next(p for p in left if _is_ready(p, bound, rule))
        left.remove(ready)
        order.append(ready)
        bound |= names_of(ready) if not isinstance(ready, Group) else {ready.result.name}
    return order


def _closeness(atom: Literal, bound: set[str]) -> tuple[bool, int, int]:
    """The first of the largest goes next: atoms that share variables, and have few new ones."""
    names = {term.name for term in atom.terms if isinstance(term, Variable)}
    fixed = sum(isinstance(term, Constant) for term in atom.terms)
    return bool(names & bound), fixed + len(names & bound), -len(names - bound)


def _is_ready(part: BodyLiteral, bound: set[str], rule: Rule) -> bool:
    """Can it be had now, and by looking up at most one thing?"""
    if isinstance(part, Literal):
        return names_of(part) <= bound
    if isinstance(part, Group):
        return {key.name for key in _keys(part, rule)} <= bound
    return names_of(part) <= bound or bool(_binds(part, bound))


def _may_fail(part: BodyLiteral) -> bool:
    """What can fail waits until nothing else could rule its arguments out."""
    if isinstance(part, Range):
        return True
    if not isinstance(part, Constraint):
        return False
    if test_can_fail(part.op):
        return True
    calls = everything(part.left, part.right)
    return any(isinstance(node, Call) and can_fail(node.functor) for node in calls)


def _binds(part: BodyLiteral, bound: set[str]) -> tuple[Variable, ...]:
    """The variables that a range or an equation would bind now."""
    if isinstance(part, Range):
        known = {v.name for v in variables(*_ends(part))} <= bound
        return (part.variable,) if known and part.variable.name not in bound else ()
    if not isinstance(part, Constraint) or part.op != "=":
        return ()
    if (
        isinstance(part.right, Call)
        and is_constructor(part.right.functor)
        and all_names(part.left) <= bound
    ):
        fields = {v.name: v for v in variables(part.right) if v.name not in bound}
        return tuple(fields.values())
    sides: tuple[tuple[Expression, Expression], ...] = (
        (part.left, part.right),
        (part.right, part.left),
    )
    for side, other in sides:
        free = isinstance(side, Variable) and side.name not in bound
        if free and {v.name for v in variables(other)} <= bound:
            return (side,)  # type: ignore[return-value]
    return ()


def _keys(group: Group, rule: Rule) -> tuple[Variable, ...]:
    """Variables of an aggregate that occur elsewhere in the rule."""
    others = (rule.head, *(part for part in rule.body if part is not group))
    outside = {v.name for part in others for v in variables(*terms_of(part))}
    mine = (term for term in group.terms if isinstance(term, Variable) and term.name in outside)
    return tuple({term.name: term for term in mine}.values())


def _ends(part: Range) -> list[Expression]:
    return [end for end in (part.start, part.stop, part.step) if end is not None]
