from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.errors import ModelProblem
from pytest_brt.repair.budget import Part, Trim, fit


def words(texts: Sequence[str]) -> tuple[int, ...]:
    return tuple(len(text.split()) for text in texts)


def lines(count: int, of: int = 4) -> str:
    return "\n".join(f"line {n} " + "w " * (of - 2) for n in range(count))


def test_what_fits_is_left_alone() -> None:
    parts = [Part(name="a", text="x y"), Part(name="b", text="z")]
    fitted = fit(parts, 3, words)
    assert (fitted.texts, fitted.tokens, fitted.dropped) == (("x y", "z"), 3, ())


def test_the_least_important_goes_first_and_is_named() -> None:
    parts = [
        Part(name="the report", text="r " * 50, priority=9, trim=Trim.NEVER),
        Part(name="examples", text="e " * 50, priority=1),
        Part(name="the log", text="l " * 50, priority=2),
    ]
    fitted = fit(parts, 100, words)
    assert fitted.texts[1] == ""
    assert fitted.dropped == ("examples: left out",)


@pytest.mark.parametrize(
    ("trim", "first", "last"),
    [(Trim.END, "line 0", "[…"), (Trim.START, "[…", "line 99"), (Trim.MIDDLE, "line 0", "line 99")],
)
def test_a_part_that_is_shortened_says_so_where_it_was_cut(
    trim: Trim, first: str, last: str
) -> None:
    fitted = fit([Part(name="log", text=lines(100), trim=trim)], 100, words)
    cut = fitted.texts[0].split("\n")
    assert cut[0].startswith(first)
    assert cut[-1].startswith(last)
    (gap,) = (line for line in cut if line.startswith("[…"))
    missing = 100 - (len(cut) - 1)
    assert gap == f"[… {missing} lines left out …]"
    assert fitted.dropped == (f"log: {missing} of 100 lines left out",)
    assert 90 <= fitted.tokens <= 100


def test_less_than_a_stub_is_nothing() -> None:
    parts = [
        Part(name="must", text="m " * 80, trim=Trim.NEVER, priority=1),
        Part(name="log", text=lines(100), trim=Trim.END),
    ]
    assert fit(parts, 100, words).texts[1] == ""


def test_what_may_not_be_cut_and_does_not_fit_is_an_error() -> None:
    with pytest.raises(ModelProblem, match=r"needs 80 tokens and 50 .*must \(80\).*--brt-context"):
        fit([Part(name="must", text="m " * 80, trim=Trim.NEVER)], 50, words)


parts = st.builds(
    Part,
    name=st.just("p"),
    text=st.integers(0, 60).map(lines),
    priority=st.integers(0, 3),
    trim=st.sampled_from([trim for trim in Trim if trim is not Trim.NEVER]),
)


@settings(deadline=None)
@given(parts=st.lists(parts, max_size=6), limit=st.integers(0, 500))
def test_it_always_fits_and_everything_missing_is_said(parts: list[Part], limit: int) -> None:
    fitted = fit(parts, limit, words)
    assert sum(words(fitted.texts)) == fitted.tokens <= limit
    changed = sum(part.text != text for part, text in zip(parts, fitted.texts, strict=True))
    assert len(fitted.dropped) == changed
