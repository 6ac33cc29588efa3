"""A model in a GGUF file on this machine."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_brt.errors import ModelProblem
from pytest_brt.model.base import Completion, Prompt, Settings
from pytest_brt.model.chat import Template
from pytest_brt.model.gguf import read_header
from pytest_brt.model.host import Host
from pytest_brt.model.llama import INSTALL
from pytest_brt.model.machine import available_bytes
from pytest_brt.model.memory import plan
from pytest_brt.model.wire import Start

#: Texts are counted together up to this many characters per order.
_COUNT_TOGETHER = 1_000_000


class LocalModel:
    """Answers with llama.cpp in a worker process, which starts with the first prompt."""

    exact = True

    def __init__(
        self, host: Host, *, adapter: str = "", thinking: int = 0, notes: tuple[str, ...] = ()
    ) -> None:
        """Use `host`; `thinking` tokens may go before the answer to a weighty question."""
        self.host = host
        self.adapter = adapter
        self.thinking = thinking
        self._notes = notes
        self.context = host.start.longest - thinking
        self.name = Path(host.start.path).name
        if adapter:
            self.name += f"+{Path(adapter).name}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks about the file, the memory, and how the worker had to be started."""
        return (*self._notes, *self.host.notes)

    def remark(self, *texts: str) -> None:
        """Add remarks."""
        self._notes = (*self._notes, *texts)

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Return the answers; a prompt that meets a crash is asked once more, and says so.

        Raises:
            ModelProblem: the model cannot be loaded, the prompt does not fit, its grammar
                cannot be used, or the worker died twice over it.
        """
        if prompt.weighty and not prompt.thinking:
            prompt = replace(prompt, thinking=self.thinking)
        answer, notes = self.host.ask("ask", prompt=prompt, adapter=self.adapter)
        if not notes:
            return answer.completions
        return tuple(replace(done, notes=(*done.notes, *notes)) for done in answer.completions)

    def count(self, texts: Sequence[str]) -> tuple[int, ...]:
        """Return how many tokens each of `texts` has, by the model's own tokenizer."""
        counts: list[int] = []
        part: list[str] = []
        size = 0
        for text in texts:
            if part and size + len(text) > _COUNT_TOGETHER:
                counts += self._count(part)
                part, size = [], 0
            part.append(text)
            size += len(text)
        return (*counts, *self._count(part))

    def _count(self, texts: list[str]) -> tuple[int, ...]:
        if not texts:
            return ()
        answer, _ = self.host.ask("count", texts=tuple(texts), adapter=self.adapter)
        return answer.counts

    def measure(self, prompt: Prompt) -> int:
        """Return how many tokens `prompt` has with the template around it."""
        answer, _ = self.host.ask("measure", prompt=prompt, adapter=self.adapter)
        return answer.counts[0]

    def close(self) -> None:
        """End the worker, for every model that shares it."""
        self.host.close()


def open_gguf(
    path: str, settings: Settings, *, template: str = "", adapter: str = ""
) -> LocalModel:
    """Return the model in the file at `path`, looked at but not loaded yet.

    Raises:
        ModelProblem: the file is no model, has no chat template, or does not fit the memory.
    """
    start, thinking, notes = _start(path, settings, template)
    if adapter:
        read_header(adapter)
        start = replace(start, adapters=(adapter,))
    return LocalModel(Host(start), adapter=adapter, thinking=thinking, notes=notes)


def open_pair(
    path: str, settings: Settings, *, template: str = "", adapters: tuple[str, str]
) -> tuple[LocalModel, LocalModel]:
    """Return one file's model twice, with two adapters ("" for none), in one worker.

    The weights are in memory once; each adapter has a context of its own.
    """
    start, thinking, notes = _start(path, settings, template)
    names = tuple(dict.fromkeys(adapter for adapter in adapters if adapter))
    for name in names:
        read_header(name)
    host = Host(replace(start, adapters=names))
    first, second = (
        LocalModel(host, adapter=adapter, thinking=thinking, notes=notes) for adapter in adapters
    )
    return first, second


def _start(path: str, settings: Settings, template: str) -> tuple[Start, int, tuple[str, ...]]:
    """Return how the worker starts, the tokens that may be thought, and remarks."""
    if importlib.util.find_spec("llama_cpp") is None:
        raise ModelProblem(f"llama-cpp-python is not installed ({INSTALL})")
    header = read_header(path)
    source = template_text(template) if template else header.chat_template
    thinks = Template(source, where=template or path).thinks
    setup = plan(header, settings, available_bytes())
    start = Start(
        path=path,
        template=source,
        cells=setup.cells,
        longest=setup.longest,
        lanes=setup.lanes,
        sequences=setup.sequences,
        batch=setup.batch,
        cache_type=settings.cache_type,
        threads=setup.threads,
        gpu_layers=settings.gpu_layers,
        state_dir=settings.state_dir,
        spare_bytes=setup.spare_bytes,
    )
    # A quarter of a small context is for thoughts at most.
    thinking = min(settings.thinking, setup.longest // 4) if thinks else 0
    return start, thinking, setup.notes


def template_text(path: str) -> str:
    """Return the chat template in the file at `path`.

    Raises:
        ModelProblem: it cannot be read.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ModelProblem(
            f"cannot read the chat template {path!r}: {reason} (name a jinja2 file after "
            "'+template:')"
        ) from error
