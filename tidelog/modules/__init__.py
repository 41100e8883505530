"""Modules of rules with algorithms of their own: the interface, and ours."""

from tidelog.maintain.closure_modules import STANDARD, SymmetricTransitive, Transitive
from tidelog.maintain.module import Module, uncertain
from tidelog.maintain.update import Context, Update
from tidelog.modules.contracts import BrokenContract, check
from tidelog.modules.levels import Levels

__all__ = [
    "STANDARD",
    "BrokenContract",
    "Context",
    "Levels",
    "Module",
    "SymmetricTransitive",
    "Transitive",
    "Update",
    "check",
    "uncertain",
]
