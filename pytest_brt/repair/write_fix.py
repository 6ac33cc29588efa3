"""Tries a fix that a model wrote, and variants of one that fails; the tree is never written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from pytest_brt.agent.action import Action, Argument, Form, Outcome, Refusal, grammar_of
from pytest_brt.agent.excerpt import numbered
from pytest_brt.agent.loop import Turn
from pytest_brt.agent.reply import Unread, read_reply
from pytest_brt.agent.running import tell_runs
from pytest_brt.errors import FixProblem, ModelProblem
from pytest_brt.model.base import Completion, Prompt, Sampling
from pytest_brt.patches import canonical_diff
from pytest_brt.render.causes import cause_words, run_words
from pytest_brt.repair.bug import Bug
from pytest_brt.repair.correct import correct_fix
from pytest_brt.repair.fix import Fix, parse_fix, paths_of
from pytest_brt.repair.trial import Trial, first_runs
from pytest_brt.types import FileChange, FixSource, FixTried, Value

#: How a fix is asked for: the places, and the new lines of each.
Changes = Annotated[str, "path replace 10-12; path insert 5", 400]
ABOUT = (
    "Change lines of the code and run the tests. Numbers are those that were shown. Places: "
    "'replace 10-12', 'insert 5' (before line 5) or 'delete 20-21', with ';' between several. "
    "One block of code per replace and insert, in their order."
)
#: Most blocks of code in a fix, and most lines of each. llama.cpp reads no grammar that repeats
#: something more than some 2,000 times in all.
BLOCKS, LINES = 12, 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A fix, and what it does."""

    fix: Fix
    trial: Trial
    #: What was corrected in it.
    notes: tuple[str, ...] = ()
    #: What the bug was held to be, or "".
    hypothesis: str = ""


def try_fix(bug: Bug, changes: str, code: Sequence[str], hypothesis: str = "") -> Tried:
    """Run the tests on a fix as a model wrote it.

    Raises:
        FixProblem: it cannot be applied, or changes nothing that counts.
        Refusal: one of its paths means no file.
        SubjectProblem: the interpreter cannot be started at all.
    """
    corrected = correct_fix(parse_fix(changes, code), bug.tree)
    if not bug.trials.key(corrected.changes):
        raise FixProblem("the fix changes only comments or blank lines (change the code)")
    trial = bug.trials.run(corrected.changes)
    return Tried(fix=corrected.fix, trial=trial, notes=corrected.notes, hypothesis=hypothesis)


def fix_outcome(bug: Bug, first: Tried, variants: Sequence[Trial] | None = None) -> Outcome:
    """Return what a fix comes to, and its variants where there are any."""
    sources = [FixSource.AGENT, *(FixSource.VARIANT for _ in variants or ())]
    trials = [first.trial, *(variants or ())]
    told = partial(_effect, bug, first.hypothesis)
    effects = tuple(map(told, trials, sources))
    lines = [_tell_fix(bug, first)]
    if variants is not None:
        lines.append(_tell_variants(bug, variants))
    if any(effect.passes for effect in effects) and not any(effect.stands for effect in effects):
        lines.append("It is shown to the user as one that breaks existing tests.")
    return Outcome(observation="\n".join(lines), effects=effects)


def _effect(bug: Bug, hypothesis: str, trial: Trial, source: FixSource) -> FixTried:
    return FixTried(
        key=trial.key,
        diff=canonical_diff(trial.changes, bug.tree.root),
        source=source,
        passes=trial.is_judged and (bool(trial.runs) or not trial.broken),
        breaks=len(trial.broken),
        hypothesis=hypothesis,
    )


def _tell_fix(bug: Bug, tried: Tried) -> str:
    trial = tried.trial
    notes = [f"({'; '.join(tried.notes)})"] if tried.notes else []
    kept = "The fix was taken back: the code is as it was before."
    if trial.stands:
        kept = f"The fix {_won(trial)} and is kept."
    return "\n".join([*notes, tell_trial(bug, trial), kept])


def tell_trial(bug: Bug, trial: Trial) -> str:
    """Return what the tests do with a fix, and what the code gives now."""
    lines = ["Nothing here tests the bug itself."]
    if trial.runs:
        lines = [tell_runs(trial.runs, bug.names, first_runs(bug.failing))]
    lines += map(_tell_value, trial.values)
    lines += _tell_existing(trial)
    return "\n".join(lines)


def _tell_value(value: Value) -> str:
    now = f"raises {value.raised}" if value.raised else f"gives {value.text}"
    return (
        f"`{value.expression}` {now} with it, and {value.before} without. The test only says what "
        "is wrong: see whether this is what the report asks for."
    )


#: Existing tests that are told one by one.
_BROKEN = 4


def _tell_existing(trial: Trial) -> list[str]:
    if trial.broken:
        lines = [f"But the fix breaks {len(trial.broken)} of the existing tests:"]
        for one in trial.broken[:_BROKEN]:
            lines.append(f"- {one.test}: {cause_words(one.cause, one.raised)}")
        return lines
    if trial.guarded and trial.guarded.ran:
        many = trial.guarded.ran
        if many == 1:
            return ["One existing test near the change passes."]
        return [f"{many} existing tests near the change pass."]
    return []


def _won(trial: Trial) -> str:
    if not trial.runs:
        return "breaks no existing test"
    if not trial.failed:
        return "passes the tests"
    passed = len(trial.runs) - len(trial.failed)
    return f"passes {passed} of {len(trial.runs)} tests, the most trusted ones included,"


# -- variants of a fix that fails --

#: Variants that failed, shown to the next step.
_FAILED = 2
#: Lines shown around those that a fix changes.
_AROUND = 12
#: Longest variant, in tokens.
_TOKENS = 400
#: A variant is to be another one than the likeliest.
_TEMPERATURE = 0.9

#: How a variant is asked for; the form is that of the action that wrote the fix.
VARIANT = Action(
    name="write_fix",
    about=ABOUT,
    run=lambda: Outcome(observation=""),
    form=Form(
        arguments=(
            Argument(name="changes", about="path replace 10-12; path insert 5", longest=400),
        ),
        blocks=BLOCKS,
        lines=LINES,
    ),
)


def try_variants(bug: Bug, turn: Turn, first: Tried, wanted: int) -> Outcome:
    """Ask for `wanted` variants of a fix that fails; try those that are new (paper 004, III-D3).

    Each is a sample of one prompt. All that pass the failing tests are tried on existing ones.
    """
    prompt = Prompt(
        messages=bug.prompts.ask(
            "repair/variants",
            title=bug.issue.title,
            hypothesis=first.hypothesis,
            failure=tell_trial(bug, first.trial),
            code=_code_around(bug, first.fix),
            fix=_written(first.fix),
            form=VARIANT.example(),
        ),
        sampling=Sampling(
            temperature=_TEMPERATURE,
            top_p=turn.session.sampling.top_p,
            top_k=turn.session.sampling.top_k,
            seed=turn.seed,
            max_tokens=_TOKENS,
        ),
        samples=wanted,
        grammar=grammar_of({VARIANT.name: VARIANT}),
        seconds=turn.session.seconds(),
        purpose="variants",
    )
    try:
        completions = turn.session.model.complete(prompt)
    except ModelProblem as problem:
        alone = fix_outcome(bug, first)
        return replace(alone, observation=f"(no variants: {problem})\n{alone.observation}")
    replies = {completion.text: completion for completion in completions}.values()
    fixes = [fix for reply in replies if (fix := _fix_in(bug, reply)) is not None]
    return fix_outcome(bug, first, try_others(bug, turn, first, fixes))


def _fix_in(bug: Bug, reply: Completion) -> Fix | None:
    """Return the fix that a reply has, None for none that can be read."""
    actions = {VARIANT.name: VARIANT}
    read = read_reply(reply.text, actions, paths=bug.tree.paths, cut=reply.is_cut)
    if isinstance(read, Unread):
        return None
    try:
        return parse_fix(dict(read.call.arguments)["changes"], read.call.code)
    except FixProblem:
        return None


def try_others(bug: Bug, turn: Turn, first: Tried, fixes: Iterable[Fix]) -> tuple[Trial, ...]:
    """Try those of `fixes` that can be applied, and make programs that nobody tried before.

    Raises:
        SubjectProblem: the interpreter cannot be started at all.
    """
    known = {first.trial.key, *(fix.key for step in turn.steps for fix in step.fixes)}
    found: dict[str, tuple[FileChange, ...]] = {}
    for fix in fixes:
        try:
            changes = correct_fix(fix, bug.tree).changes
        except (FixProblem, Refusal):
            continue
        key = bug.trials.key(changes)
        if key and key not in known:
            found.setdefault(key, changes)
    return bug.trials.run_all([*found.values()])


def _tell_variants(bug: Bug, tried: Sequence[Trial]) -> str:
    """Return what came of the variants: the one that works, or how they fail."""
    count = len(tried)
    good = [trial for trial in tried if trial.stands]
    if good:
        diff = canonical_diff(good[0].changes, bug.tree.root).strip()
        first = "It" if len(good) == 1 else "The first"
        won = f"{first} {_won(good[0])} and is kept:\n{diff}"
        return f"{len(good)} of {count} different variants of it worked. {won}"
    if not count:
        return "No variant of it could be tried."
    shown = [
        f"{canonical_diff(trial.changes, bug.tree.root).strip()}\n→ {_first_failure(trial)}"
        for trial in tried[:_FAILED]
    ]
    return "\n".join([f"{count} different variants of it were tried, and none works.", *shown])


def _first_failure(trial: Trial) -> str:
    if trial.failed and not trial.passes:
        return run_words(trial.failed[0])
    return f"breaks {trial.broken[0].test}" if trial.broken else "breaks nothing"


def _written(fix: Fix) -> str:
    return "\n".join("\n".join([f"{e.path} {e.kind} {e.span}", *e.lines]) for e in fix)


def _code_around(bug: Bug, fix: Fix) -> str:
    shown = []
    for path in paths_of(fix):
        lines = bug.tree.lines(path)
        places = [(edit.first, edit.last) for edit in fix if edit.path == path]
        first = max(1, min(place[0] for place in places) - _AROUND)
        last = min(len(lines), max(place[1] for place in places) + _AROUND, first + 8 * _AROUND)
        shown.append(f"{path}:\n{numbered(lines, first, last)}")
    return "\n\n".join(shown)
