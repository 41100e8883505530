"""Command lines for tests of streams: the fixtures of tests/cli."""

from tests.cli.conftest import cli, compiled, folder

__all__ = ["cli", "compiled", "folder"]
