from __future__ import annotations

import contextlib
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_brt.errors import ModelProblem
from pytest_brt.model.gguf import read_header
from tests.support import tiny
from tests.support.tiny import Value, write_gguf, write_llama


def test_reads_what_the_model_is(weights: Path) -> None:
    header = read_header(weights / "llama.gguf")
    assert header.architecture == "llama"
    assert header.name == "tiny random llama"
    assert header.context == 4096
    assert header.layers == 2
    assert header.quantisation == "F32"
    assert header.chat_template == tiny.CHATML
    assert header.size == header.expected
    assert not header.recurrent


def test_counts_the_memory_of_a_token(weights: Path) -> None:
    # 2 layers × 2 key/value heads × (16 + 16) numbers × 2 bytes
    assert read_header(weights / "llama.gguf").kv_bytes_per_token == 256
    assert read_header(weights / "mamba.gguf").kv_bytes_per_token == 0
    assert read_header(weights / "mamba.gguf").recurrent


def test_only_the_attending_layers_of_a_hybrid_count(tmp_path: Path) -> None:
    keys: dict[str, Value] = {
        "general.architecture": "qwen3next",
        "qwen3next.block_count": 8,
        "qwen3next.embedding_length": 64,
        "qwen3next.attention.head_count": 4,
        "qwen3next.attention.head_count_kv": 2,
        "qwen3next.attention.key_length": 32,
        "qwen3next.attention.value_length": 32,
        "qwen3next.full_attention_interval": 4,
        "qwen3next.ssm.state_size": 16,
    }
    header = read_header(write_gguf(tmp_path / "h.gguf", keys, []))
    assert header.kv_bytes_per_token == 2 * 2 * (32 + 32) * 2
    assert header.recurrent


def test_heads_may_be_given_per_layer(tmp_path: Path) -> None:
    keys: dict[str, Value] = {
        "general.architecture": "lfm2",
        "lfm2.block_count": 3,
        "lfm2.embedding_length": 64,
        "lfm2.attention.head_count": 4,
        "lfm2.attention.head_count_kv": [0, 2, 0],
        "lfm2.shortconv.l_cache": 3,
    }
    header = read_header(write_gguf(tmp_path / "l.gguf", keys, []))
    assert header.kv_bytes_per_token == 2 * (16 + 16) * 2
    assert header.recurrent


def test_long_arrays_are_stepped_over(tmp_path: Path) -> None:
    words = tiny.vocabulary([])
    words["tokenizer.ggml.tokens"] = [f"word{i}" for i in range(5000)]
    words["tokenizer.ggml.scores"] = list(range(5000))
    words["after"] = "still read"
    header = read_header(write_gguf(tmp_path / "v.gguf", words, []))
    assert "tokenizer.ggml.tokens" not in header.keys
    assert header.keys["after"] == "still read"


def flip(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "is empty"),
    "text": (lambda _: b"hello, I am a text file\n" * 9, "not a GGUF file"),
    "pointer": (lambda _: b"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
    "magic only": (lambda d: d[:4], "ends too early"),
    "cut header": (lambda d: d[:300], "ends too early"),
    "half": (lambda d: d[: len(d) // 2], "is cut"),
    "100 bytes short": (lambda d: d[:-100], "is cut"),
    "version 99": (lambda d: flip(d, 4, struct.pack("<I", 99)), "version 99"),
    "version 1": (lambda d: flip(d, 4, struct.pack("<I", 1)), "version 1"),
    "huge key count": (lambda d: flip(d, 16, struct.pack("<Q", 1 << 60)), "ends too early"),
    "huge tensor count": (lambda d: flip(d, 8, struct.pack("<Q", 1 << 60)), "ends too early"),
    "huge layer count": (
        lambda d: flip(d, d.index(b"llama.block_count") + 21, struct.pack("<I", (1 << 31) - 1)),
        "2,147,483,647 layers",
    ),
    "huge string": (lambda d: flip(d, 24, struct.pack("<Q", 1 << 62)), "ends too early"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_file_that_is_no_model_gets_one_clear_line(
    name: str, weights: Path, tmp_path: Path
) -> None:
    damage, message = DAMAGES[name]
    path = tmp_path / "bad.gguf"
    path.write_bytes(damage((weights / "llama.gguf").read_bytes()))
    with pytest.raises(ModelProblem, match=message) as caught:
        read_header(path)
    text = str(caught.value)
    assert "\n" not in text
    assert repr(str(path)) in text
    assert "(" in text  # what to do next


def _key(name: bytes, kind: int, value: bytes) -> bytes:
    return struct.pack("<Q", len(name)) + name + struct.pack("<I", kind) + value


def _header(*keys: bytes, tensors: bytes = b"", count: int = 0) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, count, len(keys)) + b"".join(keys) + tensors


_STRINGS, _NUMBERS, _ARRAYS = (struct.pack("<I", kind) for kind in (8, 4, 9))
_MANY = struct.pack("<Q", 1 << 40)
#: Headers made to cost time or memory, in a sparse file of a terabyte, and what is said of each.
COSTLY = {
    "a text as long as the file": (
        _header(_key(b"a", 8, struct.pack("<Q", 900 << 30))), "header of more than 64 MB"
    ),
    "a key as long as the file": (
        _header(struct.pack("<Q", 900 << 30)), "header of more than 64 MB"
    ),
    "a length that is negative": (_header(_key(b"a", 8, struct.pack("<q", -1))), "too early"),
    "empty texts without end": (_header(_key(b"a", 9, _STRINGS + _MANY)), "too early"),
    "numbers without end": (_header(_key(b"a", 9, _NUMBERS + _MANY)), "ends too early"),
    "arrays in an array": (
        _header(_key(b"a", 9, _ARRAYS + struct.pack("<Q", 4000) + _ARRAYS)), "value type 9"
    ),
    "a tensor of all dimensions": (
        _header(tensors=struct.pack("<QIQQQQIQ", 0, 4, *[(1 << 64) - 1] * 4, 0, 0), count=1),
        "is cut",
    ),
    "a tensor's long name": (
        _header(tensors=struct.pack("<Q", 65 << 20), count=1), "header of more than"
    ),
    "a tensor of five dimensions": (
        _header(tensors=struct.pack("<QI", 0, 5), count=1), "tensor '' with 5 dimensions"
    ),
    "more tensors than any model": (_header(count=1 << 22), "header of more than"),
}  # fmt: skip


@pytest.mark.parametrize("name", COSTLY)
def test_a_header_costs_bounded_time_and_memory(name: str, tmp_path: Path) -> None:
    data, message = COSTLY[name]
    path = tmp_path / "costly.gguf"
    path.write_bytes(data)
    with path.open("r+b") as file:
        file.truncate(1 << 40)
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises(ModelProblem, match=message) as caught:
            read_header(path)
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert used < 100 << 20
    assert time.process_time() - began < 60
    assert len(str(caught.value)) < 600


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelProblem, match=r"no such model file: .*models list"):
        read_header(tmp_path / "missing.gguf")
    with pytest.raises(ModelProblem, match="folder"):
        read_header(tmp_path)


@pytest.mark.parametrize("named", [1, 2])
def test_half_of_a_model_names_the_other_half(tmp_path: Path, named: int) -> None:
    for number in (1, 2, 4):
        write_llama(tmp_path / f"m-0000{number}-of-00004.gguf")
    with pytest.raises(ModelProblem, match=r"1 of the 4 parts .*: m-00003-of-00004.gguf \(copy"):
        read_header(tmp_path / f"m-0000{named}-of-00004.gguf")
    with pytest.raises(ModelProblem, match=r"8 of the 9 parts .*-00005-of-00009.gguf, … \("):
        read_header(write_llama(tmp_path / "n-00001-of-00009.gguf"))
    with pytest.raises(ModelProblem, match=r"no such model file: .*z-00001"):
        read_header(tmp_path / "z-00001-of-00002.gguf")


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_flipped_header_bytes_never_raise_anything_else(
    data: st.DataObject, weights: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    raw = (weights / "llama.gguf").read_bytes()
    at = data.draw(st.integers(0, 9000))
    path = tmp_path_factory.getbasetemp() / "flipped.gguf"
    path.write_bytes(flip(raw, at, data.draw(st.binary(min_size=1, max_size=8))))
    with contextlib.suppress(ModelProblem):
        read_header(path)
