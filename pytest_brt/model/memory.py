"""Decides how much context a model gets: what fits the memory, said before anything is loaded."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Settings
from pytest_brt.model.gguf import Header
from pytest_brt.model.machine import cores

#: Context that is taken when nobody asks for another and the memory allows it.
_USUAL = 16_384
#: Less than this holds no useful prompt.
_LEAST = 1024
#: Quantised weights are rearranged for the CPU when they are loaded, which copies most of them.
_WEIGHTS = 1.1
#: Buffers of an evaluation, measured for models of 0.5B to 7B with 152k tokens of vocabulary.
_BUFFERS = 400 << 20
#: Share of the free memory that may be used; the tests need some too.
_SHARE = 0.8
#: Bytes for prefixes that had to leave the context.
_SPARE = 1 << 30
#: A running state per sequence is large: fewer lanes there.
_LANES, _LANES_RECURRENT = 16, 8


class DoesNotFit(ModelProblem):
    """A model, or the context that was asked for, is too large for the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a model is to be set up."""

    #: Tokens one conversation may have.
    longest: int
    #: Tokens all of them may have together.
    cells: int
    lanes: int
    threads: int
    spare_bytes: int
    notes: tuple[str, ...] = ()


def needed_bytes(header: Header, cells: int) -> int:
    """Return the memory that a model takes with `cells` tokens of context."""
    return int(header.size * _WEIGHTS) + _BUFFERS + cells * header.kv_bytes_per_token


def plan(header: Header, settings: Settings, available: int) -> Plan:
    """Return how to set `header`'s model up in `available` bytes (0: not known).

    Raises:
        ModelProblem: the context asked for, or any useful one, does not fit.
    """
    notes: list[str] = []
    lanes = settings.lanes or (_LANES_RECURRENT if header.recurrent else _LANES)
    trained = header.context or _USUAL
    longest = settings.context or min(trained, _USUAL)
    if settings.context > trained:
        raise ModelProblem(
            f"--brt-context {settings.context}: {header.path!r} was trained for {trained} tokens "
            f"(use --brt-context {trained} or less)"
        )
    free = int(available * _SHARE) if available else needed_bytes(header, 1 << 30)
    per_token = max(header.kv_bytes_per_token, 1)
    fit = max(0, (free - needed_bytes(header, 0)) // per_token)
    if fit < (settings.context or min(_LEAST, longest)):
        raise DoesNotFit(
            f"{header.path!r} needs {_gib(needed_bytes(header, settings.context or _LEAST))} for "
            f"a context of {settings.context or _LEAST} tokens and {_gib(free)} can be had "
            f"({_advice(settings.context, fit)})"
        )
    if longest > fit:
        longest = fit // 256 * 256
        notes.append(f"context cut to {longest} tokens: {_gib(free)} of memory can be had")
    wanted = longest + max(lanes * 512, longest)
    cells = max(longest, min(wanted, fit) // 256 * 256)
    left = free - needed_bytes(header, cells)
    return Plan(
        longest=longest,
        cells=cells,
        lanes=lanes,
        threads=settings.threads or cores(),
        spare_bytes=max(0, min(_SPARE, left // 2)),
        notes=tuple(notes),
    )


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB"


def _advice(context: int, fit: int) -> str:
    if context and fit >= _LEAST:
        return f"use --brt-context {fit // 256 * 256} or a smaller quantisation"
    return "use a smaller model or quantisation, or free some memory"
