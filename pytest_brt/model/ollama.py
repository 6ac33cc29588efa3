"""Ollama's own API: what it says of a model, how it is asked, and what it answers.

Its OpenAI-compatible API cannot choose a context, and cuts in silence what is longer than the one
that Ollama chose. Source: docs/api.md of ollama/ollama.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pytest_brt.model.base import Prompt
from pytest_brt.model.loopback import Loopback
from pytest_brt.model.served import (
    ServedModel,
    ServerKind,
    effort,
    integer,
    messages_of,
    rows,
    table,
)

#: Where it is asked for an answer.
CHAT = "/api/chat"
#: Tokens of context that it is asked for where nobody chose: enough for our longest prompts.
_CONTEXT = 16384
#: Tokens for the thoughts of a model that always thinks, beside the answer.
_LEAST_THOUGHT = 512


def is_ollama(server: Loopback, seconds: float) -> bool:
    """Whether a server that names no owner it could be known by is an Ollama."""
    return isinstance(table(server.ask("/api/version", seconds).body).get("version"), str)


def read_model(server: Loopback, name: str, seconds: float, wanted: int) -> ServedModel:
    """Return what Ollama tells of the model `name`, with the context that a run asks it for.

    That is the one `wanted`, unless 0; else what it was loaded with or its file says, but no less
    than our prompts need; and in no case more than the model was trained for.
    """
    shown = table(server.ask("/api/show", seconds, {"model": name}).body)
    sizes = (
        integer(value)
        for key, value in table(shown.get("model_info")).items()
        if key.endswith(".context_length")
    )
    trained = max(sizes, default=0)
    found = re.search(r"^num_ctx\s+(\d+)", str(shown.get("parameters", "")), re.MULTILINE)
    in_file = int(found[1]) if found else 0
    context = wanted or max(loaded_context(server, name, seconds), in_file, _CONTEXT)
    return ServedModel(
        kind=ServerKind.OLLAMA,
        model=name,
        context=min(context, trained) if trained else context,
        thinks="thinking" in (shown.get("capabilities") or []),
        keeps_thoughts="thinking" in (shown.get("capabilities") or []),
        always_thinks=table(shown.get("details")).get("family") == "gptoss",
        digest=str(_entry(server, "/api/tags", name, seconds).get("digest", "")),
    )


def loaded_context(server: Loopback, name: str, seconds: float) -> int:
    """Return the context that the model `name` is loaded with, 0 where it is not loaded."""
    return integer(_entry(server, "/api/ps", name, seconds).get("context_length"))


def _entry(server: Loopback, path: str, name: str, seconds: float) -> dict[str, Any]:
    """Return what a list of models says of the one called `name`, {} where it is not there."""
    names = (name, f"{name}:latest")
    listed = rows(server.ask(path, seconds).body, "models")
    return next((row for row in listed if {row.get("name"), row.get("model")} & {*names}), {})


def request(
    prompt: Prompt, facts: ServedModel, seed: int, thoughts: Mapping[str, str]
) -> dict[str, object]:
    """Return the fields of a request for one answer.

    The context is the same in all of a run: Ollama loads a model anew for another one.
    """
    sampling, thinking = prompt.sampling, prompt.thinking
    spare = max(thinking, _LEAST_THOUGHT) if facts.always_thinks else thinking
    options: dict[str, object] = {
        "num_ctx": facts.context,
        "num_predict": sampling.max_tokens + spare,
        "seed": seed & 0x7FFFFFFF,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": 0.0,
    }
    if sampling.stop:
        options["stop"] = list(sampling.stop)
    fields: dict[str, object] = {
        "model": facts.model,
        "messages": messages_of(prompt, thoughts, "thinking"),
        "stream": False,
        # Refuse what is too long; versions that do not know the field cut it.
        "truncate": False,
        "options": options,
    }
    if prompt.grammar is not None and prompt.grammar.schema:
        fields["format"] = json.loads(prompt.grammar.schema)
    if facts.always_thinks:
        fields["think"] = effort(thinking)
    elif facts.thinks:
        fields["think"] = thinking > 0
    return fields


def as_chat_completion(body: Any) -> dict[str, Any]:
    """Return an answer of Ollama's API in the shape of OpenAI's; {} where it is none."""
    answer = table(body)
    message = answer.get("message")
    if not isinstance(message, Mapping):
        return {}
    choice = {
        "message": {**message, "reasoning": message.get("thinking") or ""},
        "finish_reason": answer.get("done_reason"),
    }
    usage = {
        "prompt_tokens": answer.get("prompt_eval_count"),
        "completion_tokens": answer.get("eval_count"),
    }
    return {"choices": [choice], "usage": usage}
