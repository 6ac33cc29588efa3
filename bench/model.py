"""What the batch engine gains over llama-cpp-python's own completions, and what it costs.

    python bench/model.py [0.5b 1.5b]

Random weights of true shapes, one thread, CPU seconds, everything side by side in one process.
The last line is JSON, the worse of the shapes:

* parallel: CPU seconds per token of 16 x `create_completion` / of 16 samples in one batch, 48
  tokens each from one prompt of 512; parallel_grammar: the same with a JSON grammar;
* reeval: tokens evaluated / tokens that are new in a conversation of 10 steps;
* reload: CPU seconds to have a prompt's prefix from disk / to evaluate it;
* overhead: CPU seconds of decoding with the engine / with a bare loop over llama.cpp, less 1.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import os
import tempfile
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from shapes import SHAPES, write_shape

from pytest_brt.model.base import Completion, Finish, Message, Prompt, Role, Sampling
from pytest_brt.model.batch import Engine
from pytest_brt.model.chat import Template
from pytest_brt.model.context import Context
from pytest_brt.model.conversation import Conversations
from pytest_brt.model.grammar import Shape, grammar_for
from pytest_brt.model.llama import Weights
from pytest_brt.model.picker import Candidates, Picker
from pytest_brt.model.states import StateFolder
from pytest_brt.model.tiny import CHATML

SAMPLES, TOKENS, PROMPT, STEPS = 16, 48, 512, 10
SAMPLING = Sampling(max_tokens=TOKENS, top_k=40)


class Cat(msgspec.Struct, tag="cat", tag_field="action"):
    """Look at a file."""

    thought: Annotated[str, msgspec.Meta(max_length=200)]
    path: Annotated[str, msgspec.Meta(max_length=80)]


class Search(msgspec.Struct, tag="code_search", tag_field="action"):
    """Look for a word."""

    thought: Annotated[str, msgspec.Meta(max_length=200)]
    query: Annotated[str, msgspec.Meta(max_length=80)]
    kind: Literal["symbol", "text"]


class Run(msgspec.Struct, tag="test", tag_field="action"):
    """Run a file of tests."""

    thought: Annotated[str, msgspec.Meta(max_length=200)]
    path: Annotated[str, msgspec.Meta(max_length=80)]


class Done(msgspec.Struct, tag="finish", tag_field="action"):
    """Be done."""

    thought: Annotated[str, msgspec.Meta(max_length=200)]
    sure: bool


ACTIONS = (Cat, Search, Run, Done)


def engine_of(weights: Weights, states: str = "") -> Engine:
    """Return an engine with one thread."""
    sequences = SAMPLES + 8
    context = Context(weights, cells=4096, sequences=sequences, outputs=sequences, threads=1)
    return Engine(
        context,
        Conversations(weights, Template(CHATML, where="bench")),
        lanes=SAMPLES,
        sequences=sequences,
        longest=4096,
        states=StateFolder(states, "bench"),
    )


def ask(engine: Engine, prompt: Prompt) -> tuple[Completion, ...]:
    """Return the answers of `engine`."""
    out: list[Any] = []
    engine.submit(0, prompt, out.append)
    while engine.busy:
        engine.step()
    if isinstance(out[0], Exception):
        raise out[0]
    return tuple(out[0])


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of `work`, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def prompt_of(engine: Engine, size: int, **how: Any) -> Prompt:
    """Return a prompt of `size` tokens."""
    text = "the quick report said " * (size // 2)
    low, high = 1, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        message = (Message(role=Role.USER, text=text[:middle]),)
        if len(engine.conversations.render(Prompt(messages=message)).ids) <= size:
            low = middle
        else:
            high = middle
    return Prompt(messages=(Message(role=Role.USER, text=text[:low]),), sampling=SAMPLING, **how)


def completions(llama: Any, ids: list[int], grammar: Any) -> int:
    """Ask llama-cpp-python 16 times and return the tokens made."""
    made = 0
    for seed in range(SAMPLES):
        reply = llama.create_completion(
            ids, max_tokens=TOKENS, temperature=0.7, top_p=0.95, top_k=40, min_p=0.0,
            repeat_penalty=1.0, seed=seed, grammar=grammar,
        )  # fmt: skip
        made += reply["usage"]["completion_tokens"]
    return made


def bare_loop(engine: Engine, ids: array[int]) -> float:
    """Return the CPU seconds of decoding 16 x 48 tokens with nothing around llama.cpp."""
    context, weights = engine.context, engine.weights
    shared = Candidates(weights)
    pickers = [Picker(weights, shared, SAMPLING, seed) for seed in range(SAMPLES)]
    trunk = engine.sequences.kept[-1]
    assert trunk.logits is not None
    assert trunk.ids == ids
    lanes = [engine.sequences.fork(trunk, len(ids)) for _ in range(SAMPLES)]
    tokens = [picker.pick_from(trunk.logits) for picker in pickers]
    sample, inner = weights.lib.llama_sampler_sample, context.context
    start = time.process_time()
    for step in range(TOKENS - 1):
        position = len(ids) + step
        context.decode(
            [([t], position, s.number, True) for t, s in zip(tokens, lanes, strict=True)]
        )
        tokens = [sample(picker.chain, inner, row) for row, picker in enumerate(pickers)]
    seconds = time.process_time() - start
    for lane, picker in zip(lanes, pickers, strict=True):
        engine.sequences.drop(lane)
        picker.close()
    return seconds


def overhead_of(engine: Engine, prompt: Prompt) -> float:
    """Return what the engine adds to a bare loop, as a fraction; the best of three pairs."""
    ids = engine.conversations.render(prompt).ids
    ask(engine, prompt)
    bare, ours = [], []
    for _ in range(3):
        bare.append(bare_loop(engine, ids))
        seconds, done = cpu(functools.partial(ask, engine, prompt))
        assert done[0].evaluated == 0
        ours.append(seconds * SAMPLES * (TOKENS - 1) / sum(d.tokens - 1 for d in done))
    return float(min(ours) / min(bare) - 1)


def conversation_of(engine: Engine) -> float:
    """Return tokens evaluated / tokens there are, over a conversation of ten steps."""
    messages = [Message(role=Role.USER, text="the report says that it fails " * 8)]
    before = engine.evaluated
    for step in range(STEPS):
        (done,) = ask(engine, Prompt(messages=tuple(messages), sampling=Sampling(max_tokens=24)))
        messages += [
            Message(role=Role.ASSISTANT, text=done.text),
            Message(role=Role.USER, text=f"step {step}: the test failed as before"),
        ]
    # The last token of an answer that was cut would be evaluated with the next prompt.
    length = done.prompt_tokens + done.tokens - (done.finish is Finish.LENGTH)
    return (engine.evaluated - before) / length


def measure(name: str, folder: Path) -> dict[str, float]:
    """Measure one shape."""
    llama_cpp: Any = importlib.import_module("llama_cpp")
    quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
    llama_cpp.llama_log_set(quiet, None)
    path = folder / f"{name}.gguf"
    if not path.exists():
        write_shape(name, path)
    llama = llama_cpp.Llama(str(path), n_ctx=1024, n_threads=1, n_threads_batch=1, verbose=False)
    weights = Weights(str(path), gpu_layers=0)
    states = str(folder / f"states-{os.getpid()}")
    engine = engine_of(weights, states)
    prompt = prompt_of(engine, PROMPT, samples=SAMPLES)
    ids = engine.conversations.render(prompt).ids.tolist()
    ask(engine, Prompt(messages=(Message(role=Role.USER, text="warm"),), sampling=SAMPLING))
    llama.create_completion([1, 2, 3], max_tokens=4)

    result = {}
    theirs, made = cpu(lambda: completions(llama, ids, None))
    ours, done = cpu(lambda: ask(engine, prompt))
    count = sum(d.tokens for d in done)
    result["parallel"] = theirs / made * count / ours
    print(f"{name} free: {theirs:.2f} s for {made} tokens; batch {ours:.2f} s for {count}")

    grammar = grammar_for(*(Shape(header=kind) for kind in ACTIONS), lead=("thought",))
    limited = Prompt(messages=prompt.messages, sampling=SAMPLING, samples=SAMPLES, grammar=grammar)
    reference = llama_cpp.LlamaGrammar.from_json_schema(grammar.schema, verbose=False)
    llama.reset()
    theirs, made = cpu(lambda: completions(llama, ids, reference))
    # In a new context, for which the prompt is new as well.
    fresh = engine_of(weights)
    ours, done = cpu(lambda: ask(fresh, limited))
    fresh.context.close()
    count = sum(d.tokens for d in done)
    result["parallel_grammar"] = theirs / made * count / ours
    print(f"{name} JSON: {theirs:.2f} s for {made} tokens; batch {ours:.2f} s for {count}")

    result["overhead"] = overhead_of(engine, prompt)
    fresh = engine_of(weights)
    result["reeval"] = conversation_of(fresh)
    fresh.context.close()
    first = Prompt(messages=prompt.messages, sampling=Sampling(max_tokens=1, top_k=40))
    fresh = engine_of(weights)
    prefill, _ = cpu(lambda: ask(fresh, first))
    fresh.context.close()
    fresh = engine_of(weights, states)
    reload, (done,) = cpu(lambda: ask(fresh, first))
    assert done.evaluated == 0, done
    result["reload"] = reload / prefill
    print(f"{name} prefill {prefill:.2f} s, from disk {reload:.3f} s: {result}")
    fresh.context.close()
    engine.context.close()
    weights.close()
    llama.close()
    return result


def main() -> None:
    """Measure the shapes named on the command line, or both."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", help=f"of {', '.join(SHAPES)}")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep the weights in DIR")
    arguments = parser.parse_args()
    names = arguments.shapes or ["0.5b", "1.5b"]
    for name in set(names) - set(SHAPES):
        parser.error(f"no such shape: {name!r} (of {', '.join(SHAPES)})")
    with tempfile.TemporaryDirectory(prefix="brt-bench-") as folder:
        results = [measure(name, arguments.keep or Path(folder)) for name in names]
    worst = {
        "parallel": min(r["parallel"] for r in results),
        "parallel_grammar": min(r["parallel_grammar"] for r in results),
        **{key: max(r[key] for r in results) for key in ("reeval", "reload", "overhead")},
    }
    print(json.dumps({key: round(value, 3) for key, value in worst.items()}))


if __name__ == "__main__":
    main()
