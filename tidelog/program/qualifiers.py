"""The registry of relation qualifiers: the parser, the checks, the rules that a qualifier stands
for and the table in `docs/language.md` derive from it."""

from __future__ import annotations

from typing import NamedTuple


class Qualifier(NamedTuple):
    """A word after a declaration; `meaning` is its row in the documentation.

    `rules` are those that it stands for, over the relation's two columns, which are of one type.
    Each is a head and its body; a letter is a variable, `_` a wildcard.
    """

    meaning: str
    rules: tuple[tuple[str, ...], ...] = ()


_HINT = "a hint for Soufflé; accepted, without effect on the result"
TRANSITIVE = ("xz", "xy", "yz")

QUALIFIERS: dict[str, Qualifier] = {
    "eqrel": Qualifier(
        "the relation is the smallest equivalence relation that contains its facts: reflexive, "
        "symmetric, transitive. Two columns of one type",
        (("xx", "x_"), ("xx", "_x"), ("yx", "xy"), TRANSITIVE),
    ),
    "transitive": Qualifier(
        "the relation is transitively closed. Two columns of one type. Not in Soufflé",
        (TRANSITIVE,),
    ),
    "inline": Qualifier("the relation's rules [replace its uses](#inline)"),
    "magic": Qualifier("a run [derives only the needed facts](#magic) of the relation"),
    "no_magic": Qualifier("a run derives all facts of the relation"),
    "overridable": Qualifier(
        "in a [component](#components): components that inherit it may override the relation's "
        "rules"
    ),
    **dict.fromkeys(("override", "btree", "btree_delete", "brie", "no_inline"), Qualifier(_HINT)),
}
