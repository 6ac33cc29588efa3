"""Writes GGUF files: small ones with random weights, to try the machinery without a model.

`pytest-brt models doctor` generates a few tokens with one in a child process, and the tests use
them throughout: they load in milliseconds, cost nothing to carry, and say nothing sensible.
"""

from __future__ import annotations

import functools
import math
import random
import struct
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

CHATML = (
    "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' "
    "+ '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
_SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4
_F32, Q4_0, Q8_0 = 0, 2, 8
#: Quantisation → bytes of a block of 32 weights, and the scale that spreads them by 0.02.
_BLOCKS = {Q4_0: (18, 0.02 / 4.6), Q8_0: (34, 0.02 / 73.9)}
Scalar = str | int | float | bool
Value = Scalar | Sequence[str] | Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """One tensor of a file; `fill` makes its bytes when they are written."""

    name: str
    #: Columns first, as GGUF stores them.
    shape: tuple[int, ...]
    kind: int
    size: int
    fill: Callable[[], bytes]


def _pack_string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _pack(value: Value) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _pack_string(value)
    if all(isinstance(item, str) for item in value):
        body = b"".join(_pack_string(str(item)) for item in value)
        return struct.pack("<IIQ", 9, 8, len(value)) + body
    body = struct.pack(f"<{len(value)}i", *(int(item) for item in value))
    return struct.pack("<IIQ", 9, 5, len(value)) + body


def write_gguf(path: Path, keys: Mapping[str, Value], tensors: Sequence[Tensor]) -> Path:
    """Write a GGUF file of `keys` and `tensors` to `path` and return it."""
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)))
        for key, value in keys.items():
            file.write(_pack_string(key) + _pack(value))
        offset = 0
        for tensor in tensors:
            shape = struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
            place = struct.pack("<IQ", tensor.kind, offset)
            file.write(_pack_string(tensor.name) + shape + place)
            offset += -(-tensor.size // 32) * 32
        file.write(bytes(-file.tell() % 32))
        for tensor in tensors:
            file.write(tensor.fill())
            file.write(bytes(-file.tell() % 32))
    return path


class RandomWeights:
    """Makes tensors of random numbers, the same for the same seed; shapes are rows first."""

    def __init__(self, seed: int = 0, scale: float = 0.08) -> None:
        self.random = random.Random(seed)
        self.scale = scale

    def normal(self, name: str, *shape: int) -> Tensor:
        """Return normally distributed numbers."""
        return self.fill(name, shape, lambda: self.random.gauss(0, self.scale))

    def ones(self, name: str, *shape: int) -> Tensor:
        """Return ones, as norms have."""
        return self.fill(name, shape, lambda: 1.0)

    def fill(self, name: str, shape: Sequence[int], draw: Callable[[], float]) -> Tensor:
        """Return a tensor of as many numbers as it takes, drawn when it is written."""
        count = math.prod(shape)

        @functools.cache
        def fill() -> bytes:
            return array("f", (draw() for _ in range(count))).tobytes()

        return Tensor(name=name, shape=tuple(shape[::-1]), kind=_F32, size=4 * count, fill=fill)


def random_blocks(name: str, rows: int, columns: int, kind: int, seed: int) -> Tensor:
    """Return a matrix of random quantised weights, of kind Q4_0 or Q8_0."""
    size, scale = _BLOCKS[kind]
    blocks = rows * columns // 32

    def fill() -> bytes:
        raw = bytearray(random.Random(seed).randbytes(blocks * size))
        half = struct.pack("<e", scale)
        raw[0::size] = half[:1] * blocks
        raw[1::size] = half[1:] * blocks
        return bytes(raw)

    return Tensor(name=name, shape=(columns, rows), kind=kind, size=blocks * size, fill=fill)


def _byte_letters() -> list[str]:
    """Return the letter that GPT-2's byte-level vocabularies write for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    extra = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(extra)) for byte in range(256)]


def vocabulary(
    merges: Sequence[str] = ("e r", "i n", "t e", "s t", "d e"),
    *,
    template: str = CHATML,
    markers: Sequence[str] = (),
) -> dict[str, Value]:
    """Return the keys of a byte-level tokenizer: bytes, `merges`, then control tokens.

    `markers` are tokens the user of a vocabulary defined, as "<think>" is in many. No `template`
    leaves that key out.
    """
    plain = _byte_letters() + [merge.replace(" ", "") for merge in merges]
    tokens = [*plain, *markers, *_SPECIALS]
    kinds = [_NORMAL] * len(plain) + [_USER_DEFINED] * len(markers) + [_CONTROL] * len(_SPECIALS)
    keys: dict[str, Value] = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": list(merges),
        "tokenizer.ggml.bos_token_id": len(tokens) - len(_SPECIALS),
        "tokenizer.ggml.eos_token_id": len(tokens) - 1,
        "tokenizer.ggml.padding_token_id": len(tokens) - len(_SPECIALS),
        "tokenizer.ggml.add_bos_token": False,
    }
    return {**keys, "tokenizer.chat_template": template} if template else keys


def words(count: int) -> dict[str, Value]:
    """Return a vocabulary of `count` tokens: bytes, and words made by merging two of them."""
    letters = [*"etaoinsrhldcumfpgwybvkxjqz_", "\u0120"]
    most = count - 256 - len(_SPECIALS)
    merges: dict[str, str] = {}
    level = letters
    while len(merges) < most:
        grown = {head + letter: f"{head} {letter}" for head in level for letter in letters}
        level = [word for word in grown if word not in merges]
        merges |= grown
    return vocabulary(list(merges.values())[:most])


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
        make.ones("output_norm.weight", width),
        matrix("output.weight", size, width),
    ]
    shapes = {
        "attn_q": (width, width), "attn_k": (kv, width), "attn_v": (kv, width),
        "attn_output": (width, width), "ffn_gate": (inner, width), "ffn_up": (inner, width),
        "ffn_down": (width, inner),
    }  # fmt: skip
    for p in ("blk.0.", "blk.1."):
        layer = [make.ones(f"{p}{name}.weight", width) for name in ("attn_norm", "ffn_norm")]
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
        make.ones("output_norm.weight", width),
        make.normal("output.weight", size, width),
    ]
    for p in ("blk.0.", "blk.1."):
        tensors += [
            make.ones(p + "attn_norm.weight", width),
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
