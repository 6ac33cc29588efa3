"""What patterns find in Python text that does not parse: definitions and imports, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_brt.code.facts import DefinitionKind, LocalDefinition, LocalImport

_DEFINITION = re.compile(r"^([ \t]*)(?:async[ \t]+)?(def|class)[ \t]+([A-Za-z_]\w*)(\(.*\))?")
_ASSIGNED = re.compile(r"^([A-Za-z_]\w*)[ \t]*(?::[^=]+)?=(?!=)")
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w. ,]+)$")
_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([\w. ,*]+)\)?")


def scan(text: str) -> tuple[list[LocalDefinition], list[LocalImport]]:
    """Return what `text` defines and imports; indentation says where a definition ends."""
    definitions: list[LocalDefinition] = []
    imports: list[LocalImport] = []
    lines = text.split("\n")
    around: list[tuple[int, str, bool]] = []
    for number, line in enumerate(lines, 1):
        match = _DEFINITION.match(line)
        if match:
            depth, word, name = len(match[1].expandtabs()), match[2], match[3]
            while around and around[-1][0] >= depth:
                around.pop()
            in_class = bool(around) and around[-1][2]
            kind = DefinitionKind.CLASS if word == "class" else DefinitionKind.FUNCTION
            if in_class and word == "def":
                kind = DefinitionKind.METHOD
            definitions.append(
                LocalDefinition(
                    name=name,
                    qualname=".".join([*(outer for _, outer, _ in around), name]),
                    kind=kind,
                    line=number,
                    end_line=_block_end(lines, number, depth),
                    signature=match[4] or "",
                )
            )
            around.append((depth, name, word == "class"))
        elif assigned := _ASSIGNED.match(line):
            definitions.append(
                LocalDefinition(
                    name=assigned[1],
                    qualname=assigned[1],
                    kind=DefinitionKind.VARIABLE,
                    line=number,
                    end_line=number,
                )
            )
        elif "import" in line:
            imports.extend(_scan_import(line, number))
    return definitions, imports


def _block_end(lines: Sequence[str], number: int, depth: int) -> int:
    end = number
    for at in range(number, len(lines)):
        line = lines[at]
        if line.strip():
            if len(line.expandtabs()) - len(line.expandtabs().lstrip()) <= depth:
                break
            end = at + 1
    return end


def _scan_import(line: str, number: int) -> Iterator[LocalImport]:
    top = not line[:1].isspace()
    if match := _FROM.match(line):
        module, names = match[1], match[2].split(",")
    elif match := _IMPORT.match(line):
        module, names = "", match[1].split(",")
    else:
        return
    for part in names:
        words = part.split()
        if not words:
            continue
        bound = words[2] if len(words) == 3 and words[1] == "as" else words[0]
        if module:
            yield LocalImport(module=module, name=words[0], bound=bound, line=number, top=top)
        else:
            bound = bound if len(words) == 3 else words[0].partition(".")[0]
            yield LocalImport(module=words[0], name="", bound=bound, line=number, top=top)
