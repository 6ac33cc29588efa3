from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.issue.blocks import split_blocks
from pytest_brt.types import BlockKind

FENCES = st.lists(
    st.sampled_from(
        ["```", "```python", "~~~", "~~~~", "````", "    x = 1", ">>> f(1)", "... 2", "In [1]: f()",
         "Out[1]: 3", "Traceback (most recent call last):", '  File "a.py", line 1, in f',
         "ValueError: no", "text", "", "# Expected", "**Actual**", "- item", "$ ls", "<pre>",
         "</pre>", "<details>", "<!-- a", "-->", "---", "\tx", "> quoted", "1. one"]
    )
)  # fmt: skip


def kinds(text: str) -> list[tuple[str, str]]:
    return [(b.kind.value, b.text) for b in split_blocks(textwrap.dedent(text).strip("\n"))]


def test_fences_with_and_without_language() -> None:
    found = kinds(
        """
        Title
        Some words.

        ```python
        f(1)
        ```
        and
        ~~~
        x = g(2)
        ~~~
        gives
        ```
        just some text
        ```
        """
    )
    assert found == [
        ("heading", "Title"),
        ("prose", "Some words."),
        ("python", "f(1)"),
        ("prose", "and"),
        ("python", "x = g(2)"),
        ("prose", "gives"),
        ("output", "just some text"),
    ]


def test_a_longer_fence_holds_a_shorter_one() -> None:
    found = kinds("````markdown\n```\nx\n```\n````")
    assert found == [("file", "```\nx\n```")]


def test_an_open_fence_goes_to_the_end() -> None:
    assert kinds("```python\nf(1)\ng(2)")[0] == ("python", "f(1)\ng(2)")


def test_indented_code_is_found_but_not_the_text_of_a_list() -> None:
    found = kinds(
        """
        Title

            x = f(1)

        - an item
            that goes on in plain words
        """
    )
    assert ("python", "x = f(1)") in found
    assert not any("plain words" in text for kind, text in found if kind != "prose")


def test_a_quotation_is_read_without_its_marks() -> None:
    found = kinds("Title\n\n> It says\n> that:\n>\n> ```py\n> f(1)\n> ```\nand goes on\n")
    assert found[1:] == [
        ("prose", "It says\nthat:"),
        ("python", "f(1)"),
        ("prose", "and goes on"),
    ]


def test_code_in_a_list_need_not_be_as_deep_as_its_fence() -> None:
    found = kinds("Title\n\n1. Run\n\n      ```py\ndef f():\n    return 1\n      ```\n      so\n")
    assert found[2:] == [("python", "def f():\n    return 1"), ("prose", "      so")]


@pytest.mark.parametrize("code", ["    >>> f(1)\n    2", "```\n>>> f(1)\n2\n```"])
@pytest.mark.parametrize("above", ["Title", "Title\n\nSee:", "Title\n\n# Example"])
def test_code_may_follow_right_below_text(above: str, code: str) -> None:
    assert kinds(f"{above}\n{code}")[-1] == ("repl", ">>> f(1)\n2")


def test_sessions_outside_of_fences() -> None:
    found = kinds("Title\n\nSee:\n\n>>> f(1)\n2\n>>> g(\n...   3)\n4\n\nThat is wrong.")
    assert found[2] == ("repl", ">>> f(1)\n2\n>>> g(\n...   3)\n4")
    assert found[3] == ("prose", "That is wrong.")


def test_a_traceback_outside_of_fences_ends_with_its_exception() -> None:
    found = kinds(
        """
        Title

        Traceback (most recent call last):
          File "a.py", line 3, in <module>
            f()
        ValueError: no
        It should work.
        """
    )
    assert found[1][0] == "traceback"
    assert found[1][1].endswith("ValueError: no")
    assert found[2] == ("prose", "It should work.")


def test_comments_are_nothing() -> None:
    found = kinds("Title\n\n<!-- Thanks for\nreporting! f(0) -->\n<details>\nx\n</details>\n")
    assert not any("Thanks" in text for _, text in found)


def test_tags_are_taken_off_prose_and_not_off_code() -> None:
    found = kinds("Title\n\n<p>It is &lt;1&gt;,<br> <b>not</b> 2.</p>\n\n```\nf('<b>')\n```\n")
    assert found[1:] == [("prose", "It is <1>, not 2."), ("python", "f('<b>')")]


def test_html_between_ticks_is_code() -> None:
    found = kinds("Title\n\n<b>It</b> gives `<p>x &lt; y</p>` and ``<i>`</i>`` now&amp;then\n")
    assert found[1] == ("prose", "It gives `<p>x &lt; y</p>` and ``<i>`</i>`` now&then")


def test_blanks_in_empty_lines_of_code_stay() -> None:
    (block,) = split_blocks("```text\n  a:\n    \n      b\n```")
    assert block.text == "a:\n  \n    b"


def test_code_followed_by_its_traceback_is_two_blocks() -> None:
    found = kinds(
        '```python\nf(1)\nTraceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: 1\n```'  # noqa: E501
    )
    assert [kind for kind, _ in found] == ["python", "traceback"]


def test_lines_count_from_one_in_the_whole_report() -> None:
    blocks = split_blocks("Title\n\nwords\n\n```python\nf(1)\n```\n")
    assert [(block.kind.value, block.line) for block in blocks] == [
        ("heading", 1),
        ("prose", 3),
        ("python", 6),
    ]


@pytest.mark.parametrize(
    ("text", "language", "kind"),
    [
        ("$ tool a\nout", "", BlockKind.SHELL),
        ("tool a", "bash", BlockKind.SHELL),
        (".. note:: x\n", "", BlockKind.FILE),
        ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@", "", BlockKind.FILE),
        ("(0, 6)", "", BlockKind.OUTPUT),
        ("Some: words", "", BlockKind.OUTPUT),
        ("ValueError: no", "", BlockKind.TRACEBACK),
        (">>> f()", "python", BlockKind.REPL),
        ("import m\n\nm.f(1)\nprint m.g", "", BlockKind.PYTHON),
        ("f(1)\nwhile x:\n        a = 1\n\tb = 2", "", BlockKind.PYTHON),
        ("name = a\nother = some words", "", BlockKind.OUTPUT),
    ],
)
def test_kinds_of_fenced_text(text: str, language: str, kind: BlockKind) -> None:
    assert split_blocks(f"```{language}\n{text}\n```")[0].kind is kind


@given(FENCES)
def test_any_mixture_of_marks_is_read(lines: list[str]) -> None:
    text = "\n".join(lines)
    blocks = split_blocks(text)
    assert all(block.text.strip() for block in blocks)
    assert all(1 <= block.line <= len(lines) + 8 for block in blocks)
    assert split_blocks(text) == blocks


@given(st.text(alphabet=st.sampled_from("`~> \n\t#*-=InOut[]1:.$\"'\\x"), max_size=80))
def test_any_text_of_marks_is_read(text: str) -> None:
    for block in split_blocks(text):
        assert block.text.strip()
