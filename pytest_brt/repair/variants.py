"""Variants of a fix: sampled in one batch, those that make equal trees tried once."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_brt.dialogue.action import Action, ActionSpec, grammar_of
from pytest_brt.dialogue.parse import Refused, read_action
from pytest_brt.errors import FixProblem
from pytest_brt.model.base import Prompt, Sampling
from pytest_brt.model.metered import cost_of
from pytest_brt.repair.fix import Fix, lines_of
from pytest_brt.repair.form import parse_fix
from pytest_brt.repair.mending import Mended, mend_fix
from pytest_brt.repair.site import Site, listing
from pytest_brt.repair.trial import Trial
from pytest_brt.types import Cost

#: Lines shown around those that a fix changes.
_AROUND = 12
#: Longest variant, in tokens.
_TOKENS = 400
#: A variant is to be another one than the likeliest.
_TEMPERATURE = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of the variants of one fix."""

    #: Samples asked for, distinct new trees among them, and what those do.
    asked: int
    trials: tuple[Trial, ...]
    cost: Cost

    @property
    def good(self) -> tuple[Trial, ...]:
        """Those that pass the tests."""
        return tuple(trial for trial in self.trials if trial.unrefuted)


def try_variants(
    site: Site,
    spec: ActionSpec,
    fix: Fix,
    *,
    hypothesis: str,
    failure: str,
    most: int,
    seed: int,
    seconds: float = 0.0,
) -> Tried:
    """Ask for `most` variants of `fix` in one batch, and try each that is new.

    Args:
        site: the bug.
        spec: of the action that a variant is written as.
        fix: what did not work.
        hypothesis: what the bug is held to be, or "".
        failure: what the tests did with it.
        most: variants asked for; 0 asks for none.
        seed: of the first sample.
        seconds: wall-clock time for the model; 0 sets no limit.

    Raises:
        ModelProblem: the model cannot be reached, or the prompt does not fit.
    """
    if most <= 0:
        return Tried(asked=0, trials=(), cost=Cost())
    prompt = Prompt(
        messages=site.prompts.ask(
            "repair/variants",
            title=site.issue.title,
            hypothesis=hypothesis,
            failure=failure,
            code=shown_code(site, fix),
            fix=told_fix(fix),
            form=spec.example(),
        ),
        sampling=Sampling(temperature=_TEMPERATURE, seed=seed, max_tokens=_TOKENS),
        samples=most,
        grammar=grammar_of((spec,)),
        seconds=seconds,
        purpose="variants",
    )
    completions = site.model.complete(prompt)
    found: dict[str, Mended] = {}
    actions = (
        read_action(text, {spec.name: spec}, paths=site.paths)
        for text in dict.fromkeys(completion.text for completion in completions)
    )
    for action in {a.key: a for a in actions if not isinstance(a, Refused)}.values():
        mended = _read(site, action)
        if mended is None:
            continue
        key = site.trials.key(mended.changes)
        if key and site.trials.known(key) is None:
            found.setdefault(key, mended)
    trials = site.trials.run_all([mended.changes for mended in found.values()])
    return Tried(asked=most, trials=trials, cost=cost_of(completions))


def shown_code(site: Site, fix: Fix) -> str:
    """Return the lines around those that `fix` changes, with their numbers."""
    shown = []
    for path in fix.paths:
        content = site.read(path)
        if content is None:
            continue
        lines = lines_of(content)
        places = [(edit.first, edit.last) for edit in fix.edits if edit.path == path]
        first = max(1, min(place[0] for place in places) - _AROUND)
        last = min(len(lines), max(place[1] for place in places) + _AROUND, first + 8 * _AROUND)
        shown.append(f"{path}:\n{listing(lines, first, last)}")
    return "\n\n".join(shown)


def told_fix(fix: Fix) -> str:
    """Return what a fix changes, for a model."""
    return "\n".join(
        "\n".join([f"{edit.path} {edit.kind} {edit.span}", *edit.lines]) for edit in fix.edits
    )


def _read(site: Site, action: Action) -> Mended | None:
    """Return the fix that a reply tells; None when it cannot be tried: others will."""
    try:
        return mend_fix(parse_fix(action["changes"], action.blocks), site.read, site.find)
    except FixProblem:
        return None
