"""What a run writes for its user: tests as changes of the project, reports, the record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path, PurePosixPath

from pytest_brt import __version__
from pytest_brt.code.layout import RECORDED_REPORT
from pytest_brt.code.source import Edit, Placement, new_file
from pytest_brt.code.xfail import mark_xfail
from pytest_brt.codec import to_json
from pytest_brt.errors import EditProblem
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.layout import CODE, contents_of, hash_of
from pytest_brt.plugin.cases import given_test_file
from pytest_brt.plugin.options import Options, Write
from pytest_brt.render.report import Report, Setting
from pytest_brt.store import write_bytes, write_text
from pytest_brt.types import CandidateTest, Issue, RunRecord


def plan_edits(
    record: RunRecord, options: Options, root: Path, cache: Path | None
) -> tuple[Edit, ...]:
    """Return one edit per issue that has a candidate; nothing is written here.

    With `Write.INTO` the best test goes into the existing test file where it belongs, with
    the others all tests that were kept become one new file. `cache` is where the project's
    index is kept between runs.

    Raises:
        EditProblem: a test cannot be placed, or would be written outside of the project.
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
        _check_places(tests, root)
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
        if (judged.judgement.counts or (unsure and judged.judgement.candidate))
        and judged.test.source is not None
    ]
    candidates.sort(key=lambda judged: -judged.judgement.confidence)
    return [judged.test for judged in candidates[:keep]]


def _check_places(tests: list[CandidateTest], root: Path) -> None:
    """Let no test name a file outside of the project: a checkout may bring a journal with some."""
    from pytest_brt.code.layout import leads_out

    for test in tests:
        for path in filter(None, (test.path, test.host)):
            if "\0" in path or leads_out(root, path):
                raise EditProblem(
                    f"the test would be written outside of the project: {path!r} "
                    "(a kept run that names it may be somebody else's: delete pytest's cache)"
                )


def _as_file(tests: list[CandidateTest], issue: Issue, options: Options, root: Path) -> Edit:
    folder = PurePosixPath(tests[0].path).parent
    path = _free_path(root, str(folder / f"test_{_slug(issue)}.py"))
    placement = new_file(_source(tests[0], issue), path)
    nodes = list(placement.nodes)
    for test in tests[1:]:
        try:
            placement = _below(placement, test.source or "")
        except EditProblem:
            continue  # its names clash with those before it; the report shows it all the same
        nodes.extend(placement.nodes)
    after = placement.edit.after
    return Edit(path=path, before=None, after=_marked(path, after, tuple(nodes), issue, options))


def _below(file: Placement, source: str) -> Placement:
    from pytest_brt.code.placing import place  # libcst takes half a second

    return place(source, file.edit.path, file.edit.after)


def _into_host(
    test: CandidateTest, issue: Issue, options: Options, root: Path, cache: Path | None
) -> Edit:
    from pytest_brt.code.placing import place  # libcst takes half a second

    host = test.host or given_test_file(options.test_file, root)
    if not host:
        from pytest_brt.code.index import open_index
        from pytest_brt.code.words import rank_hosts

        hosts = rank_hosts(test.source or "", open_index(root, cache).test_tokens)
        if not hosts:
            return _as_file([test], issue, options, root)
        host = hosts[0]
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
        for node in nodes:
            data = mark_xfail(path, data, node, f"{issue.title} ({issue.source})")
    return data


def _source(test: CandidateTest, issue: Issue) -> str:
    """Return the module with a line above it that says where it comes from."""
    origin = f"{test.origin.strategy} of pytest-brt"
    return f"# A test for {' '.join(issue.title.split())!r}; written by {origin}.\n\n{test.source}"


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


def rendered(kind: str, report: Report) -> tuple[str, str]:
    """Return a report's name and text; what another kind needs is not imported."""
    if kind == "json":
        return "JSON", to_json(report, indent=2) + "\n"
    if kind == "html":
        from pytest_brt.render.html import html

        return "HTML", html(report)
    from pytest_brt.render.markdown import markdown

    return "Markdown", markdown(report)


class Files:
    """Knows what is to be written, and writes it when the run is over."""

    def __init__(self, options: Options, engine: Engine, command: str = "") -> None:
        """Read what must be read before anything runs."""
        self._options = options
        self._engine = engine
        #: What was typed.
        self._command = command
        # What is written into the project about it is no part of it.
        ours = [path.resolve() for _, path in options.reports]
        if options.record:
            ours.append(options.record.resolve())
        contents = contents_of(Path(engine.subject.root), without=ours)
        #: The project before the run: what is found is found of this tree.
        self.tree = hash_of(contents)
        # Logs of this very run may be written into the project: only code is watched.
        self._code = {path: code for path, code in contents.items() if path.endswith(CODE)}

    def report(self, record: RunRecord, exit_code: int) -> Report:
        """Return the report of the run, from which all that is shown and written is made."""
        from pytest_brt.rank.epr import selected
        from pytest_brt.render.entries import build_report

        subject = self._engine.subject
        setting = Setting(
            command=self._command,
            ended=f"{datetime.now():%Y-%m-%d %H:%M}",
            version=__version__,
            python=".".join(map(str, subject.python_version)),
            found=subject.found,
            sandbox=record.sandbox,
            tree=self.tree,
            seed=self._options.seed,
        )
        chosen = selected(record.ranks, self._options.top, self._options.threshold)
        return build_report(record, setting, exit_code, chosen)

    def writers(self, report: Report) -> Iterator[Callable[[RunRecord], str]]:
        """Yield what writes the files that were asked for, and returns a line about it."""
        options = self._options
        yield self._changed
        for kind, path in options.reports:
            yield partial(self._report, kind, path, report)
        if options.record:
            yield partial(self._keep, report)
        if options.repair:
            yield self._patches

    def _patches(self, record: RunRecord) -> str:
        """Write the fixes that were found, in place of those that an earlier run put there."""
        from pytest_brt.render.fixes import why_no_patch
        from pytest_brt.render.words import listed
        from pytest_brt.repair.patch import MARK, chosen, files_of

        repaired = {repair.issue for repair in record.repairs}
        issue = next((issue for issue in record.issues if issue.id in repaired), None)
        if issue is None:
            return ""
        ranks = tuple(rank for rank in record.ranks if rank.result.issue == issue.id)
        stem = Path(issue.source).stem
        called = stem if stem.strip("-. ") else issue.id
        folder = self._options.out or Path("brt-patches", called)
        found = chosen(record.repairs, ranks)
        for old in sorted((*folder.glob("fix-*.diff"), *folder.glob("alike/fix-*.diff"))):
            if old.read_bytes().startswith(MARK.encode()):
                old.unlink()
        for alike in found:
            for name, text in files_of(alike, issue):
                write_text(folder / name, text)
        if not found:
            return f"no patch was written: {why_no_patch(record.repairs)}"
        many = f"{len(found)} patches" if len(found) > 1 else "1 patch"
        more = sum(len(alike) - 1 for alike in found)
        those = f" ({more} more that behave the same in its folder alike)" if more else ""
        firsts = [alike[0][0] for alike in found]
        broken = [fix.patch.name for fix in firsts if fix.broken]
        verb = "breaks" if len(broken) == 1 else "break"
        wrong = f"; {listed(broken)} {verb} existing tests" if broken else ""
        return f"{many} in {folder}{those}, not applied (git apply takes one){wrong}"

    def _changed(self, _record: RunRecord) -> str:
        if contents_of(Path(self._engine.subject.root), CODE) == self._code:
            return ""
        return (
            "the project was changed while this ran: some results are about the old state and"
            " some about the new (run it again)"
        )

    def _report(self, kind: str, path: Path, report: Report, _record: RunRecord) -> str:
        name, text = rendered(kind, report)
        write_text(path, text)
        return f"{name} report: {path}"

    def _keep(self, report: Report, record: RunRecord) -> str:
        """Keep the run: its report, the candidate tests, and the patches as they were given."""
        from pytest_brt.patches.text import encode
        from pytest_brt.revisions.recheck import patch_file

        folder = self._options.record
        assert folder is not None, "asked for"
        if (folder / RECORDED_REPORT).exists():
            for pattern in ("tests/*.py", "patches/*.diff"):
                for old in folder.glob(pattern):
                    old.unlink()
        for judged in record.tests:
            if judged.judgement.candidate and judged.test.source is not None:
                write_text(folder / "tests" / f"{judged.test.id}.py", judged.test.source)
        for rank in record.ranks:
            patch = rank.result.patch
            write_bytes(folder / patch_file(patch.id), encode(patch.text))
        write_text(folder / RECORDED_REPORT, rendered("json", report)[1])
        return f"record: {folder} (pytest-brt recheck runs it again)"
