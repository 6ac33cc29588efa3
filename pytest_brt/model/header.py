"""What a GGUF file says about its model, and what follows from that for memory and speed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

Scalar = str | int | float | bool
Value = Scalar | tuple[Scalar, ...]

#: Architectures of which each n-th layer attends even where the file does not say so.
_FULL_ATTENTION: Mapping[str, int] = {"qwen3next": 4, "qwen35": 4, "qwen35moe": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufHeader:
    """What a GGUF file says about itself."""

    path: str
    #: Bytes on disk.
    size: int
    #: Every key but long arrays.
    keys: Mapping[str, Value]
    #: Parameters, from the shapes.
    parameters: int
    #: Bytes of weights by quantisation, as in {"Q4_0": 3_900_000_000, …}.
    types: Counter[str]
    #: Bytes the file must have at least.
    expected: int
    #: Tokens of the vocabulary, 0 when it does not say.
    vocabulary: int = 0
    #: Bytes of the weights that belong to experts.
    expert_bytes: int = 0

    @property
    def architecture(self) -> str:
        """The name llama.cpp loads it by, as in "qwen2"."""
        return self.text("general.architecture")

    @property
    def name(self) -> str:
        """The name its maker gave it, or ""."""
        return self.text("general.name")

    @property
    def context(self) -> int:
        """Tokens of context it was trained for; 0 when it does not say."""
        return self.number("context_length")

    @property
    def layers(self) -> int:
        """Number of blocks."""
        return self.number("block_count")

    @property
    def quantisation(self) -> str:
        """The type that most bytes of its weights have."""
        return max(self.types, key=self.types.__getitem__, default="?")

    @property
    def chat_template(self) -> str:
        """The jinja2 source, or ""."""
        return self.text("tokenizer.chat_template")

    @property
    def recurrent(self) -> bool:
        """Whether some layers keep a running state instead of one entry per token."""
        prefix = f"{self.architecture}."
        return any(key.startswith((f"{prefix}ssm.", f"{prefix}shortconv.")) for key in self.keys)

    def text(self, key: str) -> str:
        """Return the string under `key`, or ""."""
        value = self.keys.get(key, "")
        return value if isinstance(value, str) else ""

    def number(self, key: str, default: int = 0) -> int:
        """Return the integer under the architecture's `key`, or `default`."""
        value = self.keys.get(f"{self.architecture}.{key}", default)
        return value if isinstance(value, int) else default

    def per_layer(self, key: str) -> tuple[int, ...]:
        """Return the architecture's `key` per layer, also where it is stored once for all."""
        value = self.keys.get(f"{self.architecture}.{key}", 0)
        if isinstance(value, tuple):
            return tuple(int(v) for v in value)
        return (int(value),) * self.layers if isinstance(value, int) else ()

    @property
    def _every(self) -> int:
        return self.number("full_attention_interval", _FULL_ATTENTION.get(self.architecture, 0))

    @property
    def recurrent_layers(self) -> int:
        """Number of layers that keep a running state."""
        if not self.recurrent:
            return 0
        told = self.keys.get(f"{self.architecture}.attention.recurrent_layers")
        if isinstance(told, tuple):
            return sum(1 for flag in told if flag)
        heads = self.per_layer("attention.head_count_kv")
        if self._every > 1:
            return self.layers - self.layers // self._every
        zeros = heads.count(0)
        inner = self.per_layer("feed_forward_length")
        if zeros < len(heads) and len(set(inner)) > 1:  # layers of experts only have neither
            zeros = sum(1 for h, i in zip(heads, inner, strict=True) if not h and not i)
        return zeros or self.layers

    @property
    def state_bytes(self) -> int:
        """Bytes of the running state that each sequence has, whatever its length."""
        if self.number("shortconv.l_cache"):
            values = self.number("embedding_length") * (self.number("shortconv.l_cache") - 1)
        else:
            inner, state = self.number("ssm.inner_size"), self.number("ssm.state_size")
            groups = self.number("ssm.group_count")
            kept = max(0, self.number("ssm.conv_kernel") - 1)
            values = kept * (inner + 2 * groups * state) + state * inner
        return self.recurrent_layers * values * 4

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of memory each token of context takes, at 16 bits per value."""
        heads = self.per_layer("attention.head_count_kv") or self.per_layer("attention.head_count")
        if self._every > 1:  # hybrids that store one number: only each n-th layer attends
            heads = tuple(n if (i + 1) % self._every == 0 else 0 for i, n in enumerate(heads))
        heads = heads[: len(heads) - self.number("attention.shared_kv_layers")]
        most = max(self.per_layer("attention.head_count"), default=0)
        head = self.number("embedding_length") // most if most else 0
        width = self.number("attention.key_length", head)
        if not self.number("attention.kv_lora_rank"):  # there the values are part of the keys
            width += self.number("attention.value_length", head)
        sliding = self.keys.get(f"{self.architecture}.attention.sliding_window_pattern")
        narrow = self.number("attention.key_length_swa") + self.number("attention.value_length_swa")
        if isinstance(sliding, tuple) and narrow:
            slides = zip(heads, sliding, strict=False)
            return 2 * sum(n * (narrow if flag else width) for n, flag in slides)
        return sum(heads) * width * 2
