"""The tests that patches bring: found in their files, and judged on the unpatched tree.

Whoever writes a patch often shows with a test what it mends. Such a test says nothing for its own
patch, which was written to pass it, but as much as others of its kind about all the others.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

from pytest_brt.codec import content_id
from pytest_brt.guard import Touched
from pytest_brt.guard.suite import altered_tests
from pytest_brt.oracle.judge import Rating, judge, refused
from pytest_brt.oracle.report_facts import ReportFacts
from pytest_brt.patches import apply_patch
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.project.layout import is_test_path
from pytest_brt.project.pytest_config import CollectionPatterns, read_config
from pytest_brt.pysource.normal_form import test_key
from pytest_brt.pysource.parse import parse_or_empty
from pytest_brt.sandbox.placing import Test
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    CandidateTest,
    Evidence,
    FileChange,
    JudgedTest,
    Oracle,
    OracleKind,
    Origin,
    Patch,
    TestRun,
    Verdict,
)

#: Tests of one patch that are looked at.
_MOST = 20
#: Wall-clock seconds of one of them, and of all.
_EACH, _ALL = 20.0, 120.0
_RUNS_SCRIPT = """\
def test_{name}():
    import runpy

    runpy.run_path({path!r}, run_name="__main__")
"""


_FILE = re.compile(r"^\+\+\+ (?:[a-z]/)?([^\t\n]+\.py)(?:\t|$)", re.MULTILINE)


def may_bring_tests(patch: Patch) -> bool:
    """Say, from its text alone, whether a patch may have tests in it."""
    return any(is_test_path(path) for path in _FILE.findall(patch.text)) or "assert " in patch.text


def find_brought(
    patches: Iterable[Patch], root: Path, issue: str = ""
) -> tuple[CandidateTest, ...]:
    """Return the tests that patches add to the tree at `root`, or change there; equal ones once.

    The patches are meant for `issue`, "" for none.

    They are functions and methods of files that pytest collects, and scripts that assert something.
    What else a patch changes among tests, fixtures and data, comes with each of them.
    """
    collected = read_config(root).collected
    found: dict[str, CandidateTest] = {}
    for patch in patches:
        with suppress(PatchProblem):
            changes = apply_patch(patch, root, whole=True).changes
            for key, test in list(_tests_in(changes, root, collected))[:_MOST]:
                known = found.get(key, test)
                found[key] = _also_of(known, patch)
    return tuple(replace(test, issue=issue) for test in found.values())


def _also_of(test: CandidateTest, patch: Patch) -> CandidateTest:
    origin = test.origin
    sources = {*origin.sources, patch.source} - {""}
    both = replace(origin, patches=(*origin.patches, patch.name), sources=tuple(sorted(sources)))
    return replace(test, origin=both)


def _tests_in(
    changes: Sequence[FileChange], root: Path, collected: CollectionPatterns
) -> Iterator[tuple[str, CandidateTest]]:
    """Yield the tests among the changes of a patch, each with a key that equal ones share."""
    ours = [change for change in changes if _is_of_tests(change, root, collected)]
    for change in ours:
        if change.content is None or not change.path.endswith(".py"):
            continue
        support = tuple(other for other in ours if other is not change)
        source = change.content.decode("utf-8", "replace")
        file = root / change.path
        before = file.read_text("utf-8", "replace") if file.is_file() else None
        kinds = collected if collected.has_file(change.path) else CollectionPatterns()
        tests = altered_tests(change.path, before, source, kinds)
        for test in tests:
            key = content_id(test_key(dedent(test.source)))
            yield key, _candidate(change.path, test.node, source, support)
        if before is None and not tests and _asserts(source):
            yield content_id(test_key(source)), _script(change, (change, *support))


def _is_of_tests(change: FileChange, root: Path, collected: CollectionPatterns) -> bool:
    """Say whether a file belongs to tests: by its name, or as a new script beside the product."""
    if is_test_path(change.path) or collected.has_file(change.path):
        return True
    folder = (root / change.path).parent
    is_new = not (root / change.path).exists()
    return is_new and not (folder / "__init__.py").exists()


def _asserts(source: str) -> bool:
    return any(isinstance(node, ast.Assert) for node in ast.walk(parse_or_empty(source)))


def _script(change: FileChange, support: tuple[FileChange, ...]) -> CandidateTest:
    """Return a test that runs a script."""
    stem = Path(change.path).stem
    name = stem if stem.isidentifier() else "script"
    source = _RUNS_SCRIPT.format(name=name, path=change.path)
    return _candidate(f"test_brt_runs_{name}.py", f"test_{name}", source, support)


def _candidate(path: str, node: str, source: str, support: tuple[FileChange, ...]) -> CandidateTest:
    return CandidateTest(
        id=content_id("brought", path, node, source, *(file.path for file in support)),
        name=node,
        issue="",
        origin=Origin(strategy="patch"),
        oracle=Oracle(kind=OracleKind.WRITTEN, sentence="Came with a patch."),
        path=path,
        source=source,
        support=support,
    )


def judge_brought(
    tests: Sequence[CandidateTest],
    pool: Sequence[Touched],
    engine: Runner,
    facts: ReportFacts | None,
    repeat: int,
) -> tuple[JudgedTest, ...]:
    """Judge the tests that patches bring by what they do on the unpatched tree.

    `pool` is what the patches change there: a test that runs none of it says nothing of them. With
    the `facts` of a report its failure must fit them, too.

    Raises:
        SubjectProblem: the interpreter cannot be started at all.
    """
    watch = tuple(sorted({path for touched in pool for path in touched.files}))
    runs: dict[str, list[TestRun]] = {test.id: [] for test in tests}
    waiting = list(tests)
    for seed in range(max(1, repeat)):
        for run in engine.run(
            [*map(Test.of, waiting)],
            hash_seed=seed,
            test_seconds=_EACH,
            seconds=_ALL,
            watch=watch,
        ):
            runs[run.test].append(run)
        waiting = [test for test in waiting if _fails(runs[test.id])]
    # Where no line of any test was seen, none could be.
    seen = any(run.ran for found in runs.values() for run in found)
    telling = pool if seen else None
    return tuple(_judged(test, tuple(runs[test.id]), telling, facts) for test in tests)


def _fails(runs: Sequence[TestRun]) -> bool:
    return any(run.verdict is Verdict.FAIL for run in runs)


def _judged(
    test: CandidateTest,
    runs: tuple[TestRun, ...],
    pool: Sequence[Touched] | None,
    facts: ReportFacts | None,
) -> JudgedTest:
    """Judge one test; `pool` is None where it cannot be seen which lines it runs."""
    judged = judge(test, runs, facts, Rating(evidence=Evidence.PATCH_TEST))
    if not judged.judgement.candidate:
        return judged
    if runs[0].mismatch:
        why_not = "needs something that only its patch brings"
    elif pool is not None and not _runs_a_change(runs[0], pool):
        why_not = "runs nothing that a patch changes"
    else:
        return judged
    return replace(judged, judgement=refused(Verdict.FAIL, why_not, runs))


def _runs_a_change(run: TestRun, pool: Sequence[Touched]) -> bool:
    ran = {path: int(lines, 16) for path, lines in run.ran}
    return any(touched.is_run(ran) for touched in pool)


def is_own(judged: JudgedTest, patch: Patch) -> bool:
    """Say whether a test came with a patch or from its source: such a one says nothing of it."""
    origin = judged.test.origin
    return patch.name in origin.patches or (bool(patch.source) and patch.source in origin.sources)
