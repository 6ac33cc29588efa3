from __future__ import annotations

import warnings
from pathlib import Path

from pytest_brt.patches.application import find_syntax_errors


def test_errors_come_with_line_and_message(tmp_path: Path) -> None:
    files = {
        "good.py": b"x = 1\n",
        "bad.py": b"x = 1\ny = = 2\n",
        "late.py": b"def f():\n    pass\nreturn 1\n",
        "nul.py": b"x = '\0'\n",
        "bytes.py": b"x = '\xff'\n",
        "caf\u00e9.py": "x = '\u00e9\n".encode(),
        "deep.py": b"(" * 5000,
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    found = find_syntax_errors(tuple(files), tmp_path)
    assert set(found) == set(files) - {"good.py"}
    assert found["bad.py"] == "2: invalid syntax"
    assert found["late.py"] == "3: 'return' outside function"
    assert found["caf\u00e9.py"].startswith("1: unterminated string literal")


def test_warnings_are_no_errors(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text('x = "\\d"\nassert (x, "always true")\n', encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find_syntax_errors(("m.py",), tmp_path) == {}


def test_nothing_is_run(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "open('made', 'w').close()\nraise SystemExit(3)\n", encoding="utf-8"
    )
    assert find_syntax_errors(("m.py",), tmp_path) == {}
    assert [path.name for path in tmp_path.iterdir()] == ["m.py"]


def test_no_files_no_errors(tmp_path: Path) -> None:
    assert find_syntax_errors((), tmp_path) == {}


def test_an_interpreter_that_cannot_be_started_knows_nothing(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("x = = 1", encoding="utf-8")
    assert find_syntax_errors(("m.py",), tmp_path, "/nonexistent/python") == {}
