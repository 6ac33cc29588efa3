"""Tools with which an agent repairs: tests, fixes, variants, hypotheses."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from pytest_brt.agents.fix import Fix, apply_fix, parse_fix
from pytest_brt.agents.look import definitions_called
from pytest_brt.agents.outcomes import describe_runs, fails
from pytest_brt.agents.prompts import fenced, system_and_user
from pytest_brt.agents.reply import example, fenced_blocks, read_reply
from pytest_brt.agents.shown import numbered, report_text
from pytest_brt.agents.trials import Trial, Trials
from pytest_brt.agents.workspace import Observation, Refused, Workspace
from pytest_brt.errors import FixProblem, ModelProblem
from pytest_brt.model.model import Model
from pytest_brt.model.request import Reply, Request
from pytest_brt.project.layout import is_test_path
from pytest_brt.pysource.parse import decode
from pytest_brt.sandbox.placing import Test
from pytest_brt.types import (
    FileChange,
    Finished,
    FixSource,
    JudgedTest,
    Place,
    TestRun,
    TestsRan,
    Verdict,
)

#: Tokens of a variant, of an edit and of a method; lines that a variant and an edit are shown.
_VARIANT, _EDIT, _METHOD, _AROUND = 400, 900, 4_000, 200
#: Variants that are asked for when a fix fails (paper 004, III-D3).
_VARIANTS = 30
#: Existing tests that are told one by one, places that are told, sources of tests that are shown.
_BROKEN, _PLACES, _SOURCES = 4, 8, 3


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
    #: The failing test that the agent is given as a file, None without one.
    given: JudgedTest | None = None
    #: Whether the first fix that stands ends the dialogue.
    ends_early: bool = False
    #: What the bug is held to be, "" where nothing stands.
    hypothesis: str = ""
    #: The fixes and variants that were tried.
    tried: list[Trial] = field(default_factory=list)

    def source_of(self, judged: JudgedTest) -> str:
        """Return the source of a failing test, or of its file."""
        return judged.test.source or decode(self.read(judged.test.path))

    def ask(
        self, model: Model, name: str, longest: int, n: int = 1, **values: object
    ) -> list[Reply]:
        """Return the replies to a question that a tool asks."""
        return model.complete(
            Request(
                messages=system_and_user(name, title=self.issue.title, **values),
                n=n,
                temperature=0.2 if n == 1 else 0.9,
                top_k=0,
                seed=self.next_seed(),
                max_tokens=min(longest, model.context // 4),
            )
        )


# -- tests --


def extract_tests(env: RepairWork) -> str:
    """Show the sources of the failing tests."""
    tests = env.trials.failing[:_SOURCES]
    texts = [f"{one.test.path}: {one.test.name} fails:\n{env.source_of(one)}" for one in tests]
    return "\n\n".join(texts) or "There is no failing test."


def run_tests(env: RepairWork, which: str = "failing") -> Observation:
    """Run the "failing" tests, or "all" tests of the project, on the code as it is."""
    if which.strip().lower() == "all":
        return _ran("", env.run_suite())
    targets = tuple(Test.of(judged.test) for judged in env.trials.failing)
    return _ran("", env.trials.engine.run(targets) if targets else ())


def _ran(path: str, runs: Sequence[TestRun]) -> Observation:
    if not runs:
        raise Refused("There is no such test.")
    verdict = next((run.verdict for run in runs if fails(run)), Verdict.PASS)
    return Observation(describe_runs(runs), (TestsRan(path=path, verdict=verdict),))


def run_fault_localization(env: RepairWork) -> str:
    """Say which functions and lines are most suspicious."""
    return "\n".join([describe_places(env), *env.suspect_lines()])


def describe_places(env: RepairWork) -> str:
    """Return where the bug may be, as a list."""
    head = "The bug is here:" if env.is_place_given else "Where the bug may be, likeliest first:"
    places = env.places if env.is_place_given else env.places[:_PLACES]
    lines = [f"- {one.path}:{one.line}-{one.end_line} {one.function}" for one in places]
    return "\n".join([head, *(lines or ["- nothing points to a place: search for names"])])


# -- fixes that are tried and taken back --


def write_fix(env: RepairWork, changes: str, code: tuple[str, ...] = ()) -> Observation:
    """Change lines of the code and run the tests; then the code is as it was before.

    Numbers are those that were shown. Places: "path replace 10-12", "path insert 5" (before line 5)
    or "path delete 20-21", with ";" between several. One block of code per replace and insert, in
    their order.
    """
    (trial,) = env.trials.run(apply_fix(parse_fix(changes, code), env))
    is_new = all(one.key != trial.key for one in env.tried)
    tried, text = [trial], describe_trial(env, trial)
    if is_new and not trial.stands:
        variants = _variants(env, "\n".join([changes, *code]), trial, text)
        good = [one for one in variants if one.stands]
        text += f"\n{len(good)} of {len(variants)} different variants of it passed."
        if good:
            text += f" This one is kept:\n{env.trials.found_fix(good[0]).patch.text}"
        tried += variants
    env.tried += [replace(one, hypothesis=env.hypothesis) for one in tried]
    stands = any(one.stands for one in tried)
    verdict = Verdict.PASS if stands else Verdict.FAIL
    diffs = tuple(env.trials.found_fix(one).patch.text for one in tried)
    ran = TestsRan(path="", verdict=verdict, diffs=diffs)
    # Where a test only says what is wrong, the agent decides whether the values are right.
    is_over = env.ends_early and any(one.stands and not one.values for one in tried)
    return Observation(text, (ran, Finished()) if is_over else (ran,))


def describe_trial(env: RepairWork, trial: Trial) -> str:
    """Return what the tests do with a fix, and what becomes of it."""
    lines = ["Nothing here tests the bug itself."]
    if trial.runs:
        lines = [describe_runs(trial.runs)]
    for value in trial.values:
        now = f"raises {value.raised}" if value.raised else f"gives {value.text}"
        lines.append(
            f"`{value.expression}` {now} with it, and {value.before} without: is it right?"
        )
    if trial.guarded is not None and trial.broken:
        broken = ", ".join(one.test for one in trial.guarded.regressions[:_BROKEN])
        lines.append(f"It breaks {trial.broken} existing tests: {broken}")
    kept = "is kept" if trial.stands else "was taken back: the code is as it was before"
    return "\n".join([*lines, f"The fix {kept}."])


def _variants(env: RepairWork, fix: str, failed: Trial, failure: str) -> list[Trial]:
    """Ask for variants of a fix that fails, and try those that are new (paper 004, III-D3)."""
    code = "\n\n".join(_near(env, change.path, fix) for change in failed.changes)
    try:
        replies = env.ask(
            env.model,
            "variants",
            _VARIANT,
            _VARIANTS,
            hypothesis=env.hypothesis,
            code=code,
            fix=fix,
            failure=failure,
            form=example(change),
        )
    except ModelProblem as problem:
        env.say(f"no variants: {problem}")
        return []
    new: list[tuple[FileChange, ...]] = []
    for reply in replies:
        with suppress(FixProblem, Refused):
            new.append(apply_fix(_fix_of(reply), env))
    known = {failed.key, *(one.key for one in env.tried)}
    trials = [replace(trial, source=FixSource.VARIANT) for trial in env.trials.run(*new)]
    return [trial for trial in trials if trial.key not in known]


# -- fixes that stay in the agent's tree --


def edit_code(env: RepairWork, path: str, prompt: str) -> Observation:
    """Describe a change of the code in words, with names and lines; it is made for you."""
    path = env.find(path)
    (reply,) = env.ask(
        env.editor,
        "edit_code",
        _EDIT,
        report=report_text(env.issue, env.editor.context),
        path=path,
        code=_near(env, path, prompt),
        task=prompt,
        form=example(change),
    )
    fix = tuple(replace(edit, path=path) for edit in _fix_of(reply, path))
    for changed in apply_fix(fix, env):
        env.changed[changed.path] = changed.content or b""
    first, size = min(edit.first for edit in fix), sum(len(edit.lines) for edit in fix)
    now = numbered(env.lines(path), first - 5, first + size + 5)
    return Observation(f"Edited {path}. Now:\n{now}\nRun a test of it.")


def change(env: RepairWork, changes: str, code: tuple[str, ...] = ()) -> str:
    """Change lines of files."""
    return changes


def _fix_of(reply: Reply, path: str = "") -> Fix:
    """Return the fix that a tool was answered; raise FixProblem where it is none."""
    tools = {"change": change, "write_fix": change}
    try:
        call, _ = read_reply(reply.text, tools, is_cut=reply.is_cut)
    except Refused as refused:
        raise FixProblem("the answer is no fix: ask for it in other words") from refused
    return parse_fix(call.arguments[0][1], call.code, path)


def _near(env: RepairWork, path: str, text: str) -> str:
    """Return the numbered lines of a file around the first line or name of it in a text."""
    lines, words = env.lines(path), re.findall(r"\w+", text)
    places = [int(word) for word in words if word.isdecimal() and int(word) <= len(lines)]
    places += [one.line for one in env.index.definitions_in(path) if one.name in words]
    middle = places[0] if places and len(lines) > _AROUND else 1
    return numbered(lines, middle - _AROUND // 3, middle + _AROUND)


def test(env: RepairWork, path: str) -> Observation:
    """Run a test file on the code as you changed it."""
    target = Test(id="test", path=env.find(path))
    if env.given is not None and target.path == env.given.test.path:
        target = Test.of(env.given.test)
    if not is_test_path(target.path):
        raise Refused(f"{path} is not a test file. Name one, as in tests/test_x.py.")
    changes = tuple(change for change in env.changes if not is_test_path(change.path))
    return _ran(target.path, env.trials.engine.run([target], changes))


def finish(env: RepairWork) -> Observation:
    """End: the bug is repaired."""
    has_run = any(isinstance(effect, TestsRan) for step in env.steps for effect in step.effects)
    if not (env.changes and has_run) and not any(trial.passes for trial in env.tried):
        raise Refused("No fix was tested that works yet. Write one, and run a test.")
    return Observation("Done.", (Finished(),))


# -- steering (paper 004) --


def generate_method_body(env: RepairWork, path: str, name: str) -> str:
    """Ask for a new version of a function, written from the code before it."""
    path = env.find(path)
    method = definitions_called(env, path, name)[0]
    before = "\n".join(env.lines(path)[: method.line - 1])[-env.editor.context :]
    signature = f"{method.name}{method.signature}"
    (reply,) = env.ask(env.editor, "method", _METHOD, path=path, before=before, signature=signature)
    code = fenced((fenced_blocks(reply.text) or [reply.text])[0], "python")
    return f"{method.qualname}, written without sight of the present one:\n{code}"


def express_hypothesis(env: RepairWork, hypothesis: str) -> str:
    """Say what the bug is: where, and why it goes wrong. Then you can fix it."""
    env.hypothesis = hypothesis
    return "Noted. Collect what you need to fix it, then write the fix."


def discard_hypothesis(env: RepairWork, reason: str) -> str:
    """Give the hypothesis up, as when fixes of it do not work, and say why."""
    env.hypothesis = ""
    return "Discarded. Look again, then express another hypothesis."


def collect_more_information(env: RepairWork) -> str:
    """Go back to reading and searching before the next fix."""
    return "You can read and search again."


def goal_accomplished(env: RepairWork, reason: str = "") -> Observation:
    """End: a fix passes the bug tests."""
    return finish(env)
