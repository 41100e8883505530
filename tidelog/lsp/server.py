"""Answers the requests of an editor. Errors are answered, and never end the server."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from tidelog.lsp import jsonrpc
from tidelog.lsp.document import Document, Occurrence, RenameError
from tidelog.lsp.jsonrpc import RpcError
from tidelog.lsp.positions import characters, path_of, range_of, uri_of
from tidelog.program.diagnostics import Diagnostic, ProgramError
from tidelog.program.syntax import Inside, Span
from tidelog.text.formatter import format_text

SEVERITIES = {"error": 1, "warning": 2}
SYMBOLS = {"relation": 12, "type": 5}  # the protocol's kinds for functions and classes
CAPABILITIES = {
    "textDocumentSync": {"openClose": True, "change": 1},
    "hoverProvider": True,
    "definitionProvider": True,
    "referencesProvider": True,
    "documentSymbolProvider": True,
    "documentFormattingProvider": True,
    "renameProvider": {"prepareProvider": True},
}


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """Options of the parser, for all documents."""

    allow_paths: bool = False
    include: tuple[Path, ...] = ()
    macros: tuple[tuple[str, str], ...] = ()


@dataclass
class Server:
    """Answers messages in order, and diagnoses changed programs while none is waiting."""

    source: BinaryIO
    target: BinaryIO
    version: str = ""
    options: ParseOptions = field(default_factory=ParseOptions)
    documents: dict[str, Document] = field(default_factory=dict)
    initialized: bool = False
    stopped: bool = False
    _stale: dict[str, None] = field(default_factory=dict)
    _published: dict[str, set[str]] = field(default_factory=dict)  # URIs, by program

    def serve(self) -> int:
        """Serve until the editor sends `exit` or disconnects; returns the exit code."""
        waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(waiting,), daemon=True).start()
        while True:
            if waiting.empty():
                self._diagnose_stale()
            message = waiting.get()
            if message is None or self._is_exit(message):
                return 0 if self.stopped else 1
            self._handle(message)

    def _read(self, waiting: queue.SimpleQueue[Any]) -> None:
        while True:
            try:
                message = jsonrpc.read(self.source)
            except RpcError as error:
                message = error
            except (OSError, ValueError):  # the editor has disconnected
                message = None
            waiting.put(message)
            if message is None or self._is_exit(message):
                return

    def _is_exit(self, message: Any) -> bool:
        return isinstance(message, dict) and message.get("method") == "exit"

    def _handle(self, message: Any) -> None:
        """Answer one message."""
        number = message.get("id") if isinstance(message, dict) else None
        asks = isinstance(message, dict) and "id" in message
        try:
            if isinstance(message, RpcError):
                asks = True
                raise message
            result = self._answer(message)
            if asks and "method" in message:
                jsonrpc.write(self.target, {"id": number, "result": result})
        except RpcError as error:
            self._fail(number, asks, error.code, str(error))
        except Exception as error:  # an internal error must not end the server
            text = f"{type(error).__name__}: {error}"
            self._fail(number, asks, jsonrpc.INTERNAL_ERROR, text)

    def _fail(self, number: Any, asks: bool, code: int, text: str) -> None:
        if asks:
            error = {"code": code, "message": text}
            jsonrpc.write(self.target, {"id": number, "error": error})
        else:  # a notification has no response
            params = {"type": 2, "message": text}
            jsonrpc.write(self.target, {"method": "window/logMessage", "params": params})

    def _answer(self, message: Any) -> Any:
        if not isinstance(message, dict):
            raise RpcError(jsonrpc.INVALID_REQUEST, "expected an object")
        method = message.get("method")
        if method is None and ("result" in message or "error" in message):
            return None  # a response, although the server sends no requests
        if not isinstance(method, str):
            raise RpcError(jsonrpc.INVALID_REQUEST, "missing method")
        action = self._actions().get(method)
        if action is None:
            if method.startswith("$/") or "id" not in message:
                return None
            raise RpcError(jsonrpc.NO_METHOD, f"unknown method {method}")
        if not self.initialized and method != "initialize":
            raise RpcError(jsonrpc.NOT_INITIALIZED, "the server is not initialized")
        if self.stopped:
            raise RpcError(jsonrpc.INVALID_REQUEST, "the server is shut down")
        params = message.get("params")
        return action(params if isinstance(params, dict) else {})

    def _actions(self) -> dict[str, Callable[[dict[str, Any]], Any]]:
        return {
            "initialize": self._initialize,
            "initialized": lambda params: None,
            "shutdown": self._shutdown,
            "textDocument/didOpen": self._open,
            "textDocument/didChange": self._change,
            "textDocument/didClose": self._close,
            "textDocument/didSave": lambda params: None,
            "textDocument/hover": self._hover,
            "textDocument/definition": self._definition,
            "textDocument/references": self._references,
            "textDocument/documentSymbol": self._symbols,
            "textDocument/formatting": self._format,
            "textDocument/prepareRename": self._prepare_rename,
            "textDocument/rename": self._rename,
        }

    def _initialize(self, params: dict[str, Any]) -> Any:
        self.initialized = True
        about = {"name": "tidelog", "version": self.version}
        return {"capabilities": CAPABILITIES, "serverInfo": about}

    def _shutdown(self, params: dict[str, Any]) -> None:
        self.stopped = True
        self._stale.clear()

    def _open(self, params: dict[str, Any]) -> None:
        self._keep(_uri(params), _get(params, str, "textDocument", "text"))

    def _change(self, params: dict[str, Any]) -> None:
        changes = _get(params, list, "contentChanges")
        uri = self._document(params).uri
        for change in changes:
            if not isinstance(change, dict) or "range" in change:
                raise RpcError(jsonrpc.INVALID_PARAMS, "expected the whole text, got a range")
            self._keep(uri, _get(change, str, "text"))

    def _close(self, params: dict[str, Any]) -> None:
        uri = self._document(params).uri
        del self.documents[uri]
        self._stale.pop(uri, None)
        for published in self._published.pop(uri, set()):
            self._publish(published, [])

    def _keep(self, uri: str, text: str) -> None:
        path = path_of(uri)
        file = str(path) if path is not None else uri
        folder = path.parent if path is not None else None
        r = self.options
        self.documents[uri] = Document(uri, file, folder, text, r.allow_paths, r.include, r.macros)
        self._stale[uri] = None

    def _document(self, params: dict[str, Any]) -> Document:
        uri = _uri(params)
        if uri not in self.documents:
            raise RpcError(jsonrpc.INVALID_PARAMS, f"{uri} is not open")
        return self.documents[uri]

    def _diagnose_stale(self) -> None:
        """Publish the diagnostics of programs that were opened or changed."""
        while self._stale:
            uri = next(iter(self._stale))
            del self._stale[uri]
            try:
                self._diagnose(self.documents[uri])
            except Exception as error:
                self._fail(None, False, 0, f"{type(error).__name__}: {error}")

    def _diagnose(self, document: Document) -> None:
        by_file: dict[str, list[dict[str, Any]]] = {document.uri: []}
        for found in document.diagnostics:
            at = found.at
            elsewhere = at is not None and at.line > 0 and at.file != document.file
            uri = uri_of(at.file) if at is not None and elsewhere else document.uri
            by_file.setdefault(uri, []).append(self._diagnostic(found, document))
        for uri in self._published.get(document.uri, set()) - by_file.keys():
            self._publish(uri, [])
        for uri, diagnostics in by_file.items():
            self._publish(uri, diagnostics)
        self._published[document.uri] = set(by_file)

    def _diagnostic(self, found: Diagnostic, document: Document) -> dict[str, Any]:
        parts = [found.message, found.advice, *(f"note: {note}" for note in found.notes)]
        if isinstance(found.at, Inside) and found.at.instance:
            parts.append(f"note: in the instance {found.at.instance}")
        return {
            "range": _range(found.at, document),
            "severity": SEVERITIES[found.severity],
            "source": "tidelog",
            "message": "\n".join(part for part in parts if part),
        }

    def _publish(self, uri: str, diagnostics: list[dict[str, Any]]) -> None:
        params = {"uri": uri, "diagnostics": diagnostics}
        jsonrpc.write(self.target, {"method": "textDocument/publishDiagnostics", "params": params})

    def _name(self, params: dict[str, Any]) -> tuple[Document, Occurrence | None]:
        document = self._document(params)
        line = _get(params, int, "position", "line")
        unit = _get(params, int, "position", "character")
        if not 0 <= line < len(document.lines):
            return document, None
        column = characters(document.lines[line], unit) + 1
        return document, document.at(line + 1, column)

    def _hover(self, params: dict[str, Any]) -> Any:
        document, name = self._name(params)
        if name is None:
            return None
        value = f"```\n{document.explain(name)}\n```"
        contents = {"kind": "markdown", "value": value}
        return {"contents": contents, "range": _range(name.at, document)}

    def _definition(self, params: dict[str, Any]) -> Any:
        document, name = self._name(params)
        return [] if name is None else _locations(document.definition(name), document)

    def _references(self, params: dict[str, Any]) -> Any:
        document, name = self._name(params)
        if name is None:
            return []
        context = params.get("context")
        declared = isinstance(context, dict) and context.get("includeDeclaration") is True
        left_out = [] if declared else [each.at for each in document.definition(name)]
        return _locations((n for n in document.same(name) if n.at not in left_out), document)

    def _symbols(self, params: dict[str, Any]) -> Any:
        document = self._document(params)
        found = []
        for name, sort, at in document.symbols():
            place = _range(at, document)
            found.append(
                {"name": name, "kind": SYMBOLS[sort], "range": place, "selectionRange": place}
            )
        return found

    def _format(self, params: dict[str, Any]) -> Any:
        """Format the whole text, like `tidelog fmt`."""
        document = self._document(params)
        try:
            new = format_text(document.text, document.file)
        except ProgramError as problem:
            first = problem.diagnostics[0]
            raise RpcError(jsonrpc.REQUEST_FAILED, first.message) from None
        if new == document.text:
            return []
        end = {"line": len(document.lines), "character": 0}
        return [{"range": {"start": {"line": 0, "character": 0}, "end": end}, "newText": new}]

    def _prepare_rename(self, params: dict[str, Any]) -> Any:
        document, name = self._name(params)
        return None if name is None else _range(name.at, document)

    def _rename(self, params: dict[str, Any]) -> Any:
        document, name = self._name(params)
        new = _get(params, str, "newName")
        if name is None:
            raise RpcError(jsonrpc.REQUEST_FAILED, "no name at this position")
        try:
            places = document.renamed(name, new)
        except RenameError as problem:
            raise RpcError(jsonrpc.REQUEST_FAILED, str(problem)) from None
        changes: dict[str, list[dict[str, Any]]] = {}
        for at in places:
            edit = {"range": _range(at, document), "newText": new}
            changes.setdefault(_uri_at(at, document), []).append(edit)
        return {"changes": changes}


def _get(params: dict[str, Any], kind: type, *keys: str) -> Any:
    """A value of the parameters, checked against a type."""
    found: Any = params
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    if not isinstance(found, kind) or isinstance(found, bool):
        raise RpcError(
            jsonrpc.INVALID_PARAMS,
            f"expected {kind.__name__} for {'.'.join(keys)}, got {type(found).__name__}",
        )
    return found


def _uri(params: dict[str, Any]) -> str:
    found: str = _get(params, str, "textDocument", "uri")
    return found


def _range(at: Span | None, document: Document) -> dict[str, Any]:
    lines = document.lines
    if at is not None and at.file != document.file:
        lines = document.parsed.sources.get(at.file, [])
    return range_of(at, lines)


def _uri_at(at: Span, document: Document) -> str:
    return document.uri if at.file == document.file else uri_of(at.file)


def _locations(names: Iterable[Occurrence], document: Document) -> list[dict[str, Any]]:
    return [{"uri": _uri_at(n.at, document), "range": _range(n.at, document)} for n in names]
