"""Checks the schemas of sources without starting Spark.

Spark may still reject a type that passes here, because it needs a setting or a later version.
"""

from __future__ import annotations

import re

from tidelog.pipeline.setting_errors import SettingError, one_of

TYPES = (
    *("string", "char", "character", "varchar", "binary", "boolean", "date", "time"),
    *("byte", "tinyint", "short", "smallint", "int", "integer", "long", "bigint"),
    *("float", "real", "double", "decimal", "dec", "numeric"),
    *("timestamp", "timestamp_ntz", "timestamp_ltz", "interval"),
    *("array", "map", "struct", "variant", "void", "geometry", "geography"),
)
_INSIDE = {"array": 1, "map": 2}  # number of element types
_SIZED = ("char", "character", "varchar")
_MORE = (  # words that may follow a type
    *("not", "null", "comment", "collate", "with", "without", "local", "time", "zone"),
    *("to", "year", "month", "day", "hour", "minute", "second"),
)
_EXAMPLE = "for example x long, y string"
_TOKEN = re.compile(
    r"""
    (?: \s | --[^\n]* | /\*.*?\*/ )*
    (?: (?P<name> `(?:[^`]|``)+` )
      | (?P<text> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
      | (?P<word> [A-Za-z0-9_]+ )
      | (?P<sign> \S )
      | $ )
    """,
    re.VERBOSE | re.DOTALL,
)


def check_schema(key: str, schema: str) -> None:
    """Reject anything but a list of columns with types."""
    reader = _Reader(key, schema)
    reader.columns(colons=False)
    if reader.token:
        raise reader.error(f"unexpected {reader.token!r}")


class _Reader:
    """A recursive-descent parser of schemas."""

    def __init__(self, key: str, schema: str) -> None:
        self._key = key
        self._tokens = list(_TOKEN.finditer(schema))
        self._at = 0

    @property
    def token(self) -> str:
        """The next token; empty at the end."""
        return self._tokens[self._at][self.kind] if self.kind else ""

    @property
    def _found(self) -> str:
        return repr(self.token) if self.token else "the end"

    @property
    def kind(self) -> str | None:
        return self._tokens[self._at].lastgroup if self._at < len(self._tokens) else None

    def next(self) -> str:
        token = self.token
        self._at += 1
        return token

    def accept(self, sign: str) -> bool:
        found = self.kind == "sign" and self.token == sign
        self._at += found
        return found

    def error(self, message: str, advice: str = _EXAMPLE) -> SettingError:
        return SettingError(self._key, message, advice)

    def columns(self, colons: bool) -> None:
        """Names with types; inside a struct, a colon may separate the two."""
        seen: set[str] = set()
        while True:
            name = self._name()
            if colons:
                self.accept(":")
            if self.kind != "word":
                advice = "separate name and type by a space" if self.token == ":" else _EXAMPLE
                raise self.error(f"expected a type after {name!r}", advice)
            if name in seen:
                raise self.error(f"duplicate column {name}", "names must be unique")
            seen.add(name)
            self._type()
            self._more(name)
            if not self.accept(","):
                return

    def _name(self) -> str:
        if self.kind not in ("name", "word"):
            advice = f"{_EXAMPLE}; quote other names with `…`"
            raise self.error(f"expected a name, got {self._found}", advice)
        quoted, name = self.kind == "name", self.next()
        return name[1:-1].replace("``", "`") if quoted else name

    def _type(self) -> None:
        if self.kind != "word":
            raise self.error(f"expected a type, got {self._found}")
        name = self.next().lower()
        one_of(self._key, name, TYPES)
        if name == "struct":
            self._expect("<", "struct<a: int>")
            if not self.accept(">"):
                self.columns(colons=True)
                self._expect(">", "struct<a: int>")
        elif name in _INSIDE:
            example = f"{name}<{', '.join(['int'] * _INSIDE[name])}>"
            self._expect("<", example)
            for place in range(_INSIDE[name]):
                if place:
                    self._expect(",", example)
                self._type()
                self._more(name)
            self._expect(">", example)
        elif self.accept("("):
            while not self.accept(")"):
                if not self.token:
                    raise self.error(f"unclosed bracket after {name}")
                self.next()
        elif name in _SIZED:
            raise self.error(f"{name} requires a length", f"for example {name}(10), or string")

    def _expect(self, sign: str, example: str) -> None:
        if not self.accept(sign):
            raise self.error(f"expected {sign!r}, got {self._found}", f"for example {example}")

    def _more(self, name: str) -> None:
        """Skip what may follow a type: `not null`, a comment, units of an interval."""
        before = ""
        while self.kind in ("word", "text"):
            word = self.token.lower()
            if self.kind == "word" and word not in _MORE and before != "collate":
                message = f"unexpected {self.token!r} after column {name}"
                raise self.error(message, "separate columns with commas")
            before = word
            self.next()
