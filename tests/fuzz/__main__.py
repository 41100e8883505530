"""`python -m tests.fuzz`: mutants of the corpus for some minutes, and the smallest that fail.

python -m tests.fuzz --minutes 60 --seed 7
python -m tests.fuzz --count 5000       # a fixed number of mutants instead of a time
python -m tests.fuzz --replay 7.1234    # one mutant again, by its name
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from random import Random

from tests.fuzz.check import Failure, outcome
from tests.fuzz.mutate import corpus, mutant
from tests.fuzz.shrink import shrink
from tests.warm import warm
from tidelog.program.diagnostics import Doubt


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--count", type=int, help="this many mutants, however long they take")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", metavar="SEED.NUMBER", help="print one mutant, and try it")
    parser.add_argument("--no-run", action="store_true", help="the front end only")
    options = parser.parse_args()
    warnings.simplefilter("ignore", Doubt)  # of patterns that are no regular expressions
    if options.replay:
        text = numbered(options.replay)
        found = outcome(text, run=not options.no_run).failure
        print(text)
        print(f"{found.kind}\n{found.detail}" if found else "no failure")
        return 1 if found else 0
    return fuzz(options.seed, options.count, options.minutes, run=not options.no_run)


def numbered(name: str) -> str:
    """The mutant of a name such as `7.1234`: it does not depend on those before it."""
    return mutant(Random(name))


def fuzz(seed: int, count: int | None, minutes: float, run: bool = True) -> int:
    if run:
        warm()  # compiling kernels would count as a hang
    end = time.monotonic() + minutes * 60
    shown = time.monotonic() + 60
    tried = valid = ran = failed = 0
    smallest: dict[str, tuple[str, str, Failure]] = {}  # by kind: name of the mutant, text
    while tried < count if count is not None else time.monotonic() < end:
        name = f"{seed}.{tried}"
        text = numbered(name)
        result = outcome(text, run)
        tried += 1
        valid += result.valid
        ran += result.ran
        if result.failure is not None:
            failed += 1
            kind = result.failure.kind
            if kind not in smallest:
                print(f"{name}: {kind}", flush=True)
                smallest[kind] = (name, text, result.failure)
        if time.monotonic() > shown:
            shown += 60
            print(f"{tried:,} mutants, {failed:,} failures", file=sys.stderr, flush=True)
    for name, text, failure in smallest.values():
        fails = shrink(text, lambda each, kind=failure.kind: _fails(each, kind, run))
        print(f"\n--- mutant {name}: {failure.kind}\n{fails}\n---\n{failure.detail}")
    print(
        f"seed {seed}: {tried:,} mutants of {len(corpus()):,} texts, {valid:,} valid programs, "
        f"{tried - valid:,} refused, {ran:,} run and compared with the oracle, "
        f"{failed:,} failures of {len(smallest):,} kinds"
    )
    return 1 if failed else 0


def _fails(text: str, kind: str, run: bool) -> bool:
    found = outcome(text, run).failure
    return found is not None and found.kind == kind


if __name__ == "__main__":
    sys.exit(main())
