"""Macros of the C preprocessor: their definitions and expansions.

Text is replaced item by item, so that strings, comments and numbers stay as they are. A macro
inside its own replacement is left alone, as in C.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

MAX_DEPTH = 100  # macros within macros
MAX_STEPS = 100_000  # replacements for one use of a macro
MAX_SIZE = 1_000_000  # characters that one use may expand to

STRING = r'"(?:[^"\\]++|\\[\s\S])*+"'
COMMENT = r"//[^\n]*+|/\*[\s\S]*?\*/"
NAME = r"[A-Za-z_?][A-Za-z0-9_?]*+"

_ITEM = re.compile(rf"{COMMENT}|{STRING}|[0-9][\w.]*+|(?P<name>{NAME})")
_INSIDE = re.compile(rf"{COMMENT}|{STRING}|(?P<sign>[(),])")
_OPEN = re.compile(rf"(?:\s|{COMMENT})*+\(")
_BODY = re.compile(
    rf"{STRING}|(?P<paste>\s*+##\s*+)|#\s*+(?P<quoted>{NAME})|(?P<name>{NAME})|[0-9][\w.]*+"
)
_DEFINED = re.compile(rf"({NAME})(?:\(([^()]*+)\))?(?:\s++|(?=[^\w?(])|\Z)")
_COMMENT = re.compile(rf"(?P<kept>{STRING})|{COMMENT}")
_REST = "..."


class Macro(NamedTuple):
    """A name and its replacement text; without parameters it is not called."""

    name: str
    parameters: tuple[str, ...] | None
    body: str

    def takes(self, count: int) -> bool:
        assert self.parameters is not None
        if self.parameters and self.parameters[-1] == _REST:
            return count >= len(self.parameters) - 1
        return count == len(self.parameters)


class Misused(Exception):
    """A macro that cannot be defined or replaced: why, and what to do."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice


class MacroTooLong(Misused):
    """Macros that expand to too much text; the rest of the file is not read."""


def defined(text: str) -> Macro:
    """The macro of a `#define`, from the text after the word.

    >>> defined("SQUARE(x) ((x) * (x))  // twice")
    Macro(name='SQUARE', parameters=('x',), body='((x) * (x))')
    """
    found = _DEFINED.match(text)
    if found is None:
        raise Misused("`#define` needs the name of a macro", "write `#define LIMIT 10`")
    body = without_comments(text[found.end() :]).replace("\\\r\n", " ").replace("\\\n", " ")
    parameters = None
    if found[2] is not None:
        parameters = tuple(part.strip() for part in found[2].split(",")) if found[2].strip() else ()
        for place, name in enumerate(parameters):
            last = place == len(parameters) - 1
            if not re.fullmatch(NAME, name) and not (last and name == _REST):
                raise Misused(f"`{name}` is not a macro parameter", "write a name")
    return Macro(found[1], parameters, body.strip())


def without_comments(text: str) -> str:
    """
    >>> without_comments('1 /* one */ "//" // and so on')
    '1   "//"  '
    """
    return _COMMENT.sub(lambda found: found["kept"] or " ", text)


class Expansion:
    """One use of a macro. It counts its steps, so that every expansion ends."""

    def __init__(self, macros: Mapping[str, Macro]) -> None:
        self._macros = macros
        self._steps = 0
        self._size = 0

    def use(
        self, macro: Macro, text: str, end: int, hidden: frozenset[str] = frozenset()
    ) -> tuple[str, int] | None:
        """The expansion of a macro whose name ends at `end`, and the end of its arguments.

        None if it takes arguments and there are none: then the name is just a name.
        """
        self._count(0)
        if len(hidden) >= MAX_DEPTH:
            raise MacroTooLong(f"macros nested more than {MAX_DEPTH} deep", "nest fewer macros")
        body = macro.body
        if macro.parameters is not None:
            opened = _OPEN.match(text, end)
            if opened is None:
                return None
            given, end = _arguments(macro, text, opened.end())
            body = self._filled(macro, given, hidden)
        self._count(len(body))
        return self.expanded(body, hidden | {macro.name}), end

    def expanded(self, text: str, hidden: frozenset[str]) -> str:
        """The text with every macro replaced that is not hidden."""
        parts: list[str] = []
        done = 0
        while found := _ITEM.search(text, done):
            parts.append(text[done : found.start()])
            done = found.end()
            macro = self._macros.get(found["name"] or "")
            used = None
            if macro is not None and macro.name not in hidden:
                used = self.use(macro, text, done, hidden)
            if used is None:
                parts.append(found[0])
            else:
                parts.append(used[0])
                done = used[1]
        parts.append(text[done:])
        return "".join(parts)

    def _count(self, size: int) -> None:
        self._steps += 1
        self._size += size
        if self._steps > MAX_STEPS or self._size > MAX_SIZE:
            raise MacroTooLong(
                "a macro expands to too much text", "write part of it without macros"
            )

    def _filled(self, macro: Macro, given: list[str], hidden: frozenset[str]) -> str:
        """The body with arguments for parameters: `#x` in quotes, `##` as glue."""
        assert macro.parameters is not None
        raw = dict(zip(macro.parameters, given, strict=False))
        if macro.parameters and macro.parameters[-1] == _REST:
            raw["__VA_ARGS__"] = ", ".join(given[len(macro.parameters) - 1 :])
        parts: list[str] = []
        done, glued = 0, False
        for found in _BODY.finditer(macro.body):
            parts.append(macro.body[done : found.start()])
            done = found.end()
            before, glued = glued, found["paste"] is not None
            if glued:
                continue
            name = found["name"] or found["quoted"] or ""
            if name not in raw:
                parts.append(found[0])
            elif found["quoted"]:
                parts.append(_quoted(raw[name]))
            elif before or macro.body[done:].lstrip().startswith("##"):
                parts.append(raw[name])
            else:
                parts.append(self.expanded(raw[name], hidden))
        parts.append(macro.body[done:])
        return "".join(parts)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _arguments(macro: Macro, text: str, start: int) -> tuple[list[str], int]:
    """The arguments from behind `(`, and where the closing one ends."""
    given: list[str] = []
    depth, begun = 0, start
    for found in _INSIDE.finditer(text, start):
        sign = found["sign"]
        if sign == "(":
            depth += 1
        elif sign == ")" and depth:
            depth -= 1
        elif sign in (",", ")") and not depth:
            given.append(without_comments(text[begun : found.start()]).strip())
            begun = found.end()
            if sign == ")":
                return _counted(macro, given), begun
    raise Misused(f"the `(` of macro {macro.name} is not closed", "close it with `)`")


def _counted(macro: Macro, given: list[str]) -> list[str]:
    assert macro.parameters is not None
    if given == [""] and not macro.parameters:
        given = []
    if not macro.takes(len(given)):
        wants = len(macro.parameters)
        one = "argument" if wants == 1 else "arguments"
        raise Misused(f"macro {macro.name} takes {wants} {one}, not {len(given)}")
    return given
