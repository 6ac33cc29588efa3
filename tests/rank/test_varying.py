"""Changed inputs on a real small project: special cases are exposed, right patches are not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.execute.engine import Engine
from pytest_brt.patches import read_patches
from pytest_brt.rank.allowance import Allowance
from pytest_brt.rank.differ import difference_of
from pytest_brt.rank.draw import can_vary
from pytest_brt.rank.matrix import run_patch
from pytest_brt.rank.vary import Variant
from pytest_brt.rank.varying import Varying, _in_pairs, _Kept
from pytest_brt.rank.weighted import rank_by_weight
from pytest_brt.reproduce.judge import Proposal, judge_all
from pytest_brt.types import (
    CandidateTest,
    JudgedTest,
    Oracle,
    OracleKind,
    Origin,
    PatchResult,
    Raised,
    Rank,
    Standing,
)
from tests.conftest import FIXES, SOURCE, diff_of
from tests.execute.projects import open_on
from tests.rank.rows import judged

MEAN = "    return sum(values) / len(values)\n"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = tmp_path_factory.mktemp("varying") / "project"
    (root / "interval").mkdir(parents=True)
    (root / "interval" / "__init__.py").write_text(SOURCE, encoding="utf-8")
    (root / "tests").mkdir()
    engine = open_on(root)
    yield engine
    engine.close()


def candidate(
    engine: Engine, kind: OracleKind, body: str, expects: Raised | None = None
) -> tuple[JudgedTest, ...]:
    test = CandidateTest(
        id="t",
        name="test_a",
        issue="",
        origin=Origin(strategy="replay"),
        oracle=Oracle(kind=kind, sentence="", prior=0.6),
        path="tests/test_brt_a.py",
        source=f"from interval import clamp, mean\n\n\ndef test_a():\n    {body}\n",
        expects=expects,
    )
    found = judge_all([Proposal(test=test, score=0.6)], engine, 1)
    assert found[0].judgement.candidate, found[0].judgement
    return found


def ranked(
    engine: Engine, tests: tuple[JudgedTest, ...], fixes: dict[str, str], folder: Path
) -> dict[str, Rank]:
    for name, after in fixes.items():
        (folder / f"{name}.diff").write_text(diff_of(after), encoding="utf-8")
    varying = Varying(engine, seed=7)
    rows = tuple(
        run_patch(patch, "", tests, engine, varying=varying) for patch in read_patches(folder)
    )
    ranks = rank_by_weight(rows, tests)
    return {rank.result.patch.name.removesuffix(".diff"): rank for rank in ranks}


def test_hypothesis_is_there_for_these_tests() -> None:
    assert can_vary()


def test_a_value_that_only_one_input_gets_is_exposed_by_what_others_agree_on(
    engine: Engine, tmp_path: Path
) -> None:
    tests = candidate(engine, OracleKind.EQUALS, "assert clamp(5, 0, 10) == 5")
    clamp = "    return max(low, min(value, low))\n"
    fixes = {name: SOURCE.replace(clamp, fix) for name, fix in FIXES.items()}
    ranks = ranked(engine, tests, fixes, tmp_path)
    assert [name for name, rank in ranks.items() if rank.exposure] == ["b-literal"]
    exposure = ranks["b-literal"].exposure
    assert exposure is not None
    assert exposure.varied.before == exposure.varied.after == "0"
    assert exposure.varied.change.startswith("5 → ")
    assert exposure.others.startswith("2 other patches: ")
    assert list(ranks)[:2] == ["a-right", "d-right-too"]
    assert ranks["a-right"].standing is Standing.TIED
    assert ranks["b-literal"].standing is Standing.SEPARATED
    assert ranks["c-wrong"].result.varied == ()


def test_a_crash_that_only_one_input_is_spared_needs_no_witness(
    engine: Engine, tmp_path: Path
) -> None:
    expects = Raised(type="TypeError", message="")
    body = "mean([3, '4 x'])"
    tests = candidate(engine, OracleKind.NO_RAISE, body, expects)
    fixes = {
        "literal": SOURCE.replace(MEAN, f"    if values == [3, '4 x']:\n        return 0\n{MEAN}"),
        "right": SOURCE.replace(
            MEAN,
            "    values = [v for v in values if not isinstance(v, str)]\n"
            "    return sum(values) / len(values)\n",
        ),
    }
    ranks = ranked(engine, tests, fixes, tmp_path)
    assert list(ranks) == ["right", "literal"]
    exposure = ranks["literal"].exposure
    assert exposure is not None
    assert exposure.failed == exposure.tried >= 4
    assert exposure.varied.after.startswith("TypeError: ")
    assert ranks["right"].exposure is None


def test_only_inputs_that_fail_in_the_same_place_show_the_bug(
    engine: Engine, tmp_path: Path
) -> None:
    """Of 0 one function raises the KeyError, of what is greater another one: not the bug.

    Of two tests that fail of the same thing one is changed.
    """
    clamp = "    return max(low, min(value, low))\n"
    write = Path(engine.subject.root) / "interval" / "__init__.py"
    other = (
        SOURCE.replace(clamp, "    return reported(low) if low == 0 else another(low)\n")
        + "\n\ndef reported(low):\n    return {}[low]\n"
        + "\n\ndef another(low):\n    return {}[low]\n"
    )
    write.write_text(other, encoding="utf-8")
    changed = open_on(Path(engine.subject.root))
    try:
        expects = Raised(type="KeyError", message="")
        (test,) = candidate(changed, OracleKind.NO_RAISE, "clamp(1.5, 0, 2.5)", expects)
        tests = (test, replace(test, test=replace(test.test, id="u")))
        fixed = other.replace("return reported(low) if low == 0", "return 0 if low == 0")
        (tmp_path / "p.diff").write_text(diff_of(fixed, before=other), encoding="utf-8")
        (patch,) = read_patches(tmp_path)
        row = run_patch(patch, "", tests, changed, varying=Varying(changed, seed=7))
    finally:
        changed.close()
        write.write_text(SOURCE, encoding="utf-8")
    literals = ("1.5", "2.5", "the reported input")
    assert {(varied.test, varied.literal) for varied in row.varied} == {
        ("t", literal) for literal in literals
    }


def test_leading_patches_that_differ_are_told_apart_by_one_question(
    engine: Engine, tmp_path: Path
) -> None:
    tests = candidate(engine, OracleKind.EQUALS, "assert clamp(5, 0, 10) == 5")
    clamp = "    return max(low, min(value, low))\n"
    fixes = {
        "bounded": SOURCE.replace(clamp, "    return max(low, min(value, high))\n"),
        "unbounded": SOURCE.replace(clamp, "    return max(low, value)\n"),
    }
    ranks = ranked(engine, tests, fixes, tmp_path)
    difference = difference_of(tuple(ranks.values()))
    assert difference is not None
    assert {names for _, names in difference.answers} == {("bounded.diff",), ("unbounded.diff",)}
    assert difference.question.startswith(f"with {difference.change}, which is right: `")
    assert {rank.exposure for rank in ranks.values()} == {None}


def test_too_little_time_shortens_the_list_of_changed_inputs_and_is_said(
    engine: Engine, tmp_path: Path
) -> None:
    tests = candidate(engine, OracleKind.EQUALS, "assert clamp(5, 0, 10) == 5")
    fixed = SOURCE.replace("max(low, min(value, low))", "max(low, min(value, high))")
    (tmp_path / "right.diff").write_text(diff_of(fixed), encoding="utf-8")
    (patch,) = read_patches(tmp_path)

    def looked(seconds: float) -> PatchResult:
        allowance = Allowance(seconds=seconds, patches=1, spent=0.0, least=0.0)
        varying = Varying(engine, seed=7, allowance=allowance)
        return run_patch(patch, "", tests, engine, varying=varying)

    whole = looked(2000.0)
    assert whole.vary_cut == ""
    few = looked(0.001)
    assert few.vary_cut.startswith(("0 of ", "1 of ", "2 of ", "3 of ", "4 of "))
    assert few.vary_cut.endswith(" changed inputs were tried: time")
    assert few.varied == tuple(varied for varied in whole.varied if varied in few.varied)
    assert len(few.varied) <= 4 < len(whole.varied)


def test_two_of_each_literal_are_run_in_turn() -> None:
    drawn = [("5", 1), ("0", 1), ("5", 2), ("5", 3), ("0", 2), ("7", 1), ("0", 3), ("0", 4)]
    kept = [
        _Kept(
            judged=judged(0),
            variant=Variant(
                id=f"{literal}{number}",
                literal=literal,
                change="",
                source="",
                decides=True,
                distance=0.0,
            ),
            before="",
        )
        for literal, number in drawn
    ]
    order = [entry.variant.id for entry in _in_pairs(kept)]
    assert order == ["51", "52", "01", "02", "71", "53", "03", "04"]


@pytest.mark.slow
def test_a_patch_that_hangs_on_changed_inputs_does_not_hold_up_the_others(
    engine: Engine, tmp_path: Path
) -> None:
    tests = candidate(engine, OracleKind.EQUALS, "assert clamp(5, 0, 10) == 5")
    hangs = SOURCE.replace(
        "    return max(low, min(value, low))\n",
        "    while (value, low, high) != (5, 0, 10):\n        pass\n    return value\n",
    )
    (tmp_path / "hangs.diff").write_text(diff_of(hangs), encoding="utf-8")
    (patch,) = read_patches(tmp_path)
    varying = Varying(engine, seed=7, allowance=Allowance(seconds=0, patches=1, spent=0, least=2.5))
    found = run_patch(patch, "", tests, engine, varying=varying)
    assert found.vary_cut.endswith(" changed inputs were tried: time")
    assert 0 < len(found.varied) <= 8
    assert all(varied.after.startswith("TIMEOUT") for varied in found.varied)


def test_a_patch_that_knows_a_name_of_the_test_is_exposed_by_another_name(
    engine: Engine, tmp_path: Path
) -> None:
    expects = Raised(type="TypeError", message="")
    body = "def g():\n        pass\n    mean([g])"
    tests = candidate(engine, OracleKind.NO_RAISE, body, expects)
    known = "    if getattr(values[0], '__name__', '') == 'g':\n        return 0\n"
    other = "    values = [v for v in values if not callable(v)] or [0]\n"
    fixes = {
        "literal": SOURCE.replace(MEAN, known + MEAN),
        "right": SOURCE.replace(MEAN, other + MEAN),
    }
    ranks = ranked(engine, tests, fixes, tmp_path)
    assert list(ranks) == ["right", "literal"]
    exposure = ranks["literal"].exposure
    assert exposure is not None
    assert exposure.varied.change == "the name g → h"
    assert (exposure.tried, exposure.failed) == (2, 2)
    assert ranks["right"].exposure is None
    assert [varied.after for varied in ranks["right"].result.varied] == ["passes"] * 3


def test_patches_that_come_to_other_values_are_asked_about_not_judged(
    engine: Engine, tmp_path: Path
) -> None:
    expects = Raised(type="TypeError", message="")
    tests = candidate(engine, OracleKind.NO_RAISE, "mean([3, '4 x'])", expects)
    fixes = {
        "swallow": SOURCE.replace(
            MEAN, f"    try:\n    {MEAN}    except TypeError:\n        return None\n"
        ),
        "right": SOURCE.replace(
            MEAN, f"    values = [v for v in values if not isinstance(v, str)]\n{MEAN}"
        ),
    }
    ranks = ranked(engine, tests, fixes, tmp_path)
    assert {rank.standing for rank in ranks.values()} == {Standing.CLOSE}
    assert {rank.exposure for rank in ranks.values()} == {None}
    difference = difference_of(tuple(ranks.values()))
    assert difference is not None
    assert difference.change == "the reported input"
    assert dict(difference.answers) == {"3.0": ("right.diff",), "None": ("swallow.diff",)}
    assert difference.before.startswith("TypeError: ")


def test_values_of_chance_do_not_tell_patches_apart(engine: Engine, tmp_path: Path) -> None:
    expects = Raised(type="TypeError", message="")
    tests = candidate(engine, OracleKind.NO_RAISE, "mean(['4 x'])", expects)
    chance = "    import os\n\n    return int.from_bytes(os.urandom(8), {order!r})\n"
    fixes = {order: SOURCE.replace(MEAN, chance.format(order=order)) for order in ("little", "big")}
    ranks = ranked(engine, tests, fixes, tmp_path)
    assert {rank.standing for rank in ranks.values()} == {Standing.TIED}
    assert difference_of(tuple(ranks.values())) is None
    assert all(not varied.value for varied in ranks["big"].result.varied)


def test_nothing_is_left_in_the_working_folder(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    patches = tmp_path / "patches"
    work.mkdir()
    patches.mkdir()
    monkeypatch.chdir(work)
    tests = candidate(engine, OracleKind.EQUALS, "assert clamp(5, 0, 10) == 5")
    ranked(engine, tests, {"right": SOURCE.replace("low))", "high))")}, patches)
    assert list(work.iterdir()) == []
