"""Terminals, pipes and signals, with real processes."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, Result, names, process, ticking
from tidelog.control.limits import Position
from tidelog.control.progress import Progress

MANY = ".decl p(x: number)\np(x) :- x = range(0, 200000).\n.output p(IO=stdout)\n"


@contextmanager
def at_a_terminal(
    *arguments: str, command: Sequence[str] = COMMAND
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A running command whose standard error is a terminal, and our end of it."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen([*command, *arguments], stderr=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    try:
        yield running, ours
    finally:
        running.kill()
        running.wait()
        assert running.stdout is not None
        running.stdout.close()
        os.close(ours)


def read_until(terminal: int, wanted: bytes | None = None, seconds: float = 120) -> bytes:
    """What the terminal shows, to the end or until it has shown what is wanted."""
    shown, end = b"", time.monotonic() + seconds
    while time.monotonic() < end and (wanted is None or wanted not in shown):
        try:
            piece = os.read(terminal, 10_000)
        except OSError:  # closed at the other end
            break
        if not piece:
            break
        shown += piece
    return shown


def test_progress_at_a_terminal(folder: Path) -> None:
    arguments = ("run", "endless.dl", "--max-seconds", "1.5")
    with at_a_terminal(*arguments, command=ticking(0.11)) as (running, terminal):
        shown = read_until(terminal).decode()
        assert running.wait(60) == 2
    *steps, last = shown.removeprefix("\r").split("\x1b[K")
    assert 3 <= len(steps) <= 13
    assert steps[0].startswith("n, round ")
    assert steps[0].endswith(" facts/s")
    assert steps[-1] == "\r"  # cleared
    assert last.startswith("endless.dl:4:1: error: stopped at more than 1.5 seconds")


def test_none_when_piped(folder: Path) -> None:
    code, out, err = process("run", "endless.dl", "--max-seconds", "1.5", command=ticking(0.11))
    assert (code, out) == (2, "")
    assert err.startswith("endless.dl:4:1: error: stopped")
    assert len(err.splitlines()) == 3


def test_none_for_a_short_run(folder: Path) -> None:
    with at_a_terminal("run", "reach.dl", command=ticking(0)) as (running, terminal):
        assert read_until(terminal) == b""
        assert running.wait(60) == 0


def test_interrupt(folder: Path) -> None:
    before = names(folder)
    with at_a_terminal("run", "endless.dl", "-D", "out") as (running, terminal):
        assert b"n, round " in read_until(terminal, b"facts/s")
        running.send_signal(signal.SIGINT)
        shown = read_until(terminal)
        assert running.wait(60) == 130
    assert shown.endswith(b"\r\x1b[Kinterrupted: nothing was written\r\n")
    assert names(folder) == before


def test_interrupt_inside_one_long_round(folder: Path) -> None:
    (folder / "cross.dl").write_text(
        "a(x) :- x = range(0, 100000).\nc(1) :- a(x), a(y), a(z), x + y + z < 0.\n.output c\n"
    )
    before = names(folder)
    with at_a_terminal("run", "cross.dl") as (running, terminal):
        wanted = b"c, round 1: 100,000 facts"
        assert wanted in read_until(terminal, wanted)
        running.send_signal(signal.SIGINT)
        assert b"interrupted: nothing was written" in read_until(terminal)
        assert running.wait(60) == 130
    assert names(folder) == before


def test_interrupt_of_the_check(folder: Path) -> None:
    """Python code is interrupted as well as kernels, and nothing has been written yet."""
    (folder / "slow.dl").write_text(
        "a(x) :- x = range(0, 3000).\nb(x, y) :- a(x), a(y), x + y = 10.\n.output b\n"
    )
    before = names(folder)
    point = ("tidelog.oracle.evaluate", "Application.value")
    assert interrupted("before", point, 1000, "run", "slow.dl", "--check") == (
        130,
        "",
        "interrupted: nothing was written\n",
    )
    assert names(folder) == before


def test_a_reader_that_has_seen_enough(folder: Path) -> None:
    (folder / "many.dl").write_text(MANY)
    running = subprocess.Popen(
        [*COMMAND, "run", "many.dl"], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert running.stdout is not None
    assert running.stdout.readline() == b"---------------\n"
    running.stdout.close()
    assert running.stderr is not None
    assert running.stderr.read() == b""
    running.stderr.close()
    assert running.wait(60) == 0


STREAMED = ".decl e(x: number)\n.decl p(x: number)\np(x) :- e(x).\n"


OPTIONS = ["--deltas", "-", "--deltas", "d.changes", "--stats", "s.json"]


@contextmanager
def waiting_for_its_reader(
    folder: Path, policy: str
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """`apply` in the midst of printing deltas into a pipe that is full, and our end of that."""
    (folder / "p.dl").write_text(STREAMED)
    (folder / "many.changes").write_text("".join(f"+e({i}). commit.\n" for i in range(900)))
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 8192)
    running = subprocess.Popen(
        [*COMMAND, "apply", "p.dl", "many.changes", "--policy", policy, *OPTIONS],
        stdout=writer,
        stderr=subprocess.PIPE,
    )
    os.close(writer)
    try:
        while int.from_bytes(fcntl.ioctl(reader, termios.FIONREAD, bytes(4)), sys.byteorder) < 4000:
            time.sleep(0.01)
        time.sleep(0.2)
        yield running, reader
    finally:
        os.close(reader)
        running.kill()
        running.communicate()


def all_of(reader: int) -> str:
    return b"".join(iter(lambda: os.read(reader, 1 << 16), b"")).decode()


def told_of(folder: Path, message: str) -> int:
    """How many updates were applied before Ctrl-C; the message, the file of deltas and the
    statistics say the same."""
    assert message.startswith("interrupted: ")
    assert "applied before; no outputs were written\n" in message
    assert len(message.splitlines()) == 1
    word = message.split()[1].replace(",", "")
    updates = 0 if word == "no" else int(word)
    statistics = json.loads((folder / "s.json").read_text())
    told = len(statistics["commits"]), statistics["stream"]["updates"]
    assert told == (updates, updates)
    assert (folder / "d.changes").read_text().count("commit.") == updates
    return updates


@pytest.mark.sampled(1)
@pytest.mark.parametrize("policy", ["sequential", "fully-dynamic"])
@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_while_deltas_are_printed(folder: Path, policy: str, presses: int) -> None:
    """Of updates that settled together all are told, with their delta; a second one waits."""
    with waiting_for_its_reader(folder, policy) as (running, reader):
        for _ in range(presses):
            running.send_signal(signal.SIGINT)
            time.sleep(0.002)
        time.sleep(0.1)
        printed = all_of(reader)
        message = running.communicate(timeout=60)[1].decode()
    assert running.returncode == 130
    updates = told_of(folder, message)
    deltas = (folder / "d.changes").read_text()
    assert len(deltas.splitlines()) == 3 * updates
    if presses == 1:
        assert printed == deltas
    assert deltas.startswith(printed)  # a second one does not wait for a slow reader for long


def test_a_second_ctrl_c_does_not_wait_for_a_reader(folder: Path) -> None:
    with waiting_for_its_reader(folder, "fully-dynamic") as (running, reader):
        running.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(1.5)
        while running.poll() is None:  # two that arrive at once count as one
            running.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                running.wait(10)
        assert running.returncode == 130
        assert running.stderr is not None
        assert told_of(folder, running.stderr.read().decode()) == 900
        printed = all_of(reader)
    assert (folder / "d.changes").read_text().startswith(printed)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("policy", ["sequential", "marking", "fully-dynamic"])
def test_ctrl_c_while_nothing_arrives(folder: Path, policy: str) -> None:
    (folder / "p.dl").write_text(STREAMED)
    running = subprocess.Popen(
        [*COMMAND, "apply", "p.dl", "-", "--policy", policy, *OPTIONS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(b"+e(1). commit.\n")
    running.stdin.flush()
    printed = b"".join(running.stdout.readline() for _ in range(3)).decode()
    time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    assert running.wait(60) == 130  # its input is still open
    message = running.communicate()[1].decode()
    assert told_of(folder, message) == 1
    assert printed == (folder / "d.changes").read_text()


CLOSURE = """\
.decl edge(x: number, y: number)
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z).
.output path
"""
EVERY = ("sequential", "marking", "fully-dynamic")
POINTS = [
    (policy, (module, name), nth)
    for policies, nth, module, name in [
        (EVERY[:2], 3, "tidelog.transaction.transaction", "Transaction._adopt"),  # it takes effect
        (EVERY[2:], 1, "tidelog.changes.policies.shared_transaction", "Overlap.settle"),
        (EVERY, 3, "tidelog.changes.stream", "Stream._finish"),
        (EVERY, 3, "tidelog.changes.metrics", "Metrics.add"),
        (EVERY, 3, "tidelog.changes.stream", "Stream.__next__"),
        (EVERY, 3, "tidelog.cli.update_reports", "Reports.add"),  # it is told
        (EVERY, 3, "tidelog.formats.delta_files", "_TextFile.add"),
        (EVERY, 3, "tidelog.formats.delta_files", "_Printed.add"),
        (EVERY, 3, "tidelog.cli.stream_status", "Live.report"),
        (EVERY, 1, "tidelog.cli.update_reports", "Reports.save"),
    ]
    for policy in policies
]


def interrupted(how: str, point: tuple[str, str], nth: int, *arguments: str) -> Result:
    """The command, with a Ctrl-C when something is called for the nth time."""
    line = [sys.executable, "-m", "tests.cli.interrupting", how, *point, str(nth), *arguments]
    done = subprocess.run(line, capture_output=True, timeout=120, check=False, text=True)
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("policy", "point", "nth"), POINTS, ids=[f"{policy}-{at[1]}" for policy, at, _ in POINTS]
)
@pytest.mark.parametrize("how", ["before", "after"])
def test_all_tell_of_the_same_updates(
    folder: Path, policy: str, point: tuple[str, str], nth: int, how: str
) -> None:
    """Wherever Ctrl-C comes, what is printed, the file, the statistics and the message agree."""
    (folder / "c.dl").write_text(CLOSURE)
    updates = [f"+edge({i}, {i + 1}). commit.\n" for i in range(9)]
    # Rules do not overlap, so there are two groups that settle together.
    updates[4] = "+path(x, x) :- edge(x, _). commit.\n"
    (folder / "c.changes").write_text("".join(updates))
    arguments = ["apply", "c.dl", "c.changes", "-D", "out", "--policy", policy, *OPTIONS]
    code, printed, message = interrupted(how, point, nth, *arguments)
    assert code == 130
    count = told_of(folder, message)
    deltas = (folder / "d.changes").read_text()
    assert printed == deltas
    (folder / "prefix.changes").write_text("".join(updates[:count]))
    assert process("apply", "c.dl", "prefix.changes", "-D", "out").code == 0
    got = {line[1:-1] for line in deltas.splitlines() if line.startswith("+")}
    rows = (folder / "out" / "path.csv").read_text().split("\n")
    assert got == {f"path({', '.join(row.split())})" for row in rows if row}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ["callback", "class"])
@pytest.mark.parametrize(
    ("command", "point", "said"),
    [
        ("apply", ("tidelog.cli.apply", "_opened"), "interrupted: nothing was written\n"),
        (
            "apply",
            ("tidelog.cli.apply", "_streamed"),
            "interrupted: no update was applied before; no outputs were written\n",
        ),
        ("run", ("tidelog.session.database", "Database.of"), "interrupted: nothing was written\n"),
        ("check", ("tidelog.cli", "parser"), "interrupted\n"),
    ],
)
def test_a_ctrl_c_that_python_hides(
    folder: Path, how: str, command: str, point: tuple[str, str], said: str
) -> None:
    """It is dropped in a callback of a compiler, and wrapped where a class is made."""
    (folder / "e.changes").write_text("+edge(3, 4). commit.\n")
    arguments = [command, "reach.dl", *(["e.changes"] if command == "apply" else [])]
    before = names(folder)
    code, printed, message = interrupted(how, point, 1, *arguments)
    assert (code, printed) == (130, "")
    assert message in (said, "interrupted\n")
    assert how == "class" or message == said
    assert names(folder) == before


LOADING = """
import sys
from tests.cli.interrupting import WAYS
from tidelog.__main__ import main

for name in [name for name in sys.modules if name.startswith("tidelog.")]:
    del sys.modules[name]

class Finder:
    def find_spec(self, name, path, target=None):
        if name == "tidelog.cli":
            WAYS[sys.argv[1]][0]()

sys.meta_path.insert(0, Finder())
sys.exit(main())
"""


@pytest.mark.parametrize("how", ["before", "class"])
def test_ctrl_c_while_the_first_modules_are_loaded(folder: Path, how: str) -> None:
    line = [sys.executable, "-c", LOADING, how]
    done = subprocess.run(line, capture_output=True, timeout=120, check=False, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_a_delta_that_cannot_be_written_leaves_none_of_its_group(folder: Path) -> None:
    (folder / "q.dl").write_text(".decl s(x: symbol)\n.decl t(x: symbol)\nt(x) :- s(x).\n")
    (folder / "q.changes").write_text('+s("a"). commit.\n+s("b\\tc"). commit.\n')
    apply = [*COMMAND, "apply", "q.dl", "q.changes"]
    options = ["--policy", "fully-dynamic", "--deltas", "t.tsv", "--deltas", "-"]
    done = subprocess.run([*apply, *options], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no update was applied before" in done.stderr
    assert (folder / "t.tsv").read_text().count("\n") == 1


@pytest.mark.slow
def test_ctrl_c_when_all_is_written_breaks_nothing_off(folder: Path) -> None:
    (folder / "p.dl").write_text(f"{STREAMED}.output p\n")
    (folder / "some.changes").write_text("".join(f"+e({i}). commit.\n" for i in range(300)))
    for wait in range(5):
        (folder / "p.csv").unlink(missing_ok=True)
        running = subprocess.Popen(
            [*COMMAND, "apply", "p.dl", "some.changes"],
            stderr=subprocess.PIPE,
        )
        while running.poll() is None and not (folder / "p.csv").exists():
            time.sleep(0.0005)
        time.sleep(0.004 * wait)
        if running.poll() is None:
            running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
        assert told in (b"", b"interrupted\n")  # this while the file gets its name
        assert running.returncode in (0, 130)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_behind_stdout(folder: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "run", "reach.dl", "-D", "-"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == b"error: the standard output: No space left on device\n"


def shell(line: str) -> tuple[int, bytes]:
    command = f'"{sys.executable}" -m tidelog {line}'
    done = subprocess.run(command, shell=True, capture_output=True, check=False)
    return done.returncode, done.stderr


def test_closed_streams(folder: Path) -> None:
    assert shell("run reach.dl -D - >&-") == (2, b"error: the standard output is closed\n")
    assert shell("run reach.dl >&- 2>&- <&-") == (0, b"")
    assert (folder / "path.csv").exists()


def test_the_program_on_a_real_stdin(folder: Path) -> None:
    program = b'.decl p(x: symbol)\np("\xc3\xa9").\n.output p(IO=stdout)\n'
    code, out, err = process("run", "-", stdin=program)
    assert (code, err) == (0, "")
    assert out.splitlines()[-2] == "é"


def test_facts_on_a_real_stdin(folder: Path) -> None:
    (folder / "in.dl").write_text(".decl p(x: number)\n.input p(IO=stdin)\n.output p(IO=stdout)\n")
    code, out, err = process("run", "in.dl", stdin=b"7\n")
    assert (code, err) == (0, "")
    assert out.splitlines()[-2] == "7"


# The line itself.


class Terminal:
    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None: ...


def test_the_line_waits_and_is_not_written_too_often() -> None:
    terminal = Terminal()
    with Progress(terminal) as progress:  # type: ignore[arg-type]
        for hundredth in range(100):
            progress(Position("p", hundredth, hundredth * 10, hundredth / 100))
    lines = terminal.text.split("\x1b[K")
    assert lines[0] == "\rp, round 50: 500 facts, 1,000 facts/s"
    assert len(lines) - 2 == 5
    assert terminal.text.endswith("\r\x1b[K")


def test_a_long_name_is_cut_to_the_terminal() -> None:
    terminal = Terminal()
    Progress(terminal)(Position("p" * 200, 1, 1, 1.0))  # type: ignore[arg-type]
    assert terminal.text == "\r" + "p" * 79 + "\x1b[K"


def test_a_terminal_that_goes_away_stops_nothing() -> None:
    class Gone(Terminal):
        def write(self, text: str) -> int:
            raise OSError

    with Progress(Gone()) as progress:  # type: ignore[arg-type]
        progress(Position("p", 1, 1, 1.0))
        assert not progress.on
