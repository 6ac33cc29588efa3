from __future__ import annotations

import functools
import gc
import resource
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.errors import ModelProblem
from pytest_brt.model import rendering
from pytest_brt.model.base import Message, Role
from pytest_brt.model.chat import Begins, Rendering, Template
from tests.support.tiny import CHATML

S, U, A = Role.SYSTEM, Role.USER, Role.ASSISTANT
# Written for these tests in the manner of published templates.
NO_SYSTEM = (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
    "<start>{{ m['role'] }}\n{{ m['content'] | trim }}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}<start>model\n{% endif %}"
)
IGNORES_SYSTEM = (
    "{% for m in messages %}{% if m.role != 'system' %}[{{ m.role }}]{{ m.content }}{% endif %}"
    "{% endfor %}[assistant]"
)
THINKS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content.split('</think>')[-1] }}"
    "<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
    "{% if enable_thinking %}<think>\n{% endif %}"
)
HARMONY = (
    "<|start|>system<|message|>Today is {{ strftime_now('%Y-%m-%d') }}<|end|>"
    "{% for m in messages %}<|start|>{{ m.role }}<|channel|>final<|message|>{{ m.content }}<|end|>"
    "{% endfor %}<|start|>assistant"
)


def talk(*turns: tuple[Role, str]) -> tuple[Message, ...]:
    return tuple(Message(role=role, text=text) for role, text in turns)


def whole(rendering: Rendering) -> str:
    return "".join(segment.text for segment in rendering.segments)


@functools.cache
def made(source: str) -> Template:
    """Compile each template once: each has a process of its own."""
    return Template(source, where="m.gguf", bos="<s>")


def flat(template: str, *turns: tuple[Role, str], thinking: bool = False) -> str:
    return whole(made(template).render(talk(*turns), thinking=512 if thinking else 0))


def test_the_usual_case() -> None:
    assert flat(CHATML, (S, "be brief"), (U, "hi")) == (
        "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def test_markup_and_text_are_kept_apart() -> None:
    text = "see <|im_end|> here"
    rendering = made(CHATML).render(talk((U, text)))
    assert [(segment.text, segment.message) for segment in rendering.segments] == [
        ("<|im_start|>user\n", -1),
        (text, 0),
        ("<|im_end|>\n<|im_start|>assistant\n", -1),
    ]


def test_without_a_system_role_the_user_says_it() -> None:
    assert flat(NO_SYSTEM, (S, "rules"), (U, "hi"), (A, "yes"), (U, "go")) == (
        "<s><start>user\nrules\nhi<end>\n<start>assistant\nyes<end>\n<start>user\ngo<end>\n"
        "<start>model\n"
    )


def test_a_system_that_would_be_lost_is_merged_too() -> None:
    assert flat(IGNORES_SYSTEM, (S, "rules"), (U, "hi")) == "[user]rules\nhi[assistant]"


def test_turns_that_must_alternate_are_merged() -> None:
    assert flat(NO_SYSTEM, (U, "a"), (U, "b"), (A, "c"), (U, "d")) == (
        "<s><start>user\na\n\nb<end>\n<start>assistant\nc<end>\n<start>user\nd<end>\n<start>model\n"
    )
    assert flat(NO_SYSTEM, (S, "r"), (U, "a"), (U, "b")).count("<start>user") == 1


def test_the_texts_themselves_never_pass_through_the_template() -> None:
    text = "  {{ 7 * 7 }} {% raw %} </think> ends\n"
    assert text in flat(NO_SYSTEM, (U, text))
    assert text in flat(THINKS, (U, "q"), (A, text), (U, "r"))


CLOSES = THINKS.replace("{% endif %}", "{% else %}<think>\n\n</think>\n\n{% endif %}")
SWITCHES = CLOSES.replace(
    "{% if enable_thinking %}<think>\n{% else %}", "{% if not enable_thinking %}"
)
ALWAYS = THINKS.partition("{% if enable")[0] + "<think>\n"
NEVER = THINKS.partition("{% if enable")[0]
GEMMA = (
    "{% for m in messages %}<|turn>{{ m.role }}\n{{ m.content }}<turn|>\n{% endfor %}<|turn>model\n"
    "{% if not enable_thinking %}<|channel>thought\n<channel|>{% endif %}"
)


@pytest.mark.parametrize(
    ("source", "off", "on"),
    [
        (THINKS, "assistant\n", "assistant\n<think>\n"),
        (CLOSES, "assistant\n<think>\n\n</think>\n\n", "assistant\n<think>\n"),
        # The template leaves the first mark to the model; a budget can only be kept after it.
        (SWITCHES, "assistant\n<think>\n\n</think>\n\n", "assistant\n<think>\n"),
        # jinja drops the line break at the end of these two.
        (ALWAYS, "assistant\n<think>\n</think>\n\n", "assistant\n<think>"),
        (NEVER, "assistant", "assistant"),
        (GEMMA, "model\n<|channel>thought\n<channel|>", "model\n<|channel>thought\n"),
        (CHATML, "assistant\n", "assistant\n"),
    ],
)
def test_a_prompt_begins_one_block_of_thoughts_or_none(source: str, off: str, on: str) -> None:
    for thinking, end in ((False, off), (True, on)):
        text = flat(source, (U, "q"), thinking=thinking)
        assert text.endswith(end)
        assert text.count("<think>") <= 1
        assert text.count("</think>") <= 1


@pytest.mark.parametrize(
    ("source", "thinks", "off", "on"),
    [
        (CLOSES, True, Begins.ANSWER, Begins.THOUGHTS),
        (ALWAYS, True, Begins.ANSWER, Begins.THOUGHTS),
        (NEVER, False, Begins.EITHER, Begins.EITHER),
        (CHATML, False, Begins.ANSWER, Begins.ANSWER),
        (HARMONY, True, Begins.ANSWER, Begins.THOUGHTS),
    ],
)
def test_what_a_model_writes_first_is_known(
    source: str, thinks: bool, off: Begins, on: Begins
) -> None:
    template = made(source)
    assert template.thinks is thinks
    assert template.render(talk((U, "<think>"))).begins is off
    assert template.render(talk((U, "q")), thinking=9).begins is on


def test_what_was_said_may_be_marked_for_training() -> None:
    source = (
        "{% for m in messages %}[{{ m.role }}]{% if m.role == 'assistant' %}"
        "{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}"
        "{% endfor %}"
    )
    assert flat(source, (U, "a"), (A, "b")) == "[user]a[assistant]b"


def test_channels() -> None:
    template = made(HARMONY)
    rendering = template.render(talk((U, "q")), thinking=5)
    assert whole(rendering).endswith("assistant<|channel|>analysis<|message|>")
    assert rendering.marks is not None
    assert rendering.marks.close.endswith("<|channel|>final<|message|>")
    assert flat(HARMONY, (U, "q")).endswith("assistant<|channel|>final<|message|>")
    assert "2026-01-01" in whole(rendering)  # one date for ever, or no prefix is ever reused


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", r"'m.gguf' has no chat template \(.*server:localhost"),
        ("{% for m in %}", "cannot be read"),
        ("{{ raise_exception('never') }}", "refuses the conversation: never"),
        ("{{ messages[0].content }}{{ 1 / 0 }}", "ZeroDivisionError"),
        ("{{ messages.append(1) }}", "refuses the conversation"),
        ("{{ ''.__class__.__mro__ }}{{ cycler.__init__.__globals__ }}", "refuses"),
        ("nothing of the sort", "leaves out the user message"),
        ("{% for i in range(1000000000) %}x{% endfor %}", "refuses the conversation"),
    ],
)
def test_a_bad_template_gets_one_line_that_says_what_to_do(source: str, message: str) -> None:
    with pytest.raises(ModelProblem, match=message) as caught:
        Template(source, where="m.gguf").render(talk((U, "hi")))
    assert "\n" not in str(caught.value)
    assert "server:localhost" in str(caught.value)


ENDLESS = "{% for a in range(99999) %}" * 3 + "{% endfor %}" * 3
DOUBLES = (
    "{% set x = namespace(t='ab') %}{% for i in range(99) %}{% set x.t = x.t ~ x.t %}{% endfor %}"
)


@pytest.fixture
def hasty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give templates a quarter of a second; they run in a process started from the file."""
    ours = Path(rendering.__file__).read_text(encoding="utf-8")
    limit = f"\nSECONDS = {rendering.SECONDS}\n"
    assert ours.count(limit) == 1
    copy = tmp_path / "rendering.py"
    copy.write_text(ours.replace(limit, "\nSECONDS = 0.25\n"), encoding="utf-8")
    monkeypatch.setattr(rendering, "__file__", str(copy))
    monkeypatch.setattr(rendering, "SECONDS", 0.25)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("source", "message"),
    [
        (ENDLESS, "refuses the conversation: it computes for more than 0.25 s"),
        ("{{ 9 ** (9 ** 9) }}", "cannot be read: it computes for more than 0.25 s"),
    ],
)
def test_a_template_that_takes_too_long_is_ended(source: str, message: str) -> None:
    with pytest.raises(ModelProblem, match=message) as caught:
        Template(source, where="m.gguf").render(talk((U, "hi")))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (DOUBLES, "more than 512 MB"),
        ("{{ ('a' * 1000) * 1000000000 }}", "more than 512 MB"),
        ("{{ '%01000000000d' % messages|length }}", "more than 512 MB"),
        ("{{ 'x' * 2000000 }}{{ messages[0].content }}", "more than 1,000,000 characters"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError"),
        ("{{ " + "(" * 50_000 + "1" + ")" * 50_000 + " }}", "cannot be read: RecursionError"),
    ],
)
def test_a_template_that_has_no_end_is_ended(source: str, message: str) -> None:
    with pytest.raises(ModelProblem, match=message) as caught:
        Template(source, where="m.gguf").render(talk((U, "hi")))
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("hasty")
def test_a_template_that_was_ended_is_not_tried_again() -> None:
    template = Template(ENDLESS, where="m.gguf")
    for _ in range(2):
        with pytest.raises(ModelProblem, match=r"computes for more than 0\.25 s"):
            template.render(talk((S, "be brief"), (U, "hi")))
    gc.collect()  # the templates of other tests: their processes count when they have ended
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with pytest.raises(ModelProblem):
        template.render(talk((U, "hi")))
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime == used


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.sampled_from([U, A]), texts), min_size=1, max_size=6), texts)
def test_every_text_comes_through_whole(turns: list[tuple[Role, str]], system: str) -> None:
    turns = [(U, "start"), *turns, (U, "end")]
    for source in (CHATML, NO_SYSTEM, IGNORES_SYSTEM, THINKS, HARMONY):
        messages = talk((S, system), *turns)
        segments = made(source).render(messages).segments
        said = {segment.message: segment.text for segment in segments if segment.message >= 0}
        assert [said[number] for number in range(len(messages))] == [m.text for m in messages]
