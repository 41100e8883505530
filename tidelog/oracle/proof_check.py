"""An independent check of proofs, which knows only the rules and the facts.

Each rule instance is looked up in the clause that it names: the clause is evaluated with nothing
but the premises for its positive atoms, and with all facts for negations and aggregates; it must
derive the fact, by the bindings that the proof gives. Each path must derive its fact by the rules
of its relation, from nothing but its own facts, and a breadth-first search must find none shorter.
Heights are compared with those of a naive evaluation, level by level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tidelog.oracle.clause_bodies import (
    Body,
    Rule,
    bodies_of,
    closure,
    number_instances,
    walk,
)
from tidelog.oracle.evaluate import (
    NO_FACTS,
    NO_FUNCTIONS,
    Application,
    Env,
    Functions,
    Row,
    Rows,
    column_kinds,
    evaluate,
)
from tidelog.oracle.values import as_row, same
from tidelog.program.proof_steps import (
    Absent,
    Explicit,
    FoldedRows,
    GroundFact,
    Open,
    Path,
    RuleInstance,
    Step,
    premises_of,
)
from tidelog.program.syntax import And, Atom, Clause, Constant, Program
from tidelog.text.writer import to_text

Steps = Mapping[GroundFact, Sequence[Step]]


class ProofCheck:
    """Checks proofs over one program and its facts."""

    def __init__(
        self, typed: Program, facts: Rows = NO_FACTS, functors: Functions = NO_FUNCTIONS
    ) -> None:
        self._typed = typed
        self._known = dict[str, int](), functors, dict[Row, int]()
        self._kinds = column_kinds(typed)
        self.I = evaluate(typed, facts, functors=functors)
        stated = [(fact.relation, fact.values) for fact in typed.facts]
        stated += [(name, tuple(row)) for name, rows in facts.items() for row in rows]
        self.explicit = {GroundFact(n, as_row(row, self._kinds[n])) for n, row in stated}
        self._all = self._over(self.I)
        # Made once: the values of aggregates are remembered by the identity of rules.
        self._of_clause: dict[str, list[Rule]] = {}
        stating: list[Rule] = []
        for clause in typed.clauses:
            rules = list(_rules_of(number_instances(clause)))
            self._of_clause.setdefault(to_text(clause), []).extend(rules)
            stating += rules if clause.body == And(()) else []
        declared = (c for r in typed.relations for c in closure(r.name, r.qualifiers))
        self._declared = [rule for clause in declared for rule in _rules_of(clause)]
        self._rules = [rule for rules in self._of_clause.values() for rule in rules]
        self._rules += self._declared
        self.explicit |= self._derived(stating, ())

    def _over(self, facts: Mapping[str, set[Row]]) -> Application:
        return Application({name: facts.get(name, set()) for name in self._kinds}, *self._known)

    def faults(self, goals: Iterable[GroundFact], steps: Steps, minimal: bool = False) -> list[str]:
        goals = list(goals)
        found = [f"no step for {fact}" for fact in goals if fact not in steps]
        for fact, alternatives in steps.items():
            found += [fault for step in alternatives for fault in self._step(fact, step)]
            needed = (p for step in alternatives for p in premises_of(step))
            found += [f"no step for {premise}" for premise in needed if premise not in steps]
        if not found:
            found += _circles(steps)
        if not found and minimal:
            lowest = self.heights()
            height = proof_heights(steps)
            found += [
                f"{fact} has height {height[fact]}, and a proof of height {lowest[fact]}"
                for fact in goals
                if height[fact] != lowest[fact]
            ]
        return found

    def _step(self, fact: GroundFact, step: Step) -> Iterator[str]:
        if fact.row not in self.I[fact.relation]:
            yield f"{fact} does not hold"
        match step:
            case Explicit() if fact not in self.explicit:
                yield f"{fact} is not explicit"
            case Open():
                yield f"{fact} has no proof"
            case RuleInstance():
                yield from self._instance(fact, step)
            case Path():
                yield from self._path(fact, step)

    # Rule instances.

    def _instance(self, fact: GroundFact, step: RuleInstance) -> Iterator[str]:
        premises = {p for p in step.premises if isinstance(p, GroundFact)}
        small = self._over(_by_relation(premises))
        matched = False
        for body in self._named(step.rule, fact.relation):
            for env in self._solve(body, small, {}):
                row = tuple(self._all.value(term, env) for term in body.terms)
                # A declaration stands for rules whose variables have other names here.
                named = step.rule not in self._of_clause or _agrees(env, step)
                if row == fact.row and named and self._used(body, env) == premises:
                    matched = True
                    folds = [p for p in step.premises if isinstance(p, FoldedRows)]
                    wrong = [f for f in folds if not self._is_folded(body, env, f)]
                    yield from (f"{each.text} is not {each.value}" for each in wrong)
                    break
            if matched:
                break
        if not matched:
            yield f"{fact} is no instance of {step.rule} by {step.premises}"
        for absent in (p for p in step.premises if isinstance(p, Absent)):
            if any(True for _ in self._matching(absent.atom)):
                yield f"{to_text(absent.atom)} is not absent"

    def _named(self, text: str, relation: str) -> list[Body]:
        """The bodies of the clause with this text, or of declarations."""
        rules = self._of_clause.get(text, self._declared)
        return [body for head, body in rules if head == relation]

    def _solve(self, body: Body, small: Application, env: Env) -> list[Env]:
        """The ways to match a body with these facts for its positive atoms."""
        envs = [env]
        for literal in body.literals:
            reads = isinstance(literal.formula, Atom) and literal.wanted
            using = small if reads else self._all
            envs = [new for each in envs for new in using.satisfy(literal, each)]
        return envs

    def _used(self, body: Body, env: Env) -> set[GroundFact]:
        atoms = (each.formula for each in body.literals if each.wanted)
        return {
            GroundFact(atom.relation, tuple(self._all.value(term, env) for term in atom.terms))
            for atom in atoms
            if isinstance(atom, Atom)
        }

    def _is_folded(self, body: Body, env: Env, claim: FoldedRows) -> bool:
        """Has one of the aggregates this value, from so many rows, and these among them?"""
        for literal in body.literals:
            fold = literal.fold
            if fold is None:
                continue
            term: Any = literal.formula.right  # type: ignore[union-attr]
            result = self._all.fold(fold, term, env)
            if (
                term.op == claim.op
                and any(same(values[0], claim.value) for values in result)
                and len(self._all.assignments(fold, env)) == claim.count
                and all(self._is_row(fold.bodies, fold.outer, env, row) for row in claim.rows)
            ):
                return True
        return False

    def _is_row(
        self, bodies: Iterable[Body], outer: Iterable[str], env: Env, row: Sequence[GroundFact]
    ) -> bool:
        small = self._over(_by_relation(row))
        around = {name: env[name] for name in outer}
        return all(fact.row in self.I[fact.relation] for fact in row) and any(
            self._solve(body, small, around) for body in bodies
        )

    def _matching(self, atom: Atom) -> Iterator[Row]:
        """The facts that an atom of constants and `_` matches."""
        bound = [(i, t.value) for i, t in enumerate(atom.terms) if isinstance(t, Constant)]
        rows = self.I[atom.relation]
        return (row for row in rows if all(same(row[i], value) for i, value in bound))

    # Paths.

    def _path(self, fact: GroundFact, path: Path) -> Iterator[str]:
        ends = [_turned(link.fact.row, link.swapped) for link in path.links]
        start, end = _turned(fact.row, path.swapped)
        nodes = [start, *(y for _, y in ends)]
        if nodes[-1] != end or [x for x, _ in ends] != nodes[:-1]:
            yield f"the path to {fact} does not lead there"
            return
        own = {fact.relation, *(link.fact.relation for link in path.links)}
        rules = [rule for rule in self._rules if rule[0] in own]
        if fact not in self._following(rules, {link.fact for link in path.links}):
            yield f"{fact} does not follow from its path"
        shortest = self._distance(fact, path, start, end)
        if shortest != len(path.links):
            yield f"a path of {shortest} facts leads to {fact}, not of {len(path.links)}"

    def _following(self, rules: Sequence[Rule], N: set[GroundFact]) -> set[GroundFact]:
        """All that rules derive from facts."""
        found: set[GroundFact] = set()
        while N - found:
            found |= N
            N = self._derived(rules, found)
        return found

    def _derived(self, rules: Iterable[Rule], facts: Iterable[GroundFact]) -> set[GroundFact]:
        small = self._over(_by_relation(facts))
        return {
            GroundFact(head, tuple(self._all.value(term, env) for term in body.terms))
            for head, body in rules
            for env in self._solve(body, small, {})
        }

    def _distance(self, fact: GroundFact, path: Path, start: Any, end: Any) -> float:
        """How many facts the shortest path has: of a base, or of what feeds the closure."""
        own = self._cycle(fact.relation)
        turned = {(link.fact.relation, link.swapped) for link in path.links}
        if own.isdisjoint(name for name, _ in turned):
            edges = {_turned(row, swapped) for name, swapped in turned for row in self.I[name]}
        else:
            edges = set()
            for name in own:
                swapped = (name != fact.relation) != path.swapped
                feeding = self._external(name, own)
                edges |= {_turned(row, swapped) for row in feeding}
                if path.closure.startswith("symmetric"):
                    edges |= {_turned(row, not swapped) for row in feeding}
        found, N, length = set[Any](), {start}, 0
        while N:
            length += 1
            N = {y for x, y in edges if x in N} - found
            found |= N
            if end in N:
                return length
        return math.inf

    def _external(self, name: str, own: set[str]) -> set[Row]:
        """The facts of a relation that are explicit, or derived without recursion."""
        rules = [r for r in self._rules if r[0] == name and own.isdisjoint(_reads(r))]
        everything = (GroundFact(n, row) for n, rows in self.I.items() for row in rows)
        given = {fact for fact in self.explicit if fact.relation == name}
        return {fact.row for fact in given | self._derived(rules, everything)}

    def _cycle(self, name: str) -> set[str]:
        """The relations that depend on this one, and it on them."""
        reads: dict[str, set[str]] = {}
        for rule in self._rules:
            reads.setdefault(rule[0], set()).update(_reads(rule))

        def below(first: str) -> set[str]:
            found, N = set[str](), {first}
            while N:
                N = {low for each in N for low in reads.get(each, ())} - found
                found |= N
            return found

        return {name, *(low for low in below(name) if name in below(low))}

    # Heights.

    def heights(self) -> dict[GroundFact, int]:
        """The least height of a proof of each fact, by levels: closures have no paths here."""
        found = dict.fromkeys((f for f in self.explicit if f.row in self.I[f.relation]), 0)
        level = 0
        while True:
            level += 1
            N = {f for f in self._derived(self._rules, found) if f.row in self.I[f.relation]}
            if not N - found.keys():
                return found
            for fact in N:
                found.setdefault(fact, level)


def _rules_of(clause: Clause) -> Iterator[Rule]:
    for head in clause.heads:
        for body in bodies_of(clause.body, head.terms):
            yield head.relation, body


def _by_relation(facts: Iterable[GroundFact]) -> dict[str, set[Row]]:
    found: dict[str, set[Row]] = {}
    for name, row in facts:
        found.setdefault(name, set()).add(row)
    return found


def _reads(rule: Rule) -> set[str]:
    nodes = (node for literal in rule[1].literals for node in walk(literal.formula))
    return {node.relation for node in nodes if isinstance(node, Atom)}


def _turned(row: Row, swapped: bool) -> Row:
    return row[::-1] if swapped else row


def _agrees(env: Env, step: RuleInstance) -> bool:
    """Do bindings of the proof agree? The numbers of `ord` may be others."""
    if "ord(" in step.rule:
        return True
    return all(b.name not in env or same(env[b.name], b.value) for b in step.bindings)


def _circles(steps: Steps) -> list[str]:
    """Facts that rest on themselves."""
    left = {fact: {p for s in each for p in premises_of(s)} for fact, each in steps.items()}
    while ready := [fact for fact, below in left.items() if not below & left.keys()]:
        for fact in ready:
            del left[fact]
    return [f"{fact} rests on itself" for fact in left]


def proof_heights(steps: Steps) -> dict[GroundFact, int]:
    """The heights of facts by their first steps, in which nothing goes round in a circle."""
    found: dict[GroundFact, int] = {}
    while len(found) < len(steps):
        for fact, (first, *_) in steps.items():
            needed = first.premises if isinstance(first, RuleInstance) else premises_of(first)
            below = [found.get(p) for p in needed if isinstance(p, GroundFact)]
            if None not in below:
                leaf = isinstance(first, Explicit)
                found[fact] = 0 if leaf else 1 + max((h for h in below if h is not None), default=0)
    return found
