"""What a run found out as Markdown, for a step summary or a comment: nothing in it is obeyed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from pytest_brt.render.report import PatchEntry, Report, candidates
from pytest_brt.render.table import table
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
        if issue is not None and issue.answer is not None:
            lines += [f"**{_text(issue.answer.text)}**", ""]
            tests = candidates(report.tests_of(issue.id))
            source = next((test.source for test in tests if not test.brought_by), None)
            lines += _fenced("python", source.strip("\n").split("\n")) if source else ()
        if ranking is not None:
            lines += [f"**{_text(ranking.answer.text)}**", ""]
        if ranking is not None and ranking.patches:
            rows = table(ranking.patches)
            lines += [*_table((*row[:-1], shortened(row[-1], 200)) for row in rows), ""]
            lines += [f"- {_text(note)}" for note in ranking.notes]
            lines += ["", *_details(ranking.patches, report)]
    return "\n".join([*lines, f"<sub>{_text(report.setting.facts)}</sub>", ""])


def _fenced(language: str, lines: Sequence[str]) -> Iterator[str]:
    """Yield code between fences that nothing in it can close."""
    longest = max((len(ticks) for line in lines for ticks in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"{fence}{language}", *map(on_a_line, lines), fence, "")


def _table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for number, row in enumerate(rows):
        yield f"| {' | '.join(map(_text, row))} |"
        if number == 0:
            yield f"|{'---|' * len(row)}"


def _details(patches: Sequence[PatchEntry], report: Report) -> Iterator[str]:
    """Yield a block, closed at first, of what each patch passes and breaks, and how to see it."""
    names = {test.id: test.name for test in report.tests if test.candidate}
    rows: list[tuple[str, ...]] = [("patch", "passes", "breaks")]
    commands = [report.setting.command]
    for patch in patches:
        broken = [outcome.test for outcome in patch.broken]
        cells = [cell for cell in patch.cells if cell.verdict is Verdict.PASS]
        passed = [names[cell.test] for cell in cells if cell.test in names]
        rows.append((patch.name, ", ".join(passed) or "–", ", ".join(broken) or "–"))
        if broken:
            commands.append(f"pytest {shlex.join(broken)}  # with {patch.name}")
    yield "<details><summary>What each patch passes and breaks, and how to see it</summary>"
    yield from ("", *_table(rows), "", *_fenced("sh", commands), "</details>", "")


def _text(text: str) -> str:
    r"""Return text of strangers that Markdown shows as it is.

    >>> _text("<b> @all [x](y)")
    '\\<b\\> \\@all \\[x\\]\\(y\\)'
    """
    return _SPECIAL.sub(r"\\\g<0>", on_a_line(" ".join(text.split())))
