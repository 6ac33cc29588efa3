"""Runs a command of the project on the report's files, and keeps what came of it."""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_brt.execute.engine import Engine, Program
from pytest_brt.execute.subject import Subject
from pytest_brt.observe.complete import completed
from pytest_brt.observe.project import main_packages
from pytest_brt.reading.reported_files import Command, File, ReportedFiles, read_reported_files
from pytest_brt.reading.steps import ClaimRole
from pytest_brt.types import FileChange, Issue

_BUILDS = re.compile(
    r"source_?dir\w*\W+(?:.{0,40}\W)?output_?dir|<?sourcedir>?\s+<?outputdir>?", re.IGNORECASE
)
_INI_LINE = re.compile(r"^\s*[\w.-]+\s*[=:]")
#: Commands of one report that are run.
_MOST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRun:
    """One command, the files it was run on, and what it did on the buggy tree."""

    command: Command
    entry: EntryPoint
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

    reported: ReportedFiles
    played: tuple[CommandRun, ...]


def play(issue: Issue, engine: Engine) -> CommandRuns:
    """Run the commands of the project that the report shows, or that its files are for."""
    known = entries(engine.subject)
    reported = read_reported_files(issue, frozenset(known))
    if not known or not (reported.commands or reported.files):
        return CommandRuns(reported=reported, played=())
    safe = (_whole(file) for file in reported.files if _is_safe(file.path))
    paths = [file.path for file in reported.files]
    files = tuple(completed(file, issue.text, paths, engine.subject) for file in safe)
    commands = [c for c in reported.commands if c.role is not ClaimRole.CONTRAST]
    given = bool(commands)
    if not commands and files:
        shown = {file.path for file in files}
        if not (reported.quotes or reported.named):
            files = ()  # snippets alone: nothing that a command would be about
        commands, files = _for_files(known, files, engine)
        files = tuple(
            completed(file, issue.text, paths, engine.subject, empty=file.path not in shown)
            for file in files
        )
    played = [
        _run(known[command.name], command, files, reported, engine, given=given)
        for command in commands[:_MOST]
    ]
    return CommandRuns(reported=reported, played=tuple(one for one in played if one is not None))


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
    known: dict[str, EntryPoint], files: tuple[File, ...], engine: Engine
) -> tuple[list[Command], tuple[File, ...]]:
    documents = [file.path for file in files if file.path.endswith(".rst")]
    python = [file.path for file in files if file.path.endswith(".py")]
    if documents:
        builder = _builder(known, engine)
        if builder:
            extra = [] if "conf.py" in python else [File(path="conf.py", content="")]
            if not any(path == "index.rst" for path in documents):
                names = "\n".join(f"   {path.removesuffix('.rst')}" for path in documents)
                extra.append(File(path="index.rst", content=f".. toctree::\n\n{names}\n"))
            command = Command(name=builder, arguments=(".", "_build"), role=ClaimRole.SHOWN)
            return [command], (*files, *extra)
    own = [name for name in known if name in engine.subject.packages]
    if own and python:
        command = Command(name=own[0], arguments=tuple(python), role=ClaimRole.SHOWN)
        return [command], files
    return [], files


def _builder(known: dict[str, EntryPoint], engine: Engine) -> str:
    """Return the command whose help says that it takes a source and an output folder."""
    for name, entry in known.items():
        seen = _observe(_statement(entry, ("--help",), ()), (), engine)
        if seen is not None and _BUILDS.search(" ".join(seen[1].split())):
            return name
    return ""


def _run(
    entry: EntryPoint,
    command: Command,
    files: tuple[File, ...],
    reported: ReportedFiles,
    engine: Engine,
    *,
    given: bool,
) -> CommandRun | None:
    paths = {*(quote.path for quote in reported.quotes if quote.path), *(f.path for f in files)}
    statement = _statement(entry, command.arguments, tuple(sorted(paths)))
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
        entry=entry,
        files=files,
        status=status,
        output=output,
        written=tuple(sorted(written.items())),
        given=given,
    )


def _statement(entry: EntryPoint, arguments: tuple[str, ...], paths: tuple[str, ...]) -> str:
    return (
        f"(lambda run, sys, path: (lambda done: (done.returncode, done.stdout[-6000:], "
        f"done.stderr[-6000:], {{name: path(name).read_text(encoding='utf-8', errors='replace')"
        f"[:4000] for name in {paths!r} if path(name).is_file()}}))"
        f"(run([sys.executable, *{entry.start!r}, *{arguments!r}], capture_output=True, "
        "encoding='utf-8', errors='replace', stdin=-3)))"
        "(__import__('subprocess').run, __import__('sys'), __import__('pathlib').Path)"
    )


def _observe(
    statement: str, files: tuple[File, ...], engine: Engine
) -> tuple[int, str, dict[str, str]] | None:
    """Return exit status, output and files; None when it was not run."""
    changes = tuple(FileChange(path=f.path, content=f.content.encode()) for f in files)
    program = Program(statements=(statement,), files=changes, statement_seconds=40.0)
    observed = engine.observe(program).observed
    value = observed[0].value if observed else None
    if value is None:
        return None
    try:
        status, out, err, written = ast.literal_eval(value.repr)
    except (ValueError, SyntaxError):
        return None
    return status, f"{out}\n{err}" if err else out, written


_SETUP = re.compile(r"""["']([\w.-]+)\s*=\s*([\w.]+):([\w.]+)["']""")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPoint:
    """One command of the project."""

    name: str
    #: How a test starts it: the arguments after the interpreter.
    start: tuple[str, ...]


def entries(subject: Subject) -> dict[str, EntryPoint]:
    """Return the commands by name: installed scripts, and packages that can be run with -m."""
    root = Path(subject.root)
    found: dict[str, EntryPoint] = {}
    for name, target in _scripts(root):
        module, _, function = target.partition(":")
        if function and name not in found:
            found[name] = EntryPoint(name=name, start=_start(subject, name, module, function))
    for package in main_packages(subject):
        if package not in found and _runs(subject, package):
            found[package] = EntryPoint(name=package, start=("-m", package))
    return found


def _start(subject: Subject, name: str, module: str, function: str) -> tuple[str, ...]:
    if name in subject.packages and _runs(subject, name):
        return ("-m", name)
    head = function.split(".", maxsplit=1)[0]
    code = (
        f"import sys; from {module} import {head}; sys.argv[0] = {name!r}; sys.exit({function}())"
    )
    return ("-c", code)


def _runs(subject: Subject, package: str) -> bool:
    root = Path(subject.root)
    return any(
        (root / source / package / "__main__.py").is_file()
        or "__main__" in _read(root / source / f"{package}.py")
        for source in subject.source_roots
    )


def _scripts(root: Path) -> list[tuple[str, str]]:
    return [*_pyproject(root), *_setup_cfg(root), *_setup_py(root)]


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _pyproject(root: Path) -> list[tuple[str, str]]:
    try:
        data = tomllib.loads(_read(root / "pyproject.toml"))
    except tomllib.TOMLDecodeError:
        return []
    poetry = data.get("tool", {}).get("poetry", {}).get("scripts", {})
    scripts = {**poetry, **data.get("project", {}).get("scripts", {})}
    return [(name, target) for name, target in scripts.items() if isinstance(target, str)]


def _setup_cfg(root: Path) -> list[tuple[str, str]]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(_read(root / "setup.cfg"))
    except configparser.Error:
        return []
    text = parser.get("options.entry_points", "console_scripts", fallback="")
    lines = [line.split("=", 1) for line in text.splitlines() if "=" in line]
    return [(name.strip(), target.strip()) for name, target in lines]


def _setup_py(root: Path) -> list[tuple[str, str]]:
    text = _read(root / "setup.py")
    start = text.find("console_scripts")
    if start < 0:
        return []
    end = text.find("]", start)
    part = text[start : end if end > 0 else len(text)]
    return [(m[1], f"{m[2]}:{m[3]}") for m in _SETUP.finditer(part)]
