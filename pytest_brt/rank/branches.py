"""Branches of the project's repository as candidate patches, one file each."""

from __future__ import annotations

from pathlib import Path

from pytest_brt.errors import UsageProblem
from pytest_brt.rank.history import History
from pytest_brt.store import write_bytes


def write_branches(history: History, pattern: str, folder: Path) -> None:
    """Write what each branch that matches `pattern` changes into `folder`, as "NAME.diff".

    A branch's patch is what it changed since it left the commit that is checked out. Branches
    that change nothing since (they are merged, or only behind) are no candidates.

    Raises:
        UsageProblem: no branch matches, or none of those that do changes anything.
    """
    names = history.branches(pattern)
    if not names:
        raise UsageProblem(
            f"no branch is called {pattern!r} in {str(history.root)!r} (see 'git branch --all'; "
            "* and ? stand for parts of a name)"
        )
    texts = {name: history.diff_of(name) for name in names}
    if not any(texts.values()):
        raise UsageProblem(
            f"{', '.join(names)}: nothing is changed there since the commit that is checked out "
            "(check out the buggy commit first)"
        )
    for name, text in texts.items():
        if text:
            write_bytes(folder / f"{name}.diff", text)
