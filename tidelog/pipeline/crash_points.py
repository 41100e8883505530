"""Named points at which a test can kill the process.

`TIDELOG_CRASH_AT=before-commit` in the environment kills the process with SIGKILL when it first
reaches that point, and `before-commit:3` when it reaches it for the third time.
"""

from __future__ import annotations

import os
import signal

POINTS = (
    "after-read",  # the batch is in memory
    "in-write",  # half of a file is written
    "before-rename",  # the whole file is written, under a temporary name
    "before-commit",  # all files of the version are in place
    "after-commit",  # the version exists, but no sink has published it
    "in-publish",  # one sink has published it
    "in-snapshot",  # half of a snapshot is written
    "in-cleanup",  # one obsolete file is deleted
)

_passed: dict[str, int] = {}


def point(name: str) -> None:
    """Kill the process if the environment asks for it."""
    wanted = os.environ.get("TIDELOG_CRASH_AT")
    if not wanted:
        return
    where, _, count = wanted.partition(":")
    if where == name:
        _passed[name] = _passed.get(name, 0) + 1
        if _passed[name] == int(count or 1):
            os.kill(os.getpid(), signal.SIGKILL)
