"""Writes GGUF files of true model shapes with random weights: their cost is real, their words not.

Layers are Q4_0 and the embedding is Q8_0, which is close to what llama.cpp's own Q4_0 makes.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # the writer is the tests'

from tests.support.llama import free, unload
from tests.support.tiny import (
    CHATML,
    Q4_0,
    Q8_0,
    Value,
    constant,
    random_blocks,
    words,
    write_gguf,
    write_llama,
    write_mamba,
)

__all__ = [
    "CHATML", "SHAPES", "free", "unload", "words", "write_llama", "write_mamba", "write_shape",
]  # fmt: skip

#: name → layers, width, inner width, heads, key/value heads
SHAPES = {
    "0.5b": (24, 896, 4864, 14, 2),
    "1.5b": (28, 1536, 8960, 12, 2),
}
TOKENS = 151_936


def write_shape(name: str, path: Path) -> Path:
    """Write the model `name` of SHAPES to `path` and return it."""
    layers, width, inner, heads, kv_heads = SHAPES[name]
    kv = width // heads * kv_heads
    keys: dict[str, Value] = {
        "general.architecture": "qwen2",
        "general.name": f"random {name}",
        "general.file_type": 2,
        "qwen2.context_length": 32768,
        "qwen2.embedding_length": width,
        "qwen2.block_count": layers,
        "qwen2.feed_forward_length": inner,
        "qwen2.attention.head_count": heads,
        "qwen2.attention.head_count_kv": kv_heads,
        "qwen2.attention.layer_norm_rms_epsilon": 1e-6,
        "qwen2.rope.freq_base": 1e6,
        **words(TOKENS),
    }
    tensors = [
        random_blocks("token_embd.weight", TOKENS, width, Q8_0, 0),
        constant("output_norm.weight", width),
    ]
    for layer in range(layers):
        p = f"blk.{layer}."
        seed = 10 * (layer + 1)
        tensors += [
            constant(p + "attn_norm.weight", width),
            constant(p + "ffn_norm.weight", width),
            constant(p + "attn_q.bias", width, value=0.0),
            constant(p + "attn_k.bias", kv, value=0.0),
            constant(p + "attn_v.bias", kv, value=0.0),
            random_blocks(p + "attn_q.weight", width, width, Q4_0, seed),
            random_blocks(p + "attn_k.weight", kv, width, Q4_0, seed + 1),
            random_blocks(p + "attn_v.weight", kv, width, Q4_0, seed + 2),
            random_blocks(p + "attn_output.weight", width, width, Q4_0, seed + 3),
            random_blocks(p + "ffn_gate.weight", inner, width, Q4_0, seed + 4),
            random_blocks(p + "ffn_up.weight", inner, width, Q4_0, seed + 5),
            random_blocks(p + "ffn_down.weight", width, inner, Q4_0, seed + 6),
        ]
    return write_gguf(path, keys, tensors)
