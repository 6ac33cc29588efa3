"""Whatever a run writes, what strangers wrote is only text in it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from tests.support.interval import SOURCE, diff_of
from tests.support.refusals import assert_refused

BROKEN = "    return max(low, min(value, low))\n"
#: A hyperlink of a terminal, the title of its window, a C1 control, a turned direction, a bell.
ODD = "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\\x1b]0;owned\x07\x9b31m\u202ecba\r"
#: What pages, XML, tables, links and CI services would obey.
SPOKEN = (
    "</script><script>alert(1)</script><img src=http://evil.example> ]]> a|b `c` "
    "[here](http://evil.example) ##[error]seven ##vso[task.complete]"
)
COMMANDS = "::error file=a.py::obeyed\n  ::set-output name=a::obeyed\n"
ISSUE = f"""\
# clamp() is wrong {ODD.strip()} {SPOKEN}

{COMMANDS}
{ODD}

```python
>>> from interval import clamp
>>> clamp(5, 0, 10)
0
```

It should be `5`. {ODD} {SPOKEN}
"""
KIND, SAID = f"Bad{ODD}", f"{ODD}{SPOKEN}\n{COMMANDS}"
RAISES = f"    # {ODD.strip()}\n    raise type({KIND!a}, (ValueError,), {{}})({SAID!a})\n"
#: pytest's own reading of names refuses "[" and "::".
NAME = f"odd{ODD}a|b`c`<b>!>\n.diff".replace("/", "_").replace("]", "").replace(":", "")
#: Of a patch that cannot be read: the letters are those of a file's name that is no UTF-8.
RAW = "raw\udcff\nfixes by EPR.diff"
REPORTS = ("html", "md", "json")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what a run on a hostile report and patch wrote, by the kind of output."""
    root, out = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("out")
    (root / "interval").mkdir()
    (root / "interval/__init__.py").write_text(SOURCE, encoding="utf-8")
    (root / "tests").mkdir()
    (out / "patches").mkdir()
    (out / "issue.md").write_text(ISSUE, encoding="utf-8", newline="")
    (out / "patches" / NAME).write_text(diff_of(SOURCE.replace(BROKEN, RAISES)), encoding="utf-8")
    (out / "patches" / RAW).write_text(f"--- {ODD}\nnot a diff{ODD}\n", encoding="utf-8")
    reports = [f"--brt-report={out}/report.{kind}" for kind in REPORTS]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-vv", "--brt-guard=no"]
    done = subprocess.run(
        [
            *command, f"--brt-issue={out}/issue.md", f"--rank-fixes={out}/patches", *reports,
            f"--junitxml={out}/junit.xml", "--brt-write=new",
        ],
        cwd=root, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout.decode() + done.stderr.decode()
    (test,) = root.rglob("test_*.py")
    texts = {kind: (out / f"report.{kind}").read_bytes() for kind in REPORTS}
    texts |= {"terminal": done.stdout + done.stderr, "test": test.read_bytes()}
    texts |= {"junit": (out / "junit.xml").read_bytes()}
    return {kind: raw.decode("utf-8") for kind, raw in texts.items()}


def _no_command(text: str) -> None:
    assert "raw?\\nfixes by EPR.diff" in text
    for line in text.split("\n"):
        assert not re.search(r"^\s*::|##\w*\[", line), line


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]


def _page(text: str) -> None:
    tags = _Tags()
    tags.feed(text)
    assert not {"script", "img", "b"} & tags.tags
    assert not [address for address in tags.addresses if "evil" in address]


def _markdown(text: str) -> None:
    outside = re.sub(r"(?ms)^(`{3,})(?:python|sh)\n.*?^\1$", "", text)
    prose = re.sub(r"(?<!\\)`[^`|\n]+`", "", outside)  # nothing is obeyed in code
    bare = re.sub(r"</?(?:sub|details|summary)>", "", re.sub(r"\\.", "", prose))
    bare = re.sub(r"(?m)^(### |\|[-|]+$)|\*\*", "", bare)
    assert not re.search(r"[`<>\[\]]", bare), bare
    for part in outside.split("<details>"):  # at most a table each
        rows = [line for line in part.split("\n") if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) <= 1


CHECKS: dict[str, Callable[[str], object]] = {
    "terminal": _no_command,
    "html": _page,
    "md": _markdown,
    "json": json.loads,
    "junit": ElementTree.fromstring,
    "test": ast.parse,
}
#: In these a program reads the letters, and gets them as they were.
DATA = {"json", "junit"}


@pytest.mark.parametrize("kind", CHECKS)
def test_what_strangers_wrote_is_only_text(written: dict[str, str], kind: str) -> None:
    text = written[kind]
    odd = {letter for letter in text if unicodedata.category(letter) in {"Cc", "Cf"}}
    assert odd - {"\n", "\t"} <= ({"\u202e", "\x9b"} if kind in DATA else set())
    CHECKS[kind](text)
    if kind != "junit":  # which has what came out, and no more
        assert "clamp" in text


def test_two_names_that_would_look_alike_are_refused(project: pytest.Pytester) -> None:
    for name in ("a\x1b.diff", "a\x1c.diff"):
        (project.path / "patches" / name).write_text(diff_of(SOURCE.replace(BROKEN, RAISES)))
    message = "two patches are both called 'a?.diff' (rename one)"
    assert_refused(project, {"--rank-fixes=patches": message})
