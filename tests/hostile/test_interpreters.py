"""Interpreters in a project that would choose how they are shut in, or are none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_brt.errors import SubjectProblem
from pytest_brt.execute import ask_interpreter, zygote
from pytest_brt.sandbox.available import open_sandbox
from pytest_brt.execute.process import Deadlines
from pytest_brt.execute.subject import find_subject
from tests.support.interval import CLAMP, CLAMP_ISSUE, FIXES, SOURCE, TESTS, diff_of
from tests.support.trees import write_tree
from tests.support.users import ORDINARY, ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="namespaces and Landlock are Linux's"),
]

#: Starts only where it can write outside of any sandbox.
WRITES = '#!/bin/sh\n: > {outside}/$$ || exit 3\nexec {real} "$@"\n'
#: Is a Python but when it is asked what it is.
ASKED = '#!/bin/sh\ncase "$*" in *" ask "*) {does};; esac\nexec {real} "$@"\n'
#: Says that it reads its modules from the user's home.
LIES = """\
#!{real}
import json, os, sys
if "ask" not in sys.argv:
    os.execv({real!r}, [{real!r}, *sys.argv[1:]])
with open(sys.argv[-1]) as stream:
    wire = json.load(stream)["fd"]
told = dict(version=[3, 13], pytest="9.0.0", problem="", plugins=[], user_base="")
told["paths"] = [{home!r}, {linked!r}, sys.prefix, sys.base_prefix, *sys.path]
event = dict(event="asked", pid=os.getpid(), text=json.dumps(told))
os.write(wire, json.dumps(event).encode() + b"\\n")
"""
#: Tries to read a file, with what it was started for.
READS = """\
import sys
from pathlib import Path
from tests.support.projects import open_on, run_one
engine = open_on(Path(sys.argv[1]))
for source in sys.argv[2:]:
    print(run_one(engine, source).verdict)
engine.close()
"""
#: Tries to write into the project's own folder, however its mounts may be undone.
WRITES_BACK = """\
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
root, uid, gid = {root!r}, os.getuid(), os.getgid()
sys.status = [open("/proc/self/status").read()]
def undo():
    for path in ("/", root, root + "/.git/hooks", "/run/brt/base"):
        for flags in (0, 0x8000):  # that mount alone; all below it
            clear = struct.pack("=QQQQ", 0, 1, 0, 0)
            libc.syscall(ctypes.c_long(442), -100, path.encode(), flags, clear, ctypes.c_size_t(32))
        for name in (root, "/run/brt/base"):
            try: open(name + "/.git/hooks/post-commit", "w").write("#!/bin/sh\\nid\\n")
            except OSError: pass
undo()
libc.umount2(b"/proc", 2)
if not os.fork():
    libc.unshare(0x10020000)  # a user namespace, and mounts of its own
    for name, text in (("setgroups", "deny"), ("uid_map", "%d %d 1"), ("gid_map", "%d %d 1")):
        try: open("/proc/self/" + name, "w").write(text % (uid, uid) if "%" in text else text)
        except OSError: pass
    undo()
    for flags in (0, 2):
        libc.umount2(root.encode(), flags)
    undo()
    os._exit(0)
os.wait()
"""
#: Does after that what the library does, in whose place it was loaded.
STANDS_IN = """\
from importlib.machinery import PathFinder
real = PathFinder.find_spec(__name__, [path for path in sys.path if path not in ("", root)])
__package__, __path__ = __name__, real.submodule_search_locations
exec(open(real.origin).read())
"""
#: Is what the process was, that loaded it, before any test: one without any power.
POWERLESS = """\
import sys
def test_a():
    lines = dict(line.split(":", 1) for line in sys.status[0].splitlines())
    powers = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
    assert not any(int(lines[name], 16) for name in powers)
    assert lines["NoNewPrivs"].strip() == "1"
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """Return a folder that others can reach; pytest shuts its own whenever a session begins."""
    with tempfile.TemporaryDirectory(prefix="hostile-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def project(place: Path) -> Path:
    """Return a project with an environment, whose interpreter is still an honest one."""
    root = place / "project"
    files = {"interval/__init__.py": SOURCE, "tests/test_interval.py": TESTS}
    write_tree(root, {**files, "clamp.md": CLAMP_ISSUE})
    venv.create(root / ".venv")
    packages = next((root / ".venv").glob("lib/python*/site-packages"))
    (packages / "ours.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n", "utf-8")
    return root


@pytest.fixture
def home(place: Path) -> Path:
    home = place / "home"
    write_tree(home, {"secret": "secret"})
    return home


@pytest.fixture(params=["as we are", "ordinary user"])
def user(request: pytest.FixtureRequest, home: Path) -> tuple[str, ...]:
    """Return how a command is begun that is to run as another user, with a home of its own."""
    if request.param == "as we are":
        return ("env", f"HOME={home}")
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    return (sys.executable, "-m", "tests.hostile.as_user", str(ORDINARY), str(home))


def replace_python(project: Path, text: str, **words: object) -> Path:
    """Put a script in the place of the environment's interpreter, and return it."""
    python = project / ".venv/bin/python"
    real = project / ".venv/bin/real"
    python.rename(real)
    real.unlink()
    real.symlink_to(os.path.realpath(sys.executable))
    python.write_text(text.format(real=str(real), **words), "utf-8")
    python.chmod(0o755)
    return python


def run(user: tuple[str, ...], project: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of ours on a project of the user's, in what is taken for a container."""
    if user[0] != "env":
        for path in (project.parent, *project.parent.rglob("*")):
            os.chown(path, ORDINARY, ORDINARY, follow_symlinks=False)
    settings = {"PYTEST_ADDOPTS": "", "PYTHONPATH": str(ROOT), "container": "podman"}
    return subprocess.run(
        [*user, sys.executable, *command],
        cwd=project,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )


def assert_refused(user: tuple[str, ...], project: Path, python: Path, words: str) -> None:
    """Assert that a report is not worked on, and that it is said which interpreter is why."""
    done = run(user, project, "-m", "pytest", "--brt-issue=clamp.md")
    told = done.stdout + done.stderr
    assert "INTERNALERROR" not in told
    assert done.returncode == 4, told
    assert re.search(f"{re.escape(repr(str(python)))} {words}", told), told
    assert "--brt-sandbox process" not in told


def test_an_interpreter_does_not_choose_a_weaker_level(
    project: Path, place: Path, user: tuple[str, ...]
) -> None:
    outside = place / "outside"
    outside.mkdir()
    outside.chmod(0o777)
    python = replace_python(project, WRITES, outside=outside)
    assert_refused(user, project, python, "does not start at the level '(ns|landlock)': ")
    assert not list(outside.iterdir())
    # As it would have liked it, and as only the user can say.
    allowed = run(user, project, "-m", "pytest", "--brt-issue=clamp.md", "--brt-sandbox=process")
    assert "Possibly reproduced: " in allowed.stdout, allowed.stdout + allowed.stderr
    assert list(outside.iterdir())


def test_what_lies_in_a_project_chooses_no_level(project: Path) -> None:
    for name in ("json", "os", "sitecustomize", "tempfile", "usercustomize"):
        (project / f"{name}.py").write_text("raise SystemExit(3)\n", "utf-8")
    (project / ".venv/bin/python").unlink()
    project.chmod(0o555)
    assert open_sandbox("auto", project=project).level == open_sandbox("auto").level


def test_an_interpreter_that_ends_at_once(project: Path, user: tuple[str, ...]) -> None:
    python = replace_python(project, "#!/bin/sh\nexit 0\n")
    assert_refused(user, project, python, "does not start at the level '(ns|landlock)': ended")


def test_an_interpreter_that_does_not_answer(project: Path, user: tuple[str, ...]) -> None:
    python = replace_python(project, ASKED, does="exit 0")
    words = "at the level '(ns|landlock)' is not a usable Python: no answer"
    assert_refused(user, project, python, words)


def test_an_interpreter_that_never_starts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = open_sandbox("auto", project=project)
    replace_python(project, "#!/bin/sh\nexec sleep 600\n")
    monkeypatch.setattr(zygote, "START_SECONDS", 5.0)
    begin = time.monotonic()
    with pytest.raises(SubjectProblem, match=r"does not start at the level .*: fell silent"):
        find_subject(project, python=None, env={}, sandbox=sandbox)
    assert time.monotonic() - begin < 10, "it was waited for twice"


def test_an_interpreter_that_never_answers(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = open_sandbox("auto", project=project)
    replace_python(project, ASKED, does="exec sleep 600")
    monkeypatch.setattr(ask_interpreter, "_DEADLINES", Deadlines(start=2.0, total=2.0))
    with pytest.raises(SubjectProblem, match="did not answer within"):
        find_subject(project, python=None, env={}, sandbox=sandbox)


def test_what_an_interpreter_answers_shows_no_home(
    project: Path, home: Path, user: tuple[str, ...]
) -> None:
    linked = project / ".venv/linked"
    linked.symlink_to(home)
    replace_python(project, LIES, home=str(home), linked=str(linked))
    reads = f"def test_a():\n    assert open('{home}/secret').read()\n"
    done = run(user, project, "-c", READS, str(project), "def test_a(): pass\n", reads)
    assert done.stdout.split() == ["PASS", "FAIL"], done.stdout + done.stderr


def test_an_environment_of_a_folder_that_may_not_be_looked_at(
    project: Path, place: Path, user: tuple[str, ...]
) -> None:
    closed = place / "closed"
    (closed / "python/bin").mkdir(parents=True)
    settings = project / ".venv/pyvenv.cfg"
    text = re.sub("(?m)^home = .*$", f"home = {closed}/python/bin", settings.read_text("utf-8"))
    settings.write_text(text, "utf-8")
    closed.chmod(0)
    try:
        done = run(user, project, "-m", "pytest", "--brt-issue=clamp.md")
    finally:
        closed.chmod(0o700)
    assert "Possibly reproduced: " in done.stdout, done.stdout + done.stderr


def hooks(project: Path) -> Path:
    """Give the project a repository, and return where what git runs would be."""
    folder = project / ".git/hooks"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("level", ["ns", "landlock"])
@pytest.mark.parametrize("command", ["issue", "rank"])
def test_a_module_in_place_of_a_librarys_writes_nothing_into_the_project(
    project: Path, user: tuple[str, ...], level: str, command: str
) -> None:
    shutil.rmtree(project / ".venv")
    folder = hooks(project)
    text = f"{WRITES_BACK.format(root=str(project))}{STANDS_IN}"
    (project / "iniconfig.py").write_text(text, "utf-8")
    arguments = ["issue", "clamp.md"]
    if command == "rank":
        right = diff_of(SOURCE.replace(CLAMP, FIXES["a-right"]))
        write_tree(project, {"patches/good.diff": right})
        arguments = ["rank", "patches", "--issue", "clamp.md"]
    done = run(user, project, "-m", "pytest_brt", *arguments, f"--brt-sandbox={level}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list(folder.iterdir())


@pytest.mark.parametrize("level", ["ns", "landlock"])
def test_an_environment_of_the_project_writes_nothing_into_it(
    project: Path, user: tuple[str, ...], level: str
) -> None:
    folder = hooks(project)
    packages = next((project / ".venv").glob("lib/python*/site-packages"))
    (packages / "back.py").write_text(WRITES_BACK.format(root=str(project)), "utf-8")
    (packages / "back.pth").write_text("import back\n", "utf-8")
    options = ["issue", "clamp.md", f"--brt-sandbox={level}"]
    done = run(user, project, "-m", "pytest_brt", *options)
    assert "Possibly reproduced: " in done.stdout, done.stdout + done.stderr
    assert not list(folder.iterdir())


def test_no_code_of_the_project_is_loaded_with_any_power(
    project: Path, user: tuple[str, ...]
) -> None:
    packages = next((project / ".venv").glob("lib/python*/site-packages"))
    (packages / "back.py").write_text(WRITES_BACK.format(root=str(project)), "utf-8")
    (packages / "back.pth").write_text("import back\n", "utf-8")
    done = run(user, project, "-c", READS, str(project), POWERLESS)
    assert done.stdout.split() == ["PASS"], done.stdout + done.stderr


def test_links_to_an_interpreter_are_followed_as_the_kernel_does(
    project: Path, place: Path, user: tuple[str, ...]
) -> None:
    """The way that a text describes leads to a neighbour's folder, the kernel's to a Python."""
    write_tree(place, {".private/key": "key"})
    binaries = project / ".venv/bin"
    shutil.rmtree(binaries)
    binaries.symlink_to("../a/b/c")
    (project / "a/b/c").mkdir(parents=True)
    (project / "a/b/c/python").symlink_to("../../../.private")
    (project / ".private").symlink_to(os.path.realpath(sys.executable))
    reads = f"def test_a():\n    assert open('{place}/.private/key').read()\n"
    done = run(user, project, "-c", READS, str(project), "def test_a(): pass\n", reads)
    assert done.stdout.split() == ["PASS", "FAIL"], done.stdout + done.stderr


@pytest.mark.parametrize("to", ["{place}/.private", "{place}/.private/python"])
def test_a_link_in_place_of_an_interpreter_shows_nothing_that_is_hidden(
    project: Path, place: Path, user: tuple[str, ...], to: str
) -> None:
    write_tree(place, {".private/python": "#!/bin/sh\necho key >&2\n"})
    (place / ".private/python").chmod(0o755)
    python = project / ".venv/bin/python"
    python.unlink()
    python.symlink_to(to.format(place=place))
    done = run(user, project, "-m", "pytest_brt", "issue", "clamp.md")
    assert done.returncode == 4, done.stdout + done.stderr
    assert "key" not in done.stdout + done.stderr


def test_an_environment_of_the_project_shows_no_neighbours(
    project: Path, place: Path, user: tuple[str, ...]
) -> None:
    write_tree(place, {"work/it.py": "", "work/key": "key"})
    packages = next((project / ".venv").glob("lib/python*/site-packages"))
    (packages / "more.pth").write_text("../../../../../work\n", "utf-8")
    reads = f"def test_a():\n    assert open('{place}/work/key').read()\n"
    done = run(user, project, "-c", READS, str(project), "def test_a(): pass\n", reads)
    assert done.stdout.split() == ["PASS", "FAIL"], done.stdout + done.stderr
