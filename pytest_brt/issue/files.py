"""What a report says of files, and of commands that are run on them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass

from pytest_brt.issue.sessions import read_shell
from pytest_brt.issue.words import role_of
from pytest_brt.syntax.parse import parses
from pytest_brt.types import Block, BlockKind
from pytest_brt.types.reading import BlockInContext, ClaimRole, Reading

#: The name of a file that a report may show.
NAME = r"(?:[\w.-]+/)*(?:[\w-]+\.(?:py|pyi|ini|cfg|toml|rst|txt|md|ya?ml|json|html|conf)|\.\w+rc)"
_PYTHON = re.compile(r"^(?:python[\d.]*|py)\s+-m\s+(?P<rest>.*)$")
_ENDS_COMMAND = re.compile(r"\s*(?:\||&&|;|>|2>|<)\s")
#: What `--version` prints after the command's name.
_VERSION = re.compile(r"v?\d+(?:\.\w+)+,?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command line of the project that the report shows."""

    name: str
    arguments: tuple[str, ...]
    role: ClaimRole


_FIRST_LINE = re.compile(rf"^\s*(?:#|//|;|\.\.|<!--)\s*(?P<name>{NAME})\s*(?:-->)?:?\s*$")
_IN_PROSE = re.compile(rf"(?<![\w/.-])(?P<name>{NAME})(?![\w/-])")
#: Where a tool saw something: a file and a line in it.
_PLACE = re.compile(rf"^{NAME}:\d+(?::\d+)?:?")
_TREE_LINE = re.compile(r"^(?P<indent>[\s|│]*)(?:[`|+├└][-─ ]+)\s*(?P<name>[\w.-]+/?)\s*(?:#.*)?$")
#: Words before the name of a tool without arguments that make it a command.
_RUNS = re.compile(
    r"\b(?:run(?:s|ning)?|ran|execut\w+|invok\w+|call(?:s|ed|ing)?|start(?:s|ed|ing)?|launch\w*"
    r"|typ(?:e|ed|ing)|command(?: line)?)\b[^.;]{0,30}$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that the report shows."""

    path: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """Output, or the content of a written file, that the report shows."""

    text: str
    role: ClaimRole
    #: The file it is the content of, "" for what a command printed.
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFiles:
    """Files, commands and outputs of a report, in document order."""

    files: tuple[File, ...]
    commands: tuple[Command, ...]
    quotes: tuple[Quote, ...]
    #: Sentences that say what happens, and what should.
    observed: tuple[str, ...]
    expected: tuple[str, ...]
    #: The report itself names a file or shows a document; not all names are made up.
    named: bool = True


def read_files(reading: Reading, names: Collection[str]) -> ReportedFiles:
    """Return the files, commands (those in `names`) and outputs of a report."""
    reader = _Reader(names)
    for place in reading.blocks:
        reader.read(place)
    return reader.reported()


class _Reader:
    """Walks the blocks; what was announced decides what a block is."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._files: dict[str, str] = {}
        self._commands: dict[tuple[str, tuple[str, ...]], Command] = {}
        self._quotes: list[Quote] = []
        self._unnamed: list[Block] = []
        self._observed: list[str] = []
        self._expected: list[str] = []
        self._named = ""

    def read(self, place: BlockInContext) -> None:
        block = place.block
        if block.kind is BlockKind.HEADING:
            self._named = _name_in(block.text)
            self._sentences(place)
        elif block.kind is BlockKind.PROSE:
            self._sentences(place)
            name = _name_in(block.text.strip().split("\n")[-1])
            # What follows a command on a file is what came of it, and not that file.
            run = name and any(name in c.arguments for c in self._commands.values())
            self._named = "" if run and name in self._files else name
        elif block.kind is BlockKind.SHELL:
            self._shell(block, place.role)
        elif _is_tree(block.text):
            for path in _tree_paths(block.text):
                self._files.setdefault(path, "")
        else:
            self._content(block, place.role)

    def reported(self) -> ReportedFiles:
        named = bool(self._files)
        self._name_unnamed()
        return ReportedFiles(
            named=named or any(not path.endswith(".py") for path in self._files),
            files=tuple(File(path=path, content=text) for path, text in self._files.items()),
            commands=tuple(self._commands.values()),
            quotes=tuple(self._quotes),
            observed=tuple(self._observed),
            expected=tuple(self._expected),
        )

    def _sentences(self, place: BlockInContext) -> None:
        for sentence in place.sentences:
            role = role_of(sentence.text)
            if role is ClaimRole.SHOWN:
                role = place.section
            if role is ClaimRole.OBSERVED:
                self._observed.append(sentence.text)
            elif role is ClaimRole.EXPECTED:
                self._expected.append(sentence.text)
            for span in sentence.spans:
                # A name alone is mostly the library's; to run it must be said.
                runs = " " in span.text or _RUNS.search(
                    sentence.text[max(0, span.start - 60) : span.start]
                )
                if not (runs and self._command(span.text, role)) and _is_message(span.text):
                    self._quotes.append(Quote(text=span.text, role=role))

    def _shell(self, block: Block, role: ClaimRole) -> None:
        """Commands with their output; without prompts, what follows a command is its output."""
        printed: list[str] | None = None
        for exchange in read_shell(block.text):
            if self._command(exchange.source, role):
                self._quote(printed, role)
                printed = [exchange.output]
            elif self._files.keys() & set(exchange.source.split()):
                self._quote([exchange.output], role)  # another tool's, on the same file
            elif printed is not None and not exchange.output:
                printed.append(exchange.source)
        self._quote(printed, role)

    def _quote(self, lines: list[str] | None, role: ClaimRole) -> None:
        text = "\n".join(lines or ()).strip("\n")
        if text.strip():
            self._quotes.append(Quote(text=text, role=role))

    def _command(self, text: str, role: ClaimRole) -> bool:
        """Say whether `text` is one of the project's commands, and keep what is to be run."""
        module = _PYTHON.match(text.strip())
        text = _ENDS_COMMAND.split(module["rest"] if module else text.strip())[0]
        try:
            words = shlex.split(text, comments=True)
        except ValueError:
            return False
        if not words or words[0] not in self._names or len(text) > 400:
            return False
        name, arguments = words[0], tuple(words[1:])
        printed = len(arguments) == 1 and _VERSION.fullmatch(arguments[0])
        if not (printed or "--version" in arguments or "--help" in arguments or "\n" in text):
            command = Command(name=name, arguments=arguments, role=role)
            self._commands.setdefault((name, arguments), command)
        return True

    def _content(self, block: Block, role: ClaimRole) -> None:
        first, _, rest = block.text.partition("\n")
        marked = _FIRST_LINE.match(first)
        judged = role in (ClaimRole.OBSERVED, ClaimRole.EXPECTED)
        name = marked["name"] if marked else self._named
        text = rest if marked else block.text
        self._named = ""
        output = block.kind is BlockKind.TRACEBACK or (block.kind is BlockKind.OUTPUT and not name)
        if output and not marked:
            self._quotes.append(Quote(text=block.text, role=role))
        elif marked and judged and name not in self._files and block.kind is not BlockKind.PYTHON:
            self._quotes.append(Quote(text=text.strip("\n"), role=role, path=name))
        elif name:
            self._files[name] = text.strip("\n") + "\n"
        elif (
            block.kind in (BlockKind.PYTHON, BlockKind.FILE)
            and block.language != "diff"
            and not (judged and (self._files or self._unnamed))
        ):
            self._unnamed.append(block)

    def _name_unnamed(self) -> None:
        """Name the files that the report shows without one: as commands and outputs do."""
        known = set(self._files)
        words = [word for command in self._commands.values() for word in command.arguments]
        words += [
            match["name"]
            for quote in self._quotes
            if not quote.path
            for match in _IN_PROSE.finditer(quote.text)
            if "/" not in match["name"]
        ]
        python = list(dict.fromkeys(w for w in words if w.endswith(".py") and w not in known))
        documents = list(dict.fromkeys(w for w in words if w.endswith(".rst") and w not in known))
        blocks = [b for b in self._unnamed if b.kind is BlockKind.PYTHON and parses(b.text)]
        tests = [b for b in blocks if re.search(r"^\s*(?:async )?def test_", b.text, re.MULTILINE)]
        for block in (tests or blocks)[:3]:
            name = python.pop(0) if python else self._free(block)
            self._files[name] = block.text + "\n"
        for block in self._unnamed:
            if block.kind is BlockKind.FILE and re.search(
                r"^\s*\.\. |:\w+:`", block.text, re.MULTILINE
            ):
                name = documents.pop(0) if documents else "index.rst"
                self._files.setdefault(name, block.text + "\n")

    def _free(self, block: Block) -> str:
        stem = "test_reported" if "def test_" in block.text else "reported"
        number = sum(name.startswith(stem) for name in self._files)
        return f"{stem}{number + 1 if number else ''}.py"


def _is_message(text: str) -> bool:
    """Say whether code in a sentence is rather what a tool printed."""
    words = _PLACE.sub("", text)
    return len(words.split()) >= 3 and not parses(words) and not _IN_PROSE.search(words)


def _name_in(text: str) -> str:
    """Return the file name that `text` announces: alone on its line, or last before a colon."""
    text = text.strip()
    if not text.endswith(":") and not _IN_PROSE.fullmatch(text.strip("`*: ")):
        return ""
    names = [match["name"] for match in _IN_PROSE.finditer(text.replace("`", " "))]
    return names[-1].lstrip("/") if names and ".." not in names[-1] else ""


def _is_tree(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    drawn = sum(bool(_TREE_LINE.match(line)) for line in lines)
    return drawn >= 2 and drawn * 3 >= len(lines) * 2


def _tree_paths(text: str) -> list[str]:
    """Return the files of a drawn tree; a folder is a name that others are below."""
    paths: list[str] = []
    above: dict[int, str] = {}
    for row in filter(None, map(_TREE_LINE.match, text.split("\n"))):
        depth, name = len(row["indent"]), row["name"]
        above = {other: folder for other, folder in above.items() if other < depth}
        above[depth] = name.rstrip("/")
        paths.append("/".join([*list(above.values())[:-1], name]))
    folders = tuple(f"{path.rstrip('/')}/" for path in paths)
    return [
        path
        for path, folder in zip(paths, folders, strict=True)
        if not any(other.startswith(folder) for other in paths)
    ]
