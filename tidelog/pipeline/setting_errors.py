"""Errors in settings."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.plan.draft import did_you_mean
from tidelog.program.diagnostics import TidelogError


class SettingError(TidelogError):
    """An invalid setting; `key` is its path, such as source.roads.mode."""

    def __init__(self, key: str, message: str, advice: str = "") -> None:
        self.key, self.message, self.advice = key, message, advice
        super().__init__(f"error: {key}: {message}" + (f"\n    {advice}" if advice else ""))


def one_of(key: str, value: str, known: Iterable[str]) -> None:
    known = tuple(known)
    if value not in known:
        advice = did_you_mean(value, known, f"expected one of {', '.join(known)}")
        raise SettingError(key, f"unknown value {value!r}", advice)
