"""How many tokens of recorded replies a lookup in the prompt would have drafted right.

    python bench/drafts.py MODEL.gguf DIALOGUES.jsonl.gz

DIALOGUES holds a line of JSON per question, with `prompt` and `reply`; MODEL's tokenizer takes them
apart, by a llama-server (the extra server). At each token the last N tokens are looked for in what
stands before them, and up to M that followed there are the draft; those that the reply has too are
right, and the next token is drawn. No model is asked. The last line is one JSON object: for each N
and M the share of the reply's tokens that were drafted right, and the share of drafts that were.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_brt.model.base import Settings
from pytest_brt.model.engine import open_file
from pytest_brt.model.llama_server import PrivateModel, ServerProcess

#: Tokens that must stand before a draft, and the longest draft.
LENGTHS, MOST = (2, 3, 5, 8, 12), (8, 48)


def tokens_of(process: ServerProcess, text: str) -> list[int]:
    """Return the tokens of a text."""
    body = {"content": text, "add_special": False, "parse_special": False}
    found: Any = process.ask("/tokenize", body)["tokens"]
    return list(found)


def drafted(prompt: Sequence[int], reply: Sequence[int], length: int, most: int) -> tuple[int, int]:
    """Return how many tokens of `reply` were drafted right, and how many were drafted."""
    text = [*prompt, *reply]
    #: Where the last occurrence of so many tokens ends.
    ends: dict[tuple[int, ...], int] = {}
    right = tried = 0
    known, at = length, len(prompt)
    while at < len(text):
        while known < at:
            ends[tuple(text[known - length : known])] = known
            known += 1
        start = ends.get(tuple(text[at - length : at]))
        if start is not None:
            draft = text[start : min(start + most, at)]
            follows = zip(draft, text[at:], strict=False)
            good = next((n for n, (a, b) in enumerate(follows) if a != b), None)
            good = min(len(draft), len(text) - at) if good is None else good
            right, tried, at = right + good, tried + len(draft), at + good
        at += 1
    return right, tried


def main() -> None:
    """Measure and print."""
    model = open_file(sys.argv[1], Settings(engine="llama-server", context=1024))
    assert isinstance(model, PrivateModel)
    model.count("x")
    assert model.process is not None
    lines = gzip.decompress(Path(sys.argv[2]).read_bytes()).splitlines()
    pairs = []
    for line in lines:
        said = json.loads(line)
        pairs.append([tokens_of(model.process, said[name]) for name in ("prompt", "reply")])
    model.close()
    total = sum(len(reply) for _, reply in pairs)
    result: dict[str, dict[str, float]] = {}
    for length in LENGTHS:
        for most in MOST:
            found = [drafted(prompt, reply, length, most) for prompt, reply in pairs]
            right, tried = (sum(column) for column in zip(*found, strict=True))
            result[f"{length}/{most}"] = {
                "of tokens": round(right / total, 3),
                "of drafts": round(right / max(tried, 1), 3),
            }
    print(f"{len(pairs)} replies, {total} tokens")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
