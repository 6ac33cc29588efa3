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
