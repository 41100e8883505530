"""`python -m tidelog`, and the command `tidelog`."""

from __future__ import annotations

import sys


def main() -> int:
    """Ctrl-C ends quietly even while modules are being loaded."""
    try:
        from tidelog.cli import main as run

        return run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
