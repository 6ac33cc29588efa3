"""From a reply to tests that can be run: code, single tests, places, imports.

The place is LIBRO's (paper 001, requirements 20-22 of its code): the test file that is most like
the test takes it, and names that it forgot to import are looked up in the project.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_brt.agents.reply import fenced_blocks
from pytest_brt.codec import content_id
from pytest_brt.localise.host_files import rank_hosts, read_hosts
from pytest_brt.oracle.write_test import slug
from pytest_brt.project.imports import (
    PYTEST_FIXTURES,
    add_imports,
    check_imports,
    fixtures_in_scope,
    resolve,
)
from pytest_brt.project.index import Index
from pytest_brt.pysource.names import bound_names, undefined_names
from pytest_brt.pysource.normal_form import test_key
from pytest_brt.pysource.parse import Function, bound_targets, first_line, parse, parses
from pytest_brt.types import CandidateTest, Issue, Oracle, OracleKind, Origin

_TEST = re.compile(r"^\s*(?:async )?def test|^\s*assert\b", re.MULTILINE)
_PROMPT = re.compile(r"^(?:>>> ?|\.\.\. ?)")
_HUNK = re.compile(r"^@@ -\d", re.MULTILINE)
#: Statements at the margin that run something or end the run; marks that hide what a test does.
_RUNS = re.compile(
    r"if __name__|pytestmark|(?:pytest\.main|unittest\.main|test\w*|sys\.exit|exit)\("
)
_HIDING = re.compile(
    r"^\s*@.*\.(?:xfail|skip|skipif|skipIf|skipUnless|expectedFailure)\b.*\n", re.M
)
#: Lines of a reply that are looked at, tests in it, helpers that come from the host file.
_LINES, _TESTS, _ADOPTED = 400, 12, 12
_Import = ast.Import | ast.ImportFrom


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A test of a model's, ready to be run."""

    test: CandidateTest
    #: Equal for tests that are the same but for names, layout and comments.
    key: str
    #: What in it cannot work in this project, one line each.
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extractor:
    """Makes tests of the replies to one report."""

    issue: Issue
    index: Index
    #: For tests that fit into no file.
    folder: str
    #: The test file that all go to; "" chooses one for each.
    host: str = ""

    def tests(self, reply: str, origin: Origin) -> tuple[Written, ...]:
        """Return the tests in a model's reply; () where there is none. Never raises."""
        stem = slug(self.issue.title)
        found = []
        try:
            for name, source in split_tests(code_in(reply), f"test_{stem}"):
                found.append(self._written(name, source, stem, origin))
        except (SyntaxError, ValueError, RecursionError, MemoryError, OSError):
            return tuple(found)  # not Python for every part of the project's own reading of it
        return tuple(found)

    def _written(self, name: str, source: str, stem: str, origin: Origin) -> Written:
        source, host, problems = with_imports(source, self.index, self.host)
        suite = "" if self.folder == "." else self.folder.strip("/")
        folder = host.rpartition("/")[0] if host else suite
        key = test_key(source)
        title = " ".join(self.issue.title.split())
        test = CandidateTest(
            id="",
            name=name,
            issue=self.issue.id,
            origin=origin,
            oracle=Oracle(
                kind=OracleKind.WRITTEN,
                sentence=f"Written by a model from the report {title!r}.",
            ),
            path=f"test_{stem}_{key[:6]}.py",
            source=source,
            host=host,
        )
        return Written(test=in_folder(test, folder), key=key, problems=problems)


def in_folder(test: CandidateTest, folder: str) -> CandidateTest:
    """Return a test as it is in a folder of the project, "" for its root."""
    path = f"{folder}/{test.path.rpartition('/')[2]}".lstrip("/")
    return replace(test, path=path, id=content_id(test.issue, path, test.source or ""))


def code_in(reply: str) -> str:
    """Return the Python of a reply: its first block with a test, else its first, else all of it.

    Of a diff it is the lines that are added. What was cut off ends where it still parses.
    """
    text = reply.encode("utf-8", "ignore").decode().replace("\r\n", "\n").replace("\0", "")
    blocks = fenced_blocks(text)
    tests = [block for block in blocks if _TEST.search(block)]
    code = next(iter([*tests, *blocks]), text)
    if _HUNK.search(code):
        code = "\n".join(re.findall(r"^\+(?!\+\+ )(.*)", code, re.MULTILINE))
    lines = textwrap.dedent(code.expandtabs(4)).split("\n")[:_LINES]
    if any(line.startswith(">>>") for line in lines):
        lines = [_PROMPT.sub("", line) for line in lines if _PROMPT.match(line)]
    # What a model says before its code, or behind it, is no Python.
    begins = [n for n, line in enumerate(lines) if re.match(r"from |import |def |class |@", line)]
    for begin in (0, *begins[:1]):
        for end in range(len(lines), begin, -1):
            part = "\n".join(lines[begin:end])
            if parses(part) and (begin == 0 or _TEST.search(part)):
                return f"{part.strip(chr(10))}\n"
    return ""


def split_tests(code: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield name and module of each test in `code`; one called `name` where it has no function.

    Raises:
        SyntaxError: it is not Python.
    """
    code = _HIDING.sub("", code)
    body = parse(code).body
    runs = [node for node in body if _RUNS.match(ast.unparse(node))]
    code = without(code, runs)
    found = list(_tests(parse(code).body))
    if not found and any(isinstance(n, ast.Call | ast.Assert) for n in ast.walk(parse(code))):
        top = [node for node in parse(code).body if isinstance(node, _Import | ast.ClassDef)]
        rest = textwrap.indent(without(code, top).strip("\n"), "    ")
        above = [node for node in parse(code).body if node.lineno not in {n.lineno for n in top}]
        code = f"{without(code, above).strip(chr(10))}\n\n\ndef {name}():\n{rest}\n".lstrip("\n")
        found = list(_tests(parse(code).body))
    for called, node in found[:_TESTS]:
        others = [other for _, other in found if other is not node]
        yield called, only_used(without(code, others), keep=called)


def _tests(body: Sequence[ast.stmt], holder: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Yield the tests of a module with their names, as in "TestX::test_a"."""
    for node in body:
        if isinstance(node, Function) and node.name.startswith("test"):
            yield f"{holder}{node.name}", node
        elif isinstance(node, ast.ClassDef) and not holder:
            is_case = any("TestCase" in ast.unparse(base) for base in node.bases)
            if is_case or node.name.startswith("Test"):
                yield from _tests(node.body, f"{node.name}::")


def without(code: str, nodes: Collection[ast.stmt]) -> str:
    """Return code without some statements, and no more than two empty lines anywhere."""
    lines = code.split("\n")
    for node in sorted(nodes, key=first_line, reverse=True):
        del lines[first_line(node) - 1 : node.end_lineno]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).strip("\n") + "\n"


def only_used(code: str, keep: str) -> str:
    """Return a module without imports, helpers and classes that nothing in it uses."""
    while True:
        unused = []
        for node in parse(code).body:
            names: list[str] = []
            if isinstance(node, _Import):
                names = [(one.asname or one.name.partition(".")[0]) for one in node.names]
                is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
                names = [] if "*" in names or is_future else names
            elif isinstance(node, Function | ast.ClassDef):
                is_auto = "autouse" in "".join(map(ast.unparse, node.decorator_list))
                names = [] if is_auto or node.name in keep.split("::") else [node.name]
            rest = without(code, [node])
            if names and not any(re.search(rf"\b{re.escape(name)}\b", rest) for name in names):
                unused.append(node)
        if not unused:
            return code
        code = without(code, unused)


# -- imports, and what the host file has --


def with_imports(source: str, index: Index, host: str) -> tuple[str, str, tuple[str, ...]]:
    """Return a test with its names resolved, its host file, and what still cannot work.

    An import that cannot work goes: what it bound is looked for in the project.

    Raises:
        SyntaxError: it is not Python.
    """
    host = host or next(iter(rank_hosts(source, read_hosts(index))), "")
    wrong = check_imports(source, index)
    broken = [
        node
        for node in parse(source).body
        if isinstance(node, ast.ImportFrom)
        and (
            node.level or {node.module, *(f"{node.module}.{a.name}" for a in node.names)} & {*wrong}
        )
    ]
    bare = without(source, broken)
    fixtures = fixtures_in_scope(host, index) if host else PYTEST_FIXTURES
    if host:
        bare = _with_helpers(bare, host, index)
    found, unknown = resolve(bare, index, near=host, fixtures=fixtures)
    lost = {alias.asname or alias.name for node in broken for alias in node.names} & {*unknown}
    if lost:  # nothing else has them: the import says what the model meant
        found = add_imports(found, [ast.unparse(node) for node in broken if not node.level])
    problems = {
        **check_imports(found, index),
        **{n: w for n, w in unknown.items() if n not in lost},
    }
    return _spaced(found), host, tuple(problems.values())


def _spaced(source: str) -> str:
    """Return a module with two empty lines before and behind its definitions."""
    lines = source.strip("\n").split("\n")
    tree = parse("\n".join(lines))
    breaks = {first_line(n) - 1 for n in tree.body if isinstance(n, Function | ast.ClassDef)}
    breaks |= {n.end_lineno or 0 for n in tree.body if isinstance(n, Function | ast.ClassDef)}
    out: list[str] = []
    for number, line in enumerate(lines):
        if number in breaks and out:
            while out and not out[-1].strip():
                out.pop()
            out += ["", ""]
        if line.strip() or not out or number not in breaks:
            out.append(line)
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(out)).rstrip("\n") + "\n"


def _with_helpers(source: str, host: str, index: Index) -> str:
    """Return a test with helpers, fixtures and imports that its host file has for its names."""
    try:
        text = index.source(host)
        theirs = parse(text).body
    except (SyntaxError, OSError):
        return source
    known: dict[str, ast.stmt] = {}
    for node in (node for node in theirs if not isinstance(node, _Import)):
        names = [node.name] if isinstance(node, Function | ast.ClassDef) else bound_targets(node)
        known |= {name: node for name in names if name not in known}
    lines = text.split("\n")
    for _ in range(_ADOPTED):
        wanted = {*undefined_names(source), *_arguments(source)} - bound_names(source)
        name = next((name for name in sorted(wanted) if name in known), "")
        if not name:
            break
        helper = known.pop(name)
        source = add_imports(source, lines[first_line(helper) - 1 : helper.end_lineno])
    imports = {item.bound: item.statement for item in index.imports_in(host)}
    missing = [imports[name] for name in undefined_names(source) if name in imports]
    return add_imports(source, [way for way in dict.fromkeys(missing) if "*" not in way])


def _arguments(source: str) -> Iterator[str]:
    """Yield the arguments of tests and fixtures that no default gives."""
    for node in ast.walk(parse(source)):
        marks = (
            " ".join(map(ast.unparse, node.decorator_list)) if isinstance(node, Function) else ""
        )
        if isinstance(node, Function) and (node.name.startswith("test") or "fixture" in marks):
            count = len(node.args.args) - len(node.args.defaults)
            names = [argument.arg for argument in node.args.args[:count]]
            yield from (name for name in names if name != "self" and name not in marks)
