"""`tidelog fmt`: what is written, shown and refused."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Cli


def test_the_command(cli: Cli, folder: Path) -> None:
    messy, tidy = "p( x):-edge(x,_) .\n", "p(x) :- edge(x, _).\n"
    (folder / "m.dl").write_text(messy)
    assert cli("fmt", "--check", "m.dl", "reach.dl") == (1, "m.dl: would change\n", "")
    assert cli("fmt", "--diff", "m.dl") == (
        0,
        f"--- m.dl\n+++ m.dl\n@@ -1 +1 @@\n-{messy}+{tidy}",
        "",
    )
    assert cli("fmt", "-", stdin=messy) == (0, tidy, "")
    assert (folder / "m.dl").read_text() == messy
    assert cli("fmt", "m.dl", "reach.dl") == (0, "", "")
    assert (folder / "m.dl").read_text() == tidy
    (folder / "bad.dl").write_text("p(x) :- q(x\n")
    (folder / "m.dl").write_text(messy)
    code, out, err = cli("fmt", "bad.dl", "none.dl", "m.dl")
    assert (code, out) == (2, "")
    assert err.startswith("bad.dl:1:9: error: the `(` of `q` is not closed")
    assert "error: cannot read none.dl: no such file or directory" in err
    assert (folder / "bad.dl").read_text() == "p(x) :- q(x\n"
    assert (folder / "m.dl").read_text() == tidy
    assert cli("fmt", "-", stdin=b"a(\xff)").err.startswith("<stdin>:1:3: error: byte 0xff is not")
