"""A proof as a page that needs no other file: nested lists that open and close.

Everything is in the text of the page, so it can be read and searched without scripts; a script
adds keys and a jump to the place where a fact stands first.
"""

from __future__ import annotations

import html
from collections.abc import Iterator

from tidelog.explain.derivation import Derivation
from tidelog.explain.views.indented import binding_list, premise_text
from tidelog.program.diagnostics import plural
from tidelog.program.proof_steps import (
    Absent,
    Explicit,
    FoldedRows,
    GroundFact,
    Open,
    Path,
    RuleInstance,
    Step,
)

OPENED = 3  # levels that are open at first

STYLE = """
.tidelog-proof { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif;
  color: light-dark(#1d2430, #e6e9ee); background: light-dark(#fff, #14171c); padding: 1em; }
.tidelog-proof code { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
.tidelog-proof ul { list-style: none; margin: 0; padding-left: 1.4em;
  border-left: 1px solid light-dark(#d5dae2, #363c46); }
.tidelog-proof summary { cursor: pointer; border-radius: 4px; padding: 0 .3em; }
.tidelog-proof summary:focus-visible, .tidelog-proof a:focus-visible {
  outline: 2px solid light-dark(#1f6feb, #6cb0ff); }
.tidelog-proof .rule, .tidelog-proof .note { color: light-dark(#57606f, #9aa4b2); }
.tidelog-proof .explicit { color: light-dark(#0a6b3d, #6fd6a0); }
.tidelog-proof .absent { color: light-dark(#a3382c, #ff9d8f); }
.tidelog-proof a { color: light-dark(#1f6feb, #6cb0ff); }
.tidelog-proof :target { background: light-dark(#fff3c4, #4a4115); }
"""

SCRIPT = """
const root = document.querySelector(".tidelog-proof");
const all = open => root.querySelectorAll("details").forEach(each => each.open = open);
const show = target => {
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  target?.querySelector("summary")?.focus();
};
root.addEventListener("click", event => {
  const link = event.target.closest("a[href^='#']");
  if (link) setTimeout(() => show(document.getElementById(link.hash.slice(1))));
});
root.addEventListener("keydown", event => {
  const seen = [...root.querySelectorAll("summary")].filter(each => each.checkVisibility());
  const i = seen.indexOf(document.activeElement), here = document.activeElement.parentElement;
  const to = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: seen.length - 1 }[event.key];
  if (seen[to]) seen[to].focus();
  else if (i >= 0 && event.key === "ArrowRight") here.open = true;
  else if (i >= 0 && event.key === "ArrowLeft") {
    if (here.open) here.open = false;
    else here.parentElement.closest("details")?.querySelector("summary").focus();
  } else if (event.key === "+") all(true);
  else if (event.key === "-") all(false);
  else return;
  event.preventDefault();
});
"""


def as_page(proof: Derivation) -> str:
    title = html.escape("Why " + ", ".join(map(proof.text_of, proof.goals[:3])))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title></head>\n<body style='margin:0'>\n{as_fragment(proof)}\n"
        f"<script>{SCRIPT}</script>\n</body></html>\n"
    )


def as_fragment(proof: Derivation) -> str:
    """The part of a page that shows the proof, for notebooks."""
    summary = f"{plural(len(proof), 'fact')}, {plural(proof.height, 'level')}"
    keys = "arrows move, open and close; + opens and - closes all"
    lines = [
        f"<style>{STYLE}</style>",
        '<main class="tidelog-proof">',
        f'<p class="note">{summary}. Keys: {keys}.</p>',
        "<ul>",
        *_lists(proof),
        "</ul>",
        *(f'<p class="note">left out: {html.escape(reason)}</p>' for reason in proof.left_out),
        "</main>",
    ]
    return "\n".join(lines)


def _lists(proof: Derivation) -> Iterator[str]:
    """The lists, each fact with all below it where it stands first."""
    numbers = {fact: i for i, fact in enumerate(proof.upwards())}
    shown: set[GroundFact] = set()
    work: list[tuple[GroundFact | str, int]] = [(goal, 0) for goal in reversed(proof.goals)]
    while work:
        what, level = work.pop()
        if isinstance(what, str):
            yield what
            continue
        steps = proof.steps[what]
        text = f"<code>{html.escape(proof.text_of(what))}</code>"
        if isinstance(steps[0], Explicit | Open) and len(steps) == 1:
            yield f"<li>{text} {_leaf(steps[0])}</li>"
        elif what in shown:
            yield f'<li>{text} <a href="#f{numbers[what]}">see above</a></li>'
        else:
            shown.add(what)
            opened = " open" if level < OPENED else ""
            yield f'<li><details id="f{numbers[what]}"{opened}><summary>{text}</summary>'
            below: list[tuple[GroundFact | str, int]] = []
            for i, step in enumerate(steps):
                below.append((f"<ul>{_head(step, i)}", level))
                below += [(each, level + 1) for each in _below(step)]
                below.append(("</ul>", level))
            work += [("</details></li>", level), *reversed(below)]


def _leaf(step: Step) -> str:
    if isinstance(step, Open):
        return f'<span class="note">not shown: {html.escape(step.why)}</span>'
    return '<span class="explicit">explicit</span>'


def _head(step: Step, i: int) -> str:
    also = "or " if i else ""
    match step:
        case RuleInstance(rule, at=at):
            place = f" {at.file}:{at.line}" if at.line else ""
            values = html.escape(binding_list(step.bindings))
            text = f"{also}by <code>{html.escape(rule)}</code>{html.escape(place)}"
            return f'<li class="rule">{text} <code>{values}</code></li>'
        case Path(closure, links):
            text = f"{also}by a path of {plural(len(links), 'fact')}: {closure}"
            return f'<li class="rule">{html.escape(text)}</li>'
    return f"<li>{also}{_leaf(step)}</li>"


def _below(step: Step) -> Iterator[GroundFact | str]:
    if isinstance(step, Path):
        yield from (link.fact for link in step.links)
    if not isinstance(step, RuleInstance):
        return
    for premise in step.premises:
        if isinstance(premise, GroundFact):
            yield premise
            continue
        text = html.escape(premise_text(premise))
        if not isinstance(premise, FoldedRows) or not premise.count:
            kind = "absent" if isinstance(premise, Absent) else "test"
            yield f'<li><code class="{kind}">{text}</code></li>'
            continue
        yield f"<li><details open><summary><code>{text}</code></summary><ul>"
        yield from (fact for row in premise.rows for fact in row)
        more = premise.count - len(premise.rows)
        yield f'<li class="note">… {more:,} more</li>' if more > 0 else ""
        yield "</ul></details></li>"
