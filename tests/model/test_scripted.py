from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_brt.errors import ModelProblem, StoreProblem
from pytest_brt.model.base import Message, Model, Prompt, Role, Sampling, Settings
from pytest_brt.model.scripted import RecordedModel, ScriptedModel
from pytest_brt.types.model import PlayedOutOfOrder
from tests.support.llama import needs_llama, open_gguf

SCRIPT = """\
Anything before the first mark is a remark.
=== reply
one
=== reply if: def parse\\(
```python
def test(): ...
```

=== always if: is this (a|the) bug
yes
=== reply
<think>hm</think>last
"""


def prompt(text: str = "hi", **how: object) -> Prompt:
    return Prompt(messages=(Message(role=Role.USER, text=text),), **how)  # type: ignore[arg-type]


def script(tmp_path: Path, text: str = SCRIPT) -> ScriptedModel:
    path = tmp_path / "script.md"
    path.write_text(text, encoding="utf-8")
    return ScriptedModel(str(path), Settings())


def test_replies_come_in_order_and_by_condition(tmp_path: Path) -> None:
    model = script(tmp_path)
    said = [
        model.complete(prompt(text))[0].text
        for text in ("is this a bug?", "is this the bug?", "def parse(x)", "any")
    ]
    # The first prompt gets the first reply without a condition, which stands before the others.
    assert said == ["one", "yes", "```python\ndef test(): ...\n```\n", "last"]
    with pytest.raises(ModelProblem, match=r"no reply \(left\) for this prompt, of 4: 'more'"):
        model.complete(prompt("more"))


def test_thoughts_stops_and_prefill_are_as_with_a_model(tmp_path: Path) -> None:
    model = script(tmp_path, "=== reply\n<think>a</think>b, c\n=== reply\nd")
    (done,) = model.complete(prompt(sampling=Sampling(stop=(", ",))))
    assert (done.text, done.thinking) == ("b", "a")
    assert model.complete(prompt(prefill="x"))[0].text == "xd"


def test_samples_take_one_reply_each(tmp_path: Path) -> None:
    model = script(tmp_path, "=== reply\na\n=== reply\nb\n")
    assert [d.text for d in model.complete(prompt(samples=2))] == ["a", "b"]
    with pytest.raises(ModelProblem, match="no reply"):
        model.complete(prompt(samples=2))


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "holds no replies"), ("=== reply if: (\nx", "bad condition"), ("=== Reply\nx", "holds")],
)
def test_a_bad_script(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ModelProblem, match=message):
        script(tmp_path, text)


def test_no_script() -> None:
    with pytest.raises(ModelProblem, match=r"cannot read the script 'missing\.md'"):
        ScriptedModel("missing.md", Settings())


@needs_llama
def test_what_was_recorded_is_played_back(weights: Path, tmp_path: Path) -> None:
    local = RecordedModel(
        open_gguf(str(weights / "llama.gguf"), Settings(threads=1)), str(tmp_path)
    )
    asked = [
        prompt(f"q{n % 3}", samples=2, purpose="libro", sampling=Sampling(max_tokens=9))
        for n in range(6)
    ]
    with ThreadPoolExecutor(3) as pool:
        want = list(pool.map(local.complete, asked))
    assert local.count("hello") == 5
    assert local.count(asked[0]) == want[0][0].prompt_tokens
    assert local.name == "llama.gguf"
    local.close()
    model: Model = ScriptedModel(str(local.path), Settings())
    for question, said in zip(reversed(asked), reversed(want), strict=True):
        assert [d.text for d in model.complete(question)] == [d.text for d in said]
    # Asked once more than recorded, the last answer is repeated.
    assert model.complete(asked[0])[0].text == want[0][0].text


def test_a_prompt_that_has_changed_is_played_in_order(tmp_path: Path) -> None:
    recorded = RecordedModel(script(tmp_path, "=== reply\na\n=== reply\nb\n"), str(tmp_path))
    recorded.complete(prompt("old words", purpose="edit"))
    recorded.complete(prompt("more old words", purpose="judge"))
    model = ScriptedModel(str(recorded.path), Settings())
    (judged,) = model.complete(prompt("new words", purpose="judge"))
    assert judged.text == "b"
    assert judged.notes == (PlayedOutOfOrder(),)
    assert model.complete(prompt("new words", purpose="edit"))[0].text == "a"
    with pytest.raises(ModelProblem, match=r"no answer \(left\) to this edit: 'new words'"):
        model.complete(prompt("new words", purpose="edit"))


def test_a_recording_that_is_cut_names_the_line(tmp_path: Path) -> None:
    recorded = RecordedModel(script(tmp_path), str(tmp_path))
    recorded.complete(prompt())
    recorded.path.write_bytes(recorded.path.read_bytes() * 2 + b'{"id": "cut')
    with pytest.raises(ModelProblem, match="line 3 of the recording"):
        ScriptedModel(str(recorded.path), Settings())


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreProblem, match="cannot record"):
        RecordedModel(script(tmp_path), str(tmp_path / "file" / "below"))
