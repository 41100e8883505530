"""Programs with closures among other rules, and random updates of them."""

from __future__ import annotations

from random import Random

from tests.maintain.histories import checked
from tests.maintain.reference import Fact
from tests.maintain.worlds import World, naive
from tidelog.maintain.closure_modules import Closed
from tidelog.maintain.memory import ModuleKinds
from tidelog.program.rules import Rule

DECLARED = """
.decl e(x: number, y: number)
.decl f(x: number)
.decl g(x: number)
.decl r(x: number, y: number)
.decl s(x: number, y: number)
"""
TRANSITIVE = "{0}(x, z) :- {0}(x, y), {0}(y, z)."
SYMMETRIC = TRANSITIVE + " {0}(x, y) :- {0}(y, x)."
FEEDS = ("{0}(x, y) :- e(x, y).", "{0}(x, y) :- e(y, x), f(x).", "{0}(x, y) :- e(x, y), !g(y).")
OTHERS = (
    "{0}(x, y) :- {1}(x, y).",
    "{0}(y, x) :- {1}(x, y), f(x).",
    "{0}(x, y) :- {1}(x, y), !g(y).",
    "{0}(x, z) :- {1}(x, y), e(y, z).",
    "{0}(x, z) :- {1}(x, y), {2}(y, z).",
    "{0}(x, z) :- {1}(x, y), {2}(x, z), f(y).",
)
NODES = 6


def mixed(seed: int) -> str:
    """A program of two to four relations, most of them closures, that feed one another."""
    random = Random(f"mixed {seed}")
    names = ("r", "s", "t", "u")[: random.choice((2, 3, 3, 4))]
    declared = "".join(f".decl {name}(x: number, y: number)\n" for name in names[2:])
    rules = [random.choice(FEEDS).format(name) for name in names]
    for name in names:
        rules += [random.choice((TRANSITIVE, TRANSITIVE, SYMMETRIC, "")).format(name)]
    for i, name in enumerate(names):  # in a circle, so that they share a stratum
        rules += [random.choice(OTHERS).format(name, names[i - 1], random.choice(names))]
    for _ in range(random.choice((0, 1, 3))):
        rules += [random.choice(OTHERS).format(*(random.choice(names) for _ in range(3)))]
    return DECLARED + declared + "\n".join(dict.fromkeys(rules))


class History:
    """Random changes of facts, and now and then of rules."""

    steady = 0.75  # how often no rules change

    def __init__(self, text: str, seed: int, on: str, modules: ModuleKinds = True) -> None:
        self.text = text
        core = checked(text)
        self.random = Random(f"{text} {seed}")
        self.every = core.rules
        self.given = [r for r in core.relations.values() if not r.hidden]
        facts = {self.fact() for _ in range(self.random.choice((4, 10, 16)))}
        self.world = World(core.relations.values(), core.rules, facts, on, modules=modules)

    def fact(self) -> Fact:
        names = [r for r in self.given for _ in range(6 if r.name in ("e", "given") else 1)]
        relation = self.random.choice(names)
        row = tuple(self.random.randrange(NODES) for _ in relation.kinds)
        return relation.name, row

    def rules(self) -> tuple[list[Rule], list[Rule]]:
        if self.random.random() < self.steady:
            return [], []
        held = set(self.world.rules)
        others = [rule for rule in self.every if rule not in held]
        gone = self.random.sample(self.world.rules, min(1, len(held)))
        return gone, self.random.sample(others, min(len(others), 1))

    def step(self, algorithm: str, phases: str = "two") -> None:
        world, random = self.world, self.random
        before, E = world.state, sorted(world.E)
        delete = random.sample(E, min(len(E), random.choice((0, 1, 1, 2, 5))))
        insert = [self.fact() for _ in range(random.choice((0, 1, 1, 3)))]
        gone, come = self.rules()
        D, A = world.change(
            algorithm, delete=delete, insert=insert, gone=gone, come=come, phases=phases
        )
        said = f"{algorithm}: +{insert} -{delete} rules -{gone} +{come}"
        after = naive(world.relations, world.rules, world.E)
        assert world.state == after, said
        mine = world.relations.keys()
        assert {f for f in D if f[0] in mine} == before - after, said
        assert {f for f in A if f[0] in mine} == after - before, said
        assert world.miscounts() == [], said

    def closed(self) -> Closed:
        """What the first closure knows."""
        found: Closed = next(iter(self.world.memory.closed.values()))[0]
        return found
