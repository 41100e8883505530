"""Files that a program includes, and those that it may not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidelog.program.diagnostics import render
from tidelog.text import Parsed, parse, parse_file


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.dl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "main.dl"


def relations(parsed: Parsed) -> list[str]:
    assert parsed.diagnostics == ()
    return [fact.relation for fact in parsed.program.facts]


def messages(parsed: Parsed, folder: Path) -> str:
    text = "\n".join(render(diagnostic, parsed.sources) for diagnostic in parsed.diagnostics)
    return text.replace(f"{folder}/", "")


def test_a_file_is_read_in_its_place(tmp_path: Path) -> None:
    main = write(
        tmp_path, main='a(1). .include "b.dl" c(1).\n#include "d.dl"\ne(1).', b="b(1).", d=""
    )
    assert relations(parse_file(main)) == ["a", "b", "c", "e"]
    assert relations(parse('.include "b.dl"', folder=tmp_path)) == ["b"]


def test_names_are_relative_to_the_including_file(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        main='.include "sub/b.dl"',
        sub__b='b(1). .include "c.dl" .include "../d.dl"',
        sub__c="c(1).",
        d="d(1) :- .",
    )
    parsed = parse_file(main)
    assert [fact.relation for fact in parsed.program.facts] == ["b", "c"]
    assert messages(parsed, tmp_path) == (
        "sub/../d.dl:1:9: error: the body is empty: `.` follows `:-`\n"
        "  1 | d(1) :- .\n"
        "    |         ^ write a condition after `:-`, or end the fact with `.` alone"
    )


def test_a_file_is_included_each_time_unless_once(tmp_path: Path) -> None:
    twice = '.include "b.dl"\n' * 2
    assert relations(parse_file(write(tmp_path, main=twice, b="b(1)."))) == ["b", "b"]
    assert relations(parse_file(write(tmp_path, main=twice, b=".once\nb(1)."))) == ["b"]


def test_a_loop_shows_its_chain(tmp_path: Path) -> None:
    main = write(
        tmp_path, main='.include "b.dl"', b='.include "c.dl"', c='\n.include "b.dl"\nc(1).'
    )
    parsed = parse_file(main)
    assert messages(parsed, tmp_path) == (
        "c.dl:2:10: error: this file includes itself: b.dl -> c.dl -> b.dl\n"
        '  2 | .include "b.dl"\n'
        "    |          ^^^^^^ remove one of these includes"
    )
    assert [fact.relation for fact in parsed.program.facts] == ["c"]
    main = write(tmp_path, main='.include "main.dl"')
    assert "this file includes itself: main.dl -> main.dl" in messages(parse_file(main), tmp_path)


def test_too_many_includes_stop(tmp_path: Path) -> None:
    for i in range(20):
        write(tmp_path, **{f"f{i}": f'.include "f{i + 1}.dl"\n' * 2})
    main = write(tmp_path, main='.include "f0.dl"', f20="a(1).")
    parsed = parse_file(main)
    assert [found.message for found in parsed.diagnostics] == ["more than 10000 includes"]


def test_nested_includes_stop(tmp_path: Path) -> None:
    for i in range(300):
        write(tmp_path, **{f"f{i}": f'.include "f{i + 1}.dl"'})
    main = write(tmp_path, main='.include "f0.dl"', f300="a(1).")
    (only,) = parse_file(main).diagnostics
    assert only.message == "includes nested more than 256 deep"


LEAVES = "move the file there, or allow it with --allow-paths"


def test_paths_that_leave_the_folder_are_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside.dl"
    outside.write_text("secret(1).", encoding="utf-8")
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "link.dl").symlink_to(outside)
    for name in ("../outside.dl", str(outside), "link.dl", "sub/../../outside.dl"):
        main = write(folder, main=f'.include "{name}"\na(1).')
        parsed = parse_file(main)
        assert messages(parsed, folder) == (
            f"main.dl:1:10: error: {name} is outside the program's folder\n"
            f'  1 | .include "{name}"\n'
            f"    |          {'^' * (len(name) + 2)} {LEAVES}"
        ).replace(f"{folder}/", "")
        assert [fact.relation for fact in parsed.program.facts] == ["a"]
        assert relations(parse_file(main, allow_paths=True)) == ["secret", "a"]


def test_a_link_inside_the_folder_is_fine(tmp_path: Path) -> None:
    main = write(tmp_path, main='.include "link.dl"', b="b(1).")
    (tmp_path / "link.dl").symlink_to(tmp_path / "b.dl")
    assert relations(parse_file(main)) == ["b"]


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, message in (
        ("pipe", "pipe is not a regular file"),
        ("folder", "folder is a folder, not a file"),
        ("none.dl", "cannot find the file none.dl"),
        ("/dev/zero", "/dev/zero is outside the program's folder"),
        ("a\\0b", "cannot read a\0b: embedded null byte"),
    ):
        (only,) = parse_file(write(tmp_path, main=f'.include "{name}"')).diagnostics
        assert only.message == message
    (only,) = parse_file(write(tmp_path, main='.include "loop"')).diagnostics
    assert only.message.startswith("cannot read loop: ")


def test_an_included_file_that_is_no_utf8(tmp_path: Path) -> None:
    main = write(tmp_path, main='.include "b.dl"\na(1) :- .')
    (tmp_path / "b.dl").write_bytes(b"b(1).\nc(\xfe).")
    assert messages(parse_file(main), tmp_path) == (
        "main.dl:2:9: error: the body is empty: `.` follows `:-`\n"
        "  2 | a(1) :- .\n"
        "    |         ^ write a condition after `:-`, or end the fact with `.` alone\n"
        "b.dl:2:3: error: byte 0xfe is not UTF-8\n"
        "  2 | c(\N{REPLACEMENT CHARACTER}).\n"
        "    |   ^ save the file as UTF-8"
    )


@pytest.mark.parametrize("name", ["main.dl", "./main.dl"])
def test_a_program_may_be_named_from_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write(tmp_path, main='.include "b.dl"', b="b(1).")
    monkeypatch.chdir(tmp_path)
    assert relations(parse_file(name)) == ["b"]
