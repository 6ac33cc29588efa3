"""What of a report and of the code is shown, so that a prompt fits: parts, said to be parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pytest_brt.agent.excerpt import cut
from pytest_brt.agent.prompts import Prompts
from pytest_brt.agent.report_text import shortened_report
from pytest_brt.code.index import Index
from pytest_brt.errors import Overflowed
from pytest_brt.model.base import Model, Prompt
from pytest_brt.reproduce.prompting.context import Hints
from pytest_brt.reproduce.prompting.excerpts import show_file, show_suspects, show_tests
from pytest_brt.types import Issue
from pytest_brt.types.attempt import Shortened


def shorten(text: str, most: int) -> str:
    """Return `text` in at most `most` characters; its beginning says more than its end."""
    return cut(text, most, len, head=2 / 3)


#: Characters of each listing of code that is most like the report, however much room there is.
_MOST_CODE = 12_000
#: Characters below which a part says nothing.
_SHORTEST = 120
#: Times that a part is made shorter before it is left out, each time by more.
_TRIES, _TIGHTER = 5, 0.85
#: Characters of code per token, rather too few; tokens of code that are always shown.
_CHARACTERS, _LEAST = 3.5, 400
#: How the room is shared: the suspected code, the tests.
_OF_CODE, _OF_TESTS = 3.0, 1.0
#: Stands between the files of the suspected code.
_PARTED = "\f"
#: Lists code in so many characters; and its share of the room beside it.
Show = Callable[[int], str]
Listing = tuple[float, Show]
#: Makes a prompt of texts by name.
Build = Callable[[Mapping[str, str]], Prompt]


def whole_files(hints: Hints, index: Index) -> dict[str, Listing]:
    """Return how the suspected files and "host" are listed: whole, where they fit."""

    def suspected(most: int) -> str:
        share = most // max(len(hints.files), 1)
        shown = ((path, show_file(path, index, share, hints.worths)) for path in hints.files)
        return _PARTED.join(f"{path}\n{code}" for path, code in shown if code)

    def host(most: int) -> str:
        return show_file(hints.host, index, most, hints.worths)

    return _by_name(suspected, host if hints.host else None)


def _by_name(suspected: Show, host: Show | None) -> dict[str, Listing]:
    tests = {"host": (_OF_TESTS, host)} if host else {}
    return {"suspected": (_OF_CODE, suspected), **tests}


def listings_of(hints: Hints, index: Index, *, imports: bool = False) -> dict[str, Listing]:
    """Return how the suspected code is listed, and "host", the test file.

    It comes with its `imports` where a prompt does not tell of those that work.
    """

    def suspected(most: int) -> str:
        shown = show_suspects(hints.suspects, index, min(most, _MOST_CODE), hints.worths)
        return _PARTED.join(f"{path}\n{code}" for path, code in shown)

    def host(most: int) -> str:
        room = min(most, _MOST_CODE)
        return show_tests(hints.host, index, room, hints.worths, imports=imports)

    return _by_name(suspected, host if hints.host else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What the prompts about one report are made of, and the model that they are for."""

    issue: Issue
    hints: Hints
    prompts: Prompts
    model: Model
    #: The project's, for the code that is shown; without one none is.
    index: Index | None = None


def bug_values(brief: Brief, texts: Mapping[str, str]) -> dict[str, object]:
    """Return the values that `shared/bug` is given: `texts`, the suspected code by its paths."""
    names = ("report", "session", "imports", "tests", "host", "fixtures")
    files = filter(None, texts.get("suspected", "").split(_PARTED))
    return {
        **dict.fromkeys(names, ""),
        "title": brief.issue.title,
        "package": brief.hints.package,
        "stance": brief.hints.stance,
        "python": brief.hints.python,
        "host_path": brief.hints.host,
        **texts,
        "files": [(path, code) for path, _, code in (one.partition("\n") for one in files)],
    }


class PromptTooLong(Overflowed):
    """A prompt does not fit the model's context, however little is put into it."""


def fitted(
    build: Build,
    parts: Mapping[str, str],
    order: Sequence[str],
    brief: Brief,
    listings: Mapping[str, Listing] | None = None,
    *,
    most: int = 0,
    frame: Build | None = None,
) -> tuple[Prompt, tuple[Shortened, ...], Mapping[str, str]]:
    """Return the prompt that `build` makes of `parts`, shortened until it fits the model.

    The `listings` are as long as a prompt of about `most` tokens has room for; `frame` makes the
    part of it that counts, where that is not all. A long report may take more than that; then
    there is still a little code. Parts are given up in `order`; a note for each that was shortened
    or left out is returned too, and what the parts came to. Most are cut in the middle; the report
    and listings are made anew.

    Raises:
        PromptTooLong: it does not fit with all of `order` left out.
    """
    model = brief.model
    again = {name: make for name, (_, make) in (listings or {}).items()}
    again["report"] = partial(shortened_report, brief.issue)
    texts = dict(parts)
    if listings:
        room = max(most - model.count((frame or build)(parts)), _LEAST) * _CHARACTERS
        # What is given as a part is listed anew only where it does not fit.
        texts = {**_listed(listings, room), **texts}
    notes: dict[str, Shortened] = {}
    prompt = build(texts)
    for name in order:
        for tries in range(_TRIES):
            over = _too_long(prompt, model)
            if over <= 0:
                return prompt, tuple(notes.values()), texts
            if not texts.get(name):
                break
            size = model.count(texts[name])
            # What is made anew may come out longer than asked for.
            share = (size - over - 16) / max(size, 1) * _TIGHTER**tries
            keep = int(len(texts[name]) * share)
            make = again.get(name, partial(shorten, texts[name]))
            short = make(keep) if keep >= _SHORTEST and tries < _TRIES - 1 else ""
            texts[name] = min(short, texts[name], key=len)
            notes[name] = Shortened(part=name, left_out=not texts[name])
            prompt = build(texts)
    over = _too_long(prompt, model)
    if over > 0:
        raise PromptTooLong(
            f"the prompt is {over} tokens too long for a context of {model.context} with nothing "
            "left to shorten (give more with --brt-engine auto,context=N)"
        )
    return prompt, tuple(notes.values()), texts


def _listed(listings: Mapping[str, Listing], room: float) -> dict[str, str]:
    """Return the listings, each with its share of `room` characters."""
    total = sum(share for share, _ in listings.values())
    return {name: make(int(room * share / total)) for name, (share, make) in listings.items()}


def _too_long(prompt: Prompt, model: Model) -> int:
    reserved = prompt.sampling.max_tokens + prompt.thinking + 8
    return model.count(prompt) + reserved - model.context
