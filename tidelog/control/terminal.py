"""Whether the output of this process goes to a terminal or a notebook."""

from __future__ import annotations

import sys
from typing import TextIO


def is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def is_notebook() -> bool:
    """Whether the code runs in IPython, whose streams in a notebook are not terminals."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def note(text: str) -> None:
    """Show a line at a terminal or in a notebook, and nothing elsewhere."""
    stream = sys.stderr
    terminal = is_terminal(stream)
    if stream is None or not (terminal or is_notebook()):
        return
    try:
        # A progress line may be there, without a line end.
        stream.write(f"\r\x1b[K{text}\n" if terminal else f"{text}\n")
        stream.flush()
    except (OSError, ValueError):  # the terminal is closed; work continues
        return
