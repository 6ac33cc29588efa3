"""Writes a tiny model with random weights: a real file for llama.cpp, and only noise."""

from __future__ import annotations

import math
import random
import struct
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

TEMPLATE = (
    "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' "
    "+ '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
LAYERS, WIDTH, HEADS, GROUPS, INNER = 2, 64, 4, 2, 128
Value = str | bool | int | float | Sequence[str] | Sequence[int]


def write_tiny(path: Path) -> Path:
    """Write a Llama of two layers, about 400 kB, and return its path."""
    letters = _letters()
    tokens = [*letters, *SPECIAL]
    keys: dict[str, Value] = {
        "general.architecture": "llama",
        "general.name": "tiny",
        "general.file_type": 0,
        "llama.context_length": 32768,
        "llama.embedding_length": WIDTH,
        "llama.block_count": LAYERS,
        "llama.attention.layer_norm_rms_epsilon": 1e-6,
        "llama.feed_forward_length": INNER,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": GROUPS,
        "llama.rope.freq_base": 10000.0,
        "llama.vocab_size": len(tokens),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * len(letters) + [3] * len(SPECIAL),
        "tokenizer.ggml.merges": ["e r", "i n"],
        "tokenizer.ggml.bos_token_id": len(letters),
        "tokenizer.ggml.eos_token_id": len(tokens) - 1,
        "tokenizer.ggml.padding_token_id": len(letters),
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": TEMPLATE,
    }
    shapes = {"token_embd": (len(tokens), WIDTH), "output_norm": (WIDTH,)}
    shapes["output"] = (len(tokens), WIDTH)
    narrow = WIDTH * GROUPS // HEADS
    for layer in range(LAYERS):
        block: dict[str, tuple[int, ...]] = {
            "attn_norm": (WIDTH,), "ffn_norm": (WIDTH,), "attn_q": (WIDTH, WIDTH),
            "attn_k": (narrow, WIDTH), "attn_v": (narrow, WIDTH), "attn_output": (WIDTH, WIDTH),
            "ffn_gate": (INNER, WIDTH), "ffn_up": (INNER, WIDTH), "ffn_down": (WIDTH, INNER),
        }  # fmt: skip
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in block.items()}
    _write(path, keys, shapes)
    return path


def _letters() -> list[str]:
    """Return the letter that byte-level vocabularies write for each byte, and two merges."""
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [*(chr(byte if byte in plain else next(others)) for byte in range(256)), "er", "in"]


def _write(path: Path, keys: Mapping[str, Value], shapes: Mapping[str, Sequence[int]]) -> None:
    """Write the format of https://github.com/ggml-org/ggml/blob/master/docs/gguf.md."""
    draw = random.Random(0)
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(keys)))
        for key, value in keys.items():
            file.write(_text(key) + _pack(value))
        offset = 0
        for name, shape in shapes.items():
            columns_first = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
            file.write(_text(f"{name}.weight") + columns_first + struct.pack("<IQ", 0, offset))
            offset += -(-4 * math.prod(shape) // 32) * 32
        for shape in shapes.values():
            file.write(bytes(-file.tell() % 32))
            numbers = (draw.gauss(0, 0.08) for _ in range(math.prod(shape)))
            file.write(array("f", numbers if len(shape) > 1 else [1.0] * shape[0]).tobytes())


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _pack(value: Value) -> bytes:
    match value:
        case bool():
            return struct.pack("<I?", 7, value)
        case int():
            return struct.pack("<II", 4, value)
        case float():
            return struct.pack("<If", 6, value)
        case str():
            return struct.pack("<I", 8) + _text(value)
        case [str(), *_]:
            texts = b"".join(_text(str(one)) for one in value)
            return struct.pack("<IIQ", 9, 8, len(value)) + texts
    numbers = struct.pack(f"<{len(value)}i", *(int(one) for one in value))
    return struct.pack("<IIQ", 9, 5, len(value)) + numbers
