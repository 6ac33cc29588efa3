"""What servers tell of themselves, how each wants to be asked, and what its refusals mean.

llama-server, Ollama, LM Studio and vLLM all speak OpenAI's chat completions, and differ in how
thinking is switched, which limits they tell, and what they make of a field they do not know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Prompt
from pytest_brt.model.chat import Template
from pytest_brt.model.loopback import Loopback, Response


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
    #: Most answers that one request may ask for; 0 where that is not known.
    slots: int = 0


def is_told(listed: Response) -> bool:
    """Whether the answer to a question for models is one of a server of models."""
    return listed.status == 503 or isinstance(_table(listed.body).get("data"), list)


def read_facts(
    server: Loopback, base: str, listed: Response, chosen: str, seconds: float
) -> ServedModel:
    """Return what a server with its API below `base` tells of the model `chosen`, or its only one.

    It answered `listed` when asked for its models, and has `seconds` for each further question.

    Raises:
        ModelProblem: it has several models and none was chosen.
    """
    data = _table(listed.body).get("data") or []
    entries = [m for m in data if isinstance(m, dict) and m.get("id")]
    names = [str(entry["id"]) for entry in entries]
    if len(names) > 1 and not chosen:
        raise ModelProblem(
            f"{server.url!r} has {len(names)} models: {', '.join(names[:8])} "
            f"(choose one: --brt-model server:{server.url}#{names[0]})"
        )
    name = chosen or (names[0] if names else "")
    about = next((entry for entry in entries if entry["id"] == name), {})
    owner = str(about.get("owned_by", ""))
    kind = ServerKind(owner) if owner in tuple(ServerKind) else ServerKind.OTHER
    context, thinks, slots = _integer(about.get("max_model_len")), False, 0
    if kind is ServerKind.LLAMA:
        context = _integer((about.get("meta") or {}).get("n_ctx"))
        context, thinks, slots = _props(server, base, context, seconds)
    elif kind is ServerKind.OLLAMA:
        context, thinks = _ollama(server, name, seconds)
    elif kind is ServerKind.LM_STUDIO:
        context = _lm_studio(server, name, seconds)
    return ServedModel(kind=kind, model=name, context=context, thinks=thinks, slots=slots)


def _props(server: Loopback, base: str, context: int, seconds: float) -> tuple[int, bool, int]:
    """Ask llama-server for a slot's context, whether its template lets it think, and its slots."""
    props = _get(server, f"{base.removesuffix('/v1')}/props", seconds)
    slot = _integer((props.get("default_generation_settings") or {}).get("n_ctx"))
    thinks = False
    with suppress(ModelProblem):
        thinks = Template(str(props.get("chat_template", "")), where=server.url).thinks
    return slot or context, thinks, _integer(props.get("total_slots"))


def _ollama(server: Loopback, name: str, seconds: float) -> tuple[int, bool]:
    """Ask Ollama what a loaded model has, else what its file says; it has no other limit."""
    shown = _table(server.ask("/api/show", seconds, {"model": name}).body)
    thinks = "thinking" in (shown.get("capabilities") or [])
    for entry in _get(server, "/api/ps", seconds).get("models") or []:
        if entry.get("name") == name or entry.get("model") == name:
            return _integer(entry.get("context_length")), thinks
    found = re.search(r"^num_ctx\s+(\d+)", str(shown.get("parameters", "")), re.MULTILINE)
    return (int(found[1]) if found else 0), thinks


def _lm_studio(server: Loopback, name: str, seconds: float) -> int:
    for entry in _get(server, "/api/v0/models", seconds).get("data") or []:
        if entry.get("id") == name:
            return _integer(entry.get("loaded_context_length"))
    return 0


def _get(server: Loopback, path: str, seconds: float) -> dict[str, Any]:
    return _table(server.ask(path, seconds).body)


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0


def request(prompt: Prompt, facts: ServedModel, seed: int, count: int) -> dict[str, object]:
    """Return the fields of a request for `count` answers."""
    sampling, thinking = prompt.sampling, prompt.thinking
    fields: dict[str, object] = {
        **_form(prompt, facts.kind),
        "seed": seed & 0x7FFFFFFF,
        "messages": [{"role": str(m.role), "content": m.text} for m in prompt.messages],
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
    if facts.kind is ServerKind.OLLAMA:  # it knows no variables of templates
        fields["reasoning_effort"] = "low" if thinking else "none"
        return fields
    fields["chat_template_kwargs"] = {"enable_thinking": thinking > 0, "thinking": thinking > 0}
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
    told = _integer(_table(_table(response.body).get("error")).get("n_ctx"))
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
    found = _table(response.body).get("choices")
    choices = found if isinstance(found, list) else []
    whole = all(isinstance(c, dict) and isinstance(c.get("message"), dict) for c in choices)
    return choices if whole else []


def text_of(content: Any) -> str:
    """Return a message's text, which some servers send in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def usage_of(response: Response) -> tuple[int, int, int]:
    """Return the tokens of the prompt, those made, and those it knew; 0 where it does not say."""
    usage = _table(response.body.get("usage"))
    known = _table(usage.get("prompt_tokens_details"))
    found = (usage.get("prompt_tokens"), usage.get("completion_tokens"), known.get("cached_tokens"))
    asked, made, cached = map(_integer, found)
    return asked, made, cached
