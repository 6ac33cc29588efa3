"""The tools that write code: `write_fix` tries a fix, `generate_method_body` asks for a function.

When a fix fails, variants of it are sampled in one batch, and those that make equal trees are
tried once; the tree itself is never written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_brt.agent.action import (
    Action,
    ActionSpec,
    Kind,
    Outcome,
    Parameter,
    Tool,
    grammar_of,
    refused,
)
from pytest_brt.agent.history import Counter, cut
from pytest_brt.agent.parse import Refused, read_action
from pytest_brt.agent.prompts import fenced
from pytest_brt.errors import FixProblem, ModelProblem
from pytest_brt.model.base import Message, Prompt, Sampling
from pytest_brt.model.form import block_grammar
from pytest_brt.model.metered import cost_of
from pytest_brt.model.reply import fenced_blocks
from pytest_brt.patches import canonical_diff
from pytest_brt.render.causes import cause_words, run_words
from pytest_brt.repair.account import told_runs
from pytest_brt.repair.editing import Mended, mend_fix
from pytest_brt.repair.fix import Fix, parse_fix, paths_of
from pytest_brt.repair.site import Site, listing
from pytest_brt.repair.states import DISPUTED, PATCH, SOURCE, ToolName, recall
from pytest_brt.repair.tools.looking import methods_called, names_of
from pytest_brt.repair.trial import Trial
from pytest_brt.types import Cost, FixSource, Step, Verdict

#: Variants that failed, shown to the next step.
_FAILED = 2

SPEC = ActionSpec(
    name=ToolName.WRITE_FIX.value,
    about=(
        "Change lines of the code and run the tests. Numbers are those that were shown. "
        "Places: 'replace 10-12', 'insert 5' (before line 5) or 'delete 20-21', with ';' between "
        "several. One block of code per replace and insert, in their order."
    ),
    parameters=(Parameter(name="changes", about="path replace 10-12; path insert 5", most=400),),
    most_blocks=6,
    lines=120,
)


def write_fix(site: Site, *, variants: int, seed: int, seconds: Callable[[], float]) -> Tool:
    """Return the tool, which asks for so many `variants` of a fix that fails.

    `seed` is that of the first step's variants; `seconds` says how much time is left for the
    model, 0 when there is no limit.
    """

    def run(action: Action, steps: Sequence[Step]) -> Outcome:
        mended = _mended(site, action)
        if not site.trials.key(mended.changes):
            raise FixProblem("the fix changes only comments or blank lines (change the code)")
        trial = site.trials.run(mended.changes)
        notes = [f"({'; '.join(mended.notes)})"] if mended.notes else []
        if trial.unrefuted or not variants:
            return _outcome(site, trial, None, Cost(), notes)
        parts = ("\n".join([f"{e.path} {e.kind} {e.span}", *e.lines]) for e in mended.fix)
        prompt = Prompt(
            messages=site.prompts.ask(
                "repair/variants",
                title=site.issue.title,
                hypothesis=recall(steps).hypothesis,
                failure=_told(site, trial),
                code=_shown_code(site, mended.fix),
                fix="\n".join(parts),
                form=SPEC.example(),
            ),
            sampling=Sampling(
                temperature=_TEMPERATURE,
                seed=seed + 1000 * (len(steps) + 1),
                max_tokens=_TOKENS,
            ),
            samples=variants,
            grammar=grammar_of((SPEC,)),
            seconds=seconds(),
            purpose="variants",
        )
        try:
            completions = site.model.complete(prompt)
        except ModelProblem as problem:
            return _outcome(site, trial, None, Cost(), [*notes, f"(no variants: {problem})"])
        tried = _tried(site, [completion.text for completion in completions])
        return _outcome(site, trial, tried, cost_of(completions), notes)

    return Tool(spec=SPEC, run=run)


def _mended(site: Site, action: Action) -> Mended:
    return mend_fix(parse_fix(action["changes"], action.blocks), site.read, site.find)


def _tried(site: Site, replies: Sequence[str]) -> tuple[Trial, ...]:
    """Try the variants in `replies` that make new trees; the others are left out."""
    found: dict[str, Mended] = {}
    for text in dict.fromkeys(replies):
        action = read_action(text, {SPEC.name: SPEC}, paths=site.paths)
        if isinstance(action, Refused):
            continue
        try:
            mended = _mended(site, action)
        except FixProblem:
            continue
        key = site.trials.key(mended.changes)
        if key and key not in site.trials.known:
            found.setdefault(key, mended)
    return site.trials.run_all([mended.changes for mended in found.values()])


def _outcome(
    site: Site, trial: Trial, tried: tuple[Trial, ...] | None, cost: Cost, notes: Sequence[str]
) -> Outcome:
    variants = [(variant, FixSource.VARIANT) for variant in tried or ()]
    every = [(trial, FixSource.AGENT), *variants]
    good = [(one, source) for one, source in every if one.unrefuted]
    # A right fix may break tests that are wrong themselves; one such is enough where none is good.
    disputed = [] if good else [(one, source) for one, source in every if one.disputed][:1]
    facts: list[tuple[str, str]] = []
    for name, found in ((PATCH, good), (DISPUTED, disputed)):
        for one, source in found:
            facts += [(name, canonical_diff(one.changes, site.root)), (SOURCE, source)]
    kept = f"The fix {_won(trial)} and is kept."
    lines = [
        *notes,
        _told(site, trial),
        kept if trial.unrefuted else "The fix was taken back: the code is as it was before.",
    ]
    if tried is not None:
        lines.append(_told_variants(site, tried))
    if disputed:
        lines.append("It is shown to the user as one that breaks existing tests.")
    return Outcome(
        observation="\n".join(lines),
        verdict=Verdict.PASS if good else Verdict.FAIL,
        facts=tuple(facts),
        cost=cost,
    )


def _told(site: Site, trial: Trial) -> str:
    text = "Nothing here tests the bug itself."
    if trial.runs:
        before = [run for judged in site.failing for run in judged.judgement.runs[:1]]
        text = told_runs(trial.runs, names_of(site), before)
    if not trial.guarded:
        return text
    broken = trial.guarded.regressions
    if broken:
        shown = "\n".join(
            f"- {item.test}: {cause_words(item.cause, item.raised)}" for item in broken[:4]
        )
        return f"{text}\nBut the fix breaks {len(broken)} of the existing tests:\n{shown}"
    if trial.guarded.ran:
        many = f"{trial.guarded.ran} existing tests near the change pass"
        text += (
            f"\n{many if trial.guarded.ran > 1 else 'One existing test near the change passes'}."
        )
    return text


def _won(trial: Trial) -> str:
    if not trial.runs:
        return "breaks no existing test"
    if not trial.failed:
        return "passes the tests"
    passed = len(trial.runs) - len(trial.failed)
    return f"passes {passed} of {len(trial.runs)} tests, the most trusted ones included,"


def _told_variants(site: Site, tried: tuple[Trial, ...]) -> str:
    """Return what came of the variants: the one that works, or how they fail."""
    count = len(tried)
    good = [trial for trial in tried if trial.unrefuted]
    if good:
        diff = canonical_diff(good[0].changes, site.root).strip()
        first = "It" if len(good) == 1 else "The first"
        won = f"{first} {_won(good[0])} and is kept:\n{diff}"
        return f"{len(good)} of {count} different variants of it worked. {won}"
    if not count:
        return "No variant of it could be tried."
    shown = [
        f"{canonical_diff(trial.changes, site.root).strip()}\n→ {_first_failure(trial)}"
        for trial in tried[:_FAILED]
    ]
    return "\n".join([f"{count} different variants of it were tried, and none works.", *shown])


def _first_failure(trial: Trial) -> str:
    broken = trial.guarded.regressions if trial.guarded else ()
    if trial.failed and not trial.passes:
        return run_words(trial.failed[0])
    return f"breaks {broken[0].test}" if broken else "not tried on the existing tests"


#: Lines shown around those that a fix changes.
_AROUND = 12
#: Longest variant, in tokens.
_TOKENS = 400
#: A variant is to be another one than the likeliest.
_TEMPERATURE = 0.9


def _shown_code(site: Site, fix: Fix) -> str:
    shown = []
    for path in paths_of(fix):
        lines = site.lines(path)
        places = [(edit.first, edit.last) for edit in fix if edit.path == path]
        first = max(1, min(place[0] for place in places) - _AROUND)
        last = min(len(lines), max(place[1] for place in places) + _AROUND, first + 8 * _AROUND)
        shown.append(f"{path}:\n{listing(lines, first, last)}")
    return "\n\n".join(shown)


#: Tokens of the file before the method, and of the answer (paper 004).
_CONTEXT, _ANSWER = 12_000, 4_000


def method_body(site: Site, *, seed: int) -> Tool:
    """Return the tool; `seed` is that of its first query."""

    def run(action: Action, steps: Sequence[Step]) -> Outcome:
        path, name = action["path"], action["name"]
        found = methods_called(site, path, name)
        if not found:
            return refused(f"{path} has no function {name!r}.")
        method, lines = found[0], site.lines(path)
        prompt = _method_prompt(
            site,
            path,
            before="\n".join(lines[: method.line - 1]),
            method="\n".join(lines[method.line - 1 : method.end_line]),
            steps=steps,
            seed=seed + len(steps),
        )
        (completion,) = site.model.complete(prompt)
        blocks, _ = fenced_blocks(completion.text)
        code = blocks[0] if blocks else completion.text
        text = (
            f"A new version of {method.qualname} (now lines {method.line} to {method.end_line} of "
            f"{path}):\n{fenced(code, 'python')}\nIt is not written: use write_fix to try it."
        )
        return Outcome(observation=text, cost=cost_of([completion]))

    spec = ActionSpec(
        name=ToolName.METHOD_BODY.value,
        about="Ask for a whole new version of a function.",
        parameters=(
            Parameter(name="path", about="a file", kind=Kind.PATH),
            Parameter(name="name", about="name of a function or method in it"),
        ),
    )
    return Tool(spec=spec, run=run)


def _method_prompt(
    site: Site, path: str, *, before: str, method: str, steps: Sequence[Step], seed: int
) -> Prompt:
    """Return the query, cut to what the paper allows and to what fits."""
    hypothesis = recall(steps).hypothesis
    answer = min(_ANSWER, site.model.context // 3)

    def ask(before: str, report: str) -> tuple[Message, ...]:
        return site.prompts.ask(
            "repair/method",
            report=report,
            hypothesis=hypothesis,
            path=path,
            before=before,
            method=method,
        )

    frame = sum(site.model.count(message.text) for message in ask("", "")) + 64
    count = Counter(site.model)
    limit = max(0, min(_CONTEXT, site.model.context - answer - frame))
    report = cut(site.issue.text, limit // 2, count)
    # What stands right before the method says most about it.
    above = cut(before, limit - count(report), count, head=0.0)
    return Prompt(
        messages=ask(above, report),
        sampling=Sampling(temperature=0.2, seed=seed, max_tokens=answer),
        grammar=block_grammar(lines=300),
        purpose="method",
    )
