"""Which file of a project a path from elsewhere names."""

from __future__ import annotations

import re

from pytest_brt.code.layout import Layout


class TreePaths:
    """Finds the file of the project that a path from elsewhere names.

    A reporter's ``/home/me/lib/python3.9/site-packages/pkg/core/a.py`` and the project's
    ``src/pkg/core/a.py`` are the same file: one ends with the whole of what the other is
    imported as.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(layout.files):
            self._by_name.setdefault(path.rsplit("/", 1)[-1], []).append(path)

    def find(self, path: str) -> str | None:
        """Return the project's file that `path` is, by the longest common ending, else None."""
        parts, installed = _below_library(_clean(path))
        alike = self._by_name.get(parts[-1], ()) if parts else ()
        common = {one: self._common(parts, one, exact=installed) for one in alike}
        best = max(common, key=lambda one: (common[one], -len(one)), default="")
        return best if common.get(best) else None

    def _common(self, parts: tuple[str, ...], candidate: str, *, exact: bool) -> int:
        """Return how many last components agree, 0 when too few to be the same file."""
        whole = tuple(candidate.split("/"))
        root = self._layout.root_of(candidate)
        inner = whole[root.count("/") + 1 :] if root else whole
        count = 0
        while count < min(len(parts), len(whole)) and parts[-1 - count] == whole[-1 - count]:
            count += 1
        if exact:
            return count if count == len(parts) >= len(inner) else 0
        if count >= len(inner) and (len(inner) > 1 or len(parts) == 1 or count == len(whole)):
            return count
        if count == len(parts) and (count > 1 or len(self._by_name[parts[-1]]) == 1):
            return count
        same_package = inner[0] in parts[:-count] if count > 1 else False
        return count if same_package else 0


def _clean(path: str) -> tuple[str, ...]:
    parts = path.split("/")
    return tuple(part for part in parts if part not in ("", ".", "..", "...", "…", "~"))


def _below_library(parts: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """Return what lies below a library folder, and whether there was one.

    The standard library's own folder gives nothing: its files are never the project's.
    """
    for at in range(len(parts) - 1, -1, -1):
        if parts[at] in ("site-packages", "dist-packages"):
            inner = parts[at + 1 :]
            if inner and inner[0].endswith(".egg"):
                inner = inner[1:]
            return inner, True
    for at in range(len(parts) - 1):
        if parts[at] in ("lib", "lib64", "Lib") and re.fullmatch(r"python\d[\d.]*", parts[at + 1]):
            return (), True
    return parts, False
