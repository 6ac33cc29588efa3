"""The files that a run writes for its user: reports, and the evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path

from pytest_brt import __version__
from pytest_brt.bounded import read_bounded
from pytest_brt.codec import to_json
from pytest_brt.errors import UsageProblem
from pytest_brt.execute.engine import Engine
from pytest_brt.execute.fingerprint import CODE, contents_of, hash_of
from pytest_brt.execute.row import Limits
from pytest_brt.plugin.options import Options
from pytest_brt.store import write_bytes, write_text
from pytest_brt.types import Issue, RunRecord


class Files:
    """Knows what is to be written, and writes it when the run is over."""

    def __init__(self, options: Options, engine: Engine, command: str = "") -> None:
        """Read what must be read before anything runs.

        Raises:
            UsageProblem: the key cannot be read.
        """
        self._options = options
        self._engine = engine
        #: What was typed.
        self._command = command
        self._key = _read_key(options.key)
        #: The project before the run: what is found is found of this tree.
        # What is written into the project about it is no part of it.
        kept = options.record.resolve() if options.record else None
        self._ours = tuple(path.resolve() for _, path in options.reports)
        contents = contents_of(
            Path(engine.subject.root), without=(*filter(None, [kept]), *self._ours)
        )
        self.tree = hash_of(contents)
        # Logs of this very run may be written into the project: only code is watched.
        self._code = {path: code for path, code in contents.items() if path.endswith(CODE)}

    def writers(self) -> Iterator[Callable[[RunRecord], str]]:
        """Yield what writes the files that were asked for, and returns a line about it."""
        options = self._options
        yield self._changed
        for kind, path in options.reports:
            yield partial(self._report, kind, path)
        if options.record:
            yield self._evidence
        if options.repair:
            yield self._patches

    def _patches(self, record: RunRecord) -> str:
        """Write the fixes that were found, in place of those that an earlier run put there."""
        from pytest_brt.render.answer import listed
        from pytest_brt.repair.patch import HEAD, chosen

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
        broken = [alike.members[0][0].patch.name for alike in found if alike.members[0][0].broken]
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

    def _report(self, kind: str, path: Path, record: RunRecord) -> str:
        write = {
            "html": self._html, "md": self._markdown, "json": self._json, "sarif": self._sarif
        }  # fmt: skip
        write_text(path, write[kind](record))
        names = {"html": "HTML", "md": "Markdown", "json": "JSON", "sarif": "SARIF"}
        return f"{names[kind]} report: {path}"

    def _json(self, record: RunRecord) -> str:
        from pytest_brt.rank.choose import selected
        from pytest_brt.render.json import record_json

        chosen = selected(record.ranks, self._options.top, self._options.threshold)
        return to_json(record_json(record, chosen), indent=2) + "\n"

    def _sarif(self, record: RunRecord) -> str:
        from pytest_brt.render.sarif import sarif

        below = place_in_repository(Path(self._engine.subject.root))
        return to_json(sarif(record, __version__, below), indent=2) + "\n"

    def _html(self, record: RunRecord) -> str:
        from pytest_brt.render.html import html  # jinja2 is slow to import

        return html(record, facts=self._facts(record))

    def _markdown(self, record: RunRecord) -> str:
        from pytest_brt.render.markdown import markdown

        return markdown(record, facts=self._facts(record))

    def _facts(self, record: RunRecord) -> tuple[str, ...]:
        """Return what the run was made with, a few words each."""
        subject = self._engine.subject
        return (
            f"{datetime.now():%Y-%m-%d %H:%M}",
            f"pytest-brt {__version__}",
            f"Python {'.'.join(map(str, subject.python_version))} ({subject.found})",
            f"sandbox {record.sandbox}",
            self._command,
        )

    def _below_root(self) -> tuple[str, ...]:
        root = Path(self._engine.subject.root).resolve()
        below = (path.relative_to(root) for path in self._ours if path.is_relative_to(root))
        return tuple(path.as_posix() for path in below)

    def _evidence(self, record: RunRecord) -> str:
        from pytest_brt.render.evidence import evidence_of, files_of, setting_of

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
            reports=self._below_root(),
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
        key = read_bounded(path, 1 << 20).strip()
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
