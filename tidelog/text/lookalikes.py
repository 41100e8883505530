"""Characters that look like what a program needs, but are not."""

from __future__ import annotations

import unicodedata

# Letters of other alphabets that most fonts draw like ASCII ones.
_LETTERS = dict(
    zip(
        "авеԁһіјкмнорԛгѕтуѵԝхАВЕНІЈКМОРԚЅТУԜХαβγικνορτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɑɡ",
        "abedhijkmhopqrstyvwxABEHIJKMOPQSTYWXabyiKvoptuxABEZHIKMNOPTYXiag",
        strict=True,
    )
)

_SIGNS = {
    "\N{LEFT DOUBLE QUOTATION MARK}": '"',
    "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
    "\N{DOUBLE LOW-9 QUOTATION MARK}": '"',
    "\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}": '"',
    "\N{RIGHT-POINTING DOUBLE ANGLE QUOTATION MARK}": '"',
    "'": '"',
    "`": '"',
    "\N{LEFT SINGLE QUOTATION MARK}": '"',
    "\N{RIGHT SINGLE QUOTATION MARK}": '"',
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{MINUS SIGN}": "-",
    "\N{NON-BREAKING HYPHEN}": "-",
    "\N{MULTIPLICATION SIGN}": "*",
    "\N{NOT SIGN}": "!",
    "\N{LOGICAL AND}": ",",
    "\N{LOGICAL OR}": ";",
    "\N{NOT EQUAL TO}": "!=",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
    "\N{GREATER-THAN OR EQUAL TO}": ">=",
    "\N{LEFTWARDS ARROW}": ":-",
    "\N{GREEK QUESTION MARK}": ";",
    "\N{IDEOGRAPHIC FULL STOP}": ".",
}


def foreign_letter(word: str) -> tuple[int, str, str]:
    """Where in a name the first letter beyond ASCII stands, what it is, what to write instead.

    >>> foreign_letter("p\N{CYRILLIC SMALL LETTER A}th")
    (1, 'CYRILLIC SMALL LETTER A (U+0430) in a name', 'names are ASCII; did you mean the letter a?')
    """
    where = next(i for i, letter in enumerate(word) if not letter.isascii())
    letter = word[where]
    plain = _LETTERS.get(letter) or unicodedata.normalize("NFKD", letter)[0]
    instead = f"; did you mean the letter {plain}?" if plain.isascii() and plain.isalnum() else ""
    return where, f"{_name(letter)} in a name", f"names are ASCII{instead}"


def foreign_sign(sign: str) -> tuple[str, str]:
    """What a character that starts no token is, and what to write instead."""
    if sign.isspace() or sign in "\N{ZERO WIDTH SPACE}\N{ZERO WIDTH NO-BREAK SPACE}":
        return f"unexpected {_name(sign)}", "write a plain space"
    plain = _SIGNS.get(sign) or unicodedata.normalize("NFKC", sign)
    message = f"unexpected `{sign}`" if sign.isascii() else f"unexpected {_name(sign)}"
    if sign.isascii() and not sign.isprintable():
        message = f"unexpected {_name(sign)}"
    if plain == '"':
        return message, 'strings are written in double quotes: "text"'
    return message, f"did you mean `{plain}`?" if plain != sign and plain.isascii() else ""


def _name(character: str) -> str:
    code = f"U+{ord(character):04X}"
    name = unicodedata.name(character, "")
    return f"{name} ({code})" if name else f"character {code}"
