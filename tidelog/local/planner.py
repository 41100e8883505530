"""From a rule to a plan that the join kernel runs.

Which literal comes first is given (the one that ranges over the delta, or the heads to
prove) or chosen by cost; `order` decides on the others, `steps` writes them down.
"""

from __future__ import annotations

from tidelog.local.body import Outside, Prepared, binds, may_fail, mentions, takes_apart
from tidelog.local.join_order import Catalog, Mode, order_parts
from tidelog.local.kernels import layout as at
from tidelog.local.plan_shapes import Shapes
from tidelog.local.plan_steps import Builder, Plan, Request
from tidelog.program.rules import Group, Literal, Range
from tidelog.program.syntax import Variable

NO_BACK = -(1 << 40)  # stays negative when plans are put together


def make_plan(
    catalog: Catalog,
    prepared: Prepared,
    mode: Mode,
    delta: int = -1,
    exact: bool = False,
    among: frozenset[str] | None = None,
    shapes: Shapes | None = None,
) -> Plan:
    """The plan of a rule; in modes "delta" and "change", part number `delta` ranges over it.

    `exact` enumerates every instance, also those that differ only in columns that nobody
    reads; else one of them is enough. `among` names the relations whose facts are support, or
    those whose facts must be older than the head that they prove. Plans of rules that are alike
    are taken from `shapes`.
    """
    prepared = prepared.around(delta)
    order = _order(catalog, prepared, mode, delta)
    if shapes is None or prepared.shape is None:
        return _build(catalog, prepared, mode, delta, order, exact, among)

    def build(catalog: Catalog, prepared: Prepared, among: frozenset[str] | None) -> Plan:
        return _build(catalog, prepared, mode, delta, order, exact, among)

    return shapes.plan(prepared, prepared.shape, (mode, delta, exact, tuple(order)), among, build)


def _order(catalog: Catalog, prepared: Prepared, mode: Mode, delta: int) -> list[int]:
    """The cheapest order of parts that is found from each start there may be."""
    if prepared.shape is not None and len(prepared.parts) == 1:
        return [0]
    if prepared.shape is not None and len(prepared.parts) == 2 and delta >= 0:
        return [delta, 1 - delta]
    literals = [i for i, p in enumerate(prepared.parts) if isinstance(p, Literal) and not p.negated]
    if mode in ("delta", "change"):
        starts: list[int | None] = [delta]
    elif mode in ("prove", "support") or not literals or len(literals) > 8:
        starts = [None]
    else:
        starts = list(literals)
    best: tuple[float, list[int]] | None = None
    for start in starts:
        cost, order = order_parts(catalog, prepared, mode, start)
        if best is None or cost < best[0]:
            best = (cost, order)
    assert best is not None
    return best[1]


def _build(
    catalog: Catalog,
    prepared: Prepared,
    mode: Mode,
    delta: int,
    order: list[int],
    exact: bool,
    among: frozenset[str] | None,
) -> Plan:
    requests: list[Request] = []
    for place, i in enumerate(order):
        part = prepared.parts[i]
        if isinstance(part, Outside):
            head = Literal(part.requests, part.args)
            builder = _steps(catalog, prepared, mode, delta, order[:place], head, False, None)
            builder.emit(head)
            requests.append(Request(part, builder.finish()))
    older = among if mode == "prove" else None
    builder = _steps(catalog, prepared, mode, delta, order, prepared.rule.head, exact, older)
    if mode == "prove":
        r = catalog.relation(prepared.rule.head.relation, len(prepared.rule.head.terms))
        builder.step(at.OP_PROVE, rel=r, a=builder.where["%%row"])
    elif mode == "support":
        _support_steps(builder, prepared, among)
    else:
        builder.emit(prepared.rule.head)
    return builder.finish(requests)


def _support_steps(builder: Builder, prepared: Prepared, among: frozenset[str] | None) -> None:
    literals = supporting(prepared, among)
    for place, literal in enumerate(literals):
        r = builder.catalog.relation(literal.relation, len(literal.terms))
        start = len(builder.args)
        for term in literal.terms:
            builder.args += builder.operand(term)
        row = builder.step(at.OP_SUPPORT, rel=r, args=start)
        if place < len(literals) - 1:
            row[at.P_BACK] = NO_BACK


def supporting(prepared: Prepared, among: frozenset[str] | None) -> list[Literal]:
    """The literals whose facts are support."""
    return [
        part
        for part in prepared.parts
        if isinstance(part, Literal)
        and not part.negated
        and (among is None or part.relation in among)
    ]


def _steps(
    catalog: Catalog,
    prepared: Prepared,
    mode: Mode,
    delta: int,
    order: list[int],
    target: Literal,
    exact: bool,
    older: frozenset[str] | None,
) -> Builder:
    """Steps for the parts in this order, ready for the last one."""
    builder = Builder(catalog, prepared)
    if mode in ("prove", "support"):
        row = builder.register()
        builder.where["%%row"] = row
        head = prepared.rule.head
        wanted = {t.name for t in head.terms if isinstance(t, Variable)}
        builder.match(head, at.ROLE_HEADS, wanted, True)
        builder.steps[-1][at.P_B] = row
        builder.keep_open()
    later: list[set[str]] = []
    needed = {t.name for t in target.terms if isinstance(t, Variable)}
    for i in reversed(order):
        later.append(set(needed))
        needed |= mentions(prepared.parts[i])
    later.reverse()
    # A fact that supports a head must be found again by all its columns.
    if mode == "support":
        later = [set().union(*map(mentions, prepared.parts)) for _ in order]
    aged = supporting(prepared, older) if older else []
    for literal in aged:
        later = [names | mentions(literal) for names in later]
    for place, i in enumerate(order):
        part = prepared.parts[i]
        if may_fail(part) or isinstance(part, Outside):
            builder.keep_open()  # whether it fails must not depend on which match came first
        if isinstance(part, Literal) and i == delta:
            role = at.ROLE_NEG_DELTA if part.negated else at.ROLE_DELTA
            builder.match(part, role, later[place], exact)
        elif isinstance(part, Literal) and part.negated:
            before = mode == "change" and i < delta
            builder.negate(part, at.ROLE_NEG_OLD if before else at.ROLE_NEG)
        elif isinstance(part, Literal):
            builder.match(part, at.ROLE_OLD if i < delta else at.ROLE_ALL, later[place], exact)
            if part in aged:
                builder.older(part, prepared.rule.head)
        elif isinstance(part, Outside):
            builder.match(part.literal, at.ROLE_ALL, later[place], True)
        elif isinstance(part, Group):
            builder.group(part)
        elif isinstance(part, Range):
            builder.span(part)
        elif (found := takes_apart(part, set(builder.where))) is not None:
            builder.take(*found, needed=later[place])
        else:
            variable = binds(part, set(builder.where))
            if variable is None:
                builder.test(part.op, part.left, part.right)
            else:
                other = part.right if variable == part.left else part.left
                builder.compute(variable, other)
        if not exact:
            builder.close(later[place])
    return builder
