"""Whether the batch engine says, token for token, what llama-cpp-python's own loop says.

    python bench/parity.py [smollm2 gemma3]

Greedy answers of real models (fetched once, see examples/weights.py), 200 tokens, free and held to
a block of code, alone and sixteen at a time. A row tells after how many tokens the two part, and by
how much the logit of llama-cpp-python's token was ahead of the next there: where sums are made in
another order, they differ in their last digits.
"""

from __future__ import annotations

import argparse
import importlib
from array import array
from pathlib import Path
from typing import Any

import numpy as np
from shapes import CHATML, free, unload

from pytest_brt.model.base import Grammar, Message, Prompt, Role, Sampling
from pytest_brt.model.chat import Template
from pytest_brt.model.form import block_grammar
from pytest_brt.model.gguf import read_header
from pytest_brt.model.memory import MemoryPlan
from pytest_brt.model.worker.batch import Batcher
from pytest_brt.model.worker.llama import Context, Weights
from pytest_brt.model.worker.tokens import Conversations

TOKENS, LANES = 200, 16
STORY = "Write a long Python module with many small functions on dates, and explain each of them."


def ours(path: Path, grammar: Grammar | None, samples: int) -> tuple[list[int], list[list[int]]]:
    """Return the tokens of the prompt, and those of each answer of the engine."""
    weights = Weights(str(path), gpu_layers=0)
    plan = MemoryPlan(longest=8192, cells=8192, lanes=LANES, sequences=LANES + 8, threads=1)
    source = read_header(path).chat_template or CHATML
    names = {"bos": weights.name(weights.bos), "eos": weights.name(weights.eos)}
    talk = Conversations(weights, Template(source, where="parity", **names))
    engine = Batcher(Context(weights, plan), talk)
    sampling = Sampling(temperature=0.0, max_tokens=TOKENS)
    said = (Message(role=Role.USER, text=STORY),)
    engine.submit(
        Prompt(messages=said, sampling=sampling, samples=samples, grammar=grammar),
        lambda _, done: None,
    )
    (job,) = engine.jobs
    while engine.busy:
        engine.step()
    found = [list(sample.ids) for sample in job.samples]
    ids = array("i", job.ids).tolist()
    free(engine.context)
    unload(weights)
    return ids, found


def theirs(path: Path, ids: list[int], grammar: Grammar | None) -> tuple[list[int], list[float]]:
    """Return llama-cpp-python's tokens, and by how much it preferred each to the second best."""
    lib: Any = importlib.import_module("llama_cpp")
    quiet = lib.llama_log_callback(lambda level, text, data: None)
    lib.llama_log_set(quiet, None)
    llama = lib.Llama(
        str(path), n_ctx=2048, n_threads=1, n_threads_batch=1, verbose=False, flash_attn=False
    )
    held = lib.LlamaGrammar.from_string(grammar.gbnf, verbose=False) if grammar else None
    found: list[int] = []
    ahead = []
    for token in llama.generate(ids, temp=0.0, repeat_penalty=1.0, grammar=held):
        logits = np.ctypeslib.as_array(lib.llama_get_logits_ith(llama.ctx, -1), (llama.n_vocab(),))
        best = np.partition(logits, -2)[-2:]
        ahead.append(float(best[1] - best[0]))
        found.append(int(token))
        if token == llama.token_eos() or len(found) == TOKENS:
            break
    llama.close()
    return found, ahead


def compare(name: str, path: Path) -> None:
    """Print the rows of one model."""
    for form, grammar in (("free", None), ("block", block_grammar(lines=300))):
        ids, (alone,) = ours(path, grammar, 1)
        _, many = ours(path, grammar, LANES)
        want, ahead = theirs(path, ids, grammar)
        for lanes in ((alone,), many):
            # What repeats itself is ended early.
            want = want[: min(map(len, lanes))]
            parts = sorted(_part(lane, want) for lane in lanes)
            gap = "" if parts[0] == len(want) else f"; there ahead by {ahead[parts[0]]:.4f}"
            alike = sum(part == len(want) for part in parts)
            print(
                f"{name} {form}, {len(lanes)} at a time: {alike} answers alike over all "
                f"{len(want)} tokens, the worst for {parts[0]}{gap}",
                flush=True,
            )


def _part(got: list[int], want: list[int]) -> int:
    """Return for how many tokens two answers are alike."""
    pairs = enumerate(zip(got, want, strict=False))
    return next((n for n, (one, other) in pairs if one != other), min(len(got), len(want)))


def main() -> None:
    """Compare the models named on the command line, or both."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help="smollm2, gemma3")
    from model import weights_of

    for name in parser.parse_args().models or ["smollm2", "gemma3"]:
        compare(name, weights_of(name, Path()))


if __name__ == "__main__":
    main()
