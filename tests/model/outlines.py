"""GGUF files of true shapes without weights: what llama.cpp would allocate, at no cost.

The tensors are holes of a sparse file. llama.cpp reads their table and works out its buffers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pytest_brt.model.gguf import read_header
from tests.support.tiny import Tensor, Value, vocabulary, write_gguf

_F32, _Q8_0 = 0, 8
_WIDTH, _INNER, _TOKENS = 4096, 12288, 248_320


def _tensor(name: str, *shape: int) -> Tensor:
    count = 1
    for size in shape:
        count *= size
    kind = _Q8_0 if len(shape) > 1 and shape[0] % 32 == 0 else _F32
    size = count * 34 // 32 if kind == _Q8_0 else count * 4
    return Tensor(name=name, shape=shape, kind=kind, size=size, fill=bytes)


def _write(
    path: Path,
    architecture: str,
    keys: Mapping[str, Value],
    rest: list[Tensor],
    size: int = _TOKENS,
) -> Path:
    words = vocabulary()
    tokens = words["tokenizer.ggml.tokens"]
    kinds = words["tokenizer.ggml.token_type"]
    assert isinstance(tokens, list)
    assert isinstance(kinds, list)
    more = size - len(tokens)
    words["tokenizer.ggml.tokens"] = [*tokens, *(f"<{n}>" for n in range(more))]
    words["tokenizer.ggml.token_type"] = [*kinds, *[1] * more]
    all_keys: dict[str, Value] = {"general.architecture": architecture, **words}
    all_keys |= {f"{architecture}.{name}": value for name, value in keys.items()}
    width = keys["embedding_length"]
    assert isinstance(width, int)
    tensors = [_tensor("token_embd.weight", width, size), _tensor("output_norm.weight", width)]
    write_gguf(path, all_keys, [*tensors, _tensor("output.weight", width, size), *rest])
    start = path.stat().st_size
    os.truncate(path, start + sum(t.size + 64 for t in (*tensors, *rest)) + width * size * 2)
    os.truncate(path, read_header(path).expected)
    return path


def dense(path: Path) -> Path:
    """Write the outline of a transformer of 7B parameters (Qwen2.5's shape)."""
    layers, width, inner, heads, kv = 28, 3584, 18944, 28, 4
    keys: dict[str, Value] = {
        "context_length": 32768, "embedding_length": width, "block_count": layers,
        "feed_forward_length": inner, "attention.head_count": heads,
        "attention.head_count_kv": kv, "attention.layer_norm_rms_epsilon": 1e-6,
    }  # fmt: skip
    tensors = []
    for layer in range(layers):
        at = f"blk.{layer}."
        for name, out in (("q", heads), ("k", kv), ("v", kv)):
            tensors.append(_tensor(f"{at}attn_{name}.weight", width, out * 128))
            tensors.append(_tensor(f"{at}attn_{name}.bias", out * 128))
        tensors += [
            _tensor(f"{at}attn_norm.weight", width),
            _tensor(f"{at}ffn_norm.weight", width),
            _tensor(f"{at}attn_output.weight", width, width),
            _tensor(f"{at}ffn_gate.weight", width, inner),
            _tensor(f"{at}ffn_up.weight", width, inner),
            _tensor(f"{at}ffn_down.weight", inner, width),
        ]
    return _write(path, "qwen2", keys, tensors)


def experts(
    path: Path,
    *,
    layers: int = 48,
    width: int = 2048,
    count: int = 128,
    tokens: int = _TOKENS,
) -> Path:
    """Write the outline of a mixture of experts, of 30B parameters unless told (Qwen3's shape)."""
    heads, kv, inner = 32, 4, 768
    keys: dict[str, Value] = {
        "context_length": 262_144, "embedding_length": width, "block_count": layers,
        "feed_forward_length": 6144, "attention.head_count": heads,
        "attention.head_count_kv": kv, "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.key_length": 128, "attention.value_length": 128,
        "expert_count": count, "expert_used_count": 8, "expert_feed_forward_length": inner,
    }  # fmt: skip
    tensors = []
    for layer in range(layers):
        at = f"blk.{layer}."
        tensors += [
            _tensor(f"{at}attn_norm.weight", width),
            _tensor(f"{at}ffn_norm.weight", width),
            _tensor(f"{at}attn_q_norm.weight", 128),
            _tensor(f"{at}attn_k_norm.weight", 128),
            _tensor(f"{at}attn_q.weight", width, heads * 128),
            _tensor(f"{at}attn_k.weight", width, kv * 128),
            _tensor(f"{at}attn_v.weight", width, kv * 128),
            _tensor(f"{at}attn_output.weight", heads * 128, width),
            _tensor(f"{at}ffn_gate_inp.weight", width, count),
            _tensor(f"{at}ffn_gate_exps.weight", width, inner, count),
            _tensor(f"{at}ffn_up_exps.weight", width, inner, count),
            _tensor(f"{at}ffn_down_exps.weight", inner, width, count),
        ]
    return _write(path, "qwen3moe", keys, tensors, tokens)


def hybrid(path: Path) -> Path:
    """Write the outline of a hybrid of 9B parameters (Qwen3.5's shape): 8 of 32 layers attend."""
    layers, heads, kv, head = 32, 16, 4, 256
    conv, inner, state, rank, groups = 4, 4096, 128, 32, 16
    keys: dict[str, Value] = {
        "context_length": 262_144, "embedding_length": _WIDTH, "block_count": layers,
        "feed_forward_length": _INNER, "attention.head_count": heads,
        "attention.head_count_kv": kv, "attention.layer_norm_rms_epsilon": 1e-6,
        "attention.key_length": head, "attention.value_length": head,
        "rope.dimension_sections": [11, 11, 10, 0], "rope.dimension_count": 64,
        "ssm.conv_kernel": conv, "ssm.inner_size": inner, "ssm.state_size": state,
        "ssm.time_step_rank": rank, "ssm.group_count": groups, "full_attention_interval": 4,
    }  # fmt: skip
    tensors = []
    for layer in range(layers):
        at = f"blk.{layer}."
        if (layer + 1) % 4 == 0:
            tensors += [
                _tensor(f"{at}attn_q.weight", _WIDTH, 2 * heads * head),
                _tensor(f"{at}attn_k.weight", _WIDTH, kv * head),
                _tensor(f"{at}attn_v.weight", _WIDTH, kv * head),
                _tensor(f"{at}attn_output.weight", heads * head, _WIDTH),
                _tensor(f"{at}attn_q_norm.weight", head),
                _tensor(f"{at}attn_k_norm.weight", head),
            ]
        else:
            value = state * rank
            both = 2 * state * groups + value
            tensors += [
                _tensor(f"{at}attn_qkv.weight", _WIDTH, both),
                _tensor(f"{at}attn_gate.weight", _WIDTH, value),
                _tensor(f"{at}ssm_conv1d.weight", conv, both),
                _tensor(f"{at}ssm_dt.bias", rank),
                _tensor(f"{at}ssm_a", rank),
                _tensor(f"{at}ssm_beta.weight", _WIDTH, rank),
                _tensor(f"{at}ssm_alpha.weight", _WIDTH, rank),
                _tensor(f"{at}ssm_norm.weight", state),
                _tensor(f"{at}ssm_out.weight", value, _WIDTH),
            ]
        tensors += [
            _tensor(f"{at}attn_norm.weight", _WIDTH),
            _tensor(f"{at}post_attention_norm.weight", _WIDTH),
            _tensor(f"{at}ffn_gate.weight", _WIDTH, _INNER),
            _tensor(f"{at}ffn_up.weight", _WIDTH, _INNER),
            _tensor(f"{at}ffn_down.weight", _INNER, _WIDTH),
        ]
    return _write(path, "qwen35", keys, tensors)
