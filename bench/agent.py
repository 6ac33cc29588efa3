"""What the agent costs beside the model's own work.

    python bench/agent.py [0.5b | 1.5b | tiny]

A real bug of `examples/`, with replies from a script that has every kind of mistake, forced
through a model of a true shape with random weights. Says tests run per attempt and where the
time goes. The last line is JSON:

* reeval: tokens that the model evaluated / tokens that were new, where 1.0 is the least;
* outside: share of the wall-clock time spent neither in the model nor in tests.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from measured import Clock, Prompted
from shapes import SHAPES, words, write_llama, write_shape

from pytest_brt.execute.engine import Limits
from pytest_brt.execute.launch import open_sandbox
from pytest_brt.execute.local import LocalEngine
from pytest_brt.execute.subject import find_subject
from pytest_brt.issue.load import load_issue
from pytest_brt.model.base import Completion, Finish, Message, Model, Prompt, Role, Settings
from pytest_brt.model.opening import open_model
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.reproduce.registry import STRATEGIES
from pytest_brt.reproduce.strategy import Workbench

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples/sqlparse-strip-comments"
SCRIPT = ROOT / "tests/acceptance/agent-sqlparse.txt"
CONTEXT = 8192


class Forced(Prompted):
    """A model that says what a script says, and evaluates every token of it."""

    def __init__(self, model: Model, script: Model) -> None:
        super().__init__(model)
        self.script = script
        self._seen: list[tuple[Message, ...]] = []

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Return the script's reply after the model has evaluated it behind the prompt."""
        reply = self.script.complete(prompt)[0].text
        begin = time.perf_counter()
        sampling = replace(prompt.sampling, max_tokens=1)
        done = self.model.complete(replace(prompt, prefill=reply, sampling=sampling, grammar=None))
        seconds = time.perf_counter() - begin
        self.seconds += seconds
        self.evaluated += done[0].evaluated
        self._count(prompt, reply)
        return (replace(done[0], text=reply, finish=Finish.STOP, seconds=seconds),)

    def _count(self, prompt: Prompt, reply: str) -> None:
        """Add the tokens behind the longest beginning that was evaluated before."""
        whole = (*prompt.messages, Message(role=Role.ASSISTANT, text=reply))
        known = max((self._shared(whole, old) for old in self._seen), default=0)
        self._seen.append(whole)
        made = self.model.count(reply)
        self.new += max(0, self.model.count(replace(prompt, prefill="")) + made - known)

    def _shared(self, messages: tuple[Message, ...], others: tuple[Message, ...]) -> int:
        """Return how many tokens two conversations have in common at their beginning."""
        same = 0
        while same < min(len(messages), len(others)) and messages[same] == others[same]:
            same += 1
        tokens = self.model.count(Prompt(messages=messages[:same])) if same else 0
        if same < min(len(messages), len(others)):
            text, other = messages[same].text, others[same].text
            tokens += self.model.count(text[: shared(text, other)])
        return tokens

    def count(self, asked: str | Prompt) -> int:
        """Return the model's count."""
        begin = time.perf_counter()
        found = super().count(asked)
        self.seconds += time.perf_counter() - begin
        return found


def shared(text: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    least = min(len(text), len(other))
    return next((n for n in range(least) if text[n] != other[n]), least)


def unpack(into: Path) -> Path:
    """Unpack the example's project."""
    spec = importlib.util.spec_from_file_location("brt_examples_run", ROOT / "examples/run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    root: Path = module.unpack(EXAMPLE, into)
    return root


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = [*SHAPES, "tiny"]
    parser.add_argument("shape", nargs="?", default="0.5b", choices=known, help="of the weights")
    shape = parser.parse_args().shape
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{shape}.gguf")
        if shape == "tiny":
            write_llama(path, words=words(3000), context=CONTEXT)
        else:
            write_shape(shape, path)
        root = unpack(Path(folder))
        model = open_model(f"gguf:{path}", Settings(context=CONTEXT))
        model.count("load")
        forced = Forced(model, ScriptedModel(str(SCRIPT), Settings()))
        sandbox = open_sandbox("process")
        subject = find_subject(root, python=sys.executable, env={}, sandbox=sandbox)
        opened = LocalEngine(subject, sandbox, limits=Limits())
        engine = Clock(opened)
        bench = Workbench(engine=engine, repeat=2, keep=5, model=forced, say=print)
        begin = time.perf_counter()
        issue = load_issue(str(EXAMPLE / "issue.md"), sys.stdin.buffer)
        made = STRATEGIES["agent"].attempt(issue, 0, bench)
        wall = time.perf_counter() - begin
        model.close()
        opened.close()
    steps = len(made.trajectories[0].steps)
    found = sum(item.judgement.candidate for item in made.tests)
    outside = max(0.0, wall - forced.seconds - engine.seconds) / wall
    print(f"{steps} steps, {found} candidate(s), {engine.tests} tests run in the attempt")
    print(f"{wall:.1f} s: model {forced.seconds:.1f}, tests {engine.seconds:.1f}")
    print(f"{forced.evaluated} tokens evaluated, {forced.new} new")
    reeval = forced.evaluated / max(1, forced.new)
    print(json.dumps({"reeval": round(reeval, 3), "outside": round(outside, 4)}))


if __name__ == "__main__":
    main()
