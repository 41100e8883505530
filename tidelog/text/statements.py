"""One statement at a time: clauses, declarations and directives.

They are added to `Statements`; a syntax error raises a `Fault`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tidelog.program.qualifiers import QUALIFIERS
from tidelog.program.suggestions import closest
from tidelog.program.syntax import (
    KINDS,
    Action,
    And,
    Atom,
    Attribute,
    BranchDecl,
    Call,
    Clause,
    Comparison,
    Constant,
    Directive,
    Fact,
    Formula,
    FunctorDecl,
    Program,
    RelationDecl,
    Span,
    Truth,
    TypeDecl,
    Variable,
)
from tidelog.program.terms import RECORD
from tidelog.text.advice import Node
from tidelog.text.cursor import Cursor, no_relation
from tidelog.text.expressions import Expressions
from tidelog.text.functor_declarations import functor_declaration
from tidelog.text.lexer import DIRECTIVES, Fault, Token
from tidelog.text.literal_values import unescape
from tidelog.text.operator_table import ACTIONS, RESERVED, UNRESERVED
from tidelog.text.souffle_only import refused
from tidelog.text.subsumption_clauses import Subsumption, as_clause, choices

_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)


@dataclass(frozen=True)
class Reference:
    """A component with the types for its parameters: `Graph<City>`."""

    name: str
    arguments: tuple[str, ...]
    at: Span


@dataclass(frozen=True)
class Instance:
    """`.init name = component`."""

    name: str
    component: Reference
    at: Span


@dataclass(frozen=True, eq=False)
class Component:
    """`.comp name<parameters> : bases { draft }`."""

    name: str
    parameters: tuple[str, ...]
    bases: tuple[Reference, ...]
    draft: Statements
    at: Span


@dataclass
class Statements:
    """The statements of a program or a component read so far."""

    types: list[TypeDecl] = field(default_factory=list)
    relations: list[RelationDecl] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    directives: list[Directive] = field(default_factory=list)
    pragmas: list[tuple[str, str]] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)  # names in what could not be read
    components: list[Component] = field(default_factory=list)
    instances: list[Instance] = field(default_factory=list)
    overrides: list[tuple[str, Span]] = field(default_factory=list)
    functors: list[FunctorDecl] = field(default_factory=list)
    subsumptions: list[Clause] = field(default_factory=list)
    after_rule: bool = False  # a `.plan` may stand here

    def program(self) -> Program:
        return Program(
            tuple(self.types),
            tuple(self.relations),
            tuple(self.clauses),
            tuple(self.facts),
            tuple(self.directives),
            tuple(self.pragmas),
            frozenset(self.lost),
            tuple(self.functors),
            tuple(self.subsumptions),
        )


def clause(cursor: Cursor, draft: Statements) -> None:
    """`heads :- body.`, or a head alone; one of literals alone is kept as a fact."""
    start = cursor.peek()
    if start.text == "?" and cursor.peek(1).kind == "-":
        at = cursor.at(start)._replace(width=2)
        advice = "name a relation for the answer, with a rule and an `.output`"
        raise Fault("a program cannot contain queries (`?-`)", at, advice)
    reader = Expressions(cursor.source, cursor.tokens, cursor.index)
    node = reader.read()
    if start.kind == "(":
        raise Fault("a head takes no parentheses", cursor.at(start), "remove them")
    heads = () if isinstance(node, Subsumption) else _heads(node)
    body: Formula = And(())
    cursor.index = reader.index
    neck = cursor.peek()
    if neck.kind == ":-":
        reader = Expressions(cursor.source, cursor.tokens, cursor.index + 1)
        body = reader.formula()
        cursor.index = reader.index
    if cursor.peek().kind == ":-":
        raise Fault(
            "a second `:-` in one clause",
            cursor.at(cursor.peek()),
            "is the `.` of the clause before missing?",
        )
    if cursor.peek().kind != ".":
        raise Fault(
            "a `.` is missing at the end of this clause",
            cursor.last(),
            "end the clause with `.`",
            cursor.index,
        )
    if isinstance(node, Subsumption):
        cursor.index += 1
        draft.subsumptions.append(as_clause(node, body))
        return
    if neck.kind == "." and len(heads) > 1:
        raise Fault("several facts in one statement", heads[1].at, "end each fact with its own `.`")
    cursor.index += 1
    # A literal such as `1u` fixes its kind, which a Fact cannot say.
    literals = [
        term.value
        for term in heads[0].terms
        if isinstance(term, Constant) and term.kind != "unsigned"
    ]
    if neck.kind == "." and len(literals) == len(heads[0].terms):
        draft.facts.append(Fact(heads[0].relation, tuple(literals), heads[0].at))
    else:
        draft.clauses.append(Clause(heads, body, heads[0].at))
        draft.after_rule = True


def _heads(node: Node) -> tuple[Atom, ...]:
    parts: tuple[Node, ...] = node.parts if isinstance(node, And) else (node,)
    return tuple([_head(part) for part in parts])


def _head(part: Node) -> Atom:
    match part:
        case Atom():
            return part
        case Call(functor=name) if name in UNRESERVED:
            return Atom(name, part.args, part.at)
        case Call(functor=name) | Comparison(op=name) if name in RESERVED:
            raise no_relation(name, part.at)
        case Variable(name=name):
            advice = f"write `{name}()` or `{name}(…)`"
            raise Fault(f"expected an atom, got `{name}`", part.at, advice)
        case Truth():
            raise Fault("a head is an atom, not a condition", part.at)
        case _:
            raise Fault("a head is an atom such as `path(x, y)`", part.at)


def directive(cursor: Cursor, keyword: Token, draft: Statements) -> None:
    """What follows a keyword such as `.decl`."""
    _DIRECTIVES[keyword.text](cursor, keyword, draft)


def _declaration(cursor: Cursor, keyword: Token, draft: Statements) -> None:
    # A program that is written out declares what instances have, names with dots.
    names = [cursor.relation_name()]
    while cursor.accept(","):
        names.append(cursor.relation_name())
    if cursor.peek().kind == "=" and cursor.peek(1).text == "debug_delta":
        raise refused("debug_delta", cursor.at(cursor.peek(1)))
    cursor.expect("(", f"expected `(` after `{names[-1].text}`", "write `.decl edge(x: number)`")
    attributes: list[Attribute] = []
    while not cursor.accept(")"):
        if attributes:
            again = cursor.peek().kind == "name" and cursor.peek(1).kind == ":"
            advice = "is a `,` missing before it?" if again else "close the list with `)`"
            cursor.expect(",", "expected `,` or `)` after an attribute", advice)
        attributes.append(_attribute(cursor))
    qualifiers, actions, chosen = _qualifiers(cursor, attributes)
    for name in names:
        at = cursor.at(name)
        draft.relations.append(
            RelationDecl(
                name.text, tuple(attributes), frozenset(qualifiers), at, choices=tuple(chosen)
            )
        )
        draft.directives += [Directive(action, name.text, (), at) for action in actions]


def _attribute(cursor: Cursor) -> Attribute:
    name = cursor.expect("name", "expected an attribute name", "write `x: number`")
    if not cursor.accept(":"):
        if name.text in KINDS:
            at = cursor.at(name)
            raise Fault("an attribute has no name", at, f"write `x: {name.text}`")
        raise Fault(
            f"attribute {name.text} has no type",
            cursor.at(name),
            f"write `{name.text}: number` (or unsigned, float, symbol)",
        )
    type_name = cursor.type_name()
    if cursor.peek().kind == "wrong" and cursor.peek().text == "<>":
        raise refused("lattice attribute", cursor.at(cursor.peek()))
    return Attribute(name.text, type_name, cursor.at(name))


def _qualifiers(
    cursor: Cursor, attributes: list[Attribute]
) -> tuple[set[str], list[Action], list[tuple[str, ...]]]:
    found: set[str] = set()
    actions: list[Action] = []
    chosen: list[tuple[str, ...]] = []
    while cursor.peek().kind == "name" and cursor.peek(1).kind not in ("(", "."):
        token = cursor.peek()
        if token.text in ACTIONS:
            actions.append(ACTIONS[token.text])
        elif token.text in QUALIFIERS:
            found.add(token.text)
        elif token.text == "choice" and cursor.peek(1).kind == "-":
            chosen += choices(cursor, attributes)
            continue
        elif token.text in DIRECTIVES:
            break  # a forgotten dot, reported where statements are read
        else:
            close = closest(token.text, (*ACTIONS, *QUALIFIERS))
            raise Fault(
                f"unknown qualifier `{token.text}`",
                cursor.at(token),
                f"did you mean `{close}`?" if close else "see the language reference",
            )
        cursor.index += 1
    return found, actions, chosen


def _type_declaration(cursor: Cursor, keyword: Token, draft: Statements) -> None:
    name = cursor.expect("name", "expected a type name", "write `.type Id <: number`")
    at = cursor.at(name)
    if keyword.text != ".type":
        old = keyword.text[1:].removesuffix("_type")
        draft.types.append(TypeDecl(name.text, "subtype", (old,), at))
    elif cursor.accept("<:"):
        draft.types.append(TypeDecl(name.text, "subtype", (cursor.type_name(),), at))
    elif cursor.accept("="):
        draft.types.append(_definition(cursor, name.text, at))
    else:
        draft.types.append(TypeDecl(name.text, "subtype", ("symbol",), at))


def _definition(cursor: Cursor, name: str, at: Span) -> TypeDecl:
    """What follows `.type name =`."""
    if cursor.peek().kind == "[":
        opened = cursor.peek()
        cursor.index += 1
        fields = _fields(cursor, "]", "write `.type Pair = [a: number, b: symbol]`")
        branch = BranchDecl(RECORD, fields, cursor.at(opened))
        return TypeDecl(name, "record", (), at, (branch,))
    if cursor.peek(1).kind == "{":
        branches = [_branch(cursor)]
        while cursor.accept("|"):
            branches.append(_branch(cursor))
        return TypeDecl(name, "algebraic", (), at, tuple(branches))
    of = [cursor.type_name()]
    while cursor.accept("|"):
        of.append(cursor.type_name())
        if cursor.peek().kind == "{":
            message = "a union cannot have branches with fields"
            advice = "give every branch its braces: `A {} | B { x: number }`"
            raise Fault(message, cursor.at(cursor.peek()), advice)
    return TypeDecl(name, "union" if len(of) > 1 else "alias", tuple(of), at)


def _branch(cursor: Cursor) -> BranchDecl:
    example = "write `.type Tree = Leaf {} | Node { left: Tree, right: Tree }`"
    name = cursor.plain_name("a branch", example)
    cursor.expect("{", f"expected `{{` after the branch `{name.text}`", example)
    return BranchDecl(name.text, _fields(cursor, "}", example), cursor.at(name))


def _fields(cursor: Cursor, closing: str, example: str) -> tuple[Attribute, ...]:
    """Attributes up to the closing bracket."""
    fields: list[Attribute] = []
    while not cursor.accept(closing):
        if fields:
            cursor.expect(",", f"expected `,` or `{closing}` after a field", example)
        fields.append(_attribute(cursor))
    return tuple(fields)


def _action(cursor: Cursor, keyword: Token, draft: Statements) -> None:
    names = [cursor.relation_name()]
    while cursor.accept(","):
        names.append(cursor.relation_name())
    parameters: list[tuple[str, str]] = []
    if cursor.accept("("):
        while not cursor.accept(")"):
            if parameters:
                cursor.expect(",", "expected `,` or `)` after a parameter")
            parameters.append(_parameter(cursor))
    action = ACTIONS.get(keyword.text[1:], "limitsize")
    for name in names:
        draft.directives.append(Directive(action, name.text, tuple(parameters), cursor.at(name)))


def _limit(cursor: Cursor, keyword: Token, draft: Statements) -> None:
    """`.limitsize path(n=100)`."""
    before = len(draft.directives)
    _action(cursor, keyword, draft)
    parameters = draft.directives[before].parameters
    if [key for key, _ in parameters] != ["n"] or not _NUMBER.fullmatch(parameters[0][1]):
        name = draft.directives[before].relation
        del draft.directives[before:]
        message = "`.limitsize` takes one parameter, a whole number"
        raise Fault(message, cursor.at(keyword), f"write `.limitsize {name}(n=1000)`")


def _parameter(cursor: Cursor) -> tuple[str, str]:
    key = cursor.expect("name", "expected a parameter name", "write `IO=file`")
    if cursor.peek().kind in (",", ")"):
        advice = "name the relation alone; parameters are written `IO=stdout`"
        raise Fault(f"parameter `{key.text}` has no value", cursor.at(key), advice)
    cursor.expect("=", f"expected `=` after the parameter `{key.text}`", f"write `{key.text}=…`")
    value = cursor.peek()
    if value.kind not in ("name", "string", "integer", "float"):
        raise Fault(
            f"parameter `{key.text}` has no value",
            cursor.at(value),
            "write a name, a number or a string",
        )
    cursor.index += 1
    return key.text, unescape(value, cursor.source) if value.kind == "string" else value.text


def _pragma(cursor: Cursor, keyword: Token, draft: Statements) -> None:
    advice = 'write `.pragma "key" "value"`'
    key = cursor.expect("string", "expected a string after `.pragma`", advice)
    value = cursor.peek()
    if value.kind == "string":
        cursor.index += 1
    text = unescape(value, cursor.source) if value.kind == "string" else ""
    draft.pragmas.append((unescape(key, cursor.source), text))


def _plan(cursor: Cursor, keyword: Token, draft: Statements) -> None:
    """`.plan 0:(1,2), 1:(2,1)` is read and dropped: join orders are chosen by size."""
    if not draft.after_rule:
        at = cursor.at(keyword)
        raise Fault("`.plan` without a rule before it", at, "place it right after its rule")
    advice = "write `.plan 0:(2,1)`"
    while True:
        cursor.expect("integer", "expected a number", advice)
        cursor.expect(":", "expected `:` after the number", advice)
        cursor.expect("(", "expected `(` after `:`", advice)
        if not cursor.accept(")"):
            cursor.expect("integer", "expected a number", advice)
            while cursor.accept(","):
                cursor.expect("integer", "expected a number", advice)
            cursor.expect(")", "expected `)` after the order", advice)
        if not cursor.accept(","):
            return


def component(cursor: Cursor, keyword: Token, outer: Statements) -> Component:
    """The head of a component, up to its `{`; its inside is read into its draft."""
    advice = "write `.comp Graph<Node> : Base { … }`"
    name = cursor.plain_name("a component", advice)
    parameters = [each.text for each in _angles(cursor)]
    bases: list[Reference] = []
    while cursor.accept("," if bases else ":"):
        bases.append(_reference(cursor))
    cursor.expect("{", f"expected `{{` after the component {name.text}", advice)
    inside = Statements(lost=outer.lost)
    found = Component(name.text, tuple(parameters), tuple(bases), inside, cursor.at(name))
    outer.components.append(found)
    return found


def _reference(cursor: Cursor) -> Reference:
    name = cursor.expect("name", "expected a component name", "write `Graph<City>`")
    return Reference(name.text, tuple(each.text for each in _angles(cursor)), cursor.at(name))


def _angles(cursor: Cursor) -> list[Token]:
    """Names in `<` and `>`, if there are any."""
    if not cursor.accept("<"):
        return []
    names = [cursor.expect("name", "expected a type name")]
    while cursor.accept(","):
        names.append(cursor.expect("name", "expected a type name"))
    cursor.expect(">", "expected `,` or `>` after a type", "close the list with `>`")
    return names


def _instance(cursor: Cursor, keyword: Token, draft: Statements) -> None:
    name = cursor.plain_name("an instance", "write `.init cities = Graph<City>`")
    message = f"expected `=` after the instance {name.text}"
    cursor.expect("=", message, "write its component after it")
    draft.instances.append(Instance(name.text, _reference(cursor), cursor.at(name)))


def _override(cursor: Cursor, keyword: Token, draft: Statements) -> None:
    name = cursor.relation_name()
    draft.overrides.append((name.text, cursor.at(name)))


def _functor(cursor: Cursor, keyword: Token, draft: Statements) -> None:
    draft.functors.append(functor_declaration(cursor))


def _unsupported(cursor: Cursor, keyword: Token, draft: Statements) -> None:
    """Refuse a construct; one with a block is skipped with its block."""
    at = cursor.at(keyword)
    if keyword.text == ".lattice":
        cursor.skip_block()
        raise refused(keyword.text, at, cursor.index)
    raise refused(keyword.text, at)


_DIRECTIVES: dict[str, Callable[[Cursor, Token, Statements], None]] = {
    ".decl": _declaration,
    ".type": _type_declaration,
    ".number_type": _type_declaration,
    ".symbol_type": _type_declaration,
    ".input": _action,
    ".output": _action,
    ".printsize": _action,
    ".pragma": _pragma,
    ".plan": _plan,
    ".limitsize": _limit,
    ".init": _instance,
    ".override": _override,
    ".functor": _functor,
    ".lattice": _unsupported,
}
