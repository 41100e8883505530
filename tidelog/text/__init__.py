"""Text to program and back: lexer, parser, errors that point."""

from tidelog.text.parser import Parsed, parse, parse_atom, parse_file
from tidelog.text.writer import to_text, value_text

__all__ = ["Parsed", "parse", "parse_atom", "parse_file", "to_text", "value_text"]
