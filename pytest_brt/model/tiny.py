"""Writes GGUF files: small ones with random weights, to try the machinery without a model.

`pytest-brt models doctor` generates a few tokens with one in a child process, and the tests use
them throughout: they load in milliseconds, cost nothing to carry, and say nothing sensible.
"""

from __future__ import annotations

import functools
import random
import struct
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

CHATML = (
    "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' "
    "+ '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
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


def write_gguf(
    path: Path, keys: Mapping[str, Value], tensors: Sequence[Tensor], *, version: int = 3
) -> Path:
    """Write a GGUF file of `keys` and `tensors` to `path` and return it."""
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys)))
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


class Weights:
    """Makes tensors of random numbers, the same for the same seed."""

    def __init__(self, seed: int = 0, scale: float = 0.08) -> None:
        self.random = random.Random(seed)
        self.scale = scale

    def normal(self, name: str, rows: int, columns: int) -> Tensor:
        """Return a matrix of normally distributed numbers."""
        return self._make(name, (columns, rows), lambda: self.random.gauss(0, self.scale))

    def negative(self, name: str, rows: int, columns: int) -> Tensor:
        """Return a matrix of numbers below zero."""
        return self._make(name, (columns, rows), lambda: -abs(self.random.gauss(0, self.scale)))

    def vector(self, name: str, length: int) -> Tensor:
        """Return random numbers in one dimension."""
        return self._make(name, (length,), lambda: self.random.gauss(0, self.scale))

    def ones(self, name: str, length: int) -> Tensor:
        """Return a vector of ones, as norms have."""
        return self._make(name, (length,), lambda: 1.0)

    def _make(self, name: str, shape: tuple[int, ...], draw: Callable[[], float]) -> Tensor:
        count = 1
        for size in shape:
            count *= size

        @functools.cache
        def fill() -> bytes:
            return array("f", (draw() for _ in range(count))).tobytes()

        return Tensor(name=name, shape=shape, kind=_F32, size=4 * count, fill=fill)


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


def byte_letters() -> list[str]:
    """Return the letter that GPT-2's byte-level vocabularies write for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    extra = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(extra)) for byte in range(256)]


def vocabulary(
    merges: Iterable[str] = ("e r", "i n", "t e", "s t", "d e"),
    *,
    template: str = CHATML,
    specials: Sequence[str] = SPECIALS,
    markers: Sequence[str] = (),
) -> dict[str, Value]:
    """Return the keys of a byte-level tokenizer: bytes, `merges`, then control tokens.

    `markers` are tokens the user of a vocabulary defined, as "<think>" is in many. The first of
    `specials` begins a text and the last ends a turn; no `template` leaves that key out.
    """
    merges = list(merges)
    plain = byte_letters() + [merge.replace(" ", "") for merge in merges]
    tokens = [*plain, *markers, *specials]
    kinds = [_NORMAL] * len(plain) + [_USER_DEFINED] * len(markers) + [_CONTROL] * len(specials)
    keys: dict[str, Value] = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": len(tokens) - len(specials),
        "tokenizer.ggml.eos_token_id": len(tokens) - 1,
        "tokenizer.ggml.padding_token_id": len(tokens) - len(specials),
        "tokenizer.ggml.add_bos_token": False,
    }
    if template:
        keys["tokenizer.chat_template"] = template
    return keys


def words(count: int) -> dict[str, Value]:
    """Return a vocabulary of `count` tokens: bytes, and words made by merging two of them."""
    letters = [*"etaoinsrhldcumfpgwybvkxjqz_", "\u0120"]
    merges: list[str] = []
    seen: set[str] = set()
    level = list(letters)
    specials = 3
    while len(merges) < count - 256 - specials:
        grown = []
        for head in level:
            for letter in letters:
                if head + letter not in seen and len(merges) < count - 256 - specials:
                    seen.add(head + letter)
                    merges.append(f"{head} {letter}")
                    grown.append(head + letter)
        level = grown
    return vocabulary(merges)


def write_llama(
    path: Path,
    *,
    architecture: str = "llama",
    seed: int = 0,
    context: int = 4096,
    words: Mapping[str, Value] | None = None,
    layers: int = 2,
    width: int = 64,
    quantised: bool = False,
) -> Path:
    """Write an attention model ("llama" or "qwen2") to `path`, about 430 kB with two layers.

    More layers repeat the weights of the second: they cost time, which some tests want.
    `quantised` weights go other ways in the processor than full ones: Q4_0 in every layer.
    """
    heads, kv_heads, inner = 4, 2, 128
    head = width // heads
    words = vocabulary() if words is None else words
    tokens = words["tokenizer.ggml.tokens"]
    assert isinstance(tokens, Sequence)
    size = len(tokens)
    a = architecture
    keys: dict[str, Value] = {
        "general.architecture": a,
        "general.name": f"tiny random {a}",
        "general.file_type": 0,
        f"{a}.context_length": context,
        f"{a}.embedding_length": width,
        f"{a}.block_count": layers,
        f"{a}.feed_forward_length": inner,
        f"{a}.attention.head_count": heads,
        f"{a}.attention.head_count_kv": kv_heads,
        f"{a}.attention.layer_norm_rms_epsilon": 1e-6,
        f"{a}.rope.freq_base": 10000.0,
        f"{a}.vocab_size": size,
    }
    make = Weights(seed)
    tensors = [
        make.normal("token_embd.weight", size, width),
        make.ones("output_norm.weight", width),
        make.normal("output.weight", size, width),
    ]
    if quantised:  # random bytes are made much faster than random numbers
        tensors = [_as_q4(tensor) if len(tensor.shape) > 1 else tensor for tensor in tensors]
    last: list[Tensor] = []
    for layer in range(layers):
        p = f"blk.{layer}."
        if layer > 1:
            tensors += [replace(tensor, name=tensor.name.replace("blk.1.", p)) for tensor in last]
            continue
        last = [
            make.ones(p + "attn_norm.weight", width),
            make.ones(p + "ffn_norm.weight", width),
            make.normal(p + "attn_q.weight", width, width),
            make.normal(p + "attn_k.weight", kv_heads * head, width),
            make.normal(p + "attn_v.weight", kv_heads * head, width),
            make.normal(p + "attn_output.weight", width, width),
            make.normal(p + "ffn_gate.weight", inner, width),
            make.normal(p + "ffn_up.weight", inner, width),
            make.normal(p + "ffn_down.weight", width, inner),
        ]
        if quantised:
            last = [_as_q4(tensor) if len(tensor.shape) > 1 else tensor for tensor in last]
        if a == "qwen2":
            last += [
                make.vector(p + "attn_q.bias", width),
                make.vector(p + "attn_k.bias", kv_heads * head),
                make.vector(p + "attn_v.bias", kv_heads * head),
            ]
        tensors += last
    return write_gguf(path, {**keys, **words}, tensors)


def _as_q4(tensor: Tensor) -> Tensor:
    """Return a random matrix of the same name and shape, in Q4_0."""
    columns, rows = tensor.shape
    return random_blocks(tensor.name, rows, columns, Q4_0, seed=len(tensor.name))


def write_mamba(path: Path, *, seed: int = 0, words: Mapping[str, Value] | None = None) -> Path:
    """Write a recurrent model of two layers to `path`: it cannot be rewound, only forked."""
    width, inner, state, rank, kernel, layers = 64, 128, 16, 4, 4, 2
    words = vocabulary() if words is None else words
    tokens = words["tokenizer.ggml.tokens"]
    assert isinstance(tokens, Sequence)
    keys: dict[str, Value] = {
        "general.architecture": "mamba",
        "general.name": "tiny random mamba",
        "general.file_type": 0,
        "mamba.context_length": 4096,
        "mamba.embedding_length": width,
        "mamba.feed_forward_length": 0,
        "mamba.attention.head_count": 0,
        "mamba.block_count": layers,
        "mamba.ssm.conv_kernel": kernel,
        "mamba.ssm.inner_size": inner,
        "mamba.ssm.state_size": state,
        "mamba.ssm.time_step_rank": rank,
        "mamba.attention.layer_norm_rms_epsilon": 1e-6,
    }
    make = Weights(seed, scale=0.3)
    tensors = [
        make.normal("token_embd.weight", len(tokens), width),
        make.ones("output_norm.weight", width),
        make.normal("output.weight", len(tokens), width),
    ]
    for layer in range(layers):
        p = f"blk.{layer}."
        tensors += [
            make.ones(p + "attn_norm.weight", width),
            make.normal(p + "ssm_in.weight", 2 * inner, width),
            make.normal(p + "ssm_conv1d.weight", inner, kernel),
            make.vector(p + "ssm_conv1d.bias", inner),
            make.normal(p + "ssm_x.weight", rank + 2 * state, inner),
            make.normal(p + "ssm_dt.weight", inner, rank),
            make.vector(p + "ssm_dt.bias", inner),
            make.negative(p + "ssm_a", inner, state),
            make.vector(p + "ssm_d", inner),
            make.normal(p + "ssm_out.weight", width, inner),
        ]
    return write_gguf(path, {**keys, **words}, tensors)
