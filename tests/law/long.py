"""The law over new generated histories, for a time or a number of them.

    python -m tests.law.long SEED --minutes 60
    python -m tests.law.long SEED --histories 5000

Prints what the histories reached. Seeds that fail are named, and the exit code is 1 then; what
`python -m tests.law.replay SEED` prints of them is kept in `histories/`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from itertools import count
from random import Random

import pytest

from tests.law import test_histories as law
from tests.law.histories import History, history
from tests.law.overlapping import COURSES, marked, overlap
from tests.law.reach import reach, told_of
from tests.law.replay import replay
from tests.law.thresholds import thresholds

EVERY = 60  # seconds between two lines of progress


def play(seed: int, told: History) -> None:
    """By the algorithms of the seed; and some as text, by an impatient `auto` or in a stream."""
    with thresholds(seed):
        replay(told, law.choices(seed))
        way, random = seed // 4 % 5, Random(f"{seed} stream")
        if way == 0:
            law.test_history_as_text(seed)
        elif way == 1:
            with pytest.MonkeyPatch.context() as patch:
                law.test_history_with_little_patience(seed, patch)
        elif way == 2:
            overlap(told, random.choice(COURSES), random)
        elif way == 3:
            marked(told, random.choice(("dred", "bf", "auto")), random)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.law.long")
    parser.add_argument("seed", type=int)
    parser.add_argument("--minutes", type=float, help="stop after this time")
    parser.add_argument("--histories", type=int, help="stop after so many")
    args = parser.parse_args()
    began = told_at = time.monotonic()
    seen, failed = Counter[str](), list[int]()
    for seed in count(args.seed):
        now = time.monotonic()
        if args.minutes is not None and now - began >= 60 * args.minutes:
            break
        if args.histories is not None and seen["histories"] >= args.histories:
            break
        if now - told_at >= EVERY:
            told_at = now
            print(f"{seen['histories']:,} histories, {len(failed)} failures", flush=True)
        told = history(seed)
        seen.update(reach(told))
        seen.update(histories=1, steps=len(told.steps))
        try:
            play(seed, told)
        except Exception as error:
            failed.append(seed)
            print(f"seed {seed}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    print(f"from seed {args.seed}, in {(time.monotonic() - began) / 60:.1f} minutes:")
    print(told_of(seen))
    print(f"{len(failed):>9,} failures")
    for seed in failed:
        print(f"again: python -m tests.law.long {seed} --histories 1")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
