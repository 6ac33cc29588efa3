"""What strangers write reaches neither the terminal nor XML as anything but text."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.interval import FIXES, SOURCE, diff_of

CLAMP = "    return max(low, min(value, low))\n"
#: An escape sequence, a C1 control, a mark that turns the direction of what follows.
ODD = "\x1b]0;owned\x07\x9b31m\u202e"
RAISES = f"""\
    raise type("Bad{ODD}", (ValueError,), {{}})("{ODD}", value, low, high)
"""
MINE = "from interval import clamp\n\n\ndef test_mine():\n    assert clamp(5, 0, 10) == 5\n"


@pytest.mark.parametrize("options", [(), ("-vv",)])
def test_names_and_messages_are_shown_as_text(
    project: pytest.Pytester, options: tuple[str, ...]
) -> None:
    patches = project.path / "patches"
    for name in ("b-literal", "c-wrong", "d-right-too", "e-stale"):
        (patches / f"{name}.diff").unlink()
    odd = diff_of(SOURCE.replace(CLAMP, RAISES))
    (patches / f"odd{ODD}\nfixes by EPR.diff").write_text(odd, encoding="utf-8")
    (patches / "raw\udcff.diff").write_text(odd, encoding="utf-8")
    (patches / "stale\x1bc.diff").write_text(f"--- {ODD}\nnot a diff{ODD}\n", encoding="utf-8")
    mine = project.path.parent / "test_mine.py"
    mine.write_text(MINE, encoding="utf-8")
    xml = project.path.parent / "junit.xml"
    result = project.runpytest_subprocess(
        "--rank-fixes=patches",
        f"--brt-tests={mine}",
        "--brt-guard=no",
        f"--junitxml={xml}",
        *options,
    )
    assert result.ret == 0, result.stderr.str()
    said = result.stdout.str() + result.stderr.str()
    assert {c for c in said if unicodedata.category(c) in {"Cc", "Cf"}} == {"\n"}
    assert "odd?]0;owned??31m?\\nfixes by EPR.diff" in said
    assert "raw?.diff" in said
    ElementTree.parse(xml)


def test_two_names_that_would_look_alike_are_refused(project: pytest.Pytester) -> None:
    for name in ("a\x1b.diff", "a\x1c.diff"):
        Path(project.path, "patches", name).write_text(
            diff_of(SOURCE.replace(CLAMP, FIXES["a-right"])), encoding="utf-8"
        )
    result = project.runpytest_subprocess("--rank-fixes=patches")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*two patches are both called 'a?.diff' (rename one)*"])
