"""Which existing tests are run beside the candidates, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_brt.guard import LOOKING, Guard, Selection, Touched, touched_of
from pytest_brt.once import Once
from pytest_brt.store import Journal
from pytest_brt.types import Patch

#: Seconds of existing tests with each patch, where nothing else is asked for (docs/ranking.md).
EACH = 2.0


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
    #: Where the choice is kept between runs.
    kept: Journal | None = None
    _chosen: Once[tuple[Touched, ...], Selection] = field(default_factory=Once, init=False)

    @property
    def seconds(self) -> float:
        """The seconds for each patch."""
        return EACH if self.total is None else self.total / (len(self.pool) + LOOKING)

    def choose(self, touched: Touched | None) -> Selection:
        """Return the existing tests to be run with a patch.

        They are the same for all patches of the issue. One that came later, as from a repair, gets
        those that run what it changes as well; one that does not apply gets none.
        """
        if self.chosen is not None or touched is None:
            return self.chosen or Selection()
        pool = tuple(dict.fromkeys((*self.pool, touched)))
        return self._chosen.get(pool, lambda: self._choose(pool))

    def choose_for(self, patch: Patch) -> Selection:
        """Return the same for a patch of which no more is known."""
        return self.choose(next(touched_of([patch], self.guard.root), None))

    def _choose(self, pool: tuple[Touched, ...]) -> Selection:
        names = (repr(pool), f"{self.seconds}")
        known = self.kept.get(Selection, *names) if self.kept else None
        if known is None:
            self.say("running existing tests without a patch")
            known = self.guard.select(pool, allowance=self.seconds, say=self.say)
            if self.kept:
                self.kept.forget()
                self.kept.put(known, *names)
        return known
