"""What a run of a test looks like for a model: verdict, exception, where, what it printed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_brt.dialogue.trim import without_repeats
from pytest_brt.types import Raised, TestRun, Verdict

#: Lines of an exception's message, frames, and lines of output that are shown.
_MESSAGE, _FRAMES, _OUTPUT = 30, 6, 40
#: Tests of a whole file that are shown in full.
_TESTS = 5
_MEANS = {
    Verdict.PASS: "It passes on the code with the bug: it does not show the bug.",
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


def log_of(runs: Sequence[TestRun]) -> str:
    """Return what `runs` did as a model is shown it; of many only those that did not pass."""
    told = [run for run in runs if run.verdict is not Verdict.PASS] or list(runs)
    parts = [_one(run) for run in told[:_TESTS]]
    more = len(runs) - len(parts)
    if more > 0:
        passed = sum(run.verdict is Verdict.PASS for run in runs)
        parts.append(f"{len(runs)} tests in the file, {passed} pass.")
    return "\n\n".join(parts)


def overall(runs: Sequence[TestRun]) -> Verdict:
    """Return the verdict that counts of several tests."""
    found = {run.verdict for run in runs}
    return next((verdict for verdict in _ORDER if verdict in found), runs[0].verdict)


def _one(run: TestRun) -> str:
    lines = [f"{run.node or run.test}: {run.verdict}"]
    if run.raised is not None:
        lines += _raised(run.raised)
    elif run.verdict is not Verdict.PASS:
        lines.append(run.reason)
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
    if not _REPORT.search(output):
        return output.strip("\n")
    return "\n".join(part.strip("\n") for part in _CAPTURED.findall(output))


def _raised(raised: Raised) -> list[str]:
    name = raised.type.removeprefix("builtins.")
    message = raised.message.strip("\n").split("\n")
    lines = [f"{name}: {message[0]}", *message[1:_MESSAGE]]
    # Frames of libraries, which have absolute paths, say nothing that could be changed.
    near = [frame for frame in raised.frames if not frame.path.startswith("/")]
    lines += [f"  at {f.path}:{f.line} in {f.function}" for f in near[-_FRAMES:]]
    return lines
