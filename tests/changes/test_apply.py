"""`tidelog apply` over sources that are live, with real processes, pipes and connections."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, Cli
from tests.cli.test_streams import read_until

BEFORE = "1\t2\n1\t3\n2\t3\n"
NOTE = "    note: 1 update was applied before; no outputs were written\n"


@contextmanager
def applying(*arguments: str, **streams: int) -> Iterator[subprocess.Popen[bytes]]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    command = [*COMMAND, "apply", "reach.dl", *arguments, "--deltas", "-"]
    running = subprocess.Popen(command, bufsize=0, **streams)  # type: ignore[call-overload]
    try:
        yield running
    finally:
        running.kill()
        running.wait()
        for stream in (running.stdin, running.stdout, running.stderr):
            if stream is not None:
                stream.close()


def delta(running: subprocess.Popen[bytes]) -> list[str]:
    """What the process prints up to the next commit."""
    assert running.stdout is not None
    shown = []
    while (line := running.stdout.readline().decode()) != "commit.\n":
        assert line, running.stderr and running.stderr.read()
        shown.append(line.strip())
    return shown


def test_a_named_pipe_gets_its_delta_before_the_next_update(folder: Path) -> None:
    os.mkfifo(folder / "live.changes")
    with applying("live.changes") as running, open("live.changes", "wb", buffering=0) as pipe:
        pipe.write(b"+edge(3, 4).\ncommit.\n")
        assert delta(running) == ["+path(1, 4).", "+path(2, 4).", "+path(3, 4)."]
        pipe.write(b"-edge(3, 4).\nco")
        pipe.write(b"mmit.\n")
        assert len(delta(running)) == 3
        pipe.close()
        assert running.wait(60) == 0
    assert (folder / "path.csv").read_text() == BEFORE


@contextmanager
def listening() -> Iterator[tuple[str, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}", server


def test_a_connection(folder: Path) -> None:
    with listening() as (address, server), applying(address) as running:
        with server.accept()[0] as connection:
            connection.sendall(b"+edge(3, 4). commit.\n")
            assert len(delta(running)) == 3
            connection.sendall(b"-edge(3, 4). commit.\n-edge(2, 3).\n")
            assert len(delta(running)) == 3
        assert delta(running) == ["-path(1, 3).", "-path(2, 3)."]
        assert running.wait(60) == 0
    assert (folder / "path.csv").read_text() == "1\t2\n"


def test_errors_over_a_connection(folder: Path) -> None:
    with listening() as (address, server), applying(address) as running:
        with server.accept()[0] as connection:
            connection.sendall(b"+edge(3, 4). commit.\n+edge(4, x).\n")
            assert running.wait(60) == 2
        assert running.stderr is not None
        assert running.stderr.read().decode() == (
            f"{address}:2:10: error: expected a constant, got the variable `x`\n"
            "  2 | +edge(4, x).\n"
            f'    |          ^ write a constant, such as 1 or "x"\n{NOTE}'
        )


def test_nobody_listens(folder: Path, cli: Cli) -> None:
    with listening() as (address, _):
        pass
    (folder / "a.changes").write_text("+edge(3, 4).")
    code, _, err = cli("apply", "reach.dl", "a.changes", address)
    assert (code, err) == (
        2,
        f"error: nothing listens at {address}\n    start the sender first\n{NOTE}",
    )
    code, _, err = cli("apply", "reach.dl", "tcp://localhost")
    assert (code, err) == (
        2,
        "error: 'tcp://localhost' is not an address\n"
        "    write tcp://HOST:PORT, with a port above 0\n",
    )
    code, _, err = cli("apply", "reach.dl", address, "--format", "csv")
    assert (code, err) == (
        2,
        "error: a table from a connection needs the name of its relation\n"
        f"    write RELATION={address} in place of {address}\n",
    )


def test_interrupt_while_a_connection_is_silent(folder: Path) -> None:
    with listening() as (address, server), applying(address) as running:
        with server.accept()[0] as connection:
            connection.sendall(b"+edge(3, 4). commit.\n+edge(4, 5).\n")
            assert len(delta(running)) == 3
            time.sleep(0.2)
            running.send_signal(signal.SIGINT)
            assert running.wait(60) == 130
        assert running.stderr is not None
        assert running.stderr.read().decode() == (
            "interrupted: 1 update was applied before; no outputs were written\n"
        )
    assert not (folder / "path.csv").exists()


def test_a_writer_that_is_faster_than_the_updates(folder: Path) -> None:
    """It waits: the process does not take in what it cannot work off."""
    written = 0
    lines = b"+edge(3, 4). commit.\n-edge(3, 4). commit.\n" * 1000
    with applying("-", stdin=subprocess.PIPE) as running:
        stdin = running.stdin
        assert stdin is not None

        def write() -> None:
            nonlocal written
            try:
                while True:
                    written += os.write(stdin.fileno(), lines)
            except OSError:
                return

        writer = threading.Thread(target=write)
        writer.start()
        assert len(delta(running)) == 3
        before = -1
        while before != written:  # deltas wait at a full pipe, and so does everything before them
            before = written
            time.sleep(0.3)
            assert written < 20 * 2**16 + 2**18 + len(lines)
        running.kill()
        writer.join(30)


def test_the_end_with_the_standard_input_open(folder: Path) -> None:
    """A thread that still waits for it does not keep the process, nor break it."""
    with applying("-", "--dry-run", stdin=subprocess.PIPE) as running:
        assert running.stdin is not None
        running.stdin.write(b"+edge(3, 4). commit.\n+egde(1, 2).\n")
        assert running.wait(60) == 2
        assert running.stderr is not None
        assert "Fatal" not in running.stderr.read().decode()


def test_the_line_is_up_to_date_when_nothing_arrives(folder: Path) -> None:
    ours, theirs = os.openpty()
    with applying("-", stdin=subprocess.PIPE, stderr=theirs) as running:
        os.close(theirs)
        assert running.stdin is not None
        running.stdin.write(b"+edge(3, 4). commit.\n-edge(3, 4). commit.\n+edge(9, 9). commit.\n")
        assert [len(delta(running)) for _ in range(3)] == [3, 3, 1]
        shown = read_until(ours, b"3 updates, 0 waiting, ").decode()
        assert "\r<stdin>: 3 updates, 0 waiting, " in shown
        running.stdin.close()
        shown = read_until(ours).decode()
        assert running.wait(60) == 0
        assert shown.endswith("\r\x1b[K")  # nothing of it stays
    os.close(ours)


def test_statistics_of_the_stream(cli: Cli, folder: Path) -> None:
    stdin = "+edge(3, 4). commit. -edge(3, 4). commit."
    assert cli("apply", "reach.dl", "-", "--stats", "s.json", stdin=stdin).code == 0
    told = json.loads((folder / "s.json").read_text())
    assert told["policy"] == "sequential"
    stream = told["stream"]
    assert (stream["updates"], stream["changes"], stream["facts"]) == (2, 2, 6)
    assert stream["updates_per_second"] > 0
    for name in ("latency", "work", "first_effect"):
        assert 0 < stream[name]["p50"] <= stream[name]["max"] * 1.03
    for each in told["commits"]:
        assert each["together"] == 1
        assert each["waited"] <= each["first_effect"] <= each["latency"]


@pytest.mark.parametrize("policy", ["marking", "fully-dynamic"])
@pytest.mark.parametrize("option", ["--dry-run", "--strict"])
def test_options_of_sequential_only(cli: Cli, policy: str, option: str) -> None:
    code, out, err = cli("apply", "reach.dl", "-", "--policy", policy, option)
    assert (code, out) == (2, "")
    assert err.endswith(f"error: argument {option}: only with --policy sequential\n")


def test_a_policy_that_is_none(cli: Cli) -> None:
    code, _, err = cli("apply", "reach.dl", "-", "--policy", "dynamic")
    assert code == 2
    assert "argument --policy: invalid choice: 'dynamic'" in err
