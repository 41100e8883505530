"""Regular expressions of `match`: RE2 evaluates them, Soufflé's std::regex says which are valid.

RE2 takes time linear in the text, whatever the pattern. It has no back references, no look-around
and at most 1000 repetitions. Soufflé has these, so such a pattern is an error here. A pattern that
is invalid in Soufflé too is not an error: neither `match` nor `!match` holds for it.
"""

from __future__ import annotations

import re
from typing import Any

# The beginnings of RE2's messages for patterns that std::regex rejects as well.
_INVALID = (
    "missing ]",
    "missing )",
    "unexpected )",
    "invalid character class range",
    "no argument for repetition operator",
    "trailing \\",
)
_OPAQUE = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]", re.DOTALL)
_BRACE = re.compile(r"\{(?!\d+(?:,\d*)?\})")  # for RE2 a plain character, an error in std::regex
_COUNTS = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_MOST = 1000  # RE2 takes the braces of much larger counts as plain characters

_SIGN = re.compile(r"(?<= )[)\]\\]\Z")


class UnsupportedPattern(Exception):
    """Valid in Soufflé, or perhaps so, and not in RE2."""


class InvalidPattern(Exception):
    """Not a regular expression in Soufflé either."""


def compile_pattern(pattern: str) -> Any:
    """The compiled pattern.

    >>> compile_pattern("a{2}[{]").fullmatch("aa{") is not None
    True
    >>> compile_pattern("a{x}")
    Traceback (most recent call last):
    tidelog.program.regex.InvalidPattern: invalid repetition: `{x}`
    >>> compile_pattern("a{3,2}")
    Traceback (most recent call last):
    tidelog.program.regex.InvalidPattern: invalid repetition: `{3,2}`
    >>> compile_pattern("a{99999999999}")
    Traceback (most recent call last):
    tidelog.program.regex.UnsupportedPattern: invalid repetition size: `{99999999999}`
    """
    import re2  # here, because few programs need it

    plain = _OPAQUE.sub(lambda part: "x" * len(part[0]), pattern)
    for counts in _COUNTS.finditer(plain):
        least, most = (int(count[:9]) for count in (counts[1], counts[2] or counts[1]))
        if most < least:
            raise InvalidPattern(_quoted(f"invalid repetition: {counts[0]}"))
        if most > _MOST:
            raise UnsupportedPattern(_quoted(f"invalid repetition size: {counts[0]}"))
    options = re2.Options()
    options.log_errors = False
    try:
        found = re2.compile(pattern, options)
    except re2.error as error:
        detail = error.args[0]
        reason = detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
        if reason.startswith(_INVALID):
            raise InvalidPattern(_quoted(reason)) from None
        raise UnsupportedPattern(_quoted(reason)) from None
    if brace := _BRACE.search(plain):
        raise InvalidPattern(_quoted(f"invalid repetition: {pattern[brace.start() :]}"))
    return found


def _quoted(reason: str) -> str:
    """RE2's message with the signs and the part of the pattern that it names in quotes.

    >>> _quoted("missing ): (b"), _quoted("invalid escape sequence: \\\\1")
    ('missing `)` in `(b`', 'invalid escape sequence: `\\\\1`')
    """
    what, _, part = reason.partition(": ")
    sign = _SIGN.sub(r"`\g<0>`", what)
    return f"{sign}{' in' if sign != what else ':'} `{part}`" if part else sign
