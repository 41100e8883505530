"""A Spark session: the active one, or a local one that is quiet and leaves nothing behind.

PySpark is imported when a session is requested, never before.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tidelog.control.limits import on_interrupt
from tidelog.program.diagnostics import TidelogError
from tidelog.spark import java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_OPTIONS: Mapping[str, str] = MappingProxyType({})
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
PARTITIONS = "spark.sql.shuffle.partitions"
PREFIX = "tidelog-spark-"  # of folders that end with a session
GRACE = 3.0  # seconds for a Java that is no longer needed
SUBMITTED = "PYSPARK_GATEWAY_PORT"  # set by `spark-submit`, which has started Java already

# Settings of every session started here, unless Spark was configured otherwise.
USUAL = {
    "spark.sql.adaptive.enabled": "false",  # it replans every job, which costs more than a round
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # `take` is one job, and not several that read four times as much each
    "spark.sql.limit.initialNumPartitions": "1000000",
    "spark.sql.session.timeZone": "UTC",
}
QUIET = {
    "spark.ui.retainedJobs": "10000",  # as many as `Jobs` can look up
    "spark.ui.retainedStages": "10000",
    "spark.ui.showConsoleProgress": "false",
}
# Facts travel in large blobs; Java would keep the last hundred that went through a stream.
LEAN = {"spark.serializer.objectStreamReset": "1"}
# On this machine alone, a session serves nobody else.
LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
}

# Errors only. The gateway's level must be named, or Spark announces that it sets it. A failure in a
# task comes back as an exception, so nothing else needs to print it with Java's stack.
LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
logger.executor.name = org.apache.spark.executor.Executor
logger.executor.level = off
logger.tasks.name = org.apache.spark.scheduler.TaskSetManager
logger.tasks.level = off
logger.utils.name = org.apache.spark.util.Utils
logger.utils.level = off
logger.writer.name = org.apache.spark.sql.execution.datasources.FileFormatWriter
logger.writer.level = off
"""

_starting = threading.Lock()


def session(
    master: str | None = None, name: str = "tidelog", options: Mapping[str, str] = NO_OPTIONS
) -> SparkSession:
    """The active session unchanged; if there is none, a new one, which ends with the process.

    Without `master` it runs on this machine's cores, or, under `spark-submit`, where that says.
    `options` are Spark's own (`spark.driver.memory`, ...) and override all defaults.
    """
    pyspark = require_pyspark()
    with _starting:
        if pyspark.SparkContext._active_spark_context is not None:
            return _active(pyspark)
        _hush()
        if SUBMITTED in os.environ:
            made = _create(pyspark, master, name, options)
        else:
            made = _launch(pyspark, master or "local[*]", name, options)
        atexit.register(_stop, made, os.getpid())
        _cancel_at_interrupts(made)
        return made


def _cancel_at_interrupts(spark: SparkSession) -> None:
    """Cancel the running job when a Ctrl-C is noted; whoever waits for it sees the job fail."""
    noted = threading.Event()

    def cancel() -> None:
        while noted.wait():
            noted.clear()
            if spark.sparkContext._jsc is None:
                return
            with contextlib.suppress(Exception):
                spark.sparkContext.cancelAllJobs()

    threading.Thread(target=cancel, name="tidelog-cancel", daemon=True).start()
    on_interrupt(noted.set)


def require_pyspark() -> Any:
    try:
        import pyspark
        import pyspark.sql
    except ImportError as error:
        if error.name not in ("pyspark", "py4j"):
            raise TidelogError(f"PySpark cannot be loaded: {error}") from error
        raise TidelogError('Spark needs PySpark\n  pip install "tidelog[spark]"') from None
    return pyspark


def _hush() -> None:
    """Keep PySpark from also printing what it raises, and warnings that do not apply: nothing goes
    through pandas on its way to Spark."""
    from pyspark.logger import PySparkLogger

    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)


def _active(pyspark: Any) -> SparkSession:
    """The thread's own session, else the process's."""
    sessions = pyspark.sql.SparkSession
    found: SparkSession = sessions.getActiveSession() or sessions.builder.getOrCreate()
    return found


def _launch(pyspark: Any, master: str, name: str, options: Mapping[str, str]) -> SparkSession:
    """A session with a Java of its own."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    atexit.register(_remove, folder, os.getpid())
    logging = folder / "log4j2.properties"
    logging.write_text(LOGGING)
    # A user's options for Java come after ours, so that they override them.
    for_java = f"-Dlog4j2.configurationFile={logging.as_uri()} {options.get(JAVA_OPTIONS, '')}"
    settings = {**QUIET, **LEAN, **options, JAVA_OPTIONS: for_java.strip()}
    around = {"JAVA_HOME": str(java.home(java.find()))}
    if not master.startswith("local"):
        with _surroundings(around):
            made = _create(pyspark, master, name, settings)
        _leave_nothing(made, folder, Path(around["JAVA_HOME"]))
        return made
    around["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    around["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    warehouse = {"spark.sql.warehouse.dir": (folder / "warehouse").as_uri()}
    with _surroundings(around):
        made = _create(pyspark, master, name, {**LOCAL, **warehouse, **settings})
    _leave_nothing(made, folder, Path(around["JAVA_HOME"]))
    if PARTITIONS not in _options_set(made):
        made.conf.set(PARTITIONS, str(made.sparkContext.defaultParallelism))
    return made


def _leave_nothing(spark: SparkSession, *folders: Path) -> None:
    """Spark removes these folders when it ends, even if this process is killed."""
    jvm: Any = spark.sparkContext._jvm
    for folder in folders:
        if folder.name.startswith("tidelog-"):  # and is not Java's own home
            jvm.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(
                jvm.java.io.File(str(folder))
            )


def _create(
    pyspark: Any, master: str | None, name: str, options: Mapping[str, str]
) -> SparkSession:
    builder = pyspark.sql.SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    for key, value in options.items():
        builder = builder.config(key, value)
    try:
        with _ctrl_c_as_it_was(), _java_ends_with_us():
            made: SparkSession = builder.getOrCreate()
    except Exception as error:  # an error of PySpark's or Java's, whatever went wrong
        raise TidelogError(f"Spark did not start: {_reason(error)}") from error
    known = _options_set(made)
    for key, value in USUAL.items():
        if key not in known:
            made.conf.set(key, value)
    return made


def _options_set(spark: SparkSession) -> set[str]:
    """Names of the options that were set, here or in Spark's own files."""
    return {key for key, _ in spark.sparkContext.getConf().getAll()}


def _reason(error: Exception) -> str:
    """The cause in a line, without Java's stack."""
    cause = getattr(error, "java_exception", None)
    text = str(cause.getMessage() if cause is not None else error)
    return text.strip().partition("\n")[0]


@contextlib.contextmanager
def _ctrl_c_as_it_was() -> Iterator[None]:
    """PySpark installs a signal handler for good, which raises at any point: a change could be left
    half done (see `limits.Interrupts`)."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _java_ends_with_us() -> Iterator[None]:
    """A starting Java does not notice that its parent ends: if this process is terminated
    meanwhile, it terminates Java and cleans up. An existing handler stays."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    before = _children()

    def end(number: int, _: object) -> None:
        for process in _children() - before:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                _end(process)
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(process: int) -> None:
    """Terminate a child, so that Java can remove its folders; kill it if it does not end."""
    os.kill(process, signal.SIGTERM)
    late = time.monotonic() + GRACE
    while os.waitpid(process, os.WNOHANG)[0] == 0:
        if time.monotonic() > late:
            os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


def _children() -> set[int]:
    """Child processes of this one, where the system reports them."""
    found: set[int] = set()
    for file in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found.update(map(int, file.read_text().split()))
    return found


@contextlib.contextmanager
def _surroundings(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for processes started in the block, and restore them afterwards."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _stop(spark: SparkSession, owner: int) -> None:
    """At exit: leave alone a session that its user has stopped, or that a forked child sees."""
    if os.getpid() == owner and spark.sparkContext._jsc is not None:
        with contextlib.suppress(Exception):  # Java may have ended already
            spark.stop()


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
