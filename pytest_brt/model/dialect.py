"""What servers tell of themselves, how each wants to be asked, and what its refusals mean.

llama-server, Ollama, LM Studio and vLLM all speak OpenAI's chat completions, and differ in how
thinking is switched, which limits they tell, and what they make of a field they do not know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from pytest_brt.errors import ModelProblem
from pytest_brt.model import ollama
from pytest_brt.model.base import Prompt
from pytest_brt.model.chat import Template
from pytest_brt.model.loopback import Loopback, Response
from pytest_brt.model.served import (
    ServedModel,
    ServerKind,
    effort,
    integer,
    messages_of,
    rows,
    table,
)
from pytest_brt.model.thoughts import last_action


def is_told(listed: Response) -> bool:
    """Whether the answer to a question for models is one of a server of models."""
    return listed.status == 503 or isinstance(table(listed.body).get("data"), list)


def read_facts(
    server: Loopback, base: str, listed: Response, chosen: str, seconds: float, wanted: int = 0
) -> ServedModel:
    """Return what a server with its API below `base` tells of the model `chosen`, or its only one.

    It answered `listed` when asked for its models, and has `seconds` for each further question.
    The context `wanted` is what Ollama is going to be asked for, 0 for what is enough.

    Raises:
        ModelProblem: it has several models and none was chosen.
    """
    entries = _entries(listed)
    names = listed_models(listed)
    if len(names) > 1 and not chosen:
        raise ModelProblem(
            f"{server.url!r} has {len(names)} models: {', '.join(names[:8])} "
            f"(choose one: --brt-model server:{server.url}#{names[0]})"
        )
    name = chosen or (names[0] if names else "")
    about = next((entry for entry in entries if entry["id"] == name), {})
    owner = str(about.get("owned_by", "")) if about else listed_owner(listed)
    kind = _kind_of(server, owner, seconds)
    if kind in (ServerKind.LLAMA, ServerKind.OLLAMA, ServerKind.LM_STUDIO):
        _check_has(server, names, name)
    if kind is ServerKind.OLLAMA:
        return ollama.read_model(server, name, seconds, wanted)
    told = ServedModel(kind=kind, model=name, context=_told_in_list(about))
    if kind is ServerKind.LLAMA:
        return _with_props(told, server, base, seconds)
    if kind is ServerKind.LM_STUDIO:
        return replace(told, context=_lm_studio(server, name, seconds))
    return told


def listed_models(listed: Response) -> tuple[str, ...]:
    """Return the names in the answer to a question for models."""
    return tuple(str(entry["id"]) for entry in _entries(listed))


def listed_owner(listed: Response) -> str:
    """Return whom the first of the models belongs to, "" where that is not said."""
    return str(next(iter(_entries(listed)), {}).get("owned_by", ""))


def _entries(listed: Response) -> list[dict[str, Any]]:
    return [row for row in rows(listed.body, "data") if row.get("id")]


def _check_has(server: Loopback, names: Sequence[str], name: str) -> None:
    """Refuse a name that a server which lists all it can load does not list."""
    if name in names or f"{name}:latest" in names:
        return
    known = ", ".join(names[:8]) or "none yet"
    raise ModelProblem(
        f"{server.url!r} has no model called {name!r}: {known} (choose one of these, or download "
        "it there first)"
    )


def _kind_of(server: Loopback, owner: str, seconds: float) -> ServerKind:
    """Return whose server it is; Ollama names the person as owner of what is not its library's."""
    if owner in tuple(ServerKind):
        return ServerKind(owner)
    return ServerKind.OLLAMA if ollama.is_ollama(server, seconds) else ServerKind.OTHER


def _told_in_list(about: Mapping[str, Any]) -> int:
    """Return the context that a list of models tells of one, in any server's words, or 0."""
    told = (
        table(about.get("meta")).get("n_ctx"),
        *(about.get(word) for word in ("max_model_len", "context_length", "context_window")),
    )
    return next((integer(value) for value in told if integer(value) > 0), 0)


#: Variables of templates that drop the thoughts of earlier turns unless they are told not to:
#: Qwen's, GLM's and Nemotron's.
_KEEPING: Mapping[str, bool] = {
    "preserve_thinking": True,
    "clear_thinking": False,
    "truncate_history_thinking": False,
}


def _with_props(told: ServedModel, server: Loopback, base: str, seconds: float) -> ServedModel:
    """Ask llama-server for a slot's context, its slots, and what its template makes of thoughts."""
    props = table(server.ask(f"{base.removesuffix('/v1')}/props", seconds).body)
    slot = integer(table(props.get("default_generation_settings")).get("n_ctx"))
    source = str(props.get("chat_template", ""))
    thinks = False
    with suppress(ModelProblem):
        thinks = Template(source, where=server.url).thinks
    return replace(
        told,
        context=slot or told.context,
        thinks=thinks,
        keeps_thoughts=thinks and any(name in source for name in _KEEPING),
        slots=integer(props.get("total_slots")),
    )


def _lm_studio(server: Loopback, name: str, seconds: float) -> int:
    listed = rows(server.ask("/api/v0/models", seconds).body, "data")
    found = next((row for row in listed if row.get("id") == name), {})
    return integer(found.get("loaded_context_length"))


def request(
    prompt: Prompt, facts: ServedModel, seed: int, count: int, thoughts: Mapping[str, str]
) -> dict[str, object]:
    """Return the fields of a request for `count` answers, after replies with their `thoughts`."""
    sampling, thinking = prompt.sampling, prompt.thinking
    fields: dict[str, object] = {
        **_form(prompt, facts.kind),
        "seed": seed & 0x7FFFFFFF,
        "messages": messages_of(prompt, thoughts, "reasoning_content"),
        "max_tokens": sampling.max_tokens + thinking,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        # Servers have defaults of their own for these.
        "top_k": sampling.top_k,
        "min_p": 0.0,
    }
    if count > 1:
        fields["n"] = count
    if facts.model:
        fields["model"] = facts.model
    if sampling.stop:
        fields["stop"] = list(sampling.stop)[:4]
    fields["chat_template_kwargs"] = {
        "enable_thinking": thinking > 0,
        "thinking": thinking > 0,
        "reasoning_effort": effort(thinking),  # of those that always think
        **(_KEEPING if facts.keeps_thoughts else {}),
    }
    if facts.kind is ServerKind.LM_STUDIO:  # it knows no variables of templates
        fields["reasoning_effort"] = effort(thinking)
    if facts.kind in (ServerKind.LLAMA, ServerKind.OTHER):
        fields["cache_prompt"] = True
    if facts.kind is ServerKind.LLAMA:
        fields["reasoning_budget_tokens"] = thinking
        if prompt.seconds:  # half of it for reading; a connection that is cut loses all answers
            fields["t_max_predict_ms"] = max(1, int(prompt.seconds * 500))
    return fields


def _form(prompt: Prompt, kind: ServerKind) -> dict[str, object]:
    """Return the field that asks for the form of an answer.

    llama-server gets the grammar even where there is a schema: it answers 500 when an answer to a
    schema is cut by its limit.
    """
    grammar = prompt.grammar
    if grammar is None:
        return {}
    if not grammar.schema or kind is ServerKind.LLAMA:
        return {"grammar": grammar.gbnf}
    named = {"name": "reply", "strict": True, "schema": json.loads(grammar.schema)}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


#: Fields that an answer can be had without.
_OPTIONAL = (
    "response_format", "grammar", "chat_template_kwargs", "cache_prompt", "top_k", "min_p", "seed",
    "reasoning_effort", "reasoning_budget_tokens", "n",
)  # fmt: skip
_OVERFLOW = re.compile(
    r"exceed_context_size|context[ _](?:length|size|window)|maximum context|too many tokens|"
    r"prompt is too long",
    re.IGNORECASE,
)


def is_overflow(response: Response) -> bool:
    """Whether a refusal says that the prompt is too long."""
    return response.status in (400, 413, 422, 500) and bool(_OVERFLOW.search(response.text))


def told_context(response: Response) -> int:
    """Return the context that a refusal for length names, or 0."""
    told = integer(table(table(response.body).get("error")).get("n_ctx"))
    found = re.search(r"(?:context (?:length|size|window)\D{0,20})(\d{3,})", response.text)
    return told or (int(found[1]) if found else 0)


def named_field(response: Response, fields: Mapping[str, object]) -> str:
    """Return the optional field that a refusal names, "" when it names none of those sent."""
    if response.status not in (400, 422, 500, 501):
        return ""
    words = set(re.findall(r"\w+", response.text.replace("json_schema", "response_format")))
    return next((name for name in _OPTIONAL if name in fields and name in words), "")


def choices_of(response: Response) -> list[dict[str, Any]]:
    """Return the answers in a response, none when it is no chat completion."""
    choices = rows(response.body, "choices")
    return choices if all(isinstance(c.get("message"), dict) for c in choices) else []


def text_of(content: Any) -> str:
    """Return a message's text, which some servers send in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def called(message: Mapping[str, Any], thinking: str) -> str:
    """Return the action that a model took where its answer has no text, as a JSON header, or "".

    Some servers make a call of a tool of it, and some models act before their thoughts end.
    """
    for call in message.get("tool_calls") or []:
        function = table(table(call).get("function"))
        arguments = function.get("arguments")
        with suppress(ValueError):
            arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        return json.dumps({"action": function.get("name"), **table(arguments)})
    return last_action(thinking)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that a server counted; 0 where it does not say."""

    prompt: int
    made: int
    #: Tokens of the prompt that it had evaluated before.
    known: int


def usage_of(response: Response) -> Usage:
    """Return what a response says of tokens."""
    usage = table(response.body.get("usage"))
    return Usage(
        prompt=integer(usage.get("prompt_tokens")),
        made=integer(usage.get("completion_tokens")),
        known=integer(table(usage.get("prompt_tokens_details")).get("cached_tokens")),
    )
