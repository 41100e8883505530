"""Schemas of sources: columns and types as Spark's readers take them, without Spark.

Spark has the last word: a type that is known here may need a setting, or a later version.
"""

from __future__ import annotations

import re

from tidelog.pipeline.faults import SettingError, one_of

TYPES = (
    *("string", "char", "character", "varchar", "binary", "boolean", "date", "time"),
    *("byte", "tinyint", "short", "smallint", "int", "integer", "long", "bigint"),
    *("float", "real", "double", "decimal", "dec", "numeric"),
    *("timestamp", "timestamp_ntz", "timestamp_ltz", "interval"),
    *("array", "map", "struct", "variant", "void", "geometry", "geography"),
)
_INSIDE = {"array": 1, "map": 2}  # types of what is in them
_SIZED = ("char", "character", "varchar")
_MORE = (  # words that may follow a type
    *("not", "null", "comment", "collate", "with", "without", "local", "time", "zone"),
    *("to", "year", "month", "day", "hour", "minute", "second"),
)
_SUCH = "such as x long, y string"
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
    """Refuse what is no list of columns with types."""
    reader = _Reader(key, schema)
    reader.columns(colons=False)
    if reader.token:
        raise reader.error(f"{reader.token!r} does not belong there")


class _Reader:
    """The tokens of a schema, one after the other."""

    def __init__(self, key: str, schema: str) -> None:
        self._key = key
        self._tokens = list(_TOKEN.finditer(schema))
        self._at = 0

    @property
    def token(self) -> str:
        """The one to be read now; empty at the end."""
        return self._tokens[self._at][self.kind] if self.kind else ""

    @property
    def kind(self) -> str | None:
        return self._tokens[self._at].lastgroup if self._at < len(self._tokens) else None

    def taken(self) -> str:
        token = self.token
        self._at += 1
        return token

    def takes(self, sign: str) -> bool:
        found = self.kind == "sign" and self.token == sign
        self._at += found
        return found

    def error(self, message: str, advice: str = _SUCH) -> SettingError:
        return SettingError(self._key, message, advice)

    def columns(self, colons: bool) -> None:
        """Names with types; inside a struct, a colon may stand between the two."""
        seen: set[str] = set()
        while True:
            name = self._name()
            if colons:
                self.takes(":")
            if self.kind != "word":
                advice = "no colon stands between the two" if self.token == ":" else _SUCH
                raise self.error(f"{name!r} is no name with a type", advice)
            if name in seen:
                raise self.error(f"column {name} is there twice", "each name stands for one column")
            seen.add(name)
            self._type()
            self._more(name)
            if not self.takes(","):
                return

    def _name(self) -> str:
        if self.kind not in ("name", "word"):
            advice = f"{_SUCH}; other names stand in `…`"
            raise self.error(f"{self.token!r} is no name with a type", advice)
        quoted, name = self.kind == "name", self.taken()
        return name[1:-1].replace("``", "`") if quoted else name

    def _type(self) -> None:
        if self.kind != "word":
            raise self.error(f"{self.token!r} is no type")
        name = self.taken().lower()
        one_of(self._key, name, TYPES)
        if name == "struct":
            self._expect("<", "struct<a: int>")
            if not self.takes(">"):
                self.columns(colons=True)
                self._expect(">", "struct<a: int>")
        elif name in _INSIDE:
            such = f"{name}<{', '.join(['int'] * _INSIDE[name])}>"
            self._expect("<", such)
            for place in range(_INSIDE[name]):
                if place:
                    self._expect(",", such)
                self._type()
                self._more(name)
            self._expect(">", such)
        elif self.takes("("):
            while not self.takes(")"):
                if not self.token:
                    raise self.error(f"the bracket after {name} is not closed")
                self.taken()
        elif name in _SIZED:
            raise self.error(f"{name} has no length", f"such as {name}(10), or string")

    def _expect(self, sign: str, such: str) -> None:
        if not self.takes(sign):
            found = repr(self.token) if self.token else "the end"
            raise self.error(f"{found} stands where a {sign} belongs", f"such as {such}")

    def _more(self, name: str) -> None:
        """What may stand after a type: `not null`, a comment, units of an interval."""
        before = ""
        while self.kind in ("word", "text"):
            word = self.token.lower()
            if self.kind == "word" and word not in _MORE and before != "collate":
                told = f"{self.token!r} does not belong to column {name}"
                raise self.error(told, "columns have commas between them")
            before = word
            self.taken()
