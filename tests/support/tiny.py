"""Writes small models with random weights: they load in milliseconds and say nothing sensible."""

from __future__ import annotations

import functools
import math
import random
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tests.support import trial_model
from tests.support.trial_model import (
    CHATML,
    F32,
    Q4_0,
    Q8_0,
    Tensor,
    Value,
    constant,
    random_blocks,
    words,
    write_gguf,
)

__all__ = [
    "CHATML",
    "Q4_0",
    "Q8_0",
    "RandomWeights",
    "Tensor",
    "Value",
    "constant",
    "random_blocks",
    "vocabulary",
    "words",
    "write_gguf",
    "write_llama",
    "write_mamba",
]


def vocabulary(
    merges: Sequence[str] = ("e r", "i n", "t e", "s t", "d e"),
    *,
    template: str = CHATML,
    markers: Sequence[str] = (),
) -> dict[str, Value]:
    """Return the keys of a byte-level tokenizer; no `template` leaves that key out."""
    keys = trial_model.vocabulary(merges, markers)
    del keys["tokenizer.chat_template"]
    return {**keys, "tokenizer.chat_template": template} if template else keys


class RandomWeights:
    """Makes tensors of random numbers, the same for the same seed; shapes are rows first."""

    def __init__(self, seed: int = 0, scale: float = 0.08) -> None:
        self.random = random.Random(seed)
        self.scale = scale

    def normal(self, name: str, *shape: int) -> Tensor:
        """Return normally distributed numbers."""
        return self.fill(name, shape, lambda: self.random.gauss(0, self.scale))

    def fill(self, name: str, shape: Sequence[int], draw: Callable[[], float]) -> Tensor:
        """Return a tensor of as many numbers as it takes, drawn when it is written."""
        count = math.prod(shape)

        @functools.cache
        def fill() -> bytes:
            return array("f", (draw() for _ in range(count))).tobytes()

        return Tensor(name=name, shape=tuple(shape[::-1]), kind=F32, size=4 * count, fill=fill)


def write_llama(
    path: Path,
    *,
    context: int = 4096,
    words: Mapping[str, Value] | None = None,
    layers: int = 2,
    width: int = 64,
    quantised: bool = False,
) -> Path:
    """Write an attention model to `path`, about 430 kB with two layers.

    More layers repeat the weights of the second: they cost time, which some tests want.
    `quantised` weights go other ways in the processor than full ones: Q4_0 in every layer.
    """
    heads, kv_heads, inner = 4, 2, 128
    kv = kv_heads * width // heads
    words, size = _words(words)
    keys = _keys("llama", context, width, layers) | {
        "llama.feed_forward_length": inner,
        "llama.attention.head_count": heads,
        "llama.attention.head_count_kv": kv_heads,
        "llama.rope.freq_base": 10000.0,
        "llama.vocab_size": size,
    }
    make = RandomWeights()
    matrix = _q4 if quantised else make.normal
    tensors = [
        matrix("token_embd.weight", size, width),
        constant("output_norm.weight", width),
        matrix("output.weight", size, width),
    ]
    shapes = {
        "attn_q": (width, width), "attn_k": (kv, width), "attn_v": (kv, width),
        "attn_output": (width, width), "ffn_gate": (inner, width), "ffn_up": (inner, width),
        "ffn_down": (width, inner),
    }  # fmt: skip
    for p in ("blk.0.", "blk.1."):
        layer = [constant(f"{p}{name}.weight", width) for name in ("attn_norm", "ffn_norm")]
        layer += [matrix(f"{p}{name}.weight", *shape) for name, shape in shapes.items()]
        tensors += layer
    for number in range(2, layers):
        tensors += [replace(t, name=t.name.replace("blk.1.", f"blk.{number}.")) for t in layer]
    return write_gguf(path, {**keys, **words}, tensors)


def _q4(name: str, rows: int, columns: int) -> Tensor:
    return random_blocks(name, rows, columns, Q4_0, seed=len(name))


def _words(words: Mapping[str, Value] | None) -> tuple[Mapping[str, Value], int]:
    """Return a vocabulary and its size."""
    words = vocabulary() if words is None else words
    tokens = words["tokenizer.ggml.tokens"]
    assert isinstance(tokens, Sequence)
    return words, len(tokens)


def _keys(architecture: str, context: int, width: int, layers: int) -> dict[str, Value]:
    """Return what every model says of itself."""
    return {
        "general.architecture": architecture,
        "general.name": f"tiny random {architecture}",
        "general.file_type": 0,
        f"{architecture}.context_length": context,
        f"{architecture}.embedding_length": width,
        f"{architecture}.block_count": layers,
        f"{architecture}.attention.layer_norm_rms_epsilon": 1e-6,
    }


def write_mamba(path: Path) -> Path:
    """Write a recurrent model of two layers to `path`: it cannot be rewound, only forked."""
    width, inner, state, rank, kernel, layers = 64, 128, 16, 4, 4, 2
    words, size = _words(None)
    keys = _keys("mamba", 4096, width, layers) | {
        "mamba.feed_forward_length": 0,
        "mamba.attention.head_count": 0,
        "mamba.ssm.conv_kernel": kernel,
        "mamba.ssm.inner_size": inner,
        "mamba.ssm.state_size": state,
        "mamba.ssm.time_step_rank": rank,
    }
    make = RandomWeights(scale=0.3)
    tensors = [
        make.normal("token_embd.weight", size, width),
        constant("output_norm.weight", width),
        make.normal("output.weight", size, width),
    ]
    for p in ("blk.0.", "blk.1."):
        tensors += [
            constant(p + "attn_norm.weight", width),
            make.normal(p + "ssm_in.weight", 2 * inner, width),
            make.normal(p + "ssm_conv1d.weight", inner, kernel),
            make.normal(p + "ssm_conv1d.bias", inner),
            make.normal(p + "ssm_x.weight", rank + 2 * state, inner),
            make.normal(p + "ssm_dt.weight", inner, rank),
            make.normal(p + "ssm_dt.bias", inner),
            # Below zero: a state decays.
            make.fill(p + "ssm_a", (inner, state), lambda: -abs(make.random.gauss(0, 0.3))),
            make.normal(p + "ssm_d", inner),
            make.normal(p + "ssm_out.weight", width, inner),
        ]
    return write_gguf(path, {**keys, **words}, tensors)
