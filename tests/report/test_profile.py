"""Profiles: correct totals, escaped text, and self-contained pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from tidelog.report.profile import RuleRound, profile_html, profile_text, rule_totals

BASE = "path(x, y) :- edge(x, y)."
STEP = "path(x, z) :-\n    path(x, y),\n    edge(y, z)."
RECORDS = [
    RuleRound(1, 0, BASE, "reach.dl:3:1", "path", 0.25, 1_000, 1_000),
    RuleRound(1, 1, STEP, "reach.dl:4:1", "path", 1.0, 2_000_000, 90_000),
    RuleRound(1, 2, STEP, "reach.dl:4:1", "path", 0.5, 500, 0),
    RuleRound(2, 0, 'odd(x) :- name(x, "</td>&").', "a&b.dl:9:1", "<odd>", 0.125, 3, 3),
]


def test_text() -> None:
    assert profile_text(RECORDS, 2.0).splitlines() == [
        " seconds  share  instances   facts  rounds  rule",
        "   1.500  75.0%  2,000,500  90,000       2  path(x, z) :- path(x, y), edge(y, z)."
        "  (reach.dl:4:1)",
        "   0.250  12.5%      1,000   1,000       1  path(x, y) :- edge(x, y).  (reach.dl:3:1)",
        '   0.125   6.2%          3       3       1  odd(x) :- name(x, "</td>&").  (a&b.dl:9:1)',
        "   0.125   6.2%                             everything else: reading, planning, writing",
        "",
        " seconds  share  instances   facts  rounds  stratum",
        "   1.750  87.5%  2,001,500  91,000       3  1: path",
        "   0.125   6.2%          3       3       1  2: <odd>",
        "",
        "total 2.000 s",
    ]


def test_a_run_without_rules() -> None:
    assert profile_text([], 0.0).splitlines()[1:] == [
        "   0.000      -                            everything else: reading, planning, writing",
        "",
        "total 0.000 s",
    ]
    assert "No rule ran." in profile_html([], 0.0, "empty.dl")


def test_the_most_expensive_rule_comes_first() -> None:
    assert [total.seconds for total in rule_totals(RECORDS)] == [1.5, 0.25, 0.125]


class _Checker(HTMLParser):
    """Checks that tags close in order, and keeps the text."""

    void = frozenset({"meta", "rect"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not {"src", "href", "onclick"} & {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_page() -> None:
    page = profile_html(RECORDS, 2.0, '<script>alert("x")</script>')
    checker = _Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    assert checker.tags.count("script") == 1
    assert checker.tags.count("rect") == 4 + 4  # a bar for each round of rules and of strata
    text = "".join(checker.text)
    assert '<script>alert("x")</script>' in text
    assert 'odd(x) :- name(x, "</td>&").' in text
    assert "<odd>" in text
    # The page makes no network requests.
    assert not re.search(r"https?:|url\(|@import", page)


def test_many_rounds_keep_the_page_small() -> None:
    records = [RuleRound(1, i, STEP, "a.dl:1:1", "path", 0.001, 1, 1) for i in range(100_000)]
    assert len(profile_html(records, 100.0, "a.dl")) < 100_000
