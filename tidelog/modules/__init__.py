"""Modules of rules with algorithms of their own: the interface, and ours."""

from tidelog.maintain.closure_modules import STANDARD, SymmetricTransitive, Transitive
from tidelog.maintain.module import Module, uncertain
from tidelog.maintain.update import Context, Update

__all__ = [
    "STANDARD",
    "Context",
    "Module",
    "SymmetricTransitive",
    "Transitive",
    "Update",
    "uncertain",
]
