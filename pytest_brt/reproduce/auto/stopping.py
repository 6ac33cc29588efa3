"""When more samples would not change what is known any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Samples of the batches, one after the other; the last size is repeated.
BATCHES = (4, 4, 8, 8, 16)
#: Samples at most, unless the user says.
MOST = 48
#: Samples without a single failing test after which others ways are better.
_HOPELESS = 16
#: The leading cluster's share has stopped moving when it moves by less than this.
_STILL = 0.05
#: Samples and agreeing samples before that is believed.
_LEAST, _AGREE = 8, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """What is known after a batch."""

    samples: int
    #: Samples that fail as those of the largest cluster do.
    leading: int

    @property
    def share(self) -> float:
        """The posterior mean of the share of samples in the leading cluster.

        >>> Sampled(samples=4, leading=2).share
        0.5
        """
        return (self.leading + 1) / (self.samples + 2)


def why_stop(history: Sequence[Sampled], most: int = MOST) -> str:
    """Return why no further batch is to be drawn, "" when one is."""
    if not history:
        return ""
    now = history[-1]
    if now.samples >= most:
        return f"{now.samples} samples were allowed"
    if not now.leading:
        if now.samples >= _HOPELESS:
            return f"none of {now.samples} samples fails as the report says"
        return ""
    moved = abs(now.share - history[-2].share) if len(history) > 1 else 1.0
    if now.samples >= _LEAST and now.leading >= _AGREE and moved < _STILL:
        return f"{now.leading} of {now.samples} samples fail alike, and more do not change that"
    return ""


def next_batch(history: Sequence[Sampled], most: int = MOST) -> int:
    """Return the size of the next batch."""
    size = BATCHES[min(len(history), len(BATCHES) - 1)]
    done = history[-1].samples if history else 0
    return max(1, min(size, most - done))
