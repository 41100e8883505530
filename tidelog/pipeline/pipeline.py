"""`Pipeline`: read changes, maintain a materialisation, write tables and feeds."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tidelog.control.limits import Limits
from tidelog.pipeline import config_file
from tidelog.pipeline.setting_errors import SettingError, one_of
from tidelog.pipeline.settings import Sink, Source, Trigger, check_path
from tidelog.pipeline.validation import check, check_paths, refuse_functions, refuse_limits
from tidelog.plan.accept import Accepted, accept
from tidelog.program.diagnostics import TidelogError
from tidelog.session import ENGINES
from tidelog.text import parse_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelog.pipeline.run import Done, Run
    from tidelog.pipeline.versions import VersionRecord

_POLL_SECONDS = 0.2  # between two checks of the streams


@dataclass(slots=True)
class Summary:
    """What a run did."""

    versions: list[Done] = field(default_factory=list)
    version: int = 0  # the latest one
    interrupted: bool = False


class Pipeline:
    """Sources that change relations of a program, and sinks that publish its relations.

    Paths are relative to `folder`. `spark` configures the Spark session, unless `run` gets one.
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
        self._file: Path | None = None  # the TOML file, for error positions
        self._check()

    def _check(self) -> None:
        from tidelog.maintain.driver.algorithms import ALGORITHMS, ON_SPARK

        one_of("engine", self.engine, ENGINES)
        one_of("algorithm", self.algorithm, ALGORITHMS)
        if self.keep < 1:
            raise SettingError("keep", f"expected at least 1, got {self.keep}")
        for key, most in (
            ("max_facts", self.limits.max_facts),
            ("max_seconds", self.limits.max_seconds),
        ):
            if most is not None and most <= 0:
                message = f"expected a positive limit, got {most}"
                raise SettingError(key, message, "omit it for no limit")
        for kind, listed in (("source", self.sources), ("sink", self.sinks)):
            names = [each.name for each in listed]
            for name in names:
                if names.count(name) > 1:
                    raise SettingError(f"{kind}.{name}", "duplicate name")
        if self.engine == "spark":
            one_of("algorithm", self.algorithm, ON_SPARK)
        check_paths(self)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load a pipeline from a TOML file; paths in it are relative to the file."""
        pipeline = config_file.read(Path(path), lambda settings: cls(**settings))
        pipeline._file = Path(path)
        return pipeline

    def accept(self) -> Accepted:
        """Analyse the program."""
        return accept(parse_file(self.program))

    def check(self) -> Accepted:
        """Check the settings and the program, without starting Spark or reading data."""
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
            raise config_file.in_file(self._file, error) from None
        return accepted

    def status(self) -> VersionRecord | None:
        """The last version, or None; safe to call while the pipeline runs."""
        from tidelog.pipeline.versions import VersionStore

        return VersionStore(self.state).latest()

    def run(
        self,
        session: SparkSession | None = None,
        *,
        adopt: Sequence[str] = (),
        show: Callable[[Done], None] | None = None,
    ) -> Summary:
        """Process all available changes; with a continuous trigger, run until Ctrl-C.

        `show` is called with every version. `adopt` names sources whose checkpoint was replaced,
        and which the run reads from the beginning again.
        """
        from tidelog.pipeline.run import Run
        from tidelog.pipeline.versions import VersionStore

        self.adopt = frozenset(adopt)
        accepted = self.check()
        store = VersionStore(self.state).open()
        summary = Summary()
        try:
            spark = session if session is not None else self._session()

            def report(done: Done) -> None:
                summary.versions.append(done)
                if show is not None:
                    show(done)

            with _spark_errors(), closing(Run(self, accepted, store, spark, report)) as run:
                run.open()
                summary.interrupted = self._stream(run)
            summary.version = store.last.version if store.last is not None else 0
            return summary
        finally:
            store.close()

    def _session(self) -> SparkSession:
        from tidelog.spark.session import session

        return session(self.master, "tidelog pipeline", self.spark)

    def _stream(self, run: Run) -> bool:
        """Read the streams one after the other, or all at once if the trigger is continuous.

        Returns whether a signal interrupted the run.
        """
        streams = [source.name for source in self.sources if source.stream]
        groups = [streams] if self.trigger.kind == "continuous" else [[each] for each in streams]
        with _signals(run.stopping) as signalled:
            for group in groups:
                if run.stopping.is_set():
                    break
                _watch(run, [run.stream(name).start() for name in group])
            return signalled.is_set()


def _watch(run: Run, queries: Sequence[Any]) -> None:
    """Wait until the streams end, fail, or are stopped between two batches."""
    while any(query.isActive for query in queries):
        if run.stopping.wait(_POLL_SECONDS):
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
def _signals(stopping: threading.Event) -> Iterator[threading.Event]:
    """Stop gracefully on the first SIGINT or SIGTERM, and at once on the second."""
    signalled = threading.Event()

    def handle(number: int, frame: Any) -> None:
        if signalled.is_set():
            raise KeyboardInterrupt
        signalled.set()
        stopping.set()

    if threading.current_thread() is not threading.main_thread():
        yield signalled
        return
    before = {each: signal.signal(each, handle) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signalled
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _spark_errors() -> Iterator[None]:
    """Turn Spark's errors about paths, schemas and expressions into one-line errors."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        lines = [line for line in str(error).split("\n") if line.strip()]
        message = lines[0] if lines else type(error).__name__
        raise TidelogError(f"error: Spark: {message[:500]}") from None
