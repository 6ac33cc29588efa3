"""`write_fix`: tries a fix and, when it fails, variants of it; the tree itself is never written.

Variants are sampled in one batch, and those that make equal trees are tried once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pytest_brt.dialogue.action import Action, ActionSpec, Outcome, Parameter, Tool, grammar_of
from pytest_brt.dialogue.parse import Refused, read_action
from pytest_brt.errors import FixProblem, ModelProblem
from pytest_brt.model.base import Prompt, Sampling
from pytest_brt.model.metered import cost_of
from pytest_brt.patches import canonical_diff
from pytest_brt.repair.account import told_failing
from pytest_brt.repair.fix import Fix, lines_of
from pytest_brt.repair.form import Mended, mend_fix, parse_fix
from pytest_brt.repair.memory import DISPUTED, PATCH, SOURCE, recall
from pytest_brt.repair.site import Site, listing
from pytest_brt.repair.states import Tool as Name
from pytest_brt.repair.tools.failing import names_of
from pytest_brt.repair.trial import Trial
from pytest_brt.types import Cost, Step, Verdict

#: Blocks of code that one fix may have, and lines of one.
_BLOCKS = 6
#: Variants that failed, shown to the next step.
_FAILED = 2
_LINES = 120

SPEC = ActionSpec(
    name=Name.WRITE_FIX.value,
    about=(
        "Change lines of the code and run the tests. Numbers are those that were shown. "
        "Places: 'replace 10-12', 'insert 5' (before line 5) or 'delete 20-21', with ';' between "
        "several. One block of code per replace and insert, in their order."
    ),
    parameters=(Parameter(name="changes", about="path replace 10-12; path insert 5", most=400),),
    most_blocks=_BLOCKS,
    lines=_LINES,
)


def write_fix(site: Site, *, variants: int, seed: int, seconds: Callable[[], float]) -> Tool:
    """Return the tool.

    Args:
        site: the bug.
        variants: asked for when a fix fails.
        seed: of the first variant of the first step.
        seconds: says how much time is left for the model; 0 when there is no limit.
    """

    def run(action: Action, steps: Sequence[Step]) -> Outcome:
        fix = parse_fix(action["changes"], action.blocks)
        mended = mend_fix(fix, site.read, site.find)
        if not site.trials.key(mended.changes):
            raise FixProblem("the fix changes only comments or blank lines (change the code)")
        trial = site.trials.run(mended.changes)
        note = f"({'; '.join(mended.notes)})\n" if mended.notes else ""
        if trial.unrefuted:
            return _outcome(site, trial, None, note)
        try:
            tried = try_variants(
                site,
                SPEC,
                mended.fix,
                hypothesis=recall(steps).hypothesis,
                failure=_told(site, trial),
                most=variants,
                seed=seed + 1000 * (len(steps) + 1),
                seconds=seconds(),
            )
        except ModelProblem as problem:
            tried = None
            note += f"(no variants: {problem})\n"
        return _outcome(site, trial, tried, note)

    return Tool(spec=SPEC, run=run)


def _outcome(site: Site, trial: Trial, tried: Tried | None, note: str) -> Outcome:
    every = [(trial, "the agent"), *((one, "a variant") for one in (tried.trials if tried else ()))]
    good = [(one, source) for one, source in every if one.unrefuted]
    # A right fix may break tests that are wrong themselves; one such is enough where none is good.
    disputed = [] if good else [(one, source) for one, source in every if one.disputed][:1]
    facts: list[tuple[str, str]] = []
    for name, found in ((PATCH, good), (DISPUTED, disputed)):
        for one, source in found:
            facts += [(name, canonical_diff(one.changes, site.root)), (SOURCE, source)]
    lines = [note + _told(site, trial)]
    lines.append(
        f"The fix {_won(trial)} and is kept."
        if trial.unrefuted
        else "The fix was taken back: the code is as it was before."
    )
    if tried and tried.asked:
        lines.append(_told_variants(site, tried))
    if disputed:
        lines.append("It is shown to the user as one that breaks existing tests.")
    return Outcome(
        observation="\n".join(lines),
        verdict=Verdict.PASS if good else Verdict.FAIL,
        facts=tuple(facts),
        cost=tried.cost if tried else Cost(),
    )


def _told(site: Site, trial: Trial) -> str:
    """Return what the tests did with a fix."""
    text = "Nothing here tests the bug itself."
    if trial.runs:
        before = [run for judged in site.failing for run in judged.judgement.runs[:1]]
        text = told_failing(trial.runs, names_of(site), before, passes=trial.passes)
    if not trial.guarded:
        return text
    broken = trial.guarded.regressions
    if broken:
        shown = "\n".join(f"- {item.test}: {item.reason}" for item in broken[:4])
        return f"{text}\nBut the fix breaks {len(broken)} of the existing tests:\n{shown}"
    if trial.guarded.ran:
        many = f"{trial.guarded.ran} existing tests near the change pass"
        text += (
            f"\n{many if trial.guarded.ran > 1 else 'One existing test near the change passes'}."
        )
    return text


def _won(trial: Trial) -> str:
    """Return what speaks for a fix that is kept."""
    if not trial.runs:
        return "breaks no existing test"
    if not trial.failed:
        return "passes the tests"
    passed = len(trial.runs) - len(trial.failed)
    return f"passes {passed} of {len(trial.runs)} tests, the most trusted ones included,"


def _told_variants(site: Site, tried: Tried) -> str:
    """Return what came of the variants: the one that works, or how they fail."""
    count = len(tried.trials)
    if tried.good:
        diff = canonical_diff(tried.good[0].changes, site.root).strip()
        first = "It" if len(tried.good) == 1 else "The first"
        won = f"{first} {_won(tried.good[0])} and is kept:\n{diff}"
        return f"{len(tried.good)} of {count} different variants of it worked. {won}"
    shown = [
        f"{canonical_diff(trial.changes, site.root).strip()}\n→ {_first_failure(trial)}"
        for trial in tried.trials[:_FAILED]
    ]
    if not shown:
        return "No variant of it could be tried."
    return "\n".join([f"{count} different variants of it were tried, and none works.", *shown])


def _first_failure(trial: Trial) -> str:
    """Return in a line why a fix was not kept."""
    broken = trial.guarded.regressions if trial.guarded else ()
    if trial.failed and not trial.passes:
        return trial.failed[0].reason.partition("\n")[0]
    return f"breaks {broken[0].test}" if broken else "not tried on the existing tests"


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
        mended = _mended(site, action)
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


def _mended(site: Site, action: Action) -> Mended | None:
    """Return the fix that a reply tells; None when it cannot be tried: others will."""
    try:
        return mend_fix(parse_fix(action["changes"], action.blocks), site.read, site.find)
    except FixProblem:
        return None
