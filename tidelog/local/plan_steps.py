"""Steps of a plan: what the join kernel reads, built one part at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidelog.local.body import Outside, Prepared
from tidelog.local.join_order import Catalog
from tidelog.local.kernels import arithmetic as ops
from tidelog.local.kernels import layout as at
from tidelog.local.kernels.fold import ALL_BOUND
from tidelog.program.formula_walk import variables
from tidelog.program.rules import Expression, Group, Literal, Range, Rule, Simple
from tidelog.program.syntax import Call, Cast, Constant, Kind, Variable
from tidelog.program.terms import TermKind, is_way, way_of

KIND_CODES = {"number": 0, "unsigned": 1, "float": 2, "symbol": 3}
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


@dataclass(slots=True)
class Plan:
    """Steps with arguments, places relative to the plan's own start."""

    rule: Rule
    steps: NDArray[np.int64]
    args: NDArray[np.int64]
    registers: int
    stack: int
    indexes: tuple[int, ...]
    reads: tuple[int, ...]  # relations of the literals, in the order of the steps
    text: str
    symbols_ordered: bool
    requests: tuple[Request, ...] = ()


@dataclass(slots=True)
class Request:
    """A prefix of a plan that collects the arguments of a functor."""

    outside: Outside
    plan: Plan


class Generator(NamedTuple):
    """A step that enumerates matches."""

    back: int  # where the search goes on when it has no more
    bound: frozenset[str]  # variables that were bound before it


@dataclass(slots=True)
class Builder:
    """One plan under construction."""

    catalog: Catalog
    prepared: Prepared
    where: dict[str, int] = field(default_factory=dict)  # variable to register
    steps: list[list[int]] = field(default_factory=list)
    args: list[int] = field(default_factory=list)
    indexes: list[int] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)
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

    def bound(self, term: Expression | Simple) -> bool:
        return all(v.name in self.where for v in variables(term))

    def operand(self, term: Simple) -> tuple[int, int]:
        if isinstance(term, Constant):
            assert term.kind is not None
            return at.A_CONST, self.catalog.identify(term.kind, term.value)
        assert isinstance(term, Variable)
        return at.A_REG, self.where[term.name]

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
        """What to do with each column's value: bind, compare or pass over."""
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
        r = self.catalog.relation(literal.relation, len(literal.terms))
        self.reads.append(r)
        self.arities[r] = len(literal.terms)
        key = self.key_columns(literal.terms)
        start = len(self.args)
        scan = role in _GIVEN
        bound = frozenset(self.where)
        if len(key) == len(literal.terms) and not scan:
            for term in literal.terms:
                self.args += self.operand(term)
            self.step(at.OP_MEMBER, rel=r, args=start, role=role)
            self.said.append(f"has {literal.relation}")
            return
        if scan or not key:
            actions = self.columns(literal.terms, needed)
            for action in actions:
                self.args += action
            row = self.generator(at.OP_SCAN, bound, rel=r, args=start, role=role)
            self.said.append(_GIVEN.get(role, "each ") + literal.relation)
        else:
            x = self.catalog.index(r, key)
            self.indexes.append(x)
            for c in key:
                self.args += self.operand(literal.terms[c])
            rest = range(len(literal.terms)) if len(key) > 2 else _others(literal.terms, key)
            actions = self.columns([literal.terms[c] for c in rest], needed)
            for action in actions:
                self.args += action
            row = self.generator(
                at.OP_LOOKUP,
                bound,
                rel=r,
                idx=x,
                args=start,
                role=role,
                nkey=len(key),
                ncol=len(actions),
            )
            self.said.append(f"{literal.relation}[{','.join(str(c + 1) for c in key)}]")
        if not exact and not any(how == at.A_BIND for how, _ in actions) and not scan:
            row[at.P_FLAG] |= at.FLAG_FIRST

    def negate(self, literal: Literal, role: int) -> None:
        r = self.catalog.relation(literal.relation, len(literal.terms))
        self.reads.append(r)
        self.arities[r] = len(literal.terms)
        start = len(self.args)
        for term in literal.terms:
            self.args += self.operand(term)
        self.step(at.OP_MEMBER, rel=r, args=start, role=role, flag=at.FLAG_NEGATED)
        self.said.append(f"not {literal.relation}")

    def older(self, literal: Literal, head: Literal) -> None:
        """Let a fact that was matched pass only if it came before the head that is to be proved."""
        r = self.catalog.relation(literal.relation, len(literal.terms))
        h = self.catalog.relation(head.relation, len(head.terms))
        start = len(self.args)
        for term in literal.terms:
            self.args += self.operand(term)
        self.step(at.OP_OLDER, rel=r, args=start, a=self.where["%%row"], b=h)

    def group(self, part: Group) -> None:
        terms = part.terms
        r = self.catalog.relation(part.relation, len(terms))
        self.reads.append(r)
        key = self.key_columns(terms)
        local: dict[str, int] = {}
        start = len(self.args)
        fields: dict[str, int] = {"idx": -1, "nkey": 0}
        shown: Sequence[int] = range(len(terms))
        if len(key) == len(terms):
            fields["idx"] = ALL_BOUND
        elif key:
            x = self.catalog.index(r, key)
            self.indexes.append(x)
            fields = {"idx": x, "nkey": len(key)}
            for c in key:
                self.args += self.operand(terms[c])
            if len(key) <= 2:
                shown = _others(terms, key)
        value, compares = -1, False
        for place, c in enumerate(shown):
            term = terms[c]
            if isinstance(term, Variable) and term.name not in self.where:
                if part.value is not None and term.name == part.value.name and value < 0:
                    value = place
                if term.name in local:
                    self.args += (at.A_CHECK, local[term.name])
                    compares = True
                else:
                    local[term.name] = self.register()
                    self.args += (at.A_BIND, local[term.name])
            elif isinstance(term, Variable):
                self.args += (at.A_CHECK, self.where[term.name])
                compares = True
            elif isinstance(term, Constant):
                self.args += self.operand(term)
                compares = True
            else:
                self.args += (at.A_SKIP, 0)
        kind = part.value.kind if part.value is not None else part.result.kind
        assert kind is not None
        target = self.where.get(part.result.name)
        into = self.register()
        op = GROUPS[part.op]
        self.step(
            at.OP_GROUP,
            rel=r,
            args=start,
            role=at.ROLE_NEG,
            ncol=len(shown),
            flag=into,
            a=op | KIND_CODES[kind] << 8,
            b=(0 if compares else -1) if part.op == "count" else value,
            **fields,
        )
        self.ordered = self.ordered or kind == "symbol"
        self.said.append(f"{part.op} {part.relation}")
        if target is None:
            self.where[part.result.name] = into
        else:
            self.test("=", part.result, Variable(self._alias(into), kind=part.result.kind))

    def _alias(self, register: int) -> str:
        name = f"%%r{register}"
        self.where[name] = register
        return name

    # Expressions.

    def code(self, term: Expression) -> int:
        """Append postfix code for a term; returns its length in steps."""
        assert term.kind is not None, f"{term} has no kind"
        if isinstance(term, Variable):
            self.args += (ops.PUSH_REG, self.where[term.name])
            return 1
        if isinstance(term, Constant):
            self.args += (ops.PUSH_WORD, self.catalog.word(term.kind, term.value))
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
        if isinstance(term, Call) and is_way(term.functor):
            self.make(variable, term)
            return
        start = len(self.args)
        size = self.code(term)
        self.stack = max(self.stack, size + 2)
        self.where[variable.name] = self.register()
        self.step(at.OP_COMPUTE, args=start, ncol=size, a=self.where[variable.name])

    # Records and branches.

    def make(self, variable: Variable, term: Call) -> None:
        start = len(self.args)
        for arg in term.args:
            self.args += self.operand(arg)  # type: ignore[arg-type]
        self.stack = max(self.stack, len(term.args) + 2)
        self.where[variable.name] = self.register()
        self.step(
            at.OP_MAKE,
            args=start,
            ncol=len(term.args),
            nkey=self._way(term),
            a=self.where[variable.name],
        )

    def take(self, value: Variable, term: Call, needed: set[str]) -> None:
        """Bind fields, or compare those that are bound."""
        start = len(self.args)
        for action in self.columns(term.args, needed):  # type: ignore[arg-type]
            self.args += action
        self.step(
            at.OP_TAKE,
            args=start,
            ncol=len(term.args),
            nkey=self._way(term),
            a=self.where[value.name],
        )

    def _way(self, term: Call) -> int:
        assert isinstance(term.kind, TermKind)
        return self.catalog.way(term.kind, way_of(term.functor))

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
        known = part.variable.name in self.where
        target = self.register()
        bound = frozenset(self.where)
        self.generator(at.OP_RANGE, bound, args=start, nkey=KIND_CODES[kind], a=target)
        if known:
            self.test("=", part.variable, Variable(self._alias(target), kind=kind))
        else:
            self.where[part.variable.name] = target
        self.said.append("range")

    def _in_register(self, term: Expression) -> int:
        if isinstance(term, Variable):
            return self.where[term.name]
        name = f"%%c{self.registers}"
        self.compute(Variable(name, kind=term.kind), term)
        return self.where[name]

    # The end of a plan.

    def emit(self, head: Literal) -> None:
        r = self.catalog.relation(head.relation, len(head.terms))
        start = len(self.args)
        for term in head.terms:
            self.args += self.operand(term)
        self._inline_tests()
        last = self.steps[-1] if self.steps else None
        if last is not None and last[at.P_OP] == at.OP_MEMBER and len(self.steps) > 1:
            before = self.steps[-2]
            last = before if before[at.P_TESTED] else last
        self.step(at.OP_EMIT, rel=r, args=start)
        if last is None or last[at.P_OP] not in (at.OP_SCAN, at.OP_LOOKUP):
            return
        first = last[at.P_FLAG] & at.FLAG_FIRST
        if last[at.P_OP] == at.OP_SCAN and first:
            return
        # A fused loop tries all matches, or goes back from the first one as its own step does.
        if self.steps[self.back] is not last and not (first and last[at.P_BACK] == self.back):
            return
        last[at.P_FUSE] = at.FUSE_EMIT
        streams = last[at.P_OP] == at.OP_LOOKUP and last[at.P_NCOL] == 1
        if streams and len(head.terms) == 2 and not last[at.P_TESTED]:
            self._fuse_binary(last, start)

    def _inline_tests(self) -> None:
        """A member test right after a generator runs within the generator's loop."""
        for step, following in zip(self.steps, self.steps[1:], strict=False):
            if step[at.P_OP] in (at.OP_SCAN, at.OP_LOOKUP):
                step[at.P_TESTED] = int(following[at.P_OP] == at.OP_MEMBER)

    def _fuse_binary(self, last: list[int], start: int) -> None:
        """Heads (fixed, v) and (v, fixed), v streamed: the loop that must be fastest."""
        value = last[at.P_ARGS] + 2 * last[at.P_NKEY]
        how, register = self.args[value : value + 2]
        if how != at.A_BIND or last[at.P_NKEY] > 2:
            return
        first, second = self.args[start : start + 2], self.args[start + 2 : start + 4]
        streamed = [at.A_REG, register]
        if first == streamed and second != streamed:
            last[at.P_FUSE] = at.FUSE_VALUE_FIRST
            last[at.P_A], last[at.P_B] = second
        elif second == streamed and first != streamed:
            last[at.P_FUSE] = at.FUSE_VALUE_SECOND
            last[at.P_A], last[at.P_B] = first

    def prefetch(self) -> None:
        """Let each generator ask for what the step after it will look up."""
        for step, following in zip(self.steps, self.steps[1:], strict=False):
            if step[at.P_OP] not in (at.OP_SCAN, at.OP_LOOKUP):
                continue
            start = following[at.P_ARGS]
            if following[at.P_OP] == at.OP_LOOKUP and following[at.P_NKEY] <= 2:
                what, which, size = at.PRE_INDEX, following[at.P_IDX], following[at.P_NKEY]
            elif following[at.P_OP] == at.OP_MEMBER:
                size = self.arities[following[at.P_REL]]
                what, which = at.PRE_MEMBER, following[at.P_REL]
            else:
                continue
            if not 1 <= size <= 2:
                continue
            places = self._places(step)
            step[at.P_PRE], step[at.P_PRE_ID], step[at.P_PRE_N] = what, which, size
            for part in range(size):
                how, value = self.args[start + 2 * part : start + 2 * part + 2]
                if how == at.A_CONST:
                    found = at.PRE_CONST, value
                elif value in places:
                    found = at.PRE_COLUMN, places[value]
                else:
                    found = at.PRE_REG, value
                step[at.P_PRE_A_HOW + 2 * part : at.P_PRE_A_HOW + 2 * part + 2] = found

    def _places(self, step: list[int]) -> dict[int, int]:
        """Registers that a generator binds, with their places in its rows."""
        lookup = step[at.P_OP] == at.OP_LOOKUP
        start = step[at.P_ARGS] + (2 * step[at.P_NKEY] if lookup else 0)
        count = step[at.P_NCOL] if lookup else self.arities[step[at.P_REL]]
        actions = [self.args[start + 2 * c : start + 2 * c + 2] for c in range(count)]
        return {what: c for c, (how, what) in enumerate(actions) if how == at.A_BIND}

    def finish(self, requests: Iterable[Request] = ()) -> Plan:
        self.prefetch()
        return Plan(
            self.prepared.rule,
            np.array(self.steps, dtype=np.int64).reshape(-1, at.P_WIDTH),
            np.array(self.args or [0], dtype=np.int64),
            self.registers,
            self.stack,
            tuple(self.indexes),
            tuple(self.reads),
            ", ".join(self.said) or "once",
            self.ordered,
            tuple(requests),
        )


def _others(terms: Sequence[Simple], key: tuple[int, ...]) -> list[int]:
    return [c for c in range(len(terms)) if c not in key]


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
