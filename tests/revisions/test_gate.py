"""What a change's own tests show about it, on small real histories."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pytest_brt.patches.git import History
from pytest_brt.revisions import GateProof, both_trees, changed_tests, gate, prove
from pytest_brt.sandbox.run_tests import Runner
from pytest_brt.types import TestRun, Verdict
from tests.support.projects import open_on
from tests.support.repository import Repository

RIGHT = "def double(n):\n    return 2 * n\n"
WRONG = "def double(n):\n    return 2 * n + 1\n"
IMPORT = "from pkg import double\n\n\n"
ZERO = "def test_zero():\n    assert double(0) >= 0\n"
TWO = "def test_two():\n    assert double(2) == 4\n"
THREE = "def test_three():\n    assert double(3) == 6\n"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    repository = Repository(tmp_path_factory.mktemp("gate"))
    repository.commit("start", pkg_py=RIGHT)
    return repository


@pytest.fixture
def engine(repository: Repository) -> Iterator[Runner]:
    engine = open_on(repository.root)
    yield engine
    engine.close()


def changed(repository: Repository) -> list[tuple[str, str]]:
    history = History(repository.root)
    found = changed_tests(history, "HEAD~1", "HEAD")
    return [(test.path, test.node) for test in found]


def gated(repository: Repository, engine: Runner) -> dict[str, tuple[GateProof, TestRun]]:
    history = History(repository.root)
    base, head = history.ends("HEAD~1..")
    trees = both_trees(history, base, head)
    return {test.node: gate(test, trees, engine) for test in changed_tests(history, base, head)}


def test_tests_that_are_new_or_different_are_changed(repository: Repository) -> None:
    repository.commit("base", tests__test_a_py=IMPORT + ZERO + "\n\n" + TWO, tests__tool_py=TWO)
    repository.commit(
        "head",
        tests__test_a_py=IMPORT + "\n\n" + TWO.replace("4", "5") + "\n\n" + ZERO + "\n\n" + THREE,
        tests__b_test_py=THREE,
        tests__tool_py=THREE,
        tests__test_data_txt=THREE,
        pkg_py=WRONG,
    )
    assert changed(repository) == [
        ("tests/b_test.py", "test_three"),
        ("tests/test_a.py", "test_two"),
        ("tests/test_a.py", "test_three"),
    ]
    repository.commit("gone", tests__b_test_py=None)
    assert changed(repository) == []


def test_a_file_that_is_no_utf_8_was_there_before_all_the_same(repository: Repository) -> None:
    old = repository.root / "tests" / "test_latin.py"
    old.parent.mkdir(exist_ok=True)
    old.write_bytes(f"# -*- coding: latin-1 -*-\n# caf\u00e9\n{ZERO}".encode("latin-1"))
    repository.commit("base")
    old.write_text(ZERO + "\n\n" + TWO, encoding="utf-8")
    repository.commit("head")
    assert changed(repository) == [("tests/test_latin.py", "test_two")]


def test_what_is_not_committed_does_not_count(repository: Repository, engine: Runner) -> None:
    repository.commit("base", pkg_py=WRONG, tests__test_a_py=IMPORT + ZERO)
    repository.commit("only a test", tests__test_a_py=IMPORT + ZERO + TWO)
    (repository.root / "pkg.py").write_text(RIGHT, encoding="utf-8")
    assert gated(repository, engine)["test_two"][0] is GateProof.FAILS_AFTER
    repository.commit("fix", tests__test_a_py=IMPORT + TWO + THREE)
    (repository.root / "pkg.py").write_text(WRONG, encoding="utf-8")
    assert gated(repository, engine)["test_three"][0] is GateProof.PROVEN


def test_helpers_stay_when_the_change_is_undone(repository: Repository, engine: Runner) -> None:
    source = "from help_here import four\nfrom pkg import double\n\n\n"
    test = f"import sys\nsys.path.insert(0, 'tests')\n{source}{TWO.replace('4', 'four()')}"
    repository.commit("base", pkg_py=WRONG, tests__test_a_py=IMPORT + ZERO)
    repository.commit(
        "fix",
        pkg_py=RIGHT,
        tests__test_a_py=test,
        tests__help_here_py="def four():\n    return 4\n",
    )
    assert gated(repository, engine)["test_two"][0] is GateProof.PROVEN


def test_a_test_of_what_the_change_brings_cannot_be_run_before(
    repository: Repository, engine: Runner
) -> None:
    repository.commit("base", pkg_py=RIGHT, tests__test_a_py=IMPORT + ZERO)
    half = "from pkg import half\n\n\ndef test_half():\n    assert half(4) == 2\n"
    added = f"{RIGHT}\n\ndef half(n):\n    return n // 2\n"
    repository.commit("feature", pkg_py=added, tests__test_half_py=half)
    proof, before = gated(repository, engine)["test_half"]
    assert (proof, before.verdict) == (GateProof.UNTESTABLE, Verdict.BROKEN)


def test_a_proof_must_come_out_every_time(repository: Repository, engine: Runner) -> None:
    """What a string hashes to is the same for all runs of one seed, and another with the next."""
    first = subprocess.run(
        [sys.executable, "-c", "print(hash('a'))"],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    seed = first.stdout.strip()
    source = (
        f"def test_at_times():\n    assert double(2) == 4 or hash('a') != {seed}\n\n\n"
        f"def test_by_chance():\n    assert double(2) == 4 and hash('a') == {seed}\n"
    )
    repository.commit("base", pkg_py=WRONG, tests__test_a_py=IMPORT + ZERO)
    repository.commit("fix", pkg_py=RIGHT, tests__test_a_py=IMPORT + ZERO + source)
    found = gated(repository, engine)
    assert found["test_at_times"][0] is GateProof.PASSES_BEFORE
    assert found["test_by_chance"][0] is GateProof.FAILS_AFTER


def test_what_both_runs_show() -> None:
    """Only F→P proves; what passes afterwards in any way is no failure of the change."""
    through = (Verdict.PASS, Verdict.SKIP, Verdict.XFAIL)

    for before in Verdict:
        for after in Verdict:
            proof = prove(before, after)
            assert (proof is GateProof.FAILS_AFTER) == (after not in through)
            assert (proof is GateProof.PROVEN) == ((before, after) == (Verdict.FAIL, Verdict.PASS))
            if after in through:
                assert (proof is GateProof.PASSES_BEFORE) == (before in through)


def test_what_stands_beside_the_tests_counts_too(repository: Repository) -> None:
    """A case more, a mark taken off, a table: tests change without their bodies changing."""
    marked = "import pytest\n\n\n@pytest.mark.xfail(strict=True)\n"
    repository.commit("base", pkg_py=WRONG, tests__test_a_py=marked + TWO + "\n\n" + ZERO)
    repository.commit("head", pkg_py=RIGHT, tests__test_a_py=IMPORT + TWO + "\n\n" + ZERO)
    assert changed(repository) == [("tests/test_a.py", "test_two")]
    table = "CASES = [1]\n\n\n" + TWO + "\n\n" + ZERO
    repository.commit("base", tests__test_a_py=IMPORT + table)
    repository.commit("head", tests__test_a_py=IMPORT + table.replace("[1]", "[1, 2]"))
    assert changed(repository) == [
        ("tests/test_a.py", "test_two"),
        ("tests/test_a.py", "test_zero"),
    ]
    more = "class TestMore:\n    '''More.'''\n    def test_b(self):\n        assert double(1)\n"
    repository.commit("one more", tests__test_a_py=IMPORT + "import os\n" + table + "\n\n" + more)
    assert ("tests/test_a.py", "TestMore::test_b") in changed(repository)


def test_a_branch_is_compared_with_where_it_left(repository: Repository) -> None:
    start = repository.git("rev-parse", "HEAD")
    main = repository.git("rev-parse", "--abbrev-ref", "HEAD")
    repository.git("checkout", "-q", "-b", "later", start)
    later = repository.commit("elsewhere", other_py="x = 1\n")
    repository.git("checkout", "-q", main)
    repository.commit("main goes on", tests__test_new_py=TWO)
    history = History(repository.root)
    assert history.ends(f"{main}..later") == history.ends(f"{main}...later") == (start, later)
