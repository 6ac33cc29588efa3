"""What tests can read of the machine: what is on a list, and nothing else."""

from __future__ import annotations

import _ctypes
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pytest_brt.errors import UsageProblem
from pytest_brt.sandbox.available import open_sandbox
from pytest_brt.execute.sandbox import shows_too_much
from pytest_brt.execute.subject import find_subject
from pytest_brt.render.causes import run_words
from pytest_brt.types import Verdict
from pytest_brt.types.cause import NO_LIBRARY, BodyRaised
from tests.support.projects import make_project, open_on, run_one
from tests.support.trees import write_tree
from tests.support.users import ORDINARY, ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the levels are Linux's")

LEVELS = pytest.mark.parametrize("level", ["ns", "landlock"])
#: A disk, what fills it, the source of a test → level and verdict.
RunMounted = Callable[[Path, str, str], list[str]]
READS = "def test_a():\n    assert open({path!r}).read()\n"
ADDED = "import added\ndef test_a():\n    assert added.VALUE == 1\n"
#: Runs a test on a project, where a folder is shown.
RUNS = """\
import sys
from pathlib import Path
from tests.support.projects import open_on, run_one
root, shown, source = sys.argv[1:]
engine = open_on(Path(root), shown=(shown,))
print(engine.level, run_one(engine, source).verdict)
engine.close()
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """Return a folder that others can reach, with a project in it."""
    with tempfile.TemporaryDirectory(prefix="shown-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        make_project(Path(name, "project"))
        yield Path(name).resolve()


def verdict(place: Path, level: str, source: str, **options: object) -> Verdict:
    """Return what becomes of one test on the project."""
    with closing(open_on(place / "project", sandbox=level, **options)) as engine:  # type: ignore[arg-type]
        run = run_one(engine, source)
        print(run_words(run))
        return run.verdict


def environment(place: Path, name: str) -> Path:
    """Make an environment that has our own packages, and return its site-packages."""
    command = [sys.executable, "-m", "venv", "--without-pip", str(place / name)]
    subprocess.run(command, check=True)
    packages = next((place / name).glob("lib/python*/site-packages"))
    (packages / "ours.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n", "utf-8")
    return packages


def test_nothing_but_what_is_shown_is_there(place: Path) -> None:
    system = {"bin", "sbin", "etc", "usr", "proc", "sys", "dev", "tmp", "var", "run", "nix", "gnu"}
    system |= {path.name for path in Path("/").glob("lib*")}
    needed = (sys.prefix, sys.base_prefix, *sys.path, __file__, str(Path(__file__).resolve()))
    known = system | {path.split("/")[1] for path in needed if path.startswith("/")}
    source = (
        "import os\ndef test_a():\n"
        f"    assert set(os.listdir('/')) <= {known!r}\n"
        "    assert os.listdir('/var') == ['tmp']\n"
        "    assert os.listdir('/var/tmp') == os.listdir('/run') == []\n"
    )
    assert verdict(place, "ns", source) is Verdict.PASS


@LEVELS
def test_a_folder_is_read_where_the_user_shows_it(place: Path, level: str) -> None:
    folder = place / "a folder, with: marks"
    write_tree(folder, {"kept": "kept"})
    source = READS.format(path=str(folder / "kept"))
    assert verdict(place, level, source) is Verdict.FAIL
    assert verdict(place, level, source, shown=(str(folder),)) is Verdict.PASS


@LEVELS
@pytest.mark.parametrize("shown", [".", "project/tests", "link"])
def test_a_folder_may_be_shown_around_the_project_in_it_or_by_a_link(
    place: Path, level: str, shown: str
) -> None:
    write_tree(place, {"kept": "kept", "project/tests/kept": "kept"})
    (place / "link").symlink_to(place, target_is_directory=True)
    source = READS.format(path=str(place / shown / "kept")) + "    open('new', 'w').close()\n"
    assert verdict(place, level, source, shown=(str(place / shown),)) is Verdict.PASS


def test_nobody_listens_in_a_folder_that_is_shown(place: Path) -> None:
    folder = place / "folder"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
        server.listen()
        (folder / "socket").chmod(0o777)
        source = (
            "import os, pytest, socket\ndef test_a():\n"
            f"    assert os.listdir({str(folder)!r}) == ['socket']\n"
            "    with pytest.raises(ConnectionRefusedError):\n"
            f"        socket.socket(socket.AF_UNIX).connect({str(folder / 'socket')!r})\n"
        )
        assert verdict(place, "ns", source, shown=(str(folder),)) is Verdict.PASS


def test_what_may_not_be_shown_is_an_error(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    home = place / "homes/me"
    write_tree(home, {"lib/kept": ""})
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    for folder in ("/", str(home), str(home.parent), "..", "/tmp", "/var", "/run"):
        with pytest.raises(UsageProblem, match=r"--brt-show: .* holds your home"):
            open_sandbox("process", shown=(folder,))
    for folder in ("", "nowhere", "lib/kept"):
        with pytest.raises(UsageProblem, match="--brt-show: no such folder"):
            open_sandbox("process", shown=(folder,))
    assert open_sandbox("process", shown=("lib",)).shown == (str(home / "lib"),)


def test_with_sudo_the_home_of_who_called_it_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    others = (user for user in pwd.getpwall() if Path(user.pw_dir).is_dir())
    other = next(user for user in others if not shows_too_much(user.pw_dir))
    monkeypatch.setenv("SUDO_UID", str(other.pw_uid))
    assert shows_too_much(other.pw_dir)
    with pytest.raises(UsageProblem, match=r"--brt-show: .* holds your home"):
        open_sandbox("process", shown=(other.pw_dir,))


@LEVELS
def test_a_library_worked_on_beside_the_project_is_imported(place: Path, level: str) -> None:
    write_tree(place, {"by-path/added.py": "VALUE = 1\n"})
    packages = environment(place, "environment")
    (packages / "added.pth").write_text(f"{place}/by-path\n", "utf-8")
    python = str(place / "environment/bin/python")
    assert verdict(place, level, ADDED, python=python) is Verdict.PASS


@LEVELS
def test_a_library_that_a_finder_finds_is_imported(place: Path, level: str) -> None:
    library = place / "by finder"
    write_tree(library, {"added.py": "VALUE = 1\n"})
    packages = environment(place, "environment")
    finder = f"import sys; sys.path.append({str(library)!r})\n"
    origin = {"url": library.as_uri(), "dir_info": {"editable": True}}
    installed = {
        "added.pth": finder,
        "added-1.dist-info/METADATA": "Name: added\nVersion: 1\n",
        "added-1.dist-info/direct_url.json": json.dumps(origin),
    }
    write_tree(packages, installed)
    python = str(place / "environment/bin/python")
    assert verdict(place, level, ADDED, python=python) is Verdict.PASS


@LEVELS
def test_what_a_projects_own_environment_names_elsewhere_is_shown_by_its_user(
    place: Path, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By activating it, or by showing the folder: it may have come with the project."""
    write_tree(place, {"added/added.py": "VALUE = 1\n"})
    packages = environment(place / "project", ".venv")
    (packages / "more.pth").write_text(f"{place}/added\n", "utf-8")
    assert verdict(place, level, ADDED) is Verdict.BROKEN
    subject = find_subject(place / "project", python=None, env={}, sandbox=open_sandbox(level))
    assert f"{place}/added, which is not shown: add --brt-show" in subject.found
    assert verdict(place, level, ADDED, shown=(str(place / "added"),)) is Verdict.PASS
    monkeypatch.setenv("VIRTUAL_ENV", str(place / "project/.venv"))
    assert verdict(place, level, ADDED) is Verdict.PASS


@LEVELS
def test_a_project_shows_nothing_of_a_home_that_it_names(
    place: Path, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = place / "home"
    write_tree(home, {".ssh/key": "key", ".config/tool/it.py": "", "notes/key": "key"})
    monkeypatch.setenv("HOME", str(home))
    packages = environment(place / "project", ".venv")
    named = [home, home / ".ssh", home / ".config", home / "notes", place / "project/linked"]
    (place / "project/linked").symlink_to(home / ".ssh")
    loop = place / "project/loop"
    loop.symlink_to(loop)
    lines = [*map(str, named), str(loop), "null\0"]
    (packages / "more.pth").write_text("\n".join(lines), "utf-8")
    for folder in (".ssh", "notes"):
        source = READS.format(path=str(home / folder / "key"))
        assert verdict(place, level, source) is Verdict.FAIL
    subject = find_subject(place / "project", python=None, env={}, sandbox=open_sandbox(level))
    assert not [path for path in subject.paths if Path(path).is_relative_to(home)]


@LEVELS
@pytest.mark.parametrize("mark", ["pyvenv.cfg", "lib/python3.11/encodings/aliases.py"])
def test_a_home_that_looks_like_an_environment_is_not_shown(
    place: Path, level: str, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither as the one that the project's was made of, nor what lies hidden in it."""
    home = place / "home"
    write_tree(home, {mark: "", "key": "key", ".tool/it.py": "", ".tool/key": "key"})
    monkeypatch.setenv("HOME", str(home))
    packages = environment(place / "project", ".venv")
    (packages / "more.pth").write_text(f"{home}\n{home}/.tool\n", "utf-8")
    settings = place / "project/.venv/pyvenv.cfg"
    settings.write_text(f"home = {home}/bin\n{settings.read_text('utf-8')}", "utf-8")
    for key in ("key", ".tool/key"):
        assert verdict(place, level, READS.format(path=str(home / key))) is Verdict.FAIL


@LEVELS
def test_a_folder_of_the_project_is_no_part_of_an_environment_elsewhere(
    place: Path, level: str
) -> None:
    vendored = {"pyvenv.cfg": "", "site-packages/more.pth": f"{place}/work\n"}
    write_tree(place / "project/vendor", vendored)
    write_tree(place, {"project/pytest.ini": "[pytest]\npythonpath = vendor/site-packages\n"})
    write_tree(place, {"work/it.py": "", "work/key": "key"})
    environment(place, "environment")
    python = str(place / "environment/bin/python")
    source = READS.format(path=str(place / "work/key"))
    assert verdict(place, level, source, python=python) is Verdict.FAIL


@LEVELS
def test_what_variables_for_libraries_name_is_read(
    place: Path, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tree(place, {"libraries/kept": "kept", "modules/added.py": "VALUE = 1\n"})
    monkeypatch.setenv("LD_LIBRARY_PATH", f":{place}/libraries:relative:/")
    env = {"PYTHONPATH": f"{place}/modules"}
    source = f"{ADDED}    assert open('{place}/libraries/kept').read()\n"
    assert verdict(place, level, source, env=env) is Verdict.PASS


@pytest.fixture(params=["root", "ordinary user"])
def run_mounted(request: pytest.FixtureRequest, place: Path) -> RunMounted:
    """Return what runs a test when a disk is mounted, and filled by a command."""

    def run(disk: Path, fill: str, source: str) -> list[str]:
        project = place / "project"
        inside = [
            "unshare",
            "--mount",
            "sh",
            "-ec",
            f'mount -t tmpfs tmpfs {disk}; {fill}; exec "$@"',
        ]
        command = [*inside, "sh"]
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
            pytest.skip("this machine allows no mount to try it in")
        if request.param == "ordinary user":
            for path in (project, *project.rglob("*")):
                os.chown(path, ORDINARY, ORDINARY)
            user = ["-m", "tests.hostile.as_user", str(ORDINARY), str(project)]
            command += [sys.executable, *user, "env", "TMPDIR=/tmp"]
        command += [sys.executable, "-c", RUNS, str(project), str(place / "folder"), source]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run


def test_what_is_mounted_within_a_folder_is_read(place: Path, run_mounted: RunMounted) -> None:
    disk = place / "folder/disk"
    disk.mkdir(parents=True)
    source = READS.format(path=str(disk / "kept"))
    assert run_mounted(disk, f"echo kept > {disk}/kept", source) == ["ns", "PASS"]


def test_an_environment_on_a_disk_of_its_own_in_the_project(
    place: Path, run_mounted: RunMounted
) -> None:
    packages = environment(place, "folder")
    (packages / "added.py").write_text("VALUE = 1\n", "utf-8")
    disk = place / "project/.venv"
    disk.mkdir()
    # No overlay can be made of a folder with others' mounts in it.
    fill = f"cp -a {place}/folder/. {disk}"
    assert run_mounted(disk, fill, ADDED) == ["landlock", "PASS"]


@LEVELS
def test_what_is_shown_may_lie_in_a_private_folder_of_another_one(place: Path, level: str) -> None:
    """As an environment of tox does, below the folder of a package installed for editing."""
    inner = place / "outer" / ".tox" / "lib"
    write_tree(place / "outer", {".tox/lib/added.py": "VALUE = 1\n", ".tox/secret": "key"})
    inner.parent.chmod(0o700)
    env = {"PYTHONPATH": os.pathsep.join([str(place / "outer"), str(inner)])}
    assert verdict(place, level, ADDED, env=env) is Verdict.PASS
    if os.getuid() == 0 and level == "ns":
        source = READS.format(path=str(inner.parent / "secret"))
        assert verdict(place, level, source, env=env) is Verdict.FAIL


@LEVELS
def test_what_is_shown_may_lie_in_a_private_one_that_is_shown_too(place: Path, level: str) -> None:
    write_tree(place / "outer", {"lib/added.py": "VALUE = 1\n"})
    (place / "outer").chmod(0o700)
    env = {"PYTHONPATH": os.pathsep.join([str(place / "outer"), str(place / "outer/lib")])}
    assert verdict(place, level, ADDED, env=env) is Verdict.PASS


@LEVELS
def test_a_link_in_what_is_shown_may_lead_to_a_private_folder(place: Path, level: str) -> None:
    write_tree(place, {"private/lib/added.py": "VALUE = 1\n", "outer/kept.py": ""})
    (place / "private").chmod(0o700)
    (place / "outer/link").symlink_to(place / "private")
    packages = environment(place, "environment")
    (packages / "added.pth").write_text(f"{place}/outer\n{place}/outer/link/lib\n", "utf-8")
    python = str(place / "environment/bin/python")
    assert verdict(place, level, ADDED, python=python) is Verdict.PASS


@LEVELS
def test_a_project_may_lie_in_a_private_folder_of_one_that_is_shown(
    place: Path, level: str
) -> None:
    write_tree(place, {"outer/added.py": "VALUE = 1\n"})
    inner = place / "outer/private"
    make_project(inner / "project")
    inner.chmod(0o700)
    env = {"PYTHONPATH": str(place / "outer")}
    with closing(open_on(inner / "project", sandbox=level, env=env)) as engine:
        assert run_one(engine, ADDED).verdict is Verdict.PASS


@LEVELS
def test_a_shared_library_is_loaded_where_its_folder_is_shown(place: Path, level: str) -> None:
    folder = place / "libraries"
    folder.mkdir()
    library = shutil.copy(_ctypes.__file__, folder / "library.so")
    source = f"import ctypes\ndef test_a():\n    ctypes.CDLL({str(library)!r})\n"
    assert verdict(place, level, source, shown=(str(folder),)) is Verdict.PASS
    with closing(open_on(place / "project", sandbox=level)) as engine:
        run = run_one(engine, source)
    assert run.cause == BodyRaised(denied=NO_LIBRARY)


@pytest.mark.parametrize("folder", ["/dev/shm", "/var/tmp", "/run", "/srv"])
def test_a_project_may_lie_where_a_sandbox_has_folders_of_its_own(folder: str) -> None:
    if not os.access(folder, os.W_OK):
        pytest.skip("needs a folder to write to")
    with tempfile.TemporaryDirectory(dir=folder) as name:
        place = Path(name)
        place.chmod(0o755)
        make_project(place / "project")
        source = "import pkg.core\ndef test_a():\n    open('new', 'w').close()\n"
        assert verdict(place, "ns", source) is Verdict.PASS
