"""What the authors' program is sent."""

from __future__ import annotations

import socket

from bench.stepwise.authors import send
from bench.stepwise.marking import Update
from bench.stepwise.matching import Fact


def test_an_update_is_two_lines_and_an_empty_one_ends_the_stream() -> None:
    here, there = socket.socketpair()
    with there:
        with here:
            update = Update(deleted=(Fact("edge", (1, 2)),), inserted=(Fact("edge", (3, 4)),))
            send(here, [update])
        sent = there.makefile().read()
    assert sent.splitlines() == ["[[edge,3,4]]", "[[edge,1,2]]", "[]", "[]"]
