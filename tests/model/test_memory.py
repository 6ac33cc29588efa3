from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_brt.errors import ModelProblem
from pytest_brt.model import memory
from pytest_brt.model.base import Settings
from pytest_brt.model.gguf import read_header
from pytest_brt.model.header import GgufHeader
from pytest_brt.model.memory import available_bytes, cores, needed_bytes, plan
from pytest_brt.render.models import note_words
from tests.support.tiny import Value, write_gguf

GIB = 1 << 30


@pytest.fixture
def header(tmp_path: Path) -> GgufHeader:
    """A model whose context costs 57,344 bytes per token, as 7B models do."""
    keys: dict[str, Value] = {
        "general.architecture": "qwen2",
        "qwen2.block_count": 28,
        "qwen2.embedding_length": 3584,
        "qwen2.attention.head_count": 28,
        "qwen2.attention.head_count_kv": 4,
        "qwen2.context_length": 32768,
    }
    found = read_header(write_gguf(tmp_path / "m.gguf", keys, []))
    assert found.kv_bytes_per_token == 57_344
    return found


def test_plenty_of_memory_gives_the_usual_context(header: GgufHeader) -> None:
    setup = plan(header, Settings(), 64 * GIB)
    assert setup.longest == 16_384
    assert setup.cells >= 2 * setup.longest
    assert setup.notes == ()


def test_little_memory_cuts_the_context_and_says_so(header: GgufHeader) -> None:
    setup = plan(header, Settings(), int(1.2 * GIB))
    assert 1024 <= setup.longest < 16_384
    assert needed_bytes(header, setup.cells) <= 0.8 * 1.2 * GIB
    assert note_words(setup.notes[0]).startswith(f"context cut to {setup.longest} tokens: 1.0 GiB")


def test_a_context_that_was_asked_for_is_had_or_refused(header: GgufHeader) -> None:
    assert plan(header, Settings(context=4096), 2 * GIB).longest == 4096
    with pytest.raises(
        ModelProblem, match=r"needs .* 32000 tokens .*use --brt-engine auto,context=\d+ or a sm"
    ):
        plan(header, Settings(context=32_000), 2 * GIB)
    with pytest.raises(ModelProblem, match="trained for 32768"):
        plan(header, Settings(context=40_000), 64 * GIB)
    with pytest.raises(ModelProblem, match="use a smaller model"):
        plan(header, Settings(), GIB // 16)


def test_the_model_gets_the_physical_cores(header: GgufHeader) -> None:
    assert plan(header, Settings(threads=3), GIB * 9).threads == 3
    assert plan(header, Settings(), GIB * 9).threads == cores()


def test_two_threads_of_a_core_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {
        "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list": ["0,2"],
        "/sys/devices/system/cpu/cpu1/topology/thread_siblings_list": ["1,3"],
        "/sys/devices/system/cpu/cpu2/topology/thread_siblings_list": ["0,2"],
        "/sys/devices/system/cpu/cpu3/topology/thread_siblings_list": ["1,3"],
    }
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(memory, "_lines", lambda path: told.get(path, []))
    assert cores() == 2
    told["/sys/fs/cgroup/cpu.max"] = ["100000 100000"]
    assert cores() == 1
    told["/sys/fs/cgroup/cpu.max"] = ["max 100000"]
    assert cores() == 2


def test_the_memory_of_this_machine_is_known() -> None:
    assert 0 < available_bytes() < 1 << 50


def test_where_memory_is_not_known_nothing_is_refused(header: GgufHeader) -> None:
    assert plan(header, Settings(context=32_768), 0).longest == 32_768
