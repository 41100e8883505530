"""`tidelog warm`: compile all kernels ahead of time."""

from __future__ import annotations

import argparse

from tidelog.cli.standard_streams import flush_stdout, out
from tidelog.control.progress import Line
from tidelog.program.diagnostics import TidelogError, plural

DESCRIPTION = """\
Compile all kernels ahead of time and keep them in the cache, so that no run, notebook or Spark
task waits for the compiler. Skips kernels that the cache already has."""
EXAMPLE = """\
example:
  $ tidelog warm
  engine: 22 kernels compiled
  ..."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def main(options: argparse.Namespace) -> int:
    from tidelog.cli.kernel_groups import GROUPS
    from tidelog.local import kernel_group

    for group in GROUPS:
        count = 0
        with Line() as line:
            for position, count, name in group.compile_missing():
                line.show(f"{group.name}: compiling kernel {position} of {count}, {name}")
        if not group.is_warm():
            raise TidelogError(
                f"cannot write compiled kernels to {kernel_group.folder()}\n"
                "    set NUMBA_CACHE_DIR to a writable folder"
            )
        known = sum(1 for _ in group.signatures()) - count
        parts = [f"{plural(known, 'kernel')} already in the cache"] if known else []
        parts += [f"{plural(count, 'kernel')} compiled"] if count else []
        out(f"{group.name}: {', '.join(parts)}")
        flush_stdout()
    return 0
