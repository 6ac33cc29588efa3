"""The files that a run writes for its user: reports, and the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

from pytest_brt import __version__
from pytest_brt.codec import to_json
from pytest_brt.errors import UsageProblem
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.fingerprint import CODE, contents_of, hash_of
from pytest_brt.execute.row import Limits
from pytest_brt.options import Options
from pytest_brt.rank.differ import difference_of
from pytest_brt.rank.standing import has_verdict, verdict_of
from pytest_brt.repair.patch import HEAD, chosen
from pytest_brt.report.evidence import evidence_of, files_of, setting_of
from pytest_brt.report.json import record_json
from pytest_brt.report.sarif import sarif
from pytest_brt.report.table import unfinished
from pytest_brt.store import write_bytes, write_text
from pytest_brt.types import Issue, RunRecord


class Files:
    """Knows what is to be written, and writes it when the run is over."""

    def __init__(self, options: Options, engine: Engine) -> None:
        """Read what must be read before anything runs.

        Raises:
            UsageProblem: the key cannot be read.
        """
        self._options = options
        self._engine = engine
        self._key = _read_key(options.key)
        #: The project before the run: what is found is found of this tree.
        # Evidence that lies in the project is no part of it.
        kept = options.record.resolve() if options.record else None
        contents = contents_of(Path(engine.subject.root), without=kept)
        self.tree = hash_of(contents)
        # Logs of this very run may be written into the project: only code is watched.
        self._code = {path: code for path, code in contents.items() if path.endswith(CODE)}

    def writers(self) -> Iterator[Callable[[RunRecord], str]]:
        """Yield what writes the files that were asked for, and returns a line about it."""
        options = self._options
        yield self._changed
        if options.json:
            yield self._json
        if options.html:
            yield self._html
        if options.sarif:
            yield self._sarif
        if options.record:
            yield self._evidence
        if options.repair:
            yield self._patches

    def _patches(self, record: RunRecord) -> str:
        """Write the fixes that were found, in place of those that an earlier run put there."""
        repaired = {repair.issue for repair in record.repairs}
        issue = next((issue for issue in record.issues if issue.id in repaired), None)
        if issue is None:
            return ""
        ranks = tuple(rank for rank in record.ranks if rank.result.issue == issue.id)
        folder = self._options.out or Path("brt-patches", _stem(issue))
        found = chosen(record.repairs, ranks)
        for old in sorted((*folder.glob("fix-*.diff"), *folder.glob("alike/fix-*.diff"))):
            if old.read_bytes().startswith(HEAD.encode()):
                old.unlink()
        for alike in found:
            for name, text in alike.files(issue):
                write_text(folder / name, text)
        if not found:
            return "no patch was written: no fix passes the tests"
        many = f"{len(found)} patches" if len(found) > 1 else "1 patch"
        more = sum(len(alike.members) - 1 for alike in found)
        those = f" ({more} more that behave the same in its folder alike)" if more else ""
        return f"{many} in {folder}{those}, not applied (git apply takes one)"

    def _changed(self, _record: RunRecord) -> str:
        if contents_of(Path(self._engine.subject.root), CODE) == self._code:
            return ""
        return (
            "the project was changed while this ran: some results are about the old state and"
            " some about the new (run it again)"
        )

    def _json(self, record: RunRecord) -> str:
        assert self._options.json is not None, "asked for"
        write_text(self._options.json, to_json(record_json(record), indent=2) + "\n")
        return f"JSON report: {self._options.json}"

    def _sarif(self, record: RunRecord) -> str:
        assert self._options.sarif is not None, "asked for"
        below = place_in_repository(Path(self._engine.subject.root))
        log = sarif(record, __version__, below)
        write_text(self._options.sarif, to_json(log, indent=2) + "\n")
        return f"SARIF report: {self._options.sarif}"

    def _html(self, record: RunRecord) -> str:
        from pytest_brt.report.html import html  # jinja2 is slow to import

        assert self._options.html is not None, "asked for"
        groups = {
            key: tuple(ranks) for key, ranks in groupby(record.ranks, lambda r: r.result.issue)
        }
        missing = {found.issue: found for found in record.not_run}
        subject = self._engine.subject
        text = html(
            record,
            facts=(
                f"pytest-brt {__version__}",
                f"Python {'.'.join(map(str, subject.python_version))} ({subject.found})",
                f"sandbox {record.sandbox}",
            ),
            verdicts={
                key: "; ".join((*unfinished(missing.get(key)), verdict))
                for key, ranks in groups.items()
                if (verdict := verdict_of(ranks, missing.get(key)))
                and (has_verdict(ranks) or key in missing)
            },
            differences={key: difference_of(ranks) for key, ranks in groups.items()},
        )
        write_text(self._options.html, text)
        return f"HTML report: {self._options.html}"

    def _evidence(self, record: RunRecord) -> str:
        options = self._options
        assert options.record is not None, "asked for"
        setting = setting_of(
            self._engine.subject,
            Limits(seconds=options.timeout, memory_mb=options.memory),
            tree=self.tree,
            sandbox=record.sandbox,
            net=options.net,
            repeat=options.repeat,
            tool=__version__,
        )
        evidence = evidence_of(record, setting)
        if (options.record / "evidence.json").exists():
            # In place of earlier evidence: a signature, or patches, of that would be false here.
            for pattern in ("evidence.hmac", "tests/*.py", "patches/*.diff"):
                for old in options.record.glob(pattern):
                    old.unlink()
        for file in files_of(evidence, record, self._key):
            assert file.content is not None, "evidence deletes nothing"
            write_bytes(options.record / file.path, file.content)
        signed = ", signed" if self._key else ""
        return f"evidence{signed}: {options.record} (pytest-brt recheck runs it again)"


def _stem(issue: Issue) -> str:
    """Return what a folder for an issue's patches is called."""
    stem = Path(issue.source).stem
    return stem if stem.strip("-. ") else issue.id


def _read_key(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        key = path.read_bytes().strip()
    except OSError as error:
        raise UsageProblem(f"--brt-key: cannot read {str(path)!r}: {error.strerror}") from error
    if not key:
        raise UsageProblem(f"--brt-key: {str(path)!r} is empty (write a long random text into it)")
    return key


def place_in_repository(root: Path) -> str:
    """Return the project's path below its repository's root; "" for the root, or for none.

    A code viewer counts from there, whatever folder of a monorepo pytest was started in.
    """
    for folder in (root, *root.parents):
        if (folder / ".git").exists():
            return root.relative_to(folder).as_posix().removeprefix(".")
    return ""
