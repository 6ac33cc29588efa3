"""What the documentation shows is what happens."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pytest_brt.codec import to_json
from pytest_brt.store import write_text
from tests.conftest import CLAMP_ISSUE
from tests.evaluate.test_compare_studies import ONE
from tests.evaluate.test_study import make_bugs
from tests.test_docs_sessions import PAGES as FOLLOWED

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"(?P<mark><!-- run: \w+ -->\n)?```(?P<language>\w+)\n(?P<text>.*?)```", re.DOTALL
)
LINK = re.compile(r"\]\((?P<path>[^)#:]*)(?:#(?P<heading>[^)]*))?\)")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"brt_docs_{name}", ROOT / f"docs/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands() -> list[tuple[str, str]]:
    """Return the page and text of each pytest command that a reader is told to type."""
    found = []
    for page in PAGES:
        if page.stem in FOLLOWED:
            continue
        for block in BLOCK.finditer(page.read_text("utf-8")):
            if block["language"] in ("sh", "console") and not block["mark"]:
                lines = block["text"].replace("\\\n", " ").splitlines()
                typed = (line.removeprefix("$ ") for line in lines)
                found += [(page.name, line) for line in typed if line.startswith("pytest")]
    # What `test_repair_page` runs, to see what it prints, need not run here too.
    return [(page, line) for page, line in found if page != "repair.md" or "gguf" in line]


def anchors(page: Path) -> set[str]:
    """Return what the headings of a page are called in links, as GitHub calls them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {text.replace(" ", "-") for text in words}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(("page", "command"), commands(), ids=lambda value: str(value)[:60])
def test_every_command_runs(project: pytest.Pytester, page: str, command: str) -> None:
    (project.path / "issue.md").write_text(CLAMP_ISSUE, "utf-8")
    (project.path / "tests/test_mine.py").write_text(
        "from interval import clamp\n\n\ndef test_mine():\n    assert clamp(5, 0, 10) == 5\n",
        "utf-8",
    )
    page_text = (ROOT / "docs/writing-tests.md").read_text("utf-8")
    replies = re.search(r"^````text\n(=== reply.*?)^````$", page_text, re.DOTALL | re.MULTILINE)
    assert replies is not None
    (project.path / "replies.txt").write_text(replies[1], "utf-8")
    for block in BLOCK.finditer((ROOT / "docs/hooks.md").read_text("utf-8")):
        if block["language"] == "python":
            (project.path / "fixed.py").write_text(block["text"], "utf-8")
    if "--brt-issue" not in command and "--brt-tests" not in command and "rank" in command:
        project.runpytest_subprocess("--brt-issue=issue.md")
    # Where the reader has a model, a script stands for it.
    script_of = "replies.txt" if page == "writing-tests.md" else "fixes.txt"
    typed = command.replace("gguf:MODEL.gguf", f"scripted:{script_of}")
    if page in ("evaluate.md", "repair.md"):
        make_bugs(project.path, ("clamp",))
        script = re.search(
            r"^````text\n(=== always.*?)^````$",
            (ROOT / "docs/evaluate.md").read_text("utf-8"),
            re.DOTALL | re.MULTILINE,
        )
        assert script is not None
        (project.path / "fixes.txt").write_text(script[1], "utf-8")
        if command.startswith("pytest-brt report"):
            for name in shlex.split(command)[2:]:
                write_text(project.path / name / "result.json", to_json(ONE))
    elif command.startswith("pytest-brt report"):
        record = next(other for where, other in commands() if where == page and "-record" in other)
        project.runpytest_subprocess(*shlex.split(record)[1:])
    program, *arguments = shlex.split(typed)
    module = {"pytest": "pytest", "pytest-brt": "pytest_brt"}[program]
    result = project.run(sys.executable, "-m", module, *arguments)
    assert result.ret == 0, f"{page}: {command}\n{result.stdout.str()}{result.stderr.str()}"
    if page == "writing-tests.md" and typed == command:
        shown = page_text.partition(command)[2].partition("```text\n")[2].partition("```")[0]
        seen = {line.strip() for line in result.stdout.str().splitlines()}
        # How much is read depends on the prompts, how long a path is on the machine.
        wanted = {line.strip() for line in shown.splitlines() if "tokens read" not in line}
        assert wanted <= seen, wanted - seen


def test_the_page_of_options_is_up_to_date() -> None:
    assert (ROOT / "docs/options.md").read_text("utf-8") == load("options").render(), (
        "run: python docs/options.py > docs/options.md"
    )


def test_the_page_of_prompts_is_up_to_date() -> None:
    assert (ROOT / "docs/prompts.md").read_text("utf-8") == load("prompts").render(), (
        "run: python docs/prompts.py > docs/prompts.md"
    )


def test_every_page_is_in_the_list() -> None:
    listed = (ROOT / "docs/README.md").read_text("utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"]({page.name}" in listed, page.name


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
