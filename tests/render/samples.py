"""Sample records: one for each thing that a report, a ranking or a repair can come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pytest_brt.rank.remarks import special_note
from pytest_brt.types import (
    AssertedBug,
    Attempt,
    Call,
    Cause,
    Cost,
    Ending,
    Fix,
    FoundFix,
    Frame,
    Given,
    Guarded,
    Issue,
    JudgedTest,
    Note,
    OracleKind,
    Origin,
    Patch,
    PatchResult,
    Place,
    Raised,
    Repair,
    Review,
    RunRecord,
    Step,
    Telling,
    TestRun,
    Trajectory,
    Verdict,
)
from tests.support.outcomes import caused, refused
from tests.support.rows import broken, judged, ranked, row

ISSUE = Issue(
    id="i",
    title="clamp gives the wrong end",
    text="# clamp gives the wrong end\n\n`clamp(5, 1, 3)` gives 5.\nIt should give 3.\n",
    source="issue.md",
)
SOURCE = '''from interval import clamp


def test_clamp_gives_expected():
    """`clamp(5, 1, 3)` should return `3`. Report: "It should give 3." """
    assert clamp(5, 1, 3) == 3
'''
CORE = Frame(path="interval/__init__.py", line=12, function="clamp", project=True)
OWN = Frame(path="tests/test_clamp.py", line=6, function="test_clamp_gives_expected")


# -- reports ----------------------------------------------------------------------------------


def bug_test(
    name: str = "test_clamp_gives_expected",
    confidence: float = 0.85,
    kind: OracleKind = OracleKind.EQUALS,
) -> JudgedTest:
    """Return a test that fails on the unpatched tree."""
    made = judged(0, confidence, kind, "assert 5 == 3")
    test = replace(
        made.test,
        name=name,
        issue="i",
        source=SOURCE,
        oracle=replace(made.test.oracle, sentence="`clamp(5, 1, 3)` should return `3`"),
    )
    raised = Raised(type="AssertionError", message="assert 5 == 3", frames=(OWN, CORE))
    cause = caused(Verdict.FAIL, "ValueError: bad")
    run = replace(made.judgement.runs[0], node=name, cause=cause, raised=raised)
    judgement = replace(made.judgement, runs=(run,), reason="the report states this value")
    return JudgedTest(test=test, judgement=judgement)


def rejected_test(verdict: Verdict, cause: Cause | None = None, model: str = "") -> JudgedTest:
    """Return a test that is no bug test."""
    run = TestRun(test="t0", node="test_x", verdict=verdict, cause=cause or caused(verdict))
    made = bug_test(f"test_{verdict.lower()}")
    origin = Origin(strategy="libro" if model else "replay", model=model)
    return replace(
        made,
        test=replace(made.test, origin=origin),
        judgement=replace(
            made.judgement,
            verdict=verdict,
            candidate=False,
            confidence=0.0,
            reason=run.cause.text,
            runs=(run,),
        ),
    )


def report(*tests: JudgedTest, strategy: str = "replay", **rest: object) -> RunRecord:
    """Return the record of one attempt at one report."""
    attempt = Attempt(issue="i", strategy=strategy, index=0, tests=tests)
    return record(attempts=(replace(attempt, **rest),))  # type: ignore[arg-type]


def record(**parts: object) -> RunRecord:
    """Return a record about `ISSUE`."""
    return RunRecord(
        issues=(ISSUE,),
        attempts=parts.pop("attempts", ()),  # type: ignore[arg-type]
        given=parts.pop("given", ()),  # type: ignore[arg-type]
        ranks=parts.pop("ranks", ()),  # type: ignore[arg-type]
        **parts,  # type: ignore[arg-type]
    )


def missed(*notes: Note) -> RunRecord:
    """Return the record of an attempt that made no test."""
    return report(notes=notes)


def asked(*notes: Note, ending: Ending, strategy: str = "agent", **rest: object) -> RunRecord:
    """Return the record of an attempt that asked a model for nothing."""
    trajectory = Trajectory(
        steps=(Step(number=1, reply="I look around.", call=Call(action="search")),), ending=ending
    )
    cost = Cost(calls=1, prompt_tokens=900, tokens=40, seconds=3.0)
    return report(strategy=strategy, notes=notes, trajectories=(trajectory,), cost=cost, **rest)


def said(code: str, text: str) -> Note:
    return Note(code=code, text=text)


NONE_STANDS = Note(
    code="model-gave-nothing",
    text="no test by the model holds up",
    hint="give the exact input and the right result in the report",
)
NO_CODE = Note(
    code="no-code",
    text="the report has no Python code that could be run",
    hint="add to the report a few lines of Python that show the bug",
)
NOT_FOUND = Note(
    code="raises",
    text="line 1: 'import x' raises ModuleNotFoundError: No module named 'x'",
    hint="install it for the Python that runs the project's tests",
)
LEFT_OUT = Note(
    code="unreadable-code",
    text="lines 4 to 6 of the report are not Python 3 and were left out: 'print clamp(5)'",
)
UNCLEAR = Note(
    code="not-stated",
    text="it is unclear which result of the report's code is wrong, and what the right one is",
    hint="add to the report the exact wrong output or exception",
)

REPORTS: dict[str, Callable[[], RunRecord]] = {
    "reproduced": lambda: report(bug_test()),
    "reproduced-by-several": lambda: record(
        attempts=(
            *report(bug_test("test_weak", 0.3, OracleKind.GONE)).attempts,
            *report(bug_test(), bug_test("test_other", 0.65)).attempts,
        )
    ),
    "possibly-needs-value": lambda: report(bug_test(confidence=0.5, kind=OracleKind.GONE)),
    "possibly-means-else": lambda: report(bug_test(confidence=0.5)),
    "reviewed": lambda: record(
        attempts=report(bug_test()).attempts,
        given=(
            replace(bug_test("test_kept"), review=Review.ACCEPTED),
            replace(bug_test("test_wrong"), review=Review.REJECTED),
        ),
    ),
    "module-not-found": lambda: missed(NOT_FOUND, UNCLEAR),
    "left-out": lambda: missed(LEFT_OUT, NO_CODE),
    "tests-broken": lambda: report(
        rejected_test(Verdict.BROKEN, caused(Verdict.BROKEN, "ImportError: no module named 'x'"))
    ),
    "tests-mixed": lambda: report(rejected_test(Verdict.PASS), *[rejected_test(Verdict.FLAKY)] * 2),
    "test-too-slow": lambda: report(rejected_test(Verdict.TIMEOUT)),
    "no-test": missed,
    "not-here": lambda: report(settled=(bug_test(),)),
    "not-here-since-a-fix": lambda: report(
        settled=(bug_test(),), fix=Fix(text="fixed by abc (A: Mend)", commit="abc")
    ),
    "none-stands": lambda: report(
        rejected_test(Verdict.PASS, model="m"),
        strategy="libro",
        notes=(NONE_STANDS,),
        cost=Cost(calls=1),
    ),
    "model-unavailable": lambda: report(
        strategy="auto",
        notes=(said("without-model", "without the model: no answer from http://127.0.0.1:8080"),),
    ),
    "out-of-time": lambda: asked(
        NO_CODE,
        said("not-tried", "more time (--brt-budget) would add: agent"),
        ending=Ending.TIME,
        strategy="auto",
    ),
    "samples-drawn": lambda: report(
        rejected_test(Verdict.BROKEN, model="m"),
        strategy="auto",
        cost=Cost(calls=1),
        notes=(
            said("shortened", "libro: report shortened to fit the context"),
            said("samples-drawn", "libro: 16 samples: 3 different tests"),
            said("plans-failed", "invert: no plan came to a test that fails as reported"),
            said("dialogue-ended", "agent: 4 steps: stopped: repeated the same action"),
        ),
    ),
    "interrupted": lambda: report(
        bug_test(), notes=(said("interrupted", "Partial results (interrupted)"),)
    ),
}


# -- rankings ---------------------------------------------------------------------------------

TESTS = (
    bug_test(),
    replace(bug_test("test_other"), test=replace(judged(1).test, name="test_b", issue="i")),
)


def patched(name: str, cells: str = "", **facts: object) -> PatchResult:
    """Return what the tests did on a patch of `ISSUE`."""
    diff = "--- a/interval/__init__.py\n+++ b/interval/__init__.py\n@@ -1 +1 @@\n-x\n+y\n"
    made = row(name, cells, **facts)
    return replace(made, patch=Patch(id=name, name=name, text=diff))


def ranking(*results: PatchResult, tests: tuple[JudgedTest, ...] = TESTS) -> RunRecord:
    """Return the record of a ranking of `results`."""
    attempt = Attempt(issue="i", strategy="replay", index=0, tests=tests)
    return record(attempts=(attempt,), ranks=ranked(results, tests), ranked="i")


def unrun(name: str) -> PatchResult:
    """Return a patch on which no test could be run."""
    made = patched(name, "?")
    cause = caused(Verdict.INVALID, "sandbox: could not be set up: ended")
    cells = (TestRun(test="t0", node="", verdict=Verdict.INVALID, cause=cause),)
    return replace(made, cells=cells)


#: What a call gives that raises on the unpatched tree; and a test that asserts the bug.
VALUE = Telling(
    test="t0",
    setup=(),
    expression="f(1)",
    gives=(
        Given(patches=("no patch", "c.diff"), raised="TypeError"),
        Given(patches=("a.diff",), text="2"),
        Given(patches=("b.diff",), raised="KeyError"),
    ),
)
ASSERTED = AssertedBug(test="tests/test_x.py::test_old", call="f(1)", bug_test="test_a")

RANKINGS: dict[str, Callable[[], RunRecord]] = {
    "led": lambda: ranking(
        patched("a.diff", "pp", guarded=broken(0)),
        patched("b.diff", "pf", guarded=broken(1)),
        patched("c.diff", "ff", guarded=broken(0)),
    ),
    "led-with-copies": lambda: ranking(
        patched("a.diff", "pp", guarded=broken(0), normal="n"),
        patched("a-again.diff", "pp", guarded=broken(0), normal="n"),
        patched("b.diff", "ff", guarded=broken(0)),
    ),
    "unsure-breaks": lambda: ranking(
        patched("a.diff", "pp", guarded=broken(1)), patched("b.diff", "ff", guarded=broken(2))
    ),
    "unsure-none-ran": lambda: ranking(
        patched("a.diff", "pp", guarded=Guarded(ran=0, total=9)),
        patched("b.diff", "ff", guarded=Guarded(ran=0, total=9)),
    ),
    "unsure-test": lambda: ranking(
        patched("a.diff", "p", guarded=broken(0)),
        patched("b.diff", "f", guarded=broken(0)),
        tests=(bug_test(confidence=0.4),),
    ),
    "tied": lambda: ranking(
        patched("a.diff", "pp", guarded=broken(0)), patched("b.diff", "pp", guarded=broken(0))
    ),
    "asserted-bug": lambda: ranking(
        patched("a.diff", "pp", guarded=replace(broken(0), disputed=(ASSERTED,))),
        patched("b.diff", "ff", guarded=broken(0)),
    ),
    "values": lambda: replace(
        ranking(
            patched("a.diff", "pp", guarded=broken(0)),
            patched("b.diff", "pp", guarded=broken(0)),
            patched("c.diff", "ff", guarded=broken(0)),
        ),
        values=(VALUE,),
    ),
    "too-close": lambda: ranking(
        patched("a.diff", "pp", guarded=broken(0)),
        patched("b.diff", "pp", guarded=broken(0), remarks=(special_note("clamp(5, 1, 3)"),)),
    ),
    "only-one": lambda: ranking(patched("a.diff", "pp", guarded=broken(0))),
    "no-bug-test": lambda: ranking(
        patched("a.diff", guarded=broken(1)), patched("b.diff", guarded=broken(0)), tests=()
    ),
    "no-test-ran": lambda: ranking(unrun("a.diff"), unrun("b.diff")),
    "none-passes": lambda: ranking(patched("a.diff", "ff"), patched("b.diff", "ff")),
    "unfinished": lambda: replace(ranking(patched("a.diff", "pp")), not_run=("b.diff", "c.diff")),
    "not-applied-and-remarked": lambda: ranking(
        patched(
            "a.diff",
            "pp",
            guarded=broken(0),
            remarks=(said("left-out-files", "touches tests: left out 'test_x.py'"),),
        ),
        patched("gone.diff", refused=refused("file missing: 'interval/gone.py' is not there")),
        patched(
            "stale.diff",
            refused=refused(
                "does not apply: 'interval/__init__.py' has no lines like those of hunk 1"
                " (line 3 of the patch, meant for line 7 of the file)"
            ),
        ),
    ),
    "existing-cut-short": lambda: ranking(
        patched("a.diff", "pp", guarded=cut(0)), patched("b.diff", "ff", guarded=cut(2))
    ),
}


def cut(count: int) -> Guarded:
    """Return what few existing tests said."""
    return Guarded(
        ran=7,
        total=90,
        reached=3,
        shortfalls=(said("budget-spent", "the budget of 2 s a patch allows no more"),),
        regressions=broken(count).regressions,
    )


# -- repairs and places -----------------------------------------------------------------------


def fix(name: str, *, plausible: bool, guarded: Guarded | None) -> FoundFix:
    """Return a fix that a repair wrote."""
    return FoundFix(
        patch=Patch(id=name, name=name, text="--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"),
        key=name,
        is_variant=True,
        plausible=plausible,
        passed=("test_clamp_gives_expected",),
        hypothesis="the ends are mixed up",
        guarded=guarded,
    )


def repaired(*fixes: FoundFix, notes: tuple[str, ...] = ()) -> RunRecord:
    """Return the record of one repair."""
    repair = Repair(
        issue="i",
        strategy="repairagent",
        index=0,
        fixes=fixes,
        brt="test_clamp_gives_expected",
        notes=notes,
        seconds=30.0,
        trajectory=Trajectory(steps=(), ending=Ending.STEPS, reason="40 steps"),
    )
    return record(attempts=report(bug_test()).attempts, repairs=(repair,))


OTHERS: dict[str, Callable[[], RunRecord]] = {
    "repaired": lambda: repaired(
        fix("repair-1.diff", plausible=True, guarded=broken(0)),
        fix("repair-2.diff", plausible=True, guarded=None),
    ),
    "repaired-breaking-tests": lambda: repaired(
        fix("repair-1.diff", plausible=False, guarded=broken(2))
    ),
    "not-repaired": lambda: repaired(notes=("4 fixes were tried, and none passes",)),
    "places": lambda: record(
        places=(
            (
                "i",
                (
                    Place(
                        path="interval/__init__.py",
                        function="clamp",
                        line=10,
                        end_line=14,
                        score=1.0,
                        clues=(
                            said("on-traceback", "the traceback ends in clamp"),
                            said("file-named", "the report names the module interval"),
                        ),
                    ),
                    Place(path="interval/other.py", function="", line=1, end_line=0, score=0.3),
                ),
            ),
        )
    ),
}

#: Name of the golden files → what makes the record.
SAMPLES = {**REPORTS, **RANKINGS, **OTHERS}
