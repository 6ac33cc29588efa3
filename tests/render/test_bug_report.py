"""A report's text stays whole, whatever is code in it and whatever is marked."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.render.html import marked
from tests.render.pages import read

PIECES = st.lists(st.sampled_from(["```", "~~~", "`", "a", "b c", "<b>", "\n", " "]), max_size=30)


@given(PIECES, st.lists(st.sampled_from(["a", "b c", "a\na", "` a", "<b>"]), max_size=3))
def test_all_words_stay_and_elements_nest(pieces: list[str], quotes: list[str]) -> None:
    text = "".join(pieces)
    outline = read(str(marked(text, quotes)))
    assert set(outline.tags) <= {"pre", "code", "mark"}
    shown, whole = (Counter(re.findall("[a-c<>]", part)) for part in (outline.text, text))
    # What stands behind an opening fence is no part of the code, nor shown.
    assert shown <= whole
    if "pre" not in outline.tags:
        assert shown == whole


def test_a_quote_that_begins_outside_of_code_is_marked_in_both() -> None:
    assert marked("it is `5` here", ["is `5`"]) == (
        "it <mark>is </mark><code><mark>5</mark></code> here"
    )
    assert marked("no\n```\nx = 1\n```", ["x = 1"]) == (
        'no\n<pre tabindex="0"><mark>x = 1</mark>\n</pre>'
    )
