"""Which files of the tree a patch means.

``git apply`` has one ``-p`` for a whole patch. Here each file says for itself whether its
names begin with a prefix, and ``-p0`` is used only for names without one: on a/ and b/ names
``git apply -p0`` "succeeds" for new files and creates ``b/pkg/a.py``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from unidiff.patch import Hunk, PatchedFile

from pytest_brt.patches.file_names import (
    MNEMONIC,
    check_mode,
    check_new_path,
    check_path,
    is_clash,
    is_prefixed,
    read_name,
    without_prefix,
)
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.patches.scan import is_copy, moved
from pytest_brt.types.refused import FileExists, FileMissing, Malformed, PathFault, UnsafePath


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One file of a patch and its place in the tree."""

    diff: PatchedFile
    #: Those of `diff`, later with the line ends of the tree's file.
    hunks: tuple[Hunk, ...]
    #: None when it is created.
    old: str | None
    #: None when it is deleted.
    new: str | None

    @property
    def path(self) -> str:
        """The path to name it by."""
        return self.new if self.new is not None else self.old or ""


def find_targets(diffs: tuple[PatchedFile, ...], root: Path) -> tuple[Target, ...]:
    """Return what each of `diffs` means in the tree at `root`.

    Raises:
        PatchProblem: a path or a mode is unsafe, a file to change is missing, or one to create
            exists.
    """
    targets = tuple(_target(diff, root) for diff in diffs)
    for target in targets:
        for path in {target.old, target.new} - {None}:
            check_path(path or "", root)
        for mode in (target.diff.source_mode, target.diff.target_mode):
            check_mode(target.path, mode or "")
    _check_presence(targets, root)
    return targets


def _target(diff: PatchedFile, root: Path) -> Target:
    old, new = _places(diff, root)
    hunks = tuple(diff)
    if old is not None and new is not None and not moved(diff):
        path = _same(diff, old, new, root)
        # "@@ -0,0 +1,9 @@" of a file that is not there: it is to be created.
        is_new = any(hunk.added for hunk in hunks) and not any(hunk.source_length for hunk in hunks)
        old, new = (None if is_new and not _is_in_tree(path, root) else path), path
    return Target(diff=diff, hunks=hunks, old=old, new=new)


def _places(diff: PatchedFile, root: Path) -> tuple[str | None, str | None]:
    old, new = _without_dot(read_name(diff.source_file)), _without_dot(read_name(diff.target_file))
    if is_prefixed(old, new):
        old, new = _cut(old), _cut(new)
    elif not _is_there(old, new, root):
        known = [name for name in (old, new) if name is not None]
        if any(_is_in_tree(_cut(name) or "", root) for name in known) or (
            old is None and new is not None and new.startswith(MNEMONIC)
        ):
            old, new = _cut(old), _cut(new)
    # "rename from" and "copy to" never have a prefix.
    old, new = moved(diff) or (old, new)
    return _from_repository(old, root), _from_repository(new, root)


def _from_repository(name: str | None, root: Path) -> str | None:
    """Return `name` without the folders that the project lies in, where a patch is of all of them.

    As in "libs/text/text/a.py" for the project "/home/me/repo/libs/text".
    """
    if name is None or _is_in_tree(name, root):
        return name
    parts = name.split("/")
    for count in range(len(parts) - 1, 0, -1):
        inner = "/".join(parts[count:])
        is_ours = tuple(parts[:count]) == root.resolve().parts[-count:]
        if is_ours and _is_in_tree(inner.rpartition("/")[0] or inner, root):
            return inner
    return name


def _is_there(old: str | None, new: str | None, root: Path) -> bool:
    """Whether the names, as they are, fit the tree."""
    if old is None and new is not None:
        folder = new.rpartition("/")[0]
        return not folder or _is_in_tree(folder, root)
    return any(name is not None and _is_in_tree(name, root) for name in (old, new))


def _is_in_tree(name: str, root: Path) -> bool:
    # Unsafe names are refused later; here they must only not be looked up.
    is_odd = "\0" in name or len(name) > 1024 or name.startswith("/") or ".." in name.split("/")
    return not is_odd and bool(name) and os.path.lexists(root / name)


def _without_dot(name: str | None) -> str | None:
    while name is not None and name.startswith("./"):
        name = name[2:]
    return name


def _cut(name: str | None) -> str | None:
    # A name without any folder has no prefix to lose.
    return name if name is None or "/" not in name else without_prefix(name)


def _same(diff: PatchedFile, old: str, new: str, root: Path) -> str:
    """Return the one path that the two names of a changed file mean."""
    if old == new:
        return new
    there = [name for name in (new, old) if _is_in_tree(name, root)]
    if len(there) == 1:
        return there[0]
    shorter, longer = sorted((old, new), key=len)
    if longer.startswith(shorter):
        # "m.py.orig" or "m.py~" beside "m.py": git takes the shorter one too.
        return shorter
    said = f"it names two files, {old!r} and {new!r}, and says nothing of a rename"
    raise PatchProblem(Malformed(line=diff.diff_line_no or 1, said=said))


def _check_presence(targets: tuple[Target, ...], root: Path) -> None:
    """Raise when a file is missing that must be there, or is there and must not be."""
    removed = frozenset(
        target.old
        for target in targets
        if target.old is not None and target.old != target.new and not is_copy(target.diff)
    )
    present: dict[str, bool] = {}
    created: list[str] = []

    def is_there(path: str) -> bool:
        return present.get(path, os.path.lexists(root / path))

    for target in targets:
        old, new = target.old, target.new
        if old is not None and not is_there(old) and old not in created:
            raise PatchProblem(FileMissing(path=old))
        if old is not None and old in removed:
            present[old] = False
        if new is None or new == old:
            continue
        if is_there(new) and new not in removed:
            raise PatchProblem(FileExists(path=new))
        check_new_path(new, root, removed=removed)
        for other in created:
            if is_clash(new, other):
                raise PatchProblem(UnsafePath(path=new, fault=PathFault.CASE, detail=other))
        created.append(new)
        present[new] = True
