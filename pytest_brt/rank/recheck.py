"""Runs recorded evidence again, and says what still holds."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pytest_brt.codec import content_id, from_json
from pytest_brt.errors import PatchProblem, StoreProblem
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.row import Row, TestTarget
from pytest_brt.patches import apply_patch
from pytest_brt.report.evidence import (
    MAIN,
    SIGNATURE,
    Evidence,
    ProvenPatch,
    ProvenTest,
    Ran,
    sha256,
    sign,
)
from pytest_brt.types import FileChange, Patch, TestRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One recorded fact, and whether it still holds."""

    about: str
    holds: bool
    #: What was recorded and what is seen now; one line.
    detail: str


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of evidence, read and checked against itself."""

    path: Path
    evidence: Evidence
    #: Texts of tests and patches, by their file.
    texts: dict[str, str] = field(default_factory=dict)
    #: None when it is not signed.
    signed: bool | None = None


def read_folder(path: Path, key: bytes | None) -> Folder:
    """Return the evidence in `path`.

    Raises:
        StoreProblem: there is none, a file is missing, or one was changed since; with `key`,
            also when the signature is missing or another's.
    """
    main = _read(path / MAIN)
    try:
        evidence = from_json(main, Evidence)
    except StoreProblem as problem:
        raise StoreProblem(f"{str(path / MAIN)!r}: {problem} (record it again)") from problem
    signed = _check_signature(path, main, key)
    texts = {}
    tests = [(test.file, test.sha256) for test in evidence.tests if test.file]
    for file, recorded in (*tests, *((patch.file, patch.sha256) for patch in evidence.patches)):
        content = _read(_inside(path, file))
        if sha256(content) != recorded:
            raise StoreProblem(
                f"{str(path / file)!r} is not what was recorded: its SHA-256 differs "
                "(somebody changed it; record it again)"
            )
        texts[file] = content.decode("utf-8", "surrogateescape")
    return Folder(path, evidence, texts, signed)


def recheck(folder: Folder, engine: Engine, tree: str) -> Iterator[Claim]:
    """Run everything in `folder` again on `engine`'s subject, and yield each recorded fact.

    Args:
        folder: as `read_folder` returns it.
        engine: of the project as it is now.
        tree: SHA-256 of the project's tree as it is now.

    Raises:
        SubjectProblem: the interpreter cannot be started at all.
    """
    evidence = folder.evidence
    recorded = evidence.setting.tree
    same = tree == recorded
    detail = "the same" if same else f"another one: {tree[:12]}, not {recorded[:12]}"
    yield Claim(about="tree", holds=same, detail=detail)
    yield from _recheck_unpatched(folder, engine)
    for patch in evidence.patches:
        yield from _recheck_patch(folder, patch, engine)


def _recheck_unpatched(folder: Folder, engine: Engine) -> Iterator[Claim]:
    tests = folder.evidence.tests
    seeds = folder.evidence.setting.hash_seeds
    runs = [_run(folder, tests, (), engine, seed) for seed in seeds]
    for test in tests:
        for number, before in enumerate(test.before[: len(runs)]):
            now = runs[number].get(test.id)
            about = f"{test.node} on the unpatched tree, run {number + 1}"
            yield _claim(about, before, now)


def _recheck_patch(folder: Folder, patch: ProvenPatch, engine: Engine) -> Iterator[Claim]:
    text = folder.texts[patch.file]
    try:
        applied = apply_patch(
            Patch(id=content_id(text), name=patch.name, text=text), Path(engine.subject.root)
        )
    except PatchProblem as problem:
        detail = patch.reason if not patch.applies else f"does not apply now: {problem}"
        yield Claim(about=patch.name, holds=not patch.applies, detail=detail)
        return
    if not patch.applies:
        yield Claim(about=patch.name, holds=False, detail="applies now; it did not when recorded")
        return
    wanted = {proof.test for proof in patch.cells}
    tests = tuple(test for test in folder.evidence.tests if test.id in wanted)
    runs = _run(folder, tests, applied.changes, engine, 0)
    names = {test.id: test.node for test in tests}
    for proof in patch.cells:
        about = f"{names.get(proof.test, proof.test)} on {patch.name}"
        yield _claim(about, proof.after, runs.get(proof.test))


def _run(
    folder: Folder,
    tests: tuple[ProvenTest, ...],
    changes: tuple[FileChange, ...],
    engine: Engine,
    seed: int,
) -> dict[str, TestRun]:
    if not tests:
        return {}
    targets = tuple(
        TestTarget(
            id=test.id,
            path=test.path,
            source=folder.texts[test.file] if test.file else None,
            node=test.node,
        )
        for test in tests
    )
    result = engine.run(Row(changes=changes, targets=targets, hash_seed=seed))
    return {run.test: run for run in result.runs}


def _claim(about: str, recorded: Ran, now: TestRun | None) -> Claim:
    """Compare verdicts, and for failures what was raised; messages and lines may differ."""
    if now is None:
        return Claim(about=about, holds=False, detail="did not run")
    before = (recorded.verdict, recorded.raised.type if recorded.raised else "")
    after = (now.verdict, now.raised.type if now.raised else "")
    detail = _words(*after) if before == after else f"{_words(*after)}, not {_words(*before)}"
    return Claim(about=about, holds=before == after, detail=detail)


def _words(verdict: str, kind: str) -> str:
    return f"{verdict} ({kind})" if kind else str(verdict)


def _check_signature(path: Path, main: bytes, key: bytes | None) -> bool | None:
    is_there = (path / SIGNATURE).is_file()
    if key is None:
        return False if is_there else None
    if not is_there:
        raise StoreProblem(f"{str(path)!r} is not signed (leave the key out to read it anyway)")
    given = _read(path / SIGNATURE).decode("ascii", "replace").strip()
    if not hmac.compare_digest(given, sign(main, key)):
        raise StoreProblem(
            f"{str(path / MAIN)!r}: the signature is not by this key, or the file was changed"
        )
    return True


def _inside(folder: Path, name: str) -> Path:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise StoreProblem(f"{str(folder / MAIN)!r} names a file outside its folder: {name!r}")
    return path


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreProblem(f"cannot read {str(path)!r}: {error.strerror}") from error
