"""The skill for coding agents names what there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest_brt
from pytest_brt.cli.main import _COMMANDS

SKILL = Path(pytest_brt.__file__).parent / ".agents/skills/pytest-brt/SKILL.md"


def test_the_skill_names_what_there_is() -> None:
    text = SKILL.read_text("utf-8")
    head, _, body = text.partition("---\n")[2].partition("---\n")
    assert re.search(r"^name: pytest-brt$", head, re.MULTILINE)
    assert re.search(r"^description: \S", head, re.MULTILINE)
    assert len(text.splitlines()) <= 120
    assert set(re.findall(r"pytest-brt (\w+)", body)) <= set(_COMMANDS)
    for command in ("issue", "check"):
        shown = subprocess.run(
            [sys.executable, "-m", "pytest_brt", command, "--help"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        lines = [line for line in body.split("\n") if line.startswith(f"pytest-brt {command}")]
        assert lines
        for line in lines:
            for flag in re.findall(r"--[a-z-]+", line):
                assert flag in shown, line
