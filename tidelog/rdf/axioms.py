"""Axioms as rules over one relation a class or property; each function is some of the W3C's rules.

They read the relations of the rule tables, closed over the ontology alone, so that everything an
axiom can be written as has been looked at there: lists, restrictions, equal classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property

from tidelog.program.diagnostics import TidelogError
from tidelog.rdf.literals import spaces
from tidelog.rdf.naming import Names
from tidelog.rdf.profiles import iri
from tidelog.rdf.vocabulary import CLASSES, DIFFERENT, PREDICATES, SAME, TYPE, Triple
from tidelog.text.write import value_text

Rule = tuple[str, str]  # the W3C's name and the text
Row = tuple[str, ...]

THING = iri("owl:Thing")
NIL = iri("rdf:nil")
FIXED = {SAME: "same", DIFFERENT: "different"}  # properties that OWL 2 RL has
READINGS = 64  # of one list: more than one if it branches


class Schema:
    """An ontology to compile: what was given, what the tables read out of it, and names."""

    def __init__(
        self, given: Iterable[Triple], read: Callable[[str], list[Row]], names: tuple[Names, Names]
    ) -> None:
        self.given = sorted(given)
        self.rows = cache(read)  # of a relation of the tables, by name
        self.classes, self.properties = names

    @cached_property
    def first(self) -> dict[str, list[str]]:
        return _mapped(self.rows("first"))

    @cached_property
    def rest(self) -> dict[str, list[str]]:
        return _mapped(self.rows("rest"))

    @cached_property
    def cells(self) -> dict[str, list[str]]:
        """The cells of lists, by their first one."""
        return _mapped(self.rows("cell"))

    def c(self, term: str) -> str:
        """The relation of a class."""
        if term in CLASSES:
            raise refusal(f"it speaks of members of {term}")
        return self.classes.of(term)

    def p(self, term: str) -> str:
        """The relation of a property."""
        if term in PREDICATES or term == TYPE:
            raise refusal(f"it has an axiom about {term}")
        return self.properties.of(term)

    def pairs(self, predicate: str) -> Iterator[tuple[str, str]]:
        """Given subjects and objects of a predicate, those that are not the same."""
        wanted = iri(predicate)
        return ((s, o) for s, p, o in self.given if p == wanted and s != o)

    def typed(self, kind: str) -> Iterator[str]:
        wanted = iri(kind)
        return (s for s, p, o in self.given if p == TYPE and o == wanted)

    def lists(self, head: str) -> list[tuple[str, ...]]:
        """The sequences of members that a list stands for: none if it never ends."""
        found: list[tuple[str, ...]] = []
        paths: list[tuple[str, frozenset[str], tuple[str, ...]]] = [(head, frozenset(), ())]
        steps = READINGS * (len(self.rest) + 1)
        while paths:
            steps -= 1
            node, seen, members = paths.pop()
            if node == NIL and members:
                found.append(members)
            if node == NIL or node in seen:
                continue
            for member in self.first.get(node, ()):
                for rest in self.rest.get(node, ()):
                    paths.append((rest, seen | {node}, (*members, member)))
            if not steps or len(found) > READINGS:
                raise refusal(f"the list {head} branches")
        return sorted(found)


def names(profile: str) -> tuple[Names, Names]:
    """For classes and for properties. In RDFS owl:sameAs is a property like any other."""
    return Names("class"), Names("property", FIXED if profile == "owl2rl" else None)


def refusal(why: str) -> TidelogError:
    return TidelogError(
        f"error: the ontology cannot be compiled: {why}\n    reason over triples instead"
    )


def _mapped(rows: Iterable[tuple[str, ...]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in rows:
        found.setdefault(key, []).append(value)
    return found


def q(term: str) -> str:
    """A term as a constant of a rule."""
    return value_text(term, "symbol")


# RDFS, and what OWL 2 RL has of it.


def hierarchy(s: Schema) -> Iterator[Rule]:
    for c, d in s.pairs("rdfs:subClassOf"):
        yield "cax-sco", f"{s.c(d)}(x) :- {s.c(c)}(x)."
    for p, r in s.pairs("rdfs:subPropertyOf"):
        yield "prp-spo1", f"{s.p(r)}(x, y) :- {s.p(p)}(x, y)."


def domains(s: Schema) -> Iterator[Rule]:
    for p, c in s.pairs("rdfs:domain"):
        yield "prp-dom", f"{s.c(c)}(x) :- {s.p(p)}(x, _)."
    for p, c in s.pairs("rdfs:range"):
        yield "prp-rng", f"{s.c(c)}(y) :- {s.p(p)}(_, y)."


def containers(s: Schema) -> Iterator[Rule]:
    for p in s.typed("rdfs:ContainerMembershipProperty"):
        yield "rdfs12", f"{s.p(iri('rdfs:member'))}(x, y) :- {s.p(p)}(x, y)."
    for d in s.typed("rdfs:Datatype"):
        yield "rdfs13", f"{s.c(iri('rdfs:Literal'))}(x) :- {s.c(d)}(x)."


# Properties.


def equivalent_properties(s: Schema) -> Iterator[Rule]:
    for p, r in s.pairs("owl:equivalentProperty"):
        yield "prp-eqp1", f"{s.p(r)}(x, y) :- {s.p(p)}(x, y)."
        yield "prp-eqp2", f"{s.p(p)}(x, y) :- {s.p(r)}(x, y)."
    for p, r in s.rows("inverse"):
        yield "prp-inv1", f"{s.p(r)}(y, x) :- {s.p(p)}(x, y)."
        yield "prp-inv2", f"{s.p(p)}(y, x) :- {s.p(r)}(x, y)."


def kinds_of_properties(s: Schema) -> Iterator[Rule]:
    for (p,) in s.rows("functional"):
        yield "prp-fp", f"same(y, z) :- {s.p(p)}(x, y), {s.p(p)}(x, z), y != z."
    for (p,) in s.rows("inverse_functional"):
        yield "prp-ifp", f"same(x, z) :- {s.p(p)}(x, y), {s.p(p)}(z, y), x != z."
    for (p,) in s.rows("symmetric"):
        yield "prp-symp", f"{s.p(p)}(y, x) :- {s.p(p)}(x, y)."
    for (p,) in s.rows("transitive_property"):
        yield "prp-trp", f"{s.p(p)}(x, z) :- {s.p(p)}(x, y), {s.p(p)}(y, z)."


def chains(s: Schema) -> Iterator[Rule]:
    for p, head in s.rows("chain"):
        for links in s.lists(head):
            atoms = [f"{s.p(r)}(x{i}, x{i + 1})" for i, r in enumerate(links)]
            yield "prp-spo2", f"{s.p(p)}(x0, x{len(links)}) :- {', '.join(atoms)}."


def keys(s: Schema) -> Iterator[Rule]:
    for c, head in s.rows("key"):
        for parts in s.lists(head):
            shared = [f"{s.p(p)}(x, z{i}), {s.p(p)}(y, z{i})" for i, p in enumerate(parts)]
            body = ", ".join([f"{s.c(c)}(x)", shared[0], "x != y", f"{s.c(c)}(y)", *shared[1:]])
            yield "prp-key", f"same(x, y) :- {body}."


def refuted_by_properties(s: Schema) -> Iterator[Rule]:
    for (p,) in s.rows("irreflexive"):
        yield "prp-irp", f'inconsistent("prp-irp", {q(p)}, x, "") :- {s.p(p)}(x, x).'
    for (p,) in s.rows("asymmetric"):
        r = s.p(p)
        yield "prp-asyp", f'inconsistent("prp-asyp", {q(p)}, x, y) :- {r}(x, y), {r}(y, x).'
    for p, r in s.rows("disjoint_property"):
        head = f'inconsistent("prp-pdw", {q(p)}, {q(r)}, x)'
        yield "prp-pdw", f"{head} :- {s.p(p)}(x, y), {s.p(r)}(x, y)."
    for (head,) in s.rows("disjoint_properties"):
        for node, p in _places(s, head):
            place = f"{q(head)}, {q(node)}, {q(p)}"
            yield "prp-adp", f"disjoint_link({place}, x, y) :- {s.p(p)}(x, y)."


def _places(s: Schema, head: str) -> Iterator[tuple[str, str]]:
    """Where members stand in a list."""
    for node in s.cells.get(head, ()):
        for member in s.first.get(node, ()):
            yield node, member


def denied(s: Schema) -> Iterator[Rule]:
    """Negative property assertions."""
    for rule, x, a, p, o in s.rows("denied"):
        yield rule, f"denied({', '.join(map(q, (rule, x, a, p, o)))}) :- true."
        found = f"denied({q(rule)}, x, s, {q(p)}, o), {s.p(p)}(s, o)"
        yield rule, f"inconsistent({q(rule)}, x, s, o) :- {found}."


# Classes.


def equivalent_classes(s: Schema) -> Iterator[Rule]:
    for c, d in s.pairs("owl:equivalentClass"):
        yield "cax-eqc1", f"{s.c(d)}(x) :- {s.c(c)}(x)."
        yield "cax-eqc2", f"{s.c(c)}(x) :- {s.c(d)}(x)."


def restrictions_in_order(s: Schema) -> Iterator[Rule]:
    """Restrictions that the tables' schema rules put below others (scm-hv, scm-svf1, …)."""
    restrictions = {r for r, _ in s.rows("on_property")}
    for c, d in s.rows("sub_class"):
        if c != d and c in restrictions and d in restrictions:
            yield "cax-sco", f"{s.c(d)}(x) :- {s.c(c)}(x)."


def combined(s: Schema) -> Iterator[Rule]:
    for c, head in s.rows("intersection"):
        for parts in s.lists(head):
            yield "cls-int1", f"{s.c(c)}(x) :- {', '.join(f'{s.c(d)}(x)' for d in parts)}."
    for c, d in s.rows("intersection_has"):
        yield "cls-int2", f"{s.c(d)}(x) :- {s.c(c)}(x)."
    for c, d in s.rows("union_has"):
        yield "cls-uni", f"{s.c(c)}(x) :- {s.c(d)}(x)."
    members = _mapped(s.rows("member"))
    for c, head in s.rows("one_of"):
        for x in members.get(head, ()):
            yield "cls-oo", f"{s.c(c)}({q(x)}) :- true."


def restrictions(s: Schema) -> Iterator[Rule]:
    for r, p, c in s.rows("some_values"):
        yield "cls-svf1", f"{s.c(r)}(u) :- {s.p(p)}(u, v), {s.c(c)}(v)."
        if c == THING:
            yield "cls-svf2", f"{s.c(r)}(x) :- {s.p(p)}(x, _)."
    for r, p, c in s.rows("all_values"):
        yield "cls-avf", f"{s.c(c)}(v) :- {s.c(r)}(u), {s.p(p)}(u, v)."
    for r, p, v in s.rows("value_of"):
        yield "cls-hv1", f"{s.p(p)}(u, {q(v)}) :- {s.c(r)}(u)."
        yield "cls-hv2", f"{s.c(r)}(u) :- {s.p(p)}(u, {q(v)})."


def cardinalities(s: Schema) -> Iterator[Rule]:
    for r, p in s.rows("none_of"):
        head = f'inconsistent("cls-maxc1", {q(r)}, u, y)'
        yield "cls-maxc1", f"{head} :- {s.c(r)}(u), {s.p(p)}(u, y)."
    for r, p in s.rows("at_most_one"):
        yield "cls-maxc2", f"same(y, z) :- {s.c(r)}(u), {s.p(p)}(u, y), {s.p(p)}(u, z), y != z."
    for r, p, c in s.rows("no_qualified"):
        body = f"{s.c(r)}(u), {s.p(p)}(u, y)"
        for name, of in (("cls-maxqc1", f", {s.c(c)}(y)"), ("cls-maxqc2", "")):
            if of or c == THING:
                yield name, f"inconsistent({q(name)}, {q(r)}, u, y) :- {body}{of}."
    for r, p, c in s.rows("one_qualified"):
        body = f"{s.c(r)}(u), {s.p(p)}(u, y), {s.p(p)}(u, z), y != z"
        yield "cls-maxqc3", f"same(y, z) :- {body}, {s.c(c)}(y), {s.c(c)}(z)."
        if c == THING:
            yield "cls-maxqc4", f"same(y, z) :- {body}."


def refuted_by_classes(s: Schema) -> Iterator[Rule]:
    nothing = s.c(iri("owl:Nothing"))  # data may have members of it that no axiom mentions
    yield "cls-nothing2", f'inconsistent("cls-nothing2", x, "", "") :- {nothing}(x).'
    for rule, relation in (("cax-dw", "disjoint_with"), ("cls-com", "complement")):
        for c, d in s.rows(relation):
            head = f"inconsistent({q(rule)}, {q(c)}, {q(d)}, x)"
            yield rule, f"{head} :- {s.c(c)}(x), {s.c(d)}(x)."
    for (head,) in s.rows("disjoint_classes"):
        for node, c in _places(s, head):
            place = f"{q(head)}, {q(node)}, {q(c)}"
            yield "cax-adc", f"disjoint_member({place}, x) :- {s.c(c)}(x)."


def all_different(s: Schema) -> Iterator[Rule]:
    for owner, head, rule in s.rows("different"):
        for node, a in _places(s, head):
            yield rule, f"place({q(rule)}, {q(owner)}, {q(node)}, {q(a)}) :- true."


# Equality.


def replacement(s: Schema) -> Iterator[Rule]:
    """Equal terms in each other's places, in every relation there is."""
    for c in s.classes.terms:
        yield "eq-rep-s", f"{c}(y) :- same(x, y), x != y, {c}(x)."
    for p in s.properties.terms:
        if p != "same":
            yield "eq-rep-s", f"{p}(y, z) :- same(x, y), x != y, {p}(x, z)."
            yield "eq-rep-o", f"{p}(z, y) :- same(x, y), x != y, {p}(z, x)."
    yield "eq-rep-s", "other(y, p, o) :- same(x, y), x != y, other(x, p, o)."
    yield "eq-rep-o", "other(s, p, y) :- same(x, y), x != y, other(s, p, x)."
    yield from equal_relations(s)
    typed = f'other(l, {q(TYPE)}, d), datatype(d), substr(l, 0, 1) = "\\""'
    yield "dt-type2", f"typed_literal(l, d) :- {typed}."
    yield (
        "dt-eq",
        "same(a, b) :- literal(a, _, v), literal(b, _, v), a != b, occurs(a), occurs(b).",
    )
    yield "dt-eq", "same(a, v) :- literal(a, _, v), a != v, occurs(a), occurs(v)."


def equal_relations(s: Schema) -> Iterator[Rule]:
    """Classes and properties that are the same have the same members. They go by the others, in
    which they are terms like all; from there `routing` brings them to the relations of both."""
    equal = {term for row in s.rows("same") for term in row}
    for term, c in s.classes.relations.items():
        yield "eq-rep-o", f"other(x, {q(TYPE)}, {q(term)}) :- equated({q(term)}), {c}(x)."
    for term, p in s.properties.relations.items():
        if term not in FIXED or term in equal:
            yield "eq-rep-p", f"other(x, {q(term)}, y) :- equated({q(term)}), {p}(x, y)."
        if term in FIXED and term in equal:
            yield "route", f"{p}(x, y) :- other(x, {q(term)}, y)."
    yield "eq-rep-p", "other(s, q, o) :- same(p, q), p != q, other(s, p, o)."


def check_equal(pairs: Iterable[tuple[str, str]]) -> None:
    """What gives the W3C's own words a second name would make axioms out of data."""
    for a, b in pairs:
        for one, other in ((a, b), (b, a)):
            if a != b and (one in CLASSES or one in PREDICATES or one == TYPE):
                raise refusal(f"it says that {other} is the same as {one}")


def literals(s: Schema) -> Iterator[Rule]:
    """Where literals stand, and the types that they are given."""
    for term in dict.fromkeys(o for _, _, o in s.given if o.startswith('"')):
        yield "dt-type2", f"occurs({q(term)}) :- mentioned({q(term)})."
    for p in s.properties.terms:
        yield "dt-type2", f"occurs(l) :- {p}(_, l), mentioned(l)."
    for d in dict.fromkeys(d for _, d in spaces()):
        if d in s.classes.relations:
            first = 'substr(l, 0, 1) = "\\""'
            yield "dt-type2", f"typed_literal(l, {q(d)}) :- {s.c(d)}(l), {first}."


def routing(s: Schema) -> Iterator[Rule]:
    """Triples that came before their class or property was known; so each relation has a rule."""
    for term, c in s.classes.relations.items():
        yield "route", f"{c}(x) :- other(x, {q(TYPE)}, {q(term)})."
    for term, p in s.properties.relations.items():
        if p not in FIXED.values():
            yield "route", f"{p}(x, y) :- other(x, {q(term)}, y)."


RDFS = (hierarchy, domains, containers)
OWL2RL = (
    *(hierarchy, domains, equivalent_properties, kinds_of_properties, chains, keys),
    *(refuted_by_properties, denied, equivalent_classes, restrictions_in_order, combined),
    *(restrictions, cardinalities, refuted_by_classes, all_different),
)
