"""Real weights: their templates, tokenizers, windows and ends, against llama-cpp-python itself."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_brt.model.base import Finish, Message, Prompt, Role, Sampling, Settings
from pytest_brt.model.form import grammar_for
from pytest_brt.model.worker_model import WorkerModel
from tests.model.actions import JUDGE, Verdict
from tests.model.headers import read_reply
from tests.support import real
from tests.support.llama import needs_llama, open_gguf

pytestmark = [needs_llama, pytest.mark.slow, pytest.mark.long]
STORY = "Write a short story about a programmer who finds a bug in a library of dates."
MODEL = "smollm2"
#: The model's own template.
AROUND = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
)


def prompt(text: str = STORY, *, tokens: int = 72, **how: Any) -> Prompt:
    sampling = Sampling(temperature=how.pop("temperature", 0.0), max_tokens=tokens)
    return Prompt(messages=(Message(role=Role.USER, text=text),), sampling=sampling, **how)


def fresh() -> WorkerModel:
    """Return a model that nothing was asked yet."""
    settings = Settings(context=2048, threads=1)  # others run beside it
    return open_gguf(str(real.model(MODEL)), settings)


@pytest.fixture(scope="module")
def opened() -> Iterator[WorkerModel]:
    """Open the model once for all tests."""
    with contextlib.closing(fresh()) as model:
        yield model


def theirs(text: str, tokens: int) -> str:
    """Return what llama-cpp-python says greedily after `text`, control tokens counting."""
    lib: Any = importlib.import_module("llama_cpp")
    llama = lib.Llama(
        str(real.model(MODEL)), n_ctx=2048, n_threads_batch=1, verbose=False, flash_attn=False
    )
    ids = llama.tokenize(text.encode(), add_bos=False, special=True)
    done = llama.create_completion(ids, max_tokens=tokens, temperature=0.0, repeat_penalty=1.0)
    llama.close()
    return str(done["choices"][0]["text"])


def test_greedy_answers_are_those_of_llama_cpp_python() -> None:
    with contextlib.closing(fresh()) as model:
        (ours,) = model.complete(prompt())
    assert ours.tokens > 60 or ours.finish is Finish.STOP
    assert theirs(AROUND.format(STORY), 72).startswith(ours.text)


def test_many_answers_at_once_are_alike_where_nothing_is_drawn(opened: WorkerModel) -> None:
    done = opened.complete(prompt(tokens=12, samples=16))
    assert len({answer.text for answer in done}) == 1


def test_answers_keep_to_a_form(opened: WorkerModel) -> None:
    grammar = grammar_for(*JUDGE)
    done = opened.complete(
        prompt("Is it?", tokens=400, samples=3, grammar=grammar, temperature=0.8)
    )
    whole = [answer for answer in done if answer.finish is Finish.STOP]
    assert whole
    assert all(isinstance(read_reply(answer.text, Verdict).header, Verdict) for answer in whole)
