"""Errors in settings."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.program.diagnostics import TidelogError
from tidelog.program.suggestions import suggestion


class SettingError(TidelogError):
    """An invalid setting; `key` is its path, such as source.roads.mode."""

    def __init__(self, key: str, message: str, advice: str = "") -> None:
        self.key, self.message, self.advice = key, message, advice
        super().__init__(f"error: {key}: {message}" + (f"\n    {advice}" if advice else ""))


def one_of(key: str, value: str, known: Iterable[str]) -> None:
    known = tuple(known)
    if value not in known:
        advice = suggestion(value, known)
        raise SettingError(key, f"unknown value {value!r}", advice)
