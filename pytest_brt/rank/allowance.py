"""How long what is run beside the candidates may take: about as long as they did."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock


@dataclass(slots=True, kw_only=True)
class Allowance:
    """Seconds for the patches of one issue; safe to use from many threads."""

    #: Wall-clock seconds for all patches together, and the unpatched tree; None means as long
    #: as making the tests and running them on all patches takes.
    seconds: float | None = None
    #: Number of patches of the issue.
    patches: int
    #: Seconds that making the tests took.
    spent: float
    #: Seconds that one tree may always take: less says nothing.
    least: float = 5.0
    _share: float | None = field(default=None, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def share(self, row_seconds: float) -> float:
        """Return the seconds for one tree; the same for every patch, by the first to ask.

        Args:
            row_seconds: what the tests took on one patch.
        """
        with self._lock:
            if self._share is None:
                total = self.seconds
                if total is None:
                    total = self.spent + row_seconds * self.patches
                self._share = max(self.least, total / (self.patches + 1))
            return self._share
