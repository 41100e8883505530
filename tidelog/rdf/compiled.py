"""An ontology as rules over one relation for each of its classes and properties.

Rules over `triple(s, p, o)` look every axiom up while they join; compiled, an axiom *is* a rule, as
in the papers on LUBM: `class_Person(x) :- class_Student(x).` Consequences for things are the same;
those for classes and properties (which class is below which) are not materialised. When the
ontology changes, rules come and go.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import cast

from tidelog.api import Database
from tidelog.rdf import axioms, profiles
from tidelog.rdf.axioms import FIXED, Rule, Schema
from tidelog.rdf.literals import Facts, facts_about
from tidelog.rdf.vocabulary import SAME, TYPE, Triple, is_schema
from tidelog.rdf.ways import accepted

Row = tuple[str, ...]

OTHER = "other"  # triples of classes and properties that no axiom mentions
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Za-z]\w*\(?')


@dataclass(frozen=True)
class Compiled:
    """Rules, relations, and the way of a triple into them and back."""

    rules: dict[str, str]  # by names that stay the same while other axioms change
    unary: dict[str, str]  # relations by class
    binary: dict[str, str]  # relations by property
    data: tuple[Triple, ...]  # what the ontology says of things, to be routed like other data
    equality: bool  # terms may be equal, and stand for each other
    classes: dict[str, str]  # and back
    properties: dict[str, str]
    profile: str

    @property
    def declarations(self) -> str:
        """Relations, and the rules that every compiled ontology has."""
        unary = (f".decl {name}(x: symbol)" for name in self.unary.values())
        binary = (
            f".decl {name}(x: symbol, y: symbol)"
            for name in self.binary.values()
            if name not in FIXED.values()
        )
        return "\n".join([_common(self.profile), *unary, *binary])

    @property
    def program(self) -> str:
        """All of it, to begin with."""
        return "\n".join([self.declarations, *self.rules.values()]) + "\n"

    def since(self, before: Compiled) -> tuple[list[str], list[str]]:
        """Rules that went since another state of the ontology, and those that came, in an order
        in which they can be added."""
        # Two axioms may be one rule, which a database has once.
        ours, theirs = (
            {_shape(text): text for text in one.rules.values()} for one in (self, before)
        )
        gone = [text for shape, text in theirs.items() if shape not in ours]
        return gone, [text for shape, text in ours.items() if shape not in theirs]

    def route(self, triple: Triple) -> tuple[str, Row]:
        """The relation and the row of a triple.

        >>> compile([("<c>", profiles.iri("rdfs:subClassOf"), "<d>")]).route(("<x>", TYPE, "<e>"))
        ('other', ('<x>', '<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>', '<e>'))
        """
        s, p, o = triple
        if p == TYPE:
            relation = self.unary.get(o)
            return (relation, (s,)) if relation else (OTHER, triple)
        relation = self.binary.get(p)
        return (relation, (s, o)) if relation else (OTHER, triple)

    def back(self, relation: str, row: Row) -> Triple | None:
        """The triple of a fact; None if the relation has no triples."""
        if relation in self.classes:
            return row[0], TYPE, self.classes[relation]
        if relation in self.properties:
            return row[0], self.properties[relation], row[1]
        if relation == OTHER:
            return row[0], row[1], row[2]
        return None


class Ontology:
    """An ontology that changes, and is compiled again after each change.

    A relation stays once there was an axiom for it, since facts may be in it.
    """

    def __init__(self, profile: str = "owl2rl") -> None:
        profiles.check_profile(profile)
        self._profile = profile
        self._tables = Database.of(accepted(profiles.program(profile), profile))
        self._given: dict[Triple, None] = {}
        self._described: set[str] = set()  # literals whose facts the tables have
        self._names = axioms.names(profile)
        self._equality = False

    def change(
        self,
        added: Iterable[Triple] = (),
        removed: Iterable[Triple] = (),
        *,
        equality: bool = False,
    ) -> Compiled:
        """The ontology without some triples and with others, compiled.

        `equality` says that the data have equal terms; it stays so, as it does once an axiom that
        can make terms equal has been there. An ontology that cannot be compiled is refused, and
        then this one stays as it was.
        """
        gone, come = tuple(dict.fromkeys(removed)), tuple(dict.fromkeys(added))
        before = dict(self._given)
        self._change(gone, come)
        try:
            return self._compiled(equality)
        except Exception:
            after = self._given
            self._change([t for t in after if t not in before], before)
            self._given = before
            raise

    def _change(self, gone: Iterable[Triple], come: Iterable[Triple]) -> None:
        gone, come = [t for t in gone if t in self._given], list(come)
        with self._tables.transaction() as tx:
            tx.delete("triple", [t for t in gone if _concerns_schema(t)])
            tx.insert("triple", [t for t in come if _concerns_schema(t)])
            for relation, rows in self._facts(come).items():
                tx.insert(relation, rows)
        for triple in gone:
            del self._given[triple]
        self._given.update(dict.fromkeys(come))

    def _facts(self, come: Iterable[Triple]) -> Facts:
        """What the tables do not know yet of the literals of axioms."""
        if self._profile != "owl2rl":
            return {}
        new = {o for _, _, o in filter(is_schema, come) if o[0] == '"'} - self._described
        self._described |= new
        return facts_about(sorted(new))

    def _compiled(self, equality: bool) -> Compiled:
        schema = Schema(filter(is_schema, self._given), self._rows, self._names)
        data = tuple(t for t in self._given if not is_schema(t))
        if self._profile == "owl2rl":
            axioms.check_equal((s, o) for s, p, o in data if p == SAME)
        found = self._axioms(schema)
        equality |= self._equality or _equates(found) or any(p == SAME for _, p, _ in data)
        equality &= self._profile == "owl2rl"
        found = [*axioms.routing(schema), *found]  # with its rule a relation begins to be
        if self._profile == "owl2rl":
            found += axioms.literals(schema)
            if equality:
                found += axioms.replacement(schema)
        self._equality = equality
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
    """An ontology's rules; see `Ontology` for one that changes."""
    return Ontology(profile).change(triples, equality=equality)


def _concerns_schema(triple: Triple) -> bool:
    """What the tables must see of an ontology: its axioms, and which terms are the same."""
    return is_schema(triple) or triple[1] == SAME


def _equates(found: Iterable[Rule]) -> bool:
    """Can one of the rules make terms equal?"""
    return any(text.startswith("same(") for _, text in found)


@lru_cache(maxsize=1 << 14)
def _shape(text: str) -> str:
    """A rule up to the names of its variables.

    >>> _shape('p(a, "a") :- q(a, b).')
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
    """The W3C's name, and digits that the text decides."""
    return f"{rule[0]}.{hashlib.sha256(rule[1].encode()).hexdigest()[:12]}"


@cache
def _common(profile: str) -> str:
    name = f"compiled-{'owl2rl' if profile == 'owl2rl' else 'rdfs'}.dl"
    text = files("tidelog.rdf").joinpath("rules", name).read_text(encoding="utf-8")
    return f"{text}\n{profiles.spaces_text()}" if profile == "owl2rl" else text
