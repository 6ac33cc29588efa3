"""A small project of a scenario's own, and the commands that are run in it."""

from __future__ import annotations

import difflib
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.scenarios.read import Report, Test, read_report

#: Where `pytest` and `pytest-brt` are.
SCRIPTS = Path(sys.executable).parent
#: Plugins of this project's own tests, which cost a start but have no part in any scenario.
LEAN = "-p no:hypothesispytest -p no:randomly"
#: Folders that runs may leave in a project.
LEFT = {".pytest_cache", "__pycache__", ".git"}
#: Ctrl-C is heeded also where a script's shell lets its jobs ignore it.
HEEDFUL = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)


#: Variables that a command sees of this process.
KEPT = ("LANG", "TMPDIR")
#: And where coverage is measured: what is covered, by which test. Pytest takes the second back.
MEASURED = ("COVERAGE_PROCESS_START", "PYTEST_CURRENT_TEST")
#: Variables of a command besides those that every command sees.
Env = Mapping[str, str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A command at its end."""

    code: int
    out: str
    err: str
    #: Its JSON report, "" where it wrote none.
    json: str

    @property
    def said(self) -> str:
        """All that it printed, for the message of an assertion."""
        return f"exit code {self.code}\n{self.out}\n{self.err}"

    @property
    def report(self) -> Report:
        """What it found out."""
        assert self.json, self.said
        report = read_report(self.json)
        assert report.exit_code == self.code, self.said
        return report

    def refuses(self, *words: str) -> bool:
        """Whether it ended as wrong use does: a line with these words, and no traceback."""
        assert self.code == 4, self.said
        lines = [line for line in self.err.splitlines() if line.strip()]
        assert len(lines) <= 2, self.said
        return all(word in self.err for word in words) and "Traceback" not in self.err


class Project:
    """Files below `root`, and an empty home beside it."""

    def __init__(self, folder: Path, files: Mapping[str, str]) -> None:
        self.folder = folder
        self.root = folder / "project"
        self.home = folder / "home"
        self.json = folder / "report.json"
        self.bin = folder / "bin"
        for path in (self.root, self.home, self.bin):
            path.mkdir(parents=True)
        self.write(files)

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files, with the folders that they need."""
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def read(self, path: str) -> str:
        """Return the text of a file."""
        return (self.root / path).read_text("utf-8")

    def edit(self, path: str, old: str, new: str) -> str:
        """Return the text of a file with one place changed, and leave the file alone."""
        text = self.read(path)
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
        return text.replace(old, new)

    def diff(self, changed: Mapping[str, str]) -> str:
        """Return a diff from the tree to files with these texts, as git writes it."""
        parts = []
        for path, after in changed.items():
            is_new = not (self.root / path).exists()
            before = "" if is_new else self.read(path)
            lines = difflib.unified_diff(
                before.splitlines(keepends=True),
                after.splitlines(keepends=True),
                "/dev/null" if is_new else f"a/{path}",
                f"b/{path}",
            )
            header = f"diff --git a/{path} b/{path}\n" + "new file mode 100644\n" * is_new
            parts.append(header + "".join(lines))
        return "".join(parts)

    def patch(self, name: str, changed: Mapping[str, str]) -> None:
        """Write patches/NAME.diff, which changes these files."""
        self.write({f"patches/{name}.diff": self.diff(changed)})

    def patches(self, path: str, old: str, **new: str) -> None:
        """Write a patch for each text that takes the place of `old`, by its name."""
        for name, text in new.items():
            self.patch(name, {path: self.edit(path, old, text)})

    def git(self, *arguments: str) -> str:
        """Run git in the project, as somebody with no settings."""
        done = self._start("git", *arguments)
        assert done.returncode == 0, done.stderr
        return str(done.stdout.strip())

    def commit(self, message: str, files: Mapping[str, str] | None = None) -> str:
        """Write files, commit everything, and return the commit."""
        if not (self.root / ".git").exists():
            self.git("init", "-q", "-b", "main")
        self.write(files or {})
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def run(
        self, *command: str, stdin: str = "", writes: bool = False, cwd: str = ".", env: Env = None
    ) -> Run:
        """Run a command to its end; it leaves the project alone unless it `writes`."""
        self.json.unlink(missing_ok=True)
        before = self.digest()
        done = self._start(*command, stdin=stdin, cwd=cwd, env=env)
        assert writes or self.digest() == before, "the project was changed"
        return self._ended(done.returncode, done.stdout, done.stderr)

    def pytest(self, *options: str, stdin: str = "", writes: bool = False, env: Env = None) -> Run:
        """Run `pytest OPTIONS` with a JSON report."""
        report = f"--brt-report={self.json}"
        return self.run("pytest", report, *options, stdin=stdin, writes=writes, env=env)

    def issue(self, text: str, *options: str, writes: bool = False) -> Run:
        """Run `pytest --brt-issue` on a report with this text."""
        self.write({"issue.md": text})
        return self.pytest("--brt-issue=issue.md", *options, writes=writes)

    def rank(self, *options: str, env: Env = None) -> Run:
        """Rank the patches in patches/."""
        return self.pytest("--rank-fixes=patches", *options, env=env)

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a command that heeds Ctrl-C."""
        program, *rest = command
        line = [sys.executable, "-c", HEEDFUL, str(self._program(program)), *rest]
        return subprocess.Popen(
            line,
            cwd=self.root,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )

    def interrupt(self, process: subprocess.Popen[str]) -> Run:
        """Press Ctrl-C, and return what the command is at its end."""
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
        return self._ended(process.returncode, out, "")

    def digest(self) -> str:
        """Return what tells whether any file of the project was changed."""
        digest = hashlib.sha256()
        for path in sorted(self.root.rglob("*")):
            if LEFT.isdisjoint(path.relative_to(self.root).parts) and not path.is_dir():
                digest.update(f"{path} {path.lstat().st_mode}\0".encode())
                digest.update(path.read_bytes() if path.is_file() else b"")
        return digest.hexdigest()

    def environment(self, env: Env = None) -> dict[str, str]:
        """Return what a command sees: nothing of the person or agent that runs these tests."""
        names = KEPT + MEASURED if MEASURED[0] in os.environ else KEPT
        kept = {name: os.environ[name] for name in names if name in os.environ}
        return {
            **kept,
            "PATH": os.pathsep.join([str(self.bin), str(SCRIPTS), os.environ["PATH"]]),
            "HOME": str(self.home),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "A",
            "GIT_COMMITTER_EMAIL": "a@example.org",
            "PYTEST_ADDOPTS": LEAN,
            **(env or {}),
        }

    def _ended(self, code: int, out: str, err: str) -> Run:
        json = self.json.read_text("utf-8") if self.json.exists() else ""
        return Run(code=code, out=out, err=err, json=json)

    def _program(self, name: str) -> str:
        return str(SCRIPTS / name) if name in ("pytest", "pytest-brt") else name

    def _start(
        self, program: str, *arguments: str, stdin: str = "", cwd: str = ".", env: Env = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._program(program), *arguments],
            cwd=self.root / cwd,
            env=self.environment(env),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            encoding="utf-8",
            timeout=900,
        )


#: Makes a project of some files.
Make = Callable[[Mapping[str, str]], Project]


def passing(project: Project, tests: Sequence[Test], fix: Mapping[str, str]) -> set[str]:
    """Return the ids of the tests that pass by plain pytest on a copy with these files changed."""
    with tempfile.TemporaryDirectory(dir=project.folder) as folder:
        copy = Project(Path(folder) / "copy", {})
        left_out = shutil.ignore_patterns(*LEFT, "patches")
        shutil.copytree(project.root, copy.root, dirs_exist_ok=True, ignore=left_out)
        copy.write(fix)
        nodes = {}
        for number, test in enumerate(tests):
            file = Path(test.path)
            path = str(file.with_name(f"test_{number}_{file.name}")) if test.source else test.path
            if test.source:
                copy.write({path: test.source})
            nodes[test.id] = f"{path}::{test.name.replace('.', '::')}"
        plain = ("-p", "no:brt", "-p", "no:cacheprovider", "-p", "no:xdist", "-q", "-rp")
        installed = os.pathsep.join([str(copy.root), str(copy.root / "src")])
        done = copy.run("pytest", *plain, *nodes.values(), env={"PYTHONPATH": installed})
        assert done.code in (0, 1), done.said
        lines = done.out.splitlines()
        return {id for id, node in nodes.items() if f"PASSED {node}" in lines}


def are_right(project: Project, tests: Sequence[Test], fix: Mapping[str, str]) -> bool:
    """Whether there are tests, and all fail on the project and pass once it is fixed."""
    ids = {test.id for test in tests}
    return bool(ids) and not passing(project, tests, {}) and passing(project, tests, fix) == ids


def is_right(project: Project, test: Test, fix: Mapping[str, str]) -> bool:
    """Whether a test fails on the project and passes once it is fixed, by plain pytest."""
    return are_right(project, [test], fix)
