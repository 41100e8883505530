"""Closures of binary relations that are kept while their facts come and go."""

from __future__ import annotations

from tidelog.closure import cache as cache
from tidelog.closure.arrays import Pairs
from tidelog.closure.chains import Step, joined, spanning
from tidelog.closure.components import Components
from tidelog.closure.reachability import Reachability

__all__ = ["Components", "Pairs", "Reachability", "Step", "joined", "spanning"]
