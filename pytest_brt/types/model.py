"""What goes wrong with a model, and what a person should know of one; `render` says it."""

from __future__ import annotations

from enum import StrEnum

from pytest_brt.types.fact import Fact


class Death(Fact, frozen=True, kw_only=True):
    """How a model's process ended."""

    #: Name of the signal that ended it, as in "SIGKILL", or "".
    signal: str = ""
    #: Its exit status; None where it was ended by a signal, or hangs.
    status: int | None = None
    #: Its last words, as it wrote them to stderr.
    said: str = ""


class Unreachable(Fact, frozen=True, kw_only=True):
    """Nobody answers at an address, or nobody who serves models."""

    url: str
    reason: str
    #: For how long it was tried.
    seconds: float = 0.0


class TooLate(Fact, frozen=True, kw_only=True):
    """A server did not answer in time."""

    url: str
    seconds: float


class Closed(Fact, frozen=True, kw_only=True):
    """The model was closed while it was asked, or before."""


class Rejection(StrEnum):
    """Why a server gives no answer."""

    KEY = "key"
    #: There are no chat completions there, or no such model.
    NO_MODEL = "no-model"
    #: It is no server of models.
    FOREIGN = "foreign"
    FAILS = "fails"
    PROMPT = "prompt"


class Rejected(Fact, frozen=True, kw_only=True):
    """A server answers with an error."""

    url: str
    why: Rejection
    status: int
    #: The beginning of what it said.
    said: str
    #: The path and the name that it was asked by.
    base: str = ""
    model: str = ""


class PromptTooLarge(Fact, frozen=True, kw_only=True):
    """A prompt and its answer do not fit the context."""

    #: Tokens that there is room for.
    context: int
    #: Tokens of the prompt, and of its longest answer; 0 where only the server has counted.
    prompt: int = 0
    answer: int = 0
    #: The server that refused it, and the beginning of what it said; "" for one of ours.
    url: str = ""
    said: str = ""


class DiedLoading(Fact, frozen=True, kw_only=True):
    """A model's process ended before it had loaded the model."""

    path: str
    death: Death


class DiedTwice(Fact, frozen=True, kw_only=True):
    """Two processes in a row ended over the same question."""

    death: Death


class CannotLoad(Fact, frozen=True, kw_only=True):
    """llama.cpp refuses a file; `said` is its own reason."""

    path: str
    said: str
    #: Whether it was a llama-server that was to load it.
    served: bool = False


class CannotSpare(Fact, frozen=True, kw_only=True):
    """A model's process needs a temporary file, and none can be had."""

    reason: str


ModelFault = (
    Unreachable
    | TooLate
    | Closed
    | Rejected
    | PromptTooLarge
    | DiedLoading
    | DiedTwice
    | CannotLoad
    | CannotSpare
)


class EngineReason(StrEnum):
    """Why one of the engines was chosen."""

    #: llama-cpp-python is installed, and the model fits the memory.
    FITS = "fits"
    #: It is not installed.
    MISSING = "missing"
    #: Only a llama-server can do what was asked for.
    ASKED = "asked"
    #: In the worker it does not fit the memory; a server loads weights piece by piece.
    TOO_LARGE = "too-large"


class EngineChosen(Fact, frozen=True, kw_only=True):
    """What runs a GGUF file, where nobody named an engine."""

    why: EngineReason
    #: What keeps it from fitting, or what was asked for.
    said: str = ""


class ContextReduced(Fact, frozen=True, kw_only=True):
    """The context is smaller than usual for want of memory."""

    tokens: int
    #: Bytes that may be used.
    available: int


class ContextAssumed(Fact, frozen=True, kw_only=True):
    """A server does not say how large its context is."""

    tokens: int


class ContextLoaded(Fact, frozen=True, kw_only=True):
    """Ollama loaded a model with less context than it was asked for."""

    model: str
    tokens: int
    wanted: int


class PlainWeights(Fact, frozen=True, kw_only=True):
    """Weights are not rearranged: this machine does not let some instructions run."""


class Restarted(Fact, frozen=True, kw_only=True):
    """The model's process died, and the question was put to another one."""

    death: Death


class AnswersLost(Fact, frozen=True, kw_only=True):
    """Some answers to a prompt were not had; `said` is why."""

    count: int
    of: int
    said: str


class PromptCut(Fact, frozen=True, kw_only=True):
    """A server counted so few tokens that it has probably cut the prompt."""

    counted: int
    #: Bytes of the prompt.
    size: int


class OnlyThought(Fact, frozen=True, kw_only=True):
    """A server's model thought, and gave no answer."""

    characters: int


ModelNote = (
    EngineChosen
    | ContextReduced
    | ContextAssumed
    | ContextLoaded
    | PlainWeights
    | Restarted
    | AnswersLost
    | PromptCut
    | OnlyThought
)
