"""What a run proved, so that anyone can check it again: trees, patches, tests, verdicts, frames.

Pure: from records to `Evidence` and to the files of a folder; `docs/evidence.md` documents them.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_brt.codec import to_json
from pytest_brt.execute.engine import Limits
from pytest_brt.patches.file_names import encode
from pytest_brt.types import (
    Cell,
    FileChange,
    JudgedTest,
    PatchResult,
    Raised,
    Regression,
    RunRecord,
    TestRun,
    Verdict,
)
from pytest_brt.types.subject import Subject

SCHEMA = 1
#: Names of the files of the folder.
MAIN = "evidence.json"
SIGNATURE = "evidence.hmac"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a test was run with."""

    #: SHA-256 of the tree.
    tree: str
    python: str
    python_version: tuple[int, int]
    pytest_version: tuple[int, int]
    source_roots: tuple[str, ...]
    test_root: str
    pytest_args: tuple[str, ...]
    #: Names of extra environment variables; their values may be secret, and are hashed together.
    env_names: tuple[str, ...]
    env_hash: str
    #: Isolation level that was reached, and the network.
    sandbox: str
    net: str
    seconds: float
    memory_mb: int
    #: PYTHONHASHSEED of each run on the unpatched tree.
    hash_seeds: tuple[int, ...]
    #: Version of pytest-brt.
    tool: str
    #: Reports of the run itself that lie in the tree, and are no part of it.
    reports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofRun:
    """What a test did, once."""

    verdict: Verdict
    reason: str
    raised: Raised | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenTest:
    """A candidate, and what it did on the unpatched tree."""

    id: str
    #: Where it is placed, and its node below the file.
    path: str
    node: str
    #: Its file in the folder, and that file's SHA-256; "" when the tree already holds the test.
    file: str
    sha256: str
    issue: str
    oracle: str
    sentence: str
    before: tuple[ProofRun, ...]
    #: How to run it by hand, in the tree.
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What one test did on one patched tree."""

    test: str
    after: ProofRun


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenPatch:
    """A patch, and what the tests did on it."""

    name: str
    issue: str
    file: str
    sha256: str
    applies: bool
    reason: str
    #: Share of the cells that say something which pass; None without one.
    epr: float | None
    cells: tuple[Proof, ...]
    regressions: tuple[Regression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything that a folder of evidence claims."""

    schema: int = SCHEMA
    setting: Setting
    tests: tuple[ProvenTest, ...]
    patches: tuple[ProvenPatch, ...]


def setting_of(
    subject: Subject,
    limits: Limits,
    *,
    tree: str,
    sandbox: str,
    net: str,
    repeat: int,
    tool: str,
    reports: tuple[str, ...] = (),
) -> Setting:
    """Return what tests of `subject` are run with."""
    return Setting(
        tree=tree,
        python=subject.python,
        python_version=subject.python_version,
        pytest_version=subject.pytest_version,
        source_roots=subject.source_roots,
        test_root=subject.test_root,
        pytest_args=subject.pytest_args,
        env_names=tuple(name for name, _ in subject.env),
        env_hash=sha256(to_json(subject.env)),
        sandbox=sandbox,
        net=net,
        seconds=limits.seconds,
        memory_mb=limits.memory_mb,
        hash_seeds=tuple(range(repeat)),
        tool=tool,
        reports=reports,
    )


def evidence_of(record: RunRecord, setting: Setting) -> Evidence:
    """Return what the candidates and patches of a run prove."""
    tests = {judged.test.id: judged for judged in record.tests if judged.judgement.candidate}
    return Evidence(
        setting=setting,
        tests=tuple(_test(judged, setting) for judged in tests.values()),
        patches=tuple(
            _patch(rank.result, number, rank.epr) for number, rank in enumerate(record.ranks)
        ),
    )


def files_of(evidence: Evidence, record: RunRecord, key: bytes | None) -> Iterator[FileChange]:
    """Yield the files of the folder; with `key`, a signature of the main one is the last."""
    sources = {judged.test.id: judged.test.source for judged in record.tests}
    for test in evidence.tests:
        source = sources[test.id]
        if test.file and source is not None:
            yield FileChange(path=test.file, content=encode(source))
    for patch, rank in zip(evidence.patches, record.ranks, strict=True):
        yield FileChange(path=patch.file, content=encode(rank.result.patch.text))
    main = encode(to_json(evidence, indent=2) + "\n")
    yield FileChange(path=MAIN, content=main)
    if key is not None:
        yield FileChange(path=SIGNATURE, content=f"{sign(main, key)}\n".encode())


def sign(main: bytes, key: bytes) -> str:
    """Return the HMAC-SHA256 of the main file, which holds the hashes of all others."""
    return hmac.new(key, main, hashlib.sha256).hexdigest()


def sha256(content: str | bytes) -> str:
    """Return the SHA-256 of a text or of bytes, as hex digits."""
    data = content if isinstance(content, bytes) else encode(content)
    return hashlib.sha256(data).hexdigest()


def _test(judged: JudgedTest, setting: Setting) -> ProvenTest:
    test = judged.test
    file = "" if test.source is None else f"tests/{test.id}.py"
    return ProvenTest(
        id=test.id,
        path=test.path,
        node=test.name,
        file=file,
        sha256="" if test.source is None else sha256(test.source),
        issue=test.issue,
        oracle=test.oracle.kind,
        sentence=test.oracle.sentence,
        before=tuple(_ran(run) for run in judged.judgement.runs),
        command=(
            setting.python, "-m", "pytest", f"{test.path}::{test.name}", "-o", "addopts=",
            *setting.pytest_args,
        ),
    )  # fmt: skip


def _patch(result: PatchResult, number: int, epr: float | None) -> ProvenPatch:
    return ProvenPatch(
        name=result.patch.name,
        issue=result.issue,
        file=f"patches/{number + 1:03}-{result.patch.id}.diff",
        sha256=sha256(result.patch.text),
        applies=result.applies,
        reason=result.reason,
        epr=epr,
        cells=tuple(Proof(test=cell.test, after=_ran(cell)) for cell in result.cells),
        regressions=result.regressions,
    )


def _ran(run: TestRun | Cell) -> ProofRun:
    return ProofRun(verdict=run.verdict, reason=run.reason, raised=run.raised)
