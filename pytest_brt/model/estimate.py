"""Guesses how many tokens a text has, where no tokenizer is at hand."""

from __future__ import annotations

from pytest_brt.model.base import Prompt

#: Bytes per token of source code and English in current vocabularies, on the low side.
_BYTES_PER_TOKEN = 3.0
#: Tokens of the markup around one message.
_MARKUP = 8


def estimate(text: str, bytes_per_token: float = _BYTES_PER_TOKEN) -> int:
    """Return a number of tokens that `text` hardly ever exceeds.

    >>> estimate("def f(): pass")
    5
    """
    return int(-(-len(text.encode("utf-8", "replace")) // bytes_per_token))


def estimate_prompt(prompt: Prompt, bytes_per_token: float = _BYTES_PER_TOKEN) -> int:
    """Return the estimate of a prompt with the template around it."""
    texts = [*(message.text for message in prompt.messages), prompt.prefill]
    return sum(estimate(t, bytes_per_token) + _MARKUP for t in texts) - _MARKUP
