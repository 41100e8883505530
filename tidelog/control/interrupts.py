"""Find a Ctrl-C that Python hides: wrapped in another error, or dropped where it cannot be raised.

This module is loaded before all others, so it imports next to nothing.
"""

from __future__ import annotations

import sys

_dropped = False


class Stop(BaseException):
    """Ends a block whose limits are exceeded; not an Exception, so that few handlers catch it."""


def remember(unraisable: sys.UnraisableHookArgs) -> None:
    """An unraisable hook: record a Ctrl-C inside a callback or a finalizer for later.

    A block raises its `Stop` again itself.
    """
    global _dropped
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _dropped = True
    elif not issubclass(unraisable.exc_type, Stop):
        sys.__unraisablehook__(unraisable)


def dropped() -> bool:
    """Whether a Ctrl-C has been dropped since the last call."""
    global _dropped
    if not _dropped:
        return False
    _dropped = False
    return True


def causes(error: BaseException) -> bool:
    """Whether a Ctrl-C caused the error.

    >>> try:
    ...     raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()
    ... except RuntimeError as error:
    ...     causes(error)
    True
    >>> causes(RuntimeError("a fault"))
    False
    """
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        if isinstance(at, KeyboardInterrupt):
            return True
        seen.add(id(at))
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    return False
