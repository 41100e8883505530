"""`python -m tidelog`, and the command `tidelog`."""

from __future__ import annotations

import signal
import sys

from tidelog.control import interrupts


def main() -> int:
    """Ctrl-C ends quietly even while modules are being loaded, or put away."""
    sys.unraisablehook = interrupts.remember
    try:
        from tidelog.cli import main as run

        code = run()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return code
    except BaseException as error:
        if not interrupts.causes(error):
            raise
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
