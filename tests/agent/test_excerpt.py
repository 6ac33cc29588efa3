"""What a model is shown is short, and says what is missing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.agent.excerpt import cut, without_repeats


def words(text: str) -> int:
    return len(text.split())


def test_a_stretch_that_repeats_is_shown_once() -> None:
    text = "begin\n" + "".join(f"a {n}\nb 0x7{n}\n" for n in range(5)) + "end"
    assert (
        without_repeats(text, numbers=False)
        == "begin\na 0\nb 0x70\n[the 2 lines above, 4 more times]\nend"
    )
    assert without_repeats(text) == text


def test_lines_that_differ_are_all_shown() -> None:
    text = "\n".join(["def f():", "    return 1", "", "def g():", "    return x"])
    assert without_repeats(text) == text


def test_the_middle_is_left_out_and_that_is_said() -> None:
    text = "\n".join(f"line {chr(97 + n % 26)}{n}" for n in range(100))
    short = cut(text, 40, words)
    assert words(short) <= 40
    lines = short.split("\n")
    assert lines[0] == "line a0"
    assert lines[-1] == text.rpartition("\n")[2]
    left_out = 100 - (len(lines) - 1)
    assert f"[… {left_out} lines left out …]" in lines


def test_what_fits_is_not_touched() -> None:
    assert cut("a\n\nb ", 2, words) == "a\n\nb "


@given(st.text(alphabet="ab \n", max_size=300), st.integers(8, 30))
def test_it_always_fits(text: str, most: int) -> None:
    assert words(cut(without_repeats(text), most, words)) <= most


def test_a_line_without_end_is_cut_inside() -> None:
    shown = cut("x" * 5000 + "\nend", 700, len)
    assert "4600 characters left out" in shown
    assert shown.endswith("\nend")
