"""What test classes inherit, read from the text: bases are looked up in the project's files."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pytest_brt.syntax import bodies, bound_targets, first_line, parse_or_empty

#: Folders that modules are imported from, beside those above the importing file.
_ROOTS = ("", "src", "lib")
#: Dots of a name; one with more is made by imports that lead in circles.
_DEEPEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """What a class has, its own and what it inherits from classes of the project."""

    #: The source of each method by its name; None for a name that is something else.
    names: Mapping[str, str | None]
    #: Ancestors that are not the project's, as in "unittest.TestCase".
    foreign: tuple[str, ...]

    @property
    def is_unittest(self) -> bool:
        """Whether it seems to be a `unittest.TestCase`, by the name of an ancestor."""
        return any("Test" in name.rpartition(".")[2] for name in self.foreign)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Module:
    lines: list[str]
    #: By name, inner ones as in "Outer.Inner".
    classes: dict[str, ast.ClassDef]
    #: What imported names stand for, as in "..pkg.core.Thing".
    imports: dict[str, str]
    #: What stands before the names of modules of which all are imported, as in ".core.".
    stars: list[str]


class Classes:
    """Finds the classes of a project by name; its files are read when they are needed."""

    def __init__(self, files: Mapping[str, str], root: Path | None = None) -> None:
        """Look into `files`, by path, and into what lies below `root`, where one is given."""
        self._files = files
        self._root = root
        self._modules: dict[str, _Module | None] = {}

    def own(self, path: str, node: ast.ClassDef) -> dict[str, str | None]:
        """Return what the class itself defines: sources of methods, None for other names."""
        module = self._module(path)
        lines = module.lines if module else []
        found: dict[str, str | None] = {}
        for item in _statements(node.body):
            if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef):
                found[item.name] = "\n".join(lines[item.lineno - 1 : item.end_lineno])
            elif isinstance(item, ast.ClassDef):
                found[item.name] = None
            else:
                found.update(dict.fromkeys(bound_targets(item)))
        return found

    def settings(self, path: str, node: ast.ClassDef) -> str:
        """Return the text of the class above and between its methods, as in "Kind = Mapping"."""
        module = self._module(path)
        lines = module.lines if module else []
        parts = [lines[node.lineno - 1 : first_line(node.body[0]) - 1]]
        parts += [
            lines[item.lineno - 1 : item.end_lineno]
            for item in node.body
            if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]
        return "\n".join(line for part in parts for line in part)

    def members(
        self, path: str, node: ast.ClassDef, below: tuple[ast.ClassDef, ...] = ()
    ) -> Members:
        """Return what the class `node` of the file `path` has; those `below` it inherit from it.

        The order of bases counts as in Python but for diamonds, where the last one found wins.
        """
        below = (*below, node)
        names: dict[str, str | None] = {}
        foreign: list[str] = []
        for base in reversed(node.bases):
            text = ast.unparse(base.value if isinstance(base, ast.Subscript) else base)
            found = self._find(path, text, set())
            if found is None or found[1] in below:
                foreign.append(text)
                continue
            inherited = self.members(*found, below)
            names.update(inherited.names)
            foreign += inherited.foreign
        names.update(self.own(path, node))
        return Members(names=names, foreign=tuple(foreign))

    def _find(
        self, path: str, name: str, asked: set[tuple[str, str]]
    ) -> tuple[str, ast.ClassDef] | None:
        """Return the file and the definition of the class that `path` calls `name`.

        The files and names in `asked` were looked for already.
        """
        module = self._module(path)
        if module is None or (path, name) in asked or name.count(".") > _DEEPEST:
            return None
        asked.add((path, name))
        if name in module.classes:
            return path, module.classes[name]
        # `import a.b` binds `a`, and the class is asked for as `a.b.C`.
        targets = [
            f"{target}{name[len(bound) :]}"
            for bound, target in module.imports.items()
            if f"{name}.".startswith(f"{bound}.")
        ]
        places = [place for target in targets for place in _places(path, target)]
        for star in module.stars:
            places += [place for place in _places(path, f"{star}{name}") if place[1] == name]
        return next(filter(None, (self._find(*place, asked) for place in places)), None)

    def _module(self, path: str) -> _Module | None:
        if path not in self._modules:
            text = self._text(path)
            self._modules[path] = None if text is None else _read(text)
        return self._modules[path]

    def _text(self, path: str) -> str | None:
        if path in self._files or self._root is None:
            return self._files.get(path)
        file = self._root / path
        return file.read_text("utf-8", "replace") if file.is_file() else None


def _places(path: str, target: str) -> Iterator[tuple[str, str]]:
    """Yield the files that `target`, as `path` names it, may be in, and its name in each."""
    inner = target.lstrip(".")
    level = len(target) - len(inner)
    above = [parent.as_posix() for parent in PurePosixPath(path).parents]
    parts = inner.split(".")
    for folder in above[level - 1 : level] if level else dict.fromkeys([*above, *_ROOTS]):
        for end in reversed(range(len(parts))):
            here, name = PurePosixPath(folder, *parts[:end]), ".".join(parts[end:])
            yield (here / "__init__.py").as_posix(), name
            if end:
                yield f"{here}.py", name


def _read(text: str) -> _Module:
    body = parse_or_empty(text).body
    imports: dict[str, str] = {}
    stars: list[str] = []
    for item in _statements(body):
        if isinstance(item, ast.Import):
            imports |= {alias.asname or alias.name: alias.name for alias in item.names}
        elif isinstance(item, ast.ImportFrom):
            source = "." * item.level + (f"{item.module}." if item.module else "")
            for alias in item.names:
                if alias.name == "*":
                    stars.append(source)
                else:
                    imports[alias.asname or alias.name] = f"{source}{alias.name}"
    classes = dict(_classes(body))
    return _Module(lines=text.splitlines(), classes=classes, imports=imports, stars=stars)


def _classes(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.ClassDef]]:
    for item in _statements(body):
        if isinstance(item, ast.ClassDef):
            yield f"{prefix}{item.name}", item
            yield from _classes(item.body, f"{prefix}{item.name}.")


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, also those under if, try and with."""
    for item in body:
        yield item
        if isinstance(item, ast.If | ast.Try | ast.With):
            for block in bodies(item):
                yield from _statements(block)
