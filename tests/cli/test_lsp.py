"""`tidelog lsp`: one session of an editor with a real process, and frames that are broken."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import COMMAND
from tidelog.lsp import jsonrpc

TEXT = """\
.type Id <: number
.decl edge(x: Id, y: Id)
.decl path(x: Id, y: Id)
.decl größe(x: Id) // 🌊
path(x, y) :- edge(x, y).
path(x, z) :- /* 🌊 */ path(x, y), edge(y, z).
edge(1, 2).
.output path
"""
GOOD = TEXT.replace(".decl größe(x: Id) // 🌊\n", '.include "base.dl"\n')
FILES = {"base.dl": ".decl base(x: number)\nbase(x) :- nothing(x).\n"}


class Editor:
    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "lsp"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.uri = (folder / "a.dl").as_uri()
        self.number = 0
        self.told: list[dict[str, Any]] = []

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        found: dict[str, Any] = jsonrpc.read(self.process.stdout)  # type: ignore[arg-type]
        assert found["jsonrpc"] == "2.0"
        return found

    def notify(self, method: str, **params: Any) -> None:
        buffer = io.BytesIO()
        jsonrpc.write(buffer, {"method": method, "params": params})
        self.send(buffer.getvalue())

    def answer(self) -> dict[str, Any]:
        """The next answer; what is told besides is kept."""
        while "id" not in (found := self.receive()):
            self.told.append(found)
        return found

    def ask(self, method: str, **params: Any) -> Any:
        self.number += 1
        buffer = io.BytesIO()
        jsonrpc.write(buffer, {"id": self.number, "method": method, "params": params})
        self.send(buffer.getvalue())
        found = self.answer()
        assert found["id"] == self.number
        return found["result"] if "result" in found else found["error"]

    def at(self, method: str, line: int, character: int, **more: Any) -> Any:
        place = {"line": line, "character": character}
        return self.ask(
            f"textDocument/{method}", textDocument={"uri": self.uri}, position=place, **more
        )

    def diagnostics(self) -> dict[str, list[dict[str, Any]]]:
        """The next diagnostics by file."""
        while True:
            message = self.told.pop(0) if self.told else self.receive()
            if message["method"] == "textDocument/publishDiagnostics":
                params = message["params"]
                return {params["uri"].rpartition("/")[2]: params["diagnostics"]}


@pytest.fixture
def editor(folder: Path) -> Iterator[Editor]:
    for name, text in FILES.items():
        (folder / name).write_text(text)
    made = Editor(folder)
    yield made
    made.process.kill()
    made.process.wait()
    for stream in (made.process.stdin, made.process.stdout):
        assert stream is not None
        stream.close()


def places(found: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    ranges = [each["range"] for each in found]
    return [(r["start"]["line"], r["start"]["character"], r["end"]["character"]) for r in ranges]


def test_a_session(editor: Editor) -> None:
    assert editor.ask("textDocument/hover")["code"] == jsonrpc.NOT_INITIALIZED
    assert editor.ask("initialize", capabilities={})["capabilities"]["hoverProvider"] is True
    editor.notify("initialized")

    document = {"uri": editor.uri, "languageId": "datalog", "version": 1, "text": TEXT}
    editor.notify("textDocument/didOpen", textDocument=document)
    (diagnostics,) = (editor.diagnostics()["a.dl"],)
    assert places(diagnostics) == [(3, 6, 7)] or diagnostics[0]["severity"] == 1
    assert diagnostics[0]["source"] == "tidelog"

    change = [{"text": GOOD}]
    editor.notify("textDocument/didChange", textDocument=document, contentChanges=change)
    found = editor.diagnostics() | editor.diagnostics()
    assert found["a.dl"] == []
    assert places(found["base.dl"]) == [(1, 11, 18)]
    assert "nothing" in found["base.dl"][0]["message"]
    fixed = GOOD.replace('.include "base.dl"\n', "")
    editor.notify("textDocument/didChange", textDocument=document, contentChanges=[{"text": fixed}])
    found = editor.diagnostics() | editor.diagnostics()
    assert found == {"a.dl": [], "base.dl": []}

    # path(x, z) :- /* 🌊 */ path(x, y), edge(y, z).   the wave has two units
    hover = editor.at("hover", 4, 25)
    assert hover["contents"]["value"] == (
        "```\n.decl path(x: Id, y: Id)\n// stratum 2 of 2, recursive\n// 2 rules\n```"
    )
    assert places([hover]) == [(4, 23, 27)]
    assert editor.at("hover", 4, 28)["contents"]["value"] == "```\nx: number\n```"
    assert editor.at("hover", 1, 15)["contents"]["value"] == "```\n.type Id <: number\n```"
    assert editor.at("hover", 4, 16) is None
    assert editor.at("hover", 99, 0) is None
    assert places(editor.at("definition", 4, 36)) == [(1, 6, 10)]
    assert places(editor.at("definition", 1, 14)) == [(0, 6, 8)]
    assert places(editor.at("definition", 4, 41)) == [(4, 31, 32)]
    assert places(editor.at("references", 5, 1, context={"includeDeclaration": True})) == [
        (1, 6, 10),
        (3, 14, 18),
        (4, 35, 39),
        (5, 0, 4),
    ]
    assert places(editor.at("references", 2, 14)) == [
        (1, 14, 16),
        (1, 21, 23),
        (2, 14, 16),
        (2, 21, 23),
    ]
    symbols = editor.ask("textDocument/documentSymbol", textDocument=document)
    assert [each["name"] for each in symbols] == ["edge", "path", "Id"]

    assert editor.ask("textDocument/formatting", textDocument=document, options={}) == []
    ugly = [{"text": fixed.replace(", ", " ,")}]
    editor.notify("textDocument/didChange", textDocument=document, contentChanges=ugly)
    (edit,) = editor.ask("textDocument/formatting", textDocument=document, options={})
    assert edit["newText"] == fixed
    editor.notify("textDocument/didChange", textDocument=document, contentChanges=[{"text": fixed}])

    # Renaming.
    assert places([{"range": editor.at("prepareRename", 6, 9)}]) == [(6, 8, 12)]
    (edits,) = editor.at("rename", 6, 9, newName="reach")["changes"].values()
    assert places(edits) == [(2, 6, 10), (3, 0, 4), (4, 0, 4), (4, 23, 27), (6, 8, 12)]
    assert {edit["newText"] for edit in edits} == {"reach"}
    (edits,) = editor.at("rename", 4, 8, newName="zz")["changes"].values()
    assert places(edits) == [(4, 8, 9), (4, 43, 44)]
    for new in ("edge", "no name", "count"):
        assert editor.at("rename", 6, 9, newName=new)["code"] == jsonrpc.REQUEST_FAILED

    # Bad requests are answered, and the server goes on.
    assert editor.ask("textDocument/nothing")["code"] == jsonrpc.NO_METHOD
    assert editor.ask("textDocument/hover", textDocument=7)["code"] == jsonrpc.INVALID_PARAMS
    other = {"uri": "file:///other.dl"}
    assert editor.ask("textDocument/documentSymbol", textDocument=other)["code"] == (
        jsonrpc.INVALID_PARAMS
    )
    for broken, code in (
        (b"Content-Length: 5\r\n\r\n{abc}", jsonrpc.PARSE_ERROR),
        (b"Content-Length: x\r\n\r\n", jsonrpc.PARSE_ERROR),
        (b"Content-Length: 2\r\n\r\n[]", None),
        (b'Content-Length: 8\r\n\r\n{"id":1}', jsonrpc.INVALID_REQUEST),
    ):
        editor.send(broken)
        if code is not None:
            assert editor.answer()["error"]["code"] == code
    editor.notify("textDocument/didChange", textDocument=document, contentChanges=[{"range": 1}])
    assert editor.at("hover", 4, 25)["range"] == hover["range"]

    editor.notify("textDocument/didClose", textDocument=document)
    assert editor.ask("shutdown") is None
    assert editor.told[-1]["params"] == {"uri": editor.uri, "diagnostics": []}
    assert editor.ask("textDocument/hover")["code"] == jsonrpc.INVALID_REQUEST
    editor.notify("exit")
    assert editor.process.wait(timeout=20) == 0


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"Content-Length: 10\r\n\r\n{}",
        b"\r\n\r\n",
        b"Content-Type: text\r\n",
    ],
)
def test_a_frame_that_ends_is_the_end(data: bytes) -> None:
    assert jsonrpc.read(io.BytesIO(data)) is None


def test_a_frame_that_is_too_long_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonrpc, "MAX_BYTES", 10)
    long = json.dumps({"text": "x" * 100}).encode()
    source = io.BytesIO(
        b"Content-Length: %d\r\n\r\n%sContent-Length: 2\r\n\r\n{}" % (len(long), long)
    )
    with pytest.raises(jsonrpc.RpcError, match="too long"):
        jsonrpc.read(source)
    assert jsonrpc.read(source) == {}
