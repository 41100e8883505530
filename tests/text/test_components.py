"""Components are what they come to when they are written out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.program.syntax import Program
from tidelog.text import component_expansion, parse, to_text


def read(text: str) -> Program:
    parsed = parse(text)
    assert parsed.diagnostics == ()
    return parsed.program


def statements(text: str) -> list[str]:
    """What a program says, in any order; written out, it says the same."""
    written = to_text(read(text))
    assert to_text(read(written)) == written
    return sorted(written.split("\n"))


BY_HAND = {
    "an instance": (
        ".comp C { .decl r(x: number) r(1). r(x) :- r(x), g(x). .output r } .init a = C",
        ".decl a.r(x: number) a.r(1). a.r(x) :- a.r(x), g(x). .output a.r",
    ),
    "a component without instances": (".comp C { .decl r(x: nothing) } a(1).", "a(1)."),
    "parameters": (
        ".comp C<T, U> { .decl r(x: T, y: U) .type V = T r(as(x, T), y) :- q(x, y). } "
        ".init a = C<number, symbol>",
        ".decl a.r(x: number, y: symbol) .type a.V = number a.r(as(x, number), y) :- q(x, y).",
    ),
    "types of an instance": (
        ".comp C { .type T <: number .decl r(x: T) } .init a = C .decl s(x: a.T)",
        ".type a.T <: number .decl a.r(x: a.T) .decl s(x: a.T)",
    ),
    "inheritance": (
        ".comp Base<T> { .decl r(x: T) } .comp C<T> : Base<T> { r(x) :- q(x). } "
        ".init a = C<number>",
        ".decl a.r(x: number) a.r(x) :- q(x).",
    ),
    "two bases": (
        ".comp A { .decl r(x: number) } .comp B { .decl s(x: number) } "
        ".comp C : A, B { r(x) :- s(x). } .init a = C",
        ".decl a.r(x: number) .decl a.s(x: number) a.r(x) :- a.s(x).",
    ),
    "overriding": (
        ".comp A { .decl r(x: number) overridable r(1). r(x), s(x) :- q(x). r(x) :- t(x). } "
        ".comp B : A { .override r r(2). } .comp C : B { } .init c = C",
        ".decl c.r(x: number) overridable s(x) :- q(x). c.r(2).",
    ),
    "nesting": (
        ".comp A { .decl r(x: number) .comp B { .decl s(x: number) s(x) :- r(x). } "
        ".init b = B r(x) :- b.s(x). } .init a = A q(x) :- a.b.s(x).",
        ".decl a.r(x: number) .decl a.b.s(x: number) a.b.s(x) :- a.r(x). a.r(x) :- a.b.s(x). "
        "q(x) :- a.b.s(x).",
    ),
    "components of a base": (
        ".comp A { .comp B { .decl s(x: number) } } .comp C : A { .init b = B } .init c = C",
        ".decl c.b.s(x: number)",
    ),
    "a component as parameter": (
        ".comp A { .decl r(x: number) } .comp C<T> { .init t = T } .init c = C<A>",
        ".decl c.t.r(x: number)",
    ),
    "names behind an instance with types": (
        ".comp C<T> { .decl r(x: T) .type U = T } .init a = C<number>\na.r(1). "
        ".type V = a.U .init b = C<symbol> q(x) :- s(x), x > y.p(1).",
        ".decl a.r(x: number) .type a.U = number a.r(1). .type V = a.U .decl b.r(x: symbol) "
        ".type b.U = symbol q(x) :- s(x), x > y. p(1).",
    ),
    "any order": (
        ".init a = C a.r(1). .comp C { .init d = D .decl r(x: number) } "
        ".comp D { .decl s(x: number) }",
        "a.r(1). .decl a.r(x: number) .decl a.d.s(x: number)",
    ),
    "names in all places": (
        ".comp C { .decl r(x: number) } .init a = C .input a.r(IO=file) "
        "q(x) :- x = count : a.r(_), !a.r(x), (a.r(x); a.r(1)), y = sum z : { a.r(z) }, "
        "x = y.b(1).",
        ".decl a.r(x: number) .input a.r(IO=file) b(1). "
        "q(x) :- x = count : a.r(_), !a.r(x), (a.r(x); a.r(1)), y = sum z : { a.r(z) }, x = y.",
    ),
}


@pytest.mark.parametrize(("text", "plain"), BY_HAND.values(), ids=BY_HAND)
def test_an_instance_is_what_it_comes_to(text: str, plain: str) -> None:
    assert statements(text) == statements(plain)


RULES = st.sampled_from(
    [
        "{p}r(x, y) :- {p}s(x, y).",
        "{p}r(x, z) :- {p}r(x, y), {p}s(y, z), !outer(x).",
        "{p}s(x, y) :- outer(x), {i}t(y), x < y.",
        "{p}s(x, n) :- outer(x), n = count : {{ {p}r(x, _) }}.",
        "{p}s(1, 2).",
        "{p}s(x, y), {p}r(y, x) :- outer(x), (outer(y); {i}t(y)).",
        "outer(x) :- {p}r(x, _).",
        ".output {p}r",
    ]
)
INNER = st.sampled_from(["{i}t(x) :- outer(x).", "{i}t(7).", "{i}t(x + 1) :- {i}t(x), x < 9."])
NAMES = st.lists(st.sampled_from(["a", "b", "long_name"]), unique=True, max_size=3)


@given(st.lists(RULES), st.lists(RULES), st.lists(INNER), NAMES)
def test_generated_components_are_what_they_come_to(
    base: list[str], own: list[str], inner: list[str], names: list[str]
) -> None:
    declared = [".decl {p}r, {p}s(x: {n}, y: {n})", *base, *own]
    nested = [".decl {i}t(x: {n})", *inner]
    inside = {"p": "", "i": "", "n": "N"}
    around = {**inside, "i": "inner."}
    components = [
        *(".comp Inner<N> {", *(each.format(**inside) for each in nested), "}"),
        *(".comp Base<N> {", ".init inner = Inner<N>", declared[0].format(**inside)),
        *(each.format(**around) for each in base),
        *("}", ".comp C<N> : Base<N> {", *(each.format(**around) for each in own), "}"),
        *(f".init {name} = C<number>" for name in names),
    ]
    plain = []
    for name in names:
        written = {"p": f"{name}.", "i": f"{name}.inner.", "n": "number"}
        plain += [each.format(**written) for each in (*declared, *nested)]
    assert statements("\n".join(components)) == statements("\n".join(plain))


def test_errors_of_the_analysis_name_the_instance() -> None:
    from tidelog.plan.accept import accept
    from tidelog.program.diagnostics import ProgramError

    text = ".comp C { .decl r(x: number)\n  r(x) :- q(y). }\n.init a = C\n.init b = C\nq(1)."
    with pytest.raises(ProgramError) as caught:
        accept(parse(text, "c.dl"))
    assert str(caught.value) == (
        "c.dl:2:5: error: variable x is in the head but in no positive body atom\n"
        "  2 |   r(x) :- q(y). }\n"
        "    |     ^ bind x in the body, or replace it by a constant\n"
        "    note: in the instance a"
    )


def test_instances_that_double_stop_at_a_limit() -> None:
    doubling = [f".comp C{i} {{ .init a = C{i - 1} .init b = C{i - 1} }}" for i in range(1, 41)]
    text = "\n".join([".comp C0 { .decl p(x: number) p(1). }", *doubling, ".init top = C40"])
    (found,) = parse(text, "c.dl").diagnostics
    assert found.message == "more than 10,000 instances and bases of components"
    assert found.advice == "two instances of a component that has two itself are four, and so on"
    assert found.at is not None


def test_bases_that_double_stop_at_a_limit() -> None:
    doubling = [f".comp C{i} : C{i - 1}, C{i - 1} {{ }}" for i in range(1, 41)]
    text = "\n".join([".comp C0 { p(1). }", *doubling, ".init top = C40"])
    found = {each.message for each in parse(text, "c.dl").diagnostics}
    assert found == {"more than 10,000 instances and bases of components"}
    advice = {each.advice for each in parse(text, "c.dl").diagnostics}
    assert advice == {"two bases of a component that has two itself are four, and so on"}


@pytest.mark.parametrize(
    ("inside", "limit", "message"),
    [
        ("p(x) :- e(x).\n", "MAX_RULES", "components bring more than 20 rules and relations"),
        ("p(1).\n", "MAX_FACTS", "components bring more than 20 facts"),
    ],
)
def test_what_instances_bring_is_counted(
    inside: str, limit: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every copy counts, also in what contains it, and the limit is the only error."""
    monkeypatch.setattr(component_expansion, limit, 20)
    text = f".comp C {{ .decl p(x: number)\n{inside * 8}}}\n.init a = C\n"
    assert not parse(text).diagnostics
    for more in ("b.p(1).\n.init b = C\n.init c = C", ".comp D { .init c = C }\n.init d = D"):
        (found,) = parse(text + more, "c.dl").diagnostics
        assert found.message == message
        assert found.at is not None
        assert found.at.line >= 11
