"""Large tables are a process's own, like small ones."""

from __future__ import annotations

import os

import numpy as np

from tidelog.local.arrays import LARGE, zeros


def test_a_forked_process_has_a_copy() -> None:
    table = zeros(LARGE, np.uint8)
    child = os.fork()
    if not child:
        table[:] = 1
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert not table.any()
