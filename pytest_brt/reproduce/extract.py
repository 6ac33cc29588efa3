"""From a reply to tests that can be run: code, single tests, places, imports.

The place is LIBRO's (paper 001, requirements 20-22 of its code): the test file that is most like
the test takes it, and names that it forgot to import are looked up in the project.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Collection, Iterator
from contextlib import suppress

from pytest_brt.agents.reply import fenced_blocks
from pytest_brt.codec import content_id
from pytest_brt.edit.source_text import slug
from pytest_brt.localise.suspects import host_of
from pytest_brt.project.imports import add_imports, can_import, resolve
from pytest_brt.project.index import Index
from pytest_brt.pysource.names import bound_names, undefined_names
from pytest_brt.pysource.normal_form import test_key
from pytest_brt.pysource.parse import (
    Function,
    code_of,
    find_tests,
    first_line,
    parse,
    parses,
)
from pytest_brt.types import CandidateTest, Issue, Oracle, Origin

_TEST = re.compile(r"^\s*(?:async )?def test", re.MULTILINE)
_BEGINS = re.compile(r"^(?:from |import |def |class |@)", re.MULTILINE)
_HUNK = re.compile(r"^@@ -\d", re.MULTILINE)
_ADDED = re.compile(r"^\+(?!\+\+ )(.*)", re.MULTILINE)
#: Statements at the margin that run something or end the run; marks that hide what a test does.
_RUNS = re.compile(
    r"if __name__|pytestmark|(?:pytest\.main|unittest\.main|test\w*|sys\.exit|exit)\("
)
#: A class of tests without the base by which pytest would know it, or could run what it calls.
_BASELESS = re.compile(
    r"^class ((?!Test)\w{0,80}Test\w{0,80}"
    r"|Test\w{0,80}(?=:\n(?:(?:[ \t].*)?\n)*?[ \t].*\bself\.assert)):",
    re.MULTILINE,
)
_HIDING = re.compile(r"\.(?:xfail|skip|skipif|skipIf|skipUnless|expectedFailure)\b")
#: Definitions that do something though nobody names them.
_ACTING = re.compile(r"autouse|__future__|import \*")
#: Lines of a reply that are looked at, tests in it, helpers that come from the host file.
_LINES, _TESTS, _ADOPTED = 400, 12, 12


def read_tests(
    reply: str,
    issue: Issue,
    index: Index,
    origin: Origin,
    folder: str,
    host: str | None = None,
) -> list[CandidateTest]:
    """Return the tests in a model's reply to a report, [] where there is none. Never raises.

    Their paths are equal for tests that are the same but for names, layout and comments. All go to
    the test file `host`; "" is for none, None chooses one for each. What fits into no file goes
    into `folder`.
    """
    tests = []
    title = " ".join(issue.title.split())
    sentence = f"Written by a model from the report {title!r}."
    # It may not be Python for every part of the project's own reading of it.
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError, OSError):
        for name, bare in split_tests(code_in(reply)):
            source, home = with_imports(bare, index, host)
            near = home.rpartition("/")[0] if home else folder.strip("./")
            path = f"{near}/test_{slug(title)}_{test_key(source)[:6]}.py".lstrip("/")
            test = CandidateTest(
                id=content_id(issue.id, path, source),
                name=name,
                issue=issue.id,
                origin=origin,
                oracle=Oracle(sentence=sentence),
                path=path,
                source=source,
                host=home,
            )
            tests.append(test)
    return tests


def code_in(reply: str) -> str:
    """Return the Python of a reply: its first block with a test, else its first, else all of it.

    Of a diff it is the lines that are added. What was cut off ends where it still parses.
    """
    text = reply.replace("\r\n", "\n")
    blocks = fenced_blocks(text)
    code = next(iter([*filter(_TEST.search, blocks), *blocks]), text)
    if _HUNK.search(code):
        code = "\n".join(_ADDED.findall(code))
    code = textwrap.dedent(code.expandtabs(4))
    # What a model says before its code, or behind it, is no Python.
    begin = _BEGINS.search(code)
    lines = code[begin.start() if begin and not blocks else 0 :].split("\n")[:_LINES]
    for end in range(len(lines), 0, -1):
        shorter = "\n".join(lines[:end])
        if parses(shorter):
            return shorter.strip("\n") + "\n"
    return ""


def split_tests(code: str) -> Iterator[tuple[str, str]]:
    """Yield name and module of each test in `code`.

    Raises:
        SyntaxError: it is not Python.
    """
    code = _BASELESS.sub(r"class \1(unittest.TestCase):", code)
    tree = parse(code)
    hiding = [
        mark
        for one in ast.walk(tree)
        for mark in getattr(one, "decorator_list", ())
        if _HIDING.search(code_of(mark).partition("(")[0])
    ]
    running = [node for node in tree.body if _RUNS.match(code_of(node))]
    code = without(code, [*hiding, *running])
    found = list(find_tests(parse(code).body))
    for name, node in found[:_TESTS]:
        others = [other for _, other in found if other is not node]
        yield name, only_used(without(code, others), name)


def without(code: str, nodes: Collection[ast.stmt | ast.expr]) -> str:
    """Return code without the lines of some of it, and no more than two empty lines anywhere."""
    gone = {
        n for node in nodes for n in range(first_line(node), (node.end_lineno or 0) + 1)
    }
    lines = [line for n, line in enumerate(code.split("\n"), 1) if n not in gone]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).strip("\n") + "\n"


def only_used(code: str, keep: str) -> str:
    """Return a module without imports, helpers and classes that nothing in it uses."""
    code = without(code, [])
    for node in reversed(parse(code).body):  # what stands above keeps its lines
        if isinstance(node, Function | ast.ClassDef | ast.Import | ast.ImportFrom):
            text, rest = code_of(node), without(code, [node])
            names = bound_names(text) - {*keep.split("::")}
            is_unused = names.isdisjoint(re.findall(r"\w+", rest))
            code = rest if names and is_unused and not _ACTING.search(text) else code
    return code


# -- imports, and what the host file has --


def with_imports(source: str, index: Index, host: str | None) -> tuple[str, str]:
    """Return a test with its names resolved, and its host file.

    An import that cannot work goes: what it bound is looked for in the project.

    Raises:
        SyntaxError: it is not Python.
    """
    if host is None:
        host = host_of(source, index)
    failing = [
        node
        for node in parse(source).body
        if isinstance(node, ast.ImportFrom) and not can_import(node, index)
    ]
    bare = without(source, failing)
    found = resolve(_with_helpers(bare, host, index), index, near=host)
    found = re.sub(
        r"^((?:import|from) .*\n)(?=@|def |class |async )", r"\1\n\n", found, flags=re.M
    )
    return without(found, []), host


def _with_helpers(source: str, host: str, index: Index) -> str:
    """Return a test with helpers and fixtures that its host file has for its names."""
    known = {one.name: one for one in reversed(index.definitions_in(host)) if one.top}
    imported = {one.bound: one.statement for one in index.imports_in(host) if one.name}
    for _ in range(_ADOPTED):
        arguments = {
            node.arg for node in ast.walk(parse(source)) if isinstance(node, ast.arg)
        }
        wanted = arguments.union(undefined_names(source)) - bound_names(source)
        if fixtures := arguments & wanted & imported.keys():
            source = add_imports(source, [imported.pop(name) for name in sorted(fixtures)])
            continue
        name = min(wanted & known.keys(), default="")
        if not name:
            break
        helper = known.pop(name)
        lines = index.lines(helper)
        source = add_imports(source, ["", "", lines, "", ""])
    return source
