"""Profiles: where a run spends its time, as a table for the terminal or a page for the browser."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from tidelog.program.diagnostics import plural


@dataclass(frozen=True, slots=True)
class RuleRound:
    """The work of one rule in one round of its stratum."""

    stratum: int
    round: int
    rule: str  # its text
    at: str  # file:line:column
    relation: str
    seconds: float
    instances: int
    facts: int  # new facts


@dataclass(frozen=True, slots=True)
class Total:
    """The totals of a rule or stratum over all rounds."""

    label: str
    at: str
    relation: str
    stratum: int
    seconds: float
    instances: int
    facts: int
    rounds: int
    by_round: tuple[tuple[int, float, int], ...]  # round, seconds, facts


def rule_totals(records: Iterable[RuleRound]) -> list[Total]:
    """Totals per rule, the most expensive first."""
    groups: dict[tuple[int, str, str], list[RuleRound]] = {}
    for record in records:
        groups.setdefault((record.stratum, record.at, record.rule), []).append(record)
    totals = [_total(group, rule, at, group[0].relation) for (_, at, rule), group in groups.items()]
    return sorted(totals, key=lambda total: -total.seconds)


def stratum_totals(records: Iterable[RuleRound]) -> list[Total]:
    """Totals per stratum, in order of evaluation."""
    groups: dict[int, list[RuleRound]] = {}
    for record in records:
        groups.setdefault(record.stratum, []).append(record)
    return [
        _total(group, ", ".join(dict.fromkeys(record.relation for record in group)), "", "")
        for _, group in sorted(groups.items())
    ]


def _total(group: Sequence[RuleRound], label: str, at: str, relation: str) -> Total:
    rounds: dict[int, tuple[float, int]] = {}
    for record in group:
        seconds, facts = rounds.get(record.round, (0.0, 0))
        rounds[record.round] = seconds + record.seconds, facts + record.facts
    return Total(
        label,
        at,
        relation,
        group[0].stratum,
        sum(record.seconds for record in group),
        sum(record.instances for record in group),
        sum(record.facts for record in group),
        len(rounds),
        tuple((number, *rounds[number]) for number in sorted(rounds)),
    )


# The table


def profile_text(records: Iterable[RuleRound], total_seconds: float) -> str:
    """A table of rules and a table of strata.

    >>> rule = "path(x, z) :- path(x, y), edge(y, z)."
    >>> print(profile_text([RuleRound(1, 1, rule, "reach.dl:4:1", "path", 0.25, 90, 40),
    ...                     RuleRound(1, 2, rule, "reach.dl:4:1", "path", 0.05, 10, 0)], 0.4))
     seconds  share  instances  facts  rounds  rule
       0.300  75.0%        100     40       2  path(x, z) :- path(x, y), edge(y, z).  (reach.dl:4:1)
       0.100  25.0%                            everything else: reading, planning, writing
    <BLANKLINE>
     seconds  share  instances  facts  rounds  stratum
       0.300  75.0%        100     40       2  1: path
    <BLANKLINE>
    total 0.400 s
    """
    records = list(records)
    rules = rule_totals(records)
    rest = max(0.0, total_seconds - sum(total.seconds for total in rules))
    of_rules = [
        (*_numbers(total, total_seconds), f"{_one_line(total.label)}  ({total.at})")
        for total in rules
    ]
    else_row = (f"{rest:.3f}", _share(rest, total_seconds), "", "", "")
    of_rules.append((*else_row, "everything else: reading, planning, writing"))
    of_strata = [
        (*_numbers(total, total_seconds), _cut(f"{total.stratum}: {total.label}", 80))
        for total in stratum_totals(records)
    ]
    parts = [_table(of_rules, "rule")]
    if of_strata:
        parts.append(_table(of_strata, "stratum"))
    return "\n\n".join([*parts, f"total {total_seconds:.3f} s"])


_HEAD = ("seconds", "share", "instances", "facts", "rounds")
_Row = tuple[str, str, str, str, str, str]


def _numbers(total: Total, total_seconds: float) -> tuple[str, str, str, str, str]:
    return (
        f"{total.seconds:.3f}",
        _share(total.seconds, total_seconds),
        f"{total.instances:,}",
        f"{total.facts:,}",
        f"{total.rounds:,}",
    )


def _share(seconds: float, total_seconds: float) -> str:
    return f"{seconds / total_seconds:.1%}" if total_seconds > 0 else "-"


def _table(rows: Iterable[_Row], noun: str) -> str:
    rows = [(*_HEAD, noun), *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    return "\n".join(
        " " + "  ".join([*(row[i].rjust(w) for i, w in enumerate(widths)), row[-1]]) for row in rows
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


# The page


def profile_html(records: Iterable[RuleRound], total_seconds: float, program_name: str) -> str:
    """A self-contained page with sortable tables and a bar per round."""
    records = list(records)
    rules, strata = rule_totals(records), stratum_totals(records)
    name = escape(program_name)
    facts = sum(total.facts for total in strata)
    instances = sum(total.instances for total in strata)
    in_rules = sum(total.seconds for total in strata)
    figures = [
        (_seconds(total_seconds), "total"),
        (_seconds(in_rules), "in rules"),
        (f"{facts:,}", "facts derived"),
        (f"{instances:,}", "rule instances"),
        (f"{instances / in_rules:,.0f}" if in_rules > 0 else "-", "instances per second"),
    ]
    cards = "".join(f"<div><b>{value}</b><span>{noun}</span></div>" for value, noun in figures)
    return _PAGE.format(
        name=name,
        style=_STYLE,
        script=_SCRIPT,
        cards=cards,
        rules=_html_table(rules, total_seconds, "Rule", _rule_cell),
        strata=_html_table(strata, total_seconds, "Relations", _stratum_cell),
    )


def _rule_cell(total: Total) -> str:
    return f"<code>{escape(total.label)}</code><small>{escape(total.at)}</small>"


def _stratum_cell(total: Total) -> str:
    return f"<code>{escape(_cut(total.label, 300))}</code>"


def _html_table(
    totals: Sequence[Total], total_seconds: float, noun: str, cell: Callable[[Total], str]
) -> str:
    most = max((total.seconds for total in totals), default=0.0)
    heads = ["Stratum", "Seconds", "Share", "Instances", "Facts", "Rounds"]
    head = "".join(
        f'<th scope="col" class="n"><button type="button">{title}</button></th>' for title in heads
    )
    head = f'<th scope="col"><button type="button">{noun}</button></th>{head}'
    head += '<th scope="col">Each round</th>'
    lines = []
    for total in totals:
        share = total.seconds / total_seconds if total_seconds > 0 else 0.0
        length = total.seconds / most if most > 0 else 0.0
        lines.append(
            f'<tr><td class="what">{cell(total)}</td>'
            f'<td class="n" data-v="{total.stratum}">{total.stratum}</td>'
            f'<td class="n" data-v="{total.seconds!r}">{total.seconds:.3f}</td>'
            f'<td class="n share" data-v="{share!r}"><span style="--w:{length:.4f}">{share:.1%}'
            "</span></td>"
            f'<td class="n" data-v="{total.instances}">{total.instances:,}</td>'
            f'<td class="n" data-v="{total.facts}">{total.facts:,}</td>'
            f'<td class="n" data-v="{total.rounds}">{total.rounds:,}</td>'
            f"<td>{_bars(total.by_round)}</td></tr>"
        )
    if not lines:
        lines.append('<tr><td colspan="8">No rule ran.</td></tr>')
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


_MAX_BARS = 60  # rounds drawn one by one; more would be thinner than a character


def _bars(by_round: Sequence[tuple[int, float, int]]) -> str:
    """Seconds per round as bars; at many rounds, each bar covers several."""
    together = -(-len(by_round) // _MAX_BARS)
    groups = [by_round[i : i + together] for i in range(0, len(by_round), together or 1)]
    sums = [sum(seconds for _, seconds, _ in group) for group in groups]
    most = max(sums, default=0.0)
    width, height = max(6, min(18, 240 // max(1, len(groups)))), 32
    parts = []
    for i, (group, seconds) in enumerate(zip(groups, sums, strict=True)):
        tall = max(1.0, height * seconds / most) if most > 0 else 1.0
        first, last = group[0][0], group[-1][0]
        rounds = f"round {first}" if first == last else f"rounds {first} to {last}"
        facts = sum(found for _, _, found in group)
        title = f"{rounds}: {_seconds(seconds)}, {plural(facts, 'fact')}"
        parts.append(
            f'<rect x="{i * width}" y="{height - tall:.1f}" width="{width - 1}" '
            f'height="{tall:.1f}"><title>{title}</title></rect>'
        )
    size = f'width="{len(groups) * width}" height="{height}"'
    return f'<svg role="img" aria-label="seconds per round" {size}>{"".join(parts)}</svg>'


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{name}: profile</title>
<style>{style}</style>
</head>
<body>
<h1>{name}</h1>
<section class="cards">{cards}</section>
<h2>Rules</h2>
<div class="wide">{rules}</div>
<h2>Strata</h2>
<div class="wide">{strata}</div>
<script>{script}</script>
</body>
</html>
"""

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --paper: #fff;
  --line: #dfe4ea; --hover: #f4f7fa; --bar: #2f7fb8; --tint: #cfe5f4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #98a4b3; --paper: #14181e;
  --line: #2c343f; --hover: #1c222a; --bar: #5fb0e5; --tint: #1d4159; } }
body { margin: 2rem auto; padding: 0 1.5rem; max-width: 90rem; color: var(--ink);
  background: var(--paper); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; }
.cards div { border: 1px solid var(--line); border-radius: 8px; padding: .6rem 1rem; }
.cards b { display: block; font-size: 1.2rem; font-variant-numeric: tabular-nums; }
.cards span, small { color: var(--soft); font-size: .85rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4rem .6rem; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { position: sticky; top: 0; background: var(--paper); white-space: nowrap; }
th button { all: unset; cursor: pointer; font-weight: 600; }
th button:focus-visible { outline: 2px solid var(--bar); outline-offset: 2px; }
th[aria-sort=ascending] button::after { content: " ▲"; }
th[aria-sort=descending] button::after { content: " ▼"; }
tbody tr:hover { background: var(--hover); }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.what { min-width: 22rem; }
.what code { display: block; font: 13px/1.4 ui-monospace, monospace; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.share span { display: inline-block; min-width: 4.5rem; padding: 0 .3rem; border-radius: 3px;
  background: linear-gradient(to left, var(--tint) calc(var(--w) * 100%), transparent 0); }
svg { display: block; } svg rect { fill: var(--bar); }
"""

_SCRIPT = """
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, i) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const numeric = head.classList.contains("n");
      const was = head.getAttribute("aria-sort");
      const down = was ? was === "ascending" : numeric;
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = row => numeric ? Number(row.cells[i].dataset.v) : row.cells[i].textContent;
      const rows = [...body.rows].filter(row => row.cells.length > 1);
      rows.sort((a, b) => {
        const x = key(a), y = key(b);
        return (numeric ? x - y : x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
      });
      body.append(...rows);
    });
  });
}
"""
