"""What the batch engine gains over llama-cpp-python's own completions, and what it costs.

    python bench/model.py [smollm2 gemma3 0.5b 1.5b mamba]

Small real models (fetched once, see examples/weights.py) and random weights of true shapes, one
thread, CPU seconds, side by side. The last line is JSON, the worst of the models:

* parallel: CPU seconds per token of 16 x `create_completion` / of 16 samples in one batch, 48
  tokens each from one prompt of 512; parallel_grammar: the same with a JSON grammar;
* server, server_grammar: the same of llama-server's `n=16`, where there is one;
* reeval: tokens evaluated / tokens that are new in a conversation of 10 steps;
* first: wall-clock seconds to the first token of a prompt of 2,048 with all cores / of nothing but
  llama.cpp's evaluation of as many;
* overhead: CPU seconds of decoding with the engine / with a bare loop over llama.cpp, less 1.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import os
import sys
import tempfile
import time
from array import array
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from shapes import CHATML, SHAPES, free, unload, write_mamba, write_shape

from pytest_brt.model.base import Completion, Finish, Message, Prompt, Role, Sampling, Settings
from pytest_brt.model.chat import Template
from pytest_brt.model.engine import open_file
from pytest_brt.model.form import Choice, Header, Text, grammar_for
from pytest_brt.model.gguf import read_header
from pytest_brt.model.llama_server import PrivateModel, find_server
from pytest_brt.model.memory import MemoryPlan, cores
from pytest_brt.model.worker.batch import Batcher
from pytest_brt.model.worker.llama import Context, Weights
from pytest_brt.model.worker.sampling import Candidates, Sampler
from pytest_brt.model.worker.tokens import Conversations

SAMPLES, TOKENS, PROMPT, STEPS = 16, 48, 512, 10
REAL = ("smollm2", "gemma3")
#: What the strategies draw with, but for the length.
SAMPLING = Sampling(max_tokens=TOKENS)


def header(action: str, *fields: tuple[str, Text | Choice]) -> Header:
    """Return one of the forms that an answer may have."""
    lead = (("thought", Text(longest=200)), ("action", Choice(words=(action,))))
    return Header(fields=(*lead, *fields))


PATH = ("path", Text(longest=80))
ACTIONS = (
    header("cat", PATH),
    header("code_search", ("query", Text(longest=80)), ("kind", Choice(words=("symbol", "text")))),
    header("test", PATH),
    header("finish", ("sure", Choice(words=(True, False)))),
)


def engine_of(weights: Weights, threads: int = 1) -> Batcher:
    """Return an engine with a context of its own."""
    sequences = SAMPLES + 8
    plan = MemoryPlan(longest=4096, cells=4096, lanes=SAMPLES, sequences=sequences, threads=threads)
    source = read_header(weights.path).chat_template or CHATML
    names = {"bos": weights.name(weights.bos), "eos": weights.name(weights.eos)}
    talk = Conversations(weights, Template(source, where="bench", **names))
    return Batcher(Context(weights, plan), talk)


def ask(engine: Batcher, prompt: Prompt) -> tuple[Completion, ...]:
    """Return the answers of `engine`."""
    out: dict[int, Any] = {}
    engine.submit(prompt, out.__setitem__)
    while engine.busy:
        engine.step()
    if -1 in out:
        raise out[-1]
    return tuple(out[number] for number in range(prompt.samples))


def cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of `work`, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def prompt_of(engine: Batcher, size: int, **how: Any) -> Prompt:
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


def served(path: Path, prompt: Prompt) -> tuple[float, int]:
    """Return the CPU seconds of a private llama-server over `prompt`, and the tokens made."""
    settings = Settings(threads=1, context=4096, engine="llama-server", gpu_layers=0)
    model = open_file(str(path), settings)
    assert isinstance(model, PrivateModel)
    try:
        model.complete(Prompt(messages=(Message(role=Role.USER, text="warm"),), sampling=SAMPLING))
        before = cpu_of_group(model.pid)
        done = model.complete(prompt)
        seconds = cpu_of_group(model.pid) - before
        # It says how many tokens all answers have together only for one of them.
        whole = [answer for answer in done if answer.finish is Finish.LENGTH]
        rest = [model.count(one.text) for one in done if one.finish is not Finish.LENGTH]
        return seconds, len(whole) * TOKENS + sum(rest)
    finally:
        model.close()


def against_server(path: Path, asked: dict[str, tuple[Prompt, float]]) -> dict[str, float]:
    """Return llama-server's CPU seconds per token / ours, for each prompt and what it cost us."""
    result = {}
    for kind, (prompt, ours) in asked.items() if find_server() else ():
        seconds, made = served(path, prompt)
        result[f"server{kind}"] = seconds / made / ours
        print(f"{path.stem} llama-server{kind}: {seconds:.2f} s for {made} tokens")
    return result


def cpu_of_group(group: int) -> float:
    """Return the CPU seconds of all processes of a process group."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        if int(fields[2]) == group:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def first_token(weights: Weights) -> float:
    """Return seconds to a first token / seconds of evaluating as many tokens bare; best of 2."""
    ours, bare = [], []
    for _ in range(2):
        engine = engine_of(weights, threads=cores())
        prompt = prompt_of(engine, 2048)
        ids = engine.conversations.render(prompt).ids.tolist()
        start = time.monotonic()
        for at in range(0, len(ids), 512):
            engine.context.decode([(ids[at : at + 512], at, 0, at + 512 >= len(ids))])
        bare.append(time.monotonic() - start)
        weights.lib.llama_memory_seq_rm(engine.context.memory, 0, -1, -1)
        start = time.monotonic()
        ask(engine, replace(prompt, sampling=Sampling(max_tokens=1)))
        ours.append(time.monotonic() - start)
        free(engine.context)
    return min(ours) / min(bare)


def bare_loop(engine: Batcher, ids: array[int]) -> float:
    """Return the CPU seconds of decoding 16 x 48 tokens with nothing around llama.cpp."""
    context, weights = engine.context, engine.weights
    shared = Candidates(weights)
    pickers = [Sampler(weights, shared, SAMPLING, seed) for seed in range(SAMPLES)]
    trunk = engine.sequences.kept[-1]
    assert trunk.ids == ids
    lanes = [engine.sequences.fork(trunk, len(ids)) for _ in range(SAMPLES)]
    tokens = [ids[-1]] * SAMPLES  # what is said makes no difference to the time
    sample, inner = weights.lib.llama_sampler_sample, context.context
    start = time.process_time()
    for step in range(TOKENS - 1):
        position = len(ids) + step
        context.decode(
            [([t], position, s.number, True) for t, s in zip(tokens, lanes, strict=True)]
        )
        tokens = [sample(sampler.chain, inner, row) for row, sampler in enumerate(pickers)]
    seconds = time.process_time() - start
    for lane in lanes:
        engine.sequences.drop(lane)
    return seconds


def overhead_of(engine: Batcher, prompt: Prompt) -> float:
    """Return what the engine adds to a bare loop, as a fraction; the best of two pairs."""
    ids = engine.conversations.render(prompt).ids
    ask(engine, prompt)
    bare, ours = [], []
    for _ in range(2):
        bare.append(bare_loop(engine, ids))
        seconds, done = cpu(functools.partial(ask, engine, prompt))
        assert done[0].evaluated == 1
        ours.append(seconds * SAMPLES * (TOKENS - 1) / sum(d.tokens - 1 for d in done))
    return float(min(ours) / min(bare) - 1)


def conversation_of(weights: Weights) -> float:
    """Return tokens evaluated / tokens there are, over a conversation of ten steps."""
    engine = engine_of(weights)
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
    free(engine.context)
    return (engine.evaluated - before) / length


def weights_of(name: str, folder: Path) -> Path:
    """Return the file of a model: fetched, or written into `folder`."""
    if name in REAL:
        sys.path.append(str(Path(__file__).parents[1] / "examples"))
        from weights import fetch_model

        return fetch_model(name)
    path = folder / f"{name}.gguf"
    if not path.exists():
        if name == "mamba":
            write_mamba(path)
        else:
            write_shape(name, path)
    return path


def rereading(folder: Path) -> dict[str, float]:
    """Return what a hybrid evaluates again in a conversation; its speed says nothing."""
    weights = Weights(str(weights_of("mamba", folder)), gpu_layers=0)
    result = {"reeval_hybrid": conversation_of(weights)}
    unload(weights)
    print(f"mamba: {result}")
    return result


def measure(name: str, folder: Path) -> dict[str, float]:
    """Measure one shape."""
    llama_cpp: Any = importlib.import_module("llama_cpp")
    quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
    llama_cpp.llama_log_set(quiet, None)
    path = weights_of(name, folder)
    llama = llama_cpp.Llama(str(path), n_ctx=1024, n_threads=1, n_threads_batch=1, verbose=False)
    weights = Weights(str(path), gpu_layers=0)
    engine = engine_of(weights)
    prompt = prompt_of(engine, PROMPT, samples=SAMPLES)
    ids = engine.conversations.render(prompt).ids.tolist()
    ask(engine, Prompt(messages=(Message(role=Role.USER, text="warm"),), sampling=SAMPLING))
    llama.create_completion([1, 2, 3], max_tokens=4)

    result = {}
    theirs, made = cpu(lambda: completions(llama, ids, None))
    ours, done = cpu(lambda: ask(engine, prompt))
    count = sum(d.tokens for d in done)
    result["parallel"] = theirs / made * count / ours
    result["ours"] = ours / count
    print(f"{name} free: {theirs:.2f} s for {made} tokens; batch {ours:.2f} s for {count}")

    grammar = grammar_for(*ACTIONS)
    limited = Prompt(messages=prompt.messages, sampling=SAMPLING, samples=SAMPLES, grammar=grammar)
    reference = llama_cpp.LlamaGrammar.from_json_schema(grammar.schema, verbose=False)
    llama.reset()
    theirs, made = cpu(lambda: completions(llama, ids, reference))
    # In a new context, for which the prompt is new as well.
    fresh = engine_of(weights)
    ours, done = cpu(lambda: ask(fresh, limited))
    free(fresh.context)
    count = sum(d.tokens for d in done)
    result["parallel_grammar"] = theirs / made * count / ours
    print(f"{name} JSON: {theirs:.2f} s for {made} tokens; batch {ours:.2f} s for {count}")
    asked = {"": (prompt, result.pop("ours")), "_grammar": (limited, ours / count)}
    result |= against_server(path, asked)
    result["first"] = first_token(weights)

    result["overhead"] = overhead_of(engine, prompt)
    result["reeval"] = conversation_of(weights)
    print(f"{name}: {result}")
    free(engine.context)
    unload(weights)
    llama.close()
    return result


def main() -> None:
    """Measure the shapes named on the command line, or both."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = (*REAL, *SHAPES, "mamba")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(known)}")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep the weights in DIR")
    arguments = parser.parse_args()
    names = arguments.models or ["smollm2", "0.5b", "mamba"]
    for name in set(names) - set(known):
        parser.error(f"no such model: {name!r} (of {', '.join(known)})")
    with tempfile.TemporaryDirectory(prefix="brt-bench-") as folder:
        place = arguments.keep or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        results = [rereading(place) if name == "mamba" else measure(name, place) for name in names]
    gains = ("parallel", "parallel_grammar", "server", "server_grammar")
    worst = {}
    for key in sorted({key for result in results for key in result}):
        values = [result[key] for result in results if key in result]
        worst[key] = (min if key in gains else max)(values)
    print(json.dumps({key: round(value, 3) for key, value in worst.items()}))


if __name__ == "__main__":
    main()
