"""`.functor`: a function of the program's own, with the types that it takes and gives."""

from __future__ import annotations

from tidelog.program.syntax import FunctorDecl
from tidelog.text.cursor import Cursor

ADVICE = "write `.functor f(x: number): number`"


def functor_declaration(cursor: Cursor) -> FunctorDecl:
    """What follows `.functor`; parameters may have names, as they do in newer programs."""
    name = cursor.plain_name("a functor", ADVICE)
    cursor.expect("(", f"expected `(` after `{name.text}`", ADVICE)
    parameters: list[str] = []
    while not cursor.accept(")"):
        if parameters:
            cursor.expect(",", "expected `,` or `)` after a parameter", "close the list with `)`")
        if cursor.peek(1).kind == ":":
            cursor.expect("name", "expected a parameter name", ADVICE)
            cursor.accept(":")
        parameters.append(cursor.type_name())
    cursor.expect(":", "expected the type of the result", ADVICE)
    result = cursor.type_name()
    stateful = cursor.peek().text == "stateful" and cursor.peek(1).kind != "("
    if stateful:
        cursor.index += 1
    return FunctorDecl(name.text, tuple(parameters), result, stateful, cursor.at(name))
