"""A model chooses among the suspects: it knows what words mean, and has only names to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

from pytest_brt.model.base import Prompt, Sampling
from pytest_brt.model.grammar import Shape, grammar_for
from pytest_brt.reproduce.prompting.cuts import Cut, cut_report
from pytest_brt.reproduce.prompting.fit import Brief, bug_values, fitted
from pytest_brt.types import Place

#: As many suspects are shown anyway.
_FEW = 5
#: Tokens of the answer: three names.
_TOKENS = 200
_ANSWERS = ("first", "second", "third")


def chosen(
    suspects: Sequence[Place], brief: Brief, ask: Callable[[Prompt], str]
) -> tuple[Place, ...]:
    """Return `suspects` with those first that a model holds for the likeliest.

    All stay: what it does not choose keeps its order. It is not asked about a few, and an answer
    that cannot be read changes nothing.

    Raises:
        ModelProblem: the model cannot be reached, or the report does not fit it.
    """
    by_name = {f"{one.path}::{one.function}" if one.function else one.path: one for one in suspects}
    if len(by_name) <= _FEW:
        return tuple(suspects)
    words = Literal[tuple(by_name)]  # type: ignore[valid-type]  # they are known only now
    shape = msgspec.defstruct("Places", [(name, words) for name in _ANSWERS])

    def build(texts: Mapping[str, str]) -> Prompt:
        return Prompt(
            messages=brief.prompts.ask("places", names=tuple(by_name), **bug_values(brief, texts)),
            sampling=Sampling(temperature=0.0, top_p=1.0, max_tokens=_TOKENS),
            grammar=grammar_for(Shape(header=shape)),
            purpose="places",
        )

    parts = {"report": cut_report(brief.issue, Cut.WHOLE)}
    text = ask(fitted(build, parts, ("report",), brief)[0])
    try:
        said = msgspec.json.decode(text[text.find("{") : text.rfind("}") + 1], type=shape)
    except msgspec.DecodeError:
        return tuple(suspects)
    best = [by_name[getattr(said, name)] for name in _ANSWERS]
    return tuple(dict.fromkeys((*best, *suspects)))
