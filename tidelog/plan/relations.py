"""Relations by name: every atom, fact and directive finds its declaration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidelog.plan.draft import Draft, Type, place
from tidelog.program.diagnostics import Diagnostic, plural
from tidelog.program.formula_walk import clause_nodes, everything, flat, relations_of
from tidelog.program.qualifiers import QUALIFIERS
from tidelog.program.suggestions import did_you_mean
from tidelog.program.syntax import (
    Atom,
    Attribute,
    Cast,
    Clause,
    Directive,
    Fact,
    Program,
    RelationDecl,
    Span,
)

SHOWN = 20  # errors of one kind that are shown
SYNONYMS = {  # what types are called elsewhere
    **dict.fromkeys(("int", "integer", "long", "int64", "i64", "bool", "boolean"), "number"),
    **dict.fromkeys(("uint", "uint64", "u64", "nat", "natural"), "unsigned"),
    **dict.fromkeys(("double", "real", "float64", "f64", "decimal"), "float"),
    **dict.fromkeys(("string", "str", "text", "varchar", "char", "atom"), "symbol"),
}


def resolve_relations(draft: Draft) -> Draft:
    """Check declarations and uses; a relation without a declaration gets one from its use.

    The types of such a declaration are empty names, which the types pass fills in.
    """
    program = draft.program
    declared, found, doubtful = _declared(program, draft)
    by_relation: dict[str, list[Fact]] = {}
    for fact in program.facts:
        by_relation.setdefault(fact.relation, []).append(fact)
    inputs = {d.relation for d in program.directives if d.action == "input"}
    known = dict(declared)
    for name, arity, at in _definitions(program, by_relation, inputs):
        if name not in known:
            known[name] = _inferred(name, arity, at)

    resolver = _Resolver(draft, known, inputs)
    faulty = [clause for clause in program.clauses if not resolver.fits(clause)]
    facts = program.facts
    if wrong := {id(fact) for fact in resolver.misfits(by_relation)}:
        facts = tuple(fact for fact in facts if id(fact) not in wrong)
    directives = resolver.directives(program.directives)
    resolver.found += _strangers(program, known, declared)
    program = replace(program, relations=tuple(known.values()), facts=facts, directives=directives)
    unsure = known.keys() if "*" in program.lost else known.keys() & program.lost
    draft = replace(draft, program=program, doubtful=frozenset(doubtful), unsure=frozenset(unsure))
    return draft.without(faulty).found((*found, *resolver.found))


def _declared(
    program: Program, draft: Draft
) -> tuple[dict[str, RelationDecl], list[Diagnostic], set[str]]:
    declared: dict[str, RelationDecl] = {}
    found: list[Diagnostic] = []
    doubtful: set[str] = set()
    faulty_types = _faulty_types(draft)
    for decl in program.relations:
        first = declared.setdefault(decl.name, decl)
        if first is not decl:
            message = f"relation {decl.name} is declared twice"
            note = f"first declared at {place(first.at)}"
            found.append(Diagnostic(message, decl.at, "remove one of them", notes=(note,)))
            continue
        names: set[str] = set()
        for attribute in decl.attributes:
            if attribute.name in names:
                message = f"relation {decl.name} has two attributes {attribute.name}"
                found.append(Diagnostic(message, attribute.at, "rename one of them"))
            names.add(attribute.name)
            if attribute.type_name not in draft.types:
                doubtful.add(decl.name)
                if not draft.is_lost(attribute.type_name) and (
                    attribute.type_name not in faulty_types
                ):
                    found.append(unknown_type(attribute.type_name, attribute.at, draft))
        if decl.name not in doubtful and (faults := list(_closure_faults(decl, draft))):
            doubtful.add(decl.name)
            found += faults
    return declared, found, doubtful


def _faulty_types(draft: Draft) -> set[str]:
    """Types that have been reported already."""
    return {decl.name for decl in draft.program.types} - draft.types.keys()


def unknown_type(name: str, at: Span, draft: Draft) -> Diagnostic:
    """The error for an unknown type."""
    kind = SYNONYMS.get(name.lower())
    advice = f"did you mean {kind}?" if kind else ""
    if not advice:
        advice = did_you_mean(name, draft.types, f"declare it: .type {name} <: symbol")
    return Diagnostic(f"unknown type {name}", at, advice)


def _closure_faults(decl: RelationDecl, draft: Draft) -> Iterator[Diagnostic]:
    for qualifier in sorted(decl.qualifiers):
        if not QUALIFIERS[qualifier].rules:
            continue
        types: list[Type] = [draft.types[a.type_name] for a in decl.attributes]
        if len(types) != 2:
            message = f"relation {decl.name} is {qualifier} but has {plural(len(types), 'column')}"
            yield Diagnostic(message, decl.at, f"{qualifier} needs two columns of one type")
        elif types[0] != types[1]:
            one, other = (a.type_name for a in decl.attributes)
            message = f"relation {decl.name} is {qualifier} but has types {one} and {other}"
            yield Diagnostic(message, decl.at, f"{qualifier} needs two columns of one type")


def _definitions(
    program: Program, facts: dict[str, list[Fact]], inputs: set[str]
) -> Iterator[tuple[str, int, Span]]:
    """Where relations get facts: facts, heads, and body atoms of relations that are read in."""
    for name, of_relation in facts.items():
        yield name, len(of_relation[0].values), of_relation[0].at
    for clause in program.clauses:
        for head in clause.heads:
            yield head.relation, len(head.terms), head.at
    if not inputs:
        return
    for clause in program.clauses:
        for node in everything(clause.body):
            if isinstance(node, Atom) and node.relation in inputs:
                yield node.relation, len(node.terms), node.at


def _inferred(name: str, arity: int, at: Span) -> RelationDecl:
    attributes = tuple(Attribute(f"column{i + 1}", "", at) for i in range(arity))
    return RelationDecl(name, attributes, at=at, inferred=True)


def _strangers(
    program: Program, known: dict[str, RelationDecl], declared: dict[str, RelationDecl]
) -> Iterator[Diagnostic]:
    """Warn of undeclared relations that no rule reads and whose name is close to a declared one."""
    new = [name for name in known if name not in declared]
    if not declared or not new:
        return
    used = {directive.relation for directive in program.directives}
    for clause in program.clauses:
        used |= relations_of(clause.body)
    for name in [name for name in new if name not in used][:SHOWN]:
        arity = len(known[name].attributes)
        alike = [n for n, decl in declared.items() if len(decl.attributes) == arity]
        advice = did_you_mean(name, alike, "", cutoff=0.75)
        if advice:
            message = f"relation {name} is not declared, and nothing reads it"
            yield Diagnostic(message, known[name].at, advice, "warning")


class _Resolver:
    def __init__(self, draft: Draft, known: dict[str, RelationDecl], inputs: set[str]) -> None:
        self.draft = draft
        self.known = known
        self.inputs = inputs
        self.arity = {name: len(decl.attributes) for name, decl in known.items()}
        self.faulty_types = _faulty_types(draft)
        self.reported: set[str] = set()
        self.found: list[Diagnostic] = []

    def fits(self, clause: Clause) -> bool:
        """Whether all its relations and types are known and used with the right arity."""
        right = True
        for node in flat(clause) or clause_nodes(clause):
            if type(node) is Atom:
                if self.arity.get(node.relation) != len(node.terms):
                    self.misfit(node.relation, len(node.terms), node.at)
                    right = False
            elif type(node) is Cast and node.type_name not in self.draft.types:
                if node.type_name not in self.faulty_types and not self.draft.is_lost(
                    node.type_name
                ):
                    self.found.append(unknown_type(node.type_name, node.at, self.draft))
                right = False
        return right

    def misfit(self, name: str, arity: int, at: Span) -> None:
        decl = self.known.get(name)
        if decl is None:
            self.unknown(name, at)
        elif decl.inferred:
            columns = plural(len(decl.attributes), "column")
            message = f"relation {name} has {columns} where it is first used, but {arity} here"
            note = f"first at {place(decl.at)}"
            advice = f"write a .decl for {name}, and give it as many arguments"
            self.found.append(Diagnostic(message, at, advice, notes=(note,)))
        else:
            columns = plural(len(decl.attributes), "column")
            message = f"relation {name} has {columns}, but {arity} {_are(arity)} given here"
            form = ", ".join(f"{a.name}: {a.type_name}" for a in decl.attributes)
            note = "its facts show these columns"
            if decl.at.line:
                note = f"declared at {place(decl.at)}"
            self.found.append(Diagnostic(message, at, f"declared {name}({form})", notes=(note,)))

    def unknown(self, name: str, at: Span) -> None:
        if name in self.reported or self.draft.is_lost(name):
            return
        self.reported.add(name)
        advice = "declare it, or give it a fact or a rule"
        if len(self.reported) <= SHOWN:  # searching for similar names takes time
            advice = did_you_mean(name, self.known, advice)
        self.found.append(Diagnostic(f"unknown relation {name}", at, advice))

    def misfits(self, facts: dict[str, list[Fact]]) -> Iterator[Fact]:
        """Facts with a wrong number of values, which are reported."""
        for name, of_relation in facts.items():
            arity = self.arity[name]
            if {*map(len, (fact.values for fact in of_relation))} == {arity}:
                continue
            wrong = [fact for fact in of_relation if len(fact.values) != arity]
            for fact in wrong[:SHOWN]:
                self.misfit(name, len(fact.values), fact.at)
            if len(wrong) > SHOWN:
                message = (
                    f"{len(wrong) - SHOWN} more facts of {name} have the wrong number of values"
                )
                self.found.append(Diagnostic(message, wrong[SHOWN].at))
            yield from wrong

    def directives(self, directives: tuple[Directive, ...]) -> tuple[Directive, ...]:
        """Only those of known relations: an unreadable clause may define the others."""
        for directive in directives:
            if directive.relation not in self.known:
                self.unknown(directive.relation, directive.at)
        return tuple(each for each in directives if each.relation in self.known)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
