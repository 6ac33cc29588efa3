"""What the documentation shows is what happens."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.scenarios.server import Model, serving
from tests.support.docs import PAGES as FOLLOWED
from tests.support.docs import ROOT, load, steps_of
from tests.support.interval import CLAMP_ISSUE
from tests.support.sessions import LEAN

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"(?P<mark><!-- run: \w+ -->\n)?```(?P<language>\w+)\n(?P<text>.*?)```", re.DOTALL
)
FENCED = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
#: What a model answers on the page of repairs, and on the others.
FIX = """{"action": "write_fix", "changes": "interval/__init__.py replace 6"}
```python
    return max(low, min(value, high))
```
"""
TEST = """```python
from interval import clamp


def test_inside():
    assert clamp(5, 0, 10) == 5
```
"""
LINK = re.compile(r"\]\((?P<path>[^)#:]*)(?:#(?P<heading>[^)]*))?\)")


def shown(page: Path) -> list[str]:
    """Return the pytest commands that a page tells a reader to type."""
    found = []
    for block in BLOCK.finditer(page.read_text("utf-8")):
        if block["language"] in ("sh", "console") and not block["mark"]:
            lines = block["text"].replace("\\\n", " ").splitlines()
            typed = (" ".join(line.removeprefix("$ ").split()) for line in lines)
            found += [line for line in typed if line.startswith("pytest")]
    return found


#: Of each page that is not followed from top to bottom, what no other page has. The README has a
#: test of its own.
COMMANDS = {
    page.relative_to(ROOT).as_posix(): shown(page)
    for page in PAGES
    if page.stem not in FOLLOWED and page != ROOT / "README.md"
}
FOLLOWED_TOO = {
    line
    for page in FOLLOWED
    for step in steps_of(page)
    if not step.path
    for line in step.text.splitlines()
}


def left(page: str) -> list[str]:
    """Return what is typed here only; a longer command stands for one that it begins with."""
    lines = COMMANDS[page]
    longer = {line for line in lines for other in lines if other.startswith(f"{line} ")}
    return [line for line in lines if line not in FOLLOWED_TOO | longer]


def shown_below(page: str, command: str) -> set[str]:
    """Return the lines that a page shows as the output of a command: its next block, of text."""
    rest = (ROOT / page).read_text("utf-8").partition(f"{command}\n```\n")[2]
    block = FENCED.search(rest)
    if block is None or block["language"] != "text":
        return set()
    # How much is read depends on the prompts, how long a path is on the machine.
    return {line.strip() for line in block["text"].splitlines() if "tokens read" not in line}


def anchors(page: Path) -> set[str]:
    """Return what the headings of a page are called in links, as GitHub calls them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {text.replace(" ", "-") for text in words}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("page", [page for page in COMMANDS if left(page)])
def test_every_command_runs(project: pytest.Pytester, page: str) -> None:
    """One after the other in one project, as a reader would."""
    (project.path / "issue.md").write_text(CLAMP_ISSUE, "utf-8")
    (project.path / "tests/test_mine.py").write_text(
        "from interval import clamp\n\n\ndef test_mine():\n    assert clamp(5, 0, 10) == 5\n",
        "utf-8",
    )
    for patch in ("b-literal", "d-right-too", "e-stale"):
        (project.path / f"patches/{patch}.diff").unlink()
    for block in BLOCK.finditer((ROOT / page).read_text("utf-8")):
        if block["language"] == "python" and page == "docs/architecture.md":
            (project.path / "fixed.py").write_text(block["text"], "utf-8")
    # Where the reader has a model, a script stands for it.
    model = Model([], always=FIX if page == "docs/models.md" else TEST, judge={})
    for command in left(page):
        with serving(model):
            named = command.replace("gguf:MODEL.gguf", f"server:127.0.0.1:{model.port}")
            program, *arguments = shlex.split(named)
            module = {"pytest": "pytest", "pytest-brt": "pytest_brt"}[program]
            if program == "pytest-brt" and arguments[0] not in ("check", "gate"):
                arguments += LEAN.split()  # it does not read PYTEST_ADDOPTS
            result = project.run(sys.executable, "-m", module, *arguments)
        # Where the project has no tests, no patch leads clearly.
        assert result.ret in (0, 7), f"{command}\n{result.stdout.str()}{result.stderr.str()}"
        seen = {line.strip() for line in result.stdout.str().splitlines()}
        assert shown_below(page, command) <= seen, shown_below(page, command) - seen


def test_outputs_are_compared() -> None:
    compared = [page for page in COMMANDS for typed in left(page) if shown_below(page, typed)]
    assert "docs/models.md" in compared


def test_the_page_of_options_is_up_to_date() -> None:
    assert (ROOT / "docs/options.md").read_text("utf-8") == load("options").render(), (
        "run: python docs/options.py > docs/options.md"
    )


def test_every_page_is_in_the_list() -> None:
    listed = (ROOT / "README.md").read_text("utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f"](docs/{page.name})" in listed, page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.finditer(page.read_text("utf-8")):
        target = page.parent / link["path"] if link["path"] else page
        assert target.exists(), link["path"]
        if link["heading"]:
            assert link["heading"] in anchors(target), f"{link['path']}#{link['heading']}"


def test_readme_has_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    for name in ("demo", "test"):
        block = re.search(rf"<!-- run: {name} -->\n```sh\n(.+)\n```", readme)
        assert block is not None
        assert block[1].startswith("python3 -m venv .venv && ")
