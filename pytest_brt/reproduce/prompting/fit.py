"""Makes prompts fit: parts of files instead of all of them, and shorter texts, said to be so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pytest_brt.code.index import Index
from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Model, Prompt
from pytest_brt.reproduce.prompting.context import Hints
from pytest_brt.reproduce.prompting.cuts import shorten, shortened_report
from pytest_brt.reproduce.prompting.shown import show_suspects, show_tests
from pytest_brt.types import Issue

#: Characters of code in a prompt, however much room there is.
_MOST_CODE = 12_000
#: Characters below which a part says nothing.
_SHORTEST = 120
#: Characters of code per token, rather too few; tokens of code that are always shown.
_CHARACTERS, _LEAST = 3.5, 400
#: How the room is shared: the suspected code, the tests.
_CODE, _TESTS = 3.0, 1.0
#: Stands between the files of the suspected code.
_PARTED = "\f"
#: A file's share of the room, and what lists it in so many characters.
Listing = tuple[float, Callable[[int], str]]


def listings_of(hints: Hints, index: Index) -> dict[str, Listing]:
    """Return how the suspected code is listed, and "host", the test file."""

    def suspected(most: int) -> str:
        return _PARTED.join(
            f"{path}\n{code}"
            for path, code in show_suspects(hints.suspects, index, most, hints.worths)
        )

    found: dict[str, Listing] = {"suspected": (_CODE, suspected)}
    if hints.host:
        found["host"] = (_TESTS, lambda most: show_tests(hints.host, index, most, hints.worths))
    return found


def bug_values(issue: Issue, hints: Hints, texts: Mapping[str, str]) -> dict[str, object]:
    """Return the values that `shared/bug` is given: `texts`, the suspected code by its paths."""
    names = ("report", "session", "imports", "tests", "host", "fixtures")
    files = filter(None, texts.get("suspected", "").split(_PARTED))
    return {
        **dict.fromkeys(names, ""),
        "title": issue.title,
        "package": hints.package,
        "stance": hints.stance,
        "python": hints.python,
        "host_path": hints.host,
        **texts,
        "files": [(path, code) for path, _, code in (one.partition("\n") for one in files)],
    }


class PromptTooLong(ModelProblem):
    """A prompt does not fit the model's context, however little is put into it."""


def fitted(
    build: Callable[[Mapping[str, str]], Prompt],
    parts: Mapping[str, str],
    order: Sequence[str],
    model: Model,
    *,
    issue: Issue | None = None,
    listings: Mapping[str, Listing] | None = None,
) -> tuple[Prompt, tuple[str, ...]]:
    """Return the prompt that `build` makes of `parts`, shortened until it fits the model.

    Args:
        build: makes the prompt; it is called again for every shortening.
        parts: texts of the prompt by name.
        order: names of the parts in the order in which they are given up.
        model: counts, and says how much there is room for.
        issue: of the part "report", which is made anew where all others are cut in the middle.
        listings: the parts that are made anew too.

    Returns:
        The prompt, and a note for each part that was shortened or left out.

    Raises:
        PromptTooLong: it does not fit with all of `order` left out.
    """
    again = {name: make for name, (_, make) in (listings or {}).items()}
    if issue is not None:
        again["report"] = partial(shortened_report, issue)
    texts = dict(parts)
    notes: dict[str, str] = {}
    prompt = build(texts)
    for name in order:
        for _ in range(4):
            over = _too_long(prompt, model)
            if over <= 0:
                return prompt, tuple(notes.values())
            if not texts.get(name):
                break
            size = model.count([texts[name]])[0]
            keep = len(texts[name]) * (size - over - 16) // max(size, 1)
            make = again.get(name, partial(shorten, texts[name]))
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


def with_listings(
    build: Callable[[Mapping[str, str]], Prompt],
    parts: Mapping[str, str],
    listings: Mapping[str, Listing],
    model: Model,
    most: int,
) -> dict[str, str]:
    """Return `parts` with `listings` as long as a prompt of about `most` tokens has room for.

    Args:
        build: makes the prompt.
        parts: texts of the prompt by name.
        listings: by name, the share of the room of each, and what makes it in so many characters.
        model: counts.
        most: tokens that the prompt is to have. A long report may take more than that; then
            there is still a little code.
    """
    left = max(most - model.measure(build(parts)), _LEAST)
    weights = sum(weight for weight, _ in listings.values())
    made = {
        name: make(min(_MOST_CODE, int(left * _CHARACTERS * weight / weights)))
        for name, (weight, make) in listings.items()
    }
    return {**parts, **made}


def _too_long(prompt: Prompt, model: Model) -> int:
    reserved = prompt.sampling.max_tokens + prompt.thinking + 8
    return model.measure(prompt) + reserved - model.context
