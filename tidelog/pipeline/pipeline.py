"""`Pipeline`: changes in, a materialisation kept up to date, tables and feeds out."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tidelog.accept import Accepted, accept
from tidelog.limits import Limits
from tidelog.pipeline import toml
from tidelog.pipeline.checking import check, check_paths, refuse_functions, refuse_limits
from tidelog.pipeline.faults import SettingError, one_of
from tidelog.pipeline.settings import ENGINES, Sink, Source, Trigger, check_path
from tidelog.program.diagnostics import TidelogError
from tidelog.text import parse_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelog.pipeline.run import Done, Run
    from tidelog.pipeline.store import Commit

_LOOK = 0.2  # seconds between two looks at the streams


@dataclass(slots=True)
class Summary:
    """What a run did."""

    versions: list[Done] = field(default_factory=list)
    version: int = 0  # the last one there is
    interrupted: bool = False


class Pipeline:
    """Sources whose changes are mapped to relations of a program, and sinks that follow it.

    `folder` is what relative paths start from. Settings of the Spark session are in `spark`,
    unless `run` is given a session.
    """

    def __init__(
        self,
        program: str | Path,
        state: str | Path,
        sources: Sequence[Source] = (),
        sinks: Sequence[Sink] = (),
        *,
        facts: str | Path | None = None,
        engine: str = "local",
        algorithm: str = "auto",
        trigger: Trigger | str = "available-now",
        keep: int = 10,
        max_facts: int | None = None,
        max_seconds: float | None = None,
        master: str | None = None,
        spark: Mapping[str, str] | None = None,
        folder: str | Path = ".",
    ) -> None:
        for key, path, what in (
            ("program", program, "a file"),
            ("state", state, "a folder"),
            ("facts", facts, "a folder"),
        ):
            check_path(key, path, what)
        self.folder = Path(folder)
        self.program = self.folder / program
        self.state = self.folder / state
        self.facts = None if facts is None else self.folder / facts
        self.sources = tuple(sources)
        self.sinks = tuple(sinks)
        self.engine = engine
        self.algorithm = algorithm
        self.trigger = Trigger(trigger) if isinstance(trigger, str) else trigger
        self.keep = keep
        self.limits = Limits(max_facts, max_seconds)
        self.master = master
        self.spark = dict(spark or {})
        self.adopt: frozenset[str] = frozenset()
        self._file: Path | None = None  # that describes it
        self._check()

    def _check(self) -> None:
        from tidelog.maintain.algorithms import ALGORITHMS

        one_of("engine", self.engine, ENGINES)
        one_of("algorithm", self.algorithm, ALGORITHMS)
        if self.keep < 1:
            raise SettingError("keep", "at least the last version is kept", "such as keep = 10")
        for key, most in (
            ("max_facts", self.limits.max_facts),
            ("max_seconds", self.limits.max_seconds),
        ):
            if most is not None and most <= 0:
                raise SettingError(key, f"{most} is no limit", "leave it out, or give more than 0")
        for kind, listed in (("source", self.sources), ("sink", self.sinks)):
            names = [each.name for each in listed]
            for name in names:
                if names.count(name) > 1:
                    raise SettingError(f"{kind}.{name}", "there are two of this name")
        if self.engine == "spark":
            from tidelog.spark import ALGORITHMS as ON_SPARK

            one_of("algorithm", self.algorithm, ON_SPARK)
        check_paths(self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The pipeline that a TOML file describes; paths in it are relative to the file."""
        made = toml.read(Path(path), lambda settings: cls(**settings))
        made._file = Path(path)
        return made

    def accept(self) -> Accepted:
        """The program, if it has no errors."""
        return accept(parse_file(self.program))

    def check(self) -> Accepted:
        """Look for errors in the settings and the program, without Spark and without data."""
        accepted = self.accept()
        refuse_limits(accepted)
        refuse_functions(accepted)
        if self.engine == "spark":
            from tidelog.spark import check_program

            check_program(accepted.typed.types, accepted.checked, accepted.sources)
        try:
            check(self, accepted.checked.relations)
        except SettingError as error:
            if self._file is None:
                raise
            raise toml.in_file(self._file, error) from None
        return accepted

    def status(self) -> Commit | None:
        """The last version; None if there is none. A pipeline that runs is not disturbed."""
        from tidelog.pipeline.store import Store

        return Store(self.state).latest()

    # Running.

    def run(
        self,
        session: SparkSession | None = None,
        *,
        adopt: Sequence[str] = (),
        show: Callable[[Done], None] | None = None,
    ) -> Summary:
        """Take what the sources have; with a continuous trigger, until Ctrl-C.

        `show` is called with every version. `adopt` names sources whose checkpoint is another
        one than before, and which may be read from their beginning again.
        """
        from tidelog.pipeline.run import Run
        from tidelog.pipeline.store import Store

        self.adopt = frozenset(adopt)
        accepted = self.check()
        store = Store(self.state).open()
        summary = Summary()
        try:
            spark = session if session is not None else self._session()

            def made(done: Done) -> None:
                summary.versions.append(done)
                if show is not None:
                    show(done)

            with _spark_errors(), closing(Run(self, accepted, store, spark, made)) as run:
                run.open()
                summary.interrupted = self._stream(run)
            summary.version = store.last.version if store.last is not None else 0
            return summary
        finally:
            store.close()

    def _session(self) -> SparkSession:
        from tidelog.engines.spark.session import session

        return session(self.master, "tidelog pipeline", self.spark)

    def _stream(self, run: Run) -> bool:
        """Read the streams to their end, one after the other, or all at once for ever."""
        streams = [source.name for source in self.sources if source.stream]
        groups = [streams] if self.trigger.kind == "continuous" else [[each] for each in streams]
        with _asked_to_stop(run.stopping) as asked:
            for group in groups:
                if run.stopping.is_set():
                    break
                _watch(run, [run.stream(name).start() for name in group])
            return asked.is_set()


def _watch(run: Run, queries: Sequence[Any]) -> None:
    """Wait until the streams end, fail, or are asked to; no batch is cut short."""
    while any(query.isActive for query in queries):
        if run.stopping.wait(_LOOK):
            run.settle()
            for query in queries:
                query.stop()
            break
    if run.failure is not None:
        raise run.failure
    for query in queries:
        error = query.exception()
        if error is not None and not run.stopping.is_set():
            raise error


@contextmanager
def _asked_to_stop(stopping: threading.Event) -> Iterator[threading.Event]:
    """Ctrl-C, or a polite kill, is noted; a second one is not waited for."""
    asked = threading.Event()

    def note(number: int, frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        stopping.set()

    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {each: signal.signal(each, note) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _spark_errors() -> Iterator[None]:
    """What Spark finds wrong with a path, a schema or an expression, in a line or two."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        lines = [line for line in str(error).split("\n") if line.strip()]
        message = lines[0] if lines else type(error).__name__
        raise TidelogError(f"error: Spark: {message[:500]}") from None
