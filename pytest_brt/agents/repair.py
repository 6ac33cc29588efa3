"""Tools with which an agent repairs: tests, fixes, variants, hypotheses."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from pytest_brt.agents.fix import Fix, apply_fix, parse_fix
from pytest_brt.agents.look import definitions_called
from pytest_brt.agents.outcomes import describe_runs, fails
from pytest_brt.agents.prompts import fenced, system_and_user
from pytest_brt.agents.reply import example, fenced_blocks, read_reply
from pytest_brt.agents.shown import numbered, report_text
from pytest_brt.agents.trials import Trial, Trials
from pytest_brt.agents.workspace import Observation, Refused, Workspace, named
from pytest_brt.errors import FixProblem, ModelProblem
from pytest_brt.execute.engine import Row, TestTarget, target_of
from pytest_brt.guard.suite import read_tests
from pytest_brt.model.model import Model
from pytest_brt.model.request import Request
from pytest_brt.patches.left_out import left_out_kind
from pytest_brt.project.layout import is_test_path
from pytest_brt.types import (
    FileChange,
    Finished,
    FixSource,
    FixTried,
    JudgedTest,
    Place,
    TestRun,
    TestsRan,
    Verdict,
)

#: Lines around a fix that its variants are shown, tokens of one, of an edit and of a method.
_AROUND, _VARIANT, _EDIT, _METHOD = 12, 400, 900, 4_000
#: Variants that are asked for when a fix fails (paper 004, III-D3).
_VARIANTS = 30
#: Existing tests that are told one by one, places that are told.
_BROKEN, _PLACES = 4, 8


@dataclass(kw_only=True)
class RepairWork(Workspace):
    """What an agent that repairs works with."""

    trials: Trials
    places: tuple[Place, ...]
    #: Whether the user said where the bug is.
    is_place_given: bool = False
    #: Returns lines by Ochiai's score, the most suspicious first, each in words.
    suspect_lines: Callable[[], Sequence[str]] = tuple
    #: Runs the project's own tests on the code as it is.
    run_suite: Callable[[], Sequence[TestRun]] = tuple
    #: Existing test files that are nearest to changes.
    tests_near: Callable[[tuple[FileChange, ...]], Sequence[str]] = lambda _: ()
    #: The failing test that the agent is given as a file, None without one.
    given: JudgedTest | None = None
    #: Whether the first fix that stands ends the dialogue.
    ends_early: bool = False
    #: The fixes that are worth a look, with who wrote them and why.
    found: list[tuple[Trial, FixSource, str]] = field(default_factory=list)

    @property
    def failing(self) -> tuple[JudgedTest, ...]:
        """The tests that fail because of the bug, the most trusted first."""
        return self.trials.failing

    @property
    def names(self) -> dict[str, str]:
        """What the failing tests are called, by their ids."""
        return {judged.test.id: judged.test.name for judged in self.failing}

    @property
    def hypothesis(self) -> str:
        """What the bug is held to be, "" where nothing stands."""
        told = ("express_hypothesis", "discard_hypothesis")
        steps = [step for step in self.steps if step.is_done and step.action in told]
        return steps[-1].argument("hypothesis") if steps else ""

    @property
    def tried(self) -> list[FixTried]:
        """The fixes and variants that were tried."""
        return [fix for step in self.steps for fix in step.fixes]

    def source_of(self, judged: JudgedTest) -> str:
        """Return the source of a failing test: its module, or its function in a file."""
        if judged.test.source is not None:
            return judged.test.source
        text = "\n".join(self.lines(judged.test.path))
        bare = judged.test.name.partition("[")[0]
        found = [one.source for one in read_tests(judged.test.path, text) if one.node == bare]
        return found[0] if found else text


def _ask(model: Model, env: Workspace, name: str, longest: int, **values: object) -> Request:
    """Return a question that a tool asks."""
    return Request(
        messages=system_and_user(name, **values),
        temperature=0.2,
        top_k=0,
        seed=env.next_seed(),
        max_tokens=min(longest, model.context // 4),
    )


# -- tests --


def extract_tests(env: RepairWork, name: str = "") -> str:
    """Show the source of a failing test, by its name or the first one."""
    known = {judged.test.name: judged for judged in env.failing}
    meant = named(name.rpartition("::")[2], known) if name.strip() else next(iter(known), "")
    if not meant:
        raise Refused(f"There is no such failing test. There are: {', '.join(known) or 'none'}.")
    return f"{known[meant].test.path}: {meant} fails:\n{env.source_of(known[meant])}"


def run_tests(env: RepairWork, which: str = "failing") -> Observation:
    """Run the "failing" tests, or "all" tests of the project, on the code as it is."""
    if which.strip().lower() in ("all", "suite"):
        return _ran("", env.run_suite(), env)
    if not env.failing:
        raise Refused("There is no failing test to run.")
    targets = tuple(target_of(judged.test) for judged in env.failing)
    return _ran("", env.trials.engine.run(Row(targets=targets)).runs, env)


def _ran(
    path: str, runs: Sequence[TestRun], env: RepairWork, before: Sequence[TestRun] = ()
) -> Observation:
    bad = [run.verdict for run in runs if fails(run)]
    verdict = (bad or [Verdict.PASS])[0]
    told = describe_runs(runs, env.names, before) if runs else "No test was found."
    return Observation(told, (TestsRan(path=path, verdict=verdict),))


def run_fault_localization(env: RepairWork) -> str:
    """Say which functions and lines are most suspicious."""
    return "\n".join([describe_places(env), *env.suspect_lines()])


def describe_places(env: RepairWork, most: int = _PLACES) -> str:
    """Return where the bug may be, as a list."""
    head = "The bug is here:" if env.is_place_given else "Where the bug may be, likeliest first:"
    places = env.places if env.is_place_given else env.places[:most]
    lines = [f"- {one.path}:{one.line}-{one.end_line} {one.function}" for one in places]
    return "\n".join([head, *(lines or ["- nothing points to a place: search for names"])])


# -- fixes that are tried and taken back --


def write_fix(env: RepairWork, changes: str, code: tuple[str, ...] = ()) -> Observation:
    """Change lines of the code and run the tests; then the code is as it was before.

    Numbers are those that were shown. Places: "path replace 10-12", "path insert 5" (before line 5)
    or "path delete 20-21", with ";" between several. One block of code per replace and insert, in
    their order.
    """
    fix = parse_fix(changes, code)
    (trial,) = env.trials.run(apply_fix(fix, env))
    is_known = any(one.key == trial.key for one in env.tried)
    variants: list[Trial] = []
    if not trial.stands and not is_known:
        try:
            variants = _variants(env, fix, trial)
        except ModelProblem as problem:
            env.say(f"no variants: {problem}")
    sources = [FixSource.AGENT, *(FixSource.VARIANT for _ in variants)]
    every = list(zip([trial, *variants], sources, strict=True))
    kept = [one for one in every if one[0].stands] or [one for one in every if one[0].passes][:1]
    env.found += [(one, source, env.hypothesis) for one, source in kept]
    effects = [env.trials.effect(one, source, env.hypothesis) for one, source in every]
    text = describe_trial(env, trial)
    if variants:
        good = [number for number, one in enumerate(variants) if one.stands]
        text += f"\n{len(good)} of {len(variants)} different variants of it passed"
        text += f", as this one, which is kept:\n{effects[good[0] + 1].diff}" if good else "."
    if kept and kept[0][0].stands and kept[0][0].is_weakly_tested:
        text += "\nIf that is what the report asks for, finish."
    elif env.ends_early and kept and kept[0][0].stands:
        return Observation(text, (*effects, Finished()))
    return Observation(text, tuple(effects))


def describe_trial(env: RepairWork, trial: Trial) -> str:
    """Return what the tests do with a fix, and what becomes of it."""
    lines = ["Nothing here tests the bug itself."]
    if trial.runs:
        lines = [describe_runs(trial.runs, env.names, env.trials.first_runs())]
    for value in trial.values:
        now = f"raises {value.raised}" if value.raised else f"gives {value.text}"
        lines.append(
            f"`{value.expression}` {now} with it, and {value.before} without: is it right?"
        )
    guarded = trial.guarded
    if guarded is not None and guarded.regressions:
        lines.append(f"It breaks {trial.broken} existing tests:")
        lines += [f"- {one.test}: {one.verdict}" for one in guarded.regressions[:_BROKEN]]
    elif guarded is not None and guarded.ran:
        lines.append(f"{guarded.ran} existing tests near the change pass.")
    kept = "is kept" if trial.stands else "was taken back: the code is as it was before"
    return "\n".join([*lines, f"The fix {kept}."])


def _variants(env: RepairWork, fix: Fix, failed: Trial) -> list[Trial]:
    """Ask for variants of a fix that fails, and try those that are new (paper 004, III-D3)."""
    paths = dict.fromkeys(env.find(edit.path) for edit in fix)
    first, last = min(edit.first for edit in fix), max(edit.last for edit in fix)
    code = [numbered(env.lines(path), first - _AROUND, last + _AROUND) for path in paths]
    request = _ask(
        env.model,
        env,
        "variants",
        _VARIANT,
        title=env.issue.title,
        hypothesis=env.hypothesis,
        code="\n\n".join(code),
        fix="\n".join(map(str, fix)),
        failure=describe_trial(env, failed),
        form=example(write_fix),
    )
    known = {failed.key, *(one.key for one in env.tried)}
    new: list[tuple[FileChange, ...]] = []
    replies = env.model.complete(replace(request, n=_VARIANTS, temperature=0.9))
    for text in dict.fromkeys(reply.text for reply in replies):
        call = read_reply(text, {"write_fix": write_fix}).call
        try:
            new += [apply_fix(parse_fix(call.arguments[0][1], call.code), env)] if call else []
        except (FixProblem, Refused):
            continue
    tried = {trial.key: trial for trial in env.trials.run(*new)}
    return [trial for key, trial in tried.items() if key not in known]


# -- fixes that stay in the agent's tree --


def edit_code(env: RepairWork, path: str, prompt: str) -> Observation:
    """Describe a change of the code in words, with names and lines; it is made for you."""
    path = env.find(path)
    if left_out_kind(path, b"", b"x") is not None or is_test_path(path):
        raise Refused(f"{path} is no code of the project: only that is changed.")
    request = _ask(
        env.editor,
        env,
        "edit_code",
        _EDIT,
        report=report_text(env.issue, env.editor.context),
        path=path,
        code=_near_task(env, path, prompt),
        task=prompt,
        form=example(change),
    )
    reply = env.editor.complete(request)[0]
    call = read_reply(reply.text, {"change": change}, is_cut=reply.is_cut).call
    if call is None:
        raise FixProblem("the edit could not be read: describe it in other words")
    fix = parse_fix(call.arguments[0][1], call.code, path)
    for changed in apply_fix(tuple(replace(edit, path=path) for edit in fix), env):
        env.changed[changed.path] = changed.content or b""
    first = min(edit.first for edit in fix)
    size = sum(len(edit.lines) for edit in fix)
    now = numbered(env.lines(path), first - 5, first + size + 5)
    near = ", then ".join(env.tests_near(env.changes)[:2])
    return Observation(
        f"Edited {path}. Now:\n{now}\nRun the tests: {near or 'those that you know'}."
    )


def change(env: RepairWork, changes: str, code: tuple[str, ...] = ()) -> str:
    """Change lines of the file."""
    return changes


def _near_task(env: RepairWork, path: str, task: str) -> str:
    """Return a file with line numbers; of a long one what is around a line that a task names."""
    lines, most = env.lines(path), env.editor.context // 12
    words = set(re.findall(r"\w+", task))
    places = [int(word) for word in words if word.isdecimal() and int(word) <= len(lines)]
    places += [one.line for one in env.index.definitions_in(path) if one.name in words]
    places += [one.line for one in env.places if one.path == path]
    middle = (places or [1])[0] if len(lines) > most else 1
    return numbered(lines, middle - most // 3, middle + most)


def test(env: RepairWork, path: str) -> Observation:
    """Run a test file on the code as you changed it."""
    given = env.given.test if env.given is not None else None
    if given is not None and path.strip().endswith(given.path):
        target = replace(target_of(given), id="test")
    else:
        target = TestTarget(id="test", path=env.find(path))
    if not is_test_path(target.path):
        raise Refused(f"{path} is not a test file. Name one, as in tests/test_x.py.")
    changes = tuple(change for change in env.changes if not is_test_path(change.path))
    runs = env.trials.engine.run(Row(changes=changes, targets=(target,))).runs
    before: Sequence[TestRun] = ()
    if changes and any(map(fails, runs)):  # where all is well nothing is gained by another run
        before = env.trials.engine.run(Row(targets=(target,))).runs
    return _ran(target.path, runs, env, before)


def finish(env: RepairWork) -> Observation:
    """End: the bug is repaired."""
    ran = any(isinstance(effect, TestsRan | FixTried) for s in env.steps for effect in s.effects)
    if not env.changes and not any(fix.passes for fix in env.tried):
        raise Refused("No fix works yet. Write one first.")
    if not ran:
        raise Refused("No test was run yet. Run one first.")
    return Observation("Done.", (Finished(),))


# -- steering (paper 004) --


def generate_method_body(env: RepairWork, path: str, name: str) -> str:
    """Ask for a new version of a function, written from the code before it."""
    path = env.find(path)
    method, lines = definitions_called(env, path, name)[0], env.lines(path)
    before = "\n".join(lines[: method.line - 1])[-env.editor.context :]
    signature = f"{method.name}{method.signature}"
    request = _ask(
        env.editor, env, "method", _METHOD, path=path, before=before, signature=signature
    )
    reply = env.editor.text(request)
    code = fenced((fenced_blocks(reply) or [reply])[0], "python")
    return (
        f"A version of {method.qualname} (now lines {method.line} to {method.end_line} of {path}), "
        f"written without sight of the present one:\n{code}\nUse write_fix to try it."
    )


def express_hypothesis(env: RepairWork, hypothesis: str) -> str:
    """Say what the bug is: where, and why it goes wrong. Then you can fix it."""
    return "Noted. Collect what you need to fix it, then write the fix."


def discard_hypothesis(env: RepairWork, reason: str = "") -> str:
    """Give the hypothesis up, as when fixes of it do not work."""
    return "Discarded. Look again, then express another hypothesis."


def collect_more_information(env: RepairWork) -> str:
    """Go back to reading and searching before the next fix."""
    return "You can read and search again."


def goal_accomplished(env: RepairWork, reason: str = "") -> Observation:
    """End: a fix passes the bug tests."""
    if not any(fix.passes for fix in env.tried):
        raise Refused("No fix works yet. Write another fix.")
    is_asked = any(step.action == "goal_accomplished" for step in env.steps)
    if not is_asked and not any(fix.stands for fix in env.tried):
        raise Refused(
            "The fix breaks existing tests. If those assert what the report calls wrong, end "
            "again; if not, write a fix that keeps them."
        )
    return Observation("Done.", (Finished(),))
