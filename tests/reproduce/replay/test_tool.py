"""Files and commands of a report, and the project's own commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.errors import IssueProblem
from pytest_brt.execute.subject import find_subject
from pytest_brt.issue.files import File, ReportedFiles, read_files
from pytest_brt.issue.load import read_issue
from pytest_brt.issue.read import read_report
from pytest_brt.observe.run_commands import completed, entries
from pytest_brt.sandbox.available import open_sandbox
from tests.reproduce.replay.project import make_project


def world(report: str) -> ReportedFiles:
    return read_files(read_report(read_issue(report, "x.md")), {"tool", "pkg"})


def test_files_named_in_their_first_line_or_in_prose() -> None:
    found = world(
        "Title\n\n```\n# conf.py\nx = 1\n```\n\nand `sub/a.py`:\n\n```python\ny = 2\n```\n"
        "\n## .toolrc\n\n```ini\nkey=1\n```\n"
    )
    assert found.files == (
        File(path="conf.py", content="x = 1\n"),
        File(path="sub/a.py", content="y = 2\n"),
        File(path=".toolrc", content="key=1\n"),
    )


def test_drawn_trees_are_empty_files() -> None:
    found = world("Title\n\n```\n.\n`-- a/\n    |-- a.py\n    `-- b.py\n```\n")
    assert [file.path for file in found.files] == ["a/a.py", "a/b.py"]
    deep = world(
        "Title\n\n```\n├── a\n│   ├── b.py\n│   └── c/\n├── ba\n│   └── d.py\n└── e.py\n```\n"
    )
    assert [file.path for file in deep.files] == ["a/b.py", "ba/d.py", "e.py"]


def test_commands_of_the_project_and_their_output() -> None:
    found = world(
        "Title\n\n```\n$ tool --x a.py\nerror: no\n$ ls\nz\n```\n`python -m pkg b` fails.\n"
    )
    assert [(c.name, c.arguments) for c in found.commands] == [
        ("tool", ("--x", "a.py")),
        ("pkg", ("b",)),
    ]
    assert found.quotes[0].text == "error: no"


def test_versions_and_foreign_commands_are_no_commands() -> None:
    assert world("Title\n\n```sh\ntool 1.2.3\npip install x\ntool --version\n```\n").commands == ()


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("I use `pkg` for this.", []),
        ("Running `pkg` prints nothing.", [("pkg", ())]),
        ("With `pkg a.txt` nothing comes.", [("pkg", ("a.txt",))]),
    ],
)
def test_a_name_alone_is_a_command_where_it_is_run(
    text: str, commands: list[tuple[str, tuple[str, ...]]]
) -> None:
    found = world(f"Title\n\n{text}\n").commands
    assert [(command.name, command.arguments) for command in found] == commands


def test_made_up_names_are_told_from_the_report_s() -> None:
    assert not world("Title\n\n```python\nimport os\n```\n").named
    assert world("Title\n\n`a.py`:\n\n```python\nimport os\n```\n").named


@pytest.mark.parametrize(
    ("text", "found"), [("x = 1\n", []), ("if __name__ == '__main__':\n    print(1)\n", ["lone"])]
)
def test_a_module_is_a_command_when_it_runs_something(
    tmp_path: Path, text: str, found: list[str]
) -> None:
    (tmp_path / "lone.py").write_text(text, encoding="utf-8")
    subject = find_subject(tmp_path, python=None, env={}, sandbox=open_sandbox("process"))
    assert list(entries(subject)) == found


def test_a_file_that_a_command_names_is_the_code_without_a_name() -> None:
    found = world("Title\n\n```python\nimport os\n```\n\n```\n$ tool q.py\n```\n")
    assert found.files == (File(path="q.py", content="import os\n"),)


def test_written_files_are_quotes() -> None:
    found = world("Title\n\nI got the following output:\n```\n# out/a.rst\ntext\n```\n")
    assert [(quote.path, quote.text) for quote in found.quotes] == [("out/a.rst", "text")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[project.scripts]\ntool = "pkg.core:first"\n'),
        ("setup.cfg", "[options.entry_points]\nconsole_scripts =\n    tool = pkg.core:first\n"),
        ("setup.py", "setup(entry_points={'console_scripts': ['tool = pkg.core:first']})\n"),
    ],
)
def test_commands_are_read_from_the_metadata(tmp_path: Path, name: str, text: str) -> None:
    root = make_project(tmp_path / "project")
    (root / "pyproject.toml").unlink()
    (root / name).write_text(text, encoding="utf-8")
    known = entries(find_subject(root, python=None, env={}, sandbox=open_sandbox("process")))
    assert known["pkg"] == ("-m", "pkg")
    assert known["tool"][0] == "-c"
    assert "from pkg.core import first" in known["tool"][1]


def test_settings_are_completed_after_the_project_s_tests(tmp_path: Path) -> None:
    root = make_project(tmp_path / "project")
    for name, text in {"a": "plugins = ['widget']\n", "b": "plugins = ['other']\n"}.items():
        (root / "tests" / name).mkdir()
        (root / "tests" / name / "conf.py").write_text(text, encoding="utf-8")
    (root / "tests" / "b" / "conf.py").write_text(
        "plugins = ['other']\npaths = ['_files']\n", encoding="utf-8"
    )
    subject = find_subject(root, python=None, env={}, sandbox=open_sandbox("process"))
    file = File(path="conf.py", content="level = 2\n")
    assert completed(file, "the widget is wrong", [], subject).content == (
        "plugins = ['widget']\nlevel = 2\n"
    )
    with_folder = completed(file, "the widget is wrong", ["_files/a.txt"], subject)
    assert "paths = ['_files']" in with_folder.content
    assert completed(file, "nothing alike", [], subject) == file
    nothing = File(path="conf.py", content="")
    assert completed(nothing, "the widget is wrong", [nothing.path], subject) == nothing
    assert "widget" in completed(nothing, "the widget is wrong", [], subject).content


@given(st.text(alphabet=st.sampled_from("`$# \n.-|/ab:tol[]=\"'\\"), max_size=120))
def test_any_text_is_read(text: str) -> None:
    try:
        issue = read_issue(text, "x.md")
    except IssueProblem:
        return
    for file in read_files(read_report(issue), {"tool"}).files:
        assert file.path
