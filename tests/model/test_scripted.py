from __future__ import annotations

from pathlib import Path

import pytest

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Message, Prompt, Role, Sampling, Settings
from pytest_brt.model.scripted import ScriptedModel

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
