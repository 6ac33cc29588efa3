"""The tests that patches bring: found in their files, and judged on the unpatched tree.

Whoever writes a patch often shows with a test what it mends. Such a test says nothing for its own
patch, which was written to pass it, but as much as others of its kind about all the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from pytest_brt.codec import content_id
from pytest_brt.errors import PatchProblem
from pytest_brt.oracle.judge import dropped, judge, run_tests
from pytest_brt.patches import apply_patch
from pytest_brt.patches.changes import Touched, altered_tests
from pytest_brt.project.layout import is_test_path
from pytest_brt.project.pytest_config import CollectionPatterns, read_config
from pytest_brt.pysource.normal_form import test_key
from pytest_brt.pysource.parse import decode
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import (
    CandidateTest,
    Evidence,
    FileChange,
    JudgedTest,
    Origin,
    Patch,
    Review,
)
from pytest_brt.types.report import Reading

#: Tests of one patch that are looked at.
_MOST = 20
#: Wall-clock seconds of one of them, and of all.
_EACH, _ALL = 20.0, 120.0


def is_own(judged: JudgedTest, patch: Patch) -> bool:
    """Say whether a test came with a patch or from its source: such a one says nothing of it.

    One that a person accepted does.
    """
    origin = judged.test.origin
    came = patch.name in origin.patches or patch.source in origin.sources
    return came and judged.review is not Review.ACCEPTED


def find_patch_tests(
    patches: Iterable[Patch], root: Path, issue: str
) -> tuple[CandidateTest, ...]:
    """Return the tests that patches add to the tree at `root`, or change there; equal ones once.

    What else a patch changes among tests, fixtures and data, comes with each of them. The patches
    are meant for `issue`, "" for none.
    """
    collected = read_config(root).collected
    tests: dict[str, CandidateTest] = {}
    for patch in patches:
        with suppress(PatchProblem):
            changes = apply_patch(patch, root, whole=True).changes
            ours = [
                c for c in changes if is_test_path(c.path) or collected.has_file(c.path)
            ]
            for key, new in islice(_tests_in(ours, root, collected), _MOST):
                known = tests.get(key, new)
                sources = {*known.origin.sources, patch.source} - {""}
                origin = replace(
                    known.origin,
                    patches=(*known.origin.patches, patch.name),
                    sources=tuple(sorted(sources)),
                )
                tests[key] = replace(known, issue=issue, origin=origin)
    return tuple(tests.values())


def _tests_in(
    ours: Sequence[FileChange], root: Path, collected: CollectionPatterns
) -> Iterator[tuple[str, CandidateTest]]:
    """Yield the tests among the changed files of tests, each with a key that equal ones share."""
    for change in ours:
        path, content = change.path, change.content or b""
        if not path.endswith(".py"):
            continue
        file, source = root / path, decode(content)
        before = file.read_bytes() if file.is_file() else None
        support = tuple(other for other in ours if other is not change)
        beside = test_key(source)  # it may change what a test does
        for node, code in altered_tests(before, content, collected).items():
            yield (
                test_key(code) + beside,
                CandidateTest(
                    id=content_id("brought", path, node, source, repr(support)),
                    name=node,
                    origin=Origin(strategy="patch"),
                    path=path,
                    source=source,
                    support=support,
                ),
            )


def judge_patch_tests(
    tests: Sequence[CandidateTest],
    pool: Sequence[Touched],
    runner: Runner,
    facts: Reading | None,
    repeat: int,
) -> tuple[JudgedTest, ...]:
    """Judge the tests that patches bring by what they do on the unpatched tree.

    `pool` is what the patches change there: a test that runs none of it says nothing of them. With
    the `facts` of a report its failure must fit them, too.

    Raises:
        SubjectProblem: the interpreter cannot be started at all.
    """
    watch = sorted({path for touched in pool for path in touched.files})
    runs = run_tests(tests, runner, repeat, watch=watch, test_seconds=_EACH, seconds=_ALL)
    # Where no line of any test was seen, none could be.
    seen = pool if any(own[0].ran for own in runs.values()) else ()
    judged = []
    for test in tests:
        own, why_not = runs[test.id], ""
        one = judge(test, own, facts, evidence=Evidence.PATCH_TEST)
        if own[0].mismatch:
            why_not = "needs something that only its patch brings"
        elif seen and not any(touched.is_run(own[0].ran) for touched in seen):
            why_not = "runs nothing that a patch changes"
        judged.append(dropped(one, why_not) if why_not else one)
    return tuple(judged)
