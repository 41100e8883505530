"""Components become plain relations and rules: each `.init` is a copy with names of its own.

What an instance declares gets the instance's name and a dot before its own. Other names in it
mean what is around the instance. Places keep pointing into the component, and know the
instance that they are read for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tidelog.program.diagnostics import plural
from tidelog.program.suggestions import did_you_mean
from tidelog.program.syntax import (
    UNDER,
    Aggregate,
    And,
    Atom,
    Attribute,
    BranchDecl,
    Call,
    Cast,
    Clause,
    Comparison,
    Directive,
    Fact,
    Formula,
    Inside,
    Not,
    Or,
    RelationDecl,
    Span,
    Term,
    TypeDecl,
)
from tidelog.text.lexer import Fault, Report
from tidelog.text.statements import Component, Instance, Reference, Statements

FILE_ENDINGS = ("facts", "csv", "tsv", "txt", "gz")
MAX_DEPTH = 100  # components within components: their expansion recurses
MAX_INSTANCES = 10_000  # with bases: two instances inside each other make 2 ** depth
MAX_RULES = 200_000  # with relations, of all instances; inside of others they are copied again
MAX_FACTS = 2_000_000  # of all instances, which are held as statements: chosen, not measured

Names = Mapping[str, str]
Home = tuple[Mapping[str, "KnownComponent"], ...]  # the components in scope, innermost first


@dataclass(frozen=True)
class KnownComponent:
    """A component, where it was written, and what types mean there."""

    component: Component
    home: Home
    types: Names


def expand(draft: Statements, report: Report) -> Statements:
    """The program with every instance written out; what is wrong with one is reported."""
    whole = Component("", (), (), draft, Span("", 0, 0))
    instances = _Instances(report)
    found = instances.inside(whole, {}, (), "", frozenset())[0]
    found.pragmas, found.lost, found.functors = draft.pragmas, draft.lost, draft.functors
    declared = {each.name for each in found.relations}
    heads = [(f.relation, f.at) for f in found.facts if "." in f.relation]
    heads += [(h.relation, h.at) for c in found.clauses for h in c.heads if "." in h.relation]
    for name, at in heads:
        if name not in declared and not instances.stopped:
            report(f"unknown relation {name}", at, _alike(name, declared))
    files = [d for d in found.directives if d.relation not in declared and _is_file(d.relation)]
    for each in files:
        message = "expected a relation name, not a file name"
        before = each.relation.rpartition(".")[0]
        report(message, each.at, f'write `{before}(filename="{each.relation}")`')
        found.directives.remove(each)
    return found


def _is_file(name: str) -> bool:
    """Is it a file's name rather than that of a relation in an instance?"""
    return name.rpartition(".")[2] in FILE_ENDINGS and "." in name


def _alike(name: str, known: set[str]) -> str:
    return did_you_mean(name, sorted(known), "its component does not declare it")


class _Instances:
    """Writes instances out, from the inside to the outside."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._open: list[Component] = []
        self._instances = 0
        self._rules = self._facts = 0
        self.stopped = False

    def inside(
        self, component: Component, types: Names, home: Home, path: str, gone: frozenset[str]
    ) -> tuple[Statements, dict[str, KnownComponent]]:
        """What a component brings with its bases and instances, under the names that it has
        inside, and the components that are known in it. Rules for `gone` are overridden."""
        self._open.append(component)
        own, found, known = component.draft, Statements(), dict[str, KnownComponent]()
        overridden = frozenset(name for name, _ in own.overrides)
        for base in component.bases:
            try:
                brought, theirs = self._of(base, types, home, path, gone | overridden, True)
            except Fault as fault:
                self._say(fault, path)
            else:
                _add(found, brought)
                known |= theirs
        self._check_overrides(own, found, path)
        for functor in own.functors if path else ():
            advice = "declare it outside: all instances call the same"
            self._say(Fault("a component cannot declare functors", functor.at, advice), path)
        here: Home = (known, *home)
        for each in own.components:
            if each.name in known and known[each.name].component in own.components:
                self._say(Fault(f"component {each.name} is declared twice", each.at), path)
            known[each.name] = KnownComponent(each, here, types)
        _add(found, _typed(own, types, gone))
        for instance in own.instances:
            self._instance(instance, found, types, here, path)
        self._open.pop()
        return found, known

    def _instance(
        self, instance: Instance, found: Statements, types: Names, here: Home, path: str
    ) -> None:
        inner = f"{path}.{instance.name}" if path else instance.name
        try:
            brought, _ = self._of(instance.component, types, here, inner, frozenset(), False)
        except Fault as fault:
            self._say(fault, path)
            return
        _add(found, _prefixed(brought, instance.name))

    def _of(
        self,
        wanted: Reference,
        types: Names,
        home: Home,
        path: str,
        gone: frozenset[str],
        inherits: bool,
    ) -> tuple[Statements, dict[str, KnownComponent]]:
        """The inside of the component that is meant, as a base or an instance."""
        name = types.get(wanted.name, wanted.name)
        known = next((frame[name] for frame in home if name in frame), None)
        if known is None:
            names = [each for frame in home for each in frame]
            advice = did_you_mean(name, names, "declare it with `.comp`")
            raise Fault(f"unknown component {name}", wanted.at, advice)
        component = known.component
        takes, given = len(component.parameters), len(wanted.arguments)
        if takes != given:
            types_ = plural(takes, "type")
            message = f"component {name} takes {types_}, not {given}"
            raise Fault(message, wanted.at, f"it is {_signature(component)}")
        if component in self._open:
            if inherits:
                message = f"component {name} inherits from itself"
                raise Fault(message, wanted.at, "remove this base, or name another component")
            message = f"component {name} contains itself"
            raise Fault(message, wanted.at, "an instance inside it may be of another component")
        self._check_limits(wanted.at, inherits)
        given_types = (types.get(each, each) for each in wanted.arguments)
        bound = dict(zip(component.parameters, given_types, strict=True))
        found = self.inside(component, {**known.types, **bound}, known.home, path, gone)
        self._count(found[0], wanted.at)
        return found

    def _count(self, draft: Statements, at: Span) -> None:
        """Count what an instance or a base has brought."""
        self._rules += len(draft.clauses) + len(draft.subsumptions) + len(draft.relations)
        self._facts += len(draft.facts)
        if self._rules > MAX_RULES:
            advice = "make fewer instances"
            self._stop(f"components bring more than {MAX_RULES:,} rules and relations", at, advice)
        if self._facts > MAX_FACTS:
            advice = "make fewer instances, or read their facts from files"
            self._stop(f"components bring more than {MAX_FACTS:,} facts", at, advice)

    def _stop(self, message: str, at: Span, advice: str) -> None:
        """Report a limit once: every further instance would exceed it, too."""
        again, self.stopped = self.stopped, True
        raise Fault("" if again else message, at, advice)

    def _check_limits(self, at: Span, inherits: bool) -> None:
        if self.stopped:
            raise Fault("", at)
        self._instances += 1
        if len(self._open) > MAX_DEPTH:
            advice = "use fewer bases of bases" if inherits else "declare them beside each other"
            self._stop(f"components nested more than {MAX_DEPTH} deep", at, advice)
        if self._instances > MAX_INSTANCES:
            one = "base" if inherits else "instance"
            advice = f"two {one}s of a component that has two itself are four, and so on"
            message = f"more than {MAX_INSTANCES:,} instances and bases of components"
            self._stop(message, at, advice)

    def _check_overrides(self, own: Statements, inherited: Statements, path: str) -> None:
        relations = {each.name: each for each in inherited.relations}
        for name, at in own.overrides:
            relation = relations.get(name)
            if relation is None:
                message = f"no inherited relation {name} to override"
                self._say(Fault(message, at, "declare it in a base, `overridable`"), path)
            elif "overridable" not in relation.qualifiers:
                message = f"relation {name} may not be overridden"
                self._say(Fault(message, at, "declare it `overridable` where it comes from"), path)

    def _say(self, fault: Fault, path: str) -> None:
        if not fault.message:
            return
        at = Inside.of(fault.at, path) if path else fault.at
        self._report(fault.message, at, fault.advice)


def _signature(component: Component) -> str:
    parameters = ", ".join(component.parameters)
    return f"{component.name}<{parameters}>" if parameters else component.name


def _add(found: Statements, more: Statements) -> None:
    found.types += more.types
    found.relations += more.relations
    found.clauses += more.clauses
    found.facts += more.facts
    found.directives += more.directives
    found.subsumptions += more.subsumptions


def _typed(own: Statements, types: Names, gone: frozenset[str]) -> Statements:
    """The statements of a component itself, with types for its parameters."""
    change = _Change({}, types, "") if types else None
    clauses = own.clauses
    if gone:
        left = [(c, tuple(h for h in c.heads if h.relation not in gone)) for c in clauses]
        clauses = [replace(c, heads=heads) for c, heads in left if heads]
    return Statements(
        [change.type_declaration(each) for each in own.types] if change else own.types,
        [change.declaration(each) for each in own.relations] if change else own.relations,
        [change.clause(each) for each in clauses] if change else clauses,
        [each for each in own.facts if each.relation not in gone],
        own.directives,
        subsumptions=[
            change.clause(each) if change else each
            for each in own.subsumptions
            if each.heads[0].relation.removeprefix(UNDER) not in gone
        ],
    )


def _prefixed(found: Statements, instance: str) -> Statements:
    """The statements of an instance, under their outer names."""
    relations = {each.name: f"{instance}.{each.name}" for each in found.relations}
    types = {each.name: f"{instance}.{each.name}" for each in found.types}
    change = _Change(relations, types, instance)
    return Statements(
        [change.type_declaration(each) for each in found.types],
        [change.declaration(each) for each in found.relations],
        [change.clause(each) for each in found.clauses],
        [change.fact(each) for each in found.facts],
        [change.directive(each) for each in found.directives],
        subsumptions=[change.clause(each) for each in found.subsumptions],
    )


class _Change:
    """Other names for relations and types, and places that know their instance."""

    def __init__(self, relations: Names, types: Names, instance: str) -> None:
        self._relations = relations
        self._types = types
        self._instance = instance

    def _at(self, at: Span) -> Span:
        if not self._instance:
            return at
        inner = at.instance if isinstance(at, Inside) else ""
        return Inside.of(at, f"{self._instance}.{inner}" if inner else self._instance)

    def _relation(self, name: str) -> str:
        if name.startswith(UNDER):
            return UNDER + self._relation(name.removeprefix(UNDER))
        return self._relations.get(name, name)

    def _type(self, name: str) -> str:
        return self._types.get(name, name)

    def type_declaration(self, each: TypeDecl) -> TypeDecl:
        of = tuple(self._type(name) for name in each.of)
        branches = tuple(
            BranchDecl(b.name, self._attributes(b.fields), self._at(b.at)) for b in each.branches
        )
        return TypeDecl(self._type(each.name), each.form, of, self._at(each.at), branches)

    def _attributes(self, attributes: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
        return tuple(Attribute(a.name, self._type(a.type_name), self._at(a.at)) for a in attributes)

    def declaration(self, each: RelationDecl) -> RelationDecl:
        attributes = self._attributes(each.attributes)
        name = self._relation(each.name)
        at = self._at(each.at)
        return RelationDecl(
            name, attributes, each.qualifiers, at, each.inferred, choices=each.choices
        )

    def directive(self, each: Directive) -> Directive:
        return replace(each, relation=self._relation(each.relation), at=self._at(each.at))

    def fact(self, each: Fact) -> Fact:
        return Fact(self._relation(each.relation), each.values, self._at(each.at))

    def clause(self, each: Clause) -> Clause:
        heads = tuple(self._atom(head) for head in each.heads)
        return Clause(heads, self._formula(each.body), self._at(each.at))

    def _atom(self, atom: Atom) -> Atom:
        terms = tuple(self._term(term) for term in atom.terms)
        return Atom(self._relation(atom.relation), terms, self._at(atom.at))

    def _formula(self, node: Formula) -> Formula:
        at = self._at(node.at)
        match node:
            case Atom():
                return self._atom(node)
            case Comparison():
                return Comparison(node.op, self._term(node.left), self._term(node.right), at)
            case Not():
                return Not(self._formula(node.part), at)
            case And() | Or():
                return type(node)(tuple(self._formula(part) for part in node.parts), at)
        return replace(node, at=at)

    def _term(self, term: Term) -> Term:
        at = self._at(term.at)
        match term:
            case Call():
                return Call(term.functor, tuple(self._term(each) for each in term.args), at)
            case Cast():
                return Cast(self._term(term.term), self._type(term.type_name), at)
            case Aggregate():
                target = self._term(term.target) if term.target is not None else None
                return Aggregate(term.op, target, self._formula(term.body), at)
        return replace(term, at=at)
