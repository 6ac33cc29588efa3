"""What a run found out as Markdown, for a step summary or a comment: nothing in it is obeyed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from pytest_brt.render.report import PatchEntry, Report, TestEntry, candidates
from pytest_brt.render.table import columns_of
from pytest_brt.render.words import shortened
from pytest_brt.shown import on_a_line
from pytest_brt.types import Verdict

#: What Markdown or HTML would take for more than text, and what would notify somebody.
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>()#|~@!&]")


def markdown(report: Report) -> str:
    """Return the answers, the best bug test of each report, and the tables of patches."""
    lines: list[str] = []
    for issue, ranking in report.sections():
        if issue is not None:
            lines += [f"### {_text(issue.title)}", ""]
            if issue.verdict:
                lines += [f"**{_text(issue.verdict)}**", ""]
            lines += _test(candidates(report.tests_of(issue.id)))
        if ranking is not None:
            lines += [f"**{_text(ranking.verdict)}**", "", *_table(ranking.patches), ""]
            lines += _details(ranking.patches, report)
    return "\n".join([*lines, f"<sub>{_text(' · '.join(report.setting.facts))}</sub>", ""])


def _test(tests: Sequence[TestEntry]) -> Iterator[str]:
    source = next((test.source for test in tests if not test.brought_by), None)
    if source:
        yield from _fenced("python", source.strip("\n").split("\n"))


def _fenced(language: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield code between fences that nothing in it can close."""
    longest = max((len(ticks) for line in lines for ticks in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"{fence}{language}", *map(on_a_line, lines), fence, "")


def _table(patches: Sequence[PatchEntry]) -> Iterator[str]:
    if not patches:
        return
    columns = columns_of(patches)
    yield f"| {' | '.join([*(head for head, _ in columns), 'note'])} |"
    yield f"|{'---|' * (len(columns) + 1)}"
    for patch in patches:
        cells = [*(cell(patch) for _, cell in columns), shortened(patch.note, 200)]
        yield f"| {' | '.join(map(_text, cells))} |"


def _details(patches: Sequence[PatchEntry], report: Report) -> Iterator[str]:
    """Yield a block, closed at first, of what each patch changes, and how to see it again."""
    if not patches:
        return
    names = {test.id: test.name for test in report.tests if test.candidate}
    yield "<details><summary>What each patch passes and breaks, and how to see it</summary>"
    yield ""
    yield "| patch | fails before, passes after | fails before and after | breaks |"
    yield "|---|---|---|---|"
    for patch in patches:
        ran = [cell for cell in patch.cells if cell.test in names]
        passed = [names[cell.test] for cell in ran if cell.verdict is Verdict.PASS]
        failed = [names[cell.test] for cell in ran if cell.verdict is Verdict.FAIL]
        broken = [outcome.test for outcome in patch.broken]
        cells = [patch.name, *(", ".join(some) or "–" for some in (passed, failed, broken))]
        yield f"| {' | '.join(map(_text, cells))} |"
    yield ""
    yield from _fenced("sh", list(_commands(patches, report.setting.command)))
    yield from ("</details>", "")


def _commands(patches: Sequence[PatchEntry], command: str) -> Iterator[str]:
    """Yield what to type to see the ranking again, and the existing tests that a patch breaks."""
    yield on_a_line(command)
    for patch in patches:
        if patch.broken:
            broken = shlex.join(outcome.test for outcome in patch.broken)
            yield on_a_line(f"pytest {broken}  # with {patch.name}")


def _text(text: str) -> str:
    r"""Return text of strangers that Markdown shows as it is.

    >>> _text("<b> @all [x](y)")
    '\\<b\\> \\@all \\[x\\]\\(y\\)'
    """
    return _SPECIAL.sub(r"\\\g<0>", on_a_line(" ".join(text.split())))
