"""What is known of a model on a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pytest_brt.model.base import Prompt, Role


class ServerKind(StrEnum):
    """Whose server it is, by who it says owns its models."""

    LLAMA = "llamacpp"
    OLLAMA = "library"
    LM_STUDIO = "organization_owner"
    VLLM = "vllm"
    OTHER = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """What a server told of one model."""

    kind: ServerKind = ServerKind.OTHER
    #: The name to ask for, or "" where it names none.
    model: str = ""
    #: Tokens of context, 0 when it does not say.
    context: int = 0
    #: Whether the model is known to think.
    thinks: bool = False
    #: Whether it wants the thoughts of earlier turns back.
    keeps_thoughts: bool = False
    #: Whether it always does, and can only be asked to think less.
    always_thinks: bool = False
    #: Most answers that one request may ask for; 0 where that is not known.
    slots: int = 0
    #: What tells its weights from all others, as Ollama's digest does; "" where it does not say.
    digest: str = ""


def messages_of(prompt: Prompt, thoughts: Mapping[str, str], name: str) -> list[dict[str, str]]:
    """Return the messages for a server, earlier replies with their `thoughts` under `name`."""
    made = []
    for message in prompt.messages:
        fields = {"role": str(message.role), "content": message.text}
        if message.role is Role.ASSISTANT and message.text in thoughts:
            fields[name] = thoughts[message.text]
        made.append(fields)
    return made


def effort(thinking: int) -> str:
    """Return the word for a budget of tokens, for models that know words alone.

    >>> effort(0), effort(2048), effort(8192)
    ('low', 'medium', 'high')
    """
    if thinking >= 4096:
        return "high"
    return "medium" if thinking >= 1024 else "low"


def table(value: Any) -> dict[str, Any]:
    """Return a JSON object as it is, and anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def rows(value: Any, name: str) -> list[dict[str, Any]]:
    """Return the objects in the list that a JSON object has under `name`, or none."""
    found = table(value).get(name)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def integer(value: object) -> int:
    """Return a JSON number without a fraction as it is, and anything else as 0."""
    return value if isinstance(value, int) else 0
