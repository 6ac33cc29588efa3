"""``pytest-brt review``: say which bug tests are right before patches are ranked by them."""

from __future__ import annotations

import argparse
import ast
import os
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_brt.cli.last_run import find_last_run
from pytest_brt.codec import content_id
from pytest_brt.errors import UsageProblem
from pytest_brt.execute.scratch import HeldFolder
from pytest_brt.render.answer import bug_tests, reviewed
from pytest_brt.shown import say
from pytest_brt.store import WRITTEN, LastRun, save_last_run
from pytest_brt.types import JudgedTest, Review

_ASKED = "accept, reject, edit, skip or quit? [a/r/e/s/q] "


def register(commands: Any) -> None:
    """Add the command to `commands`, as `argparse` made it."""
    parser = commands.add_parser(
        "review",
        help="accept, reject or edit the bug tests of the last run",
        description="Show each bug test of the last run, and ask whether it is right. Patches are "
        "then ranked by the tests that you accepted, or, where you accepted none, by those that "
        "you did not reject: 'pytest --rank-fixes PATH'.",
    )
    for option, what in (("--accept", "these tests are right"), ("--reject", "these are wrong")):
        parser.add_argument(
            option, metavar="TEST", nargs="+", default=[], help=f"{what}: T1, T2, … or names"
        )
    parser.add_argument(
        "--root", metavar="DIR", default=".", help="the project (default: this folder)"
    )
    parser.set_defaults(command=_review)


def _review(arguments: argparse.Namespace) -> int:
    _, folder, last = find_last_run(arguments.root, WRITTEN)
    tests = [test for some in bug_tests(last.tests) for test in some]
    if not tests:
        raise UsageProblem("the last run found no bug test: there is nothing to review")
    said = dict.fromkeys(_chosen(arguments.accept, tests), Review.ACCEPTED)
    said |= dict.fromkeys(_chosen(arguments.reject, tests), Review.REJECTED)
    asked = not said and sys.stdin.isatty()
    for number, judged in enumerate(tests):
        if number in said:
            tests[number] = replace(judged, review=said[number])
        else:
            _show(judged, number, whole=asked)
        if asked:
            answer = _ask(judged)
            if answer is None:
                break
            tests[number] = answer
    _keep(folder, last, tests)
    say(f"{reviewed(tests) or 'nothing accepted or rejected'}, of {len(tests)} tests")
    return 0


def _keep(folder: Path, last: LastRun, tests: Sequence[JudgedTest]) -> None:
    rest = (test for test in last.tests if not test.judgement.candidate)
    save_last_run(folder, replace(last, tests=(*tests, *rest)))


def _chosen(names: Sequence[str], tests: Sequence[JudgedTest]) -> list[int]:
    """Return the places of the tests that were named.

    Raises:
        UsageProblem: a name is none of theirs.
    """
    known = {f"T{number + 1}": number for number in range(len(tests))}
    known |= {judged.test.name: number for number, judged in enumerate(tests)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageProblem(f"review: no test {unknown[0]!r} (there are T1 to T{len(tests)})")
    return [known[name] for name in names]


def _show(judged: JudgedTest, number: int, *, whole: bool) -> None:
    test, judgement = judged.test, judged.judgement
    state = "" if judged.review is Review.OPEN else f", {judged.review}"
    say(f"T{number + 1}  {test.name}  ({judgement.confidence:.0%} sure{state})")
    say(textwrap.indent(textwrap.fill(test.oracle.sentence, 96), "    "))
    if judgement.runs:
        say(f"    now: {judgement.runs[0].reason}")
    if whole:
        say(f"\n{textwrap.indent(test.source or '', '    | ')}")


def _ask(judged: JudgedTest) -> JudgedTest | None:
    """Return the test with what the user says about it; None to stop."""
    while True:
        try:
            answer = input(_ASKED).strip().lower()[:1]
        except EOFError:
            answer = "q"
        if answer == "q":
            return None
        if answer == "s":
            return judged
        if answer in ("a", "r"):
            return replace(judged, review=Review.ACCEPTED if answer == "a" else Review.REJECTED)
        if answer == "e":
            try:
                return _edited(judged)
            except UsageProblem as problem:
                say(str(problem), error=True)


def _edited(judged: JudgedTest) -> JudgedTest:
    """Return the test as the user's editor left it, accepted.

    Raises:
        UsageProblem: no editor can be started, or what it left holds no test.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with HeldFolder("pytest-brt-") as folder:
        file = folder / "test_edited.py"
        file.write_text(judged.test.source or "", encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=True)
            source = file.read_text(encoding="utf-8")
            body = ast.parse(source).body
        except (OSError, subprocess.CalledProcessError) as error:
            raise UsageProblem(f"review: {editor!r} did not work: {error} (set EDITOR)") from error
        except (SyntaxError, UnicodeDecodeError) as error:
            raise UsageProblem(f"review: not Python: {error} (edit it again)") from error
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    names = [node.name for node in body if isinstance(node, kinds) and node.name[:4] == "test"]
    if "::" not in judged.test.name and judged.test.name not in names:
        if not names:
            raise UsageProblem("review: no function is called test_… (edit it again)")
        judged = replace(judged, test=replace(judged.test, name=names[0]))
    test = replace(judged.test, source=source, id=content_id(judged.test.path, source))
    return replace(judged, test=test, review=Review.ACCEPTED)
