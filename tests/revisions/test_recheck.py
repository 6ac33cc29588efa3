"""Evidence: written, read back, run again, and not to be tampered with."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.cli.main import main as main_command
from pytest_brt.errors import StoreProblem
from pytest_brt.execute.engine import Engine, Limits
from pytest_brt.execute.layout import tree_hash
from pytest_brt.oracle.judge import Rating, judge, run_tests
from pytest_brt.patches import read_patches
from pytest_brt.rank.matrix import run_patch
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.render.evidence import evidence_of, files_of, setting_of
from pytest_brt.revisions.recheck import Folder, read_folder, recheck
from pytest_brt.types import (
    Attempt,
    CandidateTest,
    Oracle,
    OracleKind,
    Origin,
    Regression,
    RunRecord,
    Verdict,
)
from tests.conftest import CLAMP, FIXES, SOURCE, diff_of
from tests.execute.projects import open_on
from tests.trees import write_tree

OLD_TEST = "from interval import clamp\n\n\ndef test_low():\n    assert clamp(5, 0, 10) == 0\n"
FIXED = SOURCE.replace(CLAMP, FIXES["a-right"])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("recheck") / "project"
    write_tree(root, {"interval/__init__.py": SOURCE, "tests/test_old.py": OLD_TEST})
    return root


@pytest.fixture(scope="module")
def engine(root: Path) -> Iterator[Engine]:
    engine = open_on(root)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def record(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    test = CandidateTest(
        id="0123456789ab",
        name="test_a",
        issue="",
        origin=Origin(strategy="replay"),
        oracle=Oracle(kind=OracleKind.EQUALS, sentence="5 is right", prior=0.6),
        path="tests/test_brt_a.py",
        source="from interval import clamp\n\n\ndef test_a():\n    assert clamp(5, 0, 10) == 5\n",
    )
    runs = run_tests([test], engine, 2)[test.id]
    tests = (judge(test, runs, None, lambda _: Rating(confidence=0.6)),)
    folder = tmp_path_factory.mktemp("patches")
    for name in ("a-right", "c-wrong"):
        text = diff_of(SOURCE.replace(CLAMP, FIXES[name]))
        (folder / f"{name}.diff").write_text(text, encoding="utf-8")
    more = diff_of(SOURCE.replace(CLAMP, FIXES["d-right-too"]), before=FIXED)
    (folder / "d-stale.diff").write_text(more, encoding="utf-8")
    rows = tuple(run_patch(patch, "", tests, engine) for patch in read_patches(folder))
    return RunRecord(
        issues=(),
        attempts=(Attempt(issue="", strategy="replay", index=0, tests=tests),),
        given=(),
        ranks=rank_by_weight(rows, tests),
        sandbox=engine.level,
    )


def write(record: RunRecord, engine: Engine, folder: Path, key: bytes | None = None) -> Path:
    setting = setting_of(
        engine.subject,
        Limits(seconds=10),
        tree=tree_hash(Path(engine.subject.root)),
        sandbox=engine.level,
        net="none",
        repeat=2,
        tool="1.0",
    )
    for file in files_of(evidence_of(record, setting), record, key):
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content or b"")
    return folder


def lost(folder: Folder, engine: Engine) -> list[str]:
    tree = tree_hash(Path(engine.subject.root))
    return [claim.about for claim in recheck(folder, engine, tree) if not claim.holds]


def test_what_was_recorded_holds_when_it_is_run_again(
    record: RunRecord, engine: Engine, tmp_path: Path
) -> None:
    folder = read_folder(write(record, engine, tmp_path), None)
    assert folder.signed is None
    claims = list(recheck(folder, engine, tree_hash(Path(engine.subject.root))))
    assert [(claim.about, claim.detail) for claim in claims] == [
        ("working tree", "the same"),
        ("test_a on the unpatched tree, run 1", "FAIL (AssertionError)"),
        ("test_a on the unpatched tree, run 2", "FAIL (AssertionError)"),
        ("test_a on a-right.diff", "PASS"),
        ("share of tests that pass on a-right.diff", "1.000"),
        ("test_a on c-wrong.diff", "FAIL (AssertionError)"),
        ("share of tests that pass on c-wrong.diff", "0.000"),
        ("d-stale.diff", folder.evidence.patches[2].reason),
    ]
    assert all(claim.holds for claim in claims)
    test = folder.evidence.tests[0]
    assert [ran.verdict for ran in test.before] == ["FAIL", "FAIL"]
    assert test.before[0].raised is not None
    assert test.command[3] == "tests/test_brt_a.py::test_a"


def test_a_fix_in_the_tree_is_noticed(
    record: RunRecord, engine: Engine, root: Path, tmp_path: Path
) -> None:
    folder = read_folder(write(record, engine, tmp_path), None)
    source = root / "interval" / "__init__.py"
    source.write_text(FIXED, encoding="utf-8")
    fixed = open_on(root)
    try:
        now = tree_hash(root)
        claims = [claim for claim in recheck(folder, fixed, now) if not claim.holds]
        recorded = folder.evidence.setting.tree
        changed = f"changed since recording ({recorded[:12]}, now {now[:12]})"
        assert [(claim.about, claim.detail.partition(": ")[0]) for claim in claims] == [
            ("working tree", changed),
            ("test_a on the unpatched tree, run 1", "PASS, not FAIL (AssertionError)"),
            ("test_a on the unpatched tree, run 2", "PASS, not FAIL (AssertionError)"),
            ("a-right.diff", "does not apply now"),
            ("c-wrong.diff", "does not apply now"),
            ("d-stale.diff", "applies now; it did not when recorded"),
        ]
    finally:
        fixed.close()
        source.write_text(SOURCE, encoding="utf-8")


def test_a_fact_of_a_test_that_cannot_be_run_does_not_hold(
    record: RunRecord, engine: Engine, tmp_path: Path
) -> None:
    folder = read_folder(write(record, engine, tmp_path), None)
    gone = replace(folder, evidence=replace(folder.evidence, tests=()))
    claims = {claim.about: claim for claim in recheck(gone, engine, folder.evidence.setting.tree)}
    assert set(claims) == {
        "working tree",
        "0123456789ab on a-right.diff",
        "share of tests that pass on a-right.diff",
        "0123456789ab on c-wrong.diff",
        "share of tests that pass on c-wrong.diff",
        "d-stale.diff",
    }
    for about in ("0123456789ab on a-right.diff", "0123456789ab on c-wrong.diff"):
        assert (claims[about].holds, claims[about].detail) == (False, "no such test")


@pytest.mark.parametrize("part", ["tests/0123456789ab.py", "patches/001-", "evidence.json"])
def test_a_changed_file_is_refused(
    record: RunRecord, engine: Engine, tmp_path: Path, part: str
) -> None:
    write(record, engine, tmp_path, b"key")
    path = next(path for path in tmp_path.rglob("*") if part in path.as_posix())
    path.write_bytes(path.read_bytes().replace(b"5", b"6", 1) + b" ")
    with pytest.raises(StoreProblem, match=r"differs|signature"):
        read_folder(tmp_path, b"key")


def test_only_the_right_key_opens_a_signed_folder(
    record: RunRecord, engine: Engine, tmp_path: Path
) -> None:
    write(record, engine, tmp_path, b"key")
    assert read_folder(tmp_path, b"key").signed is True
    assert read_folder(tmp_path, None).signed is False
    with pytest.raises(StoreProblem, match="not by this key"):
        read_folder(tmp_path, b"other")
    (tmp_path / "evidence.hmac").unlink()
    with pytest.raises(StoreProblem, match="is not signed"):
        read_folder(tmp_path, b"key")


def test_files_outside_the_folder_are_never_read(
    record: RunRecord, engine: Engine, tmp_path: Path
) -> None:
    folder = write(record, engine, tmp_path / "evidence")
    main = folder / "evidence.json"
    text = main.read_text("utf-8").replace("tests/0123456789ab.py", "../outside.py")
    main.write_text(text, encoding="utf-8")
    with pytest.raises(StoreProblem, match="outside its folder"):
        read_folder(folder, None)


def test_neither_links_out_of_the_folder_nor_pipes_are_read(
    record: RunRecord, engine: Engine, tmp_path: Path
) -> None:
    folder = write(record, engine, tmp_path / "evidence")
    main, source = folder / "evidence.json", folder / "tests/0123456789ab.py"
    source.unlink()
    os.mkfifo(source)
    with pytest.raises(StoreProblem, match="not a file"):
        read_folder(folder, None)
    for target in ("/dev/zero", "/etc/passwd"):
        main.unlink()
        main.symlink_to(target)
        with pytest.raises(StoreProblem, match="outside its folder"):
            read_folder(folder, None)
    main.unlink()
    with main.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(StoreProblem, match="more than 64 MiB"):
        read_folder(folder, None)


def test_what_is_no_evidence_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreProblem, match="cannot read"):
        read_folder(tmp_path, None)
    (tmp_path / "evidence.json").write_text("{}", encoding="utf-8")
    with pytest.raises(StoreProblem, match=r"not a Evidence|not an Evidence"):
        read_folder(tmp_path, None)


def test_the_hash_of_a_tree_sees_content_and_not_caches(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    before = tree_hash(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_bytes(b"1")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("x", encoding="utf-8")
    assert tree_hash(tmp_path) == before
    (tmp_path / "a.py").write_text("x = 2\n", encoding="utf-8")
    changed = tree_hash(tmp_path)
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    assert len({before, changed, tree_hash(tmp_path)}) == 3


def test_evidence_without_a_source_names_the_test_in_the_tree(
    record: RunRecord, engine: Engine
) -> None:
    attempt = record.attempts[0]
    given = replace(attempt.tests[0], test=replace(attempt.tests[0].test, source=None))
    setting = setting_of(
        engine.subject, Limits(), tree="", sandbox="ns", net="none", repeat=1, tool="1.0"
    )
    found = evidence_of(replace(record, attempts=(), given=(given,)), setting)
    assert (found.tests[0].file, found.tests[0].sha256) == ("", "")


def _with_patch(folder: Folder, **changes: object) -> Folder:
    first, *rest = folder.evidence.patches
    patches = (replace(first, **changes), *rest)  # type: ignore[arg-type]  # fields by name
    return replace(folder, evidence=replace(folder.evidence, patches=patches))


def test_evidence_that_proves_nothing_does_not_hold(
    record: RunRecord, engine: Engine, tmp_path: Path
) -> None:
    folder = read_folder(write(record, engine, tmp_path), None)
    evidence = folder.evidence
    assert lost(_with_patch(folder, cells=()), engine) == ["test_a on a-right.diff"]
    tests = replace(evidence, patches=())
    unseeded = replace(tests, setting=replace(evidence.setting, hash_seeds=()))
    unrun = replace(tests, tests=(replace(evidence.tests[0], before=()),))
    passes = replace(evidence.tests[0].before[0], verdict=Verdict.PASS)
    easy = replace(tests, tests=(replace(evidence.tests[0], before=(passes, passes)),))
    for found in (unseeded, unrun, easy):
        first, *runs = lost(replace(folder, evidence=found), engine)
        assert first == "test_a on the unpatched tree"
        assert len(runs) == (2 if found is easy else 0)
    nothing = replace(evidence, tests=(), patches=())
    assert lost(replace(folder, evidence=nothing), engine) == ["evidence"]


def test_figures_are_made_again(record: RunRecord, engine: Engine, tmp_path: Path) -> None:
    folder = read_folder(write(record, engine, tmp_path), None)
    assert lost(_with_patch(folder, epr=0.5), engine) == [
        "share of tests that pass on a-right.diff"
    ]


def test_regressions_are_run_again(record: RunRecord, engine: Engine, tmp_path: Path) -> None:
    folder = read_folder(write(record, engine, tmp_path), None)
    real = Regression(test="tests/test_old.py::test_low", verdict=Verdict.FAIL, reason="")
    invented = replace(real, test="tests/test_old.py::test_gone")
    other = replace(real, verdict=Verdict.CRASH)
    for regressions, holds in (((real, other), [True, False]), ((invented,), [False])):
        claims = recheck(_with_patch(folder, regressions=regressions), engine, "")
        found = [claim.holds for claim in claims if claim.about.startswith("regression")]
        assert found == holds, regressions


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"seconds": 10,', '"seconds": 1e9,', "limits out of range"),
        ('"memory_mb": 2048', '"memory_mb": 0', "limits out of range"),
        ("tests/test_brt_a.py", "../test_brt_a.py", "outside the project"),
        ("tests/test_brt_a.py", "--rootdir=/", "outside the project"),
        ("tests/test_brt_a.py", "tests/a\\u0000.py", "outside the project"),
    ],
)
def test_what_no_run_records_is_refused(
    record: RunRecord, engine: Engine, tmp_path: Path, old: str, new: str, words: str
) -> None:
    main = write(record, engine, tmp_path) / "evidence.json"
    text = main.read_text(encoding="utf-8")
    assert old in text
    main.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(StoreProblem, match=words):
        read_folder(tmp_path, None)


def test_a_test_is_named_once(record: RunRecord, engine: Engine, tmp_path: Path) -> None:
    main = write(record, engine, tmp_path) / "evidence.json"
    told = json.loads(main.read_text(encoding="utf-8"))
    for names in (told["tests"], told["patches"][0]["cells"]):
        names.append(names[0])
        main.write_text(json.dumps(told), encoding="utf-8")
        with pytest.raises(StoreProblem, match="names a test twice"):
            read_folder(tmp_path, None)
        names.pop()


def test_a_folder_neither_says_what_runs_it_nor_writes_lines_of_its_own(
    record: RunRecord,
    engine: Engine,
    root: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = write(record, engine, tmp_path / "evidence")
    evil = folder / "python"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexec {sys.executable} $@\n", "utf-8")
    evil.chmod(0o755)
    main = folder / "evidence.json"
    told = json.loads(main.read_text(encoding="utf-8"))
    told["setting"] |= {"python": str(evil), "sandbox": "none", "net": "host"}
    told["setting"] |= {"env_hash": "", "env_names": ["A\nforged"]}
    told["patches"][0]["name"] = "x\nforged: everything holds"
    main.write_text(json.dumps(told), encoding="utf-8")
    code = main_command(["recheck", str(folder), "--root", str(root), "-v"])
    said = capsys.readouterr().out
    assert not (tmp_path / "ran").exists()
    assert code == 0, said
    assert "run without it" in said
    assert said.endswith(f"everything holds (8 facts checked, sandbox {engine.level})\n")
    assert said.count("forged") == 3  # the patch, with each of its facts, and the variable
    assert not any(line.startswith("forged") for line in said.splitlines())
