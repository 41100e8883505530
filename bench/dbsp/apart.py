"""Runs a play in a process of its own, stops it at a limit, and collects its messages."""

from __future__ import annotations

import json
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bench.checksum import Checksum
from bench.dbsp.play import PEER, Play, State
from bench.measure import ROOT, forward, resident_bytes

# how it ended: done, at a limit, or otherwise
Status = Literal["ok", "seconds", "memory", "failed"]
LATE = 5.0  # seconds after the limit: a process that has not stopped by then is killed
UNMEASURED = 900.0  # seconds to load kernels, or to read facts
RUNS = 5
SHORT = 10.0  # seconds: a longer play is played once
# the limit without the index: seconds, and multiples of the time with it
LEAST, PATIENCE = 20.0, 12


@dataclass(frozen=True)
class Done:
    """One measured step."""

    name: str
    seconds: float
    cpu: float  # seconds
    peak: int  # peak resident bytes of the process in this step
    compiled: int  # events of the compiler
    state: State
    own: float | None = None  # seconds of the work itself, by the system's own clock


@dataclass
class Run:
    """A play in one process."""

    system: str
    status: Status = "failed"
    at: str = ""  # the step that did not end
    detail: str = ""
    limit: float = 0.0  # seconds for a step
    loaded: int = 0  # bytes that were resident with the kernels loaded, and no facts
    steps: list[Done] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)

    @property
    def compiled(self) -> int:
        return sum(step.compiled for step in self.steps)


def in_turns(
    plays: Sequence[Play], runs: int = RUNS, python: str = sys.executable
) -> dict[str, list[Run]]:
    """All plays several times, in turns, so that a busy moment does not always hit the same one.

    A run in which something was compiled fills the cache and does not count.
    """
    found: dict[str, list[Run]] = {play.system: [] for play in plays}
    left = list(plays)
    for _ in range(runs):
        for play in tuple(left):
            run = played(play, python)
            if run.compiled:
                run = played(play, python)
            found[play.system].append(run)
            if run.status != "ok" or run.seconds > SHORT:
                left.remove(play)
    return found


def played(play: Play, python: str = sys.executable) -> Run:
    """The peer runs in the given interpreter, everything else in this one."""
    run = Run(play.system, limit=play.limit)
    interpreter = python if play.system == PEER else sys.executable
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as errors:
        path = Path(folder) / "play"
        path.write_bytes(pickle.dumps(play))
        process = subprocess.Popen(
            [interpreter, "-m", "bench.dbsp.child", str(path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        assert process.stdout is not None
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        reader = threading.Thread(target=forward, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            follow(process.pid, lines, play, run)
        finally:
            process.kill()
            process.wait()
            reader.join()
            process.stdout.close()
        if run.status == "failed" and not run.detail:
            errors.seek(0)
            run.detail = reason(errors.read()) or f"exit code {process.returncode}"
    return run


def reason(errors: str) -> str:
    """The first line of an error.

    >>> reason("Traceback:\\n  File x\\nValueError: no\\n    | why\\n")
    'ValueError: no'
    """
    lines = [line for line in errors.splitlines() if line[:1].strip()]
    return lines[-1][:300] if lines else ""


def follow(process: int, lines: queue.SimpleQueue[str], play: Play, run: Run) -> None:
    """Read the messages until the last one, the end of the process, or a limit."""
    started = time.monotonic()
    while True:
        try:
            line = lines.get(timeout=0.05)
        except queue.Empty:
            allowed = play.limit + LATE if run.at else UNMEASURED
            if time.monotonic() - started > allowed:
                run.status = "seconds" if run.at else "failed"
                run.detail = "" if run.at else f"nothing said for {UNMEASURED:.0f} s"
                return
            if run.at and resident_bytes(process) > play.memory:
                run.status = "memory"
                return
            continue
        if not line:
            return
        message = json.loads(line)
        started = time.monotonic()
        if "stopped" in message:
            run.status = message["stopped"]
            return
        if "end" in message:
            run.status = "ok"
            return
        take(message, run)


def take(message: Mapping[str, Any], run: Run) -> None:
    if "loaded" in message:
        run.loaded = message["loaded"]
    run.at = message.get("begin", "")
    if "done" in message:
        figures = message["done"]
        state = {name: Checksum(*sums) for name, sums in figures.pop("state").items()}
        run.steps.append(Done(**figures, state=state))


def peer(python: str) -> str | None:
    """The versions of pydbsp and of its interpreter; None without pydbsp."""
    ask = (
        "import platform, importlib.metadata as m, numpy, pydbsp; "
        "print(f\"pydbsp {m.version('pydbsp')} (Python {platform.python_version()})\")"
    )
    try:
        told = subprocess.run([python, "-c", ask], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return None
    return told.stdout.strip() if told.returncode == 0 else None
