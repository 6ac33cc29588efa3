"""Runs what `--brt-record` kept again, and compares the verdicts.

The folder says which tests and patches there are and what they did. It never says what is run or
how it is shut in: it may come from anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pytest_brt.bounded import read_bounded
from pytest_brt.code.scan import RECORDED_REPORT
from pytest_brt.codec import content_id, from_json
from pytest_brt.errors import StoreProblem
from pytest_brt.execute.engine import Engine, Row, TestTarget, worst
from pytest_brt.patches import apply_patch
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.patches.text import decode
from pytest_brt.render.report import PatchEntry, Report
from pytest_brt.types import FileChange, Patch, TestRun, Verdict

#: Bytes of one file of a folder.
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a test did when it was recorded, and what it does now; None when it did not run.

    Of a patch that applies only then or now, `test` is "" and so are the verdicts.
    """

    #: "" for the unpatched tree.
    patch: str
    test: str
    then: Verdict | None
    now: Verdict | None

    @property
    def same(self) -> bool:
        """Whether nothing has changed."""
        return self.then is self.now and bool(self.test)


def patch_file(patch: str) -> str:
    """Return where a record has the patch with this id, whatever letters the id has."""
    return f"patches/{content_id(patch)}.diff"


def read_report(folder: Path) -> Report:
    """Return the report in `folder`.

    Raises:
        StoreProblem: there is none, it is no report, or it names a file outside of the project.
    """
    shown = repr(str(folder / RECORDED_REPORT))
    text = _read(folder, RECORDED_REPORT)
    try:
        report = from_json(text, Report)
    except StoreProblem as problem:
        raise StoreProblem(f"{shown}: {problem} (record it again)") from problem
    names = [test.file for test in report.tests]
    for patch in _patches(report):
        names += [broken.test for broken in patch.broken]
    for name in names:
        if _leads_out(name):
            raise StoreProblem(f"{shown} names a test outside the project: {name!r}")
    return report


def recheck(folder: Path, engine: Engine) -> Iterator[Comparison]:
    """Run the tests of `folder` on the project as it is, then on each patch; yield each verdict.

    Raises:
        StoreProblem: a file of the folder cannot be read.
    """
    report = read_report(folder)
    tests = [test for test in report.tests if test.candidate]
    targets = [
        TestTarget(id=test.id, path=test.file, source=test.source, node=test.name) for test in tests
    ]
    names = {test.id: test.name for test in tests}
    before = {test.id: test.verdict for test in tests}
    yield from _compared("", before, names, _verdicts(engine, targets, ()))
    for patch in _patches(report):
        yield from _recheck_patch(folder, patch, targets, names, engine)


def _patches(report: Report) -> Iterator[PatchEntry]:
    return (patch for ranking in report.rankings for patch in ranking.patches)


def _recheck_patch(
    folder: Path,
    patch: PatchEntry,
    targets: list[TestTarget],
    names: Mapping[str, str],
    engine: Engine,
) -> Iterator[Comparison]:
    text = _read(folder, patch_file(patch.id))
    given = Patch(id=patch.id, name=patch.name, text=decode(text))
    try:
        changes = apply_patch(given, Path(engine.subject.root)).changes
    except PatchProblem:
        if patch.applies:
            yield Comparison(patch=patch.name, test="", then=None, now=None)
        return
    if not patch.applies:
        yield Comparison(patch=patch.name, test="", then=None, now=None)
        return
    recorded = {cell.test: cell.verdict for cell in patch.cells}
    existing = {broken.test: broken.verdict for broken in patch.broken}
    wanted = [target for target in targets if target.id in recorded]
    wanted += [_existing(name) for name in existing]
    found = _verdicts(engine, wanted, changes)
    yield from _compared(patch.name, recorded | existing, names, found)


def _existing(name: str) -> TestTarget:
    path, _, node = name.partition("::")
    return TestTarget(id=name, path=path, nodes=(node,))


def _compared(
    patch: str,
    then: Mapping[str, Verdict],
    names: Mapping[str, str],
    now: Mapping[str, Verdict],
) -> Iterator[Comparison]:
    for test, verdict in then.items():
        yield Comparison(patch=patch, test=names.get(test, test), then=verdict, now=now.get(test))


def _verdicts(
    engine: Engine, targets: list[TestTarget], changes: tuple[FileChange, ...]
) -> dict[str, Verdict]:
    if not targets:
        return {}
    runs: dict[str, list[TestRun]] = {}
    for run in engine.run(Row(changes=changes, targets=tuple(targets))).runs:
        runs.setdefault(run.test, []).append(run)
    return {test: worst(group).verdict for test, group in runs.items()}


def _leads_out(name: str) -> bool:
    path = PurePosixPath(name.partition("::")[0])
    if path.is_absolute() or ".." in path.parts or not path.parts:
        return True
    return name.startswith(("-", "@")) or not name.isprintable()


def _read(folder: Path, name: str) -> bytes:
    """Return what a regular file holds; a link or a pipe is none of a record's files."""
    path = folder / name
    if path.resolve() != folder.resolve() / name:
        raise StoreProblem(f"{str(path)!r} is a link (record it again)")
    try:
        return read_bounded(path, _MOST_BYTES)
    except OSError as error:
        raise StoreProblem(
            f"cannot read {str(path)!r}: {error.strerror or error} (record it again)"
        ) from error
