"""`tidelog`, where each look of the limits at the clock takes so many seconds.

python -m tests.cli.ticking SECONDS ARGUMENTS …
"""

from __future__ import annotations

import sys

from tests.clock import Ticking
from tidelog.__main__ import main
from tidelog.control import limits

if __name__ == "__main__":
    limits.time = Ticking(float(sys.argv.pop(1)))  # type: ignore[assignment]
    sys.exit(main())
