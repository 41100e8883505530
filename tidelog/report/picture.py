"""A picture of a program: its relations from top to bottom, and their dependencies."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from tidelog.plan.closures import paired
from tidelog.program.rules import CheckedProgram, Relation
from tidelog.report.drawing import Block, Drawing, Link, Point, Port, draw

CHARACTER = 7.3  # width, in a fixed-width font of 12 points
MAX_NAME = 40
INNER_GAP = 34.0
FRAME = 16.0
TITLE = 18.0
TITLE_WIDTH = 150.0
MARGIN = 28.0
MAX_RULES = 12  # listed when the pointer hovers over a relation


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    strict: bool  # by negation or aggregation: the source must be complete first


def edges(checked: CheckedProgram) -> list[Edge]:
    """The dependencies between relations, once per pair and kind."""
    found = {
        Edge(read, rule.head.relation, strict): None
        for rule in checked.rules
        for read, strict in rule.reads()
        if read in checked.relations and rule.head.relation in checked.relations
    }
    return list(found)


def groups(checked: CheckedProgram) -> list[tuple[tuple[str, ...], bool]]:
    """The relations of each stratum in order, and whether it is recursive."""
    found = [(s.relations, bool(s.recursive)) for s in checked.strata if s.relations]
    placed = {name for names, _ in found for name in names}
    return [((name,), False) for name in checked.relations if name not in placed] + found


def outputs(checked: CheckedProgram) -> set[str]:
    return {d.relation for d in checked.directives if d.action in ("output", "printsize")}


def closure_modules(checked: CheckedProgram) -> dict[str, list[str]]:
    """The closure modules of each relation; such relations get a double border."""
    found: dict[str, list[str]] = defaultdict(list)
    for stratum in checked.strata:
        for closure in paired(stratum).own:
            for name in closure.relations:
                found[name].append(f"module: {closure}")
    return dict(found)


# Graphviz


def plan_dot(checked: CheckedProgram) -> str:
    """The picture in Graphviz's notation."""
    derived = {rule.head.relation for rule in checked.rules}
    written = outputs(checked)
    closures = closure_modules(checked)
    lines = [
        "digraph program {",
        "  rankdir=TB;",
        '  node [shape=box, style="rounded,filled", fontname="monospace", fontsize=11,'
        ' color="#5a7894", fillcolor="#ffffff"];',
        '  edge [color="#6f7f90", arrowsize=0.7];',
    ]
    for number, (names, recursive) in enumerate(groups(checked)):
        nodes = [
            _dot_node(checked.relations[n], n in derived, n in written, closures.get(n, []))
            for n in names
        ]
        if recursive:
            title = _dot_text(f"stratum {number + 1}, recursive")
            lines.append(f"  subgraph cluster_{number} {{")
            lines.append(f'    label={title}; fontname="sans-serif"; fontsize=10;')
            lines.append('    style="rounded,filled"; color="#b9a26a"; fillcolor="#fdf8ea";')
            lines += [f"    {node}" for node in nodes]
            lines.append("  }")
        else:
            lines += [f"  {node}" for node in nodes]
    for edge in edges(checked):
        style = ' [style=dashed, color="#c62828"]' if edge.strict else ""
        lines.append(f"  {_dot_text(edge.source)} -> {_dot_text(edge.target)}{style};")
    return "\n".join([*lines, "}", ""])


def _dot_node(relation: Relation, derived: bool, written: bool, closures: list[str]) -> str:
    name = _dot_text(relation.name)
    if relation.hidden:
        return f'{name} [fontsize=7, color="#b0b0b0", fillcolor="#eeeeee", fontcolor="#707070"];'
    style = ['fillcolor="#e3eef8"'] if derived else []
    style += ["penwidth=2"] if written else []
    if closures:
        style.append(f"peripheries=2, tooltip={_dot_text('; '.join(closures))}")
    return f"{name} [{', '.join(style)}];" if style else f"{name};"


def _dot_text(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else " " for c in quoted) + '"'


# SVG


@dataclass(frozen=True, slots=True)
class RelationBox:
    """A relation's box, inside its block."""

    relation: Relation
    block: int
    x: float
    y: float
    width: float
    height: float

    def port(self, down: bool) -> Port:
        return Port(self.block, self.x + self.width / 2, self.y + (self.height if down else 0))


def plan_svg(checked: CheckedProgram) -> str:
    """The picture as a self-contained SVG."""
    found = edges(checked)
    blocks: list[Block] = []
    nodes: dict[str, RelationBox] = {}
    frames: dict[int, str] = {}
    loops = {edge.source for edge in found if edge.source == edge.target}
    group = {name: names for names, _ in groups(checked) for name in names}
    entries = Counter(e.target for e in found if group[e.source] != group[e.target])
    for number, (names, recursive) in enumerate(groups(checked)):
        # Relations with many incoming links are in the upper row of their frame.
        members = [checked.relations[n] for n in sorted(names, key=lambda n: -entries[n])]
        block, placed = _block(len(blocks), members, recursive, loops)
        if recursive:
            frames[len(blocks)] = f"stratum {number + 1}, recursive"
        blocks.append(block)
        nodes.update((node.relation.name, node) for node in placed)
    across: list[Edge] = []
    inside: list[Edge] = []
    for edge in found:
        here = nodes[edge.source].block == nodes[edge.target].block
        (inside if here else across).append(edge)
    links = [
        Link(
            nodes[edge.source].port(down=True),
            nodes[edge.target].port(down=False),
            f"{edge.strict:d}{edge.source}",
        )
        for edge in across
    ]
    drawing = draw(blocks, links)
    return _svg(
        checked, drawing, blocks, frames, nodes, list(zip(across, links, strict=True)), inside
    )


def _size(relation: Relation) -> tuple[float, float]:
    length = min(len(relation.name), MAX_NAME)
    if relation.hidden:
        return length * CHARACTER * 0.7 + 12, 16.0
    return max(54.0, length * CHARACTER + 22), 28.0


def _block(
    number: int, members: list[Relation], recursive: bool, loops: set[str]
) -> tuple[Block, list[RelationBox]]:
    """A stratum: its relations in a square, with padding if they have a frame."""
    columns = math.ceil(math.sqrt(len(members)))
    table = [members[i : i + columns] for i in range(0, len(members), columns)]
    widths = [max(_size(row[j])[0] for row in table if j < len(row)) for j in range(columns)]
    pad = FRAME if recursive else 0.0
    # A loop bulges out of the right side of its node.
    bulge = 16.0 if recursive and any(relation.name in loops for relation in members) else 0.0
    natural = sum(widths) + INNER_GAP * (columns - 1) + 2 * pad + bulge
    width = max(natural, TITLE_WIDTH) if recursive else natural
    nodes = []
    y = pad + (TITLE if recursive else 0.0)
    for row in table:
        tall = max(_size(relation)[1] for relation in row)
        x = pad + (width - natural) / 2
        for relation, room in zip(row, widths, strict=False):
            wide, high = _size(relation)
            corner = x + (room - wide) / 2, y + (tall - high) / 2
            nodes.append(RelationBox(relation, number, *corner, wide, high))
            x += room + INNER_GAP
        y += tall + INNER_GAP
    return Block(width, y - INNER_GAP + pad), nodes


def _svg(
    checked: CheckedProgram,
    drawing: Drawing,
    blocks: list[Block],
    frames: dict[int, str],
    nodes: dict[str, RelationBox],
    across: list[tuple[Edge, Link]],
    inside: list[Edge],
) -> str:
    legend_height = 52
    width = max(drawing.width, 640) + 2 * MARGIN
    height = drawing.height + 2 * MARGIN + legend_height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        "<title>Dependencies between relations</title>",
        f"<style>{_STYLE}</style>",
        f"<defs>{_marker('arrow')}{_marker('stop')}</defs>",
        '<rect class="paper" width="100%" height="100%"/>',
        f'<g transform="translate({(width - drawing.width) / 2:.1f} {MARGIN})">',
    ]
    titles = []
    for number, title in frames.items():
        x, y = drawing.corners[number]
        block = blocks[number]
        parts.append(
            f'<rect class="frame" x="{x:.1f}" y="{y:.1f}" width="{block.width:.1f}" '
            f'height="{block.height:.1f}" rx="10"/>'
        )
        at = f'x="{x + FRAME:.1f}" y="{y + 19:.1f}"'
        titles.append(f'<text class="stratum title" {at}>{escape(title)}</text>')
    parts += _links(drawing, across)
    parts += [_inner(edge, nodes, drawing) for edge in inside]
    # Titles are drawn over links that cross them.
    parts += titles
    texts = _rule_texts(checked)
    written = outputs(checked)
    closures = closure_modules(checked)
    for node in nodes.values():
        known = closures.get(node.relation.name, [])
        parts.append(_box(node, drawing.corners[node.block], texts, written, known))
    parts.append("</g>")
    parts.append(_legend(MARGIN, height - MARGIN - 4))
    return "\n".join([*parts, "</svg>", ""])


def _links(drawing: Drawing, across: list[tuple[Edge, Link]]) -> Iterator[str]:
    """Links, grouped by source, so that hovering highlights the whole group."""
    end_of = {id(link): path for link, path in drawing.ends}
    by_trunk: dict[str, list[tuple[Edge, Link]]] = defaultdict(list)
    for edge, link in across:
        by_trunk[link.trunk].append((edge, link))
    # Negation is drawn last, because it is rare and should stay visible.
    for trunk, members in sorted(by_trunk.items(), key=lambda found: found[1][0][0].strict):
        strict = members[0][0].strict
        kind, marker = ("strict", "stop") if strict else ("plain", "arrow")
        paths = []
        if trunk in drawing.trunks:
            curve = " ".join(_curve(path) for path in drawing.trunks[trunk])
            paths.append(f'<path d="{curve}"/>')
        for edge, link in members:
            title = f"<title>{_text(edge.source)} → {_text(edge.target)}</title>"
            curve = _curve(end_of[id(link)])
            paths.append(f'<path d="{curve}" marker-end="url(#{marker})">{title}</path>')
        yield f'<g class="link {kind}">{"".join(paths)}</g>'


def _curve(path: Iterable[Point]) -> str:
    (x, y), *rest = path
    text = f"M{x:.1f} {y:.1f}"
    for u, v in rest:
        bend = (v - y) / 2
        if abs(u - x) < 0.5:
            text += f"L{u:.1f} {v:.1f}"
        else:
            text += f"C{x:.1f} {y + bend:.1f} {u:.1f} {v - bend:.1f} {u:.1f} {v:.1f}"
        x, y = u, v
    return text


def _inner(edge: Edge, nodes: dict[str, RelationBox], drawing: Drawing) -> str:
    """An edge between relations of one stratum: an arc from box to box, or a loop."""
    kind, marker = ("strict", "stop") if edge.strict else ("plain", "arrow")
    source, target = nodes[edge.source], nodes[edge.target]
    left, top = drawing.corners[source.block]
    if source is target:
        x, y = left + source.x + source.width, top + source.y + source.height / 2
        d = f"M{x:.1f} {y - 6:.1f}c20 -12 20 24 0 12"
    else:
        x, y = left + source.x + source.width / 2, top + source.y + source.height / 2
        u, v = left + target.x + target.width / 2, top + target.y + target.height / 2
        # Curved to one side, so that two opposite edges do not coincide.
        p, q = (x + u) / 2 - (v - y) * 0.12, (y + v) / 2 + (u - x) * 0.12
        x, y = _border(source, (x, y), (p, q))
        u, v = _border(target, (u, v), (p, q))
        d = f"M{x:.1f} {y:.1f}Q{p:.1f} {q:.1f} {u:.1f} {v:.1f}"
    title = f"<title>{_text(edge.source)} → {_text(edge.target)}</title>"
    return f'<g class="link {kind}"><path d="{d}" marker-end="url(#{marker})">{title}</path></g>'


def _border(node: RelationBox, middle: Point, towards: Point) -> Point:
    """The point where a line from the middle of a box leaves it."""
    dx, dy = towards[0] - middle[0], towards[1] - middle[1]
    reach = max(abs(dx) / (node.width / 2), abs(dy) / (node.height / 2), 1e-9)
    return middle[0] + dx / reach, middle[1] + dy / reach


def _box(
    node: RelationBox,
    corner: Point,
    texts: dict[str, list[str]],
    written: set[str],
    closures: list[str],
) -> str:
    relation = node.relation
    rules = texts.get(relation.name, [])
    kind = "hidden" if relation.hidden else "derived" if rules else "explicit"
    if relation.name in written:
        kind += " written"
    x, y = corner[0] + node.x, corner[1] + node.y
    name = relation.name
    if len(name) > MAX_NAME:
        name = name[: MAX_NAME - 1] + "…"
    columns = ", ".join(
        f"{attribute}: {type_}"
        for attribute, type_ in list(zip(relation.attributes, relation.kinds, strict=True))[:20]
    )
    about = "\n".join([f"{relation.name}({columns})", *rules[:MAX_RULES]])
    if len(rules) > MAX_RULES:
        about += f"\n… and {len(rules) - MAX_RULES} more rules"
    about = "\n".join([about, *closures])
    return (
        f'<g class="node {kind}"><title>{_text(about)}</title>'
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{node.width:.1f}" '
        f'height="{node.height:.1f}" rx="6"/>'
        f"{_inner_border(x, y, node.width, node.height) if closures else ''}"
        f'<text x="{x + node.width / 2:.1f}" y="{y + node.height / 2:.1f}" dy=".35em">'
        f"{_text(name)}</text></g>"
    )


def _inner_border(x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect class="inner" x="{x + 3:.1f}" y="{y + 3:.1f}" width="{width - 6:.1f}" '
        f'height="{height - 6:.1f}" rx="4"/>'
    )


def _text(text: str) -> str:
    """Escaped, without characters that XML does not allow."""
    return escape("".join(c if c.isprintable() or c == "\n" else " " for c in text))


def _rule_texts(checked: CheckedProgram) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = defaultdict(list)
    for rule in checked.rules:
        texts[rule.head.relation].append(rule.text or f"{rule.head.relation}(…) :- ….")
    return texts


def _marker(name: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto-start-reverse"><path class="{name}" d="M0 0.8L8 4L0 7.2z"/>'
        "</marker>"
    )


def _legend(x: float, y: float) -> str:
    parts = []
    for kind, title in (
        ("explicit", "explicit"),
        ("derived", "derived"),
        ("derived", "closure"),
        ("derived written", "output"),
    ):
        wide = len(title) * CHARACTER + 18
        border = _inner_border(x, y - 20, wide, 22) if title == "closure" else ""
        parts.append(
            f'<g class="node {kind}"><rect x="{x:.1f}" y="{y - 20:.1f}" width="{wide:.1f}" '
            f'height="22" rx="5"/>{border}<text x="{x + wide / 2:.1f}" y="{y - 9:.1f}" dy=".35em">'
            f"{title}</text></g>"
        )
        x += wide + 14
    for kind, marker, title in (
        ("plain", "arrow", "is used for"),
        ("strict", "stop", "by negation or aggregation"),
    ):
        parts.append(
            f'<g class="link {kind}"><path d="M{x:.1f} {y - 9:.1f}h34" '
            f'marker-end="url(#{marker})"/></g>'
            f'<text class="stratum" x="{x + 42:.1f}" y="{y - 9:.1f}" dy=".35em">{title}</text>'
        )
        x += 60 + len(title) * 6.4
    return "".join(parts)


_STYLE = """
.paper { fill: #ffffff; }
.frame { fill: #fdf8ea; stroke: #d5c08a; }
.stratum { font: 11px system-ui, sans-serif; fill: #6b5f3c; }
.title { paint-order: stroke; stroke: #fdf8ea; stroke-width: 4; }
.node rect { fill: #ffffff; stroke: #8aa0b5; stroke-width: 1; }
.node text { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; fill: #1c2430;
  text-anchor: middle; }
.derived rect { fill: #e3eef8; stroke: #5a87b0; }
.node .inner { fill: none; stroke-width: 1; }
.written rect { stroke-width: 2.2; }
.hidden rect { fill: #eeeeee; stroke: #c4c4c4; }
.hidden text { font-size: 8.4px; fill: #707070; }
.link path { fill: none; stroke: #7b8a9a; stroke-width: 1.1; stroke-opacity: .75; }
.strict path { stroke: #c62828; stroke-dasharray: 5 3; stroke-opacity: 1; }
.link:hover path { stroke: #1565c0; stroke-width: 2; stroke-opacity: 1; }
.strict:hover path { stroke: #c62828; }
.arrow { fill: #7b8a9a; } .stop { fill: #c62828; }
@media (prefers-color-scheme: dark) {
.paper { fill: #14181e; }
.frame { fill: #232016; stroke: #6e6240; }
.stratum { fill: #c0b48e; } .title { stroke: #232016; }
.node rect { fill: #1b2129; stroke: #5d6f82; }
.node text { fill: #e4e8ee; }
.derived rect { fill: #1d3448; stroke: #5a87b0; }
.hidden rect { fill: #22262c; stroke: #444444; }
.hidden text { fill: #999999; }
.strict path { stroke: #ef6e6e; } .stop { fill: #ef6e6e; }
.link:hover path { stroke: #7fc4ff; }
}
"""
