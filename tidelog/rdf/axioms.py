"""Axioms as rules over one relation per class and property.

Each function implements some of the W3C's rules. It reads the relations of the rule tables,
materialised over the ontology alone, which resolve lists, restrictions and equal classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property

from tidelog.program.diagnostics import TidelogError
from tidelog.rdf.literals import spaces
from tidelog.rdf.profiles import iri, short
from tidelog.rdf.relation_names import Names
from tidelog.rdf.vocabulary import CLASSES, DIFFERENT, PREDICATES, SAME, TYPE, Triple
from tidelog.text.writer import value_text

Rule = tuple[str, str]  # the W3C's name and the text
Row = tuple[str, ...]

THING = iri("owl:Thing")
NIL = iri("rdf:nil")
FIRST, REST = iri("rdf:first"), iri("rdf:rest")
FIXED = {SAME: "same", DIFFERENT: "different"}  # properties built into OWL 2 RL
MAX_READINGS = 64  # sequences of one list, which has more than one if it branches


class Schema:
    """An ontology to compile: its triples, the relations of the rule tables, and names."""

    def __init__(
        self,
        triples: Iterable[Triple],
        read: Callable[[str], list[Row]],
        names: tuple[Names, Names],
        prefixes: Mapping[str, str],
    ) -> None:
        self.prefixes = prefixes  # for messages
        self.triples = sorted(triples)
        self.rows = cache(read)  # the rows of a relation of the rule tables
        self.classes, self.properties = names

    @cached_property
    def first(self) -> dict[str, list[str]]:
        return _mapped(self.rows("first"))

    @cached_property
    def rest(self) -> dict[str, list[str]]:
        return _mapped(self.rows("rest"))

    @cached_property
    def cells(self) -> dict[str, list[str]]:
        """The cells of lists, by first cell."""
        return _mapped(self.rows("cell"))

    def c(self, term: str) -> str:
        """The relation of a class."""
        if term in CLASSES:
            raise self._refusal("it describes members of {}", term)
        return self.classes.of(term)

    def p(self, term: str) -> str:
        """The relation of a property."""
        if term in PREDICATES or term == TYPE:
            raise self._refusal("it has an axiom about {}", term)
        return self.properties.of(term)

    def _refusal(self, why: str, term: str) -> TidelogError:
        """With an axiom that mentions the term, where the ontology states one."""
        return refusal(why.format(short(term, self.prefixes)), self._axiom(term))

    def _axiom(self, term: str) -> str:
        """The axiom that mentions a term, from its subject on: a blank node is part of another."""
        step = next((each for each in self.triples if term in (each[0], each[2])), None)
        if step is None:
            return ""
        text = "[…]" if step[2].startswith("_:") else self._short(step[2])
        seen = {step}
        while (above := self._above(step, seen)) is not None:
            text, step = self._inside(step, text), above
            seen.add(step)
        return f"the axiom: {self._short(step[0])} {self._short(step[1])} {text} ."

    def _above(self, step: Triple, seen: set[Triple]) -> Triple | None:
        if not step[0].startswith("_:"):
            return None
        return next(
            (each for each in self.triples if each[2] == step[0] and each not in seen), None
        )

    def _inside(self, step: Triple, text: str) -> str:
        """What a blank node stands for: a list with this member, or a node with this property."""
        node, predicate, _ = step
        if predicate == FIRST:
            return f"(… {text} …)"
        if predicate == REST:
            return text
        others = any(s == node and p != predicate for s, p, _ in self.triples)
        return f"[{self._short(predicate)} {text}{'; …' if others else ''}]"

    def _short(self, term: str) -> str:
        return "[]" if term.startswith("_:") else short(term, self.prefixes)

    def pairs(self, predicate: str) -> Iterator[tuple[str, str]]:
        """The subjects and objects of a predicate, where they differ."""
        wanted = iri(predicate)
        return ((s, o) for s, p, o in self.triples if p == wanted and s != o)

    def typed(self, kind: str) -> Iterator[str]:
        wanted = iri(kind)
        return (s for s, p, o in self.triples if p == TYPE and o == wanted)

    def lists(self, head: str) -> list[tuple[str, ...]]:
        """The member sequences of a list: none if it is cyclic, several if it branches."""
        found: list[tuple[str, ...]] = []
        paths: list[tuple[str, frozenset[str], tuple[str, ...]]] = [(head, frozenset(), ())]
        steps = MAX_READINGS * (len(self.rest) + 1)
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
            if not steps or len(found) > MAX_READINGS:
                raise refusal(f"the list {head} branches", self._axiom(head))
        return sorted(found)


def names(profile: str) -> tuple[Names, Names]:
    """Relation names of classes and of properties. In RDFS owl:sameAs is an ordinary property."""
    return Names("class"), Names("property", FIXED if profile == "owl2rl" else None)


def refusal(why: str, axiom: str = "") -> TidelogError:
    lines = [f"error: the ontology cannot be compiled: {why}", axiom, "reason over triples instead"]
    return TidelogError("\n    ".join(filter(None, lines)))


def _mapped(rows: Iterable[tuple[str, ...]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in rows:
        found.setdefault(key, []).append(value)
    return found


def q(term: str) -> str:
    """A term as a constant of a rule."""
    return value_text(term, "symbol")


# RDFS, and the part of it that OWL 2 RL shares.


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


def property_kinds(s: Schema) -> Iterator[Rule]:
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


def property_inconsistencies(s: Schema) -> Iterator[Rule]:
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
    """The cells of a list with their members."""
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


def restriction_hierarchy(s: Schema) -> Iterator[Rule]:
    """Subclass axioms between restrictions, derived by the tables (scm-hv, scm-svf1, …)."""
    restrictions = {r for r, _ in s.rows("on_property")}
    for c, d in s.rows("sub_class"):
        if c != d and c in restrictions and d in restrictions:
            yield "cax-sco", f"{s.c(d)}(x) :- {s.c(c)}(x)."


def boolean_classes(s: Schema) -> Iterator[Rule]:
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


def class_inconsistencies(s: Schema) -> Iterator[Rule]:
    nothing = s.c(iri("owl:Nothing"))  # data may use it even if no axiom does
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
    """Substitute equal terms for each other in every relation."""
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
    """Equal classes and properties have the same members.

    `other` holds them as triples, where rules can equate classes and properties; `routing` copies
    them to the relations of both.
    """
    equal = {term for row in s.rows("same") for term in row}
    for term, c in s.classes.relations.items():
        yield "eq-rep-o", f"other(x, {q(TYPE)}, {q(term)}) :- equated({q(term)}), {c}(x)."
    for term, p in s.properties.relations.items():
        if term not in FIXED or term in equal:
            yield "eq-rep-p", f"other(x, {q(term)}, y) :- equated({q(term)}), {p}(x, y)."
        if term in FIXED and term in equal:
            yield "route", f"{p}(x, y) :- other(x, {q(term)}, y)."
    yield "eq-rep-p", "other(s, q, o) :- same(p, q), p != q, other(s, p, o)."


def check_equal(pairs: Iterable[tuple[str, str]], prefixes: Mapping[str, str]) -> None:
    """Reject synonyms of the W3C's vocabulary, which would turn data into axioms."""
    for a, b in pairs:
        for one, other in ((a, b), (b, a)):
            if a != b and (one in CLASSES or one in PREDICATES or one == TYPE):
                same = f"{short(other, prefixes)} is the same as {short(one, prefixes)}"
                raise refusal(f"it says that {same}")


def literals(s: Schema) -> Iterator[Rule]:
    """Literals that occur, and the datatypes that rules assign to them."""
    for term in dict.fromkeys(o for _, _, o in s.triples if o.startswith('"')):
        yield "dt-type2", f"occurs({q(term)}) :- mentioned({q(term)})."
    for p in s.properties.terms:
        yield "dt-type2", f"occurs(l) :- {p}(_, l), mentioned(l)."
    for d in dict.fromkeys(d for _, d in spaces()):
        if d in s.classes.relations:
            first = 'substr(l, 0, 1) = "\\""'
            yield "dt-type2", f"typed_literal(l, {q(d)}) :- {s.c(d)}(l), {first}."


def routing(s: Schema) -> Iterator[Rule]:
    """Copy triples from `other` to the relations of their classes and properties."""
    for term, c in s.classes.relations.items():
        yield "route", f"{c}(x) :- other(x, {q(TYPE)}, {q(term)})."
    for term, p in s.properties.relations.items():
        if p not in FIXED.values():
            yield "route", f"{p}(x, y) :- other(x, {q(term)}, y)."


RDFS = (hierarchy, domains, containers)
OWL2RL = (
    *(hierarchy, domains, equivalent_properties, property_kinds, chains, keys),
    *(property_inconsistencies, denied, equivalent_classes, restriction_hierarchy, boolean_classes),
    *(restrictions, cardinalities, class_inconsistencies, all_different),
)
