"""What a run found out as Markdown, for a step summary or a comment: nothing in it is obeyed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from pytest_brt.answers import bug_tests
from pytest_brt.render.answer import of_ranking, of_report, tests_of
from pytest_brt.render.disputes import dispute_sentences
from pytest_brt.render.table import columns_of, note, shortened
from pytest_brt.shown import on_a_line
from pytest_brt.types import JudgedTest, Rank, RunRecord

#: What Markdown or HTML would take for more than text, and what would notify somebody.
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>()#|~@!&]")


def markdown(record: RunRecord, *, facts: Sequence[str]) -> str:
    """Return the answers, the best bug test of each report, and the tables of patches.

    `facts` says what the run was made with, a few words each.
    """
    lines: list[str] = []
    groups = {key: tuple(ranks) for key, ranks in groupby(record.ranks, lambda r: r.result.issue)}
    missing = {found.issue: found for found in record.not_run}
    for issue in record.issues:
        attempts = [attempt for attempt in record.attempts if attempt.issue == issue.id]
        lines += [f"### {_text(issue.title)}", ""]
        if attempts:
            lines += [f"**{_text(of_report(attempts))}**", ""]
        sure, possible = bug_tests(tests_of(record, issue.id))
        lines += _test((*sure, *possible))
    for key in dict.fromkeys((*groups, *missing)):
        ranks = groups.get(key, ())
        lines += [f"**{_text(of_ranking(ranks, missing.get(key)))}**", "", *_table(ranks), ""]
        sentences = list(dispute_sentences(record.disputes, key, whole=False))
        lines += [*(f"- {_text(sentence)}" for sentence in sentences), *([""] if sentences else [])]
    return "\n".join([*lines, f"<sub>{_text(' · '.join(facts))}</sub>", ""])


def _test(failing: Sequence[JudgedTest]) -> Iterator[str]:
    source = failing[0].test.source if failing else None
    if source:
        longest = max((len(ticks) for ticks in re.findall("`+", source)), default=0)
        fence = "`" * max(3, longest + 1)
        shown = [on_a_line(line) for line in source.strip("\n").split("\n")]
        yield from (f"{fence}python", *shown, fence, "")


def _table(ranks: Sequence[Rank]) -> Iterator[str]:
    if not ranks:
        return
    columns = columns_of(ranks)
    yield f"| {' | '.join([*(head for head, _ in columns), 'note'])} |"
    yield f"|{'---|' * (len(columns) + 1)}"
    for rank in ranks:
        cells = [*(cell(rank) for _, cell in columns), shortened(note(rank), 200)]
        yield f"| {' | '.join(map(_text, cells))} |"


def _text(text: str) -> str:
    r"""Return text of strangers that Markdown shows as it is.

    >>> _text("<b> @all [x](y)")
    '\\<b\\> \\@all \\[x\\]\\(y\\)'
    """
    return _SPECIAL.sub(r"\\\g<0>", on_a_line(" ".join(text.split())))
