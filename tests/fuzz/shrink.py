"""A smaller text that fails in the same way."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.mutate import tokens

TRIES = 2_000


def shrink(text: str, fails: Callable[[str], bool]) -> str:
    """Without lines, then without tokens that it can do without."""
    left = TRIES
    for parts in (text.splitlines(keepends=True), None):
        kept = parts if parts is not None else tokens(text)
        size = max(1, len(kept) // 2)
        while size:
            at = 0
            while at < len(kept) and left > 0:
                left -= 1
                fewer = kept[:at] + kept[at + size :]
                if fails("".join(fewer)):
                    kept = fewer
                else:
                    at += size
            size //= 2
        text = "".join(kept)
    return text
