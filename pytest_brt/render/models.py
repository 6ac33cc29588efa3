"""What goes wrong with a model, and what there is to know of one, in words."""

from __future__ import annotations

from typing import assert_never

from pytest_brt.types.model import (
    AnswersLost,
    CannotLoad,
    CannotSpare,
    Closed,
    ContextAssumed,
    ContextLoaded,
    ContextReduced,
    Death,
    DiedLoading,
    DiedTwice,
    EngineChosen,
    EngineReason,
    ModelFault,
    ModelNote,
    OnlyThought,
    PlainWeights,
    PromptCut,
    PromptTooLarge,
    Rejected,
    Rejection,
    Restarted,
    TooLate,
    Unreachable,
)

_FIND = "'pytest-brt models' finds servers that run"
#: What the name of a signal means, where that is known.
_SIGNALS = {
    "SIGILL": "llama-cpp-python was built for another CPU: build it again, on this machine or "
    "with CMAKE_ARGS=-DGGML_NATIVE=OFF",
    "SIGKILL": "killed from outside, often because memory ran out",
}


def death_words(death: Death) -> str:
    """Return how a process ended, or that it hangs."""
    if death.signal:
        hint = _SIGNALS.get(death.signal, death.said)
        return f"{death.signal}, {hint}" if hint else death.signal
    how = "it hangs" if death.status is None else f"exit status {death.status}"
    return f"{how}: {death.said}" if death.said else how


def fault_words(fault: ModelFault) -> str:
    """Return what went wrong and what to do about it, on one line."""
    match fault:
        case Unreachable(url=url, reason=reason, seconds=seconds):
            return (
                f"no answer from {url!r}: {reason}; tried for {seconds:.0f} s (start the server, "
                f"or wait for it: --brt-engine auto,patience=60; {_FIND})"
            )
        case TooLate(url=url, seconds=seconds):
            return f"{url!r} did not answer within {seconds:.0f} s"
        case Closed():
            return "the model was closed"
        case Rejected():
            return _rejection_words(fault)
        case PromptTooLarge():
            return _too_large_words(fault)
        case DiedLoading(path=path, death=death):
            return (
                f"the model's process died while it loaded {path!r}: {death_words(death)} "
                f"(take another engine: --brt-engine)"
            )
        case DiedTwice(death=death):
            return (
                f"the model's process died twice over this prompt: {death_words(death)} (take "
                "another engine: --brt-engine)"
            )
        case CannotLoad(path=path, said=said, served=served):
            if served:
                return (
                    f"llama-server cannot serve {path!r}: {said} "
                    "(another engine: --brt-engine inprocess)"
                )
            return (
                f"llama.cpp cannot load {path!r}: {said} (a newer llama-cpp-python may know this "
                "architecture; compare its SHA-256 with its publisher's)"
            )
        case CannotSpare(reason=reason):
            return (
                f"the model's process needs a temporary file, and none can be had: {reason} "
                "(make room on the disk, or name a folder that has some in TMPDIR)"
            )
        case _:
            assert_never(fault)


def _rejection_words(fault: Rejected) -> str:
    answer = f"{fault.status} {fault.said!r}"
    match fault.why:
        case Rejection.KEY:
            return f"{fault.url!r} wants another key (PYTEST_BRT_SERVER_KEY): {answer}"
        case Rejection.NO_MODEL:
            return (
                f"{fault.url!r} has no chat completions below {fault.base!r}, or no model called "
                f"{fault.model!r}: {answer} ({_FIND})"
            )
        case Rejection.FOREIGN:
            return f"{fault.url!r} is no server of models: it answers {answer} ({_FIND})"
        case Rejection.FAILS:
            return f"{fault.url!r} fails: {answer}"
        case Rejection.PROMPT:
            return f"{fault.url!r} refuses the prompt: {answer}"
        case _:
            assert_never(fault.why)


def _too_large_words(fault: PromptTooLarge) -> str:
    if not fault.url:
        return (
            f"the prompt has {fault.prompt} tokens and its answer may have {fault.answer}: more "
            f"than the context of {fault.context} (a larger one: --brt-engine auto,context=N)"
        )
    return (
        f"the prompt is longer than the context that {fault.url!r} has for it, taken as "
        f"{fault.context} tokens from now on: {fault.said!r} (give the server more, or say "
        "--brt-engine auto,context=N)"
    )


def note_words(note: ModelNote) -> str:
    """Return what there is to know of a model, on one line."""
    match note:
        case EngineChosen():
            return _engine_words(note)
        case ContextReduced(tokens=tokens, available=available):
            return (
                f"context cut to {tokens} tokens: {available / 2**30:.1f} GiB of memory available"
            )
        case ContextAssumed(tokens=tokens):
            return (
                f"the server does not tell its context: up to {tokens} tokens are tried (its own: "
                "--brt-engine auto,context=N)"
            )
        case ContextLoaded(model=model, tokens=tokens, wanted=wanted):
            return (
                f"Ollama loaded {model!r} with {tokens} tokens of context where {wanted} were "
                f"asked for (less memory for others, or --brt-engine auto,context={tokens})"
            )
        case PlainWeights():
            return (
                "this machine does not let some instructions run that llama.cpp uses for "
                "rearranged weights: going on without them, slower"
            )
        case Restarted(death=death):
            return f"the model's process died ({death_words(death)}); asked again"
        case AnswersLost(count=count, of=asked, said=said):
            return f"{count} of {asked} answers were lost: {said}"
        case PromptCut(counted=counted, size=size):
            return (
                f"the server counted {counted} tokens in a prompt of {size} bytes: it has probably "
                "cut it (give the server a larger context)"
            )
        case OnlyThought(characters=characters):
            return (
                f"the server's model thought {characters} characters and gave no answer (switch "
                "its thinking off, or allow more: --brt-engine auto,thinking=N)"
            )
        case _:
            assert_never(note)


def _engine_words(note: EngineChosen) -> str:
    served = "engine: a private llama-server (auto:"
    match note.why:
        case EngineReason.FITS:
            return "engine: llama-cpp-python, in a worker (auto: installed, and the model fits)"
        case EngineReason.MISSING:
            return f"{served} llama-cpp-python is not installed)"
        case EngineReason.ASKED:
            return f"{served} only that can do {note.said})"
        case EngineReason.TOO_LARGE:
            return f"{served} as it loads weights piece by piece; in a worker: {note.said})"
        case _:
            assert_never(note.why)
