"""Tools with which an agent repairs: tests, fixes, variants, hypotheses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from pytest_brt.agents.fix import LineEdit, apply_fix, parse_fix
from pytest_brt.agents.prompts import describe_runs, failures, fenced, numbered, render
from pytest_brt.agents.reply import fenced_blocks, first_object
from pytest_brt.agents.trials import Changes, RepairWork
from pytest_brt.agents.workspace import Observation, Refused, definitions_called
from pytest_brt.errors import EditProblem, ModelProblem
from pytest_brt.model.request import Reply
from pytest_brt.project.definitions import read_facts
from pytest_brt.project.layout import is_test_path
from pytest_brt.pysource.parse import decode
from pytest_brt.sandbox.placing import Test
from pytest_brt.types import FileChange, JudgedTest, TestRun, Verdict

#: Tokens of a variant, of an edit and of a method; lines that a variant and an edit are shown.
_VARIANT, _EDIT, _METHOD, _AROUND = 400, 900, 4_000, 200
#: Variants that are asked for when a fix fails (paper 004, III-D3).
_VARIANTS = 30
#: Seconds that the whole suite may take.
_SUITE = 120.0


# -- tests --


def source_of(env: RepairWork, judged: JudgedTest) -> str:
    """Return the source of a failing test's file, or of the test alone where that is too long."""
    text = judged.test.source or decode(env.read(judged.test.path))
    if len(text) > env.model.context // 2:  # so much of it is shown, without the middle
        name = judged.test.name.partition("[")[0].replace("::", ".")
        for found in read_facts(text).definitions:
            if found.qualname == name:
                return "\n".join(text.split("\n")[found.line - 1 : found.end_line])
    return text


def extract_tests(env: RepairWork) -> str:
    """Show the sources of the failing tests."""
    return render("tests", env=env, source=source_of)


def run_tests(env: RepairWork, which: str = "failing") -> Observation:
    """Run the "failing" tests, or "all" tests of the project, on the code as it is."""
    if "all" in which.lower():
        suite = [Test(id=path, path=path) for path in env.guard.files.texts]
        return _ran(env.engine.run(suite, seconds=_SUITE))
    return _ran(env.engine.run(env.bug_tests))


def _ran(runs: Sequence[TestRun]) -> Observation:
    if not runs:
        raise Refused("There is no such test.")
    bad = failures(runs)
    verdict = bad[0].verdict if bad else Verdict.PASS
    return Observation(describe_runs(runs), verdict=verdict)


def run_fault_localization(env: RepairWork) -> str:
    """Say which functions and lines are most suspicious."""
    lines = "Lines by Ochiai's score, of what failing and passing tests run:"
    return "\n".join([render("places", env=env), lines, *env.suspect_lines])


# -- fixes that are tried and taken back --


def write_fix(env: RepairWork, changes: str, code: tuple[str, ...] = ()) -> Observation:
    """Change lines of the code and run the tests; then the code is as it was before.

    Numbers are those that were shown. Places: "path replace 10-12", "path insert 5" (before line 5)
    or "path delete 20-21", with ";" between several. One block of code per replace and insert, in
    their order.
    """
    before, variants = len(env.tried), []
    fix = apply_fix(parse_fix(changes, code), env)
    (trial,) = env.try_fixes([fix])
    told = {"trial": trial, "runs": describe_runs(trial.runs) if trial.runs else ""}
    if not trial.stands and len(env.tried) > before:
        failure = render("trial", variants=(), **told)
        written = _variants(env, "\n".join([changes, *code]), fix, failure)
        variants = env.try_fixes(written, are_variants=True)
    trials = [trial, *variants]
    stands = any(one.stands for one in trials)
    return Observation(
        render("trial", variants=variants, **told),
        verdict=Verdict.PASS if stands else Verdict.FAIL,
        diffs=tuple(one.fix.patch.text for one in trials),
        is_over=stands and env.ends_early,
    )


def _variants(
    env: RepairWork, fix: str, changes: Sequence[FileChange], failure: str
) -> list[Changes]:
    """Ask for variants of a fix that fails (paper 004, III-D3)."""
    code = "\n\n".join(_near(env, one.path, fix) for one in changes)
    told = {"hypothesis": env.hypothesis, "code": code, "fix": fix, "failure": failure}
    variants = []
    with suppress(ModelProblem):  # the next step says it
        for reply in env.ask(env.model, "variants", _VARIANT, _VARIANTS, **told):
            with suppress(EditProblem, Refused):
                variants.append(apply_fix(_fix_of(reply), env))
    return variants


# -- fixes that stay in the agent's tree --


def edit_code(env: RepairWork, path: str, prompt: str) -> Observation:
    """Describe a change of the code in words, with names and lines; it is made for you."""
    path = env.find(path)
    code = _near(env, path, prompt)
    (reply,) = env.ask(env.editor, "edit_code", _EDIT, path=path, code=code, task=prompt)
    fix = [edit._replace(path=path) for edit in _fix_of(reply)]
    changes = apply_fix(fix, env)
    env.changed[path] = changes[0].content or b""
    first = min(edit.first for edit in fix)
    now = numbered(
        env.lines(path), first - 5, first + sum(len(edit.lines) for edit in fix) + 5
    )
    return Observation(f"Edited {path}. Now:\n{now}\nRun a test of it.", changes)


def _fix_of(reply: Reply) -> list[LineEdit]:
    """Return the fix that a tool was answered; raise EditProblem where it is none."""
    changes = first_object(reply.text).get("changes")
    if reply.is_cut or not isinstance(changes, str):
        raise EditProblem("the answer is no fix: ask for it in other words")
    blocks = [block for block in fenced_blocks(reply.text) if not block.startswith("{")]
    return parse_fix(changes, blocks)


def _near(env: RepairWork, path: str, text: str) -> str:
    """Return the numbered lines of a file around the first line or name of it in a text."""
    lines = env.lines(path)
    known = {str(number): number for number in range(1, len(lines) + 1)}
    known |= {one.name: one.line for one in env.index.definitions_in(path)}
    places = [known[word] for word in re.findall(r"\w+", text) if word in known]
    first = max(1, [*places, 1][0] - _AROUND // 3)
    return numbered(lines, first, first + _AROUND)


def test(env: RepairWork, path: str) -> Observation:
    """Run a test file on the code as you changed it."""
    path = env.find(path)
    if not is_test_path(path):
        raise Refused(f"{path} is not a test file. Name one, as in tests/test_x.py.")
    given = env.changed.get(path)
    own = Test(id="test", path=path, source=decode(given) if given else None)
    return _ran(env.engine.run([own], env.changes))


def finish(env: RepairWork) -> Observation:
    """End: the bug is repaired."""
    has_tested = env.changes and any(step.verdict for step in env.steps)
    if not has_tested and not any(one.passes for one in env.tried.values()):
        raise Refused("No fix was tested that works yet. Write one, and run a test.")
    return Observation("Done.", is_over=True)


# -- steering (paper 004) --


def generate_method_body(env: RepairWork, path: str, name: str) -> str:
    """Ask for a new version of a function, written from the code before it."""
    path = env.find(path)
    method = definitions_called(env, path, name)[0]
    before = "\n".join(env.lines(path)[: method.line - 1])[-env.editor.context :]
    head = f"{method.name}{method.signature}"
    (reply,) = env.ask(
        env.editor, "method", _METHOD, path=path, before=before, signature=head
    )
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
