"""A report's text stays whole, whatever is code in it."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.render.forms import coded
from tests.render.pages import read

PIECES = st.lists(st.sampled_from(["```", "~~~", "`", "a", "b c", "<b>", "\n", " "]), max_size=30)


@given(PIECES)
def test_all_words_stay_and_elements_nest(pieces: list[str]) -> None:
    text = "".join(pieces)
    outline = read(str(coded(text)))
    assert set(outline.tags) <= {"pre", "code"}
    shown, whole = (Counter(re.findall("[a-c<>]", part)) for part in (outline.text, text))
    # What stands behind an opening fence is no part of the code, nor shown.
    assert shown <= whole
    if "pre" not in outline.tags:
        assert shown == whole
