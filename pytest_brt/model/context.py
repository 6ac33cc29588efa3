"""The memory of a model: sequences of tokens, evaluated in batches and forked."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pytest_brt.errors import ModelProblem
from pytest_brt.model.llama import Weights
from pytest_brt.model.memory import Plan

Floats = NDArray[np.float32]
#: Numbers that ggml gives to types.
_CACHE_TYPES = {"q8_0": 8, "q4_0": 2}
#: What `Context.decode` returns where a batch did not fit, as llama.cpp does.
NO_ROOM = 1


class Context:
    """The memory that sequences of tokens are evaluated into."""

    def __init__(
        self, weights: Weights, plan: Plan, *, cache_type: str = "f16", adapter: str = ""
    ) -> None:
        """Make room for the tokens and sequences of `plan`.

        Raises:
            ModelProblem: the memory cannot be had, or the adapter does not fit.
        """
        self.lib = lib = weights.lib
        self.weights = weights
        self.plan = plan
        params = lib.llama_context_default_params()
        params.n_ctx = plan.cells
        params.n_batch = params.n_ubatch = plan.batch
        params.n_seq_max = params.n_outputs_max = plan.sequences
        params.n_outputs_max_per_seq = 1
        params.n_threads = params.n_threads_batch = plan.threads
        params.kv_unified = True
        if cache_type != "f16":  # which only flash attention can read
            params.type_k = params.type_v = _CACHE_TYPES[cache_type]
            params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_ENABLED
        elif weights.gpu:
            params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_AUTO
        else:
            params.flash_attn_type = lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.no_perf = True
        self.context = lib.llama_init_from_model(weights.model, params)
        if not self.context:
            raise ModelProblem(
                f"llama.cpp cannot make a context of {plan.cells} tokens: "
                f"{weights.log.take() or 'no reason given'} "
                f"(a smaller one: --brt-context {plan.cells // 2})"
            )
        self.cells = int(lib.llama_n_ctx(self.context))
        self.memory = lib.llama_get_memory(self.context)
        if adapter:
            loaded = (lib.llama_adapter_lora_p_ctypes * 1)(weights.adapter(adapter))
            scale = (ctypes.c_float * 1)(1.0)
            if lib.llama_set_adapters_lora(self.context, loaded, 1, scale):
                raise ModelProblem(f"llama.cpp cannot apply the LoRA adapter {adapter!r}")
        self._make_batch(plan.batch)

    def _make_batch(self, size: int) -> None:
        """Lay the batch out in arrays of our own, so that it is filled by slices."""
        self._token, self._pos, self._seq = (np.zeros(size, np.int32) for _ in range(3))
        self._one = np.ones(size, np.int32)
        self._wanted = np.zeros(size, np.int8)
        self._seqs = self._seq.ctypes.data + 4 * np.arange(size, dtype=np.uint64)
        batch = self.lib.llama_batch()
        for name, values in (
            ("token", self._token), ("pos", self._pos), ("n_seq_id", self._one),
            ("seq_id", self._seqs), ("logits", self._wanted),
        ):  # fmt: skip
            kind = dict(batch._fields_)[name]
            setattr(batch, name, ctypes.cast(values.ctypes.data, kind))
        self._batch = batch

    def decode(self, entries: Sequence[tuple[Sequence[int], int, int, bool]]) -> int:
        """Evaluate stretches of tokens: (tokens, position of the first, sequence, logits wanted).

        Logits are made for the last token of a stretch. Returns llama.cpp's status: 0 done,
        `NO_ROOM` with nothing changed, below 0 an error.
        """
        at = 0
        for tokens, position, sequence, wanted in entries:
            end = at + len(tokens)
            self._token[at:end] = tokens
            self._pos[at:end] = range(position, position + len(tokens))
            self._seq[at:end] = sequence
            self._wanted[at:end] = 0
            self._wanted[end - 1] = wanted
            at = end
        self._batch.n_tokens = at
        return int(self.lib.llama_decode(self.context, self._batch))

    def logits(self, row: int) -> Floats:
        """Return the logits of entry `row` of the last batch; valid until the next `decode`."""
        pointer = self.lib.llama_get_logits_ith(self.context, row)
        return np.ctypeslib.as_array(pointer, (self.weights.size,))

    def copy(self, source: int, target: int, length: int) -> None:
        """Let sequence `target` begin with the first `length` tokens of `source`."""
        end = -1 if self.weights.recurrent else length
        self.lib.llama_memory_seq_cp(self.memory, source, target, -1, end)

    def remove(self, sequence: int) -> None:
        """Forget a sequence."""
        self.lib.llama_memory_seq_rm(self.memory, sequence, -1, -1)

    def close(self) -> None:
        """Free the memory; nothing of this object may be used after it."""
        if self.context:
            self.lib.llama_free(self.context)
            self.context = None
