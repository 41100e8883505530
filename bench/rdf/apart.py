"""Runs a system in a process of its own, stops it at a limit, and collects its messages."""

from __future__ import annotations

import json
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.measure import ROOT, cpu_seconds, forward, resident_bytes

WAITING = 900.0  # seconds without a message, outside what is measured


@dataclass
class Run:
    """One system on one size of data."""

    system: str
    universities: int
    given: int  # triples
    status: str = "failed"  # ok, seconds or memory (a limit), absent (not installed), failed
    detail: str = ""
    at: str = ""  # the current step
    limit: float = 0.0
    steps: list[dict[str, Any]] = field(default_factory=list)

    def seconds(self, step: str) -> float | None:
        """The median of a step's times."""
        found = [each["seconds"] for each in self.steps if each["step"] == step]
        return statistics.median(found) if found else None

    def figure(self, step: str, name: str) -> int | None:
        found = [each[name] for each in self.steps if each["step"] == step and name in each]
        return round(statistics.median(found)) if found else None

    @property
    def total(self) -> float | None:
        """Loading and reasoning."""
        load, reason = self.seconds("load"), self.seconds("reason")
        return None if load is None or reason is None else load + reason

    @property
    def least(self) -> float | None:
        """A lower bound of loading and reasoning, if a limit ended them."""
        return self.total if self.status != "seconds" else (self.seconds("load") or 0) + self.limit


def played(run: Run, files: Sequence[Path], limit: float, memory: int, quick: bool) -> Run:
    """Fill a run; no step may exceed the time limit, and the process not the memory limit."""
    run.limit = limit
    command = [sys.executable, "-m", "bench.rdf.child", run.system, *map(str, files)]
    command += ["quick"] if quick else []
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        assert process.stdout is not None
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        reader = threading.Thread(target=forward, args=(process.stdout, lines), daemon=True)
        reader.start()
        try:
            _follow(process.pid, lines, run, memory)
        finally:
            process.kill()
            process.wait()
            reader.join()
            process.stdout.close()
        if run.status == "failed" and not run.detail:
            errors.seek(0)
            last = errors.read().strip().splitlines()[-1:] or [f"exit code {process.returncode}"]
            run.status = "absent" if "ModuleNotFoundError" in last[0] else "failed"
            run.detail = last[0][:300]
    return run


def _follow(process: int, lines: queue.SimpleQueue[str], run: Run, memory: int) -> None:
    started, cpu = time.monotonic(), cpu_seconds(process)
    while True:
        try:
            line = lines.get(timeout=0.1)
        except queue.Empty:
            used, wall = cpu_seconds(process) - cpu, time.monotonic() - started
            # A busy machine may stretch the wall time, but not without end.
            if run.at and (used > run.limit or wall > 10 * run.limit):
                run.status = "seconds"
                return
            if not run.at and used > WAITING:
                run.detail = f"nothing said for {WAITING:.0f} s"
                return
            if resident_bytes(process) > memory:
                run.status = "memory"
                return
            continue
        if not line:
            return
        message = json.loads(line)
        started, cpu = time.monotonic(), cpu_seconds(process)
        run.at = message.get("begin", "")
        if "done" in message:
            run.steps.append(message["done"])
        if "end" in message:
            run.status = "ok"
            return
