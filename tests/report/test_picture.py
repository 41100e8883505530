"""Pictures: complete, without overlaps, and safe for any text."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.growth import within
from tidelog.program.rules import CheckedProgram, Group, Literal, Relation, Rule, Stratum
from tidelog.program.syntax import Directive, Variable
from tidelog.report.drawing import Block, Link, Port, draw
from tidelog.report.picture import edges, plan_dot, plan_svg

X = (Variable("x"),)
SVG = "{http://www.w3.org/2000/svg}"


def rule(head: str, *body: str) -> Rule:
    """`!name` is a negated literal, `#name` an aggregate over it."""
    parts: list[Literal | Group] = []
    for part in body:
        name = part.lstrip("!#")
        if part.startswith("#"):
            parts.append(Group("count", Variable("n"), None, name, X))
        else:
            parts.append(Literal(name, X, negated=part.startswith("!")))
    return Rule(Literal(head, X), tuple(parts), f"{head}(x) :- {', '.join(body)}.")


def program(strata: list[list[str]], *rules: Rule, output: str = "") -> CheckedProgram:
    names = [name for stratum in strata for name in stratum]
    checked = []
    for members in strata:
        own = [r for r in rules if r.head.relation in members]
        recursive = [r for r in own if any(read in members for read, _ in r.reads())]
        rest = [r for r in own if r not in recursive]
        checked.append(Stratum(tuple(members), tuple(rest), tuple(recursive)))
    relations = {name: Relation(name, ("x",), ("number",)) for name in names}
    directives = (Directive("output", output),) if output else ()
    return CheckedProgram(relations, rules, tuple(checked), {}, directives)


REACH = program(
    [["edge"], ["node"], ["path"], ["%agg"], ["odd", "even"], ["lonely"], ["unused"]],
    rule("node", "edge"),
    rule("path", "edge"),
    rule("path", "path", "edge"),
    rule("%agg", "node"),
    rule("odd", "even", "edge"),
    rule("even", "odd", "edge"),
    rule("lonely", "node", "!path", "#%agg", "!odd"),
    output="lonely",
)


def test_dot() -> None:
    text = plan_dot(REACH)
    assert '"edge" -> "path";' in text
    assert '"path" -> "path";' in text
    assert '"path" -> "lonely" [style=dashed, color="#c62828"];' in text
    assert '"%agg" -> "lonely" [style=dashed, color="#c62828"];' in text
    assert text.count("subgraph cluster_") == 2
    assert text.count(" -> ") == len(edges(REACH)) == 12
    assert '"lonely" [fillcolor="#e3eef8", penwidth=2];' in text


def test_svg() -> None:
    root = ElementTree.fromstring(plan_svg(REACH))
    nodes = {
        node.findtext(f"{SVG}text"): node.get("class")
        for node in root.iter(f"{SVG}g")
        if (node.get("class") or "").startswith("node") and node.find(f"{SVG}title") is not None
    }
    assert nodes == {
        "edge": "node explicit",
        "node": "node derived",
        "path": "node derived",
        "%agg": "node hidden",
        "odd": "node derived",
        "even": "node derived",
        "lonely": "node derived written",
        "unused": "node explicit",
    }
    ends = [path for path in root.iter(f"{SVG}path") if path.find(f"{SVG}title") is not None]
    assert {path.findtext(f"{SVG}title") for path in ends} == {
        f"{edge.source} → {edge.target}" for edge in edges(REACH)
    }
    assert len(ends) == len(edges(REACH))
    frames = [rect for rect in root.iter(f"{SVG}rect") if rect.get("class") == "frame"]
    assert len(frames) == 2
    titles = [text.text for text in root.iter(f"{SVG}text") if "title" in (text.get("class") or "")]
    assert titles == ["stratum 3, recursive", "stratum 5, recursive"]
    strict = [g for g in root.iter(f"{SVG}g") if g.get("class") == "link strict"]
    assert len(strict) == 3 + 1  # one is in the legend


def test_closures_have_a_double_border() -> None:
    def pair(*names: str) -> tuple[Variable, ...]:
        return tuple(Variable(name) for name in names)

    transitive = Rule(
        Literal("path", pair("x", "z")),
        (Literal("path", pair("x", "y")), Literal("path", pair("y", "z"))),
        "path(x, z) :- path(x, y), path(y, z).",
    )
    found = program([["edge"], ["path"], ["odd"]], transitive, rule("odd", "odd", "edge"))
    assert '"path" [fillcolor="#e3eef8", peripheries=2, tooltip="module: transitive path"];' in (
        plan_dot(found)
    )
    assert plan_dot(found).count("peripheries") == 1
    root = ElementTree.fromstring(plan_svg(found))
    nodes = [
        node
        for node in root.iter(f"{SVG}g")
        if any(rect.get("class") == "inner" for rect in node.findall(f"{SVG}rect"))
    ]
    assert [node.findtext(f"{SVG}text") for node in nodes] == ["path", "closure"]  # and the legend
    assert (nodes[0].findtext(f"{SVG}title") or "").endswith("\nmodule: transitive path")


def test_no_program_and_no_rules() -> None:
    ElementTree.fromstring(plan_svg(program([])))
    ElementTree.fromstring(plan_svg(program([["a"], ["b"]])))
    assert plan_dot(program([])).endswith("}\n")


@pytest.mark.parametrize("name", ['a"b', "a\\b", "<script>", "a&b", "]]>", "\x00\x1b", "é" * 300])
def test_any_text_is_safe(name: str) -> None:
    found = program([[name], ["p"]], rule("p", name), rule("p", "p", "!" + name))
    root = ElementTree.fromstring(plan_svg(found))
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    # The name appears only inside quoted strings.
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "S", plan_dot(found))
    assert '"' not in bare
    assert "script" not in bare


def _corners(text: str) -> list[tuple[float, float, float, float]]:
    boxes = re.findall(
        r'</title><rect x="([-\d.]+)" y="([-\d.]+)" width="([\d.]+)" height="([\d.]+)"', text
    )
    return [(float(x), float(y), float(x) + float(w), float(y) + float(h)) for x, y, w, h in boxes]


def _overlap(boxes: list[tuple[float, float, float, float]]) -> bool:
    boxes = sorted(boxes, key=lambda box: (box[1], box[0]))
    return any(
        a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
        for i, a in enumerate(boxes)
        for b in boxes[i + 1 :]
    )


def test_a_program_of_1300_rules() -> None:
    """As many relations and rules as in the largest ontology of the benchmarks."""

    def drawn(n: int) -> str:
        names = [f"relation_{i}" for i in range(n)]
        rules = [
            rule(names[i], names[(i * i * 7 + j * 13) % i])
            for i in range(n // 5, n)
            for j in range(3)
        ]
        rules += [rule(names[i], names[i], names[i // 2]) for i in range(n * 4 // 5, n)]
        return plan_svg(program([[name] for name in names], *rules))

    text = within(200, lambda: drawn(500), lambda: drawn(50))
    boxes = _corners(text)
    assert len(boxes) == 500
    assert not _overlap(boxes)


def test_a_long_chain_and_a_large_knot() -> None:
    names = [f"r{i}" for i in range(1500)]
    chain = [rule(b, a) for a, b in pairwise(names)]
    ElementTree.fromstring(plan_svg(program([[name] for name in names], *chain)))
    knot = names[:200]
    rules = [rule(a, b) for a, b in zip(knot, knot[1:] + knot[:1], strict=True)]
    text = plan_svg(program([knot], *rules))
    assert not _overlap(_corners(text))


@st.composite
def graphs(draw_: st.DrawFn) -> tuple[list[Block], list[Link]]:
    sizes = st.tuples(st.integers(20, 300), st.integers(10, 90))
    blocks = [Block(w, h) for w, h in draw_(st.lists(sizes, max_size=25))]
    pairs = st.tuples(st.integers(0, 24), st.integers(0, 24))
    links = []
    for a, b in draw_(st.lists(pairs, max_size=40, unique=True)):
        if a < b < len(blocks):
            start = Port(a, blocks[a].width / 2, blocks[a].height)
            links.append(Link(start, Port(b, blocks[b].width / 2, 0), str(a)))
    return blocks, links


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_blocks_never_overlap_and_links_lead_down(
    graph: tuple[list[Block], list[Link]],
) -> None:
    blocks, links = graph
    drawing = draw(blocks, links)
    boxes = [
        (x, y, x + block.width, y + block.height)
        for (x, y), block in zip(drawing.corners, blocks, strict=True)
    ]
    assert not _overlap([(x + 0.01, y, u - 0.01, v) for x, y, u, v in boxes])
    assert all(x >= -0.01 and u <= drawing.width + 0.01 for x, _, u, _ in boxes)
    assert all(y >= 0 and v <= drawing.height for _, y, _, v in boxes)
    for link, path in drawing.ends:
        assert path[0][1] < path[-1][1]
        assert boxes[link.source.block][3] < boxes[link.target.block][1]
        # A link that passes a row passes between its blocks.
    for paths in drawing.trunks.values():
        for (x, y), (u, v) in paths:
            if x == u:
                assert not any(b[0] < x < b[2] and b[1] < v and y < b[3] for b in boxes)
