"""An ontology as rules over one relation per class and property.

Rules over `triple(s, p, o)` look up every axiom while they join. Compiled, an axiom *is* a rule, as
in the papers on LUBM: `class_Person(x) :- class_Student(x).` Both derive the same triples about
individuals; compiled rules do not materialise the hierarchy of classes and properties. A change of
the ontology adds and removes rules.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import cast

from tidelog.rdf import axioms, profiles
from tidelog.rdf.axioms import FIXED, Rule, Schema
from tidelog.rdf.literals import Facts, facts_about
from tidelog.rdf.reasoning import accepted
from tidelog.rdf.vocabulary import SAME, TYPE, Triple, is_schema
from tidelog.session.database import Database

Row = tuple[str, ...]

OTHER = "other"  # triples of classes and properties that no axiom mentions
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Za-z]\w*\(?')


@dataclass(frozen=True)
class Compiled:
    """A compiled ontology: rules, and the mapping between triples and facts."""

    rules: dict[str, str]  # by names that do not depend on other axioms
    unary: dict[str, str]  # relations by class
    binary: dict[str, str]  # relations by property
    data: tuple[Triple, ...]  # the ontology's triples about individuals
    equality: bool  # whether terms may be equal
    classes: dict[str, str]  # classes by relation
    properties: dict[str, str]  # properties by relation
    profile: str

    @property
    def declarations(self) -> str:
        """The declarations of relations, and the rules common to all compiled ontologies."""
        unary = (f".decl {name}(x: symbol)" for name in self.unary.values())
        binary = (
            f".decl {name}(x: symbol, y: symbol)"
            for name in self.binary.values()
            if name not in FIXED.values()
        )
        return "\n".join([_common_rules(self.profile), *unary, *binary])

    @property
    def program(self) -> str:
        """The whole program."""
        return "\n".join([self.declarations, *self.rules.values()]) + "\n"

    def rule_changes(self, before: Compiled) -> tuple[list[str], list[str]]:
        """The rules removed and the rules added since an earlier state, in order of addition."""
        # Two axioms may yield the same rule, and a database holds a rule once.
        now, then = (
            {_normalised(text): text for text in each.rules.values()} for each in (self, before)
        )
        removed = [text for shape, text in then.items() if shape not in now]
        return removed, [text for shape, text in now.items() if shape not in then]

    def route(self, triple: Triple) -> tuple[str, Row]:
        """The relation and row of a triple.

        >>> compile([("<c>", profiles.iri("rdfs:subClassOf"), "<d>")]).route(("<x>", TYPE, "<e>"))
        ('other', ('<x>', '<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>', '<e>'))
        """
        s, p, o = triple
        if p == TYPE:
            relation = self.unary.get(o)
            return (relation, (s,)) if relation else (OTHER, triple)
        relation = self.binary.get(p)
        return (relation, (s, o)) if relation else (OTHER, triple)

    def triple_of(self, relation: str, row: Row) -> Triple | None:
        """The triple of a fact; None if the relation does not hold triples."""
        if relation in self.classes:
            return row[0], TYPE, self.classes[relation]
        if relation in self.properties:
            return row[0], self.properties[relation], row[1]
        if relation == OTHER:
            return row[0], row[1], row[2]
        return None


class Ontology:
    """An ontology that is recompiled after each change.

    A relation outlives the axioms that mention it, because it may hold facts.
    """

    def __init__(
        self, profile: str = "owl2rl", prefixes: Mapping[str, str] = profiles.PREFIXES
    ) -> None:
        profiles.check_profile(profile)
        self._prefixes = prefixes  # for messages
        self._profile = profile
        self._tables = Database.of(accepted(profiles.program(profile), profile))
        self._triples: dict[Triple, None] = {}
        self._described: set[str] = set()  # literals with facts in the tables
        self._names = axioms.names(profile)
        self._has_equality = False

    def change(
        self,
        added: Iterable[Triple] = (),
        removed: Iterable[Triple] = (),
        *,
        equality: bool = False,
    ) -> Compiled:
        """Delete and insert triples, and compile the result.

        `equality` says that the data may make terms equal. Once set, by the data or by an axiom,
        it stays set. If the new ontology cannot be compiled, raise and keep the old one.
        """
        before = dict(self._triples)
        self._change(dict.fromkeys(removed), dict.fromkeys(added))
        try:
            return self._compiled(equality)
        except Exception:
            after = self._triples
            self._change([t for t in after if t not in before], before)
            self._triples = before
            raise

    def _change(self, deleted: Iterable[Triple], inserted: Iterable[Triple]) -> None:
        deleted, inserted = [t for t in deleted if t in self._triples], list(inserted)
        with self._tables.transaction() as tx:
            tx.delete("triple", [t for t in deleted if _needed_by_tables(t)])
            tx.insert("triple", [t for t in inserted if _needed_by_tables(t)])
            for relation, rows in self._facts(inserted).items():
                tx.insert(relation, rows)
        for triple in deleted:
            del self._triples[triple]
        self._triples.update(dict.fromkeys(inserted))

    def _facts(self, inserted: Iterable[Triple]) -> Facts:
        """Facts about literals of axioms that the tables still lack."""
        if self._profile != "owl2rl":
            return {}
        new = {o for _, _, o in filter(is_schema, inserted) if o[0] == '"'} - self._described
        self._described |= new
        return facts_about(sorted(new))

    def _compiled(self, equality: bool) -> Compiled:
        schema = Schema(filter(is_schema, self._triples), self._rows, self._names, self._prefixes)
        data = tuple(t for t in self._triples if not is_schema(t))
        if self._profile == "owl2rl":
            axioms.check_equal(((s, o) for s, p, o in data if p == SAME), self._prefixes)
        found = self._axioms(schema)
        equality |= self._has_equality or _makes_equal(found) or any(p == SAME for _, p, _ in data)
        equality &= self._profile == "owl2rl"
        found = [*axioms.routing(schema), *found]  # a relation's routing rule declares it
        if self._profile == "owl2rl":
            found += axioms.literals(schema)
            if equality:
                found += axioms.replacement(schema)
        self._has_equality = equality
        classes, properties = schema.classes, schema.properties
        return Compiled(
            {_name(rule): rule[1] for rule in found},
            dict(classes.relations),
            dict(properties.relations),
            data,
            equality,
            dict(classes.terms),
            dict(properties.terms),
            self._profile,
        )

    def _rows(self, relation: str) -> list[Row]:
        return cast("list[Row]", self._tables[relation].rows())

    def _axioms(self, schema: Schema) -> list[Rule]:
        passes = {"none": (), "rdfs": axioms.RDFS, "owl2rl": axioms.OWL2RL}[self._profile]
        return [rule for each in passes for rule in each(schema)]


def compile(
    triples: Iterable[Triple], profile: str = "owl2rl", *, equality: bool = False
) -> Compiled:
    """Compile an ontology that does not change; see `Ontology` for one that does."""
    return Ontology(profile).change(triples, equality=equality)


def _needed_by_tables(triple: Triple) -> bool:
    """Whether the rule tables need a triple of the ontology: an axiom, or an owl:sameAs."""
    return is_schema(triple) or triple[1] == SAME


def _makes_equal(found: Iterable[Rule]) -> bool:
    """Whether a rule derives equality."""
    return any(text.startswith("same(") for _, text in found)


@lru_cache(maxsize=1 << 14)
def _normalised(text: str) -> str:
    """A rule with its variables renamed in order of occurrence.

    >>> _normalised('p(a, "a") :- q(a, b).')
    'p(v0, "a") :- q(v0, v1).'
    """
    names: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        word = found[0]
        if word[0] == '"' or word[-1] == "(" or word == "true":
            return word
        return names.setdefault(word, f"v{len(names)}")

    return _WORD.sub(named, text)


def _name(rule: Rule) -> str:
    """The W3C's name and a digest of the text."""
    return f"{rule[0]}.{hashlib.sha256(rule[1].encode()).hexdigest()[:12]}"


@cache
def _common_rules(profile: str) -> str:
    name = f"compiled-{'owl2rl' if profile == 'owl2rl' else 'rdfs'}.dl"
    text = files("tidelog.rdf").joinpath("rules", name).read_text(encoding="utf-8")
    return f"{text}\n{profiles.spaces_text()}" if profile == "owl2rl" else text
