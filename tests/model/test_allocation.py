"""The plan of a model's memory against what llama.cpp itself says that it allocates."""

from __future__ import annotations

import ctypes
import functools
import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_brt.model.base import Settings
from pytest_brt.model.gguf import read_header
from pytest_brt.model.memory import MemoryPlan, needed_bytes, plan
from tests.model import outlines
from tests.support import real
from tests.support.llama import needs_llama

MIB = 1 << 20
SHAPES: dict[str, Callable[[Path], Path]] = {
    "transformer": outlines.dense,
    "experts": outlines.experts,
    "hybrid": outlines.hybrid,
}


@pytest.fixture(scope="module")
def outline(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Write each shape once."""
    folder = tmp_path_factory.mktemp("outlines")
    return functools.cache(lambda shape: SHAPES[shape](folder / f"{shape}.gguf"))


def allocated(path: Path, *setups: MemoryPlan, really: bool) -> list[dict[str, int]]:
    """Return the bytes of each kind of buffer in each setup, from llama.cpp's log."""
    lib: Any = importlib.import_module("llama_cpp")
    lines: list[str] = []

    @lib.llama_log_callback  # type: ignore[untyped-decorator]  # ctypes prototype
    def collect(_level: int, text: bytes, _: object) -> None:
        lines.append(text.decode("utf-8", "replace"))

    lib.llama_log_set(collect, ctypes.c_void_p(0))
    lib.llama_backend_init()
    how = lib.llama_model_default_params()
    how.no_alloc, how.load_mode = not really, lib.LLAMA_LOAD_MODE_NONE
    model = lib.llama_model_load_from_file(str(path).encode(), how)
    assert model, lines[-3:]
    loading = len(lines)
    found = []
    for setup in setups:
        del lines[loading:]
        params = lib.llama_context_default_params()
        params.n_ctx, params.n_seq_max, params.kv_unified = setup.cells, setup.sequences, True
        params.n_batch = params.n_ubatch = setup.batch
        params.n_outputs_max, params.n_outputs_max_per_seq = setup.sequences, 1
        params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
        context = lib.llama_init_from_model(model, params)
        assert context, lines[-3:]
        lib.llama_free(context)
        found.append(buffers_in("".join(lines)))
        if not really:
            found[-1]["weights"] = path.stat().st_size
    lib.llama_model_free(model)
    lib.llama_log_set(lib.llama_log_callback(0), ctypes.c_void_p(0))
    return found


def buffers_in(log: str) -> dict[str, int]:
    """Return the bytes of each kind of buffer that llama.cpp told of."""
    kinds = {
        "weights": r"model buffer size = +([\d.]+) MiB",
        "context": r"llama_kv_cache: size = +([\d.]+) MiB",
        "states": r"llama_memory_recurrent: size = +([\d.]+) MiB",
        "logits": r"output buffer size = +([\d.]+) MiB",
        "pass": r"compute buffer size = +([\d.]+) MiB",
    }
    return {kind: int(sum(map(float, re.findall(p, log))) * MIB) for kind, p in kinds.items()}


@needs_llama
@pytest.mark.parametrize("shape", SHAPES)
def test_the_plan_is_what_llama_cpp_allocates(outline: Callable[[str], Path], shape: str) -> None:
    path = outline(shape)
    header = read_header(path)
    setups = [plan(header, Settings(context=context), 64 << 30) for context in (2048, 16_384)]
    for setup, buffers in zip(setups, allocated(path, *setups, really=False), strict=True):
        assert setup.needed == pytest.approx(sum(buffers.values()), rel=0.1)
        # Without the weights, which hide the rest.
        rest = sum(buffers.values()) - buffers["weights"]
        assert setup.needed - path.stat().st_size == pytest.approx(rest, rel=0.1)
        assert bool(buffers["states"]) == (shape == "hybrid")


@needs_llama
@pytest.mark.parametrize("name", ["smollm2", "gemma3"])
def test_the_plan_of_real_models(name: str) -> None:
    path = real.model(name)
    setup = plan(read_header(path), Settings(context=2048), 8 << 30)
    (buffers,) = allocated(path, setup, really=True)
    assert setup.needed == pytest.approx(sum(buffers.values()), rel=0.1)


def test_running_states_are_counted_and_lanes_are_as_many_as_fit(
    outline: Callable[[str], Path],
) -> None:
    header = read_header(outline("hybrid"))
    assert (header.recurrent_layers, header.state_bytes // MIB) == (24, 50)
    assert header.kv_bytes_per_token == 8 * 4 * 512 * 2
    more = needed_bytes(header, 4096, sequences=42) - needed_bytes(header, 4096, sequences=12)
    assert more == 30 * (header.state_bytes + 4 * header.vocabulary)
    rich, poor = (plan(header, Settings(), size << 30) for size in (64, 14))
    assert (rich.lanes, rich.sequences) == (8, 14)
    assert 2 <= poor.lanes < 8


def test_a_smaller_cache_type_leaves_room_for_more(outline: Callable[[str], Path]) -> None:
    header = read_header(outline("transformer"))
    full, half = (needed_bytes(header, 32_768, cache_type=kind) for kind in ("f16", "q8_0"))
    assert full - half == pytest.approx(32_768 * header.kv_bytes_per_token * 30 / 64)
