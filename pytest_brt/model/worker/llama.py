"""The part of llama.cpp that is used: weights, and sequences of tokens in their memory.

Only functions of the public C API, as llama-cpp-python mirrors them, are called. Runs in the worker
process only: a wrong argument here ends the process, not an exception; and its end is what frees
the memory.
"""

from __future__ import annotations

import ctypes
import importlib
import re
from array import array
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import ModelFailed
from pytest_brt.model.memory import MemoryPlan
from pytest_brt.types.model import CannotLoad

Floats = NDArray[np.float32]
#: Numbers that ggml gives to types.
_CACHE_TYPES = {"q8_0": 8, "q4_0": 2}
#: What `Context.decode` returns where a batch did not fit, as llama.cpp does.
NO_ROOM = 1
#: The first version whose functions are as they are called here.
_LEAST = (0, 3, 35)
_WARN, _ERROR, _CONT = 3, 4, 5
_CONTROL, _USER_DEFINED, _UNKNOWN = 1 << 3, 1 << 4, 1 << 0


def load_library() -> Any:
    """Return the llama_cpp module (Any: its stubs do not cover what is built at run time).

    Raises:
        ModelProblem: it is not installed, cannot be loaded, or is another version.
    """
    try:
        lib = importlib.import_module("llama_cpp")
    except (ImportError, OSError, RuntimeError) as error:
        raise ModelProblem(
            f"llama-cpp-python cannot be loaded: {error} (install it again: "
            "pip install --force-reinstall 'pytest-brt[llama]')"
        ) from error
    version = str(getattr(lib, "__version__", "0"))
    if tuple(int(part) for part in re.findall(r"\d+", version)[:3]) < _LEAST:
        raise ModelProblem(
            f"llama-cpp-python {version!r} is too old (pip install 'llama-cpp-python>=0.3.35,<0.4')"
        )
    return lib


class LlamaLog:
    """Collects what llama.cpp says; without it everything would go to stderr."""

    def __init__(self, lib: Any) -> None:
        self.lines: deque[str] = deque(maxlen=40)
        self._level = 0

        @lib.llama_log_callback  # type: ignore[untyped-decorator]  # ctypes prototype
        def collect(level: int, text: bytes, _: object) -> None:
            if level != _CONT:
                self._level = level
            if self._level in (_WARN, _ERROR):
                self.lines.append(text.decode("utf-8", "replace").strip())

        self._callback = collect  # must outlive the library's use of it
        lib.llama_log_set(collect, ctypes.c_void_p(0))

    def take(self) -> str:
        """Return what was said since the last call, on one line, or that nothing was."""
        text = "; ".join(line for line in self.lines if line)
        self.lines.clear()
        return text[-400:] or "no reason given"


class Weights:
    """A loaded model: its vocabulary, and the memory its weights are in."""

    def __init__(self, path: str, *, gpu_layers: int = -1, rearrange: bool = True) -> None:
        """Load the GGUF file at `path`; `rearrange` its weights for this CPU.

        Raises:
            ModelProblem: llama.cpp refuses the file; its own words are in the message.
        """
        self.lib = lib = load_library()
        self.path = path
        lib.llama_backend_init()
        self.log = LlamaLog(lib)
        params = lib.llama_model_default_params()
        self.gpu = bool(lib.llama_supports_gpu_offload()) and gpu_layers != 0
        params.n_gpu_layers = (gpu_layers if gpu_layers >= 0 else 999) if self.gpu else 0
        params.use_extra_bufts = rearrange
        if rearrange:
            # Rearranged weights are copies: mapping the file too would take its size twice.
            params.load_mode = lib.LLAMA_LOAD_MODE_NONE
        self.model = lib.llama_model_load_from_file(path.encode(), params)
        if not self.model:
            raise ModelFailed(CannotLoad(path=path, said=self.log.take()))
        is_recurrent, is_hybrid = lib.llama_model_is_recurrent, lib.llama_model_is_hybrid
        self.recurrent = bool(is_recurrent(self.model) or is_hybrid(self.model))
        self._read_vocabulary()

    def _read_vocabulary(self) -> None:
        lib = self.lib
        self.vocab = vocab = lib.llama_model_get_vocab(self.model)
        self.size: int = lib.llama_vocab_n_tokens(vocab)
        self.bos: int = lib.llama_vocab_bos(vocab)
        self.eos: int = lib.llama_vocab_eos(vocab)
        self.add_bos: bool = lib.llama_vocab_get_add_bos(vocab)
        self._pieces: dict[int, bytes] = {}
        self._buffer = ctypes.create_string_buffer(1024)
        tokens = range(self.size)
        kinds = [lib.llama_vocab_get_attr(vocab, token) for token in tokens]
        self.control = frozenset(t for t in tokens if kinds[t] & (_CONTROL | _UNKNOWN))
        self.ends = frozenset(t for t in tokens if lib.llama_vocab_is_eog(vocab, t))
        marked = [t for t in tokens if kinds[t] & (_CONTROL | _USER_DEFINED)]
        #: Text → the token that it is spelled like, the first of several.
        self.markers = {self.name(token): token for token in reversed(marked)}
        self.markers.pop("", None)

    def tokenize(self, text: str) -> list[int]:
        """Return the ids of `text`, in which control tokens are letters like any other."""
        raw = text.encode("utf-8", "replace")
        room = len(raw) + 8
        while True:
            buffer = (ctypes.c_int32 * room)()
            count = self.lib.llama_tokenize(self.vocab, raw, len(raw), buffer, room, False, False)
            if count >= 0:
                return buffer[:count]
            room = -count

    def piece(self, token: int) -> bytes:
        """Return the bytes that `token` stands for, control tokens by their names."""
        known = self._pieces.get(token)
        if known is None:
            size = self.lib.llama_token_to_piece(
                self.vocab, token, self._buffer, len(self._buffer), 0, True
            )
            if size < 0:
                self._buffer = ctypes.create_string_buffer(-size)
                return self.piece(token)
            known = self._pieces[token] = self._buffer.raw[:size]
        return known

    def name(self, token: int) -> str:
        """Return the text of a special token, or "" when there is none."""
        return self.piece(token).decode("utf-8", "replace") if token >= 0 else ""


class Context:
    """The memory that sequences of tokens are evaluated into."""

    def __init__(self, weights: Weights, plan: MemoryPlan, *, cache_type: str = "f16") -> None:
        """Make room for the tokens and sequences of `plan`.

        Raises:
            ModelProblem: the memory cannot be had.
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
                f"{weights.log.take()} (a smaller one: --brt-engine auto,context={plan.cells // 2})"
            )
        self.cells = int(lib.llama_n_ctx(self.context))
        self.memory = lib.llama_get_memory(self.context)
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

    def decode(self, entries: Iterable[tuple[list[int], int, int, bool]]) -> int:
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


@dataclass(slots=True, eq=False)
class Sequence:
    """Tokens that are evaluated, under one of llama.cpp's sequence numbers."""

    number: int
    ids: array[int] = field(default_factory=lambda: array("i"))


def common(left: array[int], right: array[int]) -> int:
    """Return how many tokens two sequences begin with in common."""
    most = min(len(left), len(right))
    if left[:most] == right[:most]:
        return most
    return int(np.argmax(np.array(left[:most]) != np.array(right[:most])))


class Sequences:
    """All sequences of a context: what they hold, and which go when room is needed.

    LookupError means that every sequence number is taken.
    """

    def __init__(self, context: Context) -> None:
        self.lib, self.memory = context.lib, context.memory
        self.recurrent = context.weights.recurrent
        self.free = list(reversed(range(context.plan.sequences)))
        #: Finished prefixes that the next prompt may begin with, oldest use first.
        self.kept: list[Sequence] = []

    def begin(self, ids: array[int]) -> Sequence:
        """Return a new sequence with as much of `ids` as is known, but for the last of them."""
        kept, length = self._best(ids)
        return self._new() if kept is None else self.fork(kept, length)

    def fork(self, source: Sequence, length: int) -> Sequence:
        """Return a new sequence that begins with the first `length` tokens of `source`."""
        fork = self._new(source)
        end = -1 if self.recurrent else length
        self.lib.llama_memory_seq_cp(self.memory, source.number, fork.number, -1, end)
        fork.ids = source.ids[:length]
        if source in self.kept:  # used just now
            self.kept.remove(source)
            self.kept.append(source)
        return fork

    def keep(self, sequence: Sequence) -> None:
        """Keep `sequence` for prompts to come, in place of those that it only continues."""
        if not self.recurrent:
            for other in list(self.kept):
                if common(other.ids, sequence.ids) == len(other.ids):
                    self.drop(other)
        self.kept.append(sequence)

    def keep_copy(self, sequence: Sequence) -> None:
        """Keep what `sequence` holds now, unless that is kept or there is no number for it."""
        if all(kept.ids != sequence.ids for kept in self.kept):
            with suppress(LookupError):
                self.kept.append(self.fork(sequence, len(sequence.ids)))

    def drop(self, sequence: Sequence) -> None:
        """Forget `sequence`; its number and the cells that nobody shares are free again."""
        if sequence in self.kept:
            self.kept.remove(sequence)
        self.lib.llama_memory_seq_rm(self.memory, sequence.number, -1, -1)
        self.free.append(sequence.number)

    def evict(self, spared: Sequence | None = None) -> bool:
        """Drop the kept sequence that was not used for longest; False when there is none."""
        for kept in self.kept:
            if kept is not spared:
                self.drop(kept)
                return True
        return False

    def _new(self, spared: Sequence | None = None) -> Sequence:
        if not self.free and not self.evict(spared):
            raise LookupError("no free sequence")
        return Sequence(self.free.pop())

    def _best(self, ids: array[int]) -> tuple[Sequence | None, int]:
        """Return the kept sequence that `ids` shares most with, and how many tokens of it.

        The last token is always evaluated, to know what comes after it. A recurrent state cannot
        be rewound: it is used as a whole.
        """
        found, most = None, 0
        for one in self.kept:
            length = min(common(one.ids, ids), len(ids) - 1)
            if length >= max(most, 1) and not (self.recurrent and length < len(one.ids)):
                found, most = one, length
        return found, most
