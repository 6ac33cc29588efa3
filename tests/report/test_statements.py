"""Report texts → statements with claims: what a report says of its code is read, and no more."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.report.load import read_issue
from pytest_brt.report.statements import read_report
from pytest_brt.types import BlockKind
from pytest_brt.types.report import Reading

#: A line of what a report comes to: a statement, and its claims as "role value" or "role Error".
Lines = list[tuple[str, list[str]]]


def read(text: str) -> Reading:
    return read_report(read_issue(textwrap.dedent(text).strip("\n"), "report.md"))


def lines_of(text: str) -> Lines:
    return [
        (one.source, [f"{c.role} {c.exception or c.text.strip()}" for c in one.claims])
        for one in read(text).statements
    ]


SESSIONS: dict[str, tuple[str, Lines]] = {
    "a loop with more prompts": (
        """
        Loop

        ```pycon
        >>> for n in (1, 2):
        ...     print(total([n]))
        1
        3
        ```
        """,
        [("for n in (1, 2):\n    print(total([n]))", ["shown 1\n3"])],
    ),
    "bare prompts": (
        """
        Totals

        ```
        > for n in (1, 2):
        >     f(n)
        > else:
        >     total([2])
        4
        > total([1])
        2
        ```
        """,
        [
            ("for n in (1, 2):\n    f(n)\nelse:\n    total([2])", ["shown 4"]),
            ("total([1])", ["shown 2"]),
        ],
    ),
    "a name that nothing but its value defines": (
        """
        Totals

        ```
        >>> text
        '1,2'
        >>> total(text)
        4
        >>> text
        '1,2,'
        >>> _
        '1,2,'
        ```
        """,
        [
            ("text = '1,2'", []),
            ("total(text)", ["shown 4"]),
            ("text", ["shown '1,2,'"]),
            ("_", ["shown '1,2,'"]),
        ],
    ),
    "a remark beside a line of output": (
        """
        Totals

        >>> print(total([1]))
        2**3 is
        **2**  <--- wrong!
        """,
        [("print(total([1]))", ["shown 2**3 is\n2"])],
    ),
    "output in the next block": (
        """
        Totals

        ```python
        print(total([1, 2]))
        ```

        Output:

        ```
        4
        ```

        Expected output:

        ```
        3
        ```
        """,
        [("print(total([1, 2]))", ["actual 4", "expected 3"])],
    ),
    "a line of output for each statement": (
        """
        Totals

        ```python
        print(total([1]))
        print(total([2]))
        ```
        gives
        ```
        2
        4
        ```
        """,
        [("print(total([1]))", ["actual 2"]), ("print(total([2]))", ["actual 4"])],
    ),
    "a result typed in below, without a prompt": (
        """
        Totals

        ```python
        total([1, 2])  # wrong
        4
        ```
        """,
        [("total([1, 2])", ["actual ", "shown 4"])],
    ),
    "what happens, below a sentence that states what should": (
        """
        Totals

        It should return `1`:

        ```
        >>> total([1])
        2
        ```
        """,
        [("total([1])", ["shown 2", "expected 1"])],
    ),
    "labels": (
        """
        Totals

        ```python
        total([1, 2])
        ```

        **Expected**: 3

        **Actual:** 4
        """,
        [("total([1, 2])", ["expected 3", "actual 4"])],
    ),
    "labels of a name": (
        """
        Totals

        I take `box = Box(1)`.
        Result: `sums = [4]`
        **Expected sums:** sums = [3].

        Expected: class = 3
        """,
        [("box = Box(1)", []), ("sums", ["actual [4]", "expected [3]"])],
    ),
    "text below a heading": (
        """
        Totals

        ```python
        print(total("a;b"))
        ```

        ## expect

        a;b;c

        ## what I got

        b
        """,
        [('print(total("a;b"))', ["expected a;b;c"])],
    ),
    "values below a heading": (
        """
        # Totals

        ```python
        total([1, 2])
        ```

        ### Current behavior

        `4`

        ### Expected behavior

        `3`
        """,
        [("total([1, 2])", ["actual 4", "expected 3"])],
    ),
}


@pytest.mark.parametrize("words", ["no longer works", "does not work"])
def test_what_raises_does_not_work(words: str) -> None:
    shown = "Traceback (most recent call last):\nKeyError: 1"
    ((_, (claim,)),) = lines_of(f"Off\n\nThis {words}:\n\n```\n>>> f(1)\n{shown}\n```\n")
    assert claim == "shown KeyError"


@pytest.mark.parametrize("name", SESSIONS)
def test_code_with_what_it_gives(name: str) -> None:
    text, lines = SESSIONS[name]
    assert lines_of(text) == lines


SENTENCES: dict[str, tuple[str, Lines]] = {
    "expected": ("I expected `f(1)` to be `3`.", [("f(1)", ["expected 3"])]),
    "instead of": ("`f(1)` gives `2` instead of `3`.", [("f(1)", ["actual 2", "expected 3"])]),
    "should, instead of": (
        "`f(1)` should give `3` instead of `2`.",
        [("f(1)", ["expected 3", "actual 2"])],
    ),
    "raises": ("`f(1)` raises `KeyError`.", [("f(1)", ["actual KeyError"])]),
    "should raise": ("`f(1)` should raise `ValueError`.", [("f(1)", ["expected ValueError"])]),
    "expect an exception": (
        "`f(1)` gives `2`. I would expect a `ValueError` here.",
        [("f(1)", ["actual 2", "expected ValueError"])],
    ),
    "does not raise": ("`f(1)` doesn't raise `ValueError`.", [("f(1)", ["expected ValueError"])]),
    "is not raised": (
        "With `f(1)` the `ValueError` is not being raised.",
        [("f(1)", ["expected ValueError"])],
    ),
    "do not expect": ("`f(1)` fails. I didn't expect a `ValueError`.", [("f(1)", [])]),
    "should not raise": (
        "`f(1)` should not raise `ValueError`.",
        [("f(1)", ["actual ValueError"])],
    ),
    "in a sentence of its own": (
        "`f(1)` gives `2`, no error. It should raise ValueError.",
        [("f(1)", ["actual 2", "expected ValueError"])],
    ),
    "used to": ("`f(1)` used to return `3`.", [("f(1)", ["fine 3"])]),
    "more than a number": ("`f(1)` should be 10-000.", [("f(1)", [])]),
    "a string in quotes": ("`f(1)` returns 'two words'.", [("f(1)", ["actual 'two words'"])]),
    "the name of a function is no code": ("I call `f()` and `g`.", []),
    "a form is no code": ("`f(..., 1)` fails.", []),
    "a constant is no code": ("Python `3` and `'x'`.", []),
    "an abbreviation ends no sentence": (
        "With f, e.g. `f(1)` it returns `2`.",
        [("f(1)", ["actual 2"])],
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_code_in_sentences(name: str) -> None:
    text, lines = SENTENCES[name]
    assert sorted(lines_of(f"Something is off here\n\n{text}")) == sorted(lines)


COMMENTS: dict[str, list[str]] = {
    "f(1)  # should be 3": ["expected 3"],
    "f(1)  # 3": ["shown 3"],
    "f(1)  # returns 2": ["actual 2"],
    "f(1)  # raises KeyError": ["actual KeyError"],
    "f(1) <-- wrong": ["actual "],
    "f(1) <- 2  # 3": ["shown 3"],
    "f(1)  # works": ["fine "],
    "f(1)  # the first": [],
    "f(1)\n# -> 3": ["shown 3"],
}


@pytest.mark.parametrize("code", COMMENTS)
def test_comments_at_code(code: str) -> None:
    lines = lines_of(f"Something is off\n\n```python\n{code}\n```\n")
    assert [claims for _, claims in lines] == [COMMENTS[code]]


def test_a_claim_before_the_code_is_about_the_code() -> None:
    text = "Off\n\nThis returns `2`:\n\n```python\nf(1)\n```\n"
    assert lines_of(text) == [("f(1)", ["actual 2"])]


def test_code_in_a_sentence_that_a_block_has_gives_its_claims_to_it() -> None:
    text = "Off\n\n```python\nf(1)\n```\n\n`f(1)` should return `2`.\n"
    assert lines_of(text) == [("f(1)", ["expected 2"])]


def test_statements_around_one_that_is_not_python_are_read() -> None:
    reading = read("Off\n\n```python\nx = 1\nprint x\nf(x)\n```\n")
    assert [one.source for one in reading.statements] == ["x = 1", "f(x)"]
    (gap,) = reading.left_out
    assert (gap.line, gap.code) == (5, "print x")


@pytest.mark.parametrize(
    ("code", "sources"),
    [
        ("if __name__ == '__main__':\n    f(1)", ["f(1)"]),
        ("if __name__ == '__main__':\n    x = '''\na'''\n    f(x)", ["x = '''\na'''", "f(x)"]),
        ("@d\ndef f():\n    pass", ["@d\ndef f():\n    pass"]),
        ("f(1); g(2)", ["f(1)", "g(2)"]),
    ],
)
def test_snippets(code: str, sources: list[str]) -> None:
    assert [source for source, _ in lines_of(f"Off\n\n```python\n{code}\n```\n")] == sources


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("It should raise a clearer error.", True),
        ("I would like a better message.", True),
        ("It should not raise an error.", False),
        ("It raises an error.", False),
    ],
)
def test_whether_an_exception_may_be_wanted(text: str, wanted: bool) -> None:
    assert read(f"Off\n\n{text}").wants_exception is wanted


def test_exceptions_are_known_from_tracebacks_and_names() -> None:
    text = (
        "Off\n\n```\nTraceback (most recent call last):\n"
        '  File "/x/cart.py", line 3, in total\n    x\nKeyError: 1\n```\n\nNot a `ValueError`.\n'
    )
    shown = read(text).exceptions
    assert {(one.type, len(one.frames)) for one in shown} == {("KeyError", 1), ("ValueError", 0)}


def test_the_reporters_tests_come_with_what_they_need() -> None:
    text = (
        "Off\n\n```python\nimport cart\n\n@cart.fixture\ndef box():\n    return 1\n\n"
        "def test_a(box):\n    assert cart.total(box)\n\nclass TestB:\n    n = 1\n\n"
        "    def test_c(self):\n        pass\n\n    def test_d(self):\n        pass\n```\n"
    )
    tests = read(text).tests
    assert [test.name for test in tests] == ["test_a", "TestB::test_c", "TestB::test_d"]
    assert tests[0].setup == ("import cart", "@cart.fixture\ndef box():\n    return 1")


def kinds(text: str) -> list[tuple[BlockKind, str]]:
    blocks = read_issue(textwrap.dedent(text).strip("\n"), "x.md").blocks
    return [(block.kind, block.text) for block in blocks[1:]]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("```python\nf(1)\n```", BlockKind.PYTHON),
        ("```\nx = f(1)\n```", BlockKind.PYTHON),
        ("```\nplain words of a tool\n```", BlockKind.OUTPUT),
        ("```text\nf(1)\n```", BlockKind.OUTPUT),
        ("```console\n$ ls\n```", BlockKind.SHELL),
        ("```\n$ python -m cart\n```", BlockKind.SHELL),
        ("```toml\n[a]\n```", BlockKind.FILE),
        ("```diff\n--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n```", BlockKind.FILE),
        ("    x = f(1)", BlockKind.PYTHON),
        ("```\nTraceback (most recent call last):\nKeyError: 1\n```", BlockKind.TRACEBACK),
        ("<details>\n\n```python\nf(1)\n```\n\n</details>", BlockKind.PYTHON),
        ("1. Run\n   ```python\n   f(1)\n   ```", BlockKind.PYTHON),
        ("```python\nf(1)\nTraceback (most recent call last):\nKeyError: 1\n```", BlockKind.PYTHON),
        ("> quoted\n> ```python\n> f(1)\n> ```", BlockKind.PYTHON),
    ],
)
def test_kinds_of_blocks(text: str, kind: BlockKind) -> None:
    found = [one for one, _ in kinds(f"Title of it\n\n{text}\n")]
    assert kind in found
    assert set(found) <= {kind, BlockKind.PROSE}


def test_html_is_read_as_prose() -> None:
    reading = read("Off\n\n<p>\n`f(1)` returns `2`\n</p>\n")
    assert [(one.source, len(one.claims)) for one in reading.statements] == [("f(1)", 1)]


def test_comments_of_html_are_not_read_and_lines_keep_their_numbers() -> None:
    reading = read("Off\n\n<!-- `f(9)`\n\n>>> f(9)\n-->\nIt <!-- `f(8)` --> is.\n\n>>> f(1)\n")
    assert [(one.source, one.line) for one in reading.statements] == [("f(1)", 9)]


def test_a_comment_of_html_in_code_is_code() -> None:
    text = "`f('<!-- a -->')` fails."
    assert kinds(f"Off\n\n{text}") == [(BlockKind.PROSE, text)]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# clamp() is off\n\nIt is.", "clamp() is off"),
        ("clamp() is off\n\nIt is.", "clamp() is off"),
        ("### What happened?\n\nclamp() is off.\n", "What happened?"),
        ("<!-- Thanks -->\n\n## Bug report\n\nclamp() is off.\n", "Bug report"),
        ('{"title": "clamp() is off", "body": "It is."}', "clamp() is off"),
    ],
)
def test_titles(text: str, title: str) -> None:
    assert read_issue(text, "x.md").title == title


def test_of_a_log_the_start_is_read() -> None:
    log = "".join(f"12:00 crawled page {n} ok\n" for n in range(20_000))
    issue = read_issue(f"Off\n\n```python\nf(1)\n```\n\n{log}", "x.md")
    assert issue.blocks[1].text == "f(1)"
    assert issue.unread > 200_000


PIECES = st.lists(
    st.sampled_from(
        ["```", "```python", "~~~", "    x = 1", ">>> f(1)", "... 2", "In [1]: f()", "Out[1]: 3",
         "Traceback (most recent call last):", '  File "a.py", line 1, in f', "ValueError: no",
         "`f(1)` returns `2`", "", "# Expected", "**Actual**", "- item", "$ ls", "<details>",
         "<!-- a", "-->", "---", "> quoted", "1. one", "def f(", "§0§"]
    )
)  # fmt: skip


@given(PIECES)
def test_any_text_is_read(lines: list[str]) -> None:
    text = "\n".join(lines)
    if any(letter.isalnum() for letter in text):
        reading = read(f"T{text}")
        assert all(one.source.strip() for one in reading.statements)
