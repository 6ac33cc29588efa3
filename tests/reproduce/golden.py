"""Prompts as they are sent, compared with files; BRT_GOLDEN=1 writes the files anew."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pytest_brt.model.base import Prompt

FOLDER = Path(__file__).parent / "golden"


def check(name: str, prompt: Prompt) -> None:
    """Compare all messages of `prompt` with the file called `name`."""
    text = "".join(f"=== {message.role}\n{message.text}\n" for message in prompt.messages)
    text += f"=== answer begins\n{prompt.prefill}\n" if prompt.prefill else ""
    # The files are those of one Python.
    text = text.replace("on Python {}.{},".format(*sys.version_info), "on Python 3.11,")
    path = FOLDER / f"{name}.txt"
    if os.environ.get("BRT_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text("utf-8"), f"if {path.name} is to change: BRT_GOLDEN=1"
