"""A Spark standalone cluster on this machine: one master and some workers.

Nothing is shared with the process that tests run in: executors are other processes, and a driver
is started as one more.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import pyspark

from tests.spark import quick
from tidelog.spark import java

ROOT = Path(__file__).parent.parent.parent
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
# A service and all that it starts ends when its standard input does: whoever started it may be
# killed and need not do anything. Python workers end with the executor that they work for.
KEEPER = """\
"$@" </dev/null &
read -r ignored
trap '' TERM
kill -TERM 0
for second in 1 2 3 4 5; do kill -0 $! 2>/dev/null || break; sleep 1; done
kill -KILL 0
"""
DRIVER = f"""\
import sys
from tidelog.spark.session import session
spark = session(sys.argv[1], options={{"spark.executor.extraJavaOptions": {quick.OPTIONS!r}}})
"""
LOGGING = """\
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n%ex
"""


class Cluster:
    """`run` is for a driver of its own; `url` is what any driver is given as its master."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder = folder
        self.url = ""
        self._workers = workers
        self._services: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        conf = self.folder / "conf"
        conf.mkdir()
        (conf / "log4j2.properties").write_text(LOGGING)
        try:
            self._start_all()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for service in self._services:
            assert service.stdin is not None
            service.stdin.close()
        for service in self._services:
            service.wait(60)

    def run(self, program: str, *arguments: str, seconds: float = 180) -> str:
        """What a driver prints that runs this program, in which `spark` is a session on the
        cluster; the arguments are sys.argv[2:]."""
        done = subprocess.run(
            [sys.executable, "-c", DRIVER + program, self.url, *arguments],
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def environment(self) -> dict[str, str]:
        """For drivers, and for the services, which hand it on to their executors."""
        return {
            **os.environ,
            "JAVA_HOME": str(java.home(java.find())),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }

    def _start_all(self) -> None:
        log = self._start("master", "org.apache.spark.deploy.master.Master")
        self.url = self._await(log, r"Starting Spark master at (spark://\S+)")
        options = ("--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / "work"))
        logs = [
            self._start(f"worker{n}", "org.apache.spark.deploy.worker.Worker", *options, self.url)
            for n in range(self._workers)
        ]
        for log in logs:
            self._await(log, r"(Successfully registered with master)")

    def _start(self, name: str, service: str, *arguments: str) -> Path:
        """Ports are for the system to choose, so that none is taken. Gives the log."""
        ports = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        log = self.folder / f"{name}.log"
        settings = {"SPARK_CONF_DIR": str(self.folder / "conf"), "SPARK_DAEMON_MEMORY": "256m"}
        daemons = {"SPARK_DAEMON_JAVA_OPTS": quick.OPTIONS}
        with log.open("wb") as out:
            started = subprocess.Popen(
                ["sh", "-c", KEEPER, name, str(SPARK_CLASS), service, *ports, *arguments],
                cwd=self.folder,
                env={**self.environment(), **settings, **daemons},
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                start_new_session=True,  # a group of its own, which ends as one
            )
        self._services.append(started)
        return log

    def _await(self, log: Path, pattern: str, seconds: float = 60) -> str:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := re.search(pattern, log.read_text()):
                return found[1]
            time.sleep(0.05)
        raise TimeoutError(f"no {pattern!r} in {seconds} s:\n{log.read_text()[-2000:]}")
