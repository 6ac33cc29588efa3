from __future__ import annotations

from dataclasses import replace

from pytest_brt.reproduce.order import select, without_repeats
from pytest_brt.types import Attempt, Frame, JudgedTest, Raised, Verdict
from tests.support.rows import judged as judged_row


def judged(
    name: str,
    confidence: float,
    *,
    where: str = "f",
    verdict: Verdict = Verdict.FAIL,
    body: str = "",
) -> JudgedTest:
    made = judged_row(0, confidence)
    frame = Frame(path="pkg/a.py", line=1, function=where, project=True)
    raised = Raised(type="ValueError", message="bad 7", frames=(frame,))
    source = f'def test_{name}():\n    """Of {name}."""\n    {body or name}\n'
    return JudgedTest(
        test=replace(made.test, id=name, name=f"test_{name}", source=source),
        judgement=replace(
            made.judgement,
            verdict=verdict,
            candidate=verdict is Verdict.FAIL,
            runs=(replace(made.judgement.runs[0], verdict=verdict, raised=raised),),
        ),
    )


def names(items: tuple[JudgedTest, ...]) -> list[str]:
    return [item.test.id for item in items]


def test_best_first_then_what_is_no_candidate() -> None:
    items = [
        judged("passes", 0, verdict=Verdict.PASS),
        judged("low", 0.3, where="g"),
        judged("broken", 0, verdict=Verdict.BROKEN),
        judged("high", 0.8),
    ]
    assert names(select(items)) == ["high", "low", "passes", "broken"]


def test_the_same_code_is_not_a_candidate_twice() -> None:
    items = [judged("a", 0.5, body="f(1)"), judged("b", 0.6, body="f(1)")]
    chosen = select(items)
    assert names(chosen) == ["b", "a"]
    assert sum(item.judgement.candidate for item in chosen) == 1


def test_the_best_five_are_kept_and_why_no_other_is_said() -> None:
    chosen = select([judged(name, 0.8, where=name) for name in "abcdef"])
    assert [item.judgement.candidate for item in chosen] == [*[True] * 5, False]
    assert "not kept" in chosen[5].judgement.reason


def test_what_several_runs_wrote_is_a_candidate_once() -> None:
    tests = [judged("a", 0.3, body="f(1)"), judged("b", 0.3, body="f(1)"), judged("c", 0.3)]
    found = without_repeats(
        Attempt(issue="i", strategy="agent", index=index, tests=(test,))
        for index, test in enumerate(tests)
    )
    assert [one.tests[0].judgement.candidate for one in found] == [True, False, True]
    assert found[1].tests[0].judgement.reason.startswith("the same code as test_a")
