# /// script
# requires-python = ">=3.11"
# dependencies = ["unidiff"]
# ///
"""Runs pytest-brt on bugs whose fixes are known, as the setups of two papers do.

    study.py SETUP.toml DATA RESULTS [--executor dask:ADDRESS] [--jobs N] [OPTIONS OF PYTEST-BRT]

DATA has bugs.jsonl in SWE-bench's format, and where they are needed repos/OWNER/NAME (clones),
environments.jsonl, and predictions.jsonl (patches of other systems, as SWE-bench takes them); see
README.md. Each command leaves its JSON report in RESULTS/BUG and is not run again while that is
there: an interrupted study goes on. The tool is given the report and the buggy tree; the true fix
and the hidden tests judge afterwards, in further runs of it. tables.py makes tables of the reports.
Paper 1 is on the BRT Agent, paper 2 on RepairAgent: see docs/papers.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unidiff.patch import PatchSet

HERE = Path(__file__).resolve().parent
#: Exit codes of a run that came to its end: yes, no, no patch leads clearly.
ENDED = (0, 1, 7)
#: A report, or a part of one.
Row = dict[str, Any]


class Problem(Exception):
    """Why a bug could not be studied."""


@dataclass(slots=True, kw_only=True)
class Work:
    """What is made of one bug, each report once."""

    bug: Row
    #: Candidate patches, by name.
    patches: Row
    #: The setup, and the folder of the data.
    setup: Row
    data: Path
    #: Its folder in that of the results.
    out: Path
    #: What starts a command, and options of the user's.
    brt: Sequence[str]
    options: Sequence[str]

    def study(self) -> str:
        """Do all stages, and say what went wrong in the first that could not be done."""
        self.write("issue.md", self.bug["problem_statement"])
        self.write("fix.diff", self.bug["patch"])
        problem = ""
        try:
            self.check_out((self.bug["patch"],))  # a fix that does not apply judges nothing
            self.reproduce()
            self.repair()
            self.rank()
        except (Problem, OSError, subprocess.CalledProcessError) as found:
            problem = str(found)
        about = {"repo": self.bug["repo"], "extent": extent_of(self.bug["patch"])}
        self.write("bug.json", json.dumps(about))
        return f"{self.out.name}: {problem or 'done'}"

    def write(self, name: str, text: str) -> str:
        """Write a file, and return its path."""
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", "surrogateescape")
        return str(path)

    def read(self, name: str) -> Row:
        """Return a report that was made, or nothing."""
        path = self.out / f"{name}.json"
        return json.loads(path.read_text("utf-8")) if path.exists() else {}

    # -- one command --

    def report(
        self, name: str, *words: str, diffs: Sequence[str] = (), tests: Row | None = None
    ) -> Row:
        """Return the report of a command, on a tree with `diffs` applied.

        What `tests` has is added to files of the tree, and they are given. Without them ranking is
        by the tests that were made last.
        """
        if not (self.out / f"{name}.json").exists():
            tree = self.check_out(diffs)
            for path, text in {**self.bug.get("files", {}), **(tests or {})}.items():
                file = tree / path
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("a", encoding="utf-8") as opened:
                    opened.write(text)
            given = [f"--tests={tree / path}" for path in tests or ()]
            self.run(name, tree, [*words, *given])
            shutil.rmtree(tree)
        return self.read(name)

    def check_out(self, diffs: Sequence[str]) -> Path:
        """Write the buggy tree with `diffs`, without a history in which the fix could be found."""
        bug, tree = self.bug, self.out / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        left_out = shutil.ignore_patterns(".git", "__pycache__", ".pytest_cache")
        if "tree" in bug:
            shutil.copytree(bug["tree"], tree, symlinks=True, ignore=left_out)
        else:
            clone = str(self.data / "repos" / bug["repo"])
            git(self.out, "clone", "-q", "--shared", "--no-checkout", clone, str(tree))
            git(tree, "checkout", "-q", bug["base_commit"])
            shutil.rmtree(tree / ".git")
        for diff in diffs:
            words = ("apply", "--recount", "--ignore-whitespace", "-")
            git(tree, *words, text=f"{diff.rstrip()}\n")
        return tree

    def run(self, name: str, tree: Path, words: Sequence[str]) -> None:
        """Run a command on the tree; the words that start it are no options."""
        part = self.out / "part"
        shutil.rmtree(part, ignore_errors=True)
        files = [word for word in words if word[0] != "-"]
        own = [
            option.replace("{tree}", str(tree)) for option in self.bug.get("options", ())
        ]
        # Repairs make no tests that others are ranked by, and ask each question for themselves.
        cache = self.out / (f"cache-{name}" if words[0] == "repair" else "cache")
        ours = [
            f"--root={tree}",
            f"--report={part / name}.json",
            f"--override-ini=cache_dir={cache}",
        ]
        # What the study says goes before what the user says.
        line = [
            *self.brt,
            *files,
            *self.options,
            *words[len(files) :],
            *own,
            *ours,
            "--write=no",
        ]
        # strategies.py is there; a run takes the folder that it is started in off the path.
        env = {**os.environ, "PYTHONPATH": str(HERE / "setups")}
        with (self.out / f"{name}.log").open("wb") as log:
            code = subprocess.run(
                line, stdout=log, stderr=log, env=env, check=False
            ).returncode
        if code not in ENDED:
            raise Problem(f"{words[0]} ended with exit code {code}: see {name}.log")
        # Of dialogues there is a file beside the report, which is last of all.
        for file in sorted(part.iterdir(), reverse=True):
            file.replace(self.out / file.name)

    # -- stages --

    def given_away(self) -> Iterator[str]:
        """Yield what the tool is told of the true fix (paper 1, 4.1; paper 2, III-D3)."""
        gives = self.setup.get("gives", "")
        for path, lines in places_of(self.bug["patch"]) if gives else ():
            yield (
                f"--buggy-file={path}:{lines}"
                if "place" in gives
                else f"--buggy-file={path}"
            )
        for file in PatchSet(self.bug["test_patch"]) if "test-file" in gives else ():
            if file.is_modified_file and file.path in self.hidden_files:
                yield f"--test-file={file.path}"

    @property
    def hidden_files(self) -> list[str]:
        """The files of the hidden tests."""
        paths = [
            file.path
            for file in PatchSet(self.bug["test_patch"])
            if not file.is_removed_file
        ]
        return [
            path for path in paths if path.endswith(".py") and "test" in Path(path).name
        ]

    @property
    def made(self) -> dict[str, Row]:
        """The tests that were made, by the files where each stands alone."""
        tests = self.read("tests").get("tests", ())
        return {place_of(test): test for test in tests if test["source"]}

    def reproduce(self) -> None:
        """Have tests made; see what each does with the true fix (paper 1, 2.1 and 5.2.1).

        The true fix is a patch that all of them rank. Where some do not fail on the bug, which says
        nothing of a patch, all are run once more, on the fixed tree.
        """
        if "tests" in self.setup:
            options = (*self.setup["tests"], *self.given_away())
            self.report("tests", "issue", str(self.out / "issue.md"), *options)
        made = {path: test["source"] for path, test in self.made.items()}
        rank = ("rank", str(self.out / "fix.diff"), "--guard=no")
        truth = self.report("judge_truth", *rank, tests=made) if made else {"tests": ()}
        if not all(test["candidate"] for test in truth["tests"]):
            self.report("judge_fixed", *rank, tests=made, diffs=(self.bug["patch"],))

    def repair(self) -> None:
        """Have the bug repaired in each way, and judge it all (paper 1, 5.2.2; paper 2, V-A).

        Where no tests are made, the hidden ones are given; else plausible ones. Paper 1 asks what
        these are worth, on the bugs that have one.
        """
        diffs = () if "tests" in self.setup else (self.bug["test_patch"],)
        for way, words in self.setup.get("ways", {}).items():
            tests, name = self.hidden() if diffs else self.plausible(), f"repair_{way}"
            if tests:
                place = () if "no-place" in way else self.given_away()
                line = (str(self.out / "issue.md"), "-pstrategies", *words, *place)
                given, on = ({}, ()) if way.endswith("report-alone") else (tests, diffs)
                fixes = kept_fixes(
                    self.report(name, "repair", *line, tests=given, diffs=on)
                )
                pool = {f"{fix}-kept": diff for fix, diff in fixes}
                for told in read_lines(self.out / f"{name}.trajectories.jsonl"):
                    for at, step in enumerate(told["steps"], 1):
                        for number, diff in enumerate(step["diffs"]):
                            pool[f"{told['index']:02}-{at:03}-{number:02}"] = diff
                self.judge(name, pool)

    def plausible(self) -> dict[str, str]:
        """Return the candidates that pass with the true fix."""
        made, truth = self.made, self.read("judge_truth")
        passed = passes_of(truth)["fix.diff"] if made else ()
        paths = [test["file"] for test in truth.get("tests", ()) if test["id"] in passed]
        return {path: made[path]["source"] for path in paths if made[path]["candidate"]}

    def hidden(self) -> dict[str, str]:
        """Return the hidden test files, and what takes tests out of each that fail with the fix."""
        found, files = self.judge("hidden", {}), dict.fromkeys(self.hidden_files, "\n")
        for test in found["tests"]:
            if test["candidate"] and test["id"] not in passes_of(found)["fix.diff"]:
                name = test["name"].partition("[")[0].replace("::", ".")
                files[test["file"]] += f"del {name}\n"
        return files

    def rank(self) -> None:
        """Have patches ranked by the tests that were made (paper 1, 5.2.3).

        They are those of the data set, and what repairs wrote that saw no test.
        """
        pool = dict(self.patches)
        for path in self.out.glob("repair_*_report-alone.json"):
            pool |= kept_fixes(self.read(path.stem))
        if pool and any(test["candidate"] for test in self.made.values()):
            self.report("ranking", "rank", self.fill("pool", pool))
            self.judge("pool", pool)

    def judge(self, name: str, pool: Row) -> Row:
        """Return what the hidden tests and existing ones say of patches and of the true fix."""
        words = (
            "rank",
            *([self.fill(f"judge_{name}", pool)] if pool else ()),
            str(self.out / "fix.diff"),
            "--guard=120",
        )
        tests, diffs = dict.fromkeys(self.hidden_files, ""), (self.bug["test_patch"],)
        found = (
            self.report(f"judge_{name}", *words, tests=tests, diffs=diffs) if tests else {}
        )
        if not found or not passes_of(found)["fix.diff"]:
            raise Problem("there is no hidden test here that the true fix mends")
        return found

    def fill(self, name: str, pool: Row) -> str:
        """Write patches to a folder, and return its path."""
        (self.out / name).mkdir(exist_ok=True)
        for patch, diff in pool.items():
            self.write(f"{name}/{patch}.diff", diff)
        return str(self.out / name)


def git(folder: Path, *words: str, text: str = "") -> None:
    """Run git, which takes no repository above the folder for its own."""
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    subprocess.run(["git", *words], cwd=folder, env=env, input=text, check=True, text=True)


def extent_of(diff: str) -> str:
    """Say how far a fix reaches (paper 2, V-A); a line that another replaces is a single one."""
    files = PatchSet(diff)
    if len(files) > 1:
        return "multi-file"
    return "single-line" if files.added <= 1 and files.removed <= 1 else "multi-line"


def places_of(diff: str) -> Iterator[tuple[str, str]]:
    """Yield the lines that a fix changes, file and span; of what it only adds, the line above."""
    for file in PatchSet(diff):
        for hunk in () if file.is_added_file else file:
            lines, above = [], max(hunk.source_start - 1, 1)
            for line in hunk:
                above = line.source_line_no or above
                if not line.is_context:
                    lines.append(above)
            yield file.path, f"{min(lines)}-{max(lines)}"


def passes_of(report: Row) -> dict[str, set[str]]:
    """Return the tests that each patch of a report passes."""
    patches = [patch for ranking in report["rankings"] for patch in ranking["patches"]]
    return {
        patch["name"]: {
            cell["test"] for cell in patch["cells"] if cell["verdict"] == "PASS"
        }
        for patch in patches
    }


def kept_fixes(report: Row) -> Iterator[tuple[str, str]]:
    """Yield the fixes that runs of a repair kept: by run and number."""
    for run in report["repairs"]:
        for number, fix in enumerate(run["fixes"]):
            yield f"{run['index']:02}-{number:02}", fix["diff"]


def place_of(test: Row) -> str:
    """Return where a test stands alone, beside the file that it would be added to."""
    return str(Path(test["file"]).with_name(f"test_brt_{test['id']}.py"))


def read_lines(path: Path) -> list[Row]:
    """Return the objects of a file of JSON lines; none where there is no such file."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.strip()]


def open_executor(spec: str, jobs: int) -> Executor:
    """Return local processes, or the workers of a Dask cluster, which see the same folders."""
    if spec == "local":
        return ThreadPoolExecutor(jobs)
    from distributed import Client

    client: Any = Client
    return client(spec.removeprefix("dask:")).get_executor(pure=False)  # type: ignore[no-any-return]


def main() -> int:
    """Study all bugs; return 1 where one could not be studied."""
    parser = argparse.ArgumentParser(
        description="Run pytest-brt on bugs whose fixes are known."
    )
    for name in ("setup", "data", "results"):
        parser.add_argument(name, type=Path)
    parser.add_argument(
        "--executor", default="local", help="local (default), or dask:ADDRESS"
    )
    parser.add_argument("--jobs", type=int, default=1, help="bugs at a time, of local")
    parser.add_argument("--brt", default="pytest-brt", help="the command")
    given, options = parser.parse_known_args()
    setup = tomllib.loads(given.setup.read_text("utf-8"))
    environments: Row = {}
    for row in read_lines(given.data / "environments.jsonl"):
        environments[row["for"]] = row
    pools: dict[str, Row] = {}
    for row in read_lines(given.data / "predictions.jsonl"):
        pool = pools.setdefault(row["instance_id"], {})
        pool[f"c{len(pool):02}"] = row["model_patch"]
    works = [
        Work(
            bug=bug
            | environments.get(bug["repo"], {})
            | environments.get(bug["instance_id"], {}),
            patches=pools.get(bug["instance_id"], {}),
            setup=setup,
            data=given.data.resolve(),
            out=given.results.resolve() / bug["instance_id"],
            brt=shlex.split(given.brt),
            options=[*setup.get("options", ()), *options],
        )
        for bug in read_lines(given.data / "bugs.jsonl")
    ]
    with open_executor(given.executor, given.jobs) as executor:
        told = list(executor.map(Work.study, works))
    print("\n".join(told))
    return int(any(not line.endswith(": done") for line in told))


if __name__ == "__main__":
    sys.exit(main())
