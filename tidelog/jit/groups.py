"""Groups of Numba kernels, and their disk cache, which any change of the sources invalidates."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from time import monotonic
from types import ModuleType
from typing import Any

from numba.core import event
from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys
from numba.core.types import int64

from tidelog.control.terminal import note

NOTE = (
    "compiling kernels on first use, for up to a minute; "
    "`tidelog warm` compiles all of them in advance"
)
AGAIN = "compiling more kernels, for some seconds"
PAUSE = 1.0  # seconds without compilation, after which a note announces it again
Types = Mapping[str, Any]  # a type, or a tuple of alternative types, by parameter
Signature = tuple[Any, ...]


class Kernels:
    """A group of cached kernels, and the signatures that Python calls them with.

    `types` has the types of parameters by name: `rows`, `module.rows` where a module's
    parameter differs from others of that name, `kernel.rows` where one kernel's does. All
    other parameters are numbers and addresses. Types are asked for late: they may need
    modules that import the kernels.
    """

    def __init__(
        self,
        name: str,
        modules: Iterable[ModuleType],
        sources: Iterable[Path],
        types: Callable[[], Types],
    ) -> None:
        self.name = name
        self.all = kernels_of(modules)
        self._types = types
        load_safely(self.all, sources)
        load_quickly(self.all)

    def signatures(self) -> Iterator[tuple[Any, Signature]]:
        """Each cached kernel with each of its signatures."""
        types = self._types()
        for kernel in self.all:
            if has_cache(kernel):
                module = kernel.__module__.rpartition(".")[2]
                names = inspect.signature(kernel.py_func).parameters
                found = (_alternatives(types, module, kernel.__name__, name) for name in names)
                yield from ((kernel, signature) for signature in product(*found))

    def missing(self) -> list[tuple[Any, Signature]]:
        """Signatures that the cache lacks."""
        return [each for each in self.signatures() if not is_cached(*each)]

    def is_warm(self) -> bool:
        """Whether every kernel will be loaded rather than compiled."""
        return not self.missing()

    def compile_missing(self) -> Iterator[tuple[int, int, str]]:
        """Compile what the cache lacks; before each kernel: its position, how many, its name."""
        missing = self.missing()
        for position, (kernel, signature) in enumerate(missing, 1):
            yield position, len(missing), kernel.__name__
            with _ANNOUNCER.silent():  # the caller reports progress
                kernel.compile(signature)


def _alternatives(types: Types, module: str, kernel: str, name: str) -> tuple[Any, ...]:
    keys = (f"{kernel}.{name}", f"{module}.{name}", name)
    found = next((types[key] for key in keys if key in types), int64)
    return found if isinstance(found, tuple) else (found,)


def has_cache(kernel: Any) -> bool:
    return hasattr(getattr(kernel, "_cache", None), "_cache_file")


def kernels_of(modules: Iterable[ModuleType]) -> tuple[Any, ...]:
    """The kernels that these modules define."""
    return tuple(
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, Dispatcher) and value.__module__ == module.__name__
    )


def load_safely(kernels: Iterable[Any], sources: Iterable[Path]) -> None:
    """Invalidate cached kernels when any of these source files has changed.

    Numba checks only the file that defines a function, but a kernel has code from several files
    compiled into it: if one of them changed, stale code would be loaded. The digest is a part of
    the version, because Numba unpickles the rest of an index only if the version is the same: what
    other sources left behind may name types that have moved.
    """
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(source.read_bytes())
    for kernel in kernels:
        file: Any = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
        if hasattr(file, "_version"):
            file._version = (file._version, digest.hexdigest())


def load_quickly(kernels: Iterable[Any]) -> None:
    """Let kernels be loaded without all that compiling them would need.

    Numba prepares for compilation before it looks into its cache, which takes longer than
    everything else that a small program needs. A kernel that is not in the cache is compiled as
    usual: Numba prepares then.
    """
    for kernel in kernels:
        cache: Any = getattr(kernel, "_cache", None)
        if hasattr(cache, "_load_overload"):
            cache.load_overload = _Quick(cache)


def is_cached(kernel: Any, signature: Signature) -> bool:
    """Whether the disk has this signature of the kernel, compiled from the current sources."""
    try:
        # The public interface of the cache reports hits only after the fact.
        key = kernel._cache._index_key(signature, kernel.targetctx.codegen())
        return key in kernel._cache._cache_file._load_index()
    except Exception:  # unreadable, or another version of Numba has another layout
        return False


class _Announcer(event.Listener):
    """Shows a note when Numba begins to compile a kernel after a pause.

    A kernel compiles those that it calls, so compilations nest.
    """

    def __init__(self) -> None:
        self._nested = 0
        self._ended: float | None = None  # when the last kernel was compiled

    def on_start(self, event: event.Event) -> None:
        if not self._nested and _is_ours(event):
            if self._ended is None:
                note(NOTE)
            elif monotonic() - self._ended > PAUSE:
                note(AGAIN)
        self._nested += 1

    def on_end(self, event: event.Event) -> None:
        self._nested -= 1
        if _is_ours(event):
            self._ended = monotonic()

    @contextmanager
    def silent(self) -> Iterator[None]:
        self._nested += 1
        try:
            yield
        finally:
            self._nested -= 1


def _is_ours(compilation: event.Event) -> bool:
    """A process may have compiled functions of its own."""
    return str(compilation.data["dispatcher"].__module__).startswith("tidelog.")


_ANNOUNCER = _Announcer()
event.register("numba:compile", _ANNOUNCER)  # type: ignore[no-untyped-call]


class _Quick:
    def __init__(self, cache: Any) -> None:
        self._cache = cache
        self._usual = type(cache).load_overload

    def __call__(self, signature: Any, target: Any) -> Any:
        try:
            rtsys.initialize(target)  # compiled code calls Numba's runtime
            with self._cache._guard_against_spurious_io_errors():
                return self._cache._load_overload(signature, target)
        except Exception:  # another version of Numba may need more, or differ inside
            return self._usual(self._cache, signature, target)
