"""The plain Datalog of the benchmark programs, for systems with another notation.

Only what those programs use: one rule per line, positive atoms, variables and integers. This parser
is not Tidelog's, so a bug in Tidelog's parser cannot reach the other systems.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

ATOM = re.compile(r"(\w+)\(([^()]*)\)")


@dataclass(frozen=True)
class Atom:
    relation: str
    terms: tuple[str | int, ...]  # a variable's name, or a constant


@dataclass(frozen=True)
class Rule:
    head: Atom
    body: tuple[Atom, ...]


@dataclass(frozen=True)
class PlainProgram:
    arities: dict[str, int]
    outputs: tuple[str, ...]
    rules: tuple[Rule, ...]

    def derived(self) -> set[str]:
        return {rule.head.relation for rule in self.rules}


def parse_plain(text: str) -> PlainProgram:
    """
    >>> program = parse_plain(".decl p(x: number)\\n.output p\\np(x) :- q(x, 7).")
    >>> program.rules[0].body[0].terms
    ('x', 7)
    """
    arities: dict[str, int] = {}
    outputs: list[str] = []
    rules: list[Rule] = []
    for raw in text.splitlines():
        line = raw.split("//")[0].strip()
        if line.startswith(".decl"):
            (name, columns) = ATOM.findall(line)[0]
            arities[name] = columns.count(",") + 1
        elif line.startswith(".output"):
            outputs.append(line.split()[1])
        elif ":-" in line:
            head, *body = (
                Atom(name, tuple(term(cell.strip()) for cell in cells.split(",")))
                for name, cells in ATOM.findall(line)
            )
            rules.append(Rule(head, tuple(body)))
    return PlainProgram(arities, tuple(outputs), tuple(rules))


def term(cell: str) -> str | int:
    return int(cell) if cell.lstrip("-").isdigit() else cell


def able_to_fire(rules: Iterable[Rule], given: Collection[str]) -> list[Rule]:
    """The rules that can have instances when only `given` relations have facts."""
    filled, left = set(given), list(rules)
    fired: list[Rule] = []
    while ready := [r for r in left if all(atom.relation in filled for atom in r.body)]:
        fired += ready
        filled |= {rule.head.relation for rule in ready}
        left = [rule for rule in left if rule not in ready]
    return fired


def strata(rules: Collection[Rule]) -> list[list[str]]:
    """Derived relations grouped by mutual recursion, in order of dependency.

    >>> rules = parse_plain("p(x) :- q(x).\\nq(x) :- p(x).\\nr(x) :- p(x).").rules
    >>> [sorted(group) for group in strata(rules)]
    [['p', 'q'], ['r']]
    """
    needs: dict[str, set[str]] = {rule.head.relation: set() for rule in rules}
    for rule in rules:
        needs[rule.head.relation] |= {a.relation for a in rule.body if a.relation in needs}
    reach = {name: walk(name, needs) | {name} for name in needs}
    groups: list[list[str]] = []
    placed: set[str] = set()
    # A group needs everything that the groups it depends on need, and itself.
    for name in sorted(needs, key=lambda name: len(reach[name])):
        if name not in placed:
            groups.append([other for other in reach[name] if name in reach[other]])
            placed |= set(groups[-1])
    return groups


def walk(start: str, needs: dict[str, set[str]]) -> set[str]:
    """Everything that `start` needs, directly or indirectly."""
    seen: set[str] = set()
    new = needs[start]
    while new:
        seen |= new
        new = {further for name in new for further in needs[name]} - seen
    return seen
