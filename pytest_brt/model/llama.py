"""The part of llama.cpp that is used: one module for every name that comes from llama_cpp.

Only functions of the public C API, as llama-cpp-python mirrors them, are called. Runs in the worker
process only: a wrong argument here ends the process, not an exception.
"""

from __future__ import annotations

import ctypes
import importlib
import re
from collections import deque
from typing import Any

from pytest_brt.errors import ModelProblem

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


class Log:
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
        """Return what was said since the last call, on one line."""
        text = "; ".join(line for line in self.lines if line)
        self.lines.clear()
        return text[-400:]


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
        self.log = Log(lib)
        params = lib.llama_model_default_params()
        self.gpu = bool(lib.llama_supports_gpu_offload()) and gpu_layers != 0
        params.n_gpu_layers = (gpu_layers if gpu_layers >= 0 else 999) if self.gpu else 0
        params.use_extra_bufts = rearrange
        if rearrange:
            # Rearranged weights are copies: mapping the file too would take its size twice.
            params.load_mode = lib.LLAMA_LOAD_MODE_NONE
        self.model = lib.llama_model_load_from_file(path.encode(), params)
        if not self.model:
            reason = self.log.take() or "no reason given"
            raise ModelProblem(
                f"llama.cpp cannot load {path!r}: {reason} (a newer llama-cpp-python may know "
                "this architecture; 'pytest-brt models verify' finds damage)"
            )
        self.vocab = lib.llama_model_get_vocab(self.model)
        self.size = int(lib.llama_vocab_n_tokens(self.vocab))
        self.recurrent = bool(lib.llama_model_is_recurrent(self.model)) or bool(
            lib.llama_model_is_hybrid(self.model)
        )
        self.bos = int(lib.llama_vocab_bos(self.vocab))
        self.eos = int(lib.llama_vocab_eos(self.vocab))
        self.add_bos = bool(lib.llama_vocab_get_add_bos(self.vocab))
        self._pieces: dict[int, bytes] = {}
        self._buffer = ctypes.create_string_buffer(1024)
        attrs = [int(lib.llama_vocab_get_attr(self.vocab, token)) for token in range(self.size)]
        self.control = frozenset(
            token for token, attr in enumerate(attrs) if attr & (_CONTROL | _UNKNOWN)
        )
        self.ends = frozenset(
            token for token in range(self.size) if lib.llama_vocab_is_eog(self.vocab, token)
        )
        self.markers: dict[str, int] = {}
        for token, attr in enumerate(attrs):
            if attr & (_CONTROL | _USER_DEFINED):
                self.markers.setdefault(self.piece(token).decode("utf-8", "replace"), token)
        self.markers.pop("", None)

    def tokenize(self, text: str) -> list[int]:
        """Return the ids of `text`, in which control tokens are letters like any other."""
        raw = text.encode("utf-8", "replace")
        if not raw:
            return []
        room = len(raw) + 8
        buffer = (ctypes.c_int32 * room)()
        count = self.lib.llama_tokenize(self.vocab, raw, len(raw), buffer, room, False, False)
        if count < 0:
            room = -count
            buffer = (ctypes.c_int32 * room)()
            count = self.lib.llama_tokenize(self.vocab, raw, len(raw), buffer, room, False, False)
        return buffer[:count]

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

    def adapter(self, path: str) -> Any:
        """Return the LoRA adapter in the file at `path`, loaded.

        Raises:
            ModelProblem: it does not fit this model.
        """
        loaded = self.lib.llama_adapter_lora_init(self.model, path.encode())
        if not loaded:
            raise ModelProblem(
                f"the LoRA adapter {path!r} does not fit {self.path!r}: "
                f"{self.log.take() or 'no reason given'} (it must be made for this base model)"
            )
        return loaded

    def close(self) -> None:
        """Free the model; neither it nor anything made from it may be used after this."""
        if self.model:
            self.lib.llama_model_free(self.model)
            self.model = None
            self.lib.llama_log_set(self.lib.llama_log_callback(0), ctypes.c_void_p(0))
