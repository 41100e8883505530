"""Completion by the Tab key at the prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

DELIMITERS = ' \t\n(),.+-?!=<>"'

Offer = Callable[[str, str], list[str]]


def offers(
    line: str,
    word: str,
    commands: Iterable[str],
    relations: Iterable[str],
    rules: Iterable[str],
    algorithms: Iterable[str],
) -> list[str]:
    """Completions of the word at the end of a line.

    >>> offers("?pa", "pa", [], ["path", "edge"], [], [])
    ['path(']
    >>> offers(":al", ":al", [":algorithm", ":help"], ["all"], [], [])
    [':algorithm']
    >>> offers('-rule "path.3', "3", [], [], ["path.3fa2c1"], [])
    ['3fa2c1"']
    """
    known: Iterable[str]
    before = line[: len(line) - len(word)]
    if re.fullmatch(r"\s*:algorithm\s+", before):
        known = algorithms
    elif named := re.search(r'-\s*rule\s+"([^"]*)$', before):
        part = named[1]
        known = [f'{name[len(part) :]}"' for name in rules if name.startswith(part)]
    elif not before.strip():
        known = [*commands, "commit."]
    else:
        known = [f"{name}(" for name in relations]
    return sorted(each for each in known if each.startswith(word))


def install(offer: Offer) -> None:
    """Bind the Tab key, if this Python supports it."""
    try:
        import readline
    except ImportError:
        return
    found: list[str] = []

    def complete(word: str, state: int) -> str | None:
        if state == 0:
            found[:] = offer(readline.get_line_buffer()[: readline.get_endidx()], word)
        return found[state] if state < len(found) else None

    readline.set_completer(complete)
    readline.set_completer_delims(DELIMITERS)
    libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
