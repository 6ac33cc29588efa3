"""What a run found out as Markdown, for a step summary or a comment: nothing in it is obeyed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from hashlib import sha256

from pytest_brt.render.report import PatchEntry, Report, TestEntry
from pytest_brt.render.words import shortened
from pytest_brt.shown import on_a_line
from pytest_brt.types import Verdict

#: What Markdown or HTML would take for more than text, and what would notify somebody.
_SPECIAL = re.compile(r"[\\`*_{}\[\]<>()#|~@!&]")


def markdown(report: Report) -> str:
    """Return the answers, the best bug test, the table of patches, and a proof, for each report."""
    lines: list[str] = []
    for issue, tests, ranking in report.sections():
        made = [test for test in tests if test.source and not test.brought_by][:1]
        if issue is not None:
            lines.append(f"### {_text(issue.title)}")
            lines += [f"**{_text(issue.answer.text)}**"] if issue.answer else ()
            lines += (_fenced("python", test.source or "") for test in made)
        patches = ranking.patches if ranking else ()
        if ranking is not None:
            rows = [(*row[:-1], shortened(row[-1], 200)) for row in ranking.table()]
            table = [f"| {' | '.join(map(_text, row))} |" for row in rows]
            table.insert(1, "|---" * len(rows[0]) + "|")
            lines += [f"**{_text(ranking.answer.text)}**", *(["\n".join(table)] if patches else [])]
            lines += [f"- {_text(note)}" for note in ranking.notes]
        for test in made:
            proof = "\n".join(_proof(test, [patch for patch in patches if patch.leads][:1], report))
            title = "<details><summary>See it without pytest-brt</summary>"
            lines.append(f"{title}\n\n{_fenced('sh', proof)}\n\n</details>")
    return "\n\n".join([*lines, f"<sub>{_text(report.setting.facts)}</sub>\n"])


def _proof(test: TestEntry, leaders: list[PatchEntry], report: Report) -> Iterator[str]:
    """Yield commands that show the bug, and that the first patch fixes it."""
    run = f"python -m pytest {shlex.quote(test.file)}"
    yield f"# the project's files: sha256 {report.setting.tree}"
    yield f"# the test above, saved as {test.file}: sha256 {_sha256(test.source or '')}"
    yield f"{run}  # fails"
    for patch in leaders:
        passes = any(cell.test == test.id and cell.verdict is Verdict.PASS for cell in patch.cells)
        yield f"# {patch.name}: sha256 {_sha256(patch.diff)}"
        yield f"git apply {shlex.quote(patch.name)}"
        yield f"{run}  # {'passes' if passes else 'still fails'}"


def _sha256(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _fenced(language: str, text: str) -> str:
    """Return code between fences that nothing in it can close."""
    fence = max(["``", *re.findall("`+", text)], key=len) + "`"
    lines = map(on_a_line, text.strip("\n").split("\n"))
    return "\n".join([fence + language, *lines, fence])


def _text(text: str) -> str:
    r"""Return text of strangers that Markdown shows as it is.

    >>> _text("<b> @all [x](y)")
    '\\<b\\> \\@all \\[x\\]\\(y\\)'
    """
    return _SPECIAL.sub(r"\\\g<0>", on_a_line(" ".join(text.split())))
