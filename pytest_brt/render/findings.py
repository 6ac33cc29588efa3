"""What was found of a test that somebody wrote, in words."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_brt.types.finding import Check, Examined, Finding

_ASKED = {
    Check.FAILS: "fails on this tree",
    Check.STEADY: "fails every time",
    Check.EQUIPPED: "nothing it needs is missing",
    Check.AS_REPORTED: "fails for the reported reason",
    Check.HONEST: "does not assert the buggy behaviour",
}
_ANSWERS = {True: "yes", False: "no", None: "?"}


def examined_lines(examined: Examined, report: str) -> Iterator[str]:
    """Yield a test's name, a line per question, and what that comes to."""
    yield examined.test
    for finding in examined.findings:
        yield f"  {_ANSWERS[finding.answer]:4} {_ASKED[finding.question]}{_why(finding)}"
    if examined.is_bug_test:
        yield f"  This is a bug test for {report}."
    elif any(finding.answer is False for finding in examined.findings):
        yield f"  This is not a bug test for {report}."
    else:
        yield f"  This may be a bug test for {report}: read it."


def _why(finding: Finding) -> str:
    if finding.answer is None and not finding.said:
        return ": not checked"
    return f": {finding.said}" if finding.said else ""
