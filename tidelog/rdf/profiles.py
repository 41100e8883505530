"""Which rules a profile has."""

from __future__ import annotations

from importlib import resources

from tidelog.program.diagnostics import TidelogError

PROFILES = ("none", "rdfs", "owl2rl")


def program(profile: str) -> str:
    """The text of a profile's rules over `triple(s, p, o)`."""
    if profile not in PROFILES:
        known = ", ".join(PROFILES)
        raise TidelogError(f"error: there is no profile {profile!r}\n    there are {known}")
    if profile == "none":
        return ".decl triple(s: symbol, p: symbol, o: symbol)\n"
    return (resources.files("tidelog.rdf") / "rules" / f"{profile}.dl").read_text("utf-8")
