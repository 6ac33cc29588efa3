"""Which existing tests are run beside the candidates, and for how long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_brt.codec import content_id
from pytest_brt.guard import LOOKING, Guard, Selection, Touched, touched_of
from pytest_brt.guard.existing_tests import keep_selection
from pytest_brt.once import Once
from pytest_brt.types import JudgedTest, Patch

#: Seconds of existing tests with each patch, where nothing else is asked for (docs/ranking.md).
EACH = 2.0
#: Seconds for all patches together where there is no bug test, so that the order is no evidence.
_WITHOUT = 4.0


@dataclass(slots=True, kw_only=True)
class Guarding:
    """The guard of the patches of one issue, and its budget."""

    guard: Guard
    #: What the patches change.
    pool: tuple[Touched, ...] = ()
    #: Seconds for all patches, and for the search on the unpatched tree; None for what is usual.
    total: float | None = None
    #: Is told how far long work is.
    say: Callable[[str], None] = lambda _: None
    #: What was chosen elsewhere.
    chosen: Selection | None = None
    #: File in which the choice is kept between runs, and all that decides it besides the patches.
    kept: Path | None = None
    setting: str = ""
    _chosen: Once[tuple[Touched, ...], Selection] = field(default_factory=Once, init=False)

    def seconds(self, tests: Sequence[JudgedTest]) -> float:
        """Return the seconds for each patch; where no test ranks them, fewer for all together."""
        if self.total is None and tests:
            return EACH
        total = _WITHOUT if self.total is None else self.total
        return total / (len(self.pool) + LOOKING)

    def choose(self, touched: Touched | None, tests: Sequence[JudgedTest]) -> Selection:
        """Return the existing tests to be run with a patch, ranked by `tests`.

        They are the same for all patches of the issue. One that came later, as from a repair, gets
        those that run what it changes as well; one that does not apply gets none.
        """
        if self.chosen is not None or touched is None:
            return self.chosen or Selection()
        pool = tuple(dict.fromkeys((*self.pool, touched)))
        return self._chosen.get(pool, lambda: self._choose(pool, tests))

    def choose_for(self, patch: Patch, tests: Sequence[JudgedTest]) -> Selection:
        """Return the same for a patch of which no more is known."""
        return self.choose(next(touched_of([patch], self.guard.root), None), tests)

    def _choose(self, pool: tuple[Touched, ...], tests: Sequence[JudgedTest]) -> Selection:
        seconds = self.seconds(tests)

        def select() -> Selection:
            self.say("running existing tests without a patch")
            return self.guard.select(pool, allowance=seconds, say=self.say)

        key = content_id(self.setting, repr(pool), f"{seconds}")
        return keep_selection(self.kept, key, select)
