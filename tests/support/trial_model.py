"""Writes a small hybrid with random weights and a full vocabulary, to try what runs models.

It has what can go wrong on a machine with today's models: quantised weights, layers that attend
beside layers that keep a running state (Qwen3.5's shape), and 100,000 tokens. It says nothing
sensible. Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

from __future__ import annotations

import math
import random
import struct
import tomllib
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CHATML = (
    "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' "
    "+ '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
_SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4
F32, Q4_0, Q8_0 = 0, 2, 8
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


def constant(name: str, *shape: int, value: float = 1.0) -> Tensor:
    """Return a tensor of one number, columns first."""
    raw = array("f", [value]) * math.prod(shape)
    return Tensor(name=name, shape=shape, kind=F32, size=4 * len(raw), fill=raw.tobytes)


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


def vocabulary(merges: Sequence[str], markers: Sequence[str] = ()) -> dict[str, Value]:
    """Return the keys of a byte-level tokenizer: bytes, `merges`, `markers`, control tokens.

    `markers` are tokens the user of a vocabulary defined, as "<think>" is in many.
    """
    plain = _byte_letters() + [merge.replace(" ", "") for merge in merges]
    tokens = [*plain, *markers, *_SPECIALS]
    kinds = [_NORMAL] * len(plain) + [_USER_DEFINED] * len(markers) + [_CONTROL] * len(_SPECIALS)
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": list(merges),
        "tokenizer.ggml.bos_token_id": len(tokens) - len(_SPECIALS),
        "tokenizer.ggml.eos_token_id": len(tokens) - 1,
        "tokenizer.ggml.padding_token_id": len(tokens) - len(_SPECIALS),
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": CHATML,
    }


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


def write_hybrid(path: Path, tokens: int = 100_000) -> Path:
    """Write a hybrid of two layers, of which the second attends, to `path`; 8 MB."""
    shape = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    tensors = [constant("blk.0.ssm_a", 2, value=-1.0)]  # below zero: a state decays
    tensors += [constant(name, *sizes) for name, sizes in shape["ones"].items()]
    for seed, (name, (rows, columns)) in enumerate(shape["matrices"].items()):
        tensors.append(random_blocks(name, rows or tokens, columns, Q4_0, seed))
    general: dict[str, Value] = {"general.architecture": "qwen35", "general.file_type": 2}
    named = {f"qwen35.{name}": value for name, value in shape["keys"].items()}
    return write_gguf(path, {**general, **named, **words(tokens)}, tensors)
