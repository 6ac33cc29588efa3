"""Ten bugs in the setups of the papers, with a model that knows what it is to answer.

    python bench/setups.py --data DIR --trees FILE --out OUT

`--data` holds bugs in SWE-bench's format (dev.jsonl), `--trees` says where the tree of each is and
which interpreter it wants: a JSON list of objects with instance_id, base, python, pythonpath and
envvars. OUT gets a data set of ten bugs, `envs.json`, and `replies.txt`, a script that stands for
a model: it writes the true test of bugs 0 to 4, one that fails with any fix of 5 to 7, and one
that passes for 8 and 9; and the true fix of 0 to 3 where it is shown a failing test, of 4 and 5
always. So it is known beforehand what a study must find: no more than 8 bugs with a candidate, 5
with a plausible test, and right fixes of at most 6. docs/evaluate.md has commands and tables.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unidiff.patch import PatchSet

from pytest_brt.evaluate.dataset import Instance
from pytest_brt.evaluate.truth import hidden_files

#: The papers' setups.
STUDIES = Path(__file__).parent.parent / "examples/studies"
BUGS = (
    *("pytest-dev__pytest-7373", "pytest-dev__pytest-6116", "pytest-dev__pytest-5692"),
    *("pytest-dev__pytest-5221", "pytest-dev__pytest-8906", "pallets__flask-5063"),
    *("pylint-dev__pylint-7228", "pylint-dev__pylint-7114", "psf__requests-2148"),
    "sphinx-doc__sphinx-7975",
)
#: Numbers of the first bug with a wrong test, with one that passes, and without a right fix.
WRONG, PASSING, UNFIXED = 5, 8, 6
#: From this one on the fix is known without a failing test too.
KNOWN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """A bug as the data set has it."""

    number: int
    row: dict[str, str]
    base: Path

    @property
    def title(self) -> str:
        """The first line of the report, as a regular expression."""
        return re.escape(self.row["problem_statement"].strip().splitlines()[0].strip())

    @property
    def tests(self) -> str:
        """The file of the hidden tests."""
        return str(self.row["FAIL_TO_PASS"][0]).partition("::")[0]

    def test(self) -> str:
        """Return the code that stands for a model's answer."""
        if self.number >= PASSING:
            package = self.row["repo"].rpartition("/")[2]
            return f"import {package}\n\n\ndef test_it():\n    assert {package}.__name__\n"
        wanted = str(self.row["FAIL_TO_PASS"][0]).rpartition("::")[2].partition("[")[0]
        row = self.row
        instance = Instance(
            id="", repo="", issue="", patch=row["patch"], test_patch=row["test_patch"]
        )
        changes, _ = hidden_files(instance, self.base)
        text = next(one.content or b"" for one in changes if one.path == self.tests).decode()
        code = next(
            textwrap.dedent(ast.get_source_segment(text, node, padded=True) or "") + "\n"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef) and node.name == wanted
        )
        code = re.sub(r"\(self(?:, )?", "(", code, count=1)
        return code + "    assert len('') == 1\n" * (self.number >= WRONG)

    def fix(self, *, right: bool) -> tuple[str, str, str]:
        """Return the file, the places and the blocks of the true fix, or of a useless one."""
        (file, *_) = PatchSet(self.row["patch"])
        path = file.path
        if not right:
            return path, "insert 1", "```python\n_UNUSED = None\n```\n"
        places, blocks = [], []
        for hunk in file:
            last = hunk.source_start + hunk.source_length - 1
            places.append(f"replace {hunk.source_start}-{last}")
            blocks.append("```python\n" + "".join(x.value for x in hunk.target_lines()) + "```\n")
        return path, "; ".join(places), "".join(blocks)


def replies(bug: Bug) -> Iterator[tuple[str, str]]:
    """Yield conditions and answers for one bug, the particular before the general."""
    code = f"```python\n{bug.test()}```\n"

    def said(**fields: str) -> str:
        return json.dumps({"thought": "as planned", **fields}) + "\n"

    edit = "You change one pytest file"
    agent, passerine = (
        "You write a pytest test that",
        "You repair bugs in Python projects. You work alone, step",
    )
    yield f"{edit}.*{bug.title}", code
    for who, task in ((agent, "the reported behaviour"), (passerine, "")):
        yield f'{who}.*{bug.title}.*"action": "test"', said(action="finish")
        yield f'{who}.*{bug.title}.*"action": "edit"', said(action="test", path=bug.tests)
        if task:
            yield f"{who}.*{bug.title}", said(action="edit", path=bug.tests, prompt=task)
    for given in (True, False):
        right = (bug.number < KNOWN and given) or KNOWN <= bug.number < UNFIXED
        path, places, blocks = bug.fix(right=right)
        shown = ".*A test that fails because" if given else ""
        task = "as it must be" if right else "as it must not be"
        yield (
            f"{passerine}.*{bug.title}{shown}",
            said(action="edit", path=path, prompt=f"Write it {task}"),
        )
        yield (
            f"You change one Python file.*{bug.title}.*it {task}",
            said(action="change", changes=places) + blocks,
        )
        tests = ".*The first failing test" if given else ".*There is no failing test"
        where = "; ".join(f"{path} {place}" for place in places.split("; "))
        yield (
            f"{bug.title}{tests}.*State: collect",
            said(action="write_fix", changes=where) + blocks,
        )
    yield f"{bug.title}.*State: understand", said(action="express_hypothesis", hypothesis="h")
    yield f"{bug.title}.*State: try", said(action="goal_accomplished")
    yield bug.title, code


def main() -> None:
    """Write the data set, its environments, the script, and the papers' studies of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("data", "trees", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    given = parser.parse_args()
    lines = (given.data / "dev.jsonl").read_text("utf-8").splitlines()
    rows = {row["instance_id"]: row for row in map(json.loads, lines)}
    trees = {tree["instance_id"]: tree for tree in json.loads(given.trees.read_text("utf-8"))}
    script, environments = [], {}
    for number, name in enumerate(BUGS):
        row, tree = rows[name], trees[name]
        bug = Bug(number=number, row=row, base=Path(tree["base"]))
        place = given.out / "bugs" / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "issue.md").write_text(row["problem_statement"], "utf-8")
        (place / "fix.diff").write_text(row["patch"], "utf-8")
        (place / "tests.diff").write_text(row["test_patch"], "utf-8")
        if not (place / "tree").exists():
            shutil.copytree(bug.base, place / "tree", symlinks=True)
        environments[name] = {
            "python": tree["python"],
            "pythonpath": tree["pythonpath"],
            "env": tree["envvars"],
        }
        script += [f"=== always if: (?s){when}\n{text}" for when, text in replies(bug)]
    (given.out / "environments.json").write_text(json.dumps(environments, indent=1), "utf-8")
    for study in STUDIES.glob("*.toml"):
        text = 'environments = "environments.json"\n' + study.read_text("utf-8")
        (given.out / study.name).write_text(text, "utf-8")
    (given.out / "replies.txt").write_text("".join(script), "utf-8")


if __name__ == "__main__":
    main()
