"""Runs all benchmarks that write figure pages, one after the other.

    python -m bench.all [--list]

A page that was measured with the current version is skipped, so an interrupted run can be resumed.
`--list` only prints what would run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from bench.report import measured
from tidelog import __version__

FIGURES = Path(__file__).parent.parent / "docs" / "figures"
# The pages of each benchmark.
BENCHMARKS: Mapping[str, tuple[str, ...]] = {
    "bench.language.run": ("language",),
    "bench.explain.run": ("explanations",),
    "bench.updates.run": ("updates",),
    "bench.updates.deletions": ("deletions",),
    "bench.flows.run": ("streams",),
    "bench.modules.run": ("modules",),
    "bench.dbsp.run": ("dbsp",),
    "bench.rdf.run": ("rdf",),
    "bench.spark.run": ("spark", "scale"),
    "bench.run": ("benchmarks",),
}


def main(arguments: list[str] | None = None) -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="bench.all", description=about)
    parser.add_argument("--list", action="store_true", help="print what would run, and stop")
    options = parser.parse_args(arguments)
    failed = []
    for module, pages in BENCHMARKS.items():
        stale = [page for page in pages if measured(FIGURES / f"{page}.md") != __version__]
        if not stale:
            print(f"skip  {module}: {', '.join(pages)} measured with {__version__}", flush=True)
            continue
        print(f"run   {module}: {', '.join(stale)}", flush=True)
        if options.list:
            continue
        start = time.monotonic()
        code = subprocess.run([sys.executable, "-m", module], check=False).returncode
        print(f"done  {module}: exit {code} after {time.monotonic() - start:,.0f} s", flush=True)
        if code:
            failed.append(module)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
