"""How many tokens the first prompts of libro, invert and the agent have.

    python bench/prompts.py MODEL.gguf [INDEX] [--only PART] [--most N] [--write DIR]

MODEL's tokenizer counts; its weights are not read. Measured are the bugs of `examples/`, and of
INDEX (a JSON list of reports as for `bench/replay.py`) the first N, or those with PART in their
name. Of invert it is the first question. --write keeps the prompts as they would be sent.
The last line is one JSON object: the largest and the median prompt of each strategy.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from pytest_brt.code.index import open_index
from pytest_brt.execute.engine import Engine, Limits
from pytest_brt.execute.launch import open_sandbox
from pytest_brt.execute.local import LocalEngine
from pytest_brt.execute.subject import find_subject
from pytest_brt.issue.load import load_issue
from pytest_brt.model.base import Prompt, Settings
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.reproduce.agent.task import Found, TestTask
from pytest_brt.reproduce.agent.writers import FreeAgent
from pytest_brt.reproduce.invert import plan_prompt
from pytest_brt.reproduce.libro.run import PromptForm, sampling_prompt
from pytest_brt.reproduce.prompting.context import gather_hints
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Issue

ROOT = Path(__file__).resolve().parent.parent
#: Tokens that a chat template puts around a message.
AROUND = 5
KINDS = ("libro", "invert", "agent")


class Counting(ScriptedModel):
    """A model that says nothing, and counts as a real one does."""

    def __init__(self, weights: Path, folder: Path) -> None:
        llama_cpp: Any = importlib.import_module("llama_cpp")
        script = folder / "script.txt"
        script.write_text("=== always\nx", encoding="utf-8")
        super().__init__(str(script), Settings(context=16384))
        self.tokens = llama_cpp.Llama(str(weights), vocab_only=True, verbose=False)

    def count(self, asked: str | Prompt) -> int:
        """Return the tokens of a text, or of a prompt."""
        if isinstance(asked, str):
            return len(self.tokens.tokenize(asked.encode(), add_bos=False))
        parts = [message.text for message in asked.messages] + [asked.prefill]
        return sum(self.count(part) + AROUND for part in parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=Path, metavar="MODEL")
    parser.add_argument("index", type=Path, nargs="?", metavar="INDEX")
    parser.add_argument("--only", action="append", default=[], metavar="PART")
    parser.add_argument("--most", type=int, default=10, metavar="N")
    parser.add_argument("--write", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    sizes: dict[str, list[int]] = {kind: [] for kind in KINDS}
    print(f"{'':40}" + "".join(f"{kind:>8}" for kind in KINDS))
    with tempfile.TemporaryDirectory() as scratch:
        model = Counting(options.model, Path(scratch))
        for name, issue, engine in bugs(options, Path(scratch)):
            found = first_prompts(issue, engine, model)
            engine.close()
            for kind, prompt in found.items():
                sizes[kind].append(model.count(prompt))
                if options.write:
                    options.write.mkdir(parents=True, exist_ok=True)
                    text = "".join(f"=== {m.role}\n{m.text}\n" for m in prompt.messages)
                    (options.write / f"{name}-{kind}.txt").write_text(text, encoding="utf-8")
            print(f"{name:40}" + "".join(f"{sizes[k][-1]:8}" for k in KINDS), flush=True)
    print(json.dumps({k: {"max": max(v), "median": median(v)} for k, v in sizes.items()}))
    return 0


def bugs(options: argparse.Namespace, scratch: Path) -> Iterator[tuple[str, Issue, Engine]]:
    """Yield name, report and engine of each bug."""
    spec = importlib.util.spec_from_file_location("brt_examples_run", ROOT / "examples/run.py")
    assert spec is not None
    assert spec.loader is not None
    run = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = run
    spec.loader.exec_module(run)
    for file in sorted(ROOT.glob("examples/*/example.toml")):
        if not options.only or any(part in file.parent.name for part in options.only):
            tree = run.unpack(file.parent, scratch / file.parent.name)
            yield file.parent.name, *opened(file.parent / "issue.md", tree)
    index = json.loads(options.index.read_text("utf-8")) if options.index else []
    wanted = options.only or [""]
    chosen = [e for e in index if any(part in e["instance_id"] for part in wanted)]
    for entry in chosen[: options.most]:
        paths = ":".join(str(Path(entry["base"], part)) for part in entry["pythonpath"])
        env = {**entry.get("envvars", {}), "PYTHONPATH": paths}
        tree = Path(entry["base"])
        yield entry["instance_id"], *opened(Path(entry["issue"]), tree, entry["python"], env)


def opened(report: Path, tree: Path, python: str | None = None, env: Any = None) -> Any:
    """Return the report and an engine on its tree."""
    with report.open("rb") as stdin:
        issue = load_issue(str(report), stdin)
    sandbox = open_sandbox("auto", project=tree)
    subject = find_subject(tree, python=python, env=env or {}, sandbox=sandbox)
    return issue, LocalEngine(subject, sandbox, limits=Limits(seconds=30))


def first_prompts(issue: Issue, engine: Engine, model: Counting) -> dict[str, Prompt]:
    """Return the first prompt of each strategy, told of all that is found out before."""
    bench = Workbench(engine=engine, repeat=1, keep=5, model=model, say=lambda _: None)
    with open_index(Path(engine.subject.root)) as index:
        hints = gather_hints(issue, index, engine)
        found = Found(hints=hints)
        task = TestTask(
            issue=issue, bench=bench, index=index, hints=hints, strategy="auto-agent", found=found
        )
        asked: dict[str, Any] = {"form": PromptForm.FILES, "samples": 1}
        libro = sampling_prompt(task.brief, index, **asked, facts=True)[0]
        invert = plan_prompt(task.brief, index, 1, ())
        opening = FreeAgent(task).opening(model.context)
        agent = Prompt(messages=opening.messages)
        return {"libro": libro, "invert": invert, "agent": agent}


if __name__ == "__main__":
    sys.exit(main())
