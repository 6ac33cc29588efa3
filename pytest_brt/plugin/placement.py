"""From the tests that were found to changes of the project's files, shown or written at the end."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from pytest_brt.code.source import Edit, Placement, new_file
from pytest_brt.errors import EditProblem
from pytest_brt.plugin.inputs import given_test_file
from pytest_brt.plugin.option_values import Write
from pytest_brt.plugin.options import Options
from pytest_brt.types import CandidateTest, Issue, RunRecord


def plan_edits(
    record: RunRecord, options: Options, root: Path, cache: Path | None
) -> tuple[Edit, ...]:
    """Return one edit per issue that has a candidate; nothing is written here.

    With `Write.INTO` the best test goes into the existing test file where it belongs, with
    the others all tests that were kept become one new file. `cache` is where the project's
    index is kept between runs.

    Raises:
        EditProblem: a test cannot be placed.
    """
    if options.write is Write.NO:
        return ()
    edits = []
    for issue in record.issues:
        tests = _kept(record, issue, options.keep, unsure=options.write_unsure)
        if not tests and options.write is Write.DIFF:
            tests = _kept(record, issue, options.keep, unsure=True)  # shown, not written
        if not tests:
            continue
        if options.write is Write.INTO:
            edits.append(_into_host(tests[0], issue, options, root, cache))
        else:
            edits.append(_as_file(tests, issue, options, root))
    return tuple(edits)


def _kept(record: RunRecord, issue: Issue, keep: int, *, unsure: bool) -> list[CandidateTest]:
    """Return the best tests of an issue, whatever strategy made them.

    Those that are only possibly about its bug are left out, unless `unsure`.
    """
    candidates = [
        judged
        for attempt in record.attempts
        if attempt.issue == issue.id
        for judged in attempt.tests
        if (judged.judgement.reproduces or (unsure and judged.judgement.candidate))
        and judged.test.source is not None
    ]
    candidates.sort(key=lambda judged: -judged.judgement.confidence)
    return [judged.test for judged in candidates[:keep]]


def _as_file(tests: list[CandidateTest], issue: Issue, options: Options, root: Path) -> Edit:
    folder = PurePosixPath(tests[0].path).parent
    path = _free_path(root, str(folder / f"test_{_slug(issue)}.py"))
    placement = new_file(_source(tests[0], issue), path)
    nodes = list(placement.nodes)
    for test in tests[1:]:
        from pytest_brt.code.placing import place  # libcst takes half a second

        try:
            placement = place(test.source or "", path, placement.edit.after)
        except EditProblem:
            continue  # its names clash with those before it; the report shows it all the same
        nodes.extend(placement.nodes)
    after = placement.edit.after
    return Edit(path=path, before=None, after=_marked(path, after, tuple(nodes), issue, options))


def _into_host(
    test: CandidateTest, issue: Issue, options: Options, root: Path, cache: Path | None
) -> Edit:
    from pytest_brt.code.placing import place  # libcst takes half a second

    host = test.host or given_test_file(options.test_file, root)
    if not host:
        from pytest_brt.code.hosts import rank_hosts
        from pytest_brt.code.index import open_index

        hosts = rank_hosts(test.source or "", open_index(root, cache), limit=1)
        if not hosts:
            return _as_file([test], issue, options, root)
        host = hosts[0].path
    before = (root / host).read_bytes()
    try:
        placement: Placement = place(test.source or "", host, before)
    except EditProblem:
        return _as_file([test], issue, options, root)  # its names clash with those of the file
    after = _marked(host, placement.edit.after, placement.nodes, issue, options)
    return Edit(path=host, before=before, after=after)


def _marked(
    path: str, data: bytes, nodes: tuple[str, ...], issue: Issue, options: Options
) -> bytes:
    if options.mark == "xfail":
        from pytest_brt.code.marks import mark_xfail  # libcst takes half a second

        for node in nodes:
            data = mark_xfail(path, data, node, f"{issue.title} ({issue.source})")
    return data


def _source(test: CandidateTest, issue: Issue) -> str:
    """Return the module with a line above it that says where it comes from."""
    origin = f"{test.origin.strategy} of pytest-brt"
    return f"# Reproduces {' '.join(issue.title.split())!r}; written by {origin}.\n\n{test.source}"


def _slug(issue: Issue) -> str:
    """Return what names the file: the report's own name, or its title when it has none."""
    stem = Path(issue.source).stem
    named = stem if stem not in {"-", "issue", "report", "bug"} else issue.title
    words = re.findall(r"[a-z0-9]+", named.lower())
    return "_".join(words[:6]) or f"issue_{issue.id}"


def _free_path(root: Path, path: str) -> str:
    """Return `path`, or the first of path_2, path_3, … that does not exist yet."""
    wanted = PurePosixPath(path)
    number = 1
    while (root / path).exists():
        number += 1
        path = str(wanted.with_stem(f"{wanted.stem}_{number}"))
    return path
