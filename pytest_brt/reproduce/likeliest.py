"""The places that a model holds for the likeliest: it knows what words mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_brt.agent.report_text import report_text
from pytest_brt.model.base import Prompt, Sampling
from pytest_brt.model.form import Choice, Header, grammar_for
from pytest_brt.reproduce.opinion import Ask
from pytest_brt.reproduce.prompting.fit import Brief, bug_values, fitted
from pytest_brt.types import Place

#: As many suspects are shown anyway.
_FEW = 5
#: Tokens of the answer: three names.
_CHOICE = 200
_ANSWERS = ("first", "second", "third")


def likeliest_places(suspects: Sequence[Place], brief: Brief, ask: Ask) -> tuple[Place, ...]:
    """Return `suspects` with those first that a model holds for the likeliest.

    All stay: what it does not choose keeps its order. It is not asked about a few, and an answer
    that cannot be read changes nothing.

    Raises:
        ModelProblem: the model cannot be reached, or the report does not fit it.
    """
    by_name = {f"{s.path}::{s.function}" if s.function else s.path: s for s in suspects}
    if len(by_name) <= _FEW:
        return tuple(suspects)
    form = Header(fields=tuple((name, Choice(words=tuple(by_name))) for name in _ANSWERS))

    def build(texts: Mapping[str, str]) -> Prompt:
        return Prompt(
            messages=brief.prompts.ask("places", names=tuple(by_name), **bug_values(brief, texts)),
            sampling=Sampling(temperature=0.0, top_p=1.0, max_tokens=_CHOICE),
            grammar=grammar_for(form),
            purpose="places",
        )

    parts = {"report": report_text(brief.issue)}
    said = form.read(ask(fitted(build, parts, ("report",), brief)[0]))
    best = [by_name[said[name]] for name in _ANSWERS] if said else []
    return tuple(dict.fromkeys((*best, *suspects)))
