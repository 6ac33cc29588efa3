"""LIBRO on real bugs, with replies as a small model gives them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_brt.code.index import Index, open_index
from pytest_brt.execute.engine import Engine
from pytest_brt.model.base import Completion, Model, Prompt, Role, Settings
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.reproduce.libro.run import SAMPLES, Libro, libro
from pytest_brt.reproduce.prompting.context import Hints
from pytest_brt.reproduce.registry import STRATEGIES
from pytest_brt.store import Journal
from pytest_brt.types import Attempt, Ending, JudgedTest, Verdict
from pytest_brt.types.attempt import ModelFailed, PutAtTop, SamplesDrawn
from tests.reproduce.bench import bench_of, open_project
from tests.reproduce.bench import issue_of as issue_of_text
from tests.reproduce.examples import bench_for, issue_of, open_example, scripted, verdicts_with

NAME = "humanize-precisedelta"
CALL = 'precisedelta(32399, minimum_unit="minutes", format="%0.0f")'
#: One reply with each mistake, and three that are right.
REPLIES = f"""\
=== reply
import humanize

def test_carry(:
    assert humanize.{CALL} == "9 hours"
=== reply
```python
from humanize.nowhere import precisedeltas


def test_carry():
    assert precisedeltas(60) == "1 minute"
    assert precisedelta(32399, minimum_unit="minutes", format="%0.0f") == "9 hours"
```
=== reply
```python
def test_now():
    assert humanize.{CALL} == "8 hours and 60 minutes"
```
=== reply
Here are some tests:
```python
from humanize import precisedelta


def test_plain():
    assert precisedelta(60) == "1 minute"


def test_rounds():
    # An hour is an hour.
    assert precisedelta(3600) == "1 hour", "an hour is an hour"
    assert {CALL} == "9 hours"


def test_mistyped():
    assert precisedelta(60) ==
```
=== reply
def test_carry_over():
    result = {CALL}
    assert result == "9 hours"
=== reply
def test_plural():
    assert precisedelta(91500, minimum_unit="hours", format="%0.0f") == "1 day and 1 hour"
=== reply if: This test cannot run
```python
from humanize import precisedelta


def test_carry():
    assert precisedelta(60) == "1 minute"
    assert {CALL} == "9 hours"
```
"""


class Seen:
    """A model that keeps what another one is asked."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.prompts: list[Prompt] = []
        self.name, self.context, self.notes = "seen", model.context, ()

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        self.prompts.append(prompt)
        return self.model.complete(prompt)

    def __getattr__(self, name: str) -> object:
        return getattr(self.model, name)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    opened = open_example(NAME, tmp_path_factory.mktemp("libro"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def index(engine: Engine) -> Iterator[Index]:
    with open_index(Path(engine.subject.root)) as opened:
        yield opened


@pytest.fixture(scope="module")
def asked() -> list[Prompt]:
    return []


@pytest.fixture(scope="module")
def attempt(
    engine: Engine, index: Index, asked: list[Prompt], tmp_path_factory: pytest.TempPathFactory
) -> Attempt:
    """The attempt at the whole set of replies, made once."""
    model = Seen(scripted(tmp_path_factory.mktemp("replies"), REPLIES))
    bench = bench_for(engine, model)  # type: ignore[arg-type]  # the rest is the other model's
    made = libro(issue_of(NAME), 0, replace(bench, samples=6), index)
    asked.extend(model.prompts)
    return made


def candidates(attempt: Attempt) -> list[JudgedTest]:
    return [item for item in attempt.tests if item.judgement.candidate]


def test_the_failing_tests_are_those_that_a_right_fix_makes_pass(
    attempt: Attempt, engine: Engine
) -> None:
    found = candidates(attempt)
    assert [item.test.name for item in found] == ["test_carry_over", "test_plural", "test_carry"]
    assert verdicts_with(NAME, "fix-02.diff", engine, found) == {"PASS"}
    assert verdicts_with(NAME, "fix-01.diff", engine, found) == {"FAIL"}  # a wrong one
    assert all(item.test.host == "tests/test_time.py" for item in found)


def test_agreement_is_counted_over_samples(attempt: Attempt) -> None:
    carry = next(item for item in attempt.tests if item.test.name == "test_carry_over")
    plural = next(item for item in attempt.tests if item.test.name == "test_plural")
    assert "3 of 6 samples fail alike" in carry.judgement.reason
    assert "1 of 6 samples fail alike" in plural.judgement.reason
    assert carry.judgement.confidence > plural.judgement.confidence


def test_irrelevant_assertions_are_cut_and_doubles_dropped(attempt: Attempt) -> None:
    carry = next(item for item in candidates(attempt) if item.test.name == "test_carry")
    assert carry.test.source == (
        "from humanize import precisedelta\n\n\ndef test_carry():\n"
        f'    assert {CALL} == "9 hours"\n'
    )
    rounds = next(item for item in attempt.tests if item.test.name == "test_rounds")
    assert rounds.judgement.reason.startswith("the same code as test_carry")


def test_the_others_are_told_with_their_reason(attempt: Attempt) -> None:
    told = {
        (item.test.name, item.judgement.verdict): item.judgement.reason
        for item in attempt.tests
        if not item.judgement.candidate
    }
    assert told["test_now", Verdict.PASS] == "passes on this tree"
    assert told["test_plain", Verdict.PASS] == "passes on this tree"
    assert "No module named 'humanize.nowhere'" in told["test_carry", Verdict.BROKEN]
    assert not [name for name, _ in told if name == "test_mistyped"]


def test_a_repaired_test_says_what_it_was_made_of(attempt: Attempt) -> None:
    broken = next(item for item in attempt.tests if item.judgement.verdict is Verdict.BROKEN)
    carry = next(item for item in candidates(attempt) if item.test.name == "test_carry")
    # The shortened test comes from the repaired one, and that from the broken one.
    assert carry.test.origin.parent not in ("", broken.test.id)
    assert carry.test.origin.strategy == "libro"


def test_the_batch_is_libro_s(asked: list[Prompt], attempt: Attempt) -> None:
    assert len(asked) == 2
    batch, repair = asked
    assert (batch.samples, batch.purpose) == (6, "libro")
    assert (batch.sampling.temperature, batch.sampling.top_p) == (0.7, 0.95)
    assert batch.sampling.top_k == 0
    assert (repair.samples, repair.purpose) == (1, "repair")
    assert attempt.endings == (Ending.FINISH,) * 6
    told = batch.messages[-1].text
    # The file with the bug and the test file, and nothing that replay found out.
    assert "`src/humanize/time.py`" in told
    assert "`tests/test_time.py`" in told
    assert ">>> humanize.precisedelta(32399" not in told
    assert SAMPLES == 50


def test_with_examples_there_are_two_and_no_files(
    engine: Engine, index: Index, tmp_path: Path
) -> None:
    model = Seen(scripted(tmp_path, "=== always\nno test"))
    bench = bench_for(engine, model)  # type: ignore[arg-type]  # as above
    work = Libro(issue_of(NAME), 0, bench, index, told=Hints())
    work.draw(2)
    (prompt,) = model.prompts
    assert [message.role for message in prompt.messages] == [
        Role.SYSTEM,
        *(Role.USER, Role.ASSISTANT) * 2,
        Role.USER,
    ]
    assert "time.py" not in "".join(message.text for message in prompt.messages)
    assert work.told() == (SamplesDrawn(samples=2, unreadable=2, tests=0, verdicts=()),)


def test_an_interrupted_batch_is_not_sampled_again(
    engine: Engine, index: Index, tmp_path: Path
) -> None:
    script = f"=== reply\ndef test_a():\n    assert humanize.{CALL} == '9 hours'\n"
    for replies in (script, "=== reply if: nothing has this\nx"):
        journal = Journal(tmp_path / "journal.jsonl", "setting")
        bench = replace(bench_for(engine, scripted(tmp_path, replies)), journal=journal)
        work = Libro(issue_of(NAME), 0, bench, index)
        work.draw(1)
        assert [item.judgement.candidate for item in work.tests()] == [True]
        journal.close(interrupted=True)


def test_batches_add_up_and_have_seeds_of_their_own(
    engine: Engine, index: Index, tmp_path: Path
) -> None:
    test = f"=== reply\ndef test_a():\n    assert humanize.{CALL} == '9 hours'\n"
    model = Seen(scripted(tmp_path, test * 3))
    bench = bench_for(engine, model)  # type: ignore[arg-type]  # as above
    work = Libro(issue_of(NAME), 0, bench, index)
    work.draw(2)
    work.draw(1)
    assert (work.samples, [found.size for found in work.clusters()]) == (3, [3])
    first, second = (prompt.sampling.seed for prompt in model.prompts)
    assert second == first + 2


@pytest.mark.parametrize(("alike", "shown"), [(1, False), (2, True)])
def test_more_than_one_sample_must_agree(
    engine: Engine, tmp_path: Path, alike: int, shown: bool
) -> None:
    tests = [f"def test_{n}():\n    assert humanize.{CALL} == '9 hours'\n" for n in range(alike)]
    tests += [f"def test_x():\n    assert humanize.{CALL} == '7 hours'\n"]
    script = "".join(f"=== reply\n{test}" for test in tests)
    # What is kept as files is another matter: all of them rank patches.
    bench = replace(bench_for(engine, scripted(tmp_path, script)), samples=len(tests), keep=1)
    made = STRATEGIES["libro"].attempt(issue_of(NAME), 0, bench)
    assert len(candidates(made)) == 2
    assert any(item.judgement.counts for item in made.tests) is shown
    (reason, *_) = [item.judgement.reason for item in made.tests]
    assert ("fewer than 2 samples fail alike" in reason) is not shown


def test_both_files_are_given_whole_where_they_fit(
    engine: Engine, index: Index, tmp_path: Path
) -> None:
    model = Seen(scripted(tmp_path, "=== always\nno test"))
    bench = bench_for(engine, model)  # type: ignore[arg-type]  # as above
    bench = replace(bench, buggy=("src/humanize/time.py",), host="tests/test_time.py")
    Libro(issue_of(NAME), 0, bench, index).draw(2)
    text = model.prompts[0].messages[-1].text
    whole = [index.source("src/humanize/time.py"), index.source("tests/test_time.py")]
    assert [source.strip() in text for source in whole] == [True, True]
    small = Seen(ScriptedModel(str(tmp_path / "replies.txt"), Settings(context=3000)))
    Libro(issue_of(NAME), 0, replace(bench, model=small), index).draw(2)  # type: ignore[arg-type]
    text = small.prompts[0].messages[-1].text
    assert [source.strip() in text for source in whole] == [False, False]
    assert "def precisedelta" in text


def test_a_prompt_that_cannot_fit_is_told_and_no_error(
    engine: Engine, index: Index, tmp_path: Path
) -> None:
    model = scripted(tmp_path, "=== always\nx")
    model.context = 60  # type: ignore[misc]  # as a user's setting would be
    made = libro(issue_of(NAME), 0, bench_for(engine, model), index)
    assert made.tests == ()
    assert isinstance(made.notes[0], ModelFailed)
    assert "tokens too long for a context of 60" in made.notes[0].said
    assert made.endings == (Ending.TOKENS,) * 50


def test_samples_are_run_at_the_top_where_the_suite_cannot_be_run(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    engine = open_project(root)
    (root / "tests/conftest.py").write_text("import no_such_module\n", "utf-8")
    reply = "def test_nothing():\n    assert mean([]) == 0\n"
    bench = bench_of(engine, tmp_path, f"=== always if: pytest\n{reply}", samples=1)
    try:
        with open_index(root) as index:
            made = libro(
                issue_of_text("# mean([]) fails\n\nIt should be 0.", tmp_path), 0, bench, index
            )
    finally:
        engine.close()
    (test,) = candidates(made)
    assert "/" not in test.test.path
    assert any(isinstance(note, PutAtTop) for note in made.notes)
