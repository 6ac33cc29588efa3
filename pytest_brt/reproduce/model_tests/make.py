"""From a reply to tests that can be run: code, single tests, places, and ids.

The place is LIBRO's post-processing (paper 001, requirements 20-22 of its code): the test file that
is most like the test takes it, and names that it forgot to import are resolved against the project.
Beyond that, imports that cannot work are looked for elsewhere, and helpers and fixtures that only
the host file has come along, so that the module stands alone.
"""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass

from pytest_brt.agent.blocks import fenced_blocks
from pytest_brt.code.fixtures import PYTEST_FIXTURES, fixtures_in_scope
from pytest_brt.code.imports import check_imports, find_import, resolve
from pytest_brt.code.index import Index
from pytest_brt.codec import content_id
from pytest_brt.observe.suite_folder import SuiteFolder
from pytest_brt.oracle.write import slug
from pytest_brt.reproduce.model_tests.host_file import choose_host, with_names_of
from pytest_brt.reproduce.model_tests.split import Single, laid_out, parses, split_tests
from pytest_brt.syntax.normal import test_key
from pytest_brt.syntax.parse import parse
from pytest_brt.types import CandidateTest, Issue, Oracle, OracleKind, Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A test with its imports, and where it belongs."""

    source: str
    #: The test file that it would be added to, or "".
    host: str
    #: Folder of the project that it is run in, "" for the project's root.
    folder: str
    #: What still cannot work, for the model and the reader, one line each.
    problems: tuple[str, ...]


def settle(source: str, index: Index, *, folder: SuiteFolder, host: str = "") -> Settled:
    """Return a module that has one test with its names resolved.

    It goes to the test file `host`, or without one to that which is most like it; to another one
    where only that has the fixtures that the test asks for. What fits into none goes to the
    `folder` for tests, and so does what would go to a file whose tests cannot be run.

    Raises:
        SyntaxError: the module is not Python.
    """
    source = _with_known_imports(source, index)
    host = choose_host(source, index, host=host)
    fixtures = fixtures_in_scope(host, index) if host else PYTEST_FIXTURES
    if host:
        # The test was written for this file: what its names mean there comes first.
        source = with_names_of(host, source, index)
    source, unknown = resolve(source, index, near=host, fixtures=fixtures)
    problems = {**check_imports(source, index), **unknown}
    host = host if folder.has(host) else ""
    suite = "" if folder.path == "." else folder.path.strip("/")
    return Settled(
        source=laid_out(parse(source).body, source),
        host=host,
        folder=host.rpartition("/")[0] if host else suite,
        problems=tuple(problems.values()),
    )


def _with_known_imports(source: str, index: Index) -> str:
    """Take out imports that cannot work where the project offers the name elsewhere.

    Relative ones go as well: from where the test stands now they mean something else.
    """
    wrong = set(check_imports(source, index))
    changed: list[ast.stmt] = []
    body: list[ast.stmt] = []
    before = parse(source).body
    for node in before:
        if isinstance(node, ast.ImportFrom) and node.level:
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [name for name in node.names if not _is_replaceable(node, name, wrong, index)]
            if not names:
                continue
            if len(names) < len(node.names):
                node.names = names
                changed.append(node)
        body.append(node)
    return laid_out(body, source, changed) if changed or len(body) < len(before) else source


def _is_replaceable(
    node: ast.Import | ast.ImportFrom, alias: ast.alias, wrong: set[str], index: Index
) -> bool:
    module = (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
    whole = f"{module}.{alias.name}" if isinstance(node, ast.ImportFrom) else module
    if alias.name == "*" or not {module, whole} & wrong:
        return False
    bound = alias.asname or alias.name.partition(".")[0]
    return bool(find_import(bound, index))


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
    #: For tests that fit into no file.
    folder: SuiteFolder
    #: The test file that all go to; "" chooses one for each.
    host: str = ""

    def make(self, reply: str, origin: Origin) -> tuple[Written, ...]:
        """Return the tests in a model's reply; () when there is none. Never raises."""
        stem = slug(self.issue.title)
        try:
            code = code_in(reply)
            singles = split_tests(code, stem) if code else ()
        except (SyntaxError, RecursionError, MemoryError):
            return ()
        found: list[Written] = []
        for single in singles:
            try:
                found.append(self._written(single, stem, origin))
            except (SyntaxError, RecursionError, MemoryError, OSError):
                continue  # not Python for every part of the project's own reading of it
        return tuple(found)

    def _written(self, single: Single, stem: str, origin: Origin) -> Written:
        done = settle(single.source, self.index, folder=self.folder, host=self.host)
        key = test_key(done.source)
        name = f"test_{stem}_{key[:6]}.py"
        path = f"{done.folder}/{name}" if done.folder else name
        title = " ".join(self.issue.title.split())
        test = CandidateTest(
            id=content_id(self.issue.id, path, done.source),
            name=single.name,
            issue=self.issue.id,
            origin=origin,
            oracle=Oracle(
                kind=OracleKind.WRITTEN,
                sentence=f"Written by a model from the report {title!r}.",
            ),
            path=path,
            source=done.source,
            host=done.host,
        )
        return Written(test=test, key=key, problems=done.problems)


_TEST = re.compile(r"^\s*(?:async )?def test|^\s*assert\b", re.MULTILINE)
_PROMPT = re.compile(r"^(?:>>> ?|\.\.\. ?|In \[\d+\]: ?)")
_FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,}).*$", re.MULTILINE)
_TAG = re.compile(r"\A\s*(?:python3?|py)\s*\n", re.IGNORECASE)
#: Begins a statement at the margin, or goes on with one.
_CONTINUED = re.compile(r"^(?:else\b|elif\b|except\b|finally\b|[)\]}#]|\s|$)")
#: More than any test has; the rest is not looked at.
_MOST_LINES = 600
#: Pieces that are joined into one statement.
_MOST_JOINED = 6


def code_in(text: str) -> str:
    """Return the Python that `text` holds, "" when there is none; never raises.

    It is what stands in the first fenced block with a test in it, else in the first block, else
    all of the text. Statements that do not parse are left out, one that was cut off ends
    where it still parses.
    """
    text = text.encode("utf-8", "ignore").decode().replace("\r\n", "\n").replace("\0", "")
    blocks, _ = fenced_blocks(text)
    tests = [block for block in blocks if _TEST.search(block)]
    code = _plain(next(iter(tests or blocks), text if not blocks else ""))
    if not parses(code):
        # An answer that was begun for the model and begun by it again has a fence in a fence.
        parts = [_plain(part) for part in _FENCE.split(text)]
        code = next((part for part in parts if _TEST.search(part) and _readable(part)), code)
    return _readable(code)


def _plain(code: str) -> str:
    return textwrap.dedent(_unprompted(_TAG.sub("", code)).expandtabs(4))


def _unprompted(code: str) -> str:
    lines = code.split("\n")
    if not any(line.startswith((">>>", "In [")) for line in lines):
        return code
    return "\n".join(_PROMPT.sub("", line) for line in lines if _PROMPT.match(line))


def _readable(code: str) -> str:
    """Return what parses of `code`, several statements taken together where only that does."""
    if parses(code):
        return code.strip("\n") + "\n" if code.strip() else ""
    parts = _statements("\n".join(code.split("\n")[:_MOST_LINES]))
    kept: list[str] = []
    while parts:
        sizes = range(1, min(_MOST_JOINED, len(parts)) + 1)
        taken = next((n for n in sizes if parses("\n".join(parts[:n]))), 0)
        kept.append("\n".join(parts[:taken]) if taken or parts[1:] else _cut(parts[0]))
        parts = parts[taken or 1 :]
    text = "\n".join(part.strip("\n") for part in kept).strip("\n")
    return f"{text}\n" if text else ""


def _statements(code: str) -> list[str]:
    """Split text where lines begin at the margin; decorators stay with what they decorate."""
    parts: list[list[str]] = []
    decorated = False
    for line in code.split("\n"):
        if parts and (decorated or _CONTINUED.match(line)):
            parts[-1].append(line)
        else:
            parts.append([line])
        if not _CONTINUED.match(line):
            decorated = line.startswith("@")
    return ["\n".join(part) for part in parts]


def _cut(part: str) -> str:
    """Return the beginning of a statement that was cut off, as far as it parses; or ""."""
    lines = part.split("\n")
    shorter = ("\n".join(lines[:last]) for last in range(len(lines) - 1, 0, -1))
    return next(filter(parses, shorter), "")
