"""Runs a command of the project on the report's files, and keeps what came of it."""

from __future__ import annotations

import ast
import contextlib
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from pytest_brt.code.layout import is_test_path
from pytest_brt.execute.engine import Engine, Program
from pytest_brt.execute.layout import files_of
from pytest_brt.issue.files import Command, File, ReportedFiles, read_files
from pytest_brt.observe.project import main_packages
from pytest_brt.syntax.parse import parse, parses
from pytest_brt.types import FileChange
from pytest_brt.types.reading import ClaimRole, Reading
from pytest_brt.types.subject import Subject

_BUILDS = re.compile(
    r"source_?dir\w*\W+(?:.{0,40}\W)?output_?dir|<?sourcedir>?\s+<?outputdir>?", re.IGNORECASE
)
#: A script as both set-up files write it, and where the list of them ends.
_SCRIPT = re.compile(r"([\w.-]+)\s*=\s*([\w.]+):([\w.]+)")
_END_OF_SCRIPTS = re.compile(r"\]|\n\[|\n\s*\n")
_INI_LINE = re.compile(r"^\s*[\w.-]+\s*[=:]")
#: Commands of one report that are run.
_MOST = 3
_WORD = re.compile(r"[a-z]{4,}")
#: Examples of settings read at most, and bytes of each.
_MOST_FILES, _MOST_BYTES = 400, 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRun:
    """One command, the files it was run on, and what it did on the buggy tree."""

    command: Command
    #: How a test starts it: the arguments after the interpreter.
    start: tuple[str, ...]
    files: tuple[File, ...]
    status: int
    #: Standard output, then standard error.
    output: str
    #: Content of the given files, and of those the report shows as written, by path; the
    #: first 4,000 characters.
    written: tuple[tuple[str, str], ...] = ()
    #: The report shows the command itself; else it was worked out from its files.
    given: bool = True
    #: All that the same command prints where its files are empty: banners, nothing of the bug.
    control: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRuns:
    """What a report says of files and commands, and what the commands did."""

    reading: Reading
    reported: ReportedFiles
    played: tuple[CommandRun, ...]


def play(reading: Reading, engine: Engine) -> CommandRuns:
    """Run the commands of the project that the report shows, or that its files are for."""
    known = entries(engine.subject)
    reported = read_files(reading, frozenset(known))
    files = tuple(_whole(file) for file in reported.files if _is_safe(file.path))
    commands = [c for c in reported.commands if c.role is not ClaimRole.CONTRAST]
    given = bool(commands)
    # Snippets alone are nothing that a command would be about.
    if not given and (reported.quotes or reported.named):
        commands, files = _for_files(known, files, engine)
    if commands:
        paths = [file.path for file in reported.files]
        files = tuple(completed(file, reading.issue.text, paths, engine.subject) for file in files)
    played = (
        _run(known[command.name], command, files, reported, engine, given=given)
        for command in commands[:_MOST]
    )
    done = tuple(one for one in played if one is not None)
    return CommandRuns(reading=reading, reported=reported, played=done)


def _is_safe(path: str) -> bool:
    return not path.startswith(("/", "~")) and ".." not in path.split("/")


def _whole(file: File) -> File:
    """Complete a fragment: settings without the section that every ini file needs."""
    first = next((line for line in file.content.split("\n") if line.strip()), "")
    ini = file.path.endswith((".ini", ".cfg", "rc"))
    if ini and _INI_LINE.match(first) and "[" not in first.split("=")[0]:
        return replace(file, content=f"[main]\n{file.content}")
    return file


def _for_files(
    known: dict[str, tuple[str, ...]], files: tuple[File, ...], engine: Engine
) -> tuple[list[Command], tuple[File, ...]]:
    documents = [file.path for file in files if file.path.endswith(".rst")]
    python = [file.path for file in files if file.path.endswith(".py")]
    builder = _builder(known, engine) if documents else ""
    if builder:
        extra = [] if "conf.py" in python else [File(path="conf.py", content="")]
        if "index.rst" not in documents:
            names = "\n".join(f"   {path.removesuffix('.rst')}" for path in documents)
            extra.append(File(path="index.rst", content=f".. toctree::\n\n{names}\n"))
        command = Command(name=builder, arguments=(".", "_build"), role=ClaimRole.SHOWN)
        return [command], (*files, *extra)
    own = [name for name in known if name in engine.subject.packages]
    if own and python:
        command = Command(name=own[0], arguments=tuple(python), role=ClaimRole.SHOWN)
        return [command], files
    return [], files


def _builder(known: dict[str, tuple[str, ...]], engine: Engine) -> str:
    """Return the command whose help says that it takes a source and an output folder."""
    for name, start in known.items():
        seen = _observe(_statement(start, ("--help",), ()), (), engine)
        if seen is not None and _BUILDS.search(" ".join(seen[1].split())):
            return name
    return ""


def _run(
    start: tuple[str, ...],
    command: Command,
    files: tuple[File, ...],
    reported: ReportedFiles,
    engine: Engine,
    *,
    given: bool,
) -> CommandRun | None:
    paths = {*(quote.path for quote in reported.quotes if quote.path), *(f.path for f in files)}
    statement = _statement(start, command.arguments, tuple(sorted(paths)))
    seen = _observe(statement, files, engine)
    if seen is None:
        return None
    status, output, written = seen
    # What the report is about stands in its documents; without any, in its code.
    documents = [file for file in files if not file.path.endswith((".py", ".ini", ".cfg", ".toml"))]
    about = documents or [file for file in files if file.path.endswith(".py")]
    empty = tuple(replace(file, content="") for file in about)
    others = tuple(file for file in files if file not in about)
    control = _observe(statement, (*others, *empty), engine) if empty else None
    return CommandRun(
        control=control[1] if control else "",
        command=command,
        start=start,
        files=files,
        status=status,
        output=output,
        written=tuple(sorted(written.items())),
        given=given,
    )


def _statement(start: tuple[str, ...], arguments: tuple[str, ...], paths: tuple[str, ...]) -> str:
    return (
        f"(lambda run, sys, path: (lambda done: (done.returncode, done.stdout[-6000:], "
        f"done.stderr[-6000:], {{name: path(name).read_text(encoding='utf-8', errors='replace')"
        f"[:4000] for name in {paths!r} if path(name).is_file()}}))"
        f"(run([sys.executable, *{start!r}, *{arguments!r}], capture_output=True, "
        "encoding='utf-8', errors='replace', stdin=-3)))"
        "(__import__('subprocess').run, __import__('sys'), __import__('pathlib').Path)"
    )


def _observe(
    statement: str, files: tuple[File, ...], engine: Engine
) -> tuple[int, str, dict[str, str]] | None:
    """Return exit status, output and files; None when it was not run."""
    changes = tuple(FileChange(path=f.path, content=f.content.encode()) for f in files)
    program = Program(statements=(statement,), files=changes, statement_share=2 / 3)
    observed = engine.observe(program).observed
    value = observed[0].value if observed else None
    if value is None:
        return None
    try:
        status, out, err, written = ast.literal_eval(value.repr)
    except (ValueError, SyntaxError):
        return None
    return status, f"{out}\n{err}" if err else out, written


def completed(file: File, text: str, paths: Collection[str], subject: Subject) -> File:
    """Return `file` with the settings it lacks, from the example most like the report's `text`.

    A report gives the two settings that matter; the tool needs the others, too, such as the list
    of its plugins. The project's tests hold settings files of the same name that work. Of other
    examples the usual setting is taken that names a folder of the report's `paths`. A file of no
    settings is completed only where the report does not show it, and a tool needs it.
    """
    own = _settings(file.content) if file.path.endswith(".py") else None
    if own is None or not (own or file.path not in paths):
        return file
    examples = _examples(subject, file.path.rpartition("/")[2])
    frequency = Counter(word for example in examples for word in _words(example))
    rare = {word for word, count in frequency.items() if count <= max(1, len(examples) // 3)}
    alike = {example: len(_words(example) & _words(text) & rare) for example in examples}
    best = max(alike, key=lambda example: (alike[example], -len(example)), default="")
    if not alike.get(best):
        return file
    lacking = {name: line for name, line in (_settings(best) or {}).items() if name not in own}
    folders = [repr(path.split("/")[0]) for path in paths if "/" in path]
    about = Counter(
        line
        for example in examples
        for name, line in (_settings(example) or {}).items()
        if name not in own | lacking and any(folder in line for folder in folders)
    )
    lines = [*lacking.values(), *(line for line, _ in about.most_common(1)), file.content]
    return replace(file, content="\n".join(lines).strip("\n") + "\n")


def _settings(content: str) -> dict[str, str] | None:
    """Return the lines of a file of settings by the names they set; None where it is another."""
    found: dict[str, str] = {}
    for node in parse(content).body if parses(content) else (ast.Pass(),):
        line = ast.unparse(node)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = line
        elif isinstance(node, ast.Import | ast.ImportFrom | ast.Expr):
            found[line] = line
        else:
            return None
    return found


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _examples(subject: Subject, name: str) -> list[str]:
    """Return the short Python files of that name among the project's tests."""
    root = Path(subject.root)
    named = (p for p in files_of(root) if p.rpartition("/")[2] == name and is_test_path(p))
    data = ((root / path).read_bytes()[:_MOST_BYTES] for path in named)
    texts = (part.decode("utf-8", "replace") for part in data)
    return sorted(islice(filter(_settings, texts), _MOST_FILES))


def entries(subject: Subject) -> dict[str, tuple[str, ...]]:
    """Return how the project's commands are started, by name: the arguments after the interpreter.

    These are the scripts that it installs, and the packages that can be run with -m.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, module, function in _scripts(Path(subject.root)):
        if name in subject.packages and _runs(subject, name):
            start = ("-m", name)
        else:
            head = function.partition(".")[0]
            enter = f"sys.argv[0] = {name!r}; sys.exit({function}())"
            start = ("-c", f"import sys; from {module} import {head}; {enter}")
        found.setdefault(name, start)
    for package in main_packages(subject):
        if package not in found and _runs(subject, package):
            found[package] = ("-m", package)
    return found


def _runs(subject: Subject, package: str) -> bool:
    root = Path(subject.root)
    return any(
        (root / source / package / "__main__.py").is_file()
        or "__main__" in _read(root / source / f"{package}.py")
        for source in subject.source_roots
    )


def _scripts(root: Path) -> Iterator[tuple[str, str, str]]:
    """Yield name, module and function of each script that the project's metadata declares."""
    with contextlib.suppress(tomllib.TOMLDecodeError):
        data = tomllib.loads(_read(root / "pyproject.toml"))
        poetry = data.get("tool", {}).get("poetry", {}).get("scripts", {})
        for name, target in {**poetry, **data.get("project", {}).get("scripts", {})}.items():
            if isinstance(target, str) and ":" in target:
                module, _, function = target.partition(":")
                yield name, module, function
    for file in ("setup.cfg", "setup.py"):
        below = _read(root / file).partition("console_scripts")[2]
        for match in _SCRIPT.finditer(_END_OF_SCRIPTS.split(below)[0]):
            yield match[1], match[2], match[3]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
