"""A command that was run → the lines of a test that run it on the same files."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_brt.observe.run_commands import Played
from pytest_brt.oracle.write import literal, pieces, quoted

#: What the test must import, and the fixtures it takes.
IMPORTS, FIXTURES = ("import subprocess", "import sys"), ("tmp_path",)


def command_lines(played: Played) -> tuple[str, ...]:
    """Return statements that write the files, run the command and bind `done` to its result."""
    words = [quoted(word) for word in (*played.entry.start, *played.command.arguments)]
    command = f"command = [sys.executable, {', '.join(words)}]"
    if len(command) > 90:
        lines = "\n".join(f"    {word}," for word in words)
        command = f"command = [\n    sys.executable,\n{lines}\n]"
    run = (
        "done = subprocess.run(\n"
        '    command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False\n'
        ")"
    )
    if played.command.stdin:
        run = (
            f"given = {literal(played.command.stdin)}\n"
            "done = subprocess.run(\n"
            '    command, cwd=tmp_path, input=given, capture_output=True, encoding="utf-8",\n'
            "    check=False,\n"
            ")"
        )
    return (*_files(played), command, run)


def _files(played: Played) -> Iterator[str]:
    made: set[str] = set()
    for file in played.files:
        folder = file.path.rpartition("/")[0]
        if folder and folder not in made:
            made.add(folder)
            deep = "parents=True, exist_ok=True" if "/" in folder or len(made) > 1 else ""
            yield f"(tmp_path / {quoted(folder)}).mkdir({deep})"
        text = literal(file.content)
        target = f"(tmp_path / {quoted(file.path)}).write_text"
        if text.startswith("(") or len(text) + len(target) > 70:
            lines = "\n".join(f"    {part}" for part in pieces(file.content))
            yield f'{target}(\n{lines},\n    encoding="utf-8",\n)'
        else:
            yield f'{target}({text}, encoding="utf-8")'
