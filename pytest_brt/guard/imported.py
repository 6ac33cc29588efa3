"""How near the imports of a test file come to a changed module: by the text, without a path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<source>[.\w]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#]*)"
    r"|import[ \t]+(?P<modules>[\w., \t]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"[\w.]+")


def import_nearness(path: str, text: str, changed: str) -> float:
    """Return which part of the way to the module `changed` the imports of a test file go.

    1 when it imports the module itself, less when it only imports a package around it, 0 when
    nothing of the same package is imported. Where packages begin need not be known.

    >>> import_nearness("t/test_a.py", "from pkg.core import walk", "src/pkg/core.py")
    1.0
    >>> import_nearness("t/test_a.py", "import pkg", "src/pkg/core.py")
    0.5
    >>> import_nearness("pkg/tests/test_a.py", "from .. import core", "pkg/core.py")
    1.0
    """
    module = PurePosixPath(changed).with_suffix("").parts
    module = module[:-1] if module[-1:] == ("__init__",) else module
    return max((_shared(parts, module) for parts in _imported(path, text)), default=0.0)


def _shared(parts: tuple[str, ...], module: tuple[str, ...]) -> float:
    """Return the largest share of `module`, from some folder of it on, that `parts` name."""
    best = 0.0
    for start, name in enumerate(module):
        if parts[:1] != (name,):
            continue
        rest = module[start:]
        alike = 0
        while alike < min(len(parts), len(rest)) and parts[alike] == rest[alike]:
            alike += 1
        best = max(best, alike / len(rest))
    return best


def _imported(path: str, text: str) -> Iterator[tuple[str, ...]]:
    """Yield what is imported, as parts of dotted names; relative ones from the project's root."""
    for match in _IMPORT.finditer(text):
        if match["modules"]:
            for item in match["modules"].split(","):
                name = _NAME.match(item.strip())
                if name:
                    yield tuple(name[0].split("."))
            continue
        inner = match["source"].lstrip(".")
        level = len(match["source"]) - len(inner)
        folder = PurePosixPath(path).parent.parts
        above = folder[: max(0, len(folder) - level + 1)] if level else ()
        source = (*above, *filter(None, inner.split(".")))
        for name in _NAME.findall(match["names"]):
            yield (*source, name)
