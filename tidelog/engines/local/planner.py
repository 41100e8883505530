"""From a rule to a plan that the join kernel runs.

A plan is a sequence of steps. Which literal comes first is given (the one that ranges
over the delta, or the heads to prove) or chosen; then, at each point, filters that can
run do run, and the next literal is the one expected to match fewest facts for the
columns that are bound. Expressions that can fail (a division, a string that should be
a number) wait until everything that could rule them out has had its say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from tidelog.engines.local.kernels import arithmetic as ops
from tidelog.engines.local.kernels import layout as at
from tidelog.engines.local.kernels.join import ALL_BOUND
from tidelog.program.rules import Constraint, Expression, Group, Literal, Range, Rule, Simple
from tidelog.program.syntax import Call, Cast, Constant, Kind, Value, Variable, Wildcard

KIND_CODES = {"number": 0, "unsigned": 1, "float": 2, "symbol": 3}
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
PARTIAL = {"/", "%", "^"}
CONVERSIONS = {"to_number", "to_float", "to_unsigned"}  # of text, these can fail

Mode = Choice["apply", "delta", "prove", "support"]


@dataclass(frozen=True, slots=True)
class Outside:
    """`result = functor(args)`, computed by Python in batches and kept in a relation."""

    functor: str
    args: tuple[Simple, ...]
    result: Variable
    signature: tuple[Kind, ...]  # kinds of the arguments, then of the result

    @property
    def relation(self) -> str:
        return f"%{self.functor}({','.join(self.signature)})"

    @property
    def requests(self) -> str:
        return self.relation + "?"

    @property
    def literal(self) -> Literal:
        return Literal(self.relation, (*self.args, self.result))


Part = Literal | Constraint | Range | Group | Outside


@dataclass(frozen=True, slots=True)
class Prepared:
    """A rule whose string functors stand as literals of their own."""

    rule: Rule
    parts: tuple[Part, ...]
    outside: tuple[Outside, ...]


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


@dataclass(slots=True)
class Catalog:
    """What the planner must know of the engine."""

    relation: Callable[[str, int], int]  # name and arity to number
    arity: Callable[[int], int]
    size: Callable[[int], int]
    sizes: Callable[[], NDArray[np.int64]]
    fanout: Callable[[int, tuple[int, ...]], float]  # facts that share these columns with a fact
    index: Callable[[int, tuple[int, ...]], int]
    identify: Callable[[Kind, Value], int]
    word: Callable[[Kind, Value], int]


def variables(term: Expression | Simple) -> Iterable[Variable]:
    if isinstance(term, Variable):
        yield term
    elif isinstance(term, Call):
        for arg in term.args:
            yield from variables(arg)  # type: ignore[arg-type]
    elif isinstance(term, Cast):
        yield from variables(term.term)  # type: ignore[arg-type]


def is_outside(call: Call) -> bool:
    """Does this functor work on text, so that Python must compute it?"""
    kinds = {arg.kind for arg in call.args}
    if call.functor in ("cat", "substr", "strlen", "to_string", "match", "contains"):
        return True
    if call.functor in CONVERSIONS:
        return "symbol" in kinds
    return call.functor in ("min", "max") and call.kind == "symbol"


def prepare(rule: Rule) -> Prepared:
    """Take string functors out of expressions: `p(cat(x, "a"))` reads a relation of results."""
    parts: list[Part] = []
    outside: list[Outside] = []
    fresh = 0

    def new(kind: Kind | None) -> Variable:
        nonlocal fresh
        fresh += 1
        return Variable(f"%%{fresh}", kind=kind)

    def simple(term: Expression) -> Variable | Constant:
        term = lift(term)
        if isinstance(term, Variable | Constant):
            return term
        variable = new(term.kind)
        parts.append(Constraint("=", variable, term))
        return variable

    def lift(term: Expression) -> Expression:
        if isinstance(term, Cast):
            return replace(term, term=lift(term.term))  # type: ignore[arg-type]
        if not isinstance(term, Call):
            return term
        if not is_outside(term):
            return replace(term, args=tuple(lift(arg) for arg in term.args))  # type: ignore[arg-type]
        args = tuple(simple(arg) for arg in term.args)  # type: ignore[arg-type]
        result = new(term.kind)
        kinds = tuple(kind for arg in (*args, result) if (kind := arg.kind))
        call = Outside(term.functor, args, result, kinds)
        outside.append(call)
        parts.append(call)
        return result

    for part in rule.body:
        if isinstance(part, Constraint) and part.op.lstrip("!") in ("match", "contains"):
            test = Call(part.op.lstrip("!"), (part.left, part.right), kind="number")
            holds = Constant(0 if part.op.startswith("!") else 1, "number")
            parts.append(Constraint("=", lift(test), holds, part.at))
        elif isinstance(part, Constraint):
            parts.append(replace(part, left=lift(part.left), right=lift(part.right)))
        elif isinstance(part, Range):
            step = part.step
            start, stop = simple(part.start), simple(part.stop)
            if step is None:
                step = Call("%step", (start, stop), kind=part.variable.kind)
            parts.append(replace(part, start=start, stop=stop, step=simple(step)))
        elif isinstance(part, Literal):
            terms = (new(t.kind) if isinstance(t, Wildcard) else t for t in part.terms)
            parts.append(replace(part, terms=tuple(terms)))
        else:
            parts.append(part)
    return Prepared(rule, tuple(parts), tuple(outside))


def can_fail(term: Expression) -> bool:
    if isinstance(term, Call):
        return term.functor in PARTIAL or any(can_fail(a) for a in term.args)  # type: ignore[arg-type]
    return isinstance(term, Cast) and can_fail(term.term)  # type: ignore[arg-type]


def _may_fail(part: Part) -> bool:
    if isinstance(part, Constraint):
        return can_fail(part.left) or can_fail(part.right)
    return isinstance(part, Outside) and part.functor in CONVERSIONS


@dataclass(slots=True)
class _Builder:
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

    def generator(self, op: int, **fields: int) -> list[int]:
        row = self.step(op, **fields)
        self.back = len(self.steps) - 1
        return row

    # Body literals.

    def columns(self, terms: Sequence[Simple], needed: set[str]) -> list[tuple[int, int]]:
        """What to do with each column's value: bind, compare or pass over."""
        actions: list[tuple[int, int]] = []
        here: set[str] = set()
        for place, term in enumerate(terms):
            if isinstance(term, Constant):
                actions.append(self.operand(term))
            elif isinstance(term, Variable) and term.name in self.where:
                actions.append((at.A_CHECK, self.where[term.name]))
            elif isinstance(term, Variable) and (
                term.name in needed
                or any(isinstance(t, Variable) and t.name == term.name for t in terms[place + 1 :])
            ):
                self.where[term.name] = self.register()
                here.add(term.name)
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
        scan = role in (at.ROLE_DELTA, at.ROLE_HEADS)
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
            row = self.generator(at.OP_SCAN, rel=r, args=start, role=role)
            what = {at.ROLE_DELTA: "new in ", at.ROLE_HEADS: "given "}.get(role, "each ")
            self.said.append(what + literal.relation)
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
                at.OP_LOOKUP, rel=r, idx=x, args=start, role=role, nkey=len(key), ncol=len(actions)
            )
            self.said.append(f"{literal.relation}[{','.join(str(c + 1) for c in key)}]")
        if not exact and not any(how == at.A_BIND for how, _ in actions) and not scan:
            row[at.P_FLAG] |= at.FLAG_FIRST

    def negate(self, literal: Literal) -> None:
        r = self.catalog.relation(literal.relation, len(literal.terms))
        self.reads.append(r)
        self.arities[r] = len(literal.terms)
        start = len(self.args)
        for term in literal.terms:
            self.args += self.operand(term)
        self.step(at.OP_MEMBER, rel=r, args=start, role=at.ROLE_NEG, flag=at.FLAG_NEGATED)
        self.said.append(f"not {literal.relation}")

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
            return self.code(term.term)  # type: ignore[arg-type]
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
        start = len(self.args)
        size = self.code(term)
        self.stack = max(self.stack, size + 2)
        self.where[variable.name] = self.register()
        self.step(at.OP_COMPUTE, args=start, ncol=size, a=self.where[variable.name])

    def test(self, op: str, left: Expression, right: Expression) -> None:
        start = len(self.args)
        size = self.code(left) + self.code(right)
        self.stack = max(self.stack, size + 2)
        kind = left.kind or right.kind
        assert kind is not None
        self.ordered = self.ordered or (kind == "symbol" and op not in ("=", "!="))
        self.step(at.OP_COMPARE, args=start, ncol=size, nkey=KIND_CODES[kind], flag=COMPARISONS[op])

    def span(self, part: Range) -> None:
        assert part.step is not None
        registers = [self._in_register(term) for term in (part.start, part.stop, part.step)]
        start = len(self.args)
        self.args += registers
        kind = part.variable.kind
        assert kind is not None
        known = part.variable.name in self.where
        target = self.register()
        self.generator(at.OP_RANGE, args=start, nkey=KIND_CODES[kind], a=target)
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
        if last[at.P_OP] == at.OP_SCAN and (last[at.P_FLAG] & at.FLAG_FIRST):
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


def make_plan(
    catalog: Catalog, prepared: Prepared, mode: Mode, delta: int = -1, exact: bool = False
) -> Plan:
    """The plan of a rule; in mode "delta", part number `delta` ranges over the delta.

    `exact` enumerates every instance, also those that differ only in columns that nobody
    reads; else one of them is enough.
    """
    literals = [i for i, p in enumerate(prepared.parts) if isinstance(p, Literal) and not p.negated]
    if mode == "delta":
        starts: list[int | None] = [delta]
    elif mode in ("prove", "support") or not literals or len(literals) > 8:
        starts = [None]
    else:
        starts = list(literals)
    best: tuple[float, list[int]] | None = None
    for start in starts:
        cost, order = _order(catalog, prepared, mode, start)
        if best is None or cost < best[0]:
            best = (cost, order)
    assert best is not None
    return _build(catalog, prepared, mode, delta, best[1], exact)


def _needs(part: Part) -> set[str]:
    """Variables that must be bound before the part can run."""
    if isinstance(part, Literal):
        return {t.name for t in part.terms if isinstance(t, Variable)} if part.negated else set()
    if isinstance(part, Outside):
        return {v.name for arg in part.args for v in variables(arg)}
    if isinstance(part, Range):
        terms = [part.start, part.stop, part.step]
        return {v.name for t in terms if t is not None for v in variables(t)}
    if isinstance(part, Constraint):
        return {v.name for t in (part.left, part.right) for v in variables(t)}
    return set()


def _mentions(part: Part) -> set[str]:
    if isinstance(part, Literal):
        return {t.name for t in part.terms if isinstance(t, Variable)}
    if isinstance(part, Group):
        return {t.name for t in (*part.terms, part.result) if isinstance(t, Variable)}
    if isinstance(part, Outside):
        return _needs(part) | {part.result.name}
    if isinstance(part, Range):
        return _needs(part) | {part.variable.name}
    return _needs(part)


def _binds(part: Constraint, bound: set[str]) -> Variable | None:
    """The variable that an equality would bind now."""
    if part.op != "=":
        return None
    for side, other in ((part.left, part.right), (part.right, part.left)):
        free = isinstance(side, Variable) and side.name not in bound
        if free and all(v.name in bound for v in variables(other)):
            return side  # type: ignore[return-value]
    return None


def _order(
    catalog: Catalog, prepared: Prepared, mode: Mode, start: int | None
) -> tuple[float, list[int]]:
    """A greedy order of the parts with its estimated cost."""
    parts = prepared.parts
    everywhere = _occurrences(prepared)
    bound: set[str] = set()
    if mode in ("prove", "support"):
        bound |= {t.name for t in prepared.rule.head.terms if isinstance(t, Variable)}
    left = set(range(len(parts)))
    order: list[int] = []
    cost, matches = 0.0, 1.0

    def take(i: int) -> None:
        left.discard(i)
        order.append(i)
        part = parts[i]
        if isinstance(part, Group):
            bound.add(part.result.name)
        else:
            bound.update(_mentions(part))

    if start is not None:
        literal = parts[start]
        assert isinstance(literal, Literal)
        size = 1.0 if mode == "delta" else _fanout(catalog, literal, bound)
        matches *= max(size, 0.1)
        cost += matches
        take(start)
    while left:
        ready = next((i for i in sorted(left) if _filters(parts[i], bound, everywhere)), None)
        if ready is not None:
            take(ready)
            continue
        choice: tuple[float, int] | None = None
        for i in sorted(left):
            part = parts[i]
            if isinstance(part, Literal) and not part.negated:
                fanout = _fanout(catalog, part, bound)
                if bound and not (_mentions(part) & bound):
                    fanout *= 4.0  # a cross product is the last resort among equals
                if choice is None or fanout < choice[0]:
                    choice = (fanout, i)
        waiting = [i for i in left if _can_run(parts[i], bound, everywhere)]
        late = min(waiting, key=lambda i: (_may_fail(parts[i]), i), default=None)
        if choice is not None and not _helps(parts, late, parts[choice[1]], bound):
            matches *= max(choice[0], 0.1)
            cost += matches
            take(choice[1])
        else:
            assert late is not None, f"no order for {prepared.rule.text}"
            take(late)
    return cost, order


def _helps(parts: Sequence[Part], late: int | None, choice: Part, bound: set[str]) -> bool:
    """Would the waiting part bind a column of a literal that is a cross product without it?"""
    if late is None or not bound or _mentions(choice) & bound:
        return False
    return bool((_mentions(parts[late]) - bound) & _mentions(choice))


def _occurrences(prepared: Prepared) -> dict[str, int]:
    """In how many parts (the head is one) each variable occurs."""
    count: dict[str, int] = {}
    for part in (prepared.rule.head, *prepared.parts):
        for name in _mentions(part):
            count[name] = count.get(name, 0) + 1
    return count


def _group_ready(part: Group, bound: set[str], everywhere: dict[str, int]) -> bool:
    keys = {t.name for t in part.terms if isinstance(t, Variable) and everywhere[t.name] > 1}
    return keys <= bound


def _filters(part: Part, bound: set[str], everywhere: dict[str, int]) -> bool:
    """Can the part run now, without multiplying matches and without a chance to fail?"""
    if isinstance(part, Literal):
        if part.negated:
            return _needs(part) <= bound
        return _mentions(part) <= bound
    if isinstance(part, Constraint):
        if _may_fail(part):
            return False
        return _needs(part) <= bound or _binds(part, bound) is not None
    return isinstance(part, Group) and _group_ready(part, bound, everywhere)


def _can_run(part: Part, bound: set[str], everywhere: dict[str, int]) -> bool:
    """Parts that wait: functors that may fail or call Python, ranges."""
    if isinstance(part, Constraint):
        return _needs(part) <= bound or _binds(part, bound) is not None
    if isinstance(part, Outside | Range):
        return _needs(part) <= bound
    return isinstance(part, Group) and _group_ready(part, bound, everywhere)


def _fanout(catalog: Catalog, literal: Literal, bound: set[str]) -> float:
    """Facts expected to match, given what is bound."""
    r = catalog.relation(literal.relation, len(literal.terms))
    key = tuple(
        i
        for i, t in enumerate(literal.terms)
        if isinstance(t, Constant) or (isinstance(t, Variable) and t.name in bound)
    )
    if not key:
        return float(catalog.size(r))
    return 0.5 if len(key) == len(literal.terms) else catalog.fanout(r, key)


def _build(
    catalog: Catalog,
    prepared: Prepared,
    mode: Mode,
    delta: int,
    order: list[int],
    exact: bool,
) -> Plan:
    requests: list[Request] = []
    for place, i in enumerate(order):
        part = prepared.parts[i]
        if isinstance(part, Outside):
            head = Literal(part.requests, part.args)
            builder = _steps(catalog, prepared, mode, delta, order[:place], head, False)
            builder.emit(head)
            requests.append(Request(part, builder.finish()))
    builder = _steps(catalog, prepared, mode, delta, order, prepared.rule.head, exact)
    if mode == "prove":
        r = catalog.relation(prepared.rule.head.relation, len(prepared.rule.head.terms))
        builder.step(at.OP_PROVE, rel=r, a=builder.where["%%row"])
    elif mode == "support":
        _support_steps(builder, prepared)
    else:
        builder.emit(prepared.rule.head)
    return builder.finish(requests)


def _support_steps(builder: _Builder, prepared: Prepared) -> None:
    literals = [p for p in prepared.parts if isinstance(p, Literal) and not p.negated]
    for place, literal in enumerate(literals):
        r = builder.catalog.relation(literal.relation, len(literal.terms))
        start = len(builder.args)
        for term in literal.terms:
            builder.args += builder.operand(term)
        row = builder.step(at.OP_SUPPORT, rel=r, args=start)
        if place < len(literals) - 1:
            row[at.P_BACK] = NO_BACK
    if not literals:
        r = builder.catalog.relation(prepared.rule.head.relation, len(prepared.rule.head.terms))
        builder.step(at.OP_PROVE, rel=r, a=builder.where["%%row"])


NO_BACK = -(1 << 40)  # stays negative when plans are put together


def _steps(
    catalog: Catalog,
    prepared: Prepared,
    mode: Mode,
    delta: int,
    order: list[int],
    target: Literal,
    exact: bool,
) -> _Builder:
    """Steps for the parts in this order, ready for the last one."""
    builder = _Builder(catalog, prepared)
    if mode in ("prove", "support"):
        row = builder.register()
        builder.where["%%row"] = row
        head = prepared.rule.head
        wanted = {t.name for t in head.terms if isinstance(t, Variable)}
        builder.match(head, at.ROLE_HEADS, wanted, True)
        builder.steps[-1][at.P_B] = row
    later: list[set[str]] = []
    needed = {t.name for t in target.terms if isinstance(t, Variable)}
    for i in reversed(order):
        later.append(set(needed))
        needed |= _mentions(prepared.parts[i])
    later.reverse()
    # A fact that supports a head must be found again by all its columns.
    if mode == "support":
        later = [set().union(*map(_mentions, prepared.parts)) for _ in order]
    for place, i in enumerate(order):
        part = prepared.parts[i]
        if isinstance(part, Literal) and part.negated and i != delta:
            builder.negate(part)
        elif isinstance(part, Literal):
            role = at.ROLE_ALL
            if mode == "delta":
                role = at.ROLE_DELTA if i == delta else at.ROLE_OLD if i < delta else at.ROLE_ALL
            builder.match(part, role, later[place], exact)
        elif isinstance(part, Outside):
            builder.match(part.literal, at.ROLE_ALL, later[place], True)
        elif isinstance(part, Group):
            builder.group(part)
        elif isinstance(part, Range):
            builder.span(part)
        else:
            variable = _binds(part, set(builder.where))
            if variable is None:
                builder.test(part.op, part.left, part.right)
            else:
                other = part.right if variable == part.left else part.left
                builder.compute(variable, other)
    return builder
