"""Steps of a plan: what the join kernel reads, built one part at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidelog.local.body import Catalog, Outside
from tidelog.local.kernels import arithmetic as ops
from tidelog.local.kernels import layout as at
from tidelog.local.kernels.fold import ALL_BOUND
from tidelog.program.rules import Expression, Group, Literal, Range, Rule, Simple
from tidelog.program.syntax import Call, Cast, Constant, Kind, Variable
from tidelog.program.terms import TermKind, constructor_of, is_constructor

KIND_CODES = {"number": 0, "unsigned": 1, "float": 2, "symbol": 3}
GENERATORS = (at.OP_SCAN, at.OP_LOOKUP)
NO_ORDER = 0  # the code of kinds that are only compared for equality
COMPARISONS = {"=": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
GROUPS = {"count": 0, "sum": 1, "min": 2, "max": 3, "mean": 4}
ARITHMETIC = {
    "+": ops.ADD,
    "-": ops.SUB,
    "*": ops.MUL,
    "/": ops.DIV,
    "%": ops.MOD,
    "^": ops.POW,
    "band": ops.BAND,
    "bor": ops.BOR,
    "bxor": ops.BXOR,
    "bshl": ops.BSHL,
    "bshr": ops.BSHR,
    "bshru": ops.BSHRU,
    "land": ops.LAND,
    "lor": ops.LOR,
    "lxor": ops.LXOR,
    "min": ops.MIN,
    "max": ops.MAX,
}
UNARY = {"-": ops.NEG, "bnot": ops.BNOT, "lnot": ops.LNOT}
SAME_WORD = {"ord", "itou", "utoi"}
_GIVEN = {at.ROLE_DELTA: "new in ", at.ROLE_HEADS: "given ", at.ROLE_NEG_DELTA: "lost by not "}


Steps = Sequence[list[int]]


@dataclass(slots=True)
class RulePlan:
    """Steps with arguments, places relative to the plan's own start."""

    rule: Rule
    steps: NDArray[np.int64]
    args: NDArray[np.int64]
    registers: int
    stack: int
    indexes: tuple[int, ...]
    text: str
    symbols_ordered: bool
    requests: tuple[Request, ...] = ()


@dataclass(slots=True)
class Request:
    """A prefix of a plan that collects the arguments of a functor."""

    outside: Outside
    plan: RulePlan


class Generator(NamedTuple):
    """A step that enumerates matches."""

    back: int  # where the search goes on when it has no more
    bound: frozenset[str]  # variables that were bound before it


@dataclass(slots=True)
class Builder:
    """One plan under construction."""

    catalog: Catalog
    rule: Rule
    where: dict[str, int] = field(default_factory=dict)  # variable to register
    steps: list[list[int]] = field(default_factory=list)
    args: list[int] = field(default_factory=list)
    indexes: list[int] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    arities: dict[int, int] = field(default_factory=dict)
    registers: int = 1  # register 0 takes what nobody reads
    stack: int = 2
    back: int = -1
    open: list[Generator] = field(default_factory=list)  # that may still give other matches
    ordered: bool = False

    def register(self) -> int:
        self.registers += 1
        return self.registers - 1

    def operand(self, term: Simple) -> tuple[int, int]:
        if isinstance(term, Constant):
            assert term.kind is not None
            return at.A_CONST, self.catalog.dictionary.id(term.kind, term.value)
        assert isinstance(term, Variable)
        return at.A_REG, self.where[term.name]

    def operands(self, terms: Iterable[Simple]) -> int:
        """Append arguments; returns where they start."""
        start = len(self.args)
        for term in terms:
            self.args += self.operand(term)
        return start

    def fact(self, op: int, literal: Literal, **fields: int) -> list[int]:
        """A step for one fact."""
        r = self.catalog.number(literal)
        self.arities[r] = len(literal.terms)
        return self.step(op, rel=r, args=self.operands(literal.terms), **fields)

    def step(self, op: int, **fields: int) -> list[int]:
        row = [0] * at.P_WIDTH
        row[at.P_OP] = op
        row[at.P_BACK] = self.back
        for name, value in fields.items():
            row[getattr(at, "P_" + name.upper())] = value
        self.steps.append(row)
        return row

    def generator(self, op: int, bound: frozenset[str], **fields: int) -> list[int]:
        self.open.append(Generator(self.back, bound))
        row = self.step(op, **fields)
        self.back = len(self.steps) - 1
        return row

    def keep_open(self) -> None:
        """Every match of the generators so far must be tried."""
        self.open.clear()

    def close(self, needed: set[str]) -> None:
        """One match is enough of the last generators, if they bind nothing that is needed later:
        whatever follows goes back to the generator before them."""
        while self.open and not (needed & self.where.keys()) - self.open[-1].bound:
            self.back = self.open.pop().back

    # Body literals.

    def columns(self, terms: Sequence[Simple], needed: set[str]) -> list[tuple[int, int]]:
        """Append what to do with each column's value: bind, compare or pass over."""
        actions: list[tuple[int, int]] = []
        times = Counter(term.name for term in terms if isinstance(term, Variable))
        for term in terms:
            if isinstance(term, Constant):
                actions.append(self.operand(term))
            elif isinstance(term, Variable) and term.name in self.where:
                actions.append((at.A_CHECK, self.where[term.name]))
            elif isinstance(term, Variable) and (term.name in needed or times[term.name] > 1):
                self.where[term.name] = self.register()
                actions.append((at.A_BIND, self.where[term.name]))
            else:
                actions.append((at.A_SKIP, 0))
        self.args += chain.from_iterable(actions)
        return actions

    def key_columns(self, terms: Sequence[Simple]) -> tuple[int, ...]:
        return tuple(
            i
            for i, term in enumerate(terms)
            if isinstance(term, Constant)
            or (isinstance(term, Variable) and term.name in self.where)
        )

    def match(self, literal: Literal, role: int, needed: set[str], exact: bool) -> None:
        """Enumerate the facts that fit, or test for the one fact."""
        r, terms = self.catalog.number(literal), literal.terms
        self.arities[r] = len(terms)
        key = self.key_columns(terms)
        scan = role in _GIVEN
        bound = frozenset(self.where)
        if len(key) == len(terms) and not scan:
            self.fact(at.OP_MEMBER, literal, role=role)
            self.said.append(f"has {literal.relation}")
            return
        if scan or not key:
            start = len(self.args)
            actions = self.columns(terms, needed)
            row = self.generator(at.OP_SCAN, bound, rel=r, args=start, role=role)
            self.said.append(_GIVEN.get(role, "each ") + literal.relation)
        else:
            start, rest = self.lookup(r, terms, key)
            actions = self.columns([terms[c] for c in rest], needed)
            found = {"rel": r, "idx": self.indexes[-1], "nkey": len(key), "ncol": len(actions)}
            row = self.generator(at.OP_LOOKUP, bound, args=start, role=role, **found)
            self.said.append(f"{literal.relation}[{','.join(str(c + 1) for c in key)}]")
        if not exact and not any(how == at.A_BIND for how, _ in actions) and not scan:
            row[at.P_FLAG] |= at.FLAG_FIRST

    def lookup(
        self, r: int, terms: Sequence[Simple], key: tuple[int, ...]
    ) -> tuple[int, Sequence[int]]:
        """Arguments of a lookup by these columns; where they start, and the columns that it gives:
        all, where the index only has a hash of the key."""
        self.indexes.append(self.catalog.index(r, key))
        columns = range(len(terms))
        rest = columns if len(key) > 2 else [c for c in columns if c not in key]
        return self.operands(terms[c] for c in key), rest

    def negate(self, literal: Literal, role: int) -> None:
        self.fact(at.OP_MEMBER, literal, role=role, flag=at.FLAG_NEGATED)
        self.said.append(f"not {literal.relation}")

    def older(self, literal: Literal, head: Literal) -> None:
        """Let a fact that was matched pass only if it came before the head that is to be proved."""
        self.fact(at.OP_OLDER, literal, a=self.where["%%row"], b=self.catalog.number(head))

    def group(self, part: Group) -> None:
        terms, start, index = part.terms, len(self.args), -1
        r, key = self.catalog.number(part), self.key_columns(terms)
        shown: Sequence[int] = range(len(terms))
        if len(key) == len(terms):
            index, key = ALL_BOUND, ()
        elif key:
            start, shown = self.lookup(r, terms, key)
            index = self.indexes[-1]
        outer, folded = dict(self.where), part.value or part.result
        actions = self.columns([terms[c] for c in shown], {folded.name})
        self.where = outer  # what an aggregate binds is its own
        compares = any(how in (at.A_CHECK, at.A_CONST) for how, _ in actions)
        names = [term.name if isinstance(term, Variable) else "" for term in terms]
        value = [names[c] for c in shown].index(folded.name) if part.value else -1
        assert folded.kind is not None
        into = self.register()
        self.step(
            at.OP_GROUP,
            rel=r,
            idx=index,
            args=start,
            role=at.ROLE_NEG,
            nkey=len(key),
            ncol=len(shown),
            flag=into,
            a=GROUPS[part.op] | KIND_CODES[folded.kind] << 8,
            b=(0 if compares else -1) if part.op == "count" else value,
        )
        self.ordered = self.ordered or folded.kind == "symbol"
        self.said.append(f"{part.op} {part.relation}")
        self._result(part.result, into)

    def _result(self, variable: Variable, register: int) -> None:
        """The variable is what is in the register: that binds it, or is a test."""
        if variable.name not in self.where:
            self.where[variable.name] = register
            return
        name = f"%%r{register}"
        self.where[name] = register
        self.test("=", variable, Variable(name, kind=variable.kind))

    # Expressions.

    def code(self, term: Expression) -> int:
        """Append postfix code for a term; returns its length in steps."""
        assert term.kind is not None, f"{term} has no kind"
        if isinstance(term, Variable):
            self.args += (ops.PUSH_REG, self.where[term.name])
            return 1
        if isinstance(term, Constant):
            self.args += (ops.PUSH_WORD, self.catalog.dictionary.word(term.kind, term.value))
            return 1
        if isinstance(term, Cast):
            size = self.code(term.term)  # type: ignore[arg-type]
            if term.kind == "float" and term.term.kind != "float":
                self.args += (ops.AS_FLOAT, 0)
                size += 1
            return size
        size = self.code(term.args[0])  # type: ignore[arg-type]
        kind = term.args[0].kind
        assert kind is not None
        shift = KIND_CODES[kind] << 8
        name = term.functor
        if len(term.args) == 1 and name in UNARY:
            self.args += (UNARY[name] | shift, 0)
            return size + 1
        if len(term.args) == 1:
            code = _conversion(name, kind)
            if code is not None:
                self.args += (code | shift, 0)
                size += 1
            return size
        for arg in term.args[1:]:
            size += self.code(arg)  # type: ignore[arg-type]
            op = ops.STEP if name == "%step" else ARITHMETIC[name]
            self.args += (op | shift, 0)
            size += 1
        self.ordered = self.ordered or kind == "symbol"
        return size

    def compute(self, variable: Variable, term: Expression) -> None:
        if isinstance(term, Variable) and term.name in self.where:
            self.where[variable.name] = self.where[term.name]
            return
        if isinstance(term, Call) and is_constructor(term.functor):
            self.make(variable, term)
            return
        start = len(self.args)
        size = self.code(term)
        self.stack = max(self.stack, size + 2)
        self.where[variable.name] = self.register()
        self.step(at.OP_COMPUTE, args=start, ncol=size, a=self.where[variable.name])

    # Records and branches.

    def make(self, variable: Variable, term: Call) -> None:
        start = self.operands(term.args)  # type: ignore[arg-type]
        self.stack = max(self.stack, len(term.args) + 2)
        self.where[variable.name] = self.register()
        self._term(at.OP_MAKE, start, term, variable)

    def take(self, value: Variable, term: Call, needed: set[str]) -> None:
        """Bind fields, or compare those that are bound."""
        start = len(self.args)
        self.columns(term.args, needed)  # type: ignore[arg-type]
        self._term(at.OP_TAKE, start, term, value)

    def _term(self, op: int, start: int, term: Call, value: Variable) -> None:
        assert isinstance(term.kind, TermKind)
        constructor = self.catalog.dictionary.terms.constructor(
            term.kind, constructor_of(term.functor)
        )
        self.step(op, args=start, ncol=len(term.args), nkey=constructor, a=self.where[value.name])

    def test(self, op: str, left: Expression, right: Expression) -> None:
        start = len(self.args)
        size = self.code(left) + self.code(right)
        self.stack = max(self.stack, size + 2)
        kind = left.kind or right.kind
        assert kind is not None
        self.ordered = self.ordered or (kind == "symbol" and op not in ("=", "!="))
        code = KIND_CODES.get(kind, NO_ORDER)
        self.step(at.OP_COMPARE, args=start, ncol=size, nkey=code, flag=COMPARISONS[op])

    def span(self, part: Range) -> None:
        assert part.step is not None
        registers = [self._in_register(term) for term in (part.start, part.stop, part.step)]
        start = len(self.args)
        self.args += registers
        kind = part.variable.kind
        assert kind is not None
        target = self.register()
        bound = frozenset(self.where)
        self.generator(at.OP_RANGE, bound, args=start, nkey=KIND_CODES[kind], a=target)
        self.said.append("range")
        self._result(part.variable, target)

    def _in_register(self, term: Expression) -> int:
        if isinstance(term, Variable):
            return self.where[term.name]
        name = f"%%c{self.registers}"
        self.compute(Variable(name, kind=term.kind), term)
        return self.where[name]

    # The end of a plan.

    def emit(self, head: Literal) -> None:
        self.fact(at.OP_EMIT, head)
        fuse(self.steps, self.args, self.back, len(head.terms))

    def finish(self, requests: Iterable[Request] = ()) -> RulePlan:
        prefetch(self.steps, self.args, self.arities)
        return RulePlan(
            self.rule,
            np.array(self.steps, dtype=np.int64).reshape(-1, at.P_WIDTH),
            np.array(self.args or [0], dtype=np.int64),
            self.registers,
            self.stack,
            tuple(self.indexes),
            ", ".join(self.said) or "once",
            self.ordered,
            tuple(requests),
        )


def _conversion(name: str, kind: Kind) -> int | None:
    """The code that turns a word of this kind into the functor's result; None if it stays."""
    if name in SAME_WORD or name == "to_string":
        return None
    if name in ("to_float", "itof", "utof"):
        return None if kind == "float" else ops.TO_FLOAT
    if name in ("to_number", "ftoi"):
        return ops.TO_NUMBER if kind == "float" else None
    if name in ("to_unsigned", "ftou"):
        return ops.TO_UNSIGNED if kind == "float" else None
    raise AssertionError(f"functor {name} has no kernel code")


def fuse(steps: Steps, args: Sequence[int], back: int, columns: int) -> None:
    """Let the last generator emit in its own loop, if the plan goes back to it after the last
    step, which emits a head of so many columns. `back` is the step that it goes back to."""
    for step, following in pairwise(steps):
        # A member test right after a generator runs within the generator's loop.
        if step[at.P_OP] in GENERATORS:
            step[at.P_TESTED] = int(following[at.P_OP] == at.OP_MEMBER)
    place = len(steps) - 2
    if place > 0 and steps[place][at.P_OP] == at.OP_MEMBER and steps[place - 1][at.P_TESTED]:
        place -= 1
    if place < 0 or steps[place][at.P_OP] not in GENERATORS:
        return
    last = steps[place]
    first = last[at.P_FLAG] & at.FLAG_FIRST
    if last[at.P_OP] == at.OP_SCAN and first:
        return
    # A fused loop tries all matches, or goes back from the first one as its own step does.
    if back != place and not (first and last[at.P_BACK] == back):
        return
    last[at.P_FUSE] = at.FUSE_EMIT
    streams = last[at.P_OP] == at.OP_LOOKUP and last[at.P_NCOL] == 1
    if streams and columns == 2 and not last[at.P_TESTED]:
        _fuse_binary(last, args, steps[-1][at.P_ARGS])


def _fuse_binary(last: list[int], args: Sequence[int], start: int) -> None:
    """Heads (fixed, v) and (v, fixed), v streamed: the loop that must be fastest."""
    value = last[at.P_ARGS] + 2 * last[at.P_NKEY]
    how, register = args[value : value + 2]
    if how != at.A_BIND or last[at.P_NKEY] > 2:
        return
    first, second = args[start : start + 2], args[start + 2 : start + 4]
    streamed = [at.A_REG, register]
    if first == streamed and second != streamed:
        last[at.P_FUSE] = at.FUSE_VALUE_FIRST
        last[at.P_A], last[at.P_B] = second
    elif second == streamed and first != streamed:
        last[at.P_FUSE] = at.FUSE_VALUE_SECOND
        last[at.P_A], last[at.P_B] = first


def prefetch(steps: Steps, args: Sequence[int], arities: Mapping[int, int]) -> None:
    """Let each generator ask for what the step after it will look up."""
    for step, following in pairwise(steps):
        if step[at.P_OP] not in GENERATORS:
            continue
        start = following[at.P_ARGS]
        if following[at.P_OP] == at.OP_LOOKUP and following[at.P_NKEY] <= 2:
            what, which, size = at.PRE_INDEX, following[at.P_IDX], following[at.P_NKEY]
        elif following[at.P_OP] == at.OP_MEMBER:
            size = arities[following[at.P_REL]]
            what, which = at.PRE_MEMBER, following[at.P_REL]
        else:
            continue
        if not 1 <= size <= 2:
            continue
        places = _places(step, args, arities)
        step[at.P_PRE], step[at.P_PRE_ID], step[at.P_PRE_N] = what, which, size
        for part in range(size):
            how, value = args[start + 2 * part : start + 2 * part + 2]
            if how == at.A_CONST:
                found = at.PRE_CONST, value
            elif value in places:
                found = at.PRE_COLUMN, places[value]
            else:
                found = at.PRE_REG, value
            step[at.P_PRE_A_HOW + 2 * part : at.P_PRE_A_HOW + 2 * part + 2] = found


def _places(step: list[int], args: Sequence[int], arities: Mapping[int, int]) -> dict[int, int]:
    """Registers that a generator binds, with their places in its rows."""
    lookup = step[at.P_OP] == at.OP_LOOKUP
    start = step[at.P_ARGS] + (2 * step[at.P_NKEY] if lookup else 0)
    count = step[at.P_NCOL] if lookup else arities[step[at.P_REL]]
    actions = [args[start + 2 * c : start + 2 * c + 2] for c in range(count)]
    return {what: c for c, (how, what) in enumerate(actions) if how == at.A_BIND}
