"""`tidelog repl`: from a pipe, and at a real terminal."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, Cli, names
from tidelog.cli.completion import offers
from tidelog.cli.prompt import COMMANDS, table

UNFINISHED = ["error: the change before this line is not complete", "    end it with `.`"]
DISCARDED = ["// 1 change discarded"]


def said(cli: Cli, *lines: str, options: tuple[str, ...] = ()) -> list[str]:
    """What a session without errors prints."""
    code, out, err = cli("repl", "reach.dl", *options, stdin="".join(f"{line}\n" for line in lines))
    assert (code, err) == (0, "")
    return out.splitlines()


def test_changes_wait_for_their_commit(cli: Cli, folder: Path) -> None:
    before = names(folder)
    assert said(cli, "+edge(3, 4).", "?path(3, 4).", "commit.", "?path(3, 4).") == [
        "false",
        "+path(1, 4).",
        "+path(2, 4).",
        "+path(3, 4).",
        "// 3 facts inserted, 0 facts deleted",
        "true",
    ]
    assert names(folder) == before


def test_a_question_is_answered_with_a_table(cli: Cli) -> None:
    assert said(
        cli, "?path(1, x).", "?path(7, x).", " ? path(x,", "y), x + 1 = y.", "?", "path(2, 3)."
    ) == [
        "x",
        "2",
        "3",
        "// 2 rows",
        "x",
        "// 0 rows",
        "x  y",
        "1  2",
        "2  3",
        "// 2 rows",
        "true",
    ]


def test_statements_may_share_lines_and_go_over_several(cli: Cli) -> None:
    lines = (
        "+edge(3,",
        "// between",
        "4). -edge(1, 2). commit. ?path(2, x).",
    )
    code, out, err = cli("repl", "reach.dl", stdin="\n".join(lines))
    assert code == 2
    assert out.splitlines()[-1] == "// 2 facts inserted, 2 facts deleted"
    assert err.splitlines()[0] == "<input>:3:26: error: a change starts with `+` or `-`"


def test_relations_and_rules(cli: Cli) -> None:
    relations, rules = said(cli, ":relations"), said(cli, ":rules")
    assert relations == [
        "relation                    facts",
        "edge(x: number, y: number)      2",
        "path(x: number, y: number)      3",
    ]
    assert rules[0].split() == ["name", "rule"]
    name = rules[2].split()[0]
    assert rules[2] == f"{name}  path(x, z) :- path(x, y), edge(y, z)."
    found = said(cli, f'-rule "{name}".', "commit.", ":rules")
    assert found == ["-path(1, 3).", "// 0 facts inserted, 1 fact deleted", *rules[:2]]


def test_pending_changes_can_be_seen_and_discarded(cli: Cli) -> None:
    rule = "+far(x) :- path(x, 3)."
    assert said(cli, rule, "+far(7).", ":pending", ":rollback", ":pending", "commit.") == [
        rule,
        "+far(7).",
        "// 2 changes discarded",
        "// 0 facts inserted, 0 facts deleted",
    ]


def test_history_and_undo(cli: Cli) -> None:
    """Facts that were there before, and rules, come back; what did nothing is not undone."""
    found = said(
        cli,
        "+edge(1, 2). -edge(9, 9). +edge(3, 4). +edge(3, 4).",
        "commit.",
        "-path(x, z) :- path(x, y), edge(y, z). +path(x, x) :- edge(x, _). -edge(1, 2).",
        "commit.",
        ":undo",
        ":undo",
        ":history",
        "?path(x, y).",
    )
    at = found.index("update  by         changes  inserted  deleted")
    assert found[at + 1 :] == [
        "     1  commit           4         3        0",
        "     2  commit           3         2        4",
        "     3  undo of 2        3         4        2",
        "     4  undo of 1        1         0        3",
        "x  y",
        "1  2",
        "1  3",
        "2  3",
        "// 3 rows",
    ]


def test_statistics_and_algorithms(cli: Cli) -> None:
    found = said(
        cli,
        ":algorithm",
        ":algorithm bf",
        "-edge(2, 3). commit.",
        ":stats",
        options=("--algorithm", "dred"),
    )
    assert found[:2] == ["dred", "bf"]
    assert found[5].split()[:3] == ["relations", "algorithm", "time"]
    assert [line.split()[:2] for line in found[6:8]] == [["edge", "input"], ["path", "bf"]]


def test_help_lists_every_command(cli: Cli) -> None:
    found = said(cli, ":help")
    assert all(any(line.startswith(command) for line in found) for command in COMMANDS)


def test_commands_may_be_shortened_and_end_the_session(cli: Cli) -> None:
    assert said(cli, ":rel", ":q", "nothing of this is read")[0].startswith("relation")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("+egde(1, 2).", "<input>:2:2: error: unknown relation egde"),
        ("hello", "<input>:2:1: error: a change starts with `+` or `-`"),
        ("?pth(1, x).", "<query>:1:1: error: unknown relation pth"),
        ("?path(1, x), .", "error: expected a condition after `,`, got the end of the query"),
        ('+edge(1, "', "<input>:2:10: error: a string is not closed"),
        ("+p(x) :- q(x).", "<input>:2:10: error: unknown relation q"),
        ('-rule "path.000000".', "<input>:2:7: error: unknown rule path.000000"),
        ("?.", "error: the query is empty"),
        ("?\n.", "error: the query is empty"),
        (":nothing", "error: unknown command :nothing"),
        (":r", "error: unknown command :r"),
        (":rules all", "error: :rules takes no argument"),
        (":undo", "error: changes are pending"),
        (":stats", "error: no update has been committed yet"),
        (":algorithm dread", "error: unknown algorithm 'dread'"),
    ],
)
def test_errors_keep_the_session_alive(cli: Cli, line: str, message: str) -> None:
    code, out, err = cli("repl", "reach.dl", stdin=f"+edge(3, 4).\n{line}\ncommit.\n")
    assert code == 2
    assert err.splitlines()[0] == message
    assert out.splitlines()[-1] == "// 3 facts inserted, 0 facts deleted"


def test_what_is_no_change_may_be_meant_as_a_query(cli: Cli) -> None:
    _, _, err = cli("repl", "reach.dl", stdin="path(1, x).\n")
    assert err.rstrip().endswith("`commit.`, or `?edge(1, x).` to query")


def test_a_commit_that_fails_is_rolled_back(cli: Cli) -> None:
    lines = "+edge(x, y + 1) :- edge(x, y).\ncommit.\n:pending\n?path(1, x).\n"
    code, out, err = cli("repl", "reach.dl", "--max-facts", "1000", stdin=lines)
    assert (code, out) == (2, "x\n2\n3\n// 2 rows\n")
    assert "stopped at more than 1,000 facts" in err
    assert err.endswith("\n    note: 1 change rolled back\n")


def test_undo_waits_for_what_is_pending(cli: Cli) -> None:
    lines = "+edge(3, 4). commit.\n+edge(4, 5).\n:undo\n:rollback\n:undo\n"
    code, out, err = cli("repl", "reach.dl", stdin=lines)
    assert code == 2
    assert err == "error: changes are pending\n    commit. them, or :rollback first\n"
    assert out.splitlines()[-1] == "// 0 facts inserted, 3 facts deleted"
    assert cli("repl", "reach.dl", stdin=":undo\n") == (
        2,
        "",
        "error: nothing to undo\n",
    )


def test_what_is_not_committed_is_told(cli: Cli) -> None:
    code, out, err = cli("repl", "reach.dl", stdin="+edge(3, 4).\n")
    assert (code, out, err) == (0, "", "1 change not committed\n")


def test_strict(cli: Cli) -> None:
    code, out, err = cli("repl", "reach.dl", "--strict", stdin="-edge(7, 7).\ncommit.\n")
    assert (code, out) == (2, "// 0 facts inserted, 0 facts deleted\n")
    assert err.splitlines()[0] == "<input>:1:2: error: there is no such fact: -edge(7, 7)."


def test_bad_bytes_end_it(cli: Cli) -> None:
    code, out, err = cli("repl", "reach.dl", stdin=b"?path(2, x).\n\xff\n")
    assert (code, out) == (2, "x\n3\n// 1 row\n")
    assert err.splitlines()[0] == "<stdin>:2:1: error: byte 0xff is not UTF-8"


def test_the_program_cannot_come_from_the_standard_input(cli: Cli, folder: Path) -> None:
    assert cli("repl", "-").err == (
        "error: the session uses the standard input\n    name a program file\n"
    )
    (folder / "in.dl").write_text(".decl p(x: number)\n.input p(IO=stdin)\n")
    assert cli("repl", "in.dl").err.startswith(
        "in.dl:2:8: error: the session uses the standard input, so no facts can be read from it"
    )


# Parts.


def test_offers() -> None:
    def found(line: str, word: str) -> list[str]:
        relations, rules = ["path", "edge", "pair"], ["path.00ff00", "path.00ee00"]
        return offers(line, word, COMMANDS, relations, rules, ["dred", "dredc", "bf"])

    assert found("+pa", "pa") == ["pair(", "path("]
    assert found("?edge(1, x), p", "p") == ["pair(", "path("]
    assert found("", "") == sorted([*COMMANDS, "commit."])
    assert found(":r", ":r") == [":relations", ":rollback", ":rules"]
    assert found("com", "com") == ["commit."]
    assert found(":algorithm d", "d") == ["dred", "dredc"]
    assert found('-rule "path.00f', "00f") == ['00ff00"']
    assert found('-rule "', "") == ['path.00ee00"', 'path.00ff00"']


def test_tables_show_nothing_unprintable() -> None:
    lines = list(table(("a", "b"), [("x\x1b[2J\n", 1.5), ("é", 10.0)]))
    assert lines == ["a              b", "x\\x1b[2J\\n   1.5", "é           10.0"]


# At a terminal.


class Prompt:
    """A session whose streams are one terminal, and our end of it."""

    def __init__(self, *options: str) -> None:
        self.ours, theirs = os.openpty()
        environment = {**os.environ, "TERM": "dumb", "INPUTRC": os.devnull}
        command = [*COMMAND, "repl", "reach.dl", "--algorithm", "dred", *options]
        self.running = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment,
            start_new_session=True, preexec_fn=_control,
        )  # fmt: skip
        os.close(theirs)

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def press(self, key: str, wanted: str) -> None:
        """Press a key until what is wanted shows: Python sees Ctrl-C once it waits for a key."""
        shown = ""
        while wanted not in shown:
            self.type(key)
            while wanted not in shown and select.select([self.ours], [], [], 1)[0]:
                shown += os.read(self.ours, 10_000).decode()

    def until(self, wanted: str, seconds: float = 60) -> str:
        shown, end = "", time.monotonic() + seconds
        while wanted not in shown:
            left = end - time.monotonic()
            assert select.select([self.ours], [], [], max(0.0, left))[0], f"only {shown!r}"
            try:
                shown += os.read(self.ours, 10_000).decode()
            except OSError:
                break
        return shown.replace("\r\n", "\n")


def _control() -> None:
    """Make the terminal the one that sends Ctrl-C to this process."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def prompt(*options: str) -> Iterator[Prompt]:
    session = Prompt(*options)
    try:
        yield session
    finally:
        session.running.kill()
        session.running.wait()
        os.close(session.ours)


def test_a_conversation(folder: Path) -> None:
    with prompt() as session:
        assert "reach.dl: <Database: 2 relations, 5 facts>; :help" in session.until("> ")
        session.type("+ed\t3, 4).\n")
        assert "+edge(3, 4)." in session.until("\n> ")
        session.type("commit.\n")
        assert "+path(3, 4).\n// 3 facts inserted, 0 facts deleted\n> " in session.until(
            "deleted\r\n> "
        )
        session.type("?path(3,\n")
        session.until("  ")
        session.type("x).\n")
        assert "x\n4\n// 1 row\n" in session.until("1 row\r\n> ")
        session.type(":qu\t\n")
        session.until("never shown")
        assert session.running.wait(60) == 0


def test_ctrl_c_and_ctrl_d_at_the_prompt(folder: Path) -> None:
    with prompt() as session:
        session.until("> ")
        session.type("+edge(3, 4).\n")
        session.until("\n> ")
        session.type("+edge(4,\n")
        session.until("  ")
        session.press("\x03", "interrupted\r\n> ")
        session.type(":pending\n")
        assert "\n+edge(3, 4).\n> " in session.until(").\r\n> ")
        session.type("\x04")
        assert "1 change not committed" in session.until("committed")
        assert session.running.wait(60) == 0


def test_ctrl_c_takes_back_a_commit(folder: Path) -> None:
    with prompt() as session:
        session.until("> ")
        session.type("+edge(x, y + 1) :- edge(x, y).\ncommit.\n")
        session.until("facts/s")
        session.running.send_signal(signal.SIGINT)
        session.until("interrupted: 1 change rolled back\r\n> ")
        session.type("?edge(x, y).\n")
        assert "// 2 rows" in session.until("rows")


def test_long_answers_are_cut(folder: Path) -> None:
    with prompt() as session:
        session.until("> ")
        session.type("+edge(9, x) :- x = range(0, 1000). commit.\n")
        shown = session.until("deleted\r\n> ")
        assert shown.count("+path") == 100
        assert "// … " in shown


def test_lines_are_kept_where_the_user_says(folder: Path) -> None:
    before = names(folder)
    for line, history in (("?path(1, x).", "lines"), (":rules", "lines")):
        with prompt("--history", history) as session:
            session.until("> ")
            session.type(f"{line}\n")
            session.until("\n> ")
            session.type(":quit\n")
            session.until("never shown")
            assert session.running.wait(60) == 0
    assert names(folder) == before | {"lines"}
    kept = (folder / "lines").read_text().splitlines()
    assert [line for line in kept if line[0] in ":?"] == [
        "?path(1, x).",
        ":quit",
        ":rules",
        ":quit",
    ]


def test_a_question_needs_no_dot(cli: Cli) -> None:
    assert said(cli, "?path(1, 2)", "?path(1, x),", "x > 2", "+edge(3, 4).", ":rollback") == [
        "true",
        "x",
        "3",
        "// 1 row",
        "// 1 change discarded",
    ]


def test_what_is_not_complete_does_not_swallow_the_next_line(cli: Cli) -> None:
    text = "?path(1,\n?path(1, 2).\n+edge(3,\n:relations\n?path(1,\n:quit\n?path(1, 2).\n"
    code, out, err = cli("repl", "reach.dl", stdin=text)
    assert code == 2
    assert out.splitlines()[0] == "true"
    assert len(out.splitlines()) == 4  # the table of relations, and nothing after :quit
    assert err.splitlines() == [
        "error: the query before this line is not complete",
        *UNFINISHED,
        "error: the query before this line is not complete",
    ]


@pytest.mark.parametrize(
    ("lines", "found", "told"),
    [
        ("+edge(3, 4)\n?path(3, 4)\n?path(1, 2)", ["false", "true"], UNFINISHED),
        ("+edge(3, 4)\n?!path(3, 4)\n? path(1, 2)", ["true", "true"], UNFINISHED),
        ("+edge(3, 4)\n?x = 4, path(x, 3)", ["x", "// 0 rows"], UNFINISHED),
        ("+edge(3, 4)\n-edge(2, 3).\n:pending", ["-edge(2, 3)."], None),
        ("-edge(3, 4)\n+path(x, x) :- edge(x, _).\n:rollback", DISCARDED, UNFINISHED),
        ('+edge(3, 4)\n-rule "path.000000".\n?path(1, 2)', ["true"], None),
        ("+edge(3, 4)\ncommit.", ["// 0 facts inserted, 0 facts deleted"], UNFINISHED),
        (
            "-edge(2, 3)\ncommit\n?path(1, 2)",
            ["true"],
            [*UNFINISHED, UNFINISHED[0], "    write `commit.`"],
        ),
        ("?path(1,\n+edge(3, 4).\n:rollback", DISCARDED, None),
    ],
)
def test_an_unfinished_change_swallows_no_line(
    cli: Cli, lines: str, found: list[str], told: list[str] | None
) -> None:
    code, out, err = cli("repl", "reach.dl", stdin=f"{lines}\n")
    assert (code, out.splitlines()) == (2, found)
    assert told is None or err.splitlines() == told


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("+edge(3, 4)", "<input>:1:11: error: the change is not complete"),
        ("?path(1, 2).\n+edge(3,\n", "<input>:2:8: error: the change is not complete"),
        ("commit\n", "<input>:1:6: error: the change is not complete"),
        ("/* aside\n", "<input>:1:1: error: a comment is not closed"),
        (
            "?path(1, x\n",
            "<query>:1:1: error: the `(` of `path` is not closed before the end of the query",
        ),
        ("?path(1, x),\n", "error: expected a condition after `,`, got the end of the query"),
    ],
)
def test_what_is_not_complete_at_the_end_is_an_error(cli: Cli, lines: str, message: str) -> None:
    code, _, err = cli("repl", "reach.dl", stdin=lines)
    assert (code, err.splitlines()[0]) == (2, message)


def test_ctrl_d_reports_what_is_not_complete(folder: Path) -> None:
    with prompt() as session:
        session.until("> ")
        session.type("+edge(3, 4)\n")
        session.until("  ")
        session.type("\x04")
        assert "error: the change is not complete" in session.until("cut off?")


def test_changes_go_on_in_lines_that_look_like_others(cli: Cli) -> None:
    lines = (
        '+far(?x) :- path(_, ?x),\n?x > 1, ?x = y\n+ 1, y = 1\n-strlen("").',
        "/*\n+edge(8, 9).\n?path(1, 2)\n*/",
        ":pending",
        ":rollback",
    )
    assert said(cli, *lines) == [
        '+far(?x) :- path(_, ?x), ?x > 1, ?x = y + 1, y = 1 - strlen("").',
        "// 1 change discarded",
    ]
