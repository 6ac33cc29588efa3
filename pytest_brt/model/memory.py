"""Decides how a model is set up: what fits the memory, said before anything is loaded.

What llama.cpp allocates follows from the file's header: the weights, the cells of the context, a
running state for each sequence (hybrids), the logits of each answer, and the buffers of one pass,
which are mostly the attention of its tokens to every cell.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from dataclasses import dataclass
from math import inf
from pathlib import Path

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Settings
from pytest_brt.model.header import GgufHeader
from pytest_brt.types.model import ContextReduced, ModelNote


def available_bytes() -> int:
    """Return the memory that can be had now: of the machine, or of the control group if less.

    Returns 0 where the system does not say.
    """
    found = [
        int(line.split()[1]) * 1024
        for line in _lines("/proc/meminfo")
        if line.startswith("MemAvailable:")
    ]
    limit, used = _lines("/sys/fs/cgroup/memory.max"), _lines("/sys/fs/cgroup/memory.current")
    if limit and used and limit[0].isdigit() and used[0].isdigit():
        found.append(max(0, int(limit[0]) - int(used[0])))
    return min(found, default=0)


def cores() -> int:
    """Return the physical cores that this process may keep busy.

    Two threads on one core would only wait for each other in a product of matrices, and a
    control group may grant less time than there are cores.
    """
    usable = (
        os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    )
    # The threads of one core, as in "0,64".
    siblings = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    found = len({(_lines(siblings.format(n)) or [str(n)])[0] for n in usable})
    quota, _, period = (_lines("/sys/fs/cgroup/cpu.max") or [""])[0].partition(" ")
    if quota.isdigit() and period.isdigit():
        found = min(found, -(-int(quota) // int(period)))
    return max(1, found)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="ascii").split("\n")
    except OSError:
        return []


#: Context that is taken when nobody asks for another and the memory allows it.
_USUAL = 16_384
#: Less than this holds no useful prompt.
_LEAST = 1024
#: Share of the free memory that may be used; the tests need some too.
_SHARE = 0.8
#: Answers at the same time, and where each has a running state of its own.
_LANES, _LANES_RECURRENT, _LEAST_LANES = 16, 8, 2
#: Sequences beyond the lanes: kept prefixes cost nothing but where they have a running state.
_MORE, _MORE_RECURRENT = 16, 6
#: Share of what the weights leave that running states may take.
_STATES = 0.25
#: Tokens of one pass, and bytes of its buffers from which on it gets fewer.
_PASSES, _LARGE_PASS = (512, 256, 128), 512 << 20
#: Bytes of a value in the memory of the context, relative to 16 bits.
_WIDTHS = {"f16": 1.0, "q8_0": 34 / 64, "q4_0": 18 / 64}


class DoesNotFit(ModelProblem):
    """A model, or the context that was asked for, is too large for the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """How a model is to be set up."""

    #: Tokens one conversation may have.
    longest: int
    #: Tokens all of them may have together.
    cells: int
    lanes: int
    #: Lanes, prefixes that are kept and prompts that are being read.
    sequences: int
    threads: int
    #: Tokens of one pass.
    batch: int = 512
    #: Bytes that llama.cpp will allocate.
    needed: int = 0
    notes: tuple[ModelNote, ...] = ()


def needed_bytes(
    header: GgufHeader, cells: int, *, sequences: int = 0, cache_type: str = "f16"
) -> int:
    """Return the memory that a model takes with `cells` tokens of context."""
    sequences = sequences or _sequences(header, _lanes(header, 0))
    context = cells * header.kv_bytes_per_token * _WIDTHS[cache_type]
    states = sequences * header.state_bytes
    logits = sequences * header.vocabulary * 4
    buffers = _pass(header, cells, _batch(header, cells))
    return header.size + int(context) + states + logits + buffers


def _pass(header: GgufHeader, cells: int, batch: int) -> int:
    """Return the bytes of the buffers of one pass: scores and mask of each cell, activations."""
    heads = max(header.per_layer("attention.head_count"), default=0)
    scores = cells * (heads + 1) if header.kv_bytes_per_token else 0
    inner = max(header.per_layer("feed_forward_length"), default=0)
    active = max(inner, header.number("ssm.inner_size")) + 2 * header.number("embedding_length")
    return 4 * batch * (scores + active)


def _batch(header: GgufHeader, cells: int) -> int:
    """Return the tokens of one pass: fewer where its buffers would be large."""
    fitting = (batch for batch in _PASSES if _pass(header, cells, batch) <= _LARGE_PASS)
    return next(fitting, _PASSES[-1])


def _lanes(header: GgufHeader, free: int) -> int:
    """Return the answers at the same time, as many as their running states leave room for."""
    if not header.state_bytes:
        return _LANES
    room = max(0, free - header.size) * _STATES if free else inf
    for lanes in range(_LANES_RECURRENT, _LEAST_LANES, -1):
        if _sequences(header, lanes) * header.state_bytes <= room:
            return lanes
    return _LEAST_LANES


def _sequences(header: GgufHeader, lanes: int) -> int:
    return lanes + (_MORE_RECURRENT if header.state_bytes else _MORE)


def plan(header: GgufHeader, settings: Settings, available: int) -> MemoryPlan:
    """Return how to set `header`'s model up in `available` bytes (0: not known).

    Raises:
        DoesNotFit: the context asked for, or any useful one, is too large.
        ModelProblem: the model was not trained for that much context.
    """
    trained = header.context or _USUAL
    if settings.context > trained:
        raise ModelProblem(
            f"--brt-engine auto,context={settings.context}: {header.path!r} was trained for "
            f"{trained} tokens (use --brt-engine auto,context={trained} or less)"
        )
    free = int(available * _SHARE)
    lanes = _lanes(header, free)
    sequences = _sequences(header, lanes)

    def needs(cells: int) -> int:
        return needed_bytes(header, cells, sequences=sequences, cache_type=settings.cache_type)

    wished = settings.context or min(trained, _USUAL)
    wanted = wished + max(lanes * 512, wished)
    fit = wanted
    if available:  # in steps of 256 cells, as llama.cpp has them
        steps = range(1, wanted // 256 + 1)
        fit = 256 * bisect_right(steps, free, key=lambda n: needs(256 * n))
    if fit < (settings.context or min(_LEAST, wished)):
        least = needs(settings.context or _LEAST)
        raise DoesNotFit(_too_large(header, settings.context, least, free, fit))
    longest = min(wished, fit)
    cells = max(longest, min(wanted, fit))
    return MemoryPlan(
        longest=longest,
        cells=cells,
        lanes=lanes,
        sequences=sequences,
        batch=_batch(header, cells),
        threads=settings.threads or cores(),
        needed=needs(cells),
        notes=(ContextReduced(tokens=longest, available=free),) if longest < wished else (),
    )


def _too_large(header: GgufHeader, context: int, needed: int, free: int, fit: int) -> str:
    advice = "use a smaller model or quantisation, or free some memory"
    if context and fit >= _LEAST:
        advice = f"use --brt-engine auto,context={fit} or a smaller quantisation"
    return (
        f"{header.path!r} needs {_gib(needed)} for a context of {context or _LEAST} tokens "
        f"and {_gib(free)} are available ({advice})"
    )


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB"
