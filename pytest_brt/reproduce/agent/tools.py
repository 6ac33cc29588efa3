"""The actions of BRT Agent (paper 001, requirements 34-37), and what it sees of a test's run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath

from pytest_brt.agent.action import Action, ActionSpec, Kind, Outcome, Parameter, Tool, refused
from pytest_brt.agent.history import Counter, without_repeats
from pytest_brt.code.layout import is_test_path
from pytest_brt.code.source import read_source
from pytest_brt.execute.engine import Row, TestTarget
from pytest_brt.oracle.facts import Facts, read_facts
from pytest_brt.oracle.judge import refusal
from pytest_brt.render.causes import run_words
from pytest_brt.reproduce.agent.editing import edit
from pytest_brt.reproduce.agent.kit import Kit, tests_in
from pytest_brt.reproduce.agent.show import search, show
from pytest_brt.types import CandidateTest, Raised, Step, TestRun, Verdict

CAT = ActionSpec(
    name="cat",
    about="show a file.",
    parameters=(Parameter(name="path", about="FILE or FILE:LINE", kind=Kind.PLACE),),
)
SEARCH = ActionSpec(
    name="code_search",
    about="find lines of the project.",
    parameters=(Parameter(name="text", about="a name or some code", most=120),),
)
EDIT = ActionSpec(
    name="edit",
    about="write a test into a test file, or rewrite yours.",
    parameters=(
        Parameter(name="path", about="FILE", kind=Kind.NEW_PATH),
        Parameter(name="prompt", about="what the test must call and assert", most=600),
    ),
)
TEST = ActionSpec(
    name="test",
    about="run your test in a file.",
    parameters=(Parameter(name="path", about="FILE", kind=Kind.PATH),),
)
FINISH = ActionSpec(
    name="finish", about="end, when the test fails for the reported reason.", repeatable=True
)
#: Fact of a step that ran a test: why it is not accepted.
REFUSED = "refused"
SPECS = (CAT, SEARCH, EDIT, TEST, FINISH)


def tools_of(kit: Kit, *, observation: int, count: Counter) -> dict[str, Tool]:
    """Return the tools of one run; an observation is to have at most so many tokens."""
    facts = read_facts(kit.bench.reading(kit.issue))

    def cat(action: Action, steps: Sequence[Step]) -> Outcome:
        path, _, line = action["path"].partition(":")
        content = kit.content(path, steps)
        if content is None:
            return refused(f"There is no file {path!r} any more.")
        text = read_source(path, content).text
        return Outcome(observation=show(path, text, int(line or 0), observation, count))

    runs: tuple[Callable[[Action, Sequence[Step]], Outcome], ...] = (
        cat,
        lambda action, _: Outcome(observation=search(action["text"], kit.index)),
        lambda action, steps: edit(action, steps, kit),
        lambda action, steps: run_test(action["path"], steps, kit, facts),
        finish,
    )
    return {spec.name: Tool(spec=spec, run=run) for spec, run in zip(SPECS, runs, strict=True)}


def run_test(path: str, steps: Sequence[Step], kit: Kit, facts: Facts) -> Outcome:
    """Run what the agent wrote into the file `path`; the whole file when that is nothing.

    `facts`, what the report says, may be a reason not to accept a test that fails; it is told.
    """
    mine = tests_in(path, steps)
    targets = tuple(
        TestTarget(id=test.name, path=test.path, source=test.source, node=test.name)
        for test in mine
    )
    if not targets:
        if not is_test_path(path):
            return refused(f"{path!r} is no test file. Write a test with edit first.")
        targets = (TestTarget(id=path, path=path),)
    runs = kit.bench.engine.run(Row(targets=targets)).runs
    if not runs:
        return refused(f"There is no test in {path!r}.")
    told = log_of(runs, _names(path, mine, kit))
    why_not = _why_not(mine, runs, facts)
    if why_not:
        told += f"\nThis test is not accepted: {why_not}."
    return Outcome(observation=told, verdict=overall(runs), facts=((REFUSED, why_not),))


def _why_not(mine: Sequence[CandidateTest], runs: Sequence[TestRun], facts: Facts) -> str:
    """Return why no failing test of `mine` would be a candidate, "" when one would."""
    found = [
        refusal(test, (run,), facts)
        for test in mine
        for run in runs
        if run.test == test.name and run.verdict is Verdict.FAIL
    ]
    return "" if "" in found else next(iter(found), "")


def _names(path: str, mine: Sequence[CandidateTest], kit: Kit) -> dict[str, str]:
    """Return what the model calls the files that its tests are run in, and the project's root."""
    root = str(kit.bench.engine.subject.root).rstrip("/")
    names = {f"{root}/": ""} if root else {}
    for test in mine:
        if test.path != path:
            names[test.path] = path
            names[PurePosixPath(test.path).stem] = PurePosixPath(path).stem
    return names


def finish(action: Action, steps: Sequence[Step]) -> Outcome:
    """Be done, unless no test was run yet (paper 001, requirement 37).

    When the last test is not accepted, that is said once more, and the next time it ends.
    """
    ran = [step for step in steps if step.verdict]
    if not ran:
        return refused("No test was run yet. Write a test with edit and run it with test first.")
    why_not = ran[-1].fact(REFUSED)
    since = steps[steps.index(ran[-1]) :]
    if why_not and not any(step.action == FINISH.name for step in since):
        return refused(f"Your test is not accepted: {why_not}. Correct it with edit.")
    return Outcome(observation="Done.", done=True)


#: Lines of an exception's message, frames, and lines of output that are shown.
_MESSAGE, _FRAMES, _OUTPUT = 30, 6, 40
#: Tests of a whole file that are shown in full.
_TESTS = 5
_MEANS = {
    Verdict.PASS: "It passes on the code with the bug: it does not show the bug. Find an input "
    "that reaches the line where it goes wrong.",
    Verdict.BROKEN: "The test itself is wrong. Correct it.",
    Verdict.TIMEOUT: "It did not end in time.",
    Verdict.SKIP: "It was skipped. A test must not be skipped.",
    Verdict.XFAIL: "It is marked to fail. Take the mark away.",
}
#: The worst first: what a model is told of several tests together.
_ORDER = (Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT, Verdict.BROKEN, Verdict.PASS)
#: What shows that an output is that of pytest, and what the test printed in it.
_REPORT = re.compile(r"^=+ (?:FAILURES|ERRORS|short test summary info) =+$", re.MULTILINE)
_CAPTURED = re.compile(
    r"^-+ Captured std\w+ \w+ -+\n(.*?)(?=^[-=_]{4,}|\Z)", re.DOTALL | re.MULTILINE
)
#: pytest's list of warnings, up to its next heading.
_WARNINGS = re.compile(r"^=+ warnings summary.*?=+$.*?(?=^=+ .*=+$|\Z)", re.DOTALL | re.MULTILINE)
#: Colours and cursor movements of terminals.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")


def log_of(runs: Sequence[TestRun], names: Mapping[str, str] | None = None) -> str:
    """Return what `runs` did as a model is shown it; of many only those that did not pass.

    `names` stand for texts that it does not know, such as the file that its test was run in.
    """
    told = [run for run in runs if run.verdict is not Verdict.PASS] or list(runs)
    parts = [_one(run) for run in told[:_TESTS]]
    more = len(runs) - len(parts)
    if more > 0:
        passed = sum(run.verdict is Verdict.PASS for run in runs)
        parts.append(f"{len(runs)} tests in the file, {passed} pass.")
    told_of = "\n\n".join(parts)
    for text, name in (names or {}).items():
        told_of = told_of.replace(text, name)
    return told_of


def overall(runs: Sequence[TestRun]) -> Verdict:
    """Return the verdict that counts of several tests."""
    found = {run.verdict for run in runs}
    return next((verdict for verdict in _ORDER if verdict in found), runs[0].verdict)


def _one(run: TestRun) -> str:
    lines = [f"{run.node or run.test}: {run.verdict}"]
    if run.raised is not None:
        lines += _raised(run.raised)
    elif run.verdict is not Verdict.PASS:
        lines.append(plain(run_words(run)))
    output = without_repeats(printed(run.output), numbers=False).split("\n")
    if run.verdict is not Verdict.PASS and output != [""]:
        left = len(output) - _OUTPUT
        lines.append("It printed:" if left <= 0 else f"It printed (the last {_OUTPUT} lines):")
        lines += output[-_OUTPUT:]
    if run.verdict in _MEANS:
        lines.append(_MEANS[run.verdict])
    return "\n".join(lines)


def printed(output: str) -> str:
    r"""Return what a test itself printed; pytest's own report of it says nothing new.

    >>> printed("F      [100%]\n=== FAILURES ===\n---- Captured stdout call ----\nhello\n====")
    'hello'
    """
    output = _WARNINGS.sub("", plain(output))
    if not _REPORT.search(output):
        return output.strip("\n")
    return "\n".join(part.strip("\n") for part in _CAPTURED.findall(output))


def plain(text: str) -> str:
    r"""Return `text` without colours and other orders to a terminal.

    >>> plain("\x1b[01mdone\x1b[39;49;00m")
    'done'
    """
    return _ESCAPES.sub("", text)


def _raised(raised: Raised) -> list[str]:
    name = raised.type.removeprefix("builtins.")
    message = plain(raised.message).strip("\n").split("\n")
    lines = [f"{name}: {message[0]}", *message[1:_MESSAGE]]
    # Frames of libraries, which have absolute paths, say nothing that could be changed.
    near = [frame for frame in raised.frames if not frame.path.startswith("/")]
    lines += [f"  at {f.path}:{f.line} in {f.function}" for f in near[-_FRAMES:]]
    return lines
