"""`tidelog lsp`: a language server for editors."""

from __future__ import annotations

import argparse
import sys

from tidelog import __version__
from tidelog.cli import arguments
from tidelog.cli.standard_streams import stdin
from tidelog.program.diagnostics import TidelogError

DESCRIPTION = """\
Serve an editor over the standard input and output, by the Language Server Protocol: errors and
warnings while you type, types and strata of the name under the cursor, definitions, references,
symbols, renaming and formatting. Reads no facts. Exit codes: 0 after shutdown and exit, 1 if the
editor left without them."""
EXAMPLE = """\
example:
  $ tidelog lsp     waits for an editor, which starts it: Neovim by
  vim.lsp.start({name = "tidelog", cmd = {"tidelog", "lsp"}})"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    arguments.add_reading(parser)


def main(options: argparse.Namespace) -> int:
    from tidelog.lsp.server import ParseOptions, Server

    source = stdin()
    if source is None:
        raise TidelogError("error: the standard input is closed\n    an editor starts this command")
    read = arguments.reading(options)
    macros = tuple(read["macros"].items())
    parsing = ParseOptions(read["allow_paths"], tuple(read["include"]), macros)
    return Server(source, sys.stdout.buffer, __version__, parsing).serve()
