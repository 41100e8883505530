"""Random programs, small, safe, stratified and typed, that use every construct often.

`from_seed(n)` is one program; `programs()` is a Hypothesis strategy over the same
generator whose draws Hypothesis controls, so that a failing program shrinks.

Answers do not depend on an order of evaluation: float values are multiples of small
powers of two, so that their sums are exact, and `ord` is only compared for equality.
Whatever a recursive rule computes is guarded by bounds, so that evaluation ends.
"""

from __future__ import annotations

import math
import random as random_module
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random

from hypothesis import strategies as st

from tidelog.program.syntax import Kind, Value

CONSTANTS: dict[Kind, list[Value]] = {
    "number": [-1, 0, 1, 2, 3, 4],
    "unsigned": [0, 1, 2, 3, 5],
    "float": [-1.5, -0.5, 0.0, 0.5, 1.0],
    "symbol": ["a", "b", "ab", "", "12"],
}
EXTREMES: dict[Kind, list[Value]] = {
    "number": [2**63 - 1, -(2**63)],
    "unsigned": [2**64 - 1, 2**63],
    "float": [1024.0, math.nan, math.inf, -math.inf],
    "symbol": ["été", 'say "hi"', "back\\slash", "two\nlines"],
}
PALETTES: tuple[tuple[Kind, ...], ...] = (
    ("number",),
    ("number", "number", "symbol"),
    ("symbol", "symbol", "number"),
    ("symbol",),
    ("number", "unsigned"),
    ("float", "number", "float"),
    ("unsigned", "float"),
    ("number", "number", "symbol", "number", "unsigned", "float"),
)
PATTERNS = ("a.*", ".*b", "[0-9]+", "(a|b)+", "", "(a")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
INTEGER_FUNCTORS = (
    "{v} + {w}",
    "{v} - {w}",
    "{v} * {w}",
    "{v} / {c}",
    "{v} % {c}",
    "{v} ^ 2",
    "-{v}",
    "{v} band {w}",
    "{v} bor {w}",
    "{v} bxor {w}",
    "bnot {v}",
    "{v} bshl 2",
    "{v} bshr 1",
    "{v} bshru 60",
    "{v} land {w}",
    "{v} lor {w}",
    "{v} lxor {w}",
    "lnot {v}",
    "min({v}, {w})",
    "max({v}, {w}, {c})",
)
# Math functors that give no NaN here. Recursion through them would hardly end.
MATH_FUNCTORS = (
    *("atan({v})", "tanh({v})", "asinh({v})", "sin(atan({v}))", "cos(tanh({v}))"),
    *("tan(tanh({v}))", "asin(tanh({v}))", "acos(tanh({v}))", "sinh(atan({v}))"),
    *("cosh(tanh({v}))", "acosh(cosh(tanh({v})))", "atanh(sin(atan({v})))"),
    *("log(exp(tanh({v})))", "exp(atan({v}))"),
)
FLOAT_FUNCTORS = (
    "{v} + {w}",
    "{v} - {w}",
    "{v} * 0.5",
    "{v} / 2.0",
    "-{v}",
    "min({v}, {w})",
    "max({v}, {w}, {c})",
)
GUARDS: dict[Kind, str] = {
    "number": "-10 < {v}, {v} < 12",
    "unsigned": "{v} < 9",
    "float": "-2.0 <= {v}, {v} <= 2.0",
    "symbol": "strlen({v}) < 4",
}


@dataclass(frozen=True)
class Relation:
    name: str
    kinds: tuple[Kind, ...]
    group: int  # relations of one group may depend on each other
    qualifier: str = ""


@dataclass(frozen=True)
class Generated:
    """A program, facts that are given to it from outside, and the constructs in it."""

    text: str
    facts: dict[str, list[tuple[Value, ...]]]
    features: frozenset[str] = field(compare=False, repr=False, default=frozenset())
    relations: tuple[Relation, ...] = field(compare=False, repr=False, default=())

    def __str__(self) -> str:
        given = [f"// {name}: {rows}" for name, rows in self.facts.items()]
        return "\n".join([self.text, *given])


def from_seed(seed: int) -> Generated:
    return generate(Random(seed))


def programs() -> st.SearchStrategy[Generated]:
    return st.randoms(use_true_random=False).map(generate)


def generate(random: Random) -> Generated:
    return _Generator(random).program()


def another_rule(program: Generated, random: Random) -> str:
    """One more rule over the program's relations.

    Now and then its body reads relations above its head. Then it may close a cycle through
    negation, or one in which unbounded values of other rules run away.
    """
    generator = _Generator(random)
    generator.relations = list(program.relations)
    derived = [relation for relation in program.relations if relation.group]
    if generator.chance(0.4):
        rule = _Rule(generator, random.choice(derived).group, recursive=True)
        rule.fill(random.choice(derived), (0, 1))
        return f"{rule.head(random.choice(program.relations))} :- {', '.join(rule.literals)}."
    return generator.rule(random.choice(derived), generator.chance(0.4), (0, 1, 2))


def spelled(value: Value) -> str:
    """The value as a program spells it."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if isinstance(value, float) and not math.isfinite(value):
        return f'to_float("{value}")'
    return str(value)


class _Generator:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.features: set[str] = set()
        self.relations: list[Relation] = []
        self.empty: set[str] = set()

    def chance(self, probability: float) -> bool:
        # Hypothesis shrinks to 0, which is to mean the simple choice.
        return self.random.random() > 1 - probability

    def program(self) -> Generated:
        lines, facts, self.aliases = [], {}, self.chance(0.3)
        if self.aliases:
            lines += [f".type {kind.capitalize()} = {kind}" for kind in CONSTANTS]
            self.features.add("type alias")
        self.palette = self.random.choice(PALETTES)
        for i in range(self.random.randint(3, 5)):
            self.relations.append(Relation(f"e{i}", self.kinds(5), 0))
        for group in range(1, self.random.randint(2, 4) + 1):
            for _ in range(self.random.choice((1, 1, 2, 3))):
                self.relations.append(self.derived(group))
        body: list[str] = []
        for relation in self.relations:
            clauses: list[str] = []
            rows = self.rows(relation)
            inline = self.chance(0.5)
            if relation.group:
                clauses += self.rules(relation)
                rows = rows[:2] if self.chance(0.3) else []
                if rows:
                    self.features.add("facts of a derived relation")
            if not rows and not relation.group:
                self.empty.add(relation.name)
                self.features.add("no facts")
            elif rows and inline:
                clauses += [f"{relation.name}({', '.join(map(spelled, row))})." for row in rows]
                self.features.add("inline facts")
            elif rows:
                facts[relation.name] = rows
                self.features.add("given facts")
            plain = set(relation.kinds) <= {"number", "symbol"} and not relation.qualifier
            if plain and (inline or relation.group) and clauses and self.chance(0.2):
                self.features.add("undeclared relation")
            else:
                lines.append(self.declaration(relation))
            body += clauses
            self.features.add(f"arity {len(relation.kinds)}")
            self.features.update(f"{kind} column" for kind in relation.kinds)
        text = "\n".join(lines + body) + "\n"
        return Generated(text, facts, frozenset(self.features), tuple(self.relations))

    def kinds(self, most: int) -> tuple[Kind, ...]:
        arity = self.random.choice([n for n in (2, 2, 2, 1, 1, 3, 3, 0, 4, 5) if n <= most])
        main = self.random.choice(self.palette)
        return tuple(
            self.random.choice(self.palette) if self.chance(0.4) else main for _ in range(arity)
        )

    def derived(self, group: int) -> Relation:
        name = f"p{len(self.relations)}"
        if self.chance(0.15):
            kind: Kind = self.random.choice(("number", "symbol", "unsigned", "float"))
            qualifier = self.random.choice(("eqrel", "eqrel", "transitive"))
            self.features.add(qualifier)
            return Relation(name, (kind, kind), group, qualifier)
        return Relation(name, self.kinds(4), group)

    def rows(self, relation: Relation) -> list[tuple[Value, ...]]:
        if not relation.kinds:
            return [()] if self.chance(0.7) else []
        pools = {}
        for kind in relation.kinds:
            pools[kind] = list(CONSTANTS[kind])
            if self.chance(0.1):
                pools[kind] += EXTREMES[kind]
                self.features.add("extreme values")
        size = self.random.choice((6, 10, 14, 8, 4, 1, 0))
        drawn = (tuple(self.random.choice(pools[k]) for k in relation.kinds) for _ in range(size))
        return sorted(set(drawn))

    def declaration(self, relation: Relation) -> str:
        attributes = ", ".join(
            f"c{i}: {kind.capitalize() if self.aliases else kind}"
            for i, kind in enumerate(relation.kinds)
        )
        return f".decl {relation.name}({attributes}) {relation.qualifier}".rstrip()

    def rules(self, relation: Relation) -> list[str]:
        # A simple rule first, so that the others have something to work with.
        rules = [self.rule(relation, recursive=False, extras=(0, 1))]
        while len(rules) < 4 and self.chance(0.6):
            rules.append(self.rule(relation, recursive=self.chance(0.6), extras=(0, 1, 2, 1, 3)))
        return rules

    def rule(self, relation: Relation, recursive: bool, extras: tuple[int, ...]) -> str:
        rule = _Rule(self, relation.group, recursive)
        rule.fill(relation, extras)
        heads = [rule.head(relation)]
        others = [r for r in self.relations if r.group >= relation.group > 0 and r != relation]
        if others and not recursive and self.chance(0.1):
            heads.append(rule.head(self.random.choice(others)))
            self.features.add("several heads")
        return f"{', '.join(heads)} :- {', '.join(rule.literals)}."


class _Rule:
    """One rule under way: its literals, and the variables that they bind, with their kinds."""

    def __init__(self, generator: _Generator, group: int, recursive: bool) -> None:
        self.generator, self.group, self.recursive = generator, group, recursive
        self.random, self.features = generator.random, generator.features
        self.chance = generator.chance
        self.bound: dict[str, Kind] = {}
        self.literals: list[str] = []
        self.names = iter(f"x{i}" for i in range(10_000))
        self.depth = 0  # of aggregates around
        self.witnesses: set[str] = set()
        self.result: tuple[Relation, list[str]] | None = None  # the head, where it is settled
        self.lower = [r for r in generator.relations if r.group < group]
        self.same = [r for r in generator.relations if r.group == group]

    def fill(self, head: Relation, extras: tuple[int, ...]) -> None:
        if self.recursive:
            if self.chance(0.5) and self.walk(head):
                return
            recursive = [self.random.choice(self.same)]
            self.features.add("linear recursion")
            if self.chance(0.3):
                recursive.append(self.random.choice(self.same))
                self.features.add("non-linear recursion")
            if any(relation != self.same[-1] for relation in recursive) and len(self.same) > 1:
                self.features.add("mutual recursion")
            for relation in recursive:
                self.literals.append(self.atom(relation))
        for _ in range(self.random.choice((1, 2, 1, 3)) - (self.recursive and self.chance(0.3))):
            self.literals.append(self.atom(self.source()))
        for _ in range(self.random.choice(extras)):
            self.random.choice(EXTRAS)(self)
        if not self.literals:
            self.literals.append(self.atom(self.source()))

    def walk(self, relation: Relation) -> bool:
        """A step from facts of the relation to others: `p(x, z) :- p(x, y), e(y, z)`."""
        steps = [
            (r, i, j, column)
            for r in (*self.lower, relation)
            for column, kind in enumerate(relation.kinds)
            for i, k in enumerate(r.kinds)
            for j, other in enumerate(r.kinds)
            if i != j and k == other == kind
        ]
        if not steps or relation.qualifier:
            return False
        step, i, j, column = self.random.choice(steps)
        names = [next(self.names) for _ in relation.kinds]
        self.literals.append(f"{relation.name}({', '.join(names)})")
        self.bound |= dict(zip(names, relation.kinds, strict=True))
        after = next(self.names)
        terms = [self.operand_or_any(kind) if self.chance(0.2) else "_" for kind in step.kinds]
        terms[i], terms[j] = names[column], after
        self.literals.append(f"{step.name}({', '.join(terms)})")
        self.bound[after] = relation.kinds[column]
        if self.chance(0.5):
            self.literals.reverse()
        names[column] = after
        self.result = relation, names
        self.features.add("non-linear recursion" if step == relation else "linear recursion")
        if self.chance(0.4):
            self.random.choice((_Rule.compare, _Rule.negate, _Rule.aggregate))(self)
        return True

    def source(self) -> Relation:
        """A relation to read, seldom one without facts."""
        full = [relation for relation in self.lower if relation.name not in self.generator.empty]
        return self.random.choice(full if full and self.chance(0.95) else self.lower)

    def pick(self, *kinds: Kind) -> str | None:
        names = [name for name, kind in self.bound.items() if kind in kinds]
        return self.random.choice(names) if names else None

    def constant(self, kind: Kind) -> str:
        self.features.add("constant")
        return spelled(self.random.choice(CONSTANTS[kind]))

    def operand(self, kind: Kind) -> str:
        name = self.pick(kind)
        return name if name and self.chance(0.8) else self.constant(kind)

    def bind(self, term: str, kind: Kind, bounded: bool = False) -> str:
        """A new variable that equals the term; bounded where a recursion could run away."""
        name = next(self.names)
        sides = (name, term) if self.chance(0.7) else (term, name)
        self.literals.append(" = ".join(sides))
        if bounded:
            self.literals += GUARDS[kind].format(v=name).split(", ")
        self.bound[name] = kind
        return name

    # Atoms

    def atom(self, relation: Relation) -> str:
        new: dict[str, Kind] = {}
        terms = []
        joined = False
        for kind in relation.kinds:
            old, repeated = self.pick(kind), [name for name, k in new.items() if k == kind]
            choice = self.random.random()
            if old and choice > (0.8 if joined else 0.4):
                terms.append(old)
                joined = True
            elif choice < 0.08:
                terms.append("_")
                self.features.add("wildcard")
            elif choice < 0.11:
                terms.append(self.constant(kind))
            elif choice < 0.15 and repeated:
                terms.append(self.random.choice(repeated))
                self.features.add("repeated variable")
            elif choice < 0.18 and old and not self.recursive:
                terms.append(self.expression(kind))
                self.features.add("expression in an atom")
            else:
                name = next(self.names)
                new[name] = kind
                terms.append(name)
        self.bound |= new
        if not relation.kinds:
            self.features.add("nullary guard")
        return f"{relation.name}({', '.join(terms)})"

    def test_atom(self, relation: Relation, wildcards: bool = True) -> str:
        """An atom that binds nothing."""
        terms = []
        for kind in relation.kinds:
            if wildcards and self.chance(0.3):
                terms.append("_")
            elif self.chance(0.1) and self.pick(kind):
                terms.append(self.expression(kind))
            else:
                terms.append(self.operand(kind))
        if terms and set(terms) == {"_"} and self.chance(0.8):
            # Hardly a test: it asks whether the relation has facts at all.
            terms[0] = self.operand(relation.kinds[0])
        return f"{relation.name}({', '.join(terms)})"

    def head(self, relation: Relation) -> str:
        if self.result and self.result[0] == relation:
            return f"{relation.name}({', '.join(self.result[1])})"
        terms: list[str] = []
        for kind in relation.kinds:
            fresh = [n for n, k in self.bound.items() if k == kind and n not in terms]
            # What was bound last was often computed: prefer it, so that it matters.
            name = fresh[-1] if fresh and self.chance(0.5) else self.pick(kind)
            if name and self.chance(0.85):
                terms.append(name)
            elif self.chance(0.2) and not self.recursive and self.depth == 0:
                terms.append(self.expression(kind))
                self.features.add("expression in the head")
            elif self.chance(0.1) and kind == "number":
                terms.append(f"count : {{ {self.aggregate_body()[0]} }}")
                self.features.add("aggregate in the head")
            elif name is None and self.chance(0.7) and self.recast(kind):
                terms.append(self.pick(kind) or self.constant(kind))
            else:
                terms.append(self.constant(kind))
                self.features.add("constant in the head")
        return f"{relation.name}({', '.join(terms)})"

    def recast(self, kind: Kind) -> bool:
        """Binds a variable of this kind from one of another, so that heads are not constant."""
        old = self.pick("number", "unsigned", "symbol")
        if old is None:
            return False
        term = self.converted(old, kind)
        if term is None:
            return False
        self.bind(term, kind, bounded=self.recursive)
        return True

    def converted(self, name: str, kind: Kind) -> str | None:
        old = self.bound[name]
        forms: dict[tuple[Kind, Kind], tuple[str, ...]] = {
            ("number", "unsigned"): ("to_unsigned({v})", "itou({v})", "as({v}, unsigned)"),
            ("unsigned", "number"): ("to_number({v})", "utoi({v})", "as({v}, number)"),
            ("number", "symbol"): ("to_string({v})",),
            ("unsigned", "symbol"): ("to_string({v})",),
            ("symbol", "number"): ("strlen({v})",),
        }
        if (old, kind) in forms:
            form = self.random.choice(forms[old, kind])
            self.features.add(form.split("(")[0])
            return form.format(v=name)
        if kind == "float" and old != "symbol":
            # Large integers lose digits as floats, and then sums depend on their order.
            self.literals.append(f"{name} < 1000")
            if old == "number":
                self.literals.append(f"{name} > -1000")
            form = self.random.choice(
                ("to_float({v})", "itof({v})" if old == "number" else "utof({v})")
            )
            self.features.add(form.split("(")[0])
            return form.format(v=name)
        return None

    # Expressions

    def expression(self, kind: Kind) -> str:
        if kind == "symbol":
            return self.string_expression()
        if kind == "float" and not self.recursive and self.chance(0.3):
            self.features.add("math functor")
            return self.random.choice(MATH_FUNCTORS).format(v=self.operand(kind))
        forms: tuple[str, ...] = FLOAT_FUNCTORS if kind == "float" else INTEGER_FUNCTORS
        if kind == "unsigned":
            forms = tuple(form for form in forms if form != "-{v}")
        if kind == "float" and self.recursive:
            # Halving meets no bound until it underflows.
            forms = tuple(form for form in forms if form not in ("{v} * 0.5", "{v} / 2.0"))
        form = self.random.choice(forms)
        self.features.add(form.format(v="x", w="y", c="z"))
        v, w = self.operand(kind), self.operand(kind)
        if self.chance(0.2) and kind != "float":
            inner = self.random.choice(forms)
            v = f"({inner.format(v=v, w=w, c=3)})"
            self.features.add("nested expression")
        text = form.format(v=v, w=w, c=self.random.choice((1, 2, 3)))
        if kind == "float":
            text = form.format(v=v, w=w, c=1.5)
        return text if form.startswith(("min", "max")) else f"({text})"

    def string_expression(self) -> str:
        s, t = self.operand("symbol"), self.operand("symbol")
        number = self.pick("number")
        forms = [f"cat({s}, {t})", f"substr({s}, 0, 1)", f"substr({s}, 1, 9)", f"min({s}, {t})"]
        forms += [f"cat({s}, {t}, {self.constant('symbol')})", f"max({s}, {t})"]
        forms += [f"to_string({number})", f"substr({s}, {number}, 1)"] if number else []
        if self.chance(0.1):
            self.features.add("+ of symbols")
            return f"({s} + {t})"
        text = self.random.choice(forms)
        self.features.add(text.split("(")[0])
        return text

    # Extras: further literals

    def compare(self) -> None:
        name = self.pick("number", "unsigned", "float", "symbol")
        if name is None:
            return
        kind = self.bound[name]
        op = self.random.choice(("<", "!=", "<=", ">", ">=", "="))
        right = self.expression(kind) if self.chance(0.2) else self.operand(kind)
        literal = f"{name} {op} {right}"
        self.features.add(op)
        self.features.add(f"comparison of {kind}")
        if self.chance(0.1):
            literal = f"!({literal})"
            self.features.add("negated comparison")
        self.literals.append(literal)

    def compute(self) -> None:
        name = self.pick("number", "unsigned", "float", "symbol")
        if name:
            kind = self.bound[name]
            self.bind(self.expression(kind), kind, bounded=self.recursive)
            self.features.add("arithmetic in recursion" if self.recursive else "arithmetic")

    def convert(self) -> None:
        name = self.pick("number", "unsigned", "symbol")
        kind: Kind = self.random.choice(("symbol", "float", "number", "unsigned"))
        if name and (term := self.converted(name, kind)):
            self.bind(term, kind, bounded=self.recursive)

    def divide(self) -> None:
        v, w = self.pick("number"), self.pick("number")
        if v and w:
            self.literals.append(f"{w} != 0")
            self.bind(f"{v} {self.random.choice('/%')} {w}", "number", bounded=self.recursive)
            self.features.add("guarded division")

    def parse_number(self) -> None:
        name = self.pick("symbol")
        if name:
            self.literals += [f'match("[0-9]+", {name})', f"strlen({name}) < 6"]
            kind: Kind = self.random.choice(("number", "unsigned"))
            self.bind(f"to_{kind}({name})", kind, bounded=self.recursive)
            self.features.add("to_number of a string")

    def test_string(self) -> None:
        name, other = self.pick("symbol"), self.operand("symbol")
        if name:
            sign = "!" if self.chance(0.2) else ""
            choice = self.random.choice(("match", "contains", "contained", "ord"))
            pattern = spelled(self.random.choice(PATTERNS))
            forms = {
                "match": f"{sign}match({pattern}, {name})",
                "contains": f"{sign}contains({other}, {name})",
                "contained": f"{sign}contains({name}, {other})",
                "ord": f"ord({name}) {'!=' if sign else '='} ord({other})",
            }
            self.literals.append(forms[choice])
            self.features.add(choice)

    def negate(self) -> None:
        relation = self.random.choice(self.lower)
        atom = self.test_atom(relation)
        if "_" in atom.replace(",", " ").replace("(", " ").replace(")", " ").split():
            self.features.add("wildcard under negation")
        self.literals.append(f"!{atom}")
        self.features.add("negation")
        if not relation.kinds:
            self.features.add("negated nullary")

    def negate_formula(self) -> None:
        a, b = (self.test_atom(self.random.choice(self.lower)) for _ in range(2))
        forms = (f"!({a}, {b})", f"!({a} ; {b})", f"!({a}, !{b})", f"!(!{a} ; {b})", f"!!{a}")
        self.literals.append(self.random.choice(forms))
        self.features.add("nested negation")

    def disjoin(self) -> None:
        """Two branches that test, or that bind the same new variable."""
        relations = [r for r in self.lower if r.kinds]
        if not relations:
            return
        first = self.random.choice(relations)
        column = self.random.choice(range(len(first.kinds)))
        kind = first.kinds[column]
        name = next(self.names)
        branches = [self.with_column(first, column, name)]
        others = [(r, i) for r in relations for i, k in enumerate(r.kinds) if k == kind]
        branches.append(self.with_column(*self.random.choice(others), name))
        if self.chance(0.3):
            branches.append(f"{name} = {self.operand(kind)}")
        if self.chance(0.3):
            test = self.test_atom(self.random.choice(self.lower), self.depth == 0)
            branches[0] = self.random.choice((f"{branches[0]}, {test}", f"{branches[0]}, !{test}"))
        self.literals.append(f"({' ; '.join(branches)})")
        self.bound[name] = kind
        self.features.add("disjunction")

    def with_column(self, relation: Relation, column: int, name: str) -> str:
        terms = [
            name if i == column else self.operand_or_any(k) for i, k in enumerate(relation.kinds)
        ]
        return f"{relation.name}({', '.join(terms)})"

    def operand_or_any(self, kind: Kind) -> str:
        # An aggregate counts assignments, and `_` would have none in the other branches.
        return "_" if self.depth == 0 and self.chance(0.5) else self.operand(kind)

    def whole_disjunction(self) -> None:
        """The body as it is, or another one with the same variables."""
        if len(self.literals) > 1 and self.depth == 0:
            last = self.literals.pop()
            test = self.test_atom(self.random.choice(self.lower))
            self.literals.append(f"({last} ; {last}, {test})")
            self.features.add("disjunction")

    def count_up(self) -> None:
        v, w = self.pick("number"), self.pick("number")
        forms = ["range(0, 4)", "range(3, -1)", "range(0, 7, 3)", "range(2, 2)", "range(4, -2, -2)"]
        if v and w and self.chance(0.5):
            for name in {v, w}:
                self.literals += GUARDS["number"].format(v=name).split(", ")
            forms = [f"range({v}, {w})", f"range(0, {w})", f"range({v}, 3)"]
        self.bind(self.random.choice(forms), "number")
        self.features.add("range")

    def unite(self) -> None:
        """`z = x`: one more name for a value; by a record, at times."""
        name = self.pick("number", "unsigned", "float", "symbol")
        if name and len(self.literals) % 2:
            record, z = next(self.names), next(self.names)
            self.literals += [f"{record} = [{name}, 1, _]", f"[{z}, _, 2] = {record}"]
            self.bound[z] = self.bound[name]
            self.features.add("record without a type")
        elif name:
            self.bind(name, self.bound[name])
            self.features.add("alias variable")

    # Aggregates

    def aggregate(self) -> None:
        text, kind = self.aggregate_term()
        name = self.pick(kind)
        if name and self.chance(0.3):
            op = self.random.choice(("<", ">=", "!=", "="))
            self.literals.append(f"{name} {op} {text}")
            self.features.add("aggregate in a comparison")
        elif kind != "float" and self.chance(0.15):
            self.bind(f"1 + {text}", kind)
            self.features.add("aggregate in an expression")
        else:
            self.bind(text, kind)

    def witness(self) -> None:
        """`m = max v : { r(x, v) }` also binds x, to where the maximum is met."""
        names = {
            (relation.name, i): (relation, [next(self.names) for _ in relation.kinds])
            for relation in self.lower
            for i, kind in enumerate(relation.kinds)
            if kind != "symbol" and len(relation.kinds) > 1
        }
        if not names or self.recursive or self.depth:
            return
        (_, column), (relation, terms) = self.random.choice(list(names.items()))
        op, kinds = self.random.choice(("min", "max")), relation.kinds
        found = dict(zip(terms, kinds, strict=True))
        target = terms[column]
        if self.chance(0.3):
            target = f"{target} + {target}"
            self.features.add("witness in the target")
        else:
            del found[target]
        kind, text = kinds[column], f"{op} {target} : {{ {relation.name}({', '.join(terms)}) }}"
        if len(self.literals) % 3 == 2:
            gaps = ", ".join("_" for _ in kinds)
            text = f"count : {{ {relation.name}({gaps}), {next(self.names)} = {text} }}"
            kind = "number"
            self.features.add("witness of an inner aggregate")
        self.bind(text, kind)
        self.bound |= found
        self.witnesses |= found.keys()
        self.features.add("witness")

    def aggregate_term(self) -> tuple[str, Kind]:
        body, local = self.aggregate_body()
        op = self.random.choice(("count", "sum", "min", "max", "mean"))
        targets = [name for name, kind in local.items() if kind != "symbol"]
        self.features.add("aggregate inside an aggregate" if self.depth else "aggregate")
        if op == "count" or not targets:
            self.features.add("count")
            return f"count : {{ {body} }}", "number"
        self.features.add(op)
        target = self.random.choice(targets)
        kind = local[target]
        if op == "mean":
            # Integers beyond 2^53 lose digits as floats, and then a mean depends on its order.
            body += f", {target} < 1000" + (f", {target} > -1000" if kind == "number" else "")
            return f"mean {target} : {{ {body} }}", "float"
        if kind != "float" and self.chance(0.3):
            second = self.random.choice([name for name in targets if local[name] == kind])
            target = self.random.choice((f"{target} * 2", f"{target} + {second}"))
            self.features.add("expression as a target")
        return f"{op} {target} : {{ {body} }}", kind

    def aggregate_body(self) -> tuple[str, dict[str, Kind]]:
        """Literals inside an aggregate, with the variables that are local to it."""
        outer, before = dict(self.bound), self.literals
        # A witness of one aggregate cannot be an outer variable of another.
        self.bound = {name: kind for name, kind in outer.items() if name not in self.witnesses}
        self.literals = []
        self.depth += 1
        for _ in range(self.random.choice((1, 1, 2))):
            self.literals.append(self.atom(self.source()))
        if len(self.literals) > 1:
            self.features.add("aggregate over a join")
        words = set(re.findall(r"\w+", " ".join(self.literals)))
        if self.recursive:
            # What the aggregate's own facts do not bind would have to come from the recursion.
            self.bound = {name: kind for name, kind in self.bound.items() if name in words}
        if self.chance(0.3):
            tests = [_Rule.compare, _Rule.negate] + [_Rule.disjoin] * ("_" not in words)
            self.random.choice(tests)(self)
            self.features.add("tests inside an aggregate")
        if self.depth == 1 and self.chance(0.2):
            self.aggregate()
        if self.recursive and self.depth == 1:
            self.limit(outer)
        self.depth -= 1
        inside, self.literals = self.literals, before
        local = {name: kind for name, kind in self.bound.items() if name not in outer}
        self.bound = outer
        text = ", ".join(inside)
        if outer.keys() & words:
            self.features.add("outer variable")
        return text, local

    def limit(self, outer: dict[str, Kind]) -> None:
        """One comparison in an aggregate with what the recursion around it computes."""
        text = ", ".join(self.literals)
        words = set(re.findall(r"\w+", text))
        pairs = [
            (name, limit)
            for name, kind in self.bound.items()
            for limit, other in outer.items()
            if name not in outer and kind == other != "symbol" and limit not in words
        ]
        if pairs and ";" not in text:
            op = ("<", ">=", ">", "<=")[len(words) % 4]
            self.literals.append(f" {op} ".join(pairs[0]))
            self.features.add("aggregate limited by a recursion")


EXTRAS: tuple[Callable[[_Rule], None], ...] = (
    _Rule.compare,
    _Rule.compute,
    _Rule.aggregate,
    _Rule.negate,
    _Rule.disjoin,
    _Rule.test_string,
    _Rule.convert,
    _Rule.aggregate,
    _Rule.divide,
    _Rule.negate_formula,
    _Rule.count_up,
    _Rule.parse_number,
    _Rule.unite,
    _Rule.whole_disjunction,
    _Rule.negate,
    _Rule.compute,
    _Rule.test_string,
    _Rule.test_string,
    _Rule.witness,
)

FEATURES = frozenset(
    {
        "aggregate", "aggregate inside an aggregate", "aggregate in the head",
        "aggregate in a comparison", "aggregate in an expression", "aggregate over a join",
        "tests inside an aggregate", "outer variable", "expression as a target",
        "count", "sum", "min", "max", "mean", "witness",
        "witness in the target", "+ of symbols", "math functor",
        "linear recursion", "non-linear recursion", "mutual recursion", "arithmetic in recursion",
        "negation", "wildcard under negation", "nested negation", "negated nullary",
        "negated comparison", "disjunction", "several heads", "eqrel", "transitive",
        "undeclared relation", "type alias", "inline facts", "given facts", "no facts",
        "facts of a derived relation", "extreme values",
        "constant", "constant in the head", "wildcard", "repeated variable", "alias variable",
        "record without a type", "witness of an inner aggregate",
        "aggregate limited by a recursion",
        "expression in an atom", "expression in the head", "nested expression", "arithmetic",
        "guarded division", "range", "nullary guard",
        "cat", "substr", "to_string", "strlen", "to_number of a string", "match", "contains",
        "contained", "ord", "to_unsigned", "itou", "utoi", "to_number", "as", "to_float", "itof",
        "utof",
        *(f"arity {n}" for n in range(6)),
        *(f"{kind} column" for kind in CONSTANTS),
        *(f"comparison of {kind}" for kind in CONSTANTS),
        *COMPARISONS,
        *(form.format(v="x", w="y", c="z") for form in (*INTEGER_FUNCTORS, *FLOAT_FUNCTORS)),
    }
)  # fmt: skip


def seeds(count: int, start: int = 0) -> Iterable[Generated]:
    return (from_seed(seed) for seed in range(start, start + count))


if __name__ == "__main__":
    print(from_seed(random_module.randrange(10**6)))
