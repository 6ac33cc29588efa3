"""The real bugs of examples/, opened for strategies, with replies from a script."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pytest_brt.execute.engine import Engine, Row, target_of
from pytest_brt.issue.load import read_issue
from pytest_brt.model.base import Model, Settings
from pytest_brt.model.scripted import ScriptedModel
from pytest_brt.patches import apply_patch
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Issue, JudgedTest, Patch
from tests.acceptance.examples import EXAMPLES, unpack
from tests.support.projects import open_on


def open_example(name: str, into: Path) -> Engine:
    """Return an engine on a fresh tree of the example called `name`."""
    tree = unpack(EXAMPLES / name, into)
    return open_on(tree, seconds=20)


def issue_of(name: str) -> Issue:
    """Return the report of an example."""
    return read_issue((EXAMPLES / name / "issue.md").read_text("utf-8"), "issue.md")


def verdicts_with(name: str, fix: str, engine: Engine, tests: Sequence[JudgedTest]) -> set[str]:
    """Return what tests do once the patch called `fix` is applied."""
    text = (EXAMPLES / name / "patches" / fix).read_text("utf-8")
    applied = apply_patch(Patch(id=fix, name=fix, text=text), Path(engine.subject.root))
    targets = tuple(target_of(item.test) for item in tests)
    runs = engine.run(Row(changes=applied.changes, targets=targets)).runs
    return {str(run.verdict) for run in runs}


def scripted(folder: Path, text: str) -> Model:
    """Return a model that answers what `text` says."""
    path = folder / "replies.txt"
    path.write_text(text, encoding="utf-8")
    return ScriptedModel(str(path), Settings())


def judge_says(answer: str, quote: str) -> str:
    """Return the part of a script that answers the judge's questions with words of the report."""
    words = quote if answer == "yes" else "none"
    every = json.dumps({f"words_{number}": words for number in range(1, 5)})
    return (
        '=== always if: Somebody else fixes\n{"fix": "none", "passes": "yes"}\n'
        f"=== always if: You check whether a pytest test\n{every}\n"
    )


def bench_for(engine: Engine, model: Model, said: list[str] | None = None) -> Workbench:
    """Return a workbench that keeps what is said in `said`."""
    say = (lambda _: None) if said is None else said.append
    return Workbench(engine=engine, repeat=1, keep=5, model=model, say=say)


REPORT = """\
# double() adds one

I think `double` is wrong:

```python
>>> from pkg import double
>>> double(2)
5
```

I expected 4. With zero it is wrong, too.
"""


ISSUE = read_issue(REPORT, "issue.md")
