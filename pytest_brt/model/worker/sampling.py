"""Chooses tokens: a sampler chain, a seed and a grammar per sequence."""

from __future__ import annotations

import ctypes
import re
import weakref
from math import isfinite
from typing import Any

import numpy as np

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Sampling
from pytest_brt.model.worker.llama import Context, Floats, Weights

#: One candidate, laid out as llama.cpp has it.
_CANDIDATE = np.dtype([("id", "<i4"), ("logit", "<f4"), ("p", "<f4")])
_REPEAT = re.compile(r"\{\s*(\d+)?\s*(?:,\s*(\d+)?)?\s*\}")
#: llama.cpp unrolls repetitions; its parser overflows the stack somewhere above this.
_MOST_REPEATS = 1000
_LONGEST_GRAMMAR = 200_000
#: Candidates of a greedy choice that are tried before the whole vocabulary.
_GREEDY_TOP = 40


class Candidates:
    """A reusable array of all tokens and their logits."""

    def __init__(self, weights: Weights) -> None:
        lib = weights.lib
        self.table = np.zeros(weights.size, _CANDIDATE)
        self.ids = np.arange(weights.size, dtype=np.int32)
        #: Control tokens but for ends: llama.cpp's grammars take them for their names as text.
        self.markup = np.zeros(weights.size, bool)
        self.markup[list(weights.control - weights.ends)] = True
        self.array = lib.llama_token_data_array()
        self._pointer = ctypes.cast(self.table.ctypes.data, lib.llama_token_data_p)

    def fill(self, logits: Floats) -> None:
        """Hold every token with its logit."""
        self.table["id"] = self.ids
        self.table["logit"] = logits
        self.array.sorted = False
        self._hold(len(self.table))

    def keep(self, wanted: Any) -> None:
        """Keep the candidates that `wanted` selects, in their order."""
        kept = self.rows[wanted]
        self.table[: len(kept)] = kept
        self._hold(len(kept))

    def _hold(self, size: int) -> None:
        """Hold what the table begins with."""
        self.array.data, self.array.size, self.array.selected = self._pointer, size, -1

    @property
    def rows(self) -> Any:
        """The candidates as a table of id, logit and p; a sampler may have moved them."""
        held = ctypes.c_char * (self.array.size * _CANDIDATE.itemsize)
        address = ctypes.addressof(self.array.data.contents)
        return np.frombuffer(held.from_address(address), _CANDIDATE)


def make_grammar(weights: Weights, gbnf: str) -> Any:
    """Return a grammar sampler; a grammar that llama.cpp would crash on is refused first.

    Raises:
        ModelProblem: a repetition is too long, or llama.cpp cannot parse the grammar.
    """
    counts = [int(n) for pair in _REPEAT.findall(gbnf) for n in pair if n]
    if max(counts, default=0) > _MOST_REPEATS or len(gbnf) > _LONGEST_GRAMMAR:
        raise ModelProblem(
            f"the grammar repeats a rule {max(counts, default=0)} times and has {len(gbnf)} "
            f"characters; llama.cpp survives {_MOST_REPEATS} and {_LONGEST_GRAMMAR} "
            "(let long text stand outside the grammar)"
        )
    if "\x00" in gbnf:
        raise ModelProblem("the grammar holds a NUL character (spell it \\x00)")
    sampler = weights.lib.llama_sampler_init_grammar(weights.vocab, gbnf.encode(), b"root")
    if not sampler:
        reason = weights.log.take()
        raise ModelProblem(f"llama.cpp cannot parse the grammar: {reason} in {gbnf[:80]!r}")
    return sampler


class Sampler:
    """Picks the tokens of one sequence; the same seed picks the same tokens."""

    def __init__(
        self, weights: Weights, shared: Candidates, sampling: Sampling, seed: int, gbnf: str = ""
    ) -> None:
        """Make the sampler chain, and the grammar (see `make_grammar`) when `gbnf` is not ""."""
        self.lib = lib = weights.lib
        self.weights = weights
        self.shared = shared
        self.grammar = make_grammar(weights, gbnf) if gbnf else None
        if gbnf:
            weakref.finalize(self, lib.llama_sampler_free, self.grammar)
        self.chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        weakref.finalize(self, lib.llama_sampler_free, self.chain)
        #: Samplers that narrow the choice, and the one that makes it; the chain owns them.
        self.narrow: list[Any] = []
        if sampling.temperature <= 0:
            self.narrow.append(lib.llama_sampler_init_top_k(_GREEDY_TOP))
            self.final = lib.llama_sampler_init_greedy()
        else:
            if sampling.top_k > 0:
                self.narrow.append(lib.llama_sampler_init_top_k(sampling.top_k))
            if sampling.top_p < 1:
                self.narrow.append(lib.llama_sampler_init_top_p(sampling.top_p, 1))
            self.narrow.append(lib.llama_sampler_init_temp(sampling.temperature))
            self.final = lib.llama_sampler_init_dist(seed & 0xFFFFFFFF)
        for sampler in (*self.narrow, self.final):
            lib.llama_sampler_chain_add(self.chain, sampler)

    def pick(self, context: Context, row: int, *, free: bool = False) -> int:
        """Return the next token after entry `row` of the last batch; `free` skips the grammar."""
        token = int(self.lib.llama_sampler_sample(self.chain, context.context, row))
        if self.grammar is None or free or self.accept(token):
            return token
        return self._pick_again(context.logits(row))

    def _apply(self, sampler: Any) -> None:
        self.lib.llama_sampler_apply(sampler, ctypes.byref(self.shared.array))

    def accept(self, token: int) -> bool:
        """Let the grammar take `token`; False when it forbids it."""
        if self.shared.markup[token]:
            return False
        one = self.lib.llama_token_data(token, 0.0, 0.0)
        single = self.lib.llama_token_data_array(ctypes.pointer(one), 1, -1, False)
        self.lib.llama_sampler_apply(self.grammar, ctypes.byref(single))
        if not isfinite(one.logit):
            return False
        self._take(token)
        return True

    def _take(self, token: int) -> None:
        if token not in self.weights.ends:
            self.lib.llama_sampler_accept(self.grammar, token)

    def _pick_again(self, logits: Floats) -> int:
        """Pick among the tokens that the grammar allows, after it has refused the first choice.

        First among those the samplers would have left: that is the distribution of drawing
        again and again until a token is allowed, and asks the grammar about a few tokens
        instead of the whole vocabulary. Only when none of them is allowed, among all.
        """
        for first, then in ((self._narrow, self._mask), (self._mask, self._narrow)):
            self.shared.fill(logits)
            first()
            then()
            if self.shared.array.size:
                self._apply(self.final)
                token = int(self.shared.rows["id"][self.shared.array.selected])
                self._take(token)
                return token
        return self.weights.eos

    def _narrow(self) -> None:
        """Drop the candidates that the samplers leave out."""
        for sampler in self.narrow if self.shared.array.size else ():
            self._apply(sampler)

    def _mask(self) -> None:
        """Drop the candidates that the grammar does not allow."""
        self._apply(self.grammar)
        rows = self.shared.rows
        self.shared.keep(np.isfinite(rows["logit"]) & ~self.shared.markup[rows["id"]])
