"""Facts for the benchmarks: seeded generators, and the facts of recorded update streams.

Every generator returns distinct rows of int64 in a fixed order: the same seed gives the same
array on every machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Facts = dict[str, Rows]

STREAMS = Path(__file__).parent / "streams"


def distinct(rows: Rows) -> Rows:
    """The distinct rows, in the order of their first appearance."""
    _, first = np.unique(rows, axis=0, return_index=True)
    return np.ascontiguousarray(rows[np.sort(first)])


def distinct_sorted(rows: Rows) -> Rows:
    """The distinct rows, in sorted order; fast for millions of rows."""
    rows = rows[np.lexsort(rows.T[::-1])]
    fresh = np.ones(len(rows), dtype=bool)
    fresh[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    return np.ascontiguousarray(rows[fresh])


def random_digraph(nodes: int, density: float, seed: int) -> Rows:
    """A share `density` of all pairs of different nodes, each pair equally likely."""
    rng = np.random.default_rng(seed)
    pairs = nodes * (nodes - 1)
    picked = rng.choice(pairs, size=round(density * pairs), replace=False)
    source, rest = np.divmod(picked, nodes - 1)
    target = rest + (rest >= source)  # the diagonal is left out
    return np.column_stack([source, target]).astype(np.int64)


SKEWED = (0.57, 0.19, 0.19, 0.05)  # Graph500's
GTGRAPH = (0.45, 0.15, 0.15, 0.25)  # the defaults of GTgraph (Bader, Madduri 2006)


def rmat(
    nodes: int, edges: int, seed: int, shares: tuple[float, float, float, float] = SKEWED
) -> Rows:
    """An R-MAT graph (Chakrabarti, Zhan, Faloutsos 2004); `shares` are its a, b, c and d.

    The number of nodes need not be a power of two: edges that fall outside are drawn again, as are
    loops and duplicates.
    """
    rng = np.random.default_rng(seed)
    levels = max(1, (nodes - 1).bit_length())
    found = np.empty((0, 2), dtype=np.int64)
    while len(found) < edges:
        quadrant = rng.choice(4, size=(2 * edges, levels), p=shares)
        weight = 1 << np.arange(levels, dtype=np.int64)
        source, target = (quadrant >> 1) @ weight, (quadrant & 1) @ weight
        fits = (source < nodes) & (target < nodes) & (source != target)
        found = distinct(np.concatenate([found, np.column_stack([source, target])[fits]]))
    return found[:edges]


def random_dag(nodes: int, edges: int, seed: int) -> Rows:
    """Distinct edges from a lower to a higher node, each equally likely."""
    rng = np.random.default_rng(seed)
    found = np.empty((0, 2), dtype=np.int64)
    while len(found) < edges:
        ends = np.sort(rng.integers(nodes, size=(2 * edges, 2)), axis=1)
        found = distinct(np.concatenate([found, ends[ends[:, 0] < ends[:, 1]]]))
    return found[:edges]


def trees(count: int, depth: int, fan_out: int, seed: int) -> Rows:
    """`parent(child, parent)` of trees whose inner nodes have 1 to 2 * fan_out - 1 children."""
    rng = np.random.default_rng(seed)
    level = np.arange(count, dtype=np.int64)
    fresh = count
    edges = []
    for _ in range(depth):
        parents = np.repeat(level, rng.integers(1, 2 * fan_out, size=len(level)))
        level = np.arange(fresh, fresh + len(parents), dtype=np.int64)
        fresh += len(parents)
        edges.append(np.column_stack([level, parents]))
    return np.concatenate(edges)


def points_to(modules: int, seed: int) -> Facts:
    """The input of an Andersen-style analysis with fields, in the shape that real code has.

    Each module owns 400 variables, 80 allocation sites and 8 fields. Values flow forward through a
    module's variables, with a few loops, and one assignment in a thousand reads another module.
    """
    rng = np.random.default_rng(seed)
    variables, objects, fields = 400, 80, 8

    def homes(per_module: int) -> Rows:
        return np.repeat(np.arange(modules, dtype=np.int64), per_module)

    def local(home: Rows) -> Rows:
        return rng.integers(variables, size=len(home))

    def variable(home: Rows) -> Rows:
        return home * variables + local(home)

    def pick_field(home: Rows) -> Rows:
        return home * fields + rng.integers(fields, size=len(home))

    home = homes(120)
    sites = home * objects + rng.integers(objects, size=len(home))
    new = np.column_stack([variable(home), modules * variables + sites])

    home = homes(460)
    ends = np.sort(np.column_stack([local(home), local(home)]), axis=1)
    forward = rng.random(len(home)) >= 0.05
    target, source = np.where(forward, ends.T[::-1], ends.T)
    roams = rng.random(len(home)) < 0.001
    other = np.where(roams, rng.integers(modules, size=len(home)), home)
    assign = np.column_stack([home * variables + target, other * variables + source])

    home = homes(130)
    load = np.column_stack([variable(home), variable(home), pick_field(home)])
    home = homes(110)
    store = np.column_stack([variable(home), pick_field(home), variable(home)])
    facts = {"new": new, "assign": assign, "load": load, "store": store}
    return {name: distinct(rows) for name, rows in facts.items()}


# The vocabulary of univ-bench: what LUBM's departments are described with.
SUBCLASSES = """
AdministrativeStaff<Employee Article<Publication AssistantProfessor<Professor
AssociateProfessor<Professor Book<Publication Chair<Professor ClericalStaff<AdministrativeStaff
College<Organization ConferencePaper<Article Course<Work Dean<Professor Department<Organization
Director<Person Employee<Person Faculty<Employee FullProfessor<Professor GraduateCourse<Course
GraduateStudent<Person Institute<Organization JournalArticle<Article Lecturer<Faculty
Manual<Publication PostDoc<Faculty Professor<Faculty Program<Organization Research<Work
ResearchAssistant<Person ResearchGroup<Organization Software<Publication
Specification<Publication Student<Person SystemsStaff<AdministrativeStaff
TeachingAssistant<Person TechnicalReport<Article UndergraduateStudent<Student
University<Organization UnofficialPublication<Publication VisitingProfessor<Professor
"""
SUBPROPERTIES = """
headOf<worksFor worksFor<memberOf undergraduateDegreeFrom<degreeFrom
mastersDegreeFrom<degreeFrom doctoralDegreeFrom<degreeFrom
"""
DOMAINS = """
advisor:Person affiliatedOrganizationOf:Organization affiliateOf:Organization age:Person
degreeFrom:Person doctoralDegreeFrom:Person emailAddress:Person hasAlumnus:University
listedCourse:Schedule mastersDegreeFrom:Person member:Organization orgPublication:Organization
publicationAuthor:Publication publicationDate:Publication publicationResearch:Publication
researchProject:ResearchGroup softwareDocumentation:Software softwareVersion:Software
subOrganizationOf:Organization teacherOf:Faculty teachingAssistantOf:TeachingAssistant
telephone:Person tenured:Professor title:Person undergraduateDegreeFrom:Person
"""
RANGES = """
advisor:Professor affiliatedOrganizationOf:Organization affiliateOf:Person degreeFrom:University
doctoralDegreeFrom:University hasAlumnus:Person listedCourse:Course mastersDegreeFrom:University
member:Person orgPublication:Publication publicationAuthor:Person publicationResearch:Research
researchProject:Research softwareDocumentation:Publication subOrganizationOf:Organization
teacherOf:Course teachingAssistantOf:Course undergraduateDegreeFrom:University
"""
# The RDFS rules name these five as numbers, so they come first.
RDFS_WORDS = ("type", "subClassOf", "subPropertyOf", "domain", "range")


@dataclass
class Graph:
    """Triples under construction: words become dense numbers in the order of their first use."""

    numbers: dict[str, int] = field(default_factory=dict)
    triples: list[tuple[int, int, int]] = field(default_factory=list)

    def number(self, word: str) -> int:
        return self.numbers.setdefault(word, len(self.numbers))

    def add(self, subject: str, predicate: str, *objects: str) -> None:
        s, p = self.number(subject), self.number(predicate)
        self.triples.extend((s, p, self.number(word)) for word in objects)

    def rows(self) -> Rows:
        return distinct(np.array(self.triples, dtype=np.int64))


def ontology(graph: Graph) -> None:
    """The class and property hierarchy, domains and ranges."""
    for word in RDFS_WORDS:
        graph.number(word)
    for predicate, text in (("subClassOf", SUBCLASSES), ("subPropertyOf", SUBPROPERTIES)):
        for pair in text.split():
            graph.add(*pair.split("<")[:1], predicate, *pair.split("<")[1:])
    for predicate, text in (("domain", DOMAINS), ("range", RANGES)):
        for pair in text.split():
            graph.add(*pair.split(":")[:1], predicate, *pair.split(":")[1:])


DEPARTMENTS = 15  # of a university


@dataclass
class Department:
    """One department and the people, courses and papers in it, with LUBM's proportions."""

    graph: Graph
    rng: np.random.Generator
    university: str
    name: str

    def some(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def one(self, words: list[str]) -> str:
        return words[int(self.rng.integers(len(words)))]

    def many(self, words: list[str], low: int, high: int) -> list[str]:
        return [words[i] for i in self.rng.permutation(len(words))[: self.some(low, high)]]

    def anywhere(self) -> str:
        return f"University{self.some(0, 999)}"

    def person(self, kind: str, index: int) -> str:
        add, who = self.graph.add, f"{self.name}/{kind}{index}"
        add(who, "type", kind)
        add(who, "name", f'"{kind}{index}"')
        add(who, "emailAddress", f'"{kind}{index}@{self.name}"')
        add(who, "telephone", '"xxx-xxx-xxxx"')
        return who

    def describe(self) -> None:
        add = self.graph.add
        add(self.name, "type", "Department")
        add(self.name, "subOrganizationOf", self.university)
        for index in range(self.some(10, 20)):
            add(f"{self.name}/ResearchGroup{index}", "type", "ResearchGroup")
            add(f"{self.name}/ResearchGroup{index}", "subOrganizationOf", self.name)
        courses: dict[str, list[str]] = {"Course": [], "GraduateCourse": []}
        papers: list[str] = []
        professors: list[str] = []
        faculty = 0
        staff = {  # by kind: minimum and maximum number of members, and of papers each
            "FullProfessor": (7, 10, 15, 20),
            "AssociateProfessor": (10, 14, 10, 18),
            "AssistantProfessor": (8, 11, 5, 10),
            "Lecturer": (5, 7, 0, 5),
        }
        for kind, (fewest, most, least, best) in staff.items():
            for index in range(self.some(fewest, most)):
                who = self.member_of_staff(kind, index, courses)
                faculty += 1
                professors += [who] if kind != "Lecturer" else []
                for number in range(self.some(least, best)):
                    papers.append(f"{who}/Publication{number}")
                    add(papers[-1], "type", "Publication")
                    add(papers[-1], "name", f'"Publication{number}"')
                    add(papers[-1], "publicationAuthor", who)
        add(f"{self.name}/FullProfessor0", "headOf", self.name)
        self.students(faculty, professors, courses, papers)

    def member_of_staff(self, kind: str, index: int, courses: dict[str, list[str]]) -> str:
        add, who = self.graph.add, self.person(kind, index)
        add(who, "worksFor", self.name)
        for degree in ("undergraduate", "masters", "doctoral"):
            add(who, f"{degree}DegreeFrom", self.anywhere())
        if kind != "Lecturer":
            add(who, "researchInterest", f'"Research{self.some(0, 29)}"')
        for level, known in courses.items():
            for _ in range(self.some(1, 2)):
                known.append(f"{self.name}/{level}{len(known)}")
                add(known[-1], "type", level)
                add(known[-1], "name", f'"{level}{len(known) - 1}"')
                add(who, "teacherOf", known[-1])
        return who

    def students(
        self,
        faculty: int,
        professors: list[str],
        courses: dict[str, list[str]],
        papers: list[str],
    ) -> None:
        add = self.graph.add
        for index in range(faculty * self.some(8, 14)):
            who = self.person("UndergraduateStudent", index)
            add(who, "memberOf", self.name)
            add(who, "takesCourse", *self.many(courses["Course"], 2, 4))
            if self.some(1, 5) == 1:
                add(who, "advisor", self.one(professors))
        for index in range(faculty * self.some(3, 4)):
            who = self.person("GraduateStudent", index)
            add(who, "memberOf", self.name)
            add(who, "undergraduateDegreeFrom", self.anywhere())
            add(who, "takesCourse", *self.many(courses["GraduateCourse"], 1, 3))
            add(who, "advisor", self.one(professors))
            for paper in self.many(papers, 0, 5):
                add(paper, "publicationAuthor", who)
            role = self.some(1, 20)
            if role <= 4:
                add(who, "type", "TeachingAssistant")
                add(who, "teachingAssistantOf", self.one(courses["Course"]))
            elif role <= 10:
                add(who, "type", "ResearchAssistant")


def lubm_like(departments: int, seed: int) -> Graph:
    """Universities in the univ-bench vocabulary with LUBM's proportions, ontology included.

    LUBM's first university has 15 departments, which is about 100,000 triples; so has each of
    these. The words of the RDFS rules are the numbers 0 to 4.
    """
    graph = Graph()
    ontology(graph)
    rng = np.random.default_rng(seed)
    for index in range(departments):
        university = f"University{index // DEPARTMENTS}"
        if index % DEPARTMENTS == 0:
            graph.add(university, "type", "University")
        place = f"{university}/Department{index % DEPARTMENTS}"
        Department(graph, rng, university, place).describe()
    return graph


CHANGE = re.compile(r"^([+-])(\w+)\((.*)\)\.$")
CELL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def lubm_relations(graph: Graph) -> Facts:
    """The triples without the ontology, as one relation per class or property, which LUBM's rules
    read."""
    rows = graph.rows()
    words = list(graph.numbers)
    data = rows[~np.isin(rows[:, 1], [graph.numbers[word] for word in RDFS_WORDS[1:]])]
    facts: Facts = {}
    for predicate in np.unique(data[:, 1]):
        part = data[data[:, 1] == predicate]
        if words[predicate] == "type":
            for kind in np.unique(part[:, 2]):
                members = part[part[:, 2] == kind][:, :1]
                facts[f"a1_{words[kind]}"] = np.ascontiguousarray(members)
        else:
            facts[f"a1_{words[predicate]}"] = np.ascontiguousarray(part[:, [0, 2]])
    return facts


def stream_facts(name: str, *, lines: Iterable[str] | None = None) -> Facts:
    """All facts that a recorded stream ever inserts, their constants numbered in order.

    The streams delete about as much as they insert, so few facts remain at their end; all
    insertions together are the largest set of facts that a stream offers.

    >>> facts = stream_facts("x", lines=['+p("a", "b").', '-p("a", "b").', '+q("b").', 'commit.'])
    >>> {name: rows.tolist() for name, rows in facts.items()}
    {'p': [[0, 1]], 'q': [[1]]}
    """
    if lines is None:
        (path,) = (STREAMS / name).glob("*.changes")
        lines = path.read_text(encoding="utf-8").splitlines()
    numbers: dict[str, int] = {}
    facts: dict[str, list[list[int]]] = {}
    for line in lines:
        change = CHANGE.match(line)
        if change and change[1] == "+":
            cells = CELL.findall(change[3])
            row = [numbers.setdefault(cell, len(numbers)) for cell in cells]
            facts.setdefault(change[2], []).append(row)
    return {name: distinct(np.array(rows, dtype=np.int64)) for name, rows in facts.items()}
