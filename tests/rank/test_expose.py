"""Which patches only special-case the reported input."""

from __future__ import annotations

from pytest_brt.rank.expose import exposures_of
from pytest_brt.types import PatchResult, Varied
from tests.rank.rows import row


def patch(name: str, mended: str) -> PatchResult:
    """Return a patch after which the changes of the literals in `mended` fail no more."""
    varied = tuple(
        Varied(
            test="t0",
            literal=literal,
            change=f"{literal} → {number}",
            source="",
            decides=True,
            before="KeyError: 1",
            after="passes" if literal in mended else "KeyError: 1",
        )
        for literal in ("a", "b")
        for number in range(4)
    )
    return row(name, "p", varied=varied, normal=name)


def test_a_change_that_no_patch_mends_tells_none_of_them() -> None:
    exposed = exposures_of([patch("right", "b"), patch("literal", ""), patch("right too", "b")])
    assert [e.varied.literal if e else "" for e in exposed] == ["", "b", ""]


def test_two_patches_alone_are_judged_by_every_change() -> None:
    exposed = exposures_of([patch("one", "ab"), patch("two", "")])
    assert [e.varied.literal if e else "" for e in exposed] == ["", "a"]


def renaming(name: str, *after: str) -> PatchResult:
    """Return a patch that does this with other names for what the test calls g."""
    varied = tuple(
        Varied(
            test="t0",
            literal="the name g",
            change=f"the name g → {number}",
            source="",
            decides=True,
            before="KeyError: 1",
            after=words,
            renamed=True,
        )
        for number, words in enumerate(after)
    )
    return row(name, "p", varied=varied, normal=name)


def test_of_names_one_patch_shows_that_they_do_not_matter() -> None:
    literal = renaming("literal", "KeyError: 1", "KeyError: 1")
    right = renaming("right", "passes", "passes")
    exposed = exposures_of([literal, right])
    assert [bool(exposure) for exposure in exposed] == [True, False]
    other = renaming("other", "passes", "KeyError: 2")
    assert exposures_of([literal, other]) == (None, None)
    assert exposures_of([literal]) == (None,)
    assert exposures_of([renaming("once", "KeyError: 1"), right]) == (None, None)
    assert exposures_of([renaming("half", "passes", "KeyError: 1"), right]) == (None, None)
