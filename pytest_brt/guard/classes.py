"""What test classes inherit, read from the text: bases are looked up in the project's files."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pytest_brt.syntax import bodies, bound_targets, first_line, parse_or_empty

#: Folders that modules are imported from, beside those above the importing file.
_ROOTS = ("", "src", "lib")

#: A file and a name that was looked for in it.
_Asked = tuple[str, str]
#: A file and a class that it defines.
_Found = tuple[str, ast.ClassDef]


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
    path: str
    lines: list[str]
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    #: Where names are imported from: a module with its leading dots, and a name in it, or "".
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    #: Modules of which all names are imported.
    stars: list[str] = field(default_factory=list)


class Classes:
    """Finds the classes of a project by name; its files are read when they are needed."""

    def __init__(self, files: Mapping[str, str], root: Path | None = None) -> None:
        """Look into `files`, by path, and into what lies below `root`, where one is given."""
        self._files = files
        self._root = root
        self._modules: dict[str, _Module | None] = {}

    def members(self, path: str, node: ast.ClassDef) -> Members:
        """Return what the class `node` of the file `path` has.

        The order of bases counts as in Python but for diamonds, where the last one found wins.
        """
        return self._members(path, node, ())

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

    def _members(self, path: str, node: ast.ClassDef, below: tuple[ast.ClassDef, ...]) -> Members:
        below = (*below, node)
        names: dict[str, str | None] = {}
        foreign: list[str] = []
        for base in reversed(node.bases):
            text = ast.unparse(base.value if isinstance(base, ast.Subscript) else base)
            found = self._find(path, text, set())
            if found is None or found[1] in below:
                foreign.append(text)
                continue
            inherited = self._members(*found, below)
            names.update(inherited.names)
            foreign += inherited.foreign
        names.update(self.own(path, node))
        return Members(names=names, foreign=tuple(foreign))

    def _find(self, path: str, name: str, asked: set[_Asked]) -> _Found | None:
        """Return the file and the definition of the class that `path` calls `name`."""
        module = self._module(path)
        if module is None or (path, name) in asked:
            return None
        asked.add((path, name))
        head, _, rest = name.partition(".")
        if head in module.classes:
            inner = _inside(module.classes[head], rest)
            return (path, inner) if inner else None
        # `import a.b` binds `a`, and the class is asked for as `a.b.C`.
        places = [
            (source, f"{inside}{name[len(bound) :]}".lstrip("."))
            for bound, (source, inside) in module.imports.items()
            if f"{name}.".startswith(f"{bound}.")
        ]
        places += [(star, name) for star in module.stars]
        hits = (self._in_module(path, source, wanted, asked) for source, wanted in places)
        return next(filter(None, hits), None)

    def _in_module(self, path: str, source: str, name: str, asked: set[_Asked]) -> _Found | None:
        head, _, rest = name.partition(".")
        # The first part may be a module below.
        below = f"{source}{head}" if source.endswith(".") else f"{source}.{head}"
        places = [(place, name) for place in self._places(path, source)]
        places += [(place, rest) for place in self._places(path, below) if rest]
        hits = (self._find(place, wanted, asked) for place, wanted in places)
        return next(filter(None, hits), None)

    def _places(self, path: str, source: str) -> Iterator[str]:
        """Yield the files that the module `source`, as `path` names it, may be."""
        inner = source.lstrip(".")
        level = len(source) - len(inner)
        above = [parent.as_posix() for parent in PurePosixPath(path).parents]
        folders = above[level - 1 : level] if level else list(dict.fromkeys([*above, *_ROOTS]))
        for folder in folders:
            here = PurePosixPath(folder, *inner.split("."))
            yield (here / "__init__.py").as_posix()
            if inner:
                yield f"{here.as_posix()}.py"

    def _module(self, path: str) -> _Module | None:
        if path not in self._modules:
            text = self._text(path)
            self._modules[path] = None if text is None else _read(path, text)
        return self._modules[path]

    def _text(self, path: str) -> str | None:
        if path in self._files or self._root is None:
            return self._files.get(path)
        file = self._root / path
        return file.read_text("utf-8", "replace") if file.is_file() else None


def _read(path: str, text: str) -> _Module:
    module = _Module(path=path, lines=text.splitlines())
    for item in _statements(parse_or_empty(text).body):
        if isinstance(item, ast.ClassDef):
            module.classes[item.name] = item
        elif isinstance(item, ast.Import):
            for alias in item.names:
                module.imports[alias.asname or alias.name] = (alias.name, "")
        elif isinstance(item, ast.ImportFrom):
            source = "." * item.level + (item.module or "")
            for alias in item.names:
                if alias.name == "*":
                    module.stars.append(source)
                else:
                    module.imports[alias.asname or alias.name] = (source, alias.name)
    return module


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, also those under if, try and with."""
    for item in body:
        yield item
        if isinstance(item, ast.If | ast.Try | ast.With):
            for block in bodies(item):
                yield from _statements(block)


def _inside(node: ast.ClassDef, name: str) -> ast.ClassDef | None:
    """Return the class `name`, as in "Inner.Deep", inside of a class; itself for ""."""
    for part in filter(None, name.split(".")):
        inner = (i for i in node.body if isinstance(i, ast.ClassDef) and i.name == part)
        found = next(inner, None)
        if found is None:
            return None
        node = found
    return node
