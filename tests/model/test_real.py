"""Real weights: their templates, tokenizers, windows and ends, against llama-cpp-python itself."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_brt.model.base import Completion, Finish, Message, Prompt, Role, Sampling, Settings
from pytest_brt.model.form import grammar_for
from pytest_brt.model.worker_model import WorkerModel
from tests.model.actions import JUDGE, Verdict
from tests.model.headers import read_reply
from tests.support import real
from tests.support.llama import needs_llama, open_gguf

pytestmark = [needs_llama, pytest.mark.slow, pytest.mark.long]
STORY = "Write a short story about a programmer who finds a bug in a library of dates."
#: The base model has no template of its own.
PLAIN = "{% for m in messages %}{{ m.content }}\n{% endfor %}"
Open = Callable[[str], WorkerModel]


def prompt(text: str = STORY, *, tokens: int = 72, **how: Any) -> Prompt:
    sampling = Sampling(temperature=how.pop("temperature", 0.0), max_tokens=tokens)
    return Prompt(messages=(Message(role=Role.USER, text=text),), sampling=sampling, **how)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    """Open a model that nothing was asked yet."""
    models: list[WorkerModel] = []
    template = tmp_path_factory.mktemp("real") / "plain.jinja"
    template.write_text(PLAIN, encoding="utf-8")

    def model(name: str) -> WorkerModel:
        source = str(template) if name == "gemma3" else ""
        settings = Settings(context=2048, threads=1)  # others run beside it
        made = open_gguf(str(real.model(name)), settings, template=source)
        models.append(made)
        return made

    yield model
    for made in models:
        made.close()


@pytest.fixture(scope="module")
def opened(fresh: Open) -> Open:
    """Open each model once for all tests."""
    return functools.cache(fresh)


def theirs(name: str, text: str, tokens: int) -> str:
    """Return what llama-cpp-python says greedily after `text`, control tokens counting."""
    lib: Any = importlib.import_module("llama_cpp")
    llama = lib.Llama(
        str(real.model(name)), n_ctx=2048, n_threads_batch=1, verbose=False, flash_attn=False
    )
    ids = llama.tokenize(text.encode(), add_bos=name == "gemma3", special=True)
    done = llama.create_completion(ids, max_tokens=tokens, temperature=0.0, repeat_penalty=1.0)
    llama.close()
    return str(done["choices"][0]["text"])


@pytest.mark.parametrize("name", ["smollm2", "gemma3"])
def test_greedy_answers_are_those_of_llama_cpp_python(fresh: Open, name: str) -> None:
    around = {
        "smollm2": (
            "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging "
            f"Face<|im_end|>\n<|im_start|>user\n{STORY}<|im_end|>\n<|im_start|>assistant\n"
        ),
        "gemma3": f"{STORY}\n",
    }
    with contextlib.closing(fresh(name)) as model:
        (ours,) = model.complete(prompt())
    said = theirs(name, around[name], 72)
    assert ours.tokens > 60 or ours.finish is Finish.STOP
    assert said.startswith(ours.text)


@pytest.mark.parametrize("name", ["smollm2", "gemma3"])
def test_many_answers_at_once_are_alike_where_nothing_is_drawn(opened: Open, name: str) -> None:
    done = opened(name).complete(prompt(tokens=12, samples=16))
    assert len({answer.text for answer in done}) == 1


@pytest.mark.parametrize("name", ["smollm2", "gemma3"])
def test_answers_keep_to_a_form(opened: Open, name: str) -> None:
    grammar = grammar_for(*JUDGE)
    done = opened(name).complete(
        prompt("Is it?", tokens=400, samples=3, grammar=grammar, temperature=0.8)
    )
    whole = [answer for answer in done if answer.finish is Finish.STOP]
    assert whole
    assert all(isinstance(read_reply(answer.text, Verdict).header, Verdict) for answer in whole)


def test_a_prompt_longer_than_the_window_is_read_once(opened: Open) -> None:
    """Gemma's layers look at the last 512 tokens; what is behind them is shared all the same."""
    model = opened("gemma3")
    head = "The cat sat on the mat and the dog ran off. " * 54
    read: list[Completion] = []
    for end in ("Then", "Then the cat", "But"):
        read += model.complete(prompt(head + end, tokens=4))
    assert read[0].prompt_tokens > 600
    assert read[1].evaluated + read[2].evaluated < 30
