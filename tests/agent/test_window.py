from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_brt.agent.excerpt import Room, changed_lines, picked_lines, window


def words(text: str) -> int:
    return len(text.split())


def shown(lines: list[str], first: int, most: int) -> tuple[int, list[str]]:
    end, text = window(lines, first, len(lines), Room(most=most, count=words))
    return end, text.splitlines()


@given(st.integers(1, 80), st.integers(1, 300), st.data())
def test_the_shown_lines_follow_each_other_and_fit(
    total: int, most: int, data: st.DataObject
) -> None:
    first = data.draw(st.integers(1, total))
    end, out = shown([f"line {n}" for n in range(1, total + 1)], first, most)
    numbers = [int(line[:5]) for line in out]
    assert numbers == list(range(first, end + 1))
    assert numbers
    assert len(numbers) == 1 or words("\n".join(out)) <= most


def test_a_line_that_is_very_long_is_shortened() -> None:
    _, (line,) = shown(["x" * 5000], 1, 1000)
    assert "characters left out" in line
    assert len(line) < 500


def test_an_empty_file_has_no_lines() -> None:
    assert shown([], 1, 100) == (0, [])


def test_changes_far_apart_are_shown_each() -> None:
    old = [str(n) for n in range(1, 101)]
    new = [*old[:9], "ten", *old[10:79], *old[80:]]
    wanted = changed_lines(old, new)
    assert wanted == [*range(5, 16), *range(75, 85)]
    told = picked_lines(tuple(new), wanted).splitlines()
    assert told[0] == "  […]"
    assert told.count("  […]") == 3
    assert "   10| ten" in told


def test_lines_added_at_the_end_are_shown() -> None:
    assert changed_lines(["a"], ["a", "b", "c"]) == [1, 2, 3]
    assert changed_lines(["a"], ["a"]) == []
