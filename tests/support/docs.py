"""Scripts and commands of the docs."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

#: Of the repository.
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"brt_docs_{name}", ROOT / f"docs/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


#: Pages that a reader follows from the first command to the last.
PAGES = ("tutorial", "ci", "project")
FENCE = re.compile(r"(?P<fence>`{3,})(?P<language>\w+)$")
FILE = re.compile(r"`(?P<path>[^`]+)`:$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A file that is written, or what is typed and what comes of it."""

    path: str = ""
    text: str = ""
    shown: str = ""


def steps_of(page: str) -> list[Step]:
    steps: list[Step] = []
    before = ""
    lines = iter((DOCS / f"{page}.md").read_text("utf-8").splitlines(keepends=True))
    for line in lines:
        opened = FENCE.match(line)
        if opened is None:
            before = line.strip() or before
            continue
        end = opened["fence"] + "\n"
        text = "".join(iter(lambda: next(lines), end))
        file = FILE.search(before)
        if file:
            steps.append(Step(path=file["path"], text=text))
        elif opened["language"] == "sh":
            steps.append(Step(text=text))
        elif opened["language"] == "text" and before == "```sh":
            steps[-1] = replace(steps[-1], shown=text)
        before = f"```{opened['language']}"
    return steps
