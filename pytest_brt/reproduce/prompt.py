"""What every prompt says of a report: what its code does here, where the bug may be, what works."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from pytest_brt.agents.prompts import cut, render, report_text
from pytest_brt.errors import Overflowed
from pytest_brt.localise.suspects import find_suspects, nearest_test_file, product_frames
from pytest_brt.model.model import Model
from pytest_brt.model.request import Message, Request, estimate
from pytest_brt.observe.run_snippets import Observation, ObservedReport
from pytest_brt.project.definitions import Definition
from pytest_brt.project.imports import project_imports
from pytest_brt.project.index import Index
from pytest_brt.pysource.parse import IMPORTS
from pytest_brt.report.tracebacks import read_tracebacks
from pytest_brt.reproduce.strategy import Workbench
from pytest_brt.types import Issue, Place
from pytest_brt.types.note import value

#: Statements whose results are told.
_STATEMENTS = 12
#: Frames of the project that tracebacks end in, places whose code is shown, imports.
_FRAMES, _PLACES, _IMPORTS = 6, 12, 14
#: Characters of code and of tests that are shown, at most.
CODE, _TESTS = 10_000, 3_500
#: What a prompt does without where it is too long, in this order.
_PARTS = ("host", "imports", "session")
#: A file's name: the words in it name nothing that could be imported.
_FILE = re.compile(r"[\w./\\-]*\.py\b")
#: Exceptions that say how a statement was run, not how the project is.
_OURS = ("NameError", "ModuleNotFoundError")
#: Statements that show nothing.
_SILENT = (*IMPORTS, "def ", "async def ", "class ", "@")
#: Where lines are left out.
GAP = "# …"
#: Lines around one that a traceback names, or the first, of a definition that is too long.
_AROUND = 12
#: Lines of a definition that comes along, and places whose needs do.
_NEEDED, _NEEDY = 40, 4
#: Share of the room that one place may take, and that all places leave to their needs.
_SHARE, _LEFT = 0.45, 0.2
_WORD = re.compile(r"[A-Za-z_]\w*")

#: Definitions, each with lines of it that must be seen.
Wanted = dict[Definition, list[int]]
#: A file, and the first and last of some lines of it, 1-based.
_Span = tuple[str, int, int]


@value
class Findings:
    """What was found out about a report without a model."""

    issue: Issue
    index: Index
    #: Where the bug may be, the likeliest first.
    places: tuple[Place, ...]
    #: File and line that tracebacks end at, deepest first: always shown.
    lines: tuple[tuple[str, int], ...]
    #: The test file that a test would be added to, or "".
    host: str
    #: Files that are shown whole where they fit.
    whole: tuple[str, ...]
    #: What else the prompt ``bug`` takes: what the report's code did, imports that work.
    told: Mapping[str, object]

    def values(self, code: int = CODE) -> dict[str, object]:
        """Return the values of the prompt ``bug``, with so many characters of code."""
        index, likely = self.index, self.places[:_PLACES]
        wanted: Wanted = {}  # the likeliest first
        for path, line in (*self.lines, *((place.path, place.line) for place in likely)):
            if one := index.definition_at(path, line):
                wanted.setdefault(one, []).append(line)
        names = [place.function for place in likely]
        return {
            "title": self.issue.title,
            "report": report_text(self.issue),
            "files": show_code(wanted, index, code, self.whole),
            "host_path": self.host,
            "host": show_tests(self.host, index, _TESTS, names) if self.host else "",
            **self.told,
        }


def gather(
    issue: Issue,
    index: Index,
    bench: Workbench,
    observed: ObservedReport | None = None,
    ran: Collection[Definition] = (),
) -> Findings:
    """Return what can be known of a report before a model is asked.

    `bench` says which files have the bug and which test file is written for, as far as the user
    does. `observed` is what its statements did, `ran` the functions that they ran; nothing is run
    without.

    Raises:
        SubjectProblem: the project's interpreter cannot be started.
    """
    seen = observed.observations if observed else ()
    raised = observed.raised if observed else ()
    places = find_suspects(issue, index, ran=ran, raised=raised, paths=bench.buggy)
    lines = []
    for one in (*reversed(read_tracebacks(issue.text)), *raised):
        lines += [(path, frame.line) for path, frame in product_frames(one, index)]
    whole: tuple[str, ...] = ()
    if observed is None:  # as in the papers, which know files and no places in them
        whole = bench.buggy or tuple(place.path for place in places[:1])
        places = tuple(place for place in places if place.path in whole)
    return Findings(
        issue=issue,
        index=index,
        places=places,
        lines=tuple(dict.fromkeys(lines))[:_FRAMES],
        host=bench.host or nearest_test_file(issue, index, places),
        whole=whole,
        told={
            "package": next(iter(index.packages), ""),
            "session": _session(seen),
            "is_observed": observed is not None,
            "imports": _imports(issue, index, places, seen) if observed else "",
            "python": bench.engine.subject.python_version,
        },
    )


def _imports(
    issue: Issue, index: Index, places: Sequence[Place], seen: Sequence[Observation]
) -> str:
    """Return imports: the report's own that work, of places, and of names that the report has."""
    ran = [item.source for item in seen if item.result and not item.raised]
    own = [source for source in ran if source.startswith(IMPORTS)]
    known = re.findall(r"\w+", "\n".join(own))
    likely = [place.function.partition(".")[0] for place in places[:4]]
    text = _FILE.sub(" ", f"{issue.title}\n{issue.text}")
    words = [*likely, *_WORD.findall(text)]
    names = [
        one
        for one in dict.fromkeys(words)
        if one not in known and index.unique_definition(one)
    ]
    ways = [next(project_imports(name, index)) for name in names[:_IMPORTS]]
    return "\n".join(dict.fromkeys([*own, *ways, "import pytest"]))


def _session(seen: Sequence[Observation]) -> str:
    """Return statements with what they did, as an interactive session shows them."""
    shown = []
    for item in seen:
        raised = item.raised
        # Some say how they were run, and nothing of the project.
        is_ours = raised and raised.type in _OURS and raised.in_project is None
        if (item.result or item.ended) and not is_ours:
            shown.append(item)
    # That something can be imported is no news.
    if all(
        item.source.startswith(IMPORTS) and not (item.raised or item.ended)
        for item in shown
    ):
        return ""
    return render("session", seen=shown[:_STATEMENTS], silent=_SILENT)


def fitted(
    findings: Findings,
    model: Model,
    build: Callable[..., tuple[Message, ...]],
    code: int = CODE,
    **sampling: Any,
) -> Request:
    """Return a request that fits the model, with the messages that `build` makes of the findings.

    First there is less than so many characters of code, by whole definitions; then parts go in an
    order; last the report is cut in the middle.

    Raises:
        Overflowed: it does not fit with all of that.
    """
    values = findings.values(code)
    while True:
        request = Request(messages=build(**values), **sampling)
        over = estimate(request.messages) + request.max_tokens - model.context
        if over <= 0:
            return request
        report = str(values["report"])
        if code:
            code = code // 2 if code > 1_000 else 0
            values["files"] = findings.values(code)["files"]
        elif part := next((name for name in _PARTS if values[name]), ""):
            values[part] = ""
        elif len(report) > 3 * over + 200:
            values["report"] = cut(report, len(report) - 3 * over - 200)
        else:
            raise Overflowed(
                f"the prompt is {over} tokens too long for a context of {model.context} (give "
                "more: --brt-model MODEL,context=N)"
            )


# -- the code that is shown: whole definitions by rank, with what they need to be understood --


def show_code(
    wanted: Wanted, index: Index, most: int, whole: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """Return path and code of some definitions, likeliest first, in about `most` characters.

    Files that are wanted `whole` are so where they fit.
    """
    shown: dict[str, dict[int, str]] = {}
    room = most

    def add(span: _Span, limit: float) -> bool:
        nonlocal room
        path, first, last = span
        lines, page = index.source(path).split("\n"), shown.setdefault(path, {})
        while lines[last : last + 1] and not lines[last].strip():
            last += 1  # empty lines below are no gap
        new = {
            n: line
            for n, line in enumerate(lines[first - 1 : last], first)
            if n not in page
        }
        size = sum(len(line) + 1 for line in new.values())
        if size > min(limit, room):
            return False
        page.update(new)
        room -= size
        return True

    for path in whole:
        add((path, 1, most), room)
    for one, lines in wanted.items():
        left = room - most * _LEFT
        if add((one.path, one.line, one.end_line), min(left, most * _SHARE)):
            continue
        for line in lines:
            first, last = max(one.line, line - _AROUND), min(one.end_line, line + _AROUND)
            add((one.path, first, last), left)
    for one in list(wanted)[:_NEEDY]:
        for span in _needs(one, index):
            if span[2] - span[1] < _NEEDED:
                add(span, room / 3)
    return [(path, _with_gaps(page)) for path, page in shown.items() if page]


def _with_gaps(page: Mapping[int, str]) -> str:
    """Return lines by their numbers, with marks where others are left out."""
    text = ""
    for number in sorted(page):
        gap = "" if number == 1 or number - 1 in page else f"{GAP}\n"
        text += f"{gap}{page[number]}\n"
    return text.strip("\n")


def _needs(one: Definition, index: Index) -> Iterator[_Span]:
    """Yield what a definition cannot be understood without.

    It is the head of its class, the constructor, the bases, and names in it.
    """
    known, outer = index.definitions_in(one.path), one.qualname.rpartition(".")[0]
    text = f"__init__\n{index.lines(one)}"
    for around in known:
        if around.qualname == outer:
            text += around.signature
            yield (
                one.path,
                around.line,
                min(d.line for d in known if d.line > around.line) - 1,
            )
    words = dict.fromkeys(_WORD.findall(text))
    near = [
        d for d in known if d.name in words and d.qualname.rpartition(".")[0] in ("", outer)
    ]
    others = filter(None, map(index.unique_definition, words))
    yield from ((other.path, other.line, other.end_line) for other in (*near, *others))


def show_tests(path: str, index: Index, most: int, names: Sequence[str]) -> str:
    """Return a test file; of a long one its imports, and tests that have most of some names.

    Methods that live on ``self`` are no example for a plain function.
    """
    if len(index.source(path)) <= most:
        return index.source(path)

    def worth(one: Definition) -> float:
        text = index.lines(one)
        return sum(name.rpartition(".")[2] in text for name in names) / len(text)

    tests = [
        one for one in index.definitions_in(path) if one.name.startswith("test") and one.top
    ]
    tests.sort(key=worth, reverse=True)
    shown = dict(show_code({one: [one.line] for one in tests[:2]}, index, most)).get(
        path, ""
    )
    imports = dict.fromkeys(one.statement for one in index.imports_in(path))
    return "\n".join([*imports, "", shown]).strip("\n")
