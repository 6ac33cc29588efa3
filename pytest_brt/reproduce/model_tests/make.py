"""From a reply to tests that can be run: code, single tests, places, and ids."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pytest_brt.code.index import Index
from pytest_brt.code.normal import test_key
from pytest_brt.codec import content_id
from pytest_brt.oracle.write import slug
from pytest_brt.reproduce.model_tests.reply import code_in
from pytest_brt.reproduce.model_tests.settle import settle
from pytest_brt.reproduce.model_tests.split import split_tests
from pytest_brt.types import CandidateTest, Issue, Oracle, OracleKind, Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A test of a model's, ready to be run."""

    test: CandidateTest
    #: Equal for tests that are the same but for names, layout and comments.
    key: str
    #: What in it cannot work in this project, one line each.
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """What all tests of one issue have in common."""

    issue: Issue
    index: Index
    #: Folder for tests that fit into no file.
    test_root: str
    #: The test file that all go to; "" chooses one for each.
    host: str = ""

    def make(self, reply: str, origin: Origin) -> tuple[Written, ...]:
        """Return the tests in a model's reply; () when there is none. Never raises."""
        stem = slug(self.issue.source, self.issue.title)
        try:
            code = code_in(reply)
            singles = split_tests(code, stem) if code else ()
        except (SyntaxError, RecursionError, MemoryError):
            return ()
        found: list[Written] = []
        for single in singles:
            try:
                settled = settle(
                    single,
                    self.index,
                    test_root=self.test_root,
                    host=self.host,
                )
            except (SyntaxError, RecursionError, MemoryError, OSError):
                continue  # not Python for every part of the project's own reading of it
            key = test_key(settled.single.source)
            name = f"test_{stem}_{key[:6]}.py"
            path = f"{settled.folder}/{name}" if settled.folder else name
            test = self._test(settled.single.name, settled.single.source, path, settled.host)
            found.append(
                Written(
                    test=replace(test, origin=origin),
                    key=key,
                    problems=tuple(problem.message for problem in settled.problems),
                )
            )
        return tuple(found)

    def _test(self, name: str, source: str, path: str, host: str) -> CandidateTest:
        title = " ".join(self.issue.title.split())
        return CandidateTest(
            id=content_id(self.issue.id, path, source),
            name=name,
            issue=self.issue.id,
            origin=Origin(strategy=""),
            oracle=Oracle(
                kind=OracleKind.WRITTEN,
                sentence=f"Written by a model from the report {title!r}.",
                prior=OracleKind.WRITTEN.prior,
            ),
            path=path,
            source=source,
            host=host,
        )
