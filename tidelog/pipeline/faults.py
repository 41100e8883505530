"""Settings that are wrong."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.plan.draft import did_you_mean
from tidelog.program.diagnostics import TidelogError


class SettingError(TidelogError):
    """A setting that is wrong; `key` says where it stands, as in source.roads.mode."""

    def __init__(self, key: str, message: str, advice: str = "") -> None:
        self.key, self.message, self.advice = key, message, advice
        super().__init__(f"error: {key}: {message}" + (f"\n    {advice}" if advice else ""))


def one_of(key: str, value: str, known: Iterable[str]) -> None:
    known = tuple(known)
    if value not in known:
        listed = f"there are {', '.join(known)}"
        raise SettingError(key, f"there is no {value!r}", did_you_mean(value, known, listed))
