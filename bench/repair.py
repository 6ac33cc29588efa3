"""What a repair costs beside the model and the tests.

    python bench/repair.py [--runs N]

A made-up project of some size with one bug; a model with random weights that is asked on real
llama.cpp and whose answers are replaced by a script that goes through a whole repair. The last
line is JSON:

* outside: share of a repair's wall time that is spent neither in the model nor in running tests:
  prompts, counting, parsing, searching, applying, comparing. The model is taken to make 20 tokens
  a second, as a small one on a CPU does, and to evaluate prompts in no time;
* variants: wall time of 30 variants of a fix with their failing tests / of 30 pytest processes
  that run the same tests on copies of the tree;
* reeval: tokens evaluated / tokens of lines that the prompt before had not, over the prompts of a
  whole repair.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path

from measured import Clock, Prompted
from shapes import write_llama

from pytest_brt.agent.prompts import Prompts
from pytest_brt.code.index import open_index
from pytest_brt.execute.engine import Engine, Limits
from pytest_brt.execute.launch import open_sandbox
from pytest_brt.execute.local import LocalEngine
from pytest_brt.execute.subject import find_subject
from pytest_brt.guard import Guard
from pytest_brt.issue.load import load_issue
from pytest_brt.model.base import Completion, Finish, Model, Prompt, Settings
from pytest_brt.model.opening import open_model
from pytest_brt.rank.disputes import mark_disputed
from pytest_brt.repair.bench import RepairBench
from pytest_brt.repair.bug import Bug, guard_check, make_bug, trusted
from pytest_brt.repair.fix import EditKind, LineEdit, apply_fix
from pytest_brt.repair.repairagent import run_repairagent
from pytest_brt.reproduce.replay.run import replay
from pytest_brt.types import FileChange

#: Tokens that a small model makes in a second on a CPU.
SPEED = 20.0
VARIANTS = 30
#: Modules of the project, and functions in each.
MODULES, FUNCTIONS = 40, 25
BUGGY = "thing/module_07.py"
REPORT = """\
# scale() of a negative value is not negated back

```python
>>> from thing.module_07 import scale
>>> scale(-4, 2)
8
```

It should give `-8`.
"""
BUG = '''\
def scale(value, factor):
    """Return `value` times `factor`."""
    sign = 1 if value > 0 else 1
    return sign * abs(value) * factor


'''


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; return its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=3, help="repairs (default: 3)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="brt-bench-repair-") as name:
        folder = Path(name)
        root = make_project(folder / "project")
        write_llama(folder / "tiny.gguf", context=32_768)
        model = open_model(f"gguf:{folder}/tiny.gguf", Settings(threads=1))
        sandbox = open_sandbox("auto", project=root)
        subject = find_subject(root, python=None, env={}, sandbox=sandbox)
        engine = LocalEngine(subject, sandbox, limits=Limits(), jobs=2)
        try:
            figures = measure(root, engine, model, options.runs)
        finally:
            engine.close()
            model.close()
    print(json.dumps({key: round(value, 4) for key, value in figures.items()}))
    return 0


def measure(root: Path, engine: Engine, model: Model, runs: int) -> dict[str, float]:
    """Return the figures."""
    bug = open_bug(root, engine)
    bug.places()  # made once for all runs of an issue
    variants = measure_variants(bug)
    outside, reeval = [], []
    for number in range(runs):
        clock = Clock(engine)
        actor = Actor(model=model, replies=script(bug))
        timed = open_bug(root, clock, given=bug)
        begin = time.perf_counter()
        bench = RepairBench(bug=timed, model=actor, variants=VARIANTS, seed=number)
        trajectory = run_repairagent(0, bench).trajectory
        whole = time.perf_counter() - begin
        assert trajectory is not None
        own = whole - clock.seconds - actor.seconds
        paced = actor.tokens / SPEED
        print(
            f"repair {number + 1}: {len(trajectory.steps)} steps, {whole:.2f} s, of them "
            f"{clock.seconds:.2f} in tests, {actor.seconds:.2f} in the model (random weights), "
            f"{own:.2f} in neither; {actor.tokens} tokens made; "
            f"{actor.evaluated} tokens evaluated, {actor.new} new",
            flush=True,
        )
        outside.append(own / (own + clock.seconds + paced))
        reeval.append(actor.evaluated / actor.new)
    return {
        "outside": max(outside),
        "variants": variants,
        "reeval": max(reeval),
    }


def make_project(root: Path) -> Path:
    """Write a package of many modules, one of which has the bug, and its tests."""
    (root / "thing").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "thing/__init__.py").write_text("", encoding="utf-8")
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    for number in range(MODULES):
        body = "".join(
            f"def step_{number:02}_{n:02}(value, other=1):\n"
            f'    """Return the {n}th step of `value`."""\n'
            f"    total = 0\n"
            f"    for part in range({n + 1}):\n"
            f"        total += value * part + other\n"
            f"    return total\n\n\n"
            for n in range(FUNCTIONS)
        )
        name = f"thing/module_{number:02}.py"
        (root / name).write_text((BUG if name == BUGGY else "") + body, encoding="utf-8")
        tests = f"from thing.module_{number:02} import step_{number:02}_00\n\n\n" + "".join(
            f"def test_{number:02}_{n}():\n    assert step_{number:02}_00({n}) == 1\n\n\n"
            for n in range(4)
        )
        if name == BUGGY:
            tests += (
                "from thing.module_07 import scale\n\n\n"
                "def test_scale():\n    assert scale(3, 2) == 6\n"
            )
        (root / f"tests/test_module_{number:02}.py").write_text(tests, encoding="utf-8")
    (root.parent / "report.md").write_text(REPORT, encoding="utf-8")
    return root


def open_bug(root: Path, engine: Engine, given: Bug | None = None) -> Bug:
    """Return the bug; `given` has its failing tests and places already."""
    issue = load_issue(str(root.parent / "report.md"), BytesIO())
    failing = given.failing if given else trusted(replay(issue, engine=engine).tests)
    assert failing, "replay makes a test of the report"
    guard = Guard(engine)
    bug = make_bug(
        issue,
        engine=engine,
        index=given.index if given else open_index(root),
        failing=failing,
        guard=guard,
        check=guard_check(guard, failing, frozenset(), 3.0, mark_disputed),
        hints=frozenset(),
        prompts=Prompts(),
    )
    return bug if given is None else replace(bug, places=given.places)


def measure_variants(bug: Bug) -> float:
    """Return the time of 30 variants / of 30 pytest processes, each on a tree of its own."""
    all_changes = [
        apply_fix(
            (
                LineEdit(
                    path=BUGGY,
                    kind=EditKind.REPLACE,
                    first=3,
                    last=3,
                    lines=(f"    sign = {number} if value > {number} else {number + 2}",),
                ),
            ),
            bug.tree.read,
        )
        for number in range(VARIANTS)
    ]
    begin = time.perf_counter()
    trials = bug.trials.run_all(all_changes)
    ours = time.perf_counter() - begin
    assert len(trials) == VARIANTS
    begin = time.perf_counter()
    for changes in all_changes:
        run_apart(bug, changes)
    theirs = time.perf_counter() - begin
    print(
        f"{VARIANTS} variants with {len(bug.failing)} tests each: {ours:.2f} s; "
        f"{VARIANTS} pytest processes: {theirs:.2f} s",
        flush=True,
    )
    return ours / theirs


def run_apart(bug: Bug, changes: Sequence[FileChange]) -> None:
    """Run the failing tests in a pytest process of their own, on a copy of the tree."""
    with tempfile.TemporaryDirectory(prefix="brt-bench-apart-") as name:
        tree = Path(name, "tree")
        shutil.copytree(bug.tree.root, tree)
        for change in changes:
            (tree / change.path).write_bytes(change.content or b"")
        for judged in bug.failing:
            (tree / judged.test.path).write_text(judged.test.source or "", encoding="utf-8")
        paths = [judged.test.path for judged in bug.failing]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *paths]
        subprocess.run(command, cwd=tree, check=False, capture_output=True)


def script(bug: Bug) -> list[str]:
    """Return the replies of a whole repair, with reads, a bad fix, a worse one and a good one."""

    def say(action: str, block: str = "", **values: object) -> str:
        header = json.dumps({"thought": f"I use {action}.", "action": action, **values})
        return header + (f"\n```python\n{block}\n```" if block else "")

    change = {"changes": f"{BUGGY} replace 3"}
    return [
        say("extract_tests", name=""),
        say("run_fault_localization"),
        say("read_range", path=BUGGY, first=1, last=60),
        say("express_hypothesis", hypothesis="the sign is 1 either way"),
        say("search_code_base", keywords="scale sign"),
        say("find_similar_api_calls", name="scale", path=""),
        say("get_classes_and_methods", path=BUGGY),
        say("extract_method", path=BUGGY, name="scale"),
        say("write_fix", "    sign = 1 if value > 0 else", **change),
        say("write_fix", "    sign = 0 if value > 0 else 2", **change),
        say("collect_more_information"),
        say("read_range", path=BUGGY, first=2, last=4),
        say("write_fix", "    sign = 1 if value > 0 else -1", **change),
        say("goal_accomplished", reason=bug.failing[0].test.name),
    ]


class Actor(Prompted):
    """Asks a real model, whose memory then holds the prompt, and answers from a script."""

    def __init__(self, model: Model, replies: Sequence[str]) -> None:
        super().__init__(model)
        #: Tokens of the answers.
        self.tokens = 0
        self._replies = list(replies)
        self._before = ""

    def complete(self, prompt: Prompt) -> tuple[Completion, ...]:
        """Let the model evaluate the prompt and make one token; answer what the script says."""
        begin = time.perf_counter()
        one = replace(
            prompt, samples=1, grammar=None, sampling=replace(prompt.sampling, max_tokens=1)
        )
        (real,) = self.model.complete(one)
        text = prompt.messages[-1].text
        if prompt.purpose == "repairagent":
            fresh = fresh_lines(self._before, text)
            system = "" if self._before else prompt.messages[0].text
            self.new += self.model.count(system) + self.model.count(fresh)
            self.evaluated += real.evaluated
            self._before = text
        replies = [self._reply(prompt, number) for number in range(prompt.samples)]
        # The tiny vocabulary has three tokens where a real one has about one.
        self.tokens += sum(self.model.count(reply.text) for reply in replies) // 3
        self.seconds += time.perf_counter() - begin
        return tuple(replies)

    def _reply(self, prompt: Prompt, number: int) -> Completion:
        text = (
            f'{{"thought": "v", "action": "write_fix", "changes": "{BUGGY} replace 3"}}\n'
            f"```python\n    sign = {number} if value > 1 else {number + 2}\n```"
            if prompt.purpose == "variants"
            else self._replies.pop(0)
        )
        return Completion(text=text, finish=Finish.STOP)


def fresh_lines(before: str, now: str) -> str:
    """Return the lines of a prompt that the one before it had not."""
    known = Counter(before.splitlines())
    fresh = []
    for line in now.splitlines():
        if known[line]:
            known[line] -= 1
        else:
            fresh.append(line)
    return "\n".join(fresh)


if __name__ == "__main__":
    raise SystemExit(main())
