from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_brt.agent.paths import Paths
from pytest_brt.agent.reply import Unread, read_reply
from pytest_brt.agent.tree import Tree, text_lines
from pytest_brt.errors import FixProblem
from pytest_brt.repair.correct import correct_fix
from pytest_brt.repair.fix import (
    EditKind,
    Fix,
    LineEdit,
    apply_fix,
    parse_fix,
    parse_paper_fix,
    paths_of,
)
from pytest_brt.repair.write_fix import BLOCKS, VARIANT
from pytest_brt.types import FileChange

SOURCE = b"def f(x):\n    if x:\n        return 1\n    return 2\n"


def edit(kind: str, first: int, last: int, *lines: str, path: str = "a.py") -> LineEdit:
    return LineEdit(path=path, kind=EditKind(kind), first=first, last=last, lines=lines)


def applied(*edits: LineEdit, source: bytes = SOURCE) -> bytes:
    (change,) = apply_fix(edits, {"a.py": source, "tests/test_a.py": b"\n"}.get)
    assert change.content is not None
    return change.content


def test_numbers_are_those_of_the_file_as_it_is() -> None:
    new = applied(
        edit("insert", 1, 1, "# top", "# more"),
        edit("replace", 2, 3, "    if not x:"),
        edit("delete", 4, 4),
        edit("insert", 5, 5, "    pass"),
    )
    assert new == b"# top\n# more\ndef f(x):\n    if not x:\n    pass\n"


def test_insertions_at_one_place_keep_their_order_and_come_before_what_replaces_it() -> None:
    new = applied(edit("replace", 1, 1, "c"), edit("insert", 1, 1, "a"), edit("insert", 1, 1, "b"))
    assert new.splitlines()[:3] == [b"a", b"b", b"c"]


def test_line_ends_and_encoding_stay() -> None:
    assert applied(edit("insert", 2, 2, "x"), source=b"a\r\nb\r\n") == b"a\r\nx\r\nb\r\n"
    assert applied(edit("replace", 2, 2, "x"), source=b"a\nb") == b"a\nx"
    latin = "# -*- coding: latin-1 -*-\nä = 1\n".encode("latin-1")
    assert applied(edit("replace", 2, 2, "ö = 1"), source=latin).endswith(
        "ö = 1\n".encode("latin-1")
    )
    bom = b"\xef\xbb\xbfa\nb\n"
    assert applied(edit("replace", 2, 2, "c"), source=bom) == b"\xef\xbb\xbfa\nc\n"


@pytest.mark.parametrize(
    ("edits", "why"),
    [
        ((), "no edit"),
        ((edit("replace", 5, 5, "x"),), "has 4 lines"),
        ((edit("replace", 3, 2, "x"),), "has 4 lines"),
        ((edit("insert", 6, 6, "x"),), "has 4 lines"),
        ((edit("delete", 1, 2), edit("replace", 2, 2, "x")), "changed twice"),
        ((edit("replace", 1, 3, "x"), edit("insert", 2, 2, "y")), "replaced and inserted"),
        ((edit("replace", 1, 1, "def f(x):"),), "leaves the code as it is"),
        ((edit("replace", 1, 1, "x", path="b.py"),), "no such file"),
        ((edit("replace", 1, 1, "x", path="tests/test_a.py"),), "is tests"),
    ],
)
def test_what_cannot_be_applied_is_said(edits: tuple[LineEdit, ...], why: str) -> None:
    with pytest.raises(FixProblem, match=why):
        applied(*edits)


def test_configuration_is_not_changed() -> None:
    fix = (edit("insert", 1, 1, "x", path="conftest.py"),)
    with pytest.raises(FixProblem, match="pytest configuration"):
        apply_fix(fix, {"conftest.py": b"\n"}.get)


words = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=20)
lines = st.lists(words, min_size=1, max_size=4).map(tuple)
paths = st.from_regex(r"[a-z_]{1,8}(/[a-z_]{1,8}){0,2}\.py", fullmatch=True)


@st.composite
def edits(draw: st.DrawFn) -> LineEdit:
    kind = draw(st.sampled_from(EditKind))
    first = draw(st.integers(1, 400))
    last = first if kind is EditKind.INSERT else first + draw(st.integers(0, 30))
    new = () if kind is EditKind.DELETE else draw(lines)
    return LineEdit(path=draw(paths), kind=kind, first=first, last=last, lines=new)


fixes = st.lists(edits(), min_size=1, max_size=5).map(tuple)


def render_fix(fix: Fix) -> tuple[str, tuple[str, ...]]:
    """Return the places of a fix and its blocks of code, each ending with a newline."""
    places = "; ".join(f"{edit.path} {edit.kind} {_span(edit)}" for edit in fix)
    blocks = (edit.lines for edit in fix if edit.kind is not EditKind.DELETE)
    return places, tuple("".join(f"{line}\n" for line in lines) for lines in blocks)


def render_paper_fix(fix: Fix) -> str:
    """Return a fix in the paper's JSON, which changes single lines."""
    files = []
    for path in paths_of(fix):
        insertions: list[object] = []
        modifications: list[object] = []
        deletions: list[int] = []
        # What is left over of a longer replacement comes before what is inserted below it.
        for edit in sorted(fix, key=lambda edit: edit.first):
            if edit.path != path:
                continue
            numbers = range(edit.first, edit.last + 1)
            if edit.kind is EditKind.INSERT:
                insertions.append({"line_number": edit.first, "new_lines": list(edit.lines)})
                continue
            shared = min(len(edit.lines), len(numbers))
            for number, line in zip(numbers, edit.lines, strict=False):
                modifications.append({"line_number": number, "modified_line": line})
            deletions += numbers[shared:]
            if len(edit.lines) > shared:
                rest = list(edit.lines[shared:])
                insertions.append({"line_number": edit.last + 1, "new_lines": rest})
        files.append(
            {
                "file_path": path,
                "insertions": insertions,
                "deletions": deletions,
                "modifications": modifications,
            }
        )
    return json.dumps(files)


def _span(edit: LineEdit) -> str:
    return str(edit.first) if edit.first == edit.last else f"{edit.first}-{edit.last}"


@given(fixes)
def test_a_fix_that_is_rendered_is_read_back(fix: Fix) -> None:
    assert parse_fix(*render_fix(fix)) == fix


@given(fixes)
@example(fix=(edit("insert", 2, 2, "x"), edit("replace", 1, 1, "y", "z")))
def test_the_papers_form_does_the_same(fix: Fix) -> None:
    content = "".join(f"line {number}\n" for number in range(1, 500)).encode()
    tree = dict.fromkeys(paths_of(fix), content)
    try:
        wanted = apply_fix(fix, tree.get)
    except FixProblem:
        return
    assert apply_fix(parse_paper_fix(render_paper_fix(fix)), tree.get) == wanted


def test_the_papers_form_is_taken_wherever_it_stands() -> None:
    fix = (edit("delete", 3, 3), edit("replace", 2, 2, "x"), edit("insert", 1, 1, "y"))
    text = render_paper_fix(fix)
    assert parse_fix(text, ()) == parse_fix("", (text,)) == fix
    assert parse_fix('[{"file_path": "a.py", "deletions": [3]}]', ()) == fix[:1]


def test_the_papers_own_example_deletes_and_modifies_one_line() -> None:
    # Figure 5 of paper 004, in small: of the line that is both, the modification wins.
    figure = json.dumps(
        [
            {
                "file_path": "a.py",
                "insertions": [{"line_number": 2, "new_lines": ["# new\n", "# more\n"]}],
                "deletions": [4, 5],
                "modifications": [{"line_number": 4, "modified_line": "four is other\n"}],
            },
            {"file_path": "b.py", "insertions": [], "deletions": [1], "modifications": []},
        ]
    )
    content = b"one\ntwo\nthree\nfour\nfive\n"
    first, second = apply_fix(parse_fix(figure, ()), {"a.py": content, "b.py": content}.get)
    assert first.content == b"one\n# new\n# more\ntwo\nthree\nfour is other\n"
    assert second.content == b"two\nthree\nfour\nfive\n"


@pytest.mark.parametrize(
    ("places", "blocks", "why"),
    [
        ("", (), "no place"),
        ("a.py change 3", ("x\n",), "no place"),
        ("a.py replace 3", (), "no block"),
        ("a.py delete 3", ("x\n",), "1 more block of code"),
        ('[{"file_path": "a.py", "modifications": [{"line_number": "z"}]}]', (), "line_number"),
        ('[{"file_path": "a.py"', (), "not JSON"),
    ],
)
def test_what_is_no_fix_is_told_with_the_form(
    places: str, blocks: tuple[str, ...], why: str
) -> None:
    with pytest.raises(FixProblem, match=why):
        parse_fix(places, blocks)


def corrected(*edits: LineEdit) -> tuple[bytes | None, tuple[str, ...]]:
    change = FileChange(path="a.py", content=SOURCE)
    tree = Tree(root=Path(), files=frozenset(), changed={"a.py": change})
    found = correct_fix(edits, tree)
    return found.changes[0].content, found.notes


def test_the_indentation_is_corrected() -> None:
    content, notes = corrected(edit("replace", 3, 3, "if x > 1:", "    return 3", "return 1"))
    assert text_lines(content or b"")[2:5] == (
        "        if x > 1:",
        "            return 3",
        "        return 1",
    )
    assert notes == ("indentation corrected",)


def test_numbers_of_a_listing_are_taken_off() -> None:
    content, notes = corrected(
        edit("replace", 2, 3, "    2|     if not x:", "    3|         return 1")
    )
    assert text_lines(content or b"")[1:3] == ("    if not x:", "        return 1")
    assert notes == ("line numbers taken off the code",)


def test_what_does_not_parse_is_told_with_its_line() -> None:
    with pytest.raises(FixProblem, match=r"syntax error in 'a.py' with this fix, line 2: .*\n"):
        corrected(edit("replace", 2, 2, "    if x"))


def test_of_more_blocks_than_a_fix_may_have_none_is_left_out_silently() -> None:
    reply = '{"thought": "t", "action": "write_fix", "changes": "a.py replace 1"}\n'
    blocks = "```python\nx\n```\n" * (BLOCKS + 1)
    read = read_reply(reply + blocks, {VARIANT.name: VARIANT}, paths=Paths(frozenset({"a.py"})))
    assert isinstance(read, Unread)
    assert read.why == f"There are {BLOCKS + 1} blocks of code: write_fix takes {BLOCKS} at most."
