"""Which files of the tree a patch means.

``git apply`` has one ``-p`` for a whole patch. Here each file says for itself whether its
names begin with a prefix, and ``-p0`` is used only for names without one: on a/ and b/ names
``git apply -p0`` "succeeds" for new files and creates ``b/pkg/a.py``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pytest_brt.patches.diff import FileDiff
from pytest_brt.patches.header import without_prefix
from pytest_brt.patches.paths import check_mode, check_path
from pytest_brt.patches.problem import PatchProblem
from pytest_brt.types.refused import Malformed

#: Prefixes that ``diff.mnemonicPrefix`` writes besides a/ and b/.
_MNEMONIC = ("c/", "i/", "o/", "w/", "1/", "2/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One file of a patch and its place in the tree."""

    diff: FileDiff
    #: None when it is created.
    old: str | None
    #: None when it is deleted.
    new: str | None

    @property
    def path(self) -> str:
        """The path to name it by."""
        return self.new if self.new is not None else self.old or ""

    @property
    def source(self) -> str:
        """The path of the file that its hunks change; of one that is created, the new path."""
        return self.old if self.old is not None else self.path

    @property
    def removes_old(self) -> bool:
        """Whether the old file is gone: deleted, or moved away."""
        return self.old is not None and self.old != self.new and not self.diff.is_copy


def find_targets(diffs: tuple[FileDiff, ...], root: Path) -> tuple[Target, ...]:
    """Return what each of `diffs` means in the tree at `root`.

    Raises:
        PatchProblem: a path or a mode is unsafe, or names say two things.
    """
    targets = tuple(_target(diff, root) for diff in diffs)
    for target in targets:
        for path in (target.source, target.path):
            check_path(path, root)
        for mode in target.diff.modes:
            check_mode(target.path, mode)
    return targets


def _target(diff: FileDiff, root: Path) -> Target:
    # "rename from" and "copy to" never have a prefix.
    old, new = diff.moved or _unprefixed(diff, root)
    old, new = _from_repository(old, root), _from_repository(new, root)
    if old is not None and new is not None and not diff.moved:
        path = _same_path(diff, old, new, root)
        # "@@ -0,0 +1,9 @@" of a file that is not there: it is to be created.
        has_old_lines = any(hunk.source_length for hunk in diff.hunks)
        has_new_lines = any(hunk.added for hunk in diff.hunks)
        is_new = has_new_lines and not has_old_lines and not _is_in_tree(path, root)
        old, new = None if is_new else path, path
    return Target(diff=diff, old=old, new=new)


# -- from a name to a path ------------------------------------------------------------------------


def is_prefixed(old: str | None, new: str | None) -> bool:
    """Whether these two names of one file begin with a prefix that is no folder.

    So they do when both begin with a/ or b/, and when they differ in the first folder only
    (``diff -ru pkg.orig pkg``).
    """
    names = [name for name in (old, new) if name is not None]
    if all(name.startswith(("a/", "b/")) for name in names):
        return True
    if len(names) == 2 and names[0] != names[1]:
        return without_prefix(names[0]) == without_prefix(names[1]) != ""
    return False


def _unprefixed(diff: FileDiff, root: Path) -> tuple[str | None, str | None]:
    """Return both names without a prefix, where they have one."""
    old, new = _without_dot(diff.old), _without_dot(diff.new)
    if is_prefixed(old, new) or _fits_without_prefix(old, new, root):
        return _cut(old), _cut(new)
    return old, new


def _fits_without_prefix(old: str | None, new: str | None, root: Path) -> bool:
    """Whether the names fit the tree without their first folder, and not with it."""
    if old is None and new is not None:
        folder = new.rpartition("/")[0]
        if not folder or _is_in_tree(folder, root):
            return False
        return new.startswith(_MNEMONIC) or _is_in_tree(_cut(new), root)
    names = [name for name in (old, new) if name is not None]
    if any(_is_in_tree(name, root) for name in names):
        return False
    return any(_is_in_tree(_cut(name), root) for name in names)


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


def _same_path(diff: FileDiff, old: str, new: str, root: Path) -> str:
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
    raise PatchProblem(Malformed(line=diff.line, said=said))


def _is_in_tree(name: str | None, root: Path) -> bool:
    if not name or len(name) > 1024:
        return False
    # Unsafe names are refused later; here they must only not be looked up.
    is_odd = "\0" in name or name.startswith("/") or ".." in name.split("/")
    return not is_odd and os.path.lexists(root / name)


def _without_dot(name: str | None) -> str | None:
    while name is not None and name.startswith("./"):
        name = name[2:]
    return name


def _cut(name: str | None) -> str | None:
    # A name without any folder has no prefix to lose.
    return name if name is None or "/" not in name else without_prefix(name)
