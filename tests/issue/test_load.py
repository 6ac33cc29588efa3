from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.errors import IssueProblem
from pytest_brt.issue.load import load_issue, read_issue
from pytest_brt.types import BlockKind

NOTHING = io.BytesIO()


def test_reads_a_file_and_standard_input_alike(tmp_path: Path) -> None:
    text = "# Title\r\n\r\nBody with `code()`.\r\n"
    path = tmp_path / "bug.md"
    path.write_bytes(text.encode())
    from_file = load_issue(str(path), NOTHING)
    from_stdin = load_issue("-", io.BytesIO(text.encode()))
    assert from_file.title == from_stdin.title == "Title"
    assert from_file.text == from_stdin.text
    assert "\r" not in from_file.text
    assert from_file.id == from_stdin.id
    assert from_stdin.source == "-"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b" \n\t\n", "empty"),
        (b"***\n", "empty"),
        (b"\x7fELF\x00\x01\x02", "binary"),
        (b"caf\xe9 crashes", "not UTF-8"),
        (b"\xff\xfet\x00", "not UTF-8"),
    ],
)
def test_refuses_what_is_no_report(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "bug.md"
    path.write_bytes(data)
    with pytest.raises(IssueProblem, match=words) as problem:
        load_issue(str(path), NOTHING)
    assert "\n" not in str(problem.value)
    assert repr(str(path)) in str(problem.value)


def test_says_that_a_file_is_missing_or_a_folder(tmp_path: Path) -> None:
    with pytest.raises(IssueProblem, match="no such issue file"):
        load_issue(str(tmp_path / "none.md"), NOTHING)
    with pytest.raises(IssueProblem, match="folder"):
        load_issue(str(tmp_path), NOTHING)


def test_reads_the_json_of_gh() -> None:
    text = json.dumps(
        {"title": "f() crashes", "body": "```python\r\nf()\r\n```", "number": 7, "url": "u"}
    )
    issue = read_issue(text, "bug.json")
    assert issue.title == "f() crashes"
    assert [block.kind for block in issue.blocks] == [BlockKind.HEADING, BlockKind.PYTHON]
    assert "f() crashes" in issue.text


def test_json_without_body_is_still_a_report() -> None:
    assert read_issue('{"title": "f() crashes", "body": null}', "x").title == "f() crashes"


def test_json_that_is_no_issue_is_text() -> None:
    assert read_issue('{"a": 1}', "x").text == '{"a": 1}'
    assert read_issue('{"title": 3, "body": "x"}', "x").title == '{"title": 3, "body": "x"}'


def test_byte_order_mark_and_invisible_characters_are_dropped() -> None:
    issue = read_issue("\ufeff# Ti\u200btle\n\nbo\u00a0dy", "x")
    assert issue.title == "Title"
    assert "bo dy" in issue.text


@given(st.text())
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        issue = read_issue(text, "x.md")
    except IssueProblem as problem:
        assert "\n" not in str(problem)  # noqa: PT017
    else:
        issue.text.encode("utf-8")
        assert issue.title or not issue.text.strip()


@given(st.text())
def test_reading_is_idempotent(text: str) -> None:
    try:
        once = read_issue(text, "x.md")
    except IssueProblem:
        return
    assert read_issue(once.text, "x.md") == once


def test_a_title_has_no_escape_sequences() -> None:
    issue = read_issue(
        '{"title": "\\u001b]0;gone\\u0007 \\u001b[31mred", "body": "x = 1"}', "a.json"
    )
    assert issue.title == "]0;gone   [31mred"


def test_of_a_log_only_the_beginning_is_read_and_what_is_below_it_all_the_same() -> None:
    log = "".join(f"12:00 crawled `page({n})` ok\n" for n in range(20_000))
    issue = read_issue(f"# Odd\n\n{log}\nExpected: 3\n\n```python\nf(1)\n```\n", "a.md")
    assert [block.kind.value for block in issue.blocks] == ["heading", "prose", "prose", "python"]
    assert issue.blocks[1].text.endswith("ok")
    assert [block.text for block in issue.blocks[2:]] == ["Expected: 3", "f(1)"]
    assert issue.unread == len(log.strip()) - len(issue.blocks[1].text)
    assert issue.unread > 500_000


@pytest.mark.parametrize(
    "part", ["I saw `page({})`.\n\n", "```python\nf({})\n```\n\nThen it gave:\n\n"]
)
def test_however_many_paragraphs_and_blocks_there_are_a_bounded_part_is_read(part: str) -> None:
    def read(number: int) -> int:
        text = "".join(part.format(n) for n in range(number))
        return len(read_issue(f"# Odd\n\n{text}", "a.md").blocks)

    assert read(20_000) == read(40_000) < 20_000
    assert read_issue("# Odd\n\n" + part.format(1), "a.md").unread == 0


@pytest.mark.parametrize(
    "form",
    [
        "**Describe the bug**\nclamp() ignores its upper bound.\n\n**To Reproduce**\n...",
        "### What happened?\n\nclamp() ignores its upper bound.\n",
        "<!-- Thanks for\nreporting! -->\n## Bug report\n\n- [x] I searched for it\n\n"
        "### Steps to reproduce\nclamp() ignores its upper bound.",
        "# clamp() ignores its upper bound.\n\n## Description\nIt does.",
        "**clamp() ignores its upper bound.**\n\nIt does.",
    ],
)
def test_a_form_is_called_after_what_was_written_into_it(form: str) -> None:
    assert read_issue(form, "x.md").title == "clamp() ignores its upper bound."


def test_an_issue_as_gitlab_gives_it() -> None:
    issue = read_issue('{"iid": 4, "title": "f() crashes", "description": "It does."}', "x.json")
    assert (issue.title, issue.text) == ("f() crashes", "# f() crashes\n\nIt does.")


def test_a_form_that_nobody_filled_in_has_its_own_heading() -> None:
    assert read_issue("**Describe the bug**\n\n**To Reproduce**\n", "x.md").title == (
        "Describe the bug"
    )
