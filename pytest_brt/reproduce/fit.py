"""Makes prompts fit: parts of files instead of all of them, and shorter texts, said to be so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pytest_brt.code.index import Index
from pytest_brt.code.layout import is_test_path
from pytest_brt.errors import ModelProblem
from pytest_brt.localise.suspects import Suspect
from pytest_brt.model.base import Model, Prompt
from pytest_brt.reproduce.parts import parts_of

#: Characters of a file in a prompt before only parts of it are shown.
MOST_FILE = 12_000
#: Characters below which a part says nothing.
_SHORTEST = 120


def excerpt(
    path: str,
    index: Index,
    suspects: Sequence[Suspect] = (),
    most: int = MOST_FILE,
    *,
    about: str = "",
    literals: Sequence[re.Pattern[str]] = (),
) -> str:
    """Return the file `path`, or the parts of a long one that count; "" when it is gone.

    Of a long file the suspected functions are shown in full, and those that share rare words
    with `about`, the report, or have one of `literals`, which it spells.
    """
    try:
        text = index.source(path)
    except OSError:
        return ""
    if len(text) <= most:
        return text
    wanted = tuple(dict.fromkeys(s.function for s in suspects if s.path == path and s.function))
    try:
        found = parts_of(
            text,
            wanted=wanted,
            about=about,
            most=most,
            tests=is_test_path(path),
            literals=literals,
        )
    except SyntaxError:
        found = text
    return shorten(found.strip("\n"), most)


def shorten(text: str, most: int) -> str:
    """Return `text` in at most about `most` characters, saying how many lines are left out."""
    if len(text) <= most:
        return text
    lines = text.split("\n")
    # The beginning says more than the end.
    head: list[str] = []
    tail: list[str] = []
    room = max(0, most - 40)
    for line in lines:
        if len("\n".join([*head, line])) > room * 2 // 3:
            break
        head.append(line)
    for line in reversed(lines[len(head) :]):
        if len("\n".join([*tail, line])) > room // 3:
            break
        tail.append(line)
    left = len(lines) - len(head) - len(tail)
    if left <= 0 or room == 0 or not head + tail:
        return text[: max(0, most - 1)] + "…"
    return "\n".join([*head, f"[… {left} lines left out …]", *reversed(tail)])


def whole_sentences(text: str, most: int) -> str:
    """Return `text` in at most `most` characters, cut where a sentence ends if that can be.

    >>> whole_sentences("It fails. It always does", 16)
    'It fails.'
    """
    if len(text) <= most:
        return text
    ends = [end.end() for end in re.finditer(r"[.!?;](?=\s)", text[: most + 1])]
    if ends and ends[-1] * 3 >= most:
        return text[: min(ends[-1], most)]
    return text[: most - 1].rpartition(" ")[0] + "…"


class PromptTooLong(ModelProblem):
    """A prompt does not fit the model's context, however little is put into it."""


def fitted(
    build: Callable[[Mapping[str, str]], Prompt],
    parts: Mapping[str, str],
    order: Sequence[str],
    model: Model,
    again: Mapping[str, Callable[[int], str]] | None = None,
) -> tuple[Prompt, tuple[str, ...]]:
    """Return the prompt that `build` makes of `parts`, shortened until it fits the model.

    Args:
        build: makes the prompt; it is called again for every shortening.
        parts: texts of the prompt by name.
        order: names of the parts in the order in which they are given up.
        model: counts, and says how much there is room for.
        again: makes some of the parts anew in so many characters, where that is better than
            to cut them in the middle.

    Returns:
        The prompt, and a note for each part that was shortened or left out.

    Raises:
        PromptTooLong: it does not fit with all of `order` left out.
    """
    texts = dict(parts)
    notes: dict[str, str] = {}
    prompt = build(texts)
    for name in order:
        for _ in range(4):
            over = _too_long(prompt, model)
            if over <= 0:
                return prompt, tuple(notes.values())
            size = model.count([texts[name]])[0]
            if not texts[name]:
                break
            keep = len(texts[name]) * (size - over - 16) // max(size, 1)
            make = (again or {}).get(name, partial(shorten, texts[name]))
            short = make(keep) if keep >= _SHORTEST else ""
            texts[name] = short if len(short) < len(texts[name]) else ""
            notes[name] = f"{name} {'shortened' if texts[name] else 'left out'} to fit the context"
            prompt = build(texts)
    over = _too_long(prompt, model)
    if over > 0:
        raise PromptTooLong(
            f"the prompt is {over} tokens too long for a context of {model.context} with nothing "
            "left to shorten (give more with --brt-context)"
        )
    return prompt, tuple(notes.values())


def _too_long(prompt: Prompt, model: Model) -> int:
    reserved = prompt.sampling.max_tokens + prompt.thinking + 8
    return model.measure(prompt) + reserved - model.context
