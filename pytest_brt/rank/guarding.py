"""Which existing tests are run beside the candidates, and for how long."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_brt.codec import content_id
from pytest_brt.guard import LOOKING, SILENT, Guard, Selection, Touched, touched_of
from pytest_brt.guard.existing_tests import keep_selection
from pytest_brt.once import Once
from pytest_brt.pysource.parse import parse_or_empty
from pytest_brt.types import JudgedTest, Patch

#: Seconds of existing tests with each patch, where nothing else is asked for (docs/ranking.md).
EACH = 2.0
#: Seconds for all patches together where there is no bug test, so that the order is no evidence.
_WITHOUT = 4.0
#: Names in nearly every test, which tell nothing about what it is about.
_COMMON = frozenset({"pytest", "raises", "test", "self", "print", "str", "repr", "len", "list"})


@dataclass(slots=True, kw_only=True)
class Guarding:
    """The guard of the patches of one issue, and its budget."""

    guard: Guard
    patches: tuple[Patch, ...]
    #: Seconds for all patches, and for the search on the unpatched tree; None for what is usual.
    total: float | None = None
    #: Is told how far long work is.
    say: Callable[[str], None] = lambda _: None
    #: What was chosen elsewhere.
    chosen: Selection | None = None
    #: File in which the choice is kept between runs, and all that decides it besides the patches.
    kept: Path | None = None
    setting: str = ""
    #: What all `patches` change.
    _touched: Once[tuple[Patch, ...], tuple[Touched, ...]] = field(default_factory=Once, init=False)
    _chosen: Once[tuple[Touched, ...], Selection] = field(default_factory=Once, init=False)

    def seconds(self, tests: Sequence[JudgedTest]) -> float:
        """Return the seconds for each patch; where no test ranks them, fewer for all together."""
        if self.total is None and tests:
            return EACH
        total = _WITHOUT if self.total is None else self.total
        return total / (len(self.patches) + LOOKING)

    def choose(self, name: str, touched: Touched, tests: Sequence[JudgedTest]) -> Selection:
        """Return the existing tests to be run with the patch `name`, ranked by `tests`.

        They are the same for all patches of the issue. One that came later, as from a repair, gets
        those that run what it changes as well.
        """
        if self.chosen is not None:
            return self.chosen
        pool = self._touched.get(
            self.patches, lambda: tuple(touched_of(self.patches, self.guard.root))
        )
        pool = tuple(dict.fromkeys((*pool, touched)))
        chosen = self._chosen.get(pool, lambda: self._choose(pool, tests))
        if chosen.seconds >= SILENT:
            number, seconds = len(chosen.tests), chosen.seconds
            self.say(f"{name}: running {number} existing tests, about {seconds:.0f} s")
        return chosen

    def choose_for(self, patch: Patch, tests: Sequence[JudgedTest]) -> Selection:
        """Return the same for a patch of which no more is known; nothing if it does not apply."""
        touched = next(touched_of([patch], self.guard.root), None)
        return Selection() if touched is None else self.choose(patch.name, touched, tests)

    def _choose(self, pool: tuple[Touched, ...], tests: Sequence[JudgedTest]) -> Selection:
        seconds, hints = self.seconds(tests), hints_of(tests)

        def select() -> Selection:
            self.say("running existing tests without a patch")
            return self.guard.select(pool, allowance=seconds, hints=hints, say=self.say)

        key = content_id(self.setting, repr(pool), f"{seconds}", *sorted(hints))
        return keep_selection(self.kept, key, select)


def hints_of(tests: Sequence[JudgedTest]) -> frozenset[str]:
    """Return the names that candidate tests use, but for common ones and those they define."""
    words: set[str] = set()
    for judged in tests:
        for node in ast.walk(parse_or_empty(judged.test.source or "")):
            if isinstance(node, ast.Name):
                words.add(node.id)
            elif isinstance(node, ast.Attribute):
                words.add(node.attr)
            elif isinstance(node, ast.keyword) and node.arg:
                words.add(node.arg)
    return frozenset(word for word in words - _COMMON if len(word) > 2)
