"""What a run found out as Markdown, for a step summary or a comment: nothing in it is obeyed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_brt.render.disputes import dispute_sentence
from pytest_brt.render.report import PatchEntry, Report, TestEntry, candidates
from pytest_brt.render.table import columns_of
from pytest_brt.render.words import shortened
from pytest_brt.shown import on_a_line

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
            told = [dispute_sentence(dispute) for dispute in ranking.disputes if dispute.is_told]
            lines += [*(f"- {_text(sentence)}" for sentence in told), *([""] if told else [])]
    return "\n".join([*lines, f"<sub>{_text(' · '.join(report.setting.facts))}</sub>", ""])


def _test(tests: Sequence[TestEntry]) -> Iterator[str]:
    source = tests[0].source if tests else None
    if source:
        longest = max((len(ticks) for ticks in re.findall("`+", source)), default=0)
        fence = "`" * max(3, longest + 1)
        shown = [on_a_line(line) for line in source.strip("\n").split("\n")]
        yield from (f"{fence}python", *shown, fence, "")


def _table(patches: Sequence[PatchEntry]) -> Iterator[str]:
    if not patches:
        return
    columns = columns_of(patches)
    yield f"| {' | '.join([*(head for head, _ in columns), 'note'])} |"
    yield f"|{'---|' * (len(columns) + 1)}"
    for patch in patches:
        cells = [*(cell(patch) for _, cell in columns), shortened(patch.note, 200)]
        yield f"| {' | '.join(map(_text, cells))} |"


def _text(text: str) -> str:
    r"""Return text of strangers that Markdown shows as it is.

    >>> _text("<b> @all [x](y)")
    '\\<b\\> \\@all \\[x\\]\\(y\\)'
    """
    return _SPECIAL.sub(r"\\\g<0>", on_a_line(" ".join(text.split())))
