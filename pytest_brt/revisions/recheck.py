"""Runs recorded evidence again, and says what still holds."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pytest_brt.codec import content_id, from_json
from pytest_brt.errors import PatchProblem, StoreProblem
from pytest_brt.execute.engine import Engine, Row, TestTarget, worst
from pytest_brt.patches import apply_patch
from pytest_brt.render.evidence import (
    MAIN,
    SIGNATURE,
    Evidence,
    ProofRun,
    ProvenPatch,
    ProvenTest,
    sha256,
    sign,
)
from pytest_brt.types import FileChange, Patch, TestRun, Verdict

#: Bytes of one file of a folder.
_MOST_BYTES = 64 << 20
#: What a folder may ask for: seconds and MiB of one test, and runs on the unpatched tree.
_MOST_SECONDS, _MOST_MEMORY, _MOST_RUNS = 3600, 1 << 16, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFact:
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
    main = _read(path, MAIN)
    try:
        evidence = from_json(main, Evidence)
    except StoreProblem as problem:
        raise StoreProblem(f"{str(path / MAIN)!r}: {problem} (record it again)") from problem
    signed = _check_signature(path, main, key)
    _check_setting(path, evidence)
    texts = {}
    tests = [(test.file, test.sha256) for test in evidence.tests if test.file]
    for file, recorded in (*tests, *((patch.file, patch.sha256) for patch in evidence.patches)):
        content = _read(path, file)
        if sha256(content) != recorded:
            raise StoreProblem(
                f"{str(path / file)!r} is not what was recorded: its SHA-256 differs "
                "(somebody changed it; record it again)"
            )
        texts[file] = content.decode("utf-8", "surrogateescape")
    return Folder(path, evidence, texts, signed)


def recheck(folder: Folder, engine: Engine, tree: str) -> Iterator[RecordedFact]:
    """Run everything in `folder` again on `engine`'s subject, and yield each recorded fact.

    `tree` is the SHA-256 of the project's tree as it is now.

    Raises:
        SubjectProblem: the interpreter cannot be started at all.
    """
    evidence = folder.evidence
    recorded = evidence.setting.tree
    if not evidence.tests and not evidence.patches:
        yield RecordedFact(about="evidence", holds=False, detail="nothing was recorded")
    same = tree == recorded
    detail = "the same" if same else f"changed since recording ({recorded[:12]}, now {tree[:12]})"
    yield RecordedFact(about="working tree", holds=same, detail=detail)
    yield from _recheck_unpatched(folder, engine)
    for patch in evidence.patches:
        yield from _recheck_patch(folder, patch, engine)


def _recheck_unpatched(folder: Folder, engine: Engine) -> Iterator[RecordedFact]:
    tests = folder.evidence.tests
    seeds = folder.evidence.setting.hash_seeds
    runs = [_run(folder, tests, (), engine, seed) for seed in seeds]
    for test in tests:
        about = f"{test.node} on the unpatched tree"
        if len(test.before) != len(seeds) or not seeds:
            detail = f"{len(test.before)} runs recorded, with {len(seeds)} hash seeds"
            yield RecordedFact(about=about, holds=False, detail=detail)
        if any(before.verdict is not Verdict.FAIL for before in test.before):
            detail = "recorded as one that does not fail there, so it proves nothing"
            yield RecordedFact(about=about, holds=False, detail=detail)
        for number, (before, found) in enumerate(zip(test.before, runs, strict=False)):
            yield _claim(f"{about}, run {number + 1}", before, found.get(test.id))


def _recheck_patch(folder: Folder, patch: ProvenPatch, engine: Engine) -> Iterator[RecordedFact]:
    text = folder.texts[patch.file]
    try:
        applied = apply_patch(
            Patch(id=content_id(text), name=patch.name, text=text), Path(engine.subject.root)
        )
    except PatchProblem as problem:
        detail = patch.reason if not patch.applies else f"does not apply now: {problem}"
        yield RecordedFact(about=patch.name, holds=not patch.applies, detail=detail)
        return
    if not patch.applies:
        yield RecordedFact(
            about=patch.name, holds=False, detail="applies now; it did not when recorded"
        )
        return
    tests = tuple(t for t in folder.evidence.tests if t.issue in ("", patch.issue))
    runs = _run(folder, tests, applied.changes, engine, 0)
    recorded = {proof.test: proof.after for proof in patch.cells}
    for test in tests:
        about = f"{test.node} on {patch.name}"
        if test.id in recorded:
            yield _claim(about, recorded[test.id], runs.get(test.id))
        else:
            yield RecordedFact(about=about, holds=False, detail="no run was recorded")
    for unknown in recorded.keys() - {test.id for test in tests}:
        yield RecordedFact(about=f"{unknown} on {patch.name}", holds=False, detail="no such test")
    yield _share(patch, runs)
    yield from _recheck_regressions(patch, applied.changes, engine)


def _share(patch: ProvenPatch, runs: Mapping[str, TestRun]) -> RecordedFact:
    """Compare the share of tests that pass with what comes of the runs."""
    valid = [run for run in runs.values() if run.verdict is not Verdict.INVALID]
    passed = sum(run.verdict is Verdict.PASS for run in valid)
    now = passed / len(valid) if valid else None
    same = now == patch.epr
    detail = _figure(now) if same else f"{_figure(now)}, not {_figure(patch.epr)}"
    return RecordedFact(
        about=f"share of tests that pass on {patch.name}", holds=same, detail=detail
    )


def _figure(share: float | None) -> str:
    return "none" if share is None else f"{share:.3f}"


def _recheck_regressions(
    patch: ProvenPatch, changes: tuple[FileChange, ...], engine: Engine
) -> Iterator[RecordedFact]:
    """Run each existing test that is said to be broken by a patch, without it and with it."""
    if not patch.regressions:
        return
    named = (regression.test.partition("::") for regression in patch.regressions)
    targets = tuple(TestTarget(id="".join(name), path=name[0], nodes=(name[2],)) for name in named)
    base = _worst(engine.run(Row(targets=targets)).runs)
    runs = _worst(engine.run(Row(targets=targets, changes=changes)).runs)
    for regression in patch.regressions:
        before, after = base.get(regression.test), runs.get(regression.test)
        broken = before is Verdict.PASS and after == regression.verdict
        detail = f"{before or 'did not run'} without it, {after or 'did not run'} with it"
        about = f"regression {regression.test} on {patch.name}"
        yield RecordedFact(about=about, holds=broken, detail=detail)


def _worst(runs: Iterable[TestRun]) -> dict[str, Verdict]:
    """Return what each existing test did; one with parameters, the worst of them."""
    found: dict[str, list[TestRun]] = {}
    for run in runs:
        found.setdefault(run.test, []).append(run)
    return {name: worst(group).verdict for name, group in found.items()}


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


def _claim(about: str, recorded: ProofRun, now: TestRun | None) -> RecordedFact:
    """Compare verdicts, and for failures what was raised; messages and lines may differ."""
    if now is None:
        return RecordedFact(about=about, holds=False, detail="did not run")
    before = (recorded.verdict, recorded.raised.type if recorded.raised else "")
    after = (now.verdict, now.raised.type if now.raised else "")
    detail = _words(*after) if before == after else f"{_words(*after)}, not {_words(*before)}"
    return RecordedFact(about=about, holds=before == after, detail=detail)


def _words(verdict: str, kind: str) -> str:
    return f"{verdict} ({kind})" if kind else str(verdict)


def _check_signature(path: Path, main: bytes, key: bytes | None) -> bool | None:
    is_there = (path / SIGNATURE).is_file()
    if key is None:
        return False if is_there else None
    if not is_there:
        raise StoreProblem(f"{str(path)!r} is not signed (leave the key out to read it anyway)")
    given = _read(path, SIGNATURE).decode("ascii", "replace").strip()
    if not hmac.compare_digest(given, sign(main, key)):
        raise StoreProblem(
            f"{str(path / MAIN)!r}: the signature is not by this key, or the file was changed"
        )
    return True


def _check_setting(path: Path, evidence: Evidence) -> None:
    """Refuse limits and names that no run of ours records."""
    setting = evidence.setting
    names = [test.path for test in evidence.tests]
    names += [regression.test for patch in evidence.patches for regression in patch.regressions]
    odd = next((name for name in names if _is_odd(name)), None)
    if odd is not None:
        raise StoreProblem(f"{str(path / MAIN)!r} names a test outside the project: {odd!r}")
    ids = [test.id for test in evidence.tests]
    cells = [[proof.test for proof in patch.cells] for patch in evidence.patches]
    if any(len(set(named)) < len(named) for named in (ids, *cells)):
        raise StoreProblem(f"{str(path / MAIN)!r} names a test twice")
    if not (0 < setting.seconds <= _MOST_SECONDS and 0 < setting.memory_mb <= _MOST_MEMORY):
        raise StoreProblem(
            f"{str(path / MAIN)!r}: limits out of range: {setting.seconds!r} s, "
            f"{setting.memory_mb!r} MiB (at most {_MOST_SECONDS} s, {_MOST_MEMORY} MiB)"
        )
    if len(setting.hash_seeds) > _MOST_RUNS:
        raise StoreProblem(f"{str(path / MAIN)!r}: more than {_MOST_RUNS} runs of each test")


def _is_odd(name: str) -> bool:
    path = PurePosixPath(name.partition("::")[0])
    odd = path.is_absolute() or ".." in path.parts or name.startswith(("-", "@")) or not path.parts
    return odd or not name.isprintable()


def _read(folder: Path, name: str) -> bytes:
    """Return what a file of the folder holds; a link out of it, or a pipe, is none of its files."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise StoreProblem(f"{str(folder / MAIN)!r} names a file outside its folder: {name!r}")
    try:
        if path.exists() and not path.is_file():
            raise StoreProblem(f"not a file: {str(path)!r} (record it again)")
        if path.exists() and path.stat().st_size > _MOST_BYTES:
            raise StoreProblem(f"{str(path)!r} has more than {_MOST_BYTES >> 20} MiB")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StoreProblem(f"cannot read {str(path)!r}: {reason}") from error
