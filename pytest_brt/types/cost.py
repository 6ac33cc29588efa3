"""What was spent on a model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What was spent on a model."""

    calls: int = 0
    #: Tokens of the prompts, and those of them that had to be evaluated.
    prompt_tokens: int = 0
    evaluated: int = 0
    #: Tokens made.
    tokens: int = 0
    #: Wall-clock seconds of waiting for it.
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        """Return the sum of both."""
        return Cost(
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            evaluated=self.evaluated + other.evaluated,
            tokens=self.tokens + other.tokens,
            seconds=self.seconds + other.seconds,
        )
