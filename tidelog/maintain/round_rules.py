"""Rules that say in which round of evaluation a fact is derived.

For a relation R of a recursive stratum, `%trace:R(x…, j)` says that an instance derives
R(x…) in round j, and `%first:R(x…, j)` that j is the first round in which it holds. A
recursive rule `H :- B, C, lower` becomes `%trace:H(…, j) :- %first:B(…, i), %first:C(…, k),
lower, j = max(i, k) + 1`; a nonrecursive rule derives in round 0. None of these is recursive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from tidelog.program.rules import BodyLiteral, Constraint, Literal, Relation, Rule, Simple, Stratum
from tidelog.program.syntax import Call, Constant, Variable

ROUND = "%round"  # holds the present round


def _round(name: str) -> Variable:
    return Variable(f"%{name}", kind="number")


I, J, K = _round("i"), _round("j"), _round("k")
ZERO, ONE = Constant(0, "number"), Constant(1, "number")


def trace(relation: str, terms: Iterable[Simple], at: Simple) -> Literal:
    return Literal(f"%trace:{relation}", (*terms, at))


def first(relation: str, terms: Iterable[Simple], at: Simple) -> Literal:
    return Literal(f"%first:{relation}", (*terms, at))


@lru_cache(maxsize=4096)
def timed(rule: Rule, inside: frozenset[str]) -> Rule:
    """The rule with rounds, for the stratum of these relations."""
    body: list[BodyLiteral] = []
    rounds: list[Variable] = []
    for part in rule.body:
        if isinstance(part, Literal) and not part.negated and part.relation in inside:
            rounds.append(_round(f"i{len(rounds)}"))
            body.append(first(part.relation, part.terms, rounds[-1]))
        else:
            body.append(part)
    at: Simple = ZERO
    if rounds:
        last = rounds[0] if len(rounds) == 1 else Call("max", tuple(rounds), kind="number")
        body.append(Constraint("=", J, Call("+", (last, ONE), kind="number")))
        at = J
    return replace(rule, head=trace(rule.head.relation, rule.head.terms, at), body=tuple(body))


START = (Rule(Literal(ROUND, (ZERO,)), (), "the first round"),)
TICK = (
    Rule(
        Literal(ROUND, (K,)),
        (Literal(ROUND, (J,)), Constraint("=", K, Call("+", (J, ONE), kind="number"))),
        "the next round",
    ),
)


@dataclass(frozen=True, slots=True)
class RoundRules:
    """The rules of a stratum with rounds, and rules that lead from facts to rounds and back."""

    inside: frozenset[str]
    relations: tuple[Relation, ...]
    rules: tuple[Rule, ...]
    recursive: tuple[Rule, ...]
    at_start: tuple[Rule, ...]  # round 0 for each fact
    explicit: tuple[Rule, ...]  # those of round 0 whose fact is there
    present: tuple[Rule, ...]  # those of the present round
    known: tuple[Rule, ...]  # those whose fact holds by then
    later: tuple[Rule, ...]  # from a round to the first one, where that is after it
    same: tuple[Rule, ...]  # from a round to the first one, where that is the same
    after: tuple[Rule, ...]  # from the first round to those after it
    begin: tuple[Rule, ...]  # a round as the first
    facts: tuple[Rule, ...]  # the fact that has a first round

    @classmethod
    def of(cls, stratum: Stratum, kinds: Mapping[str, Relation]) -> RoundRules:
        inside = frozenset(stratum.relations)
        relations = [kinds[name] for name in stratum.relations]
        fields = [[Variable(f"x{i}", kind=k) for i, k in enumerate(r.kinds)] for r in relations]
        heads = [(r.name, terms) for r, terms in zip(relations, fields, strict=True)]

        def each(
            make: Callable[[str, list[Variable]], tuple[Literal, *tuple[BodyLiteral, ...]]],
        ) -> tuple[Rule, ...]:
            made = (make(name, terms) for name, terms in heads)
            return tuple(Rule(head, tuple(body), "rounds") for head, *body in made)

        return cls(
            inside,
            tuple(_with_round(prefix, r) for r in relations for prefix in ("trace", "first")),
            tuple(timed(rule, inside) for rule in stratum.rules),
            tuple(timed(rule, inside) for rule in stratum.recursive),
            at_start=each(lambda R, x: (trace(R, x, ZERO), Literal(R, tuple(x)))),
            explicit=each(
                lambda R, x: (trace(R, x, ZERO), trace(R, x, ZERO), Literal(R, tuple(x)))
            ),
            present=each(lambda R, x: (trace(R, x, J), trace(R, x, J), Literal(ROUND, (J,)))),
            known=each(
                lambda R, x: (
                    trace(R, x, J),
                    trace(R, x, J),
                    first(R, x, I),
                    Constraint("<=", I, J),
                )
            ),
            later=each(
                lambda R, x: (first(R, x, I), trace(R, x, J), first(R, x, I), Constraint(">", I, J))
            ),
            same=each(lambda R, x: (first(R, x, J), trace(R, x, J), first(R, x, J))),
            after=each(
                lambda R, x: (trace(R, x, K), first(R, x, J), trace(R, x, K), Constraint(">", K, J))
            ),
            begin=each(lambda R, x: (first(R, x, J), trace(R, x, J))),
            facts=each(lambda R, x: (Literal(R, tuple(x)), first(R, x, J))),
        )


def _with_round(prefix: str, relation: Relation) -> Relation:
    columns, kinds = (*relation.attributes, "round"), (*relation.kinds, "number")
    return Relation(f"%{prefix}:{relation.name}", columns, kinds)
