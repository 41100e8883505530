"""Generated data: deterministic, and of the documented size."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from bench.rdf.generate import cliques, facts, lubm, main, ontology, skos
from bench.rdf.lubm import FACULTY, UB
from tidelog.rdf import OWL, RDF, SKOS, Graph
from tidelog.rdf.readers import Reader


def test_a_university() -> None:
    """The cardinalities of LUBM's authors, and a similar number of triples."""
    triples = list(lubm(1))
    assert len(set(triples)) == len(triples)
    assert 95_000 < len(triples) < 110_000
    kinds = Counter(o for _, p, o in triples if p == RDF.type)
    departments = kinds[UB.Department]
    assert 15 <= departments <= 25
    for kind, (least, most), _ in FACULTY:
        assert least * departments <= kinds[UB[kind]] <= most * departments
    faculty = sum(kinds[UB[kind]] for kind, _, _ in FACULTY)
    assert 8 * faculty <= kinds[UB.UndergraduateStudent] <= 14 * faculty
    assert 3 * faculty <= kinds[UB.GraduateStudent] <= 4 * faculty
    assert 10 * departments <= kinds[UB.ResearchGroup] <= 20 * departments
    assert sum(p == UB.headOf for _, p, _ in triples) == departments
    advised = {s for s, p, _ in triples if p == UB.advisor}
    graduates = {s for s, p, o in triples if p == RDF.type and o == UB.GraduateStudent}
    assert graduates <= advised


def test_the_same_universities_every_time() -> None:
    first = list(islice(lubm(1), 5000))
    assert first == list(islice(lubm(2), 5000))
    assert first != list(islice(lubm(1, seed=1), 5000))
    assert sum(1 for _ in lubm(1)) == 100_825


def test_every_class_and_property_of_a_university_is_in_its_ontology() -> None:
    reader = Reader()
    reader.text(ontology("univ-bench"))
    described = {s for s, p, _ in reader.columns() if p == RDF.type}
    triples = list(lubm(1))
    assert {p for _, p, _ in triples} - {RDF.type} <= described
    assert {o for _, p, o in triples if p == RDF.type} <= described


def test_cliques() -> None:
    triples = list(cliques(count=3, size=7, facts=2))
    links = [(s, o) for s, p, o in triples if p == OWL.sameAs]
    assert len(links) == 3 * 6
    assert len(triples) == 3 * 6 + 3 * 7 * 2
    graph = Graph("owl2rl")
    graph.add(*triples)
    same = graph.triples((None, OWL.sameAs, None))
    assert len({(s, o) for s, _, o in same if s != o}) == 3 * 7 * 6


def test_concepts() -> None:
    triples = list(skos(depth=3, branches=2, related=4))
    assert sum(o == SKOS.Concept for _, _, o in triples) == 1 + 2 + 4 + 8
    assert sum(p == SKOS.broader for _, p, _ in triples) == 14
    graph = Graph("owl2rl")
    graph.parse(ontology("skos"))
    graph.add(*triples)
    # Every concept has all its ancestors: 2 concepts have 1, 4 have 2, 8 have 3.
    assert len(graph.triples((None, SKOS.broaderTransitive, None))) == 2 * 1 + 4 * 2 + 8 * 3
    assert graph.inconsistencies() == []


def test_facts_have_a_relation_for_each_class_and_property() -> None:
    found = facts(islice(lubm(1), 20_000))
    assert set(map(len, found["memberOf"])) == {2}
    assert set(map(len, found["Department"])) == {1}
    assert sum(map(len, found.values())) == 20_000


def test_the_command(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    def printed(*arguments: str) -> bytes:
        main([*arguments, "-"])
        return capfdbinary.readouterr().out

    main(["skos", "--depth", "2", "--branches", "3", str(tmp_path / "k.nt")])
    assert (tmp_path / "k.nt").read_text().count("core#broader>") == 12
    first = printed("cliques", "--size", "5")
    assert first.count(b"owl#sameAs>") == 4
    assert first != printed("cliques", "--size", "5", "--seed", "1")
    (tmp_path / "facts").mkdir()
    main(["cliques", "--count", "2", "--size", "5", str(tmp_path / "facts")])
    assert len((tmp_path / "facts" / "sameAs.facts").read_text().splitlines()) == 8
