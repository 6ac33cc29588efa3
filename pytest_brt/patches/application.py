"""Patch + tree → what the tree would be, without touching it."""

from __future__ import annotations

import stat
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from pytest_brt.errors import PatchProblem
from pytest_brt.patches.canonical import put
from pytest_brt.patches.judges import left_out_reason, needs_build
from pytest_brt.patches.ladder import Files, PatchedFile, climb
from pytest_brt.patches.scan import scan_diff
from pytest_brt.patches.target import find_targets
from pytest_brt.types import AppliedPatch, FileChange, Patch

#: Seconds; compiling takes milliseconds.
_COMPILING = 30.0
#: Standard library only, Python 3.8+: the interpreter may be the subject's.
_SCRIPT = r"""
import sys
for path in sys.stdin.buffer.read().split(b"\0"):
    try:
        with open(path, "rb") as file:
            compile(file.read(), "patched", "exec", dont_inherit=True)
        found = "ok"
    except Exception as error:
        found = "%s: %s" % (getattr(error, "lineno", None) or 1, getattr(error, "msg", error))
    sys.stdout.write(ascii(found)[1:-1] + "\n")
    sys.stdout.flush()
"""


def apply_patch(patch: Patch, root: Path, *, python: str = "", whole: bool = False) -> AppliedPatch:
    """Return what `patch` makes of the tree at `root`, which is only read.

    Hunks are placed as `ladder` says: first as written, then with wrong counts and line ends put
    right, then with differences in blanks ignored; the last two are noted as "applied leniently".
    Context is never skipped. All of the patch applies, or nothing does. A rename is a deletion and
    an addition.

    The notes also say what was left out (tests, pytest's configuration, code that Python
    starts by itself, binary files), what has no effect without a build, that nothing changes,
    and "syntax error after applying: file:line: message" when a file that compiled before no
    longer does under `python` (default: the running interpreter). The last is a note and not a
    problem: the patch does apply, and the subject's interpreter has the last word. With `whole`
    only binary files are left out, as for a patch that adds tests.

    Raises:
        PatchProblem: it cannot be read, is unsafe, or does not apply; one line says why.
    """
    try:
        patch.text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise PatchProblem("not a diff: the text has characters that no file can hold") from error
    diffs = scan_diff(patch.text)
    found = find_targets(diffs.files, root)
    binary = [target.path for target in found if target.diff.is_binary_file]
    targets = tuple(target for target in found if not target.diff.is_binary_file)
    named = {path for target in targets for path in (target.old, target.new)}
    paths = sorted(path for path in named if path is not None)
    before = {path: file for path in paths if (file := _read(path, root)) is not None}
    after, notes = climb(targets, diffs.repairs, before)
    kept, left_out = _divide(before, after, whole)
    notes += left_out
    if binary:
        notes += (f"touches binary files: left out {_names(binary)}",)
    if not kept and not left_out and not binary:
        notes += ("changes nothing",)
    built = tuple(change.path for change in kept if needs_build(change))
    if built:
        notes += (f"has no effect before a build: {_names(built)}",)
    notes += tuple(
        # As text that can be printed, whatever bytes the name has.
        f"syntax error after applying: {path.encode(errors='backslashreplace').decode()}:{why}"
        for path, why in _newly_broken(kept, before, after, python).items()
    )
    return AppliedPatch(patch=patch, changes=kept, notes=notes)


def _newly_broken(
    kept: tuple[FileChange, ...], before: Files, after: Files, python: str
) -> dict[str, str]:
    """Return what is wrong with those of the changed files that compiled before."""
    paths = tuple(c.path for c in kept if c.content is not None and c.path.endswith(".py"))
    with tempfile.TemporaryDirectory(prefix="brt-patch-") as folder:
        tree, original = Path(folder, "tree"), Path(folder, "original")
        _write({path: after[path] for path in paths}, tree)
        broken = find_syntax_errors(paths, tree, python)
        known = tuple(path for path in broken if path in before)
        _write({path: before[path] for path in known}, original)
        for path in find_syntax_errors(known, original, python):
            del broken[path]
    return broken


def _read(path: str, root: Path) -> PatchedFile | None:
    """Return the file, or None when there is none."""
    try:
        mode = (root / path).lstat().st_mode
        if not stat.S_ISREG(mode):
            raise PatchProblem(f"unsafe path: {path!r} is not an ordinary file")
        return PatchedFile(content=(root / path).read_bytes(), executable=bool(mode & stat.S_IXUSR))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PatchProblem(f"cannot read {path!r} in the tree: {error.strerror}") from error


def _write(files: Files, folder: Path) -> None:
    for path, file in files.items():
        put(folder / path, file.content, file.executable)


def _divide(
    before: Files, after: Files, whole: bool
) -> tuple[tuple[FileChange, ...], tuple[str, ...]]:
    """Return the changes of code, and remarks on those that are left out."""
    kept: list[FileChange] = []
    left_out: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        reason = left_out_reason(path, old.content if old else None, new.content if new else None)
        if reason and not whole:
            left_out[reason].append(path)
        else:
            content, executable = (new.content, new.executable) if new else (None, False)
            kept.append(FileChange(path=path, content=content, executable=executable))
    notes = tuple(
        f"touches {reason}: left out {_names(names)}" for reason, names in left_out.items()
    )
    return tuple(kept), notes


def _names(paths: tuple[str, ...] | list[str]) -> str:
    return ", ".join(repr(path) for path in paths)


def find_syntax_errors(paths: tuple[str, ...], folder: Path, python: str = "") -> dict[str, str]:
    """Return what is wrong with those of `paths` in `folder` that do not compile.

    A value is "line: message". `python` is the interpreter to ask, by default the running
    one. Asking fails when it cannot be started; then all are taken to compile, since the
    tests that run on the tree will say more.
    """
    if not paths:
        return {}
    # Not in this process: compiling warns through global state that threads share (an invalid
    # escape would be an error under -W error), and hostile source can end what compiles it.
    # Nothing is run: `compile` makes code and throws it away.
    command = [python or sys.executable, "-I", "-S", "-W", "ignore", "-c", _SCRIPT]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            input="\0".join(paths).encode("utf-8", "surrogateescape"),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_COMPILING,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    answers = done.stdout.decode("ascii", "replace").splitlines()
    found = dict(zip(paths, answers, strict=False))
    if done.returncode < 0 and len(answers) < len(paths):
        found[paths[len(answers)]] = "1: the compiler crashed"
    return {path: answer for path, answer in found.items() if answer != "ok"}
