"""Closures of binary relations that are kept while their facts come and go."""

from __future__ import annotations

from tidelog.closure import cache as cache
from tidelog.closure.arrays import Pairs
from tidelog.closure.components import Components
from tidelog.closure.reachability import Reachability
from tidelog.closure.spanning import Step, spanning

__all__ = ["Components", "Pairs", "Reachability", "Step", "spanning"]
