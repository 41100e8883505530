"""LUBM-like data: universities in the style of the Lehigh University Benchmark.

The vocabulary is univ-bench's, and the cardinalities are those of the benchmark's authors (Guo,
Pan, Heflin: LUBM: A Benchmark for OWL Knowledge Base Systems, 2005): 15 to 25 departments per
university, 7 to 10 full professors per department, 8 to 14 undergraduates per member of the
faculty, and so on. The random numbers differ from the original generator's; university i depends
only on the seed and i.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tidelog.rdf.rdf_terms import RDF, Namespace, Triple

UB = Namespace("http://swat.cse.lehigh.edu/onto/univ-bench.owl#")
DEGREES = 1000  # universities that may award a degree, generated or not

# Class, members per department, and publications per member.
FACULTY = (
    ("FullProfessor", (7, 10), (15, 20)),
    ("AssociateProfessor", (10, 14), (10, 18)),
    ("AssistantProfessor", (8, 11), (5, 10)),
    ("Lecturer", (5, 7), (0, 5)),
)
INTERESTS = 30


def lubm(universities: int = 1, seed: int = 0) -> Iterator[Triple]:
    """The triples of some universities, about 100,000 each.

    >>> triples = lubm(1)
    >>> print(*next(triples))
    <http://www.University0.edu> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://swat.cse.lehigh.edu/onto/univ-bench.owl#University>
    """
    for university in range(universities):
        place = f"<http://www.University{university}.edu>"
        yield place, RDF.type, UB.University
        yield place, UB.name, f'"University{university}"'
        # Seeded per university, so that a university does not depend on the others.
        departments = Random(f"univ-bench/{seed}/{university}").randint(15, 25)
        for number in range(departments):
            yield from Department(university, number, seed).triples()


class Department:
    """A department with its staff and students."""

    def __init__(self, university: int, number: int, seed: int) -> None:
        self.random = Random(f"{seed}/{university}/{number}")
        self.host = f"Department{number}.University{university}.edu"
        self.place = f"<http://www.{self.host}>"
        self.university = f"<http://www.University{university}.edu>"
        self.number = number
        self.professors: list[str] = []
        self.publications: list[str] = []
        self.courses: list[str] = []
        self.graduate_courses: list[str] = []

    def triples(self) -> Iterator[Triple]:
        yield self.place, RDF.type, UB.Department
        yield self.place, UB.name, f'"Department{self.number}"'
        yield self.place, UB.subOrganizationOf, self.university
        faculty = 0
        for kind, count, papers in FACULTY:
            for number in range(self.between(count)):
                yield from self.teacher(kind, number, papers)
                faculty += 1
        yield self.professors[0], UB.headOf, self.place
        yield from self.undergraduates(sum(self.between((8, 14)) for _ in range(faculty)))
        yield from self.graduates(sum(self.between((3, 4)) for _ in range(faculty)))
        for number in range(self.between((10, 20))):
            group = self.named("ResearchGroup", number)
            yield group, RDF.type, UB.ResearchGroup
            yield group, UB.subOrganizationOf, self.place

    def between(self, bounds: tuple[int, int]) -> int:
        return self.random.randint(*bounds)

    def named(self, kind: str, number: int) -> str:
        return f"<http://www.{self.host}/{kind}{number}>"

    def somewhere(self) -> str:
        return f"<http://www.University{self.random.randrange(DEGREES)}.edu>"

    def person(self, kind: str, number: int) -> Iterator[Triple]:
        person = self.named(kind, number)
        yield person, RDF.type, UB[kind]
        yield person, UB.name, f'"{kind}{number}"'
        yield person, UB.emailAddress, f'"{kind}{number}@{self.host}"'
        yield person, UB.telephone, '"xxx-xxx-xxxx"'

    def teacher(self, kind: str, number: int, papers: tuple[int, int]) -> Iterator[Triple]:
        person = self.named(kind, number)
        yield from self.person(kind, number)
        yield person, UB.worksFor, self.place
        for degree in ("undergraduateDegreeFrom", "mastersDegreeFrom", "doctoralDegreeFrom"):
            yield person, UB[degree], self.somewhere()
        for name, courses in (("Course", self.courses), ("GraduateCourse", self.graduate_courses)):
            for _ in range(self.between((1, 2))):
                course = self.named(name, len(courses))
                courses.append(course)
                yield course, RDF.type, UB[name]
                yield course, UB.name, f'"{name}{len(courses) - 1}"'
                yield person, UB.teacherOf, course
        if kind != "Lecturer":
            self.professors.append(person)
            interest = self.random.randrange(INTERESTS)
            yield person, UB.researchInterest, f'"Research{interest}"'
        for paper in range(self.between(papers)):
            publication = f"{person[:-1]}/Publication{paper}>"
            self.publications.append(publication)
            yield publication, RDF.type, UB.Publication
            yield publication, UB.name, f'"Publication{paper}"'
            yield publication, UB.publicationAuthor, person

    def undergraduates(self, count: int) -> Iterator[Triple]:
        for number in range(count):
            person = self.named("UndergraduateStudent", number)
            yield from self.person("UndergraduateStudent", number)
            yield person, UB.memberOf, self.place
            for course in self.random.sample(self.courses, self.between((2, 4))):
                yield person, UB.takesCourse, course
            if number % 5 == 0:
                yield person, UB.advisor, self.random.choice(self.professors)

    def graduates(self, count: int) -> Iterator[Triple]:
        helpers = count // self.between((4, 5))
        researchers = count // self.between((3, 4))
        helped = self.random.sample(self.courses, min(helpers, len(self.courses)))
        for number in range(count):
            person = self.named("GraduateStudent", number)
            yield from self.person("GraduateStudent", number)
            yield person, UB.memberOf, self.place
            yield person, UB.undergraduateDegreeFrom, self.somewhere()
            yield person, UB.advisor, self.random.choice(self.professors)
            for course in self.random.sample(self.graduate_courses, self.between((1, 3))):
                yield person, UB.takesCourse, course
            for paper in self.random.sample(self.publications, self.between((0, 5))):
                yield paper, UB.publicationAuthor, person
            if number < len(helped):
                yield person, RDF.type, UB.TeachingAssistant
                yield person, UB.teachingAssistantOf, helped[number]
            elif number < len(helped) + researchers:
                yield person, RDF.type, UB.ResearchAssistant
