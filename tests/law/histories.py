"""Random histories: a generated program, and transactions that change its facts and rules.

`history(n)` is one history. It is written against a `State`, the model of a database: all
that was declared, the rules and the explicit facts of now, and what follows from them by
naive evaluation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from random import Random
from typing import Any, Literal

from tests.law.adapters import oracle, surface, typed
from tests.law.generate import CONSTANTS, EXTREMES, Generated, another_rule, from_seed, spelled
from tests.law.graphs import graph
from tests.law.metamorphic import rename_variables
from tests.law.tied import TYING, tied
from tidelog.oracle.evaluate import column_kinds
from tidelog.plan.rulebook import name_of
from tidelog.program.changes import Op
from tidelog.program.diagnostics import EvaluationError, LimitError, ProgramError
from tidelog.program.syntax import And, Kind, Value
from tidelog.text.writer import to_text

Row = tuple[Value, ...]
Fact = tuple[str, Row]
MAX_FACTS = 500  # where rules run away, and in rare joins, the oracle takes too long
RULES = 7  # at the start, about; the others of the program may come later
# A division that goes wrong in the middle of an update, unless the same update makes it safe.
TRAP = """.decl trap(x: number)
.decl safe(x: number)
.decl sprung(x: number)
sprung(12 / x) :- trap(x), !safe(x).
"""


# The model.


@dataclass(frozen=True, eq=False)
class State:
    """What a database holds, and what must follow."""

    declarations: Mapping[str, str]
    kinds: Mapping[str, tuple[Kind, ...]]
    rules: Mapping[str, str]  # by the names that they have in a database
    facts: frozenset[Fact]  # explicit
    outputs: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()  # relations that came with a rule

    @classmethod
    def of(cls, text: str, given: Iterable[Fact] = ()) -> State:
        program = typed(text)
        kinds = column_kinds(program)
        declarations = {
            decl.name: _declaration(decl.name, kinds[decl.name], *decl.qualifiers)
            for decl in program.relations
        }
        if program.types:  # under a name that no relation has
            declarations = {"": "\n".join(map(to_text, program.types)), **declarations}
        clauses = list(zip(program.clauses, surface(text).clauses, strict=True))
        written = {(fact.relation, fact.values) for fact in program.facts}
        if any(clause.body == And(()) for clause in program.clauses):  # facts with expressions
            only = [to_text(as_written) for clause, as_written in clauses if clause.body == And(())]
            plain = [_declaration(decl.name, kinds[decl.name]) for decl in program.relations]
            types = map(to_text, program.types)
            answer = _answer("\n".join((*types, *plain, *only)) + "\n", frozenset())
            written |= {(name, row) for name, rows in answer.items() for row in rows}
        rules = {
            name_of(clause): to_text(as_written)
            for clause, as_written in clauses
            if clause.body != And(())
        }
        outputs = frozenset(directive.relation for directive in program.directives)
        return cls(declarations, kinds, rules, frozenset(written | set(given)), outputs)

    @property
    def text(self) -> str:
        return "\n".join((*self.declarations.values(), *self.rules.values())) + "\n"

    @cached_property
    def answer(self) -> dict[str, set[Row]]:
        """Every relation by naive evaluation; LimitError if that is too much."""
        return _answer(self.text, self.facts)

    @property
    def visible(self) -> frozenset[str]:
        """The relations that a delta reports."""
        return self.outputs | self.added if self.outputs else frozenset(self.kinds)

    def derived(self) -> list[Fact]:
        every = {(name, row) for name, rows in self.answer.items() for row in rows}
        return sorted(every - self.facts, key=repr)

    def after(self, change: Change) -> State:
        """The state with one change made; ProgramError if it is one of a rule and refused."""
        if isinstance(change, Facts):
            named = {(change.relation, row) for row in change.rows}
            facts = self.facts | named if change.op == "+" else self.facts - named
            return replace(self, facts=facts)
        if change.op == "-" and change.text in self.rules.values():
            rules = {name: text for name, text in self.rules.items() if text != change.text}
            return replace(self, rules=rules)
        program = typed(self.text + change.text + "\n")
        name = name_of(program.clauses[-1])
        if change.op == "+":
            kinds = column_kinds(program)
            new = {n: _declaration(n, kinds[n]) for n in kinds if n not in self.kinds}
            rules = self.rules if name in self.rules else {**self.rules, name: change.text}
            return replace(
                self,
                declarations=self.declarations | new,
                kinds=kinds,
                rules=rules,
                added=self.added | new.keys(),
            )
        if name not in self.rules:
            raise ProgramError([])
        return replace(self, rules={n: text for n, text in self.rules.items() if n != name})


@lru_cache(maxsize=16)  # a history is written, and then replayed
def _answer(text: str, facts: frozenset[Fact]) -> dict[str, set[Row]]:
    return oracle(text, by_relation(facts), MAX_FACTS)


def by_relation(facts: Iterable[Fact]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for name, row in sorted(facts, key=repr):
        found.setdefault(name, []).append(row)
    return found


def _declaration(name: str, kinds: Iterable[Kind], *qualifiers: str) -> str:
    attributes = ", ".join(f"c{i}: {kind}" for i, kind in enumerate(kinds))
    return " ".join((f".decl {name}({attributes})", *qualifiers))


# Changes.


@dataclass(frozen=True)
class Facts:
    """Facts of one relation arrive or go together."""

    op: Op
    relation: str
    rows: tuple[Row, ...]

    def __str__(self) -> str:
        return f"{self.op}{self.relation} {list(self.rows)}"


@dataclass(frozen=True)
class RuleText:
    op: Op
    text: str

    def __str__(self) -> str:
        return f"{self.op}{self.text}"


Change = Facts | RuleText
# A limit may be met or not, depending on the algorithm; if it is, the step comes once more.
End = Literal["commit", "rollback", "dry run", "exception", "limit"]
ENDS: tuple[End, ...] = ("commit", "rollback", "dry run", "exception", "limit")


@dataclass(frozen=True)
class Step:
    """One transaction."""

    changes: tuple[Change, ...]
    end: End = "commit"


@dataclass(frozen=True)
class History:
    """A program with given facts, and what happens to it. `str` gives JSON; see `from_json`."""

    text: str
    given: frozenset[Fact]
    steps: tuple[Step, ...]
    skipped: int = field(default=0, compare=False)  # steps too large for the oracle

    def __str__(self) -> str:
        parts: dict[str, list[Any]] = {
            "program": self.text.splitlines(),
            "given": sorted(self.given, key=repr),
            "steps": [
                {"end": step.end, "changes": [_to_json(change) for change in step.changes]}
                for step in self.steps
            ],
        }
        lines = {name: ",\n  ".join(map(json.dumps, part)) for name, part in parts.items()}
        return "{" + ",\n ".join(f'"{name}": [\n  {text}]' for name, text in lines.items()) + "}"


def from_json(text: str) -> History:
    found = json.loads(text)
    steps = (Step(tuple(map(_from_json, step["changes"])), step["end"]) for step in found["steps"])
    given = frozenset((name, tuple(row)) for name, row in found["given"])
    return History("\n".join(found["program"]) + "\n", given, tuple(steps))


def _to_json(change: Change) -> list[Any]:
    if isinstance(change, Facts):
        return [change.op, change.relation, change.rows]
    return [change.op, change.text]


def _from_json(change: list[Any]) -> Change:
    if len(change) == 3:
        return Facts(change[0], change[1], tuple(map(tuple, change[2])))
    return RuleText(change[0], change[1])


def outcome(state: State, step: Step) -> tuple[State, list[bool]]:
    """The state that a step leads to, and for each of its changes whether it is refused."""
    refused = []
    for change in step.changes:
        try:
            state = state.after(change)
            refused.append(False)
        except ProgramError:
            refused.append(True)
    return state, refused


# Generation.


def history(seed: int) -> History:
    return Author(seed).history()


def _valid(seed: int) -> Generated:
    """One generated program in thousands has aggregates that wait for each other."""
    program = from_seed(seed)
    try:
        typed(program.text)
    except ProgramError:
        return _valid(seed + 1)
    return program


class Author:
    """Writes a history while it keeps the model in step."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.twice = Random(f"twice {seed}")
        self.about_graphs = seed % 2 == 1
        self.about_closures = seed % 4 == 3
        make = tied if self.about_closures else graph if self.about_graphs else _valid
        self.program = make(seed)
        self.state = State.of(self.program.text + TRAP)
        given = {(name, row) for name, rows in self.program.facts.items() for row in rows}
        self.pool = {*self.state.facts, *given}  # facts that were explicit at some time
        self.rules = list(self.state.rules.values())  # rules that were there at some time
        self.made = 0

    def history(self) -> History:
        whole = self.state
        text, given = self.start()
        while not self.is_small():
            self.state = whole
            text, given = self.start()
        steps: list[Step] = []
        skipped = 0
        least, most = (6, 10) if self.about_graphs else (4, 7)
        for _ in range(self.random.randint(least, most)):
            step = self.step(steps)
            state, _ = outcome(self.state, step)
            try:
                assert state.answer is not None
            except LimitError:
                skipped += 1
                continue
            except EvaluationError:
                state = self.state
            steps.append(step)
            if step.end in ("commit", "limit"):
                self.state = state
                self.pool |= state.facts
        return History(text, given, tuple(steps), skipped)

    def is_small(self) -> bool:
        """Is the state within the limit of naive evaluation?"""
        try:
            return self.state.answer is not None
        except LimitError:
            return False
        except EvaluationError:
            return True

    def start(self) -> tuple[str, frozenset[Fact]]:
        """Some of the program's rules, with some facts written and the others given."""
        random, whole = self.random, self.state
        every = list(whole.rules)  # the trap's is the last of them
        # Later rules would often have nothing to read.
        early = every if self.about_closures else [*every[:RULES], every[-1]]
        kept = {
            name: text
            for name, text in whole.rules.items()
            if random.random() < (0.85 if name in early else 0.15)
        }
        self.state = replace(whole, rules=kept, facts=frozenset(self.pool))
        written = [fact for fact in sorted(self.pool, key=repr) if random.random() < 0.5]
        lines = [f"{name}({', '.join(map(self.stated, row))})." for name, row in written]
        derived = [name for name in whole.kinds if name.startswith("p")]
        outputs = random.sample(derived, 2) if len(derived) > 1 and random.random() < 0.2 else []
        lines += [f".output {name}" for name in outputs]
        lines += map(self.respelled, [text for text in kept.values() if self.twice.random() < 0.1])
        given = frozenset(self.pool.difference(written))
        return self.undeclared("\n".join(lines) + "\n", by_relation(given)), given

    def respelled(self, rule: str) -> str:
        """The same rule, with other names of variables."""
        return rename_variables(surface(rule), {}, self.twice).text.strip()

    def stated(self, value: Value) -> str:
        """A value in a fact of the program: a literal, or an expression that gives it."""
        if self.random.random() < 0.1:
            if isinstance(value, str):
                return f'cat("", {spelled(value)})'
            if isinstance(value, int):
                return f"{spelled(value)} + 1 - 1"
        return spelled(value)

    def undeclared(self, facts: str, declared: Container[str]) -> str:
        """The program's text, where it can be with a relation whose types are inferred."""
        declarations = dict(self.state.declarations)
        free = sorted(name for name in declarations if name not in declared)
        line = declarations.pop(self.random.choice(free))
        text = replace(self.state, declarations=declarations).text + facts
        try:
            same = column_kinds(typed(text)) == self.state.kinds
        except ProgramError:
            same = False
        return text if same and line.endswith(")") else self.state.text + facts

    def step(self, before: Sequence[Step]) -> Step:
        random = self.random
        if before and before[-1].end not in ("commit", "limit") and random.random() < 0.5:
            return Step(before[-1].changes)  # once more, and now in earnest
        changes: list[Change] = []
        for _ in range(random.choice((0, 1, 2, 2, 3))):
            changes.append(self.facts())
        if self.about_closures:
            changes += self.ties()
        elif random.random() < 0.5:
            for _ in range(random.choice((1, 1, 2, 3))):
                changes += self.rule()
        if random.random() < 0.15:
            changes += self.trap()
        random.shuffle(changes)
        ends = random.choices(ENDS, (10, 1, 2, 1, 2))
        return Step(tuple(changes), ends[0])

    # Facts

    def facts(self) -> Facts:
        """Facts of one relation: some that are there, that were, that are derived, or new."""
        random = self.random
        sources: tuple[tuple[str, Callable[[], list[Fact]]], ...] = (
            ("++-", lambda: [self.fact() for _ in range(12)]),
            ("+++-", lambda: sorted(self.pool - self.state.facts, key=repr)),
            ("+---", lambda: sorted(self.state.facts, key=repr)),
            ("+-", self.state.derived),
        )
        ops, source = random.choice(sources)
        op: Op = random.choice(ops)  # type: ignore[assignment]
        found = source() or [self.fact()]
        body = " ".join(self.state.rules.values())
        read = [(name, row) for name, row in found if f" {name}(" in body]
        relation, _ = random.choice(read if read and random.random() < 0.8 else found)
        rows = {row for name, row in found if name == relation}
        some = random.sample(
            sorted(rows, key=repr), min(len(rows), random.choice((1, 1, 2, 3, 20)))
        )
        return Facts(op, relation, tuple(some))

    def fact(self) -> Fact:
        random = self.random
        name = random.choice(sorted(self.state.kinds))
        pools = (CONSTANTS, CONSTANTS, CONSTANTS, CONSTANTS, EXTREMES)
        row = tuple(random.choice(random.choice(pools)[kind]) for kind in self.state.kinds[name])
        return name, row

    def trap(self) -> Iterator[Change]:
        """Three times out of four it does not spring."""
        yield Facts(self.random.choice("++-"), "trap", ((0,), (3,)))
        yield Facts(self.random.choice("+++-"), "safe", ((0,),))

    # Rules

    def rule(self) -> Iterator[RuleText]:
        random = self.random
        choice = random.random()
        held = list(self.state.rules.values())
        if choice < 0.4 and held:
            yield RuleText("-", random.choice(held))
        elif choice < (0.9 if self.about_graphs else 0.7):
            gone = [text for text in self.rules if text not in held]
            yield RuleText(random.choice("+++-"), random.choice(gone or self.rules))
        else:
            text = another_rule(self.program, random)
            if random.random() < 0.2:
                self.made += 1
                text = f"q{self.made}(" + text.partition("(")[2]  # a relation of its own
            self.rules.append(text)
            yield RuleText("+", text)

    def ties(self) -> Iterator[RuleText]:
        """Several rules at once that tie closures to other relations, and now and then any."""
        random, held = self.random, set(self.state.rules.values())
        tying = sorted(TYING)
        for text in random.sample(tying, random.choice((0, 1, 2, 3, len(tying)))):
            if text in held or random.random() < 0.5:
                yield RuleText("-" if text in held else "+", text)
        if random.random() < 0.4:
            yield from self.rule()
