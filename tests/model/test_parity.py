"""What we make of a chat template against what llama.cpp's own server makes of it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from pytest_brt.model import rendering
from pytest_brt.model.base import Message, Role
from pytest_brt.model.chat import Begins, Template
from tests.support import real
from tests.support.real import needs_server

S, U, A = Role.SYSTEM, Role.USER, Role.ASSISTANT
TALKS: tuple[tuple[tuple[Role, str], ...], ...] = (
    ((S, "Be brief."), (U, "Hi there")),
    ((U, "One"), (A, "Two"), (U, "Three")),
    ((S, "Sys"), (U, "One"), (A, "Two"), (U, "Three")),
)
BUDGET = 512
#: What we put after llama.cpp's prompt when no thoughts are wanted: these templates begin them
#: whatever they are told, and llama.cpp leaves it at that. An answer is what was asked for.
ENDED = {
    "Cohere2MoE": "\n<|END_THINKING|>",
    "MiniMax-M2": "\n</think>\n\n",
    "NVIDIA-Nemotron-Nano-v2": "\n</think>\n\n",
    "StepFun3.5-Flash": "\n</think>\n\n",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": "\n</think>\n\n",
    "llama-cpp-deepseek-r1": "\n</think>\n\n",
    # Channels: the one of answers, or a small model may open any other.
    "openai-gpt-oss-120b": "<|channel|>final<|message|>",
}
#: What we put after it when thoughts are wanted, and the template leaves their beginning to the
#: model: what stands in a budget must begin somewhere.
BEGUN = {
    "Apertus-8B-Instruct": "<|inner_prefix|>\n",
    "ByteDance-Seed-OSS": "<seed:think>\n",
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": "<|START_THINKING|>\n",
    "GLM-4.6": "<think>\n",
    "HuggingFaceTB-SmolLM3-3B": "<think>\n",
    "Qwen-Qwen3-0.6B": "<think>\n",
    "google-gemma-4-31B-it": "<|channel>thought\n",
    "google-gemma-4-31B-it-interleaved": "<|channel>thought\n",
    "ibm-granite-granite-3.3-2B-Instruct": "<think>\n",
    "openai-gpt-oss-120b": "<|channel|>analysis<|message|>",
}


def theirs(address: str, talk: Sequence[tuple[Role, str]], thinking: int) -> str:
    body = {
        "messages": [{"role": str(role), "content": text} for role, text in talk],
        "chat_template_kwargs": {
            "enable_thinking": thinking > 0,
            "thinking": thinking > 0,
            "thinking_budget": thinking,
        },
    }
    request = urllib.request.Request(
        f"{address}/apply-template", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        prompt: str = json.loads(answer.read())["prompt"]
    return prompt


#: Starts a server for each template that a line of stdin holds, and tells its address. None is
#: ever ended but with the process: one that is may wait for its own listening thread for good.
SERVE = """
import json
import sys

import xllamacpp

servers = []
for line in sys.stdin:
    params = xllamacpp.CommonParams()
    params.model.path, params.chat_template = sys.argv[1], json.loads(line)
    params.n_ctx, params.n_parallel, params.port = 512, 1, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = params.fit_params = False
    params.verbosity = -1
    servers.append(xllamacpp.Server(params))
    print(servers[-1].listening_address, flush=True)
"""


@pytest.fixture
def serve(weights: Path) -> Iterator[Callable[[str], str]]:
    """Start a server of llama.cpp for a template, and return its address."""
    command = [sys.executable, "-c", SERVE, str(weights / "llama.gguf")]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, told = process.stdin, process.stdout

        def address_for(template: str) -> str:
            asked.write(json.dumps(template) + "\n")
            asked.flush()
            return told.readline().strip()

        yield address_for
        process.kill()


@needs_server
@pytest.mark.long
def test_every_template_of_llama_cpp_is_rendered_as_llama_cpp_does(
    serve: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The differences are those listed above, and no others."""
    # llama.cpp prints today; we always the same day, or no prompt could be kept. Templates are
    # rendered in a process of their own, which is started from this file.
    ours = Path(rendering.__file__).read_text(encoding="utf-8")
    fixed, now = "datetime.datetime(2026, 1, 1)", "datetime.datetime.now()"
    assert ours.count(fixed) == 1
    (tmp_path / "rendering.py").write_text(ours.replace(fixed, now), encoding="utf-8")
    monkeypatch.setattr(rendering, "__file__", str(tmp_path / "rendering.py"))
    ended: dict[str, str] = {}
    begun: dict[str, str] = {}
    other = []
    paths = real.templates()
    assert len(paths) == 70
    for path in paths:
        source = path.read_text(encoding="utf-8")
        template = Template(source, where=path.name, bos="<|endoftext|>", eos="<|im_end|>")
        address = serve(source)
        for talk in TALKS:
            messages = [Message(role=role, text=text) for role, text in talk]
            for thinking, found in ((0, ended), (BUDGET, begun)):
                want = theirs(address, talk, thinking)
                made = template.render(messages, thinking=thinking)
                text = "".join(segment.text for segment in made.segments)
                if not text.startswith(want):
                    other.append((path.stem, thinking, text, want))
                elif more := text.removeprefix(want):
                    found[path.stem] = more
                if made.begins is Begins.THOUGHTS:
                    assert thinking
                    assert made.marks is not None
                    assert text.rstrip().endswith(made.marks.open)
    assert other == []
    assert ended == ENDED
    assert begun == BEGUN
