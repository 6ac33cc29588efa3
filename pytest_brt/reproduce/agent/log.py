"""What a run of a test looks like for a model: verdict, exception, where, what it printed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pytest_brt.dialogue.history import without_repeats
from pytest_brt.types import Raised, TestRun, Verdict

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
#: What pytest says of values inside of values: after so many lines it explains libraries.
_WHERE = re.compile(r"\s*\+\s+(?:where|and)\s")
_MOST_WHERE = 3


def log_of(runs: Sequence[TestRun], names: Mapping[str, str] | None = None) -> str:
    """Return what `runs` did as a model is shown it; of many only those that did not pass.

    Args:
        runs: what was run.
        names: what is to stand for texts that the model does not know, such as the name of
            the file that its test was run in.
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
        lines.append(plain(run.reason))
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
    message = _short(plain(raised.message).strip("\n").split("\n"))
    lines = [f"{name}: {message[0]}", *message[1:_MESSAGE]]
    # Frames of libraries, which have absolute paths, say nothing that could be changed.
    near = [frame for frame in raised.frames if not frame.path.startswith("/")]
    lines += [f"  at {f.path}:{f.line} in {f.function}" for f in near[-_FRAMES:]]
    return lines


def _short(lines: Sequence[str]) -> list[str]:
    """Return a message without the explanations of values that lie deep inside of others."""
    kept: list[str] = []
    explained = 0
    for line in lines:
        explained += bool(_WHERE.match(line))
        if not _WHERE.match(line) or explained <= _MOST_WHERE:
            kept.append(line)
    return kept
