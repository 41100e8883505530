"""Programs and change files of the project, and texts that are nearly like them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
LONGEST = 6_000  # characters: longer texts are cut, so that a mutant takes milliseconds

_TOKEN = re.compile(r'\s+|//[^\n]*|"[^"\n]*"|[A-Za-z_?][\w?]*|[0-9][\w.]*|:-|<=|>=|!=|[\s\S]')
_FENCED = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.M | re.S)  # language, text
_CASE = re.compile(r"^=== .*\n((?:(?!---$).*\n)*)---$", re.M)

# Every construct of the language, so that each of them meets each other one.
# fmt: off
WORDS = (
    ".decl", ".type", ".input", ".output", ".printsize", ".comp", ".init", ".override", ".plan",
    ".functor", ".pragma", ".limitsize", ".include", ".once", "#define", "#ifdef", "#endif",
    "inline", "eqrel", "transitive", "overridable", "choice-domain", "brie", "number", "symbol",
    "float", "unsigned", "count", "sum", "min", "max", "mean", "range", "autoinc", "nil", "as",
    "match", "contains", "cat", "ord", "strlen", "to_number", "true", "false", "_", "x", "y",
    "(", ")", "[", "]", "{", "}", ",", ";", ".", ":", ":-", "=", "!", "<=", "<", "|", "<:", "+",
    "-", "*", "/", "%", "^", "$A", "@f", "0", "1", "-1", "1.5", "1u", "0x1f", '"a"', '"', "'",
    "9223372036854775808", "1e999", "//", "/*", "*/", "\n", "\0", "é", "commit", "rule",
)
# fmt: on


@cache
def corpus() -> tuple[str, ...]:
    """All texts that are mutated, in an order that does not change."""
    found: list[str] = []
    for folder in ("tests", "examples", "docs", "bench"):
        for path in sorted((ROOT / folder).rglob("*.dl")):
            found.append(path.read_text(encoding="utf-8", errors="replace"))
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        fenced = _FENCED.findall(path.read_text(encoding="utf-8"))
        found += (text for language, text in fenced if language in ("datalog", "text"))
    for path in (
        *sorted((ROOT / "tests/text").glob("*.txt")),
        *(ROOT / "tests/plan").glob("*.txt"),
    ):
        found += _CASE.findall(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "tests/law/histories").glob("*.json")):
        found.append(json.loads(path.read_text(encoding="utf-8")).get("text", ""))
    for path in sorted((ROOT / "tests/streams").rglob("*.changes")):
        with path.open(encoding="utf-8") as lines:
            found.append("".join(line for line, _ in zip(lines, range(20), strict=False)))
    return tuple(dict.fromkeys(text[:LONGEST] for text in found if text.strip()))


def tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def mutant(random: Random) -> str:
    """A text of the corpus with one to six changes."""
    texts = corpus()
    parts = tokens(random.choice(texts))
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 6))):
        parts = random.choice(_MUTATIONS)(parts, random, texts) or [" "]
    return "".join(parts)[: 2 * LONGEST]


def _drop(parts: list[str], random: Random, texts: tuple[str, ...]) -> list[str]:
    at, size = random.randrange(len(parts)), random.choice((1, 1, 1, 2, 5))
    return parts[:at] + parts[at + size :]


def _double(parts: list[str], random: Random, texts: tuple[str, ...]) -> list[str]:
    at, size = random.randrange(len(parts)), random.choice((1, 1, 2, 8, 30))
    return parts[: at + size] + parts[at:]


def _swap(parts: list[str], random: Random, texts: tuple[str, ...]) -> list[str]:
    solid = [i for i, part in enumerate(parts) if not part.isspace()]
    if len(solid) > 1:
        i, j = random.sample(solid, 2)
        parts[i], parts[j] = parts[j], parts[i]
    return parts


def _replace(parts: list[str], random: Random, texts: tuple[str, ...]) -> list[str]:
    """One token by another of the same sort in the text: most of these stay programs."""
    at = random.randrange(len(parts))
    alike = [each for each in parts if each[0].isalpha() == parts[at][0].isalpha()]
    return [*parts[:at], random.choice(alike), *parts[at + 1 :]]


def _word(parts: list[str], random: Random, texts: tuple[str, ...]) -> list[str]:
    at = random.randrange(len(parts))
    return [*parts[:at], random.choice(WORDS), " ", *parts[at + random.randrange(2) :]]


def _splice(parts: list[str], random: Random, texts: tuple[str, ...]) -> list[str]:
    other = tokens(random.choice(texts))
    at, begin = random.randrange(len(parts)), random.randrange(len(other))
    size = random.choice((1, 3, 10, 40, len(other)))
    return parts[:at] + other[begin : begin + size] + parts[at:]


def _line(parts: list[str], random: Random, texts: tuple[str, ...]) -> list[str]:
    """A line of another text, at the beginning of one of this: most of these stay programs."""
    other = random.choice(random.choice(texts).splitlines() or [""])
    lines = "".join(parts).splitlines(keepends=True) or ["\n"]
    at = random.randrange(len(lines) + 1)
    return tokens("".join([*lines[:at], other + "\n", *lines[at:]]))


def _lines(parts: list[str], random: Random, texts: tuple[str, ...]) -> list[str]:
    """Without a line, or with one somewhere else."""
    lines = "".join(parts).splitlines(keepends=True) or ["\n"]
    line = lines.pop(random.randrange(len(lines)))
    if random.random() < 0.5:
        lines.insert(random.randrange(len(lines) + 1), line)
    return tokens("".join(lines))


def _rename(parts: list[str], random: Random, texts: tuple[str, ...]) -> list[str]:
    """Everywhere one name for another one."""
    names = [part for part in parts if part[0].isalpha()]
    if not names:
        return parts
    old, new = random.choice(names), random.choice(names)
    return [new if part == old else part for part in parts]


def _cut(parts: list[str], random: Random, texts: tuple[str, ...]) -> list[str]:
    return parts[: random.randrange(len(parts)) + 1]


def _character(parts: list[str], random: Random, texts: tuple[str, ...]) -> list[str]:
    text = "".join(parts)
    at = random.randrange(len(text))
    sign = random.choice("()[]{}.,;:=<>!|$@#\"'\\/*%^-+?_ \n\r\t\0aZ09é€\ud800\ufeff")
    return tokens(text[:at] + sign + text[at + random.randrange(2) :])


_MUTATIONS = (
    _drop, _double, _swap, _replace, _replace, _word, _splice, _line, _line, _lines, _rename,
    _rename, _cut, _character,
)  # fmt: skip
