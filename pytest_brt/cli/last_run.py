"""``pytest-brt review`` and ``diff``: what the last run in a project left, looked at again.

``review`` says which bug tests are right before patches are ranked by them; ``diff A B`` how two
patches of the last ranking differ, in text and in behaviour.
"""

from __future__ import annotations

import argparse
import ast
import os
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path

from pytest_brt.answers import bug_tests
from pytest_brt.code.ini import cache_dir_of
from pytest_brt.codec import content_id
from pytest_brt.errors import UsageProblem
from pytest_brt.execute.scratch import HeldFolder
from pytest_brt.patches import apply_patch
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.render.answer import count, reviewed
from pytest_brt.render.causes import cause_words, run_words
from pytest_brt.render.disputes import dispute_sentence
from pytest_brt.shown import say
from pytest_brt.store import RANKED, WRITTEN, LastRun, load_last_run, save_last_run
from pytest_brt.types import Dispute, JudgedTest, Patch, PatchResult, Rank, Review, Verdict


def find_last_run(root: str, name: str, *others: str) -> tuple[Path, Path, LastRun]:
    """Return the project at `root` or above it, its folder of what was kept, and that as `name`.

    It is the first folder in which `name` is kept, or one of the `others`.

    Raises:
        UsageProblem: nothing was kept.
        StoreProblem: it cannot be read.
    """
    start = Path(root).resolve()
    for folder in (start, *start.parents):
        kept = cache_dir_of(folder) / "d/brt"
        if any((kept / one).is_file() for one in (name, *others)):
            return folder, kept, load_last_run(kept, name)
    raise UsageProblem(
        f"no earlier run is kept in {str(start)!r} (run 'pytest-brt issue FILE' there, with "
        "'--rank PATH' to rank patches)"
    )


_WHICH = "is this existing test right? accept, reject, skip or quit? [a/r/s/q] "
_ASKED = "accept, reject, edit, skip or quit? [a/r/e/s/q] "


def set_up(parser: argparse.ArgumentParser) -> None:
    """Say what the two commands take."""
    if parser.get_default("typed") == "diff":
        parser.description = (
            "Show how the code differs after one patch and after the other, and which bug "
            "tests and existing tests did not do the same on both. Nothing is run again. "
            "Exit code 0: no test tells them apart; 1: some do."
        )
        which = "a patch, as the ranking calls it; without .diff"
        parser.add_argument("one", metavar="A", help=which)
        parser.add_argument("other", metavar="B", help="another patch")
        parser.set_defaults(command=_diff)
        return
    parser.description = (
        "Show each bug test of the last run, and ask whether it is right. Patches are "
        "then ranked by the tests that you accepted, or, where you accepted none, by those that "
        "you did not reject: 'pytest --rank-fixes PATH'. Existing tests that are in dispute are "
        "shown, too: one that you accept counts against the patches that break it."
    )
    for option, what in (("--accept", "these tests are right"), ("--reject", "these are wrong")):
        parser.add_argument(
            option,
            metavar="TEST",
            nargs="+",
            default=[],
            help=f"{what}: T1, T2, … or names; E1, E2, … are existing tests in dispute",
        )
    parser.set_defaults(command=_review)


def _review(arguments: argparse.Namespace) -> None:
    _, folder, last = find_last_run(arguments.root, WRITTEN, RANKED)
    tests = [test for some in bug_tests(last.tests) for test in some]
    disputes = load_last_run(folder, RANKED).disputes
    if not tests and not disputes:
        raise UsageProblem("the last run found no bug test: there is nothing to review")
    named = _named_tests(tests, disputes)
    accepted, rejected = _chosen(arguments.accept, named), _chosen(arguments.reject, named)
    said = dict.fromkeys((n for n in accepted if isinstance(n, int)), Review.ACCEPTED)
    said |= dict.fromkeys((n for n in rejected if isinstance(n, int)), Review.REJECTED)
    ruled = dict.fromkeys((name for name in accepted if isinstance(name, str)), True)
    ruled |= dict.fromkeys((name for name in rejected if isinstance(name, str)), False)
    asked = not said and not ruled and sys.stdin.isatty()
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
    ruled |= _ruled(disputes, ruled, asked=asked)
    rest = (test for test in last.tests if not test.judgement.candidate)
    save_last_run(folder, replace(last, tests=(*tests, *rest), ruled={**last.ruled, **ruled}))
    for existing, is_right in ruled.items():
        say(f"{existing}: you said that it is {'right' if is_right else 'wrong'}")
    say(f"{reviewed(tests) or 'you accepted and rejected none'}, of {count(len(tests), 'test')}")


def _named_tests(tests: Sequence[JudgedTest], disputes: Sequence[Dispute]) -> dict[str, int | str]:
    """Return what can be named: bug tests by their place, existing tests in dispute by theirs."""
    known: dict[str, int | str] = {judged.test.name: n for n, judged in enumerate(tests)}
    known |= {f"T{number + 1}": number for number in range(len(tests))}
    for number, dispute in enumerate(disputes):
        known |= {f"E{number + 1}": dispute.existing, dispute.existing: dispute.existing}
    return known


def _chosen(names: Sequence[str], known: Mapping[str, int | str]) -> list[int | str]:
    """Return the tests that were named."""
    unknown = [name for name in names if name not in known]
    if unknown:
        short = [name for name in known if name[:1] in "TE" and name[1:].isdigit()]
        raise UsageProblem(f"review: no test {unknown[0]!r} (there are {', '.join(short)})")
    return [known[name] for name in names]


def _ruled(
    disputes: Sequence[Dispute], ruled: Mapping[str, bool], *, asked: bool
) -> dict[str, bool]:
    """Show existing tests in dispute, and return what the user says of them where asked."""
    found: dict[str, bool] = {}
    for number, dispute in enumerate(disputes):
        if dispute.existing in ruled:
            continue
        say(f"E{number + 1}  {dispute_sentence(dispute)}")
        answer = _answer(_WHICH) if asked else "s"
        if answer == "q":
            break
        if answer in ("a", "r"):
            found[dispute.existing] = answer == "a"
    return found


def _answer(question: str) -> str:
    """Return the first letter of what the user answers; "q" at the end of the input."""
    try:
        return input(question).strip().lower()[:1]
    except EOFError:
        return "q"


def _show(judged: JudgedTest, number: int, *, whole: bool) -> None:
    test, judgement = judged.test, judged.judgement
    state = "" if judged.review is Review.OPEN else f", {judged.review}"
    say(f"T{number + 1}  {test.name}  ({judgement.confidence:.0%} sure{state})")
    say(textwrap.indent(textwrap.fill(test.oracle.sentence, 96), "    "))
    if judgement.runs:
        say(f"    now: {run_words(judgement.runs[0])}")
    if whole:
        say(f"\n{textwrap.indent(test.source or '', '    | ')}")


def _ask(judged: JudgedTest) -> JudgedTest | None:
    """Return the test with what the user says about it; None to stop."""
    while True:
        answer = _answer(_ASKED)
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
    """Return the test as the user's editor left it, accepted."""
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


def _diff(arguments: argparse.Namespace) -> int:
    root, _, last = find_last_run(arguments.root, RANKED)
    one, other = (_named(name, last).result for name in (arguments.one, arguments.other))
    for line in _text(one.patch, other.patch, root):
        say(line)
    told = list(_told_apart(one, other, {kept.test.id: kept.test.name for kept in last.tests}))
    say(f"\n{'These tests tell them apart:' if told else _alike(one, other)}")
    for test, first, second in told:
        say(f"  {test}\n    {one.patch.name} {first}\n    {other.patch.name} {second}")
    return 1 if told else 0


def _named(name: str, last: LastRun) -> Rank:
    """Return the one patch of the ranking that is called so, with or without its ending."""
    names = {rank.name: rank for rank in last.ranks}
    found = [rank for full, rank in names.items() if name in (full, full.rpartition(".")[0])]
    if len(found) != 1:
        raise UsageProblem(
            f"diff: the last ranking has no patch {name!r} (it has: {', '.join(names) or 'none'})"
        )
    return found[0]


def _text(one: Patch, other: Patch, root: Path) -> Iterator[str]:
    """Yield the difference between the files that both patches make."""
    try:
        made = [
            {change.path: change.content for change in apply_patch(patch, root).changes}
            for patch in (one, other)
        ]
    except PatchProblem as problem:
        yield f"not compared as text: {problem}"
        return
    paths = sorted({path for files in made for path in files})
    if all(_lines(made[0], path, root) == _lines(made[1], path, root) for path in paths):
        yield "They change the code in the same way."
    for path in paths:
        before, after = (_lines(files, path, root) for files in made)
        first, second = (f"{path} ({patch.name})" for patch in (one, other))
        yield from unified_diff(before, after, first, second, lineterm="")


def _lines(files: dict[str, bytes | None], path: str, root: Path) -> list[str]:
    file = root / path
    content = files[path] if path in files else file.read_bytes() if file.is_file() else None
    return (content or b"").decode("utf-8", "replace").splitlines()


def _told_apart(
    one: PatchResult, other: PatchResult, names: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    """Yield each test that did not do the same on both trees, and in words what it did on each."""
    unknown = ((Verdict.INVALID, "could not run it"), (Verdict.PASS, "does not break it"))
    for first, second, missing in zip(_did(one), _did(other), unknown, strict=True):
        for test in dict.fromkeys((*first, *second)):
            (was, said), (is_now, says) = first.get(test, missing), second.get(test, missing)
            if was is not is_now:
                yield names.get(test, test), said, says


def _did(row: PatchResult) -> tuple[dict[str, tuple[Verdict, str]], ...]:
    """Return what the bug tests did on a patched tree, and the existing tests that broke there."""
    words = {Verdict.PASS: "passes it", Verdict.INVALID: "could not run it"}
    broken = (*row.guarded.regressions, *row.guarded.disputed) if row.guarded else ()
    return (
        {
            cell.test: (cell.verdict, words.get(cell.verdict, f"fails it: {run_words(cell)}"))
            for cell in row.cells
        },
        {
            one.test: (Verdict.FAIL, f"breaks it: {cause_words(one.cause, one.raised)}")
            for one in broken
        },
    )


def _alike(one: PatchResult, other: PatchResult) -> str:
    ran = [row.guarded.ran for row in (one, other) if row.guarded]
    existing = f" and {count(min(ran), 'existing test')}" if ran else ""
    tests = count(len(one.cells), "bug test")
    return f"No test tells them apart: {tests}{existing} ran on both."
