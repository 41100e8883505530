"""Named places where a test may kill the process.

`TIDELOG_CRASH_AT=before-commit` in the environment kills it (SIGKILL, which nothing can catch)
where it comes to that place, and `before-commit:3` where it comes there for the third time.
"""

from __future__ import annotations

import os
import signal

POINTS = (
    "after-read",  # the batch is in memory
    "in-write",  # half of a file is written
    "before-rename",  # all of it is, under a temporary name
    "before-commit",  # all files of the version are in place
    "after-commit",  # the version exists, and no reader of a sink has seen it
    "in-publish",  # one sink shows it
    "in-snapshot",  # a snapshot is half written
    "in-cleanup",  # one of the files is gone that nobody needs
)

_passed: dict[str, int] = {}


def point(name: str) -> None:
    """The process may end here."""
    wanted = os.environ.get("TIDELOG_CRASH_AT")
    if not wanted:
        return
    where, _, count = wanted.partition(":")
    if where == name:
        _passed[name] = _passed.get(name, 0) + 1
        if _passed[name] == int(count or 1):
            os.kill(os.getpid(), signal.SIGKILL)
