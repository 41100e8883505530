"""Closures of binary relations that are maintained while their facts are inserted and deleted."""

from __future__ import annotations

from tidelog.closure import kernel_group as kernel_group
from tidelog.closure.chains import Step, joined, spanning
from tidelog.closure.components import Components
from tidelog.closure.growing_arrays import Pairs
from tidelog.closure.reachability import Reachability

__all__ = ["Components", "Pairs", "Reachability", "Step", "joined", "spanning"]
