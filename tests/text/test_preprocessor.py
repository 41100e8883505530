"""The C preprocessor: what a program is after it, and that no definition makes it endless."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.text import parse, parse_file, to_text

SAME = [
    ("#define N 10\na(N, -N).", "a(10, -10)."),
    ("# define N 10 // ten\n#undef N\na(x) :- b(x, N).", "a(x) :- b(x, N)."),
    ("#define E(x, y) edge(x, y)\nE(1, (2)).\nE (3,\n4).", "edge(1, 2).\nedge(3, 4)."),
    ("#define A B\n#define B 7\na(A).", "a(7)."),
    ("#define A A\n#define B C\n#define C B\na(x) :- b(A, B, x).", "a(x) :- b(A, B, x)."),
    ("#define F(x) (x + 1)\na(F(F(1))) :- g(F).", "a(1 + 1 + 1) :- g(F)."),
    ('#define N 1\na("N", x) :- b(x, N). /* N */ // N', 'a("N", x) :- b(x, 1).'),
    ("#define R(n) .decl n##_r(x: symbol) n##_r(#n).\nR(a)", '.decl a_r(x: symbol) a_r("a").'),
    ("#define L(r, ...) r(__VA_ARGS__).\nL(a, 1, 2)", "a(1, 2)."),
    ("#define BODY b(x), \\\n  c(x)\na(x) :- BODY.", "a(x) :- b(x), c(x)."),
    ("#define NOTHING\na(1). NOTHING b(2).", "a(1). b(2)."),
    ("#ifdef N\na(1\n#else\nb(1).\n#endif", "b(1)."),
    ("#define N\n#ifndef N\na(1).\n#elif 1\nb(1).\n#elif 1\nc(1).\n#endif", "b(1)."),
    ("#if 0\n#if 1\na(1).\n#else\nb(1).\n#endif\n#endif\nc(1).", "c(1)."),
    ("/*\n#if 0\n*/\na(1).", "a(1)."),
    ('a("x\n#if 0\n").', 'a("x\\n#if 0\\n").'),
    ("#pragma whatever\n#warning so\na(1).", "a(1)."),
    ("#define N 5\nx(y) :- z(y), y = N.a(1).", "x(y) :- z(y), y = 5. a(1)."),
]


@pytest.mark.parametrize(("text", "plain"), SAME, ids=[plain for _, plain in SAME])
def test_a_program_is_that_without_macros(text: str, plain: str) -> None:
    parsed = parse(text)
    assert parsed.diagnostics == ()
    assert to_text(parsed.program) == to_text(parse(plain).program)
    crlf = parse(text.replace("\n", "\r\n").replace('"x\r\n#if 0\r\n"', '"x\n#if 0\n"'))
    assert to_text(crlf.program) == to_text(parse(plain).program)


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("1 + 2 * 3 == 7", True),
        ("(1 + 2) * 3 == 7", False),
        ("-7 / 2 == -3 && -7 % 2 == -1", True),
        ("!0 && !(2 < 1) || UNKNOWN", True),
        ("UNKNOWN", False),
        ("defined N && defined(N) && !defined(M)", True),
        ("N >= 0x10 /* sixteen */", True),
        ("N <= 15u", False),
        ("1 - 1 - 1 != -1", False),
        ("0 && 1 || 1", True),
    ],
)
def test_conditions(condition: str, value: bool) -> None:
    parsed = parse(f"#define N 16\n#if {condition}\nyes().\n#endif")
    assert parsed.diagnostics == ()
    assert [fact.relation for fact in parsed.program.facts] == (["yes"] if value else [])


def test_what_an_included_file_defines_holds_behind_the_include(tmp_path: Path) -> None:
    for include in ("#include", ".include"):
        (tmp_path / "main.dl").write_text(f'a(N).\n{include} "n.dl"\na(N).\n{include} "n.dl"')
        (tmp_path / "n.dl").write_text("#ifndef N\n#define N 3\nb(N).\n#endif\n")
        parsed = parse_file(tmp_path / "main.dl")
        assert parsed.diagnostics == ()
        assert to_text(parsed.program) == to_text(parse("a(N). b(3). a(3).").program)
        assert [(Path(f.at.file).name, f.at.line) for f in parsed.program.facts] == [
            ("n.dl", 3),
            ("main.dl", 3),
        ]


def test_an_include_that_does_not_count_is_not_read(tmp_path: Path) -> None:
    skipped = '#if 0\n#include "none.dl"\n.include "none.dl"\n#endif\n'
    (tmp_path / "main.dl").write_text(skipped + "a(1).")
    parsed = parse_file(tmp_path / "main.dl")
    assert parsed.diagnostics == ()
    assert len(parsed.program.facts) == 1


def test_folders_for_includes_come_after_the_file_itself(tmp_path: Path) -> None:
    for name, text in {"p": '#include "a.dl"\n#include "b.dl"', "p/a": "a(1).", "i/a": "a(2).",
                       "i/b": '#include "c.dl"\nb(1).', "i/c": "c(1)."}.items():  # fmt: skip
        path = tmp_path / (f"{name}/main.dl" if name == "p" else f"{name}.dl")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    parsed = parse_file(tmp_path / "p/main.dl", include=[tmp_path / "i"])
    assert parsed.diagnostics == ()
    assert [(f.relation, f.values) for f in parsed.program.facts] == [
        ("a", (1,)),
        ("c", (1,)),
        ("b", (1,)),
    ]
    (tmp_path / "i/b.dl").write_text('#include "../p/../x.dl"')
    (tmp_path / "x.dl").write_text("x(1).")
    (only,) = parse_file(tmp_path / "p/main.dl", include=[tmp_path / "i"]).diagnostics
    assert only.message == "../p/../x.dl is outside the program's folder"


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(60)) + "a(A0).",
        "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(60)) + "#define A60\na(A0).",
        "#define D(x) x x\na(" + "D(" * 40 + "1" + ")" * 40 + ").",
    ],
)
def test_definitions_that_explode_are_refused(text: str) -> None:
    messages = [each.message for each in parse(text).diagnostics]
    assert "a macro expands to too much text" in messages
    assert len(messages) == 1


def test_definitions_a_thousand_deep_are_refused() -> None:
    text = "".join(f"#define A{i} A{i + 1}\n" for i in range(1000)) + "a(A0)."
    messages = [each.message for each in parse(text).diagnostics]
    assert messages == ["macros nested more than 100 deep"]
    inside = text.removesuffix("a(A0).") + ".comp C { p(1). p(2) :- q(A0). }\n.init c = C"
    messages = [each.message for each in parse(inside).diagnostics]
    assert messages == ["macros nested more than 100 deep"]
    deep = "#if " + "(" * 1000 + "1" + ")" * 1000 + "\n#endif"
    assert parse(deep).diagnostics[0].message == "`#if` is nested more than 100 deep"


def test_macros_from_outside() -> None:
    parsed = parse("#if N > 1\na(N, WORD).\n#endif", macros={"N": 2, "WORD": '"tide"'})
    assert parsed.program.facts[0].values == (2, "tide")
