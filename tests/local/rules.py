"""Random rules in core form, over numbers."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.local.reference import Fact, Facts, call, constant, number
from tidelog.program.rules import BodyLiteral, Constraint, Group, Literal, Range, Rule
from tidelog.program.syntax import Wildcard
from tidelog.text.writer import to_text

BODIES = {"a": 1, "b": 2, "c": 3, "d": 4, "z": 0}
HEADS = {"p": 2, "q": 1, "r": 3, "w": 0, "s": 5}
ARITIES = BODIES | HEADS
VALUES = 4


def random_facts(random: Random, size: int) -> Facts:
    def fact() -> Fact:
        name = random.choice([*ARITIES, "b", "p", "a", "q"])
        return name, tuple(random.randrange(VALUES) for _ in range(ARITIES[name]))

    return frozenset(fact() for _ in range(size))


def random_rule(random: Random, *, exact: bool = False, literals: int = 3) -> Rule:
    """With `exact`, every variable is in the head, so that no column is passed over."""
    names = ["x", "y", "u", "v"]
    bound: set[str] = set()

    def term(known: bool = False) -> Any:
        chance = random.random()
        if chance < 0.12 or (known and not bound):
            return constant(random.randrange(VALUES))
        if chance < 0.2 and not exact and not known:
            return Wildcard(kind="number")
        name = random.choice(sorted(bound)) if known else random.choice(names)
        bound.add(name)
        return number(name)

    body: list[BodyLiteral] = []
    for _ in range(random.randrange(literals + 1) or 1):
        name = random.choice([*ARITIES, "b", "b", "p", "p"])
        body.append(Literal(name, tuple(term() for _ in range(ARITIES[name]))))
    if random.random() < 0.3:
        name = random.choice(list(ARITIES))
        body.append(Literal(name, tuple(term(True) for _ in range(ARITIES[name])), negated=True))
    if random.random() < 0.3:
        op = random.choice(["<", "<=", "!=", "=", ">", ">="])
        body.append(Constraint(op, call("+", term(True), constant(1)), term(True)))
    if random.random() < 0.2:
        body.append(Constraint("=", number("n"), call("*", term(True), constant(2))))
        bound.add("n")
    if random.random() < 0.1 and bound:
        body.append(Range(number("m"), constant(0), term(True), None))
        bound.add("m")
    if random.random() < 0.2 and bound:
        op = random.choice(["count", "sum", "min", "max"])
        value = None if op == "count" else number("g")
        name = random.choice(["b", "c", "p", "d"])
        terms = [term(True) for _ in range(ARITIES[name] - 1)]
        terms.insert(random.randrange(ARITIES[name]), number("g"))
        body.append(Group(op, number("k"), value, name, tuple(terms)))
        bound.add("k")
    if exact:
        free = sorted(bound)
        head = Literal(f"h{len(free)}", tuple(number(name) for name in free))
    else:
        random.shuffle(body)
        name = random.choice(list(HEADS))
        head = Literal(name, tuple(term(True) for _ in range(HEADS[name])))
    rule = Rule(head, tuple(body))
    return Rule(head, tuple(body), to_text(rule))
