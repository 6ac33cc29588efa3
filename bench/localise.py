"""How often localisation finds what the true fix changes, and a model is shown it.

Each INDEX is a JSON list, one object per bug report: `instance_id`, `repo`, `issue` (path of the
report), `base` (the tree without the fix), and `python`, `pythonpath` and `envvars` as for
`bench/replay.py`, with which the report's code is run once to see what it calls. It is followed by
its BUGS, JSON Lines with `instance_id` and `patch` (the true fix), which only judge.

Four figures are printed for each set, for each half of the projects (by the first digit of the
SHA-256 of the repository's name, so that one half can be left unseen), and over all:

    first      the likeliest file is one that the fix changes
    two        one of the two likeliest files is
    function   a function that the fix changes is among the suspects
    shown      the --most characters of code that a prompt has room for show a line that the fix
               changes; a line that is added counts as shown when the one before it is

With --tests it is done as `--brt-localise` does, with the failing tests that replay makes of the
report, and reports without one are left out.

Then come the test file chosen (`host`: one that the fix's tests are in), the characters of code and
CPU seconds per report, medians, with the index warm and the report's code already run.
The last line is one JSON object of the figures.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from statistics import median
from tempfile import gettempdir
from typing import Any

from placing import engine_of
from unidiff.patch import PatchSet

from pytest_brt.agent.prompts import Prompts
from pytest_brt.code import database
from pytest_brt.code.index import Index, open_index
from pytest_brt.code.layout import is_product
from pytest_brt.code.passages import FIELDS
from pytest_brt.guard import Guard
from pytest_brt.issue.load import load_issue
from pytest_brt.issue.read import read_report
from pytest_brt.localise import named, quoted, signs
from pytest_brt.localise import places as scoring
from pytest_brt.localise.nearest_tests import nearest_tests
from pytest_brt.localise.places import files_of
from pytest_brt.localise.sign import Key
from pytest_brt.model.base import Prompt, Settings
from pytest_brt.model.opening import open_model
from pytest_brt.observe.functions_run import functions_run
from pytest_brt.observe.watch import watch
from pytest_brt.repair.bug import localise, trusted
from pytest_brt.reproduce.likeliest import likeliest_places
from pytest_brt.reproduce.prompting.context import Hints, gather_hints
from pytest_brt.reproduce.prompting.excerpts import show_suspects
from pytest_brt.reproduce.prompting.fit import Brief
from pytest_brt.reproduce.replay.run import replay
from pytest_brt.types import Issue, Place

#: Tests that are kept of a report.
_KEPT = 5
#: Hexadecimal digits of the first half.
_FIRST_HALF = "01234567"
FIGURES = ("first", "two", "function", "shown", "host")
#: What `--without` leaves out: where its worth stands, and what it is without.
SIGNS: Mapping[str, tuple[Any, str, Any]] = {
    "files": (scoring, "_OF_FILE", 0.0),
    "tracebacks": (quoted, "_TRACEBACK", 0.0),
    "named": (signs, "_NAMED_FILE", 0.0),
    "calls": (signs, "_RAN", 0.0),
    "used": (named, "_USED", 0.0),
    "bases": (named, "_BASE", 0.0),
    "called": (named, "_CALLED", 0.0),
    "modules": (signs, "_MODULE", 0.0),
    "classes": (signs, "_CLASS", 0.0),
    **{field: (database, "FIELDS", {**FIELDS, field: 1.0}) for field in ("name", "doc", "string")},
}


Bug = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What localisation made of one report."""

    first: bool
    two: bool
    function: bool
    shown: bool
    host: bool
    #: Rank of the first changed file and of the first changed function; 0: not among them.
    file_rank: int
    function_rank: int
    #: Characters of code shown.
    size: int
    #: CPU time.
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench; return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", type=Path, nargs="+", metavar="INDEX BUGS")
    parser.add_argument("--half", choices=("A", "B"), help="only this half of the projects")
    parser.add_argument("--most", type=int, default=4_000, help="characters of code shown")
    parser.add_argument("--still", action="store_true", help="run nothing of the reports")
    parser.add_argument("--tests", action="store_true", help="with the failing tests of replay")
    parser.add_argument("--model", help="let this model choose among the suspects")
    parser.add_argument("--without", choices=sorted(SIGNS), help="leave one sign out")
    parser.add_argument("--only", nargs="*", default=[], help="only these reports")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(gettempdir()) / "pytest-brt-bench-index",
        metavar="DIR",
        help="where indexes, and what reports run, are kept (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    if len(options.files) % 2:
        parser.error("each INDEX needs its BUGS")
    if options.without:
        setattr(*SIGNS[options.without])
    groups: dict[str, list[Found]] = {}
    for index, bugs in zip(options.files[::2], options.files[1::2], strict=True):
        lines = map(json.loads, bugs.read_text(encoding="utf-8").splitlines())
        fixes = {line["instance_id"]: line for line in lines}
        for bug in json.loads(index.read_text(encoding="utf-8")):
            name, half = bug["instance_id"], half_of(bug["repo"])
            if options.half not in (None, half) or (options.only and name not in options.only):
                continue
            found = judge(bug, fixes[name], options)
            if found is None:
                continue
            for group in (f"{index.stem} {half}", index.stem, half, "all"):
                groups.setdefault(group, []).append(found)
            print_found(name, found)
    print_table(groups)
    return 0


def half_of(repository: str) -> str:
    """Return the half of the projects that a repository belongs to."""
    digest = hashlib.sha256(repository.encode()).hexdigest()
    return "A" if digest[0] in _FIRST_HALF else "B"


def judge(bug: Bug, fix: Mapping[str, Any], options: argparse.Namespace) -> Found | None:
    """Localise one report and compare with its true fix; None for no test where some are wanted."""
    issue = load_issue(bug["issue"], BytesIO())
    changed = changed_lines(fix["patch"])
    with open_index(Path(bug["base"]), options.cache) as index:
        ran = () if options.still else functions_of(bug, issue, index, options.cache)
    begin = time.process_time()
    with open_index(Path(bug["base"]), options.cache) as index:
        hints = gather_hints(issue, index, ran=ran)
        places, host = hints.suspects, hints.host
        if options.tests:
            places = with_tests(bug, issue, index, ran)
            if not places:
                return None
        if options.model:
            places = choose(places, issue, index, options.model)
            host = nearest_tests(issue, index, places)
        files = files_of(places)
        texts = dict(show_suspects(places, index, options.most, hints.worths))
        seconds = time.process_time() - begin
        functions = {
            (path, name)
            for path, lines in changed.items()
            for line in lines
            for name in functions_at(path, line, index)
        }
        visible = any(
            line in texts.get(path, "")
            for path, numbers in changed.items()
            for line in telling(path, numbers, index)
        )
    file_rank = next((n for n, path in enumerate(files, 1) if path in changed), 0)
    ranks = (n for n, s in enumerate(places, 1) if (s.path, s.function) in functions)
    function_rank = next(ranks, 0)
    return Found(
        first=file_rank == 1,
        two=file_rank in (1, 2),
        function=function_rank > 0,
        shown=visible,
        host=host in {f.source_file.removeprefix("a/") for f in PatchSet(fix["test_patch"])},
        file_rank=file_rank,
        function_rank=function_rank,
        size=sum(map(len, texts.values())),
        seconds=seconds,
    )


def with_tests(bug: Bug, issue: Issue, index: Index, ran: Collection[Key]) -> tuple[Place, ...]:
    """Return the places as `--brt-localise` has them with replay's tests; () without any."""
    engine = engine_of(bug, "base")
    try:
        failing = trusted(replay(issue, engine=engine, keep=_KEPT).tests)
        if not failing:
            return ()
        return localise(issue, engine, index, failing, Guard(engine), ran=ran).places
    finally:
        engine.close()


def choose(places: Sequence[Place], issue: Issue, index: Index, spec: str) -> tuple[Place, ...]:
    """Return `places` as the model `spec` orders them."""
    model = open_model(spec, Settings())
    try:
        brief = Brief(issue=issue, hints=Hints(), prompts=Prompts(), model=model)

        def ask(prompt: Prompt) -> str:
            return model.complete(prompt)[0].text

        return likeliest_places(places, index, brief, ask)
    finally:
        model.close()


def functions_of(bug: Bug, issue: Issue, index: Index, cache: Path) -> frozenset[Key]:
    """Return the functions that the code of a report runs, from `cache` when they are known."""
    known = cache / f"ran-{bug['instance_id']}.json"
    if not known.exists():
        engine = engine_of(bug, "base")
        try:
            ran = functions_run(watch(read_report(issue), engine), index, engine)
        finally:
            engine.close()
        known.write_text(json.dumps(sorted(ran)), encoding="utf-8")
    return frozenset((path, name) for path, name in json.loads(known.read_text(encoding="utf-8")))


def changed_lines(patch: str) -> dict[str, tuple[int, ...]]:
    """Return the lines of the tree without the fix that a fix touches, by file of the product.

    Of lines that are only added it is the one before them.
    """
    found: dict[str, set[int]] = {}
    for file in PatchSet(patch):
        path = file.source_file.removeprefix("a/")
        if not path.endswith(".py") or not is_product(path):
            continue
        for hunk in file:
            before, removed = hunk.source_start - 1, False
            for line in hunk:
                if line.is_removed or (line.is_added and not removed):
                    number = line.source_line_no or max(1, before)
                    found.setdefault(path, set()).add(number)
                removed = line.is_removed or (removed and line.is_added)
                before = line.source_line_no or before
    return {path: tuple(sorted(lines)) for path, lines in found.items()}


def functions_at(path: str, line: int, index: Index) -> Iterator[str]:
    """Yield the names of the innermost definition around a line, and of the functions around it."""
    around = index.definition_at(path, line)
    name = around.qualname if around else ""
    yield name
    known = {d.qualname: d for d in index.definitions_in(path)}
    while "." in name:
        name = name.rpartition(".")[0]
        if name in known and known[name].kind in ("function", "method"):
            yield name


def telling(path: str, numbers: Sequence[int], index: Index) -> Iterator[str]:
    """Yield the texts of some lines, each with the line before it where it is not alone."""
    lines = index.source(path).split("\n")
    for number in numbers:
        text = lines[number - 1]
        if not text.strip():
            continue
        if lines.count(text) > 1 and number > 1:
            text = f"{lines[number - 2]}\n{text}"
        yield text


def print_found(name: str, found: Found) -> None:
    """Print the line of one report."""
    print(
        f"{name:36} file {found.file_rank or '-':>3}  function {found.function_rank or '-':>3}  "
        f"{'shown' if found.shown else '-':5}  {found.size:6}  {found.seconds:5.2f} s",
        flush=True,
    )


def print_table(groups: Mapping[str, Sequence[Found]]) -> None:
    """Print the figures of all groups."""
    print(f"\n{'':12}{'n':>4}" + "".join(f"{name:>10}" for name in FIGURES) + "     code  seconds")
    table: dict[str, dict[str, float]] = {}
    for group, found in sorted(groups.items()):
        row = {name: sum(getattr(f, name) for f in found) / len(found) for name in FIGURES}
        table[group] = {"n": len(found), **{name: round(row[name], 4) for name in FIGURES}}
        size, seconds = median(f.size for f in found), median(f.seconds for f in found)
        shares = "".join(f"{row[name]:10.0%}" for name in FIGURES)
        print(f"{group:12}{len(found):4}{shares}{size:9.0f}{seconds:9.2f}")
    print(json.dumps(table))


if __name__ == "__main__":
    raise SystemExit(main())
