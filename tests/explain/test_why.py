"""Proofs construct by construct, their views, bounds and errors."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from random import Random

import pytest

from tests.explain.proving import check_some, checker
from tidelog import Database, ProgramError, TidelogError
from tidelog.explain import height_search
from tidelog.explain.probes import MOST
from tidelog.explain.proof import FORMATS, Proof
from tidelog.program.proof_steps import GroundFact, Open, Path, RuleInstance
from tidelog.program.proof_steps import Test as Comparison

REACH = "path(x, y) :- edge(x, y). path(x, z) :- path(x, y), edge(y, z)."
CHAIN = {"edge": [(i, i + 1) for i in range(1, 30)]}


def test_a_closure_is_a_shortest_path() -> None:
    db = Database(REACH, facts={"edge": [*CHAIN["edge"], (1, 15), (15, 29)]})
    proof = db.why("path(1, 30)")
    (step,) = proof.steps[proof.goals[0]]
    assert isinstance(step, Path)
    links = [(1, 15), (15, 29), (29, 30)]
    assert [link.fact.row for link in step.links] == links
    assert not proof.minimal
    assert checker(db).faults(proof.goals, proof.steps) == []


def test_without_modules_it_is_a_proof_by_rules() -> None:
    db = Database(REACH, facts=CHAIN, modules=False)
    proof = db.why("path(1, 30)")
    assert (proof.height, proof.minimal, len(proof)) == (29, True, 58)
    assert checker(db).faults(proof.goals, proof.steps, minimal=True) == []


@pytest.mark.parametrize(
    "program",
    [
        ".decl r(x: number, y: number) eqrel r(x, y) :- e(x, y).",
        ".decl r(x: number, y: number) transitive r(x, y) :- e(x, y), x != 3. r(9, 1).",
        "r(x, y) :- e(x, y). r(x, z) :- r(x, y), r(y, z).",
        "r(x, y) :- e(x, y). r(x, z) :- e(x, y), r(y, z).",
        "r(x, y) :- e(y, x). r(x, z) :- r(x, y), e(z, y).",
        "r(x, y) :- e(x, y). r(x, z) :- r(x, y), r(y, z). s(y, x) :- r(x, y). r(y, x) :- s(x, y).",
        "r(x, y) :- e(x, y). r(x, z) :- r(x, y), e(y, z). r(8, 8). r(8, 1).",
        "r(x, y) :- e(x, y), e(y, _). r(x, z) :- r(x, y), r(y, z). t(x) :- r(x, y), !e(y, x).",
    ],
)
@pytest.mark.parametrize("modules", [True, False])
def test_every_fact_of_a_closure(program: str, modules: bool) -> None:
    edges = [(1, 2), (2, 3), (3, 1), (3, 4), (5, 6), (6, 5), (7, 7)]
    db = Database(program, facts={"e": edges}, modules=modules)
    for n in (1, 3):
        assert check_some(db, checker(db), Random(0), 100, n)


def test_heights_by_rounds_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    program = "p(x, y) :- e(x, y). p(x, z) :- p(x, y), p(y, z), x < z. q(x) :- p(x, y), p(y, _)."
    facts = {"e": [(i, j) for i in range(12) for j in range(i, 12) if (i * j) % 5 == 1]}
    db = Database(program, facts=facts)
    before = [proof.height for proof in check_some(db, checker(db), Random(1), 30)]
    monkeypatch.setattr(height_search, "WIDE", 1)
    assert [p.height for p in check_some(db, checker(db), Random(1), 30)] == before
    assert all(proof.minimal for proof in check_some(db, checker(db), Random(2), 30, 2))
    with db.transaction() as tx:  # heights are found anew after a change
        tx.delete("e", facts["e"][:2])
        tx.insert("e", [(0, 11)])
    assert check_some(db, checker(db), Random(3), 30)


def test_records_components_functors_and_inline_relations() -> None:
    db = Database(
        """
        .type List = [head: number, tail: List]
        .type Shape = Square {side: number} | Dot {}
        .decl n(x: number)
        .decl lists(l: List)
        .decl shapes(s: Shape)
        .comp Twice { .decl in(x: number) .decl out(x: number) out(@double(x)) :- in(x). }
        .init t = Twice
        .functor double(x: number): number
        .decl less(a: number, b: number) inline
        less(a, b) :- a < b.
        n(1). n(2).
        lists([x, nil]) :- n(x).
        heads(h) :- lists([h, _]).
        shapes($Square(x)) :- n(x).
        round(x) :- shapes($Square(x)), !shapes($Dot), !lists([x, [_, _]]).
        t.in(x) :- n(x).
        pairs(x, y) :- n(x), n(y), less(x, y).
        """,
        functors={"double": lambda x: 2 * x},
    )
    assert check_some(db, checker(db, {"double": lambda x: 2 * x}), Random(0), 100)
    assert str(db.why("round(2)")).splitlines()[:3] == [
        "round(2)",
        "  by round(x) :- shapes($Square(x)), !shapes($Dot), !lists([x, [_, _]]).  <program>:16"
        "  x = 2",
        "  shapes($Square(2))",
    ]
    (step,) = db.why("t.out(4)").steps[GroundFact("t.out", (4,))]
    assert isinstance(step, RuleInstance)
    assert step.premises == (GroundFact("t.in", (2,)), Comparison("4 = @double(2)"))
    with pytest.raises(ProgramError, match="less is inline, and has no facts of its own"):
        db.why("less(1, 2)")


def test_aggregates_that_a_recursion_limits() -> None:
    db = Database(
        ".decl out(r: number, z: number) out(0, 0)."
        "out(r + 1, z) :- out(r, _), r < 3, z = count : { point(x), x <= r }.",
        facts={"point": [(1,), (2,)]},
    )
    assert check_some(db, checker(db), Random(0), 100)
    assert "2 = count : { point(x), x <= 2 }" in str(db.why("out(3, 2)"))


def test_subsumption_and_choice() -> None:
    db = Database(
        """
        .decl far(x: number, d: number)
        far(0, 0).
        far(y, d + w) :- far(x, d), road(x, y, w).
        far(x, d) <= far(x, e) :- e < d.
        .decl one(x: number, y: number) choice-domain x
        one(x, y) :- road(x, y, _).
        """,
        facts={"road": [(0, 1, 5), (0, 2, 1), (2, 1, 1), (1, 3, 1)]},
    )
    proof = db.why("far(3, d)")
    assert proof.complete
    assert [f.row for f in proof.upwards() if f.relation == "far"] == [
        *((0, 0), (2, 1), (1, 2), (3, 3))
    ]
    assert db.why("one(0, 1)").complete


def test_what_subsumption_left_out_is_told() -> None:
    db = Database(
        ".decl best(x: number) best(1). best(x + 1) :- best(x), x < 3. best(x) <= best(y) :- x < y."
    )
    proof = db.why("best(3)")
    (step,) = proof.steps[GroundFact("best", (3,))]
    assert isinstance(step, Open)
    assert not proof.complete
    assert not proof.minimal
    assert "subsumption" in proof.left_out[0]


def test_alternatives_do_not_rest_on_the_fact() -> None:
    db = Database("p(x) :- q(x). p(x) :- r(x). q(x) :- p(x), s(x). r(1). s(1). q(1).")
    proof = db.why("p(1)", n=9)
    assert len(proof.steps[proof.goals[0]]) == 2
    assert checker(db).faults(proof.goals, proof.steps, minimal=True) == []
    assert [str(proof).count(word) for word in ("  by ", "  or by ")] == [1, 1]


def test_bounds_say_what_they_leave_out() -> None:
    db = Database(REACH, facts=CHAIN, modules=False)
    shallow = db.why("path(1, 30)", depth=2)
    assert shallow.left_out == ("more than 2 levels: set by depth=",)
    assert not shallow.complete
    few = db.why("path(1, 30)", nodes=5)
    assert few.left_out == ("more than 5 facts: set by nodes=",)
    late = db.why("path(1, 30)", seconds=0)
    assert late.left_out == ("the search stopped at more than 0 seconds",)
    many = db.why("path(x, y)", nodes=3)
    assert len(many.goals) == 3
    assert many.left_out[0] == "answers beyond 3 facts: set by nodes="
    assert db.size("path") == 29 * 30 // 2


def test_bad_questions() -> None:
    db = Database(REACH, facts=CHAIN)
    errors = {
        "path(9, 1)": r"^error: path\(9, 1\) does not hold\n    ask why not",
        "path(9, 1), edge(x, y)": "has no answer\n    ask why not",
        "1 < 2": "the query reads no facts",
    }
    for question, message in errors.items():
        with pytest.raises(TidelogError, match=message):
            db.why(question)
    for question, message in {
        "pat(1, 2)": "unknown relation pat\n.*\n.*did you mean path",
        "path(1)": "relation path has 2 columns, but 1 is given here",
        'path("a", 2)': '"a" is a symbol, but a number is needed here',
        "path(1, 2": "is not closed",
    }.items():
        with pytest.raises(ProgramError, match=message):
            db.why(question)
    with pytest.raises(TidelogError, match="expected a fact as text"):
        db.why(3)  # type: ignore[arg-type]
    with pytest.raises(TidelogError, match="alternatives are found for one fact at a time"):
        db.why("path(1, x)", n=2)
    with pytest.raises(TidelogError, match="n must be a whole number above 0, got 0"):
        db.why("path(1, 2)", n=0)
    with pytest.raises(TidelogError, match="seconds must be a number of at least 0, got -1"):
        db.why("path(1, 2)", seconds=-1)
    with db.transaction() as tx:
        tx.insert("edge", [(77, 78)])
        with pytest.raises(TidelogError, match="a transaction is open"):
            db.why("path(1, 2)")


def test_a_giant_fan_in_is_bounded() -> None:
    """Not all instances are read, so that no proof is known to be minimal; one is found."""
    facts = {"e": [(1, i) for i in range(MOST + 1)]}
    proof = Database("p(x) :- e(x, _).", facts=facts).why("p(1)")
    assert (proof.complete, proof.minimal, proof.height) == (True, False, 1)


def test_explaining_leaves_the_engine_as_it_was() -> None:
    program = REACH + " far(x) :- path(x, y), !edge(x, y). sum_of(n) :- n = sum y : { far(y) }."
    db = Database(program, facts=CHAIN)
    store = db.core.store
    before = store.facts(), len(store.all), set(store.kinds)
    for _ in range(3):
        assert db.why("path(1, 30), far(x), sum_of(n)").complete
        db.why_not("path(30, 1)")
        db.why_not("path(77, 78)", seconds=0)
        with pytest.raises(TidelogError):
            db.why("path(30, x)")
    assert (store.facts(), len(store.all), set(store.kinds)) == before
    assert db.apply("-edge(1, 2).")[0].counts["path"] == (0, 29)


def test_all_relations_in_one_stratum() -> None:
    facts = {"edge": [(1, 2), (2, 3), (3, 1)]}
    program = REACH + " far(x, y) :- path(x, y), !edge(x, y). some(n) :- n = count : { far(_, _) }."
    db = Database(program, facts=facts, one_stratum=True)
    assert check_some(db, checker(db), Random(0), 100)


def test_a_lazy_database_derives_what_it_explains() -> None:
    assert Database("p(x) :- q(x). q(1).", lazy=True).why("p(1)").complete


class Tags(HTMLParser):
    """Notes the tags that are open, and that each is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "meta":
            self.open.append(tag)
            self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def hostile() -> Proof:
    db = Database(
        'bad(s, n) :- name(s), n = count : { name(_) }, !gone(s). name("<script>\\"x\\"\\n"). '
        ".decl gone(s: symbol)",
    )
    return db.why("bad(s, n)")


def test_the_page_is_whole_and_escapes_its_text() -> None:
    page = hostile().to_html()
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert tags.seen.count("script") == 1
    assert tags.seen.count("details") == 2
    assert "http" not in page


def test_json_and_graphs_refer_to_facts_by_number() -> None:
    proof = hostile()
    data = json.loads(proof.to_json())
    assert data == proof.to_dict()
    numbers = [fact["id"] for fact in data["facts"]]
    assert numbers == list(range(len(proof)))
    assert data["goals"] == [numbers[-1]]
    graph = proof.to_dot()
    nodes = set(re.findall(r"^  (\w+) \[", graph, re.MULTILINE))
    ends = {end for edge in re.findall(r"(\w+) -> (\w+);", graph) for end in edge}
    assert ends <= nodes
    assert len(nodes) == 3
    assert all(writer(proof) for writer in FORMATS.values())


def test_a_proof_is_as_deep_as_it_must_be() -> None:
    """No view recurses."""
    facts = {"edge": [(i, i + 1) for i in range(1500)]}
    db = Database(REACH, facts=facts, modules=False)
    proof = db.why("path(0, 1500)", depth=5000, nodes=5000)
    assert proof.height == 1500
    assert all(len(writer(proof)) > 10_000 for writer in FORMATS.values())
