"""Errors of Spark as one line that a user can act on, without Java's stack."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from tidelog.program.diagnostics import DataError, EvaluationError, TidelogError

# Of Tidelog's own errors in an executor's Python: the last lines of a traceback.
_OURS = re.compile(r"^tidelog\.program\.diagnostics\.(\w+): ((?:.*\n?)*)", re.MULTILINE)
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\] ")
_STATE = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)
_CAUSE = re.compile(r"(?:\w+\.)+(?:Exception|Error|\w+Exception|\w+Error): ")

_MEMORY = "give executors more memory, such as --conf spark.executor.memory=8g, or more partitions"
_DRIVER_MEMORY = "give the driver more memory, such as --conf spark.driver.memory=4g"
# By a part of the text: the message (None: Spark's own words), and the advice.
_KNOWN: tuple[tuple[str, str | None, str], ...] = (
    ("PATH_NOT_FOUND", None, "check the name and the folder"),
    (
        "DATA_SOURCE_NOT_FOUND",
        None,
        "a format of a package is added by --conf spark.jars.packages=GROUP:NAME:VERSION",
    ),
    ("TABLE_OR_VIEW_NOT_FOUND", None, "check the table's name, and the session's catalog"),
    (
        "CANNOT_READ_FILE_FOOTER",
        None,
        "the file is incomplete or has another format; copy it again in full",
    ),
    ("FAILED_READ_FILE", None, "its rows have other columns, or the file has another format"),
    ("UNABLE_TO_INFER_SCHEMA", None, "the folder has no data files"),
    (
        "Checkpoint block",
        "an executor was lost, with facts that only it had",
        f"run again; {_MEMORY}",
    ),
    ("ExecutorLostFailure", "an executor was lost", _MEMORY),
    ("Python worker exited unexpectedly", "a Python process of an executor died", _MEMORY),
    ("Could not connect to Python worker", "executors cannot start Python", "set PYSPARK_PYTHON"),
    (
        "ModuleNotFoundError",
        None,
        "executors need Python with Tidelog, named by PYSPARK_PYTHON; see docs/spark.md",
    ),
    ("maxResultSize", None, "raise it: --conf spark.driver.maxResultSize=4g"),
    ("Java heap space", "Java is out of memory", _DRIVER_MEMORY),
    ("GC overhead limit", "Java is out of memory", _DRIVER_MEMORY),
    ("No space left on device", "a disk is full", "set spark.local.dir to a larger one"),
    ("SparkContext was cancelled", "the Spark session was stopped", "run again"),
    ("SparkContext was shut down", "the Spark session was stopped", "run again"),
)


class SparkFault(EvaluationError):
    """Spark failed; `message` and `advice` have no place in a program."""

    def __init__(self, message: str, advice: str = "") -> None:
        self.message, self.advice = message, advice
        super().__init__(f"error: {message}" + (f"\n    {advice}" if advice else ""))


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Turn errors of Spark in the block into Tidelog's."""
    try:
        yield
    except Exception as error:
        if not is_spark(error):
            raise
        raise explained(error) from error


def is_spark(error: BaseException) -> bool:
    """Whether the error is PySpark's, the Java bridge's, or due to a closed bridge."""
    home = type(error).__module__.partition(".")[0]
    if home in ("pyspark", "py4j"):
        return True
    return isinstance(error, ConnectionError) and _from_bridge(error)


def _from_bridge(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None:
        if "py4j" in trace.tb_frame.f_code.co_filename:
            return True
        trace = trace.tb_next
    return False


def explained(error: BaseException) -> TidelogError:
    """The error in few words."""
    if isinstance(error, ConnectionError) or "Py4JNetworkError" in type(error).__name__:
        return SparkFault("Spark's Java process has ended", _DRIVER_MEMORY)
    text = _text(error)
    if found := _OURS.search(text):
        kind = DataError if found[1] == "DataError" else EvaluationError
        return kind(found[2].rstrip())
    for sign, message, advice in _KNOWN:
        if sign in text:
            return SparkFault(message or _words(text), advice)
    return SparkFault(f"Spark: {_words(text)}")


def _text(error: BaseException) -> str:
    cause = getattr(error, "java_exception", None)
    if cause is None:
        return str(error)
    try:
        return str(cause.toString())
    except Exception:  # Java may have ended meanwhile
        return str(error)


def _words(text: str) -> str:
    """Spark's message in one line.

    >>> _words("a.SomeException: [PATH_NOT_FOUND] Path does not exist: f. SQLSTATE: 42K03\\n …")
    'Path does not exist: f'
    """
    if "Traceback (most recent call last):" in text:  # of Python, in an executor
        ends = [line for line in text.rstrip().splitlines() if line and line[0].isalpha()]
        return ends[-1][:500]
    condition = _CONDITION.search(text)
    said = text[condition.end() :] if condition else text[_last_cause(text) :]
    line = _STATE.sub("", said).strip().partition("\n")[0]
    return line.rstrip(".").strip()[:500] or "it failed without a message"


def _last_cause(text: str) -> int:
    """Where the innermost reason begins in the first line."""
    first = text.partition("\n")[0]
    return max((found.end() for found in _CAUSE.finditer(first)), default=0)
